"""Tables on calibration: predicted probabilities beside what happened."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from scipy.stats import kstest

from choicebo.experiments.calibration_trials import (
    ANSWERS,
    AVERAGED,
    BANDS,
    METHODS,
    OBJECTIVES,
    QUANTITIES,
    SAMPLER,
    SORTS,
    TOLD,
)
from choicebo.experiments.document import Section
from choicebo.experiments.report_tables import ABOUT_MIXED, Mean, mark, new_table
from choicebo.experiments.trials import FinishedTrial

Array = NDArray[np.float64]

EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
_SORTS = {"smooth": "smooth objectives", "model": "drawn from the model"}
_METHODS = {"default": "the best ones", "averaged": f"{AVERAGED} averaged", TOLD: "the true ones"}


def curve(pairs: Array) -> list[tuple[float, float, int]]:
    """Of ``pairs: (n, 2)`` of a probability and what happened, for each bin: both means, and how many there are.

    >>> curve(np.array([[0.1, 0.0], [0.15, 1.0], [0.9, 1.0]]))
    [(0.125, 0.5, 2), (0.9, 1.0, 1)]
    """
    place = np.clip(np.searchsorted(EDGES, pairs[:, 0], side="right") - 1, 0, len(EDGES) - 2)
    bins = [pairs[place == bin] for bin in range(len(EDGES) - 1)]
    return [(*map(float, each.mean(0).round(12)), len(each)) for each in bins if len(each)]  # type: ignore[misc]


def error(pairs: Array) -> float:
    """Mean distance between predicted and observed, weighted by count.

    >>> round(error(np.array([[0.1, 0.0], [0.15, 1.0], [0.9, 1.0]])), 3)
    0.283
    """
    found = curve(pairs)
    return float(sum(count * abs(said - came) for said, came, count in found) / len(pairs))


def _all_pairs(finished: Sequence[FinishedTrial], key: str) -> Array:
    return np.array([pair for done in finished for pair in done.result[key]], dtype=float).reshape(-1, 2)


def summary_table(finished: Sequence[FinishedTrial]) -> Table:
    """Errors of the probabilities, scores and bands, of each sort of people, number of answers and method."""
    headings = ("people", "answers", "hyperparameters", "people simulated", "fits flagged", "Pareto set off by")
    caption = (
        "Off by: mean distance between predicted and observed shares, in bins. Log score: of the answers to questions about "
        "options not seen. In a band: true values of a hidden objective that lie in it."
    )
    shown = (*headings, "kept off by", "log score", *(f"in the {band:.0%} band" for band in BANDS))
    caption += ABOUT_MIXED if mark(finished) else ""
    found = new_table("Predicted and observed", shown, words=3, caption=caption)
    for sort in SORTS:
        for answers in ANSWERS:
            for method in _METHODS:
                mine = [
                    done
                    for done in finished
                    if (done.trial.task, done.trial.method) == (sort, method)
                    and done.trial.settings["answers"] == answers
                ]
                if mine:
                    found.add_row(_SORTS[sort], str(answers), _METHODS[method], *_cells(mine))
    return found


def _cells(mine: Sequence[FinishedTrial]) -> list[str]:
    flagged = sum(done.result["flagged"] for done in mine)
    off = [f"{error(_all_pairs(mine, key)):.1%}" for key in ("membership", "kept")]
    score = Mean.of([done.result["log_score"] for done in mine])
    bands = np.array([done.result["in_bands"] for done in mine if "in_bands" in done.result])
    held = [f"{share:.1%}" for share in bands.mean(0)] if len(bands) else ["-"] * len(BANDS)
    return [f"{len(mine)}{mark(mine)}", str(flagged), *off, str(score), *held]


def paired_table(finished: Sequence[FinishedTrial]) -> Table:
    """What averaging over hyperparameters gains, person by person."""
    headings = ("people", "objectives", "pairs", "log score, averaged less best")
    found = new_table("Several hyperparameters instead of the best ones", headings, words=1)
    for sort in SORTS:
        for objectives in OBJECTIVES:
            by_method: dict[str, dict[tuple[int, int], float]] = {method: {} for method in METHODS}
            for done in finished:
                trial = done.trial
                if trial.task == sort and trial.method in METHODS and trial.settings["objectives"] == objectives:
                    key = trial.settings["answers"], trial.repetition
                    by_method[trial.method][key] = done.result["log_score"]
            best, averaged = (by_method[method] for method in METHODS)
            gains = [averaged[key] - best[key] for key in best if key in averaged]
            if gains:
                found.add_row(_SORTS[sort], str(objectives), str(len(gains)), str(Mean.of(gains)))
    return found


def curves_table(finished: Sequence[FinishedTrial]) -> Table:
    """Predicted probabilities in bins, and how often it came so, with the hyperparameters that fit best."""
    of_default = [done for done in finished if done.trial.method == METHODS[0]]
    headings = ("what", "people", "predicted", "observed", "predictions")
    found = new_table("Curves of calibration", headings, words=2)
    for key, what in (("membership", "in the Pareto set"), ("kept", "kept of a new question")):
        for sort in SORTS:
            pairs = _all_pairs([done for done in of_default if done.trial.task == sort], key)
            for said, came, count in curve(pairs) if len(pairs) else []:
                found.add_row(what, _SORTS[sort], f"{said:.1%}", f"{came:.1%}", str(count))
    return found


def sampler_table(finished: Sequence[FinishedTrial]) -> Table:
    """How often the truth lies in intervals of the draws, which hold as much of them; and whether its rank is uniform."""
    caption = (
        "The true values lie in the middle 50, 80 and 95 % of the draws as often if the sampler draws from the posterior. "
        "p: of the Kolmogorov-Smirnov test that their ranks are uniform."
    )
    headings = ("quantity", *(f"in the middle {width:.0%}" for width in BANDS), "p", "fits")
    found = new_table("Simulation-based calibration of the sampler", headings, words=1, caption=caption)
    for quantity in QUANTITIES:
        ranks = np.array([done.result[quantity] for done in finished])
        shares = [np.mean(np.abs(ranks - 0.5) <= width / 2) for width in BANDS]
        p = kstest(ranks, "uniform").pvalue
        found.add_row(quantity, *(f"{share:.1%}" for share in shares), f"{p:.2f}", f"{len(ranks)}{mark(finished)}")
    return found


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The tables with what they are about."""
    text = (
        "Simulated people with one to three objectives of three inputs choose from sets of four options. What the model says "
        "with some probability is compared with the truth: whether an option is Pareto-optimal among the 40 that were seen, "
        "whether an option of a new question is kept, and where the hidden objectives lie."
    )
    people = [done for done in finished if done.trial.task != SAMPLER]
    sampled = [done for done in finished if done.trial.task == SAMPLER]
    blocks: list[str | Table] = [text]
    if people:
        blocks += [summary_table(people), paired_table(people), curves_table(people)]
    if sampled:
        blocks.append(sampler_table(sampled))
    return Section("Calibration", blocks)
