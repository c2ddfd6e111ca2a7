"""The experiment on the number of latent dimensions as a table, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from rich.table import Table

from choicebo.experiments.document import Section
from choicebo.experiments.latent_dim_trials import CEILING
from choicebo.experiments.report_tables import Mean, grouped, new_table
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


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The tables with what they are about."""
    stops = [(each.result["stopped_at"], len(each.result["rows"])) for each in _models(finished)]
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


def table(finished: Sequence[FinishedTrial]) -> Table:
    """One row for each latent dimension of each data set, means over the repetitions; the paper's figures in brackets."""
    headings = ("g", "N", "n_e", "elpd", "accuracy", "by mean", "selected", "k-hat", "refits", "poor", "s")
    shown = new_table(
        "Number of latent dimensions",
        headings,
        caption="In brackets: the paper's. elpd: leave-one-out score ± its standard error. Accuracy: by the default rule; by "
        "mean: by the Pareto set of the posterior mean. Selected: the smallest dimension that no larger one beats by over one "
        "standard error. k-hat: the worst of a data set, median over repetitions; refits: fits without a choice; poor: choices "
        "whose k-hat is too large for their score to be trusted and that were not refitted; s: seconds of fit and score.",
    )
    for column in shown.columns:
        column.no_wrap = column.header != "selected"
    by_data = grouped(_models(finished), lambda each: (each.trial.task, each.trial.settings["n_choices"]))
    for (task, n_choices), trials in by_data.items():
        results = [each.result for each in trials]
        papers = PAPER.get((task, n_choices), {})
        for latent_dim in range(1, len(results[0]["rows"]) + 1):
            first = latent_dim == 1
            rows = [result["rows"][latent_dim - 1] for result in results]
            elpd, accuracy = papers.get(latent_dim, (None, None))
            picked = f"{sum(result['best'] == latent_dim for result in results)}/{len(results)}"
            shown.add_row(
                NAMES[task] if first else "",
                str(n_choices) if first else "",
                str(latent_dim),
                f"{fmean(row['elpd'] for row in rows):.0f} ± {fmean(row['se'] for row in rows):.0f}"
                + (f" ({elpd:.0f})" if elpd is not None else ""),
                _accuracy(results, latent_dim, PREDICTION_RULES[0])
                + (f" ({accuracy:.2f})" if accuracy is not None else ""),
                _accuracy(results, latent_dim, "mean"),
                picked + (f" ({PAPER_SELECTED[task, n_choices]})" if first and papers else ""),
                f"{median(row['worst_khat'] for row in rows):.2f}",
                f"{fmean(row['refits'] for row in rows):.1f}",
                _mean_unreliable(rows),
                f"{median(row['seconds'] for row in rows):.1f}",
            )
        shown.add_section()
    return shown


def ceilings(finished: Sequence[FinishedTrial]) -> Table:
    """What those reach that see the objectives: above it accuracies differ by luck alone."""
    shown = new_table(
        "Accuracy of methods that see the objectives, same test sets",
        ("g", "g, no noise", "Oracle-GP"),
        caption="Mean ± standard error over repetitions. Because of the noise in the choices, even g itself cannot "
        "predict all of them.",
    )
    for task, name in NAMES.items():
        mine = [each.result for each in finished if each.trial.method == CEILING and each.trial.task == task]
        if mine:
            shown.add_row(name, *(str(Mean.of([each[key] for each in mine])) for key in ("exact", "oracle")))
    return shown


def _models(finished: Sequence[FinishedTrial]) -> list[FinishedTrial]:
    return [each for each in finished if each.trial.method != CEILING]


def _accuracy(results: Sequence[dict[str, Any]], latent_dim: int, rule: str) -> str:
    return f"{fmean(result['accuracy'][str(latent_dim)][rule] for result in results):.2f}"


def _mean_unreliable(rows: Sequence[dict[str, Any]]) -> str:
    """Choices whose score is not to be trusted; rows stored by older releases do not say how many."""
    known = [row["unreliable"] for row in rows if "unreliable" in row]
    return f"{fmean(known):.1f}" if known else "?"
