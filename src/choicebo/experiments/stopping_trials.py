"""Is the advice to stop calibrated? Simulated studies compare each prediction with the next answer."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.table import Table

from choicebo import pareto
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import Chooser
from choicebo.experiments.document import Section
from choicebo.experiments.problems import problem, unit_space
from choicebo.experiments.report_tables import new_table
from choicebo.experiments.trials import FinishedTrial, Trial
from choicebo.insight.stopping import FLICKER, LOOKS, enough, foresee, stay_probability
from choicebo.model.posterior import Posterior
from choicebo.optimizer import ChoiceOptimizer

Array = NDArray[np.float64]

EXPERIMENT = "stopping"
TASKS = ("smooth", "branin-currin")
QUICK, FULL = (4, 20), (15, 40)
"""Studies of each task, and questions in each."""
CANDIDATES = 128
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
FLICKERS = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2)
"""Amounts of flicker that are tried; the advice uses one of them."""


def trials(studies: int, questions: int, seed: int = 0) -> list[Trial]:
    """One trial for each simulated study, the tasks in turn, so that a run that is stopped leaves as many of each."""
    return [
        Trial(EXPERIMENT, task, "choicebo", number, {"questions": questions})
        for number in range(seed, seed + studies)
        for task in TASKS
    ]


def run_trial(trial: Trial) -> dict[str, Any]:
    """One study: what was predicted before each answer, and what happened."""
    return {"steps": simulate(trial.task, trial.settings["questions"], trial.repetition)}


def simulate(task: str, questions: int, seed: int) -> list[dict[str, Any]]:
    """What is predicted before each answer, whether the Pareto set stayed, and the share that is truly lacking."""
    objectives = smooth_objectives(seed) if task == "smooth" else problem(task).objectives
    person, rng = Chooser(objectives), np.random.default_rng(seed)
    space = unit_space(2)
    optimizer = ChoiceOptimizer(space, latent_dim=2, seed=seed)
    candidates = space.sobol(CANDIDATES, seed=seed)
    steps: list[dict[str, Any]] = []
    waiting: tuple[dict[str, Any], Posterior, tuple[int, ...]] | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(questions + 1):
            query = optimizer.ask()
            shown = space.encode(query.options)
            posterior = optimizer.posterior() if query.latent_dim is not None else None
            if posterior is not None:
                if waiting is not None:
                    foretold, before, members = waiting
                    steps.append(foretold | {"stayed": set(posterior.pareto_set(before.options)) == set(members)})
                seen = foresee(posterior, candidates, question=shown, seed=seed)
                members = tuple(int(i) for i in seen.members)
                foretold = {
                    "answers": posterior.data.n_choices,
                    "by_flicker": [
                        stay_probability(seen.shown, seen.optimal, seen.members, flicker=flicker)
                        for flicker in FLICKERS
                    ],
                    "remaining": seen.remaining,
                    "members": len(members),
                    "lacking": lacking(objectives, posterior.options, members, candidates),
                }
                waiting = foretold, posterior, members
            optimizer.tell(query, person(shown, rng))
    return steps


def judged(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps of one study with the stability and the advice that the rule as it is now gives."""
    found = []
    for at, step in enumerate(steps):
        looks = steps[max(0, at + 1 - LOOKS) : at + 1]
        stability = float(np.mean([look["by_flicker"][FLICKERS.index(FLICKER)] for look in looks]))
        remaining = float(np.mean([look["remaining"] for look in looks]))
        stop = enough(step["answers"], stability, remaining)
        found.append(step | {"stability": stability, "remaining": remaining, "stop": stop})
    return found


def restlessness(studies: Sequence[Sequence[dict[str, Any]]]) -> tuple[float, int]:
    """Mean change of the stability from one answer to the next, and how often the advice changed, in judged studies."""
    pairs = [pair for steps in studies for pair in itertools.pairwise(steps)]
    moves = [abs(after["stability"] - before["stability"]) for before, after in pairs]
    return float(np.mean(moves)) if moves else 0.0, sum(a["stop"] != b["stop"] for a, b in pairs)


