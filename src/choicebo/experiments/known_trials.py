"""What is it worth to know an objective? The same study with one of its objectives known, and with all of them hidden.

Both start from the same options and the same answers of a repetition, and the same simulated person goes on answering. What
counts is the hypervolume of all options shown so far.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import Chooser, random_sets
from choicebo.experiments.document import Section
from choicebo.experiments.problems import problem
from choicebo.experiments.report_tables import Mean, new_table
from choicebo.experiments.trials import FinishedTrial, Trial, seed_of
from choicebo.optimizer import ChoiceOptimizer
from choicebo.pareto import hypervolume
from choicebo.space import Catalogue, Space

Array = NDArray[np.float64]

EXPERIMENT = "known"
METHODS = {"known": "known", "hidden": "all hidden"}
QUICK, FULL = (2, 20), (15, 80)
"""Repetitions, and questions in each."""
LOOKS = (0, 20, 40, 80)
"""Numbers of questions after which progress is measured."""
QUERY_SIZE, FIRST_SETS = 5, 4
ROWS = 1000
"""Of the catalogue."""
_LEAST_SHARE = 1e-4
"""Of the hypervolume of a catalogue: once everything worth finding is found, the logarithm of nothing is left."""


@dataclass(frozen=True)
class Task:
    """A person, what can be offered to them, and which objective is known."""

    known: Space | Catalogue
    hidden: Space | Catalogue
    """The same without the knowledge."""
    objectives: Callable[[Array], Array]
    """Points of the cube (n, d) -> values (n, n_o), to be maximised."""
    difference: Callable[[Array], float]
    """Values of the options shown -> log10 of the hypervolume that they miss."""
    count: int
    """Objectives of the person, one of them known."""


def _benchmark(name: str, known: str) -> Task:
    target = problem(name)
    space = target.space
    with_known = Space(space.parameters, objectives=[known])
    return Task(with_known, space, target.objectives, target.log_hypervolume_difference, target.num_objectives)


def _shop(repetition: int) -> Task:
    """A catalogue of things of six properties; what they are worth to the person, in two ways, is hidden, and their price is a
    column."""
    rng = np.random.default_rng(seed_of(EXPERIMENT, "catalogue", repetition))
    features = rng.random((ROWS, 6))
    # Dear things are good on the whole, and there are bargains.
    usual = 20.0 + 60.0 * features[:, 0] + 30.0 * features[:, 1] ** 2
    price = np.asarray(np.maximum(usual + 15.0 * rng.standard_normal(ROWS), 5.0).round(2))
    centres = rng.uniform(0.2, 0.8, (2, 1, 6))
    bowls = 0.5 * (features[:, 0] + features[:, 1]) - ((features - centres) ** 2).sum(2)
    names = ("size", "light", "colour", "weight", "sound", "grip")
    rows = [
        {"sku": number, **dict(zip(names, map(float, row), strict=True)), "price": float(cost)}
        for number, (row, cost) in enumerate(zip(features, price, strict=True))
    ]
    values = np.column_stack([*bowls, -price])
    hidden = Catalogue(rows)
    reference = values.min(0) - 0.1 * np.ptp(values, axis=0)
    total = hypervolume(values, reference)

    def objectives(points: Array) -> Array:
        return np.asarray(values[hidden.index(points)])

    def difference(shown: Array) -> float:
        missing = max(total - hypervolume(shown, reference), _LEAST_SHARE * total)
        return float(np.log10(missing / total))

    return Task(Catalogue(rows, objectives=["minimise price"]), hidden, objectives, difference, 3)


# The mass of a car is the same function of its five inputs, which go from 1 to 3 there and from 0 to 1 here.
_MASS = "minimise mass = 2.3573285*x1 + 2.3220035*x2 + 4.5688768*x3 + 7.7213633*x4 + 4.4559504*x5"
TASKS: dict[str, Callable[[int], Task]] = {
    "vehicle-safety": lambda repetition: _benchmark("vehicle-safety", _MASS),
    "zdt1": lambda repetition: _benchmark("zdt1", "minimise f1 = x1"),
    "catalogue": _shop,
}
_KNOWN = {"vehicle-safety": "the mass of three objectives", "zdt1": "f1 of two", "catalogue": "the price of three"}


def trials(repetitions: int, questions: int, seed: int = 0) -> list[Trial]:
    """The grid, repetition by repetition.

    >>> [trial.name for trial in trials(1, 5)][:2]
    ['known/vehicle-safety/known/0?questions=5', 'known/vehicle-safety/hidden/0?questions=5']
    """
    return [
        Trial(EXPERIMENT, task, method, repetition, {"questions": questions})
        for repetition in range(seed, seed + repetitions)
        for task in TASKS
        for method in METHODS
    ]


def run_trial(trial: Trial) -> dict[str, Any]:
    """One study: how much was missing at the beginning and after each question."""
    task = TASKS[trial.task](trial.repetition)
    knows = trial.method == "known"
    space = task.known if knows else task.hidden
    # The seed does not depend on the method: both begin alike.
    seed = seed_of(EXPERIMENT, trial.task, "start", trial.repetition)
    rng = np.random.default_rng(seed)
    shown = space.sobol(QUERY_SIZE * FIRST_SETS, seed=seed % 2**16)
    sets, person = random_sets(len(shown), QUERY_SIZE, FIRST_SETS, rng), Chooser(task.objectives)
    optimizer = ChoiceOptimizer(
        space,
        latent_dim=task.count - 1 if knows else task.count,
        query_size=QUERY_SIZE,
        seed=seed % 2**16,
        initial_queries=1,  # the choices that are given count as answers
    )
    for members in sets:
        optimizer.add(space.decode(shown[members]), list(person(shown[members], rng)))
    missing = [task.difference(task.objectives(shown))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(trial.settings["questions"]):
            query = optimizer.ask()
            points = space.encode(query.options)
            optimizer.tell(query, list(person(points, rng)))
            shown = np.concatenate([shown, points])
            missing.append(task.difference(task.objectives(shown)))
    return {"log_hv_difference": [round(value, 6) for value in missing]}


def table(finished: Sequence[FinishedTrial]) -> Table:
    """log10 hypervolume difference after some questions, with and without the knowledge, and the paired difference."""
    found = new_table(
        "What it is worth to know one of the objectives: log10 hypervolume difference",
        ("task", "questions", "known", "all hidden", "difference"),
        words=1,
        caption="Mean ± standard error over repetitions; the last column compares studies that began alike. Less is better.",
    )
    for task in TASKS:
        curves = {
            method: {
                done.trial.repetition: done.result["log_hv_difference"]
                for done in finished
                if (done.trial.task, done.trial.method) == (task, method)
            }
            for method in METHODS
        }
        both = sorted(set(curves["known"]) & set(curves["hidden"]))
        for questions in LOOKS:
            rows = [[curves[method][each] for each in both] for method in METHODS]
            if not both or any(len(curve) <= questions for method in rows for curve in method):
                continue
            known, hidden = (np.array([curve[questions] for curve in method]) for method in rows)
            cells = [str(Mean.of(values.tolist())) for values in (known, hidden, known - hidden)]
            found.add_row(task if questions == LOOKS[0] else "", str(questions), *cells)
    return found


def section(finished: Sequence[FinishedTrial]) -> Section:
    """The table with what it is about."""
    known = "; ".join(f"{task}: {what}" for task, what in _KNOWN.items())
    text = (
        f"The same simulated person, the same first {FIRST_SETS} answers; in one study one of the objectives is known "
        f"({known}), in the other all are hidden. Every question shows {QUERY_SIZE} options."
    )
    return Section("What is known already", [text, table(finished)])
