"""The experiment on the number of latent dimensions as a table, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, stdev
from typing import Any

from rich.table import Table

from choicebo.experiments.document import Section
from choicebo.experiments.latent_dim_trials import CEILING, selected
from choicebo.experiments.trials import FinishedTrial
from choicebo.model.posterior import PREDICTION_RULES

PAPER: dict[tuple[str, int], dict[int, tuple[float, float]]] = {
    ("cos", 30): {1: (-10, 0.75), 2: (-35, 0.64), 3: (-44, 0.64), 4: (-69, 0.62)},
    ("cos", 300): {1: (-75, 0.93), 2: (-165, 0.91), 3: (-333, 0.86), 4: (-388, 0.84)},
    ("cos-sin", 30): {1: (-56, 0.20), 2: (-39, 0.32), 3: (-39, 0.32), 4: (-42, 0.30)},
    ("cos-sin", 50): {1: (-89, 0.23), 2: (-47, 0.51), 3: (-49, 0.49), 4: (-53, 0.43)},
    ("cos-sin", 300): {1: (-493, 0.30), 2: (-236, 0.72), 3: (-269, 0.65), 4: (-277, 0.64)},
}
"""PSIS-LOO and test accuracy by task, number of choices and latent dimension."""
PAPER_SELECTED: dict[tuple[str, int], str] = {
    ("cos", 30): "1 in 10",
    ("cos", 300): "1 in 10",
    ("cos-sin", 30): "2, 3, 4 in 4, 4, 2",
    ("cos-sin", 50): "2, 3 in 6, 4",
    ("cos-sin", 300): "2 in 10",
}
"""Of ten repetitions; the paper takes the largest score."""
NAMES = {"cos": "cos 2x", "cos-sin": "cos 2x, -sin 2x"}


def groups(finished: Sequence[FinishedTrial]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Results by task and number of choices."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for done in _models(finished):
        found.setdefault((done.trial.task, done.trial.settings["n_choices"]), []).append(done.result)
    return found


def table(finished: Sequence[FinishedTrial]) -> Table:
    """One row for each latent dimension of each data set, means over the repetitions; the paper's figures in brackets."""
    found = Table(title="Number of latent dimensions", title_justify="left")
    headings = ("g", "N", "n_e", "elpd", "accuracy", "by mean", "selected", "k-hat", "refits", "poor", "s")
    for heading in headings:
        found.add_column(heading, justify="left" if heading == "g" else "right", no_wrap=heading != "selected")
    for (task, n_choices), results in groups(finished).items():
        counts = selected(results)
        papers = PAPER.get((task, n_choices), {})
        for at, n_e in enumerate(range(1, len(results[0]["rows"]) + 1)):
            rows = [result["rows"][at] for result in results]
            elpd, accuracy = papers.get(n_e, (None, None))
            picked = f"{counts.get(n_e, 0)}/{len(results)}"
            found.add_row(
                NAMES[task] if at == 0 else "",
                str(n_choices) if at == 0 else "",
                str(n_e),
                f"{fmean(row['elpd'] for row in rows):.0f} ± {fmean(row['se'] for row in rows):.0f}"
                + (f" ({elpd:.0f})" if elpd is not None else ""),
                f"{fmean(_accuracy(result, n_e) for result in results):.2f}"
                + (f" ({accuracy:.2f})" if accuracy is not None else ""),
                f"{fmean(_accuracy(result, n_e, 'mean') for result in results):.2f}",
                picked + (f" ({PAPER_SELECTED[task, n_choices]})" if at == 0 and papers else ""),
                f"{median(row['worst_khat'] for row in rows):.2f}",
                f"{fmean(row['refits'] for row in rows):.1f}",
                _mean_unreliable(rows),
                f"{median(row['seconds'] for row in rows):.1f}",
            )
        found.add_section()
    found.caption = (
        "In brackets: the paper's. elpd: leave-one-out score ± its standard error. Accuracy: by the default rule; by mean: by "
        "the Pareto set of the posterior mean. Selected: the smallest dimension that no larger one beats by over one standard "
        "error. k-hat: the worst of a data set, median over repetitions; refits: fits without a choice; poor: choices whose "
        "k-hat is too large for their score to be trusted and that were not refitted; s: seconds of fit and score."
    )
    found.caption_justify = "left"
    return found


def ceilings(finished: Sequence[FinishedTrial]) -> Table:
    """What those reach that see the objectives: above it accuracies differ by luck alone."""
    found = Table(title="Accuracy of those who see the objectives, same test sets", title_justify="left")
    for heading in ("g", "g, no noise", "Oracle-GP"):
        found.add_column(heading, justify="left" if heading == "g" else "right")
    for task, name in NAMES.items():
        mine = [done.result for done in finished if done.trial.method == CEILING and done.trial.task == task]
        if mine:
            found.add_row(name, *(_mean_and_error([each[key] for each in mine]) for key in ("exact", "oracle")))
    found.caption = (
        "Mean ± standard error over repetitions. The noise of the choices keeps even g itself from predicting all."
    )
    found.caption_justify = "left"
    return found


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The tables with what they are about."""
    stops = [(done.result["stopped_at"], len(done.result["rows"])) for done in _models(finished)]
    early = sum(stop < last for stop, last in stops)
    return Section(
        "Number of latent dimensions",
        [
            "Choices among three inputs in [-4.5, 4.5], made by one or by two hidden objectives; the number of latent "
            "dimensions is selected by leave-one-out cross-validation, and 300 unseen sets are predicted.",
            table(finished),
            ceilings(finished),
            f"Forward selection stopped before the fourth dimension in {early} of {len(stops)} data sets.",
        ],
    )


def _models(finished: Sequence[FinishedTrial]) -> list[FinishedTrial]:
    return [done for done in finished if done.trial.method != CEILING]


def _accuracy(result: dict[str, Any], n_e: int, rule: str = PREDICTION_RULES[0]) -> float:
    return float(result["accuracy"][str(n_e)][rule])


def _mean_unreliable(rows: Sequence[dict[str, Any]]) -> str:
    """Choices whose score is not to be trusted; rows stored by older releases do not say how many."""
    known = [row["unreliable"] for row in rows if "unreliable" in row]
    return f"{fmean(known):.1f}" if known else "?"


def _mean_and_error(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{fmean(values):.3f} ± {error:.3f}"
