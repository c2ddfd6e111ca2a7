"""The accuracy experiments as a table and as JSON, ours beside the paper's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from choicebo.experiments import paper
from choicebo.experiments.accuracy import Ceiling, Peer, Score
from choicebo.experiments.datasets import RealData
from choicebo.model.posterior import PREDICTION_RULES


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions with its standard error (``nan`` for one repetition)."""

    mean: float
    se: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of some values.

        >>> Mean.of([1.0, 3.0])
        Mean(mean=2.0, se=1.0)
        """
        se = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        return cls(float(np.mean(values)), float(se))

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if np.isnan(self.se) else f"{self.mean:.3f} ± {self.se:.3f}"


@dataclass(frozen=True)
class Row:
    """All repetitions of one task at one number of choices."""

    task: str
    n_choices: int
    repetitions: int
    accuracy: dict[str, Mean]
    lowest: float
    """The smallest accuracy of one repetition, by the default rule."""
    paper: float | None
    seconds: float
    """Median over the fits."""
    warnings: int
    """Fits whose diagnostics complain."""


def summarise(scores: Sequence[Score]) -> list[Row]:
    """One row per task and number of choices, in the order given."""
    groups: dict[tuple[str, int], list[Score]] = {}
    for score in scores:
        groups.setdefault((score.task, score.n_choices), []).append(score)
    return [
        Row(
            task=task,
            n_choices=n_choices,
            repetitions=len(group),
            accuracy={rule: Mean.of([each.accuracy[rule] for each in group]) for rule in PREDICTION_RULES},
            lowest=min(each.accuracy[PREDICTION_RULES[0]] for each in group),
            paper=paper.ACCURACY.get(task, {}).get(n_choices),
            seconds=float(np.median([each.seconds for each in group])),
            warnings=sum(bool(each.problems) for each in group),
        )
        for (task, n_choices), group in groups.items()
    ]


def table(
    title: str,
    scores: Sequence[Score],
    ceilings: Sequence[Ceiling],
    repeated: str,
    peers: Sequence[Peer] = (),
) -> Table:
    """The printed table; ``repeated`` names what was repeated (``"seed"``, ``"fold"``)."""
    found = Table(title=escape(title), title_justify="left")
    found.add_column("task")
    for heading in ("choices", "paper", *PREDICTION_RULES, f"lowest {repeated}", "s/fit", "warned"):
        found.add_column(heading, justify="right", no_wrap=heading != f"lowest {repeated}")
    for row in summarise(scores):
        found.add_row(
            row.task,
            str(row.n_choices),
            _two_digits(row.paper),
            *(str(row.accuracy[rule]) for rule in PREDICTION_RULES),
            f"{row.lowest:.3f}",
            f"{row.seconds:.2f}",
            f"{row.warnings}/{row.repetitions}",
        )
    found.add_section()
    for (task, n_choices, model), reached in _by_size(peers).items():
        name = f"{n_choices}, {model}"
        # Our model in another form predicts by the default rule, the others by what they take for the values.
        shown = [str(Mean.of(reached)), "", ""] if model == "independent" else ["", "", str(Mean.of(reached))]
        found.add_row(task, name, "", *shown, f"{min(reached):.3f}", "", "")
    for task, group in _by_task(ceilings).items():
        values = {
            "Oracle-GP": (_two_digits(paper.ORACLE.get(task)), [each.oracle for each in group]),
            "g, no noise": ("", [each.exact for each in group if each.exact is not None]),
        }
        for name, (papers, reached) in values.items():
            if reached:
                found.add_row(task, name, papers, "", "", str(Mean.of(reached)), f"{min(reached):.3f}", "", "")
    found.caption = (
        "Share of unseen sets whose choice is predicted exactly; mean ± standard error over "
        f"{repeated}s. pareto is the default rule; network: a Pareto-embedding that learns from the same choices."
    )
    if {"independent", "orders"} & {peer.model for peer in peers}:
        found.caption += (
            " independent: our model with independent latent functions, as in the paper. orders: one model per output that is "
            "told the order of that output within each set, far more than a choice says."
        )
    found.caption_justify = "left"
    return found


def columns_table(sets: Sequence[RealData]) -> Table:
    """Which columns of the data sets were used, and which outputs are better when larger."""
    found = Table(title="Columns used", title_justify="left")
    for heading in ("data set", "rows", "inputs", "outputs (+ larger is better, - smaller)"):
        found.add_column(heading)
    for data in sets:
        signed = zip(data.signs, data.output_names, strict=True)
        outputs = [f"{'+' if sign > 0 else '-'} {name}" for sign, name in signed]
        found.add_row(data.name, str(len(data.inputs)), ", ".join(data.input_names), "\n".join(outputs))
    return found


def write_json(
    path: Path,
    settings: dict[str, Any],
    scores: Sequence[Score],
    ceilings: Sequence[Ceiling],
    provenance: dict[str, Any],
    peers: Sequence[Peer] = (),
) -> None:
    """Everything that the table shows, and every single fit behind it."""
    content = {
        **provenance,
        "settings": settings,
        "summary": [asdict(row) for row in summarise(scores)],
        "oracle": {
            task: {"ours": asdict(Mean.of([each.oracle for each in group])), "paper": paper.ORACLE.get(task)}
            for task, group in _by_task(ceilings).items()
        },
        "peers": [
            {"task": task, "n_choices": n_choices, "model": model, "accuracy": asdict(Mean.of(reached))}
            for (task, n_choices, model), reached in _by_size(peers).items()
        ],
        "fits": [asdict(score) for score in scores],
        "ceilings": [asdict(ceiling) for ceiling in ceilings],
    }
    path.write_text(json.dumps(_plain(content), indent=1) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """The value with what JSON has no word for (nan) as null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _by_task(ceilings: Sequence[Ceiling]) -> dict[str, list[Ceiling]]:
    groups: dict[str, list[Ceiling]] = {}
    for ceiling in ceilings:
        groups.setdefault(ceiling.task, []).append(ceiling)
    return groups


def _by_size(peers: Sequence[Peer]) -> dict[tuple[str, int, str], list[float]]:
    groups: dict[tuple[str, int, str], list[float]] = {}
    for peer in peers:
        groups.setdefault((peer.task, peer.n_choices, peer.model), []).append(peer.accuracy)
    return groups


def _two_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
