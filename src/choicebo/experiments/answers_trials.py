"""What each way of answering teaches: the same simulated people, the same questions, and what is predicted after them.

A person with one or two hidden objectives is asked the same questions in each way. With two objectives, somebody who must name
one option though several are unbeaten names any of these; the worst is any of those that beat no other; an order is repeated
choice from what is left. Real: single choices of travellers, beside a multinomial logit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import ChoiceData
from choicebo.choices.marks import Marks
from choicebo.experiments import bench_logit
from choicebo.experiments.bench_logit import FOLDS, Singles
from choicebo.experiments.choosers import pareto_choice, random_sets
from choicebo.experiments.problems import TOY_BOUNDS, toy_1d, toy_2d
from choicebo.experiments.trials import Trial, seed_of
from choicebo.model.choice_table import choice_table
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

EXPERIMENT = "answers"
PEOPLE: dict[str, Callable[[Array], Array]] = {"one objective": toy_1d, "two objectives": toy_2d}
WAYS = ("subset", "best", "best-worst", "ranking", "first two", "pair")
"""As studies ask, and a ranking that ends after the first two."""
REAL = {"travelmode": bench_logit.TRAVELMODE, "swissmetro": bench_logit.SWISSMETRO}
METHODS: dict[str, Callable[[Singles, Array], Array]] = {
    "choicebo": bench_logit.ours,
    "multinomial logit": bench_logit.logit,
}
SET_SIZE, INPUTS, NOISE = 5, 200, 0.1
_LAPSE = 0.01


@dataclass(frozen=True)
class Protocol:
    """How much, how often."""

    questions: tuple[int, ...]
    repetitions: int
    test_sets: int
    swissmetro: int
    """So many of its choices."""


FULL = Protocol((10, 20, 40, 80), 20, 300, 1500)
QUICK = Protocol((20,), 2, 60, 100)


def trials(protocol: Protocol, seed: int = 0, real: Mapping[str, Singles] | None = None) -> list[Trial]:
    """The grid: each way of answering, for each person and number of questions; and each method on each fold of real choices.

    Repetitions in turn, so that a run that is stopped leaves as many of each; the real choices, which are few, come first.
    """
    simulated = [
        Trial(EXPERIMENT, person, way, repetition, {"questions": questions, "test_sets": protocol.test_sets})
        for repetition in range(seed, seed + protocol.repetitions)
        for person in PEOPLE
        for questions in protocol.questions
        for way in WAYS
    ]
    measured = [
        Trial(EXPERIMENT, name, method, fold, {"choices": len(singles.chosen)})
        for name, singles in (real or {}).items()
        for method in METHODS
        for fold in range(FOLDS)
    ]
    return measured + simulated


def run_trial(trial: Trial, real: Mapping[str, Singles] | None = None) -> dict[str, Any]:
    """Accuracy and log score of what was not learned from, and the marks that the answers took."""
    if trial.task in PEOPLE:
        return taught(
            trial.task, trial.method, trial.settings["questions"], trial.settings["test_sets"], trial.repetition
        )
    assert real is not None
    return predicted(real[trial.task], METHODS[trial.method], trial.repetition)


def taught(person: str, way: str, questions: int, test_sets: int, seed: int) -> dict[str, Any]:
    """What is learned from a person who answers so many questions in one way."""
    objectives = PEOPLE[person]
    rng = np.random.default_rng(seed_of(EXPERIMENT, person, seed))  # the same person and questions for each way
    x = np.sort(rng.uniform(*TOY_BOUNDS, size=INPUTS))
    inputs, exact = (x[:, None] - TOY_BOUNDS[0]) / (TOY_BOUNDS[1] - TOY_BOUNDS[0]), objectives(x)
    # Test sets come first in one list of different sets: that keeps them unseen, and equal for any number of questions.
    sets = random_sets(INPUTS, SET_SIZE, test_sets + questions, rng)
    noisy = exact[sets] + NOISE * rng.standard_normal((len(sets), SET_SIZE, exact.shape[1]))
    answers = [answer(values, way, rng) for values in noisy[test_sets:]]
    choices = [
        (inputs[shown[list(among)]], [among.index(at) for at in kept])
        for shown, (read, _) in zip(sets[test_sets:], answers, strict=True)
        for among, kept in read
    ]
    data = ChoiceData.from_sets([points for points, _ in choices], [kept for _, kept in choices])
    posterior = ChoiceGP(exact.shape[1]).fit_silently(data, seed=seed)
    held_out = [pareto_choice(values) for values in noisy[:test_sets]]
    found = scores(posterior, inputs[sets[:test_sets]], held_out, seed)
    return {**found, "marks": float(np.mean([marks for _, marks in answers])), "choices": data.n_choices}


def answer(
    values: Array, way: str, rng: np.random.Generator
) -> tuple[list[tuple[tuple[int, ...], tuple[int, ...]]], int]:
    """What a person answers about options with these ``values: (k, n_o)``, as choices, and how many marks it takes.

    >>> answer(np.array([[3.0], [1.0], [2.0]]), "best-worst", np.random.default_rng(0))
    ([((0, 1, 2), (0,)), ((2, 1), (2,))], 2)
    """
    everything = tuple(range(len(values)))
    if way == "subset":
        kept = pareto_choice(values)
        return [(everything, kept)], len(kept)
    if way == "pair":
        return [((0, 1), pareto_choice(values[:2]))], 1
    best = _any(pareto_choice(values), rng)
    if way == "best":
        return Marks(best).choices(len(values)), 1
    if way == "best-worst":
        beats = [any((values[i] > values[j]).all() for j in everything) for i in everything]
        worst = _any([i for i in everything if not beats[i] and i != best], rng)
        return Marks(best, worst).choices(len(values)), 2
    order, left = [best], [i for i in everything if i != best]
    while left and len(order) < (2 if way == "first two" else len(values)):
        order.append(left.pop(_any(pareto_choice(values[left]), rng)))
    # The last one of all needs no mark.
    marks = min(len(order), len(values) - 1)
    return Marks(ranking=tuple((i,) for i in order)).choices(len(values)), marks


def _any(options: tuple[int, ...] | list[int], rng: np.random.Generator) -> int:
    return int(options[rng.integers(len(options))])


def scores(posterior: Posterior, sets: Array, kept: list[tuple[int, ...]], seed: int) -> dict[str, float]:
    """Share of sets whose kept options are predicted exactly, and mean log-probability of what was kept."""
    predicted = posterior.predict_choices(sets, seed=seed)
    logs = []
    for points, chosen in zip(sets, kept, strict=True):
        table = choice_table(posterior.sample(points, draws=200, seed=seed))
        table = (table / table.sum(1, keepdims=True)).mean(0)
        share = table[sum(1 << i for i in chosen) - 1]
        logs.append(np.log((1.0 - _LAPSE) * share + _LAPSE / len(table)))
    equal = [found == chosen for found, chosen in zip(predicted, kept, strict=True)]
    return {"accuracy": float(np.mean(equal)), "log_score": float(np.mean(logs))}


def predicted(singles: Singles, method: Callable[[Singles, Array], Array], fold: int) -> dict[str, float]:
    """Accuracy and log score of one method on one fold of single choices, after learning from the others."""
    of = np.random.default_rng(0).permutation(len(singles.chosen)) % FOLDS
    left, right = of != fold, of == fold
    log_p = method(Singles(singles.X[left], singles.chosen[left]), singles.X[right])
    chosen = singles.chosen[right]
    return {
        "accuracy": float((log_p.argmax(1) == chosen).mean()),
        "log_score": float(log_p[np.arange(len(chosen)), chosen].mean()),
    }