def smooth_objectives(seed: int, terms: int = 40) -> Callable[[Array], Array]:
    """Two random smooth functions of two inputs: sums of cosines, close to draws of a Gaussian process."""
    rng = np.random.default_rng(seed)
    frequency, phase = 3.0 * rng.standard_normal((2, terms, 2)), rng.uniform(0, 2 * np.pi, (2, terms))
    height = rng.standard_normal((2, terms)) / np.sqrt(terms)

    def objectives(X: Array) -> Array:
        waves = np.cos(np.einsum("nd,ktd->nkt", X, frequency) + phase)
        return np.asarray((waves * height).sum(2))

    return objectives


def lacking(objectives: Callable[[Array], Array], options: Array, members: Sequence[int], candidates: Array) -> float:
    """The share of the reachable true hypervolume that the members lack."""
    values = objectives(np.concatenate([options, candidates]))
    worst = values.min(0)
    return 1.0 - pareto.hypervolume(values[list(members)], worst) / pareto.hypervolume(values, worst)


def curve(steps: Sequence[dict[str, Any]]) -> list[tuple[float, float, int]]:
    """For each bin of predicted stability with any step: its mean, the share of sets that stayed, and the number of steps.

    >>> curve([{"stability": 0.95, "stayed": True}, {"stability": 0.97, "stayed": False}])
    [(0.96, 0.5, 2)]
    """
    stability = np.array([step["stability"] for step in steps], dtype=float)
    stayed = np.array([step["stayed"] for step in steps], dtype=float)
    place = np.clip(np.searchsorted(EDGES, stability, side="right") - 1, 0, len(EDGES) - 2)
    return [
        (float(stability[place == bin].mean()), float(stayed[place == bin].mean()), int((place == bin).sum()))
        for bin in range(len(EDGES) - 1)
        if (place == bin).any()
    ]


def brier(foretold: ArrayLike, came: ArrayLike) -> float:
    """Mean squared error of probabilities: 0 is perfect, a constant one half gives 0.25.

    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    return float(np.mean((np.asarray(foretold, dtype=float) - np.asarray(came, dtype=float)) ** 2))


def flicker_table(finished: Sequence[FinishedTrial]) -> Table:
    """How well each amount of flicker predicts what happens, and how far the mean prediction is from the share that stayed."""
    steps = [step for done in finished for step in done.result["steps"]]
    stayed = np.array([step["stayed"] for step in steps], dtype=float)
    headings = ("flicker", "predicted", "stayed", "Brier score")
    found = new_table("How much does a new fit flicker?", headings, words=0)
    for number, flicker in enumerate(FLICKERS):
        foretold = np.array([step["by_flicker"][number] for step in steps])
        mark = " (used)" if flicker == FLICKER else ""
        found.add_row(
            f"{flicker:g}{mark}", f"{foretold.mean():.0%}", f"{stayed.mean():.0%}", f"{brier(foretold, stayed):.3f}"
        )
    return found


def table(finished: Sequence[FinishedTrial]) -> Table:
    """The curve, and what the true front lacked when the advice was to stop."""
    studies = [judged(done.result["steps"]) for done in finished]
    steps = [step for study in studies for step in study]
    stops = [step["lacking"] for step in steps if step["stop"]]
    error = np.mean([abs(step["remaining"] - step["lacking"]) for step in steps])
    caption = f"Remaining share: off the true one by {error:.1%} on average." + (
        f" The advice was to stop after {len(stops)} of the {len(steps)} answers, when {np.mean(stops):.1%} was lacking on "
        "average."
        if stops
        else " Never advised to stop."
    )
    moved, changed = restlessness(studies)
    caption += (
        f" From one answer to the next, the prediction changes by {moved:.0%}; the advice changed {changed} times."
    )
    headings = ("predicted", "stayed", "answers")
    found = new_table("Does the Pareto set stay as predicted?", headings, words=0, caption=caption)
    for foretold, stayed, count in curve(steps):
        found.add_row(f"{foretold:.0%}", f"{stayed:.0%}", str(count))
    return found


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The table with what it is about."""
    text = (
        "Simulated people with two hidden objectives of two inputs answer the optimiser's questions. Before each answer the "
        "advice predicts how likely the Pareto set of the options seen so far is to stay; the next fit shows whether it did."
    )
    return Section("Advice to stop", [text, table(finished), flicker_table(finished)])
