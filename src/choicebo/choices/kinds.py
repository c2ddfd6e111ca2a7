"""Answers of every kind about the rows of an array: checked, and read as choices.

What each kind means is in `readings`; here lists that people give become such answers, and wrong ones are named together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from choicebo.choices import readings
from choicebo.choices.building import ReadChoices, quick_choice
from choicebo.choices.choice import Choice
from choicebo.choices.options import in_unit_cube
from choicebo.choices.positions import index, indices, items
from choicebo.choices.problems import Problems
from choicebo.choices.readings import Plain
from choicebo.errors import DataError
from choicebo.formatting import as_given

Weights = Iterable[float] | None


def pairs(X: ArrayLike, decided: Iterable[Any], undecided: Iterable[Any], weights: Weights) -> ReadChoices:
    """Pairs (winner, loser), then pairs between which nobody could decide."""
    given = [(each, False) for each in _listed(decided, "pairs", "pairs (winner, loser)")]
    given += [(each, True) for each in _listed(undecided, "undecided", "pairs of options")]

    def read(answer: tuple[Any, bool]) -> list[Plain]:
        each, is_undecided = answer
        if isinstance(each, (str, bytes)) or not isinstance(each, Sequence) or len(each) != 2:
            raise DataError(f"{as_given(each)} is not a pair of options; give (winner, loser).")
        first, second = indices(each, "a pair")
        return [readings.pair(first, second, is_undecided)]

    return read_answers(X, given, read, "pair", weights)


def best(X: ArrayLike, shown: Iterable[Any], chosen: Iterable[Any], weights: Weights) -> ReadChoices:
    """Sets of options, and the best of each."""
    given = _together(shown=shown, best=chosen)
    return read_answers(
        X,
        given,
        lambda answer: [readings.best(indices(answer[0], "shown"), _index(answer[1], "best"))],
        "answer",
        weights,
    )


def rankings(X: ArrayLike, ranked: Iterable[Any], shown: Iterable[Any] | None, weights: Weights) -> ReadChoices:
    """Rankings, best first, of the options shown or of the first few of them."""
    given = [(each, None) for each in _listed(ranked, "rankings", "rankings")]
    if shown is not None:
        given = _together(rankings=ranked, shown=shown)

    def read(answer: tuple[Any, Any]) -> list[Plain]:
        places = readings.places_of(answer[0])
        all_ranked = tuple(option for place in places for option in place)
        among = all_ranked if answer[1] is None else indices(answer[1], "shown")
        if len(among) < 2:
            raise DataError(f"a ranking of {as_given(among)} says nothing; show at least two options.")
        return readings.ranking(places, among)

    return read_answers(X, given, read, "ranking", weights)


def best_worst(
    X: ArrayLike, shown: Iterable[Any], chosen: Iterable[Any], worst: Iterable[Any], weights: Weights
) -> ReadChoices:
    """Sets of options, and the best and the worst of each."""
    given = _together(shown=shown, best=chosen, worst=worst)

    def read(answer: tuple[Any, Any, Any]) -> list[Plain]:
        return readings.best_worst(indices(answer[0], "shown"), _index(answer[1], "best"), _index(answer[2], "worst"))

    return read_answers(X, given, read, "answer", weights)


def approvals(X: ArrayLike, approved: Iterable[Any], baseline: Any, weights: Weights) -> ReadChoices:
    """Options, and whether each is better than the baseline."""
    today = _index(baseline, "baseline")
    accepted = "pairs (option, True), (option, False) or (option, None)"

    def read(answer: Any) -> list[Plain]:
        if isinstance(answer, (str, bytes)) or not isinstance(answer, Sequence) or len(answer) != 2:
            raise DataError(f"{as_given(answer)} is not an approval; give {accepted}.")
        option, verdict = answer
        if isinstance(verdict, np.bool_):
            verdict = bool(verdict)
        if verdict is not None and not isinstance(verdict, bool):
            raise DataError(f"the approval is {as_given(verdict)}; give True, False or None.")
        return [readings.approval(_index(option, "an approval"), today, verdict)]

    given = approved.items() if isinstance(approved, Mapping) else approved
    return read_answers(X, _listed(given, "approvals", accepted), read, "approval", weights)


def ratings(X: ArrayLike, sittings: Iterable[Any], weights: Weights) -> ReadChoices:
    """Sittings, each with the rating of some options."""
    accepted = "a dict {option: rating} for each sitting"
    if isinstance(sittings, Mapping):
        raise DataError(f"the sittings are {as_given(sittings)}; give a list with {accepted}.")

    def read(sitting: Any) -> list[Plain]:
        rated = sitting.items() if isinstance(sitting, Mapping) else items(sitting, "a sitting", accepted)
        try:
            options, values = zip(*rated, strict=True) if rated else ((), ())
        except (TypeError, ValueError):
            raise DataError(f"a sitting is {as_given(sitting)}; give {accepted}.") from None
        checked = indices(options, "a sitting")
        if len(set(checked)) < len(checked):
            raise DataError(f"a sitting rates an option twice: {as_given(checked)}; rate each option once.")
        for value in values:
            number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                raise DataError(f"a rating is {as_given(value)}; give a finite number, larger for better.")
        return readings.ratings(checked, [float(value) for value in values])

    return read_answers(X, _listed(sittings, "sittings", accepted), read, "sitting", weights)


def read_answers(
    X: ArrayLike, answers: Sequence[Any], read: Callable[[Any], list[Plain]], word: str, weights: Weights
) -> ReadChoices:
    """The choices that answers are read as; those that cannot be read are named together."""
    options = in_unit_cube(X, "X")
    counts = [1.0] * len(answers) if weights is None else _listed(weights, "weights", "numbers")
    if len(counts) != len(answers):
        raise DataError(
            f"{len(answers)} answers but {len(counts)} weights were given; give one weight for each answer."
        )
    problems = Problems(word)
    choices: list[Choice] = []
    numbers: list[int] = []
    for number, (answer, weight) in enumerate(zip(answers, counts, strict=True)):
        try:
            found = [_choice(shown, kept, weight, len(options)) for shown, kept in read(answer)]
        except DataError as error:
            problems.add(number, str(error))
            continue
        choices += found
        numbers += [number] * len(found)
    problems.check()
    return ReadChoices(options, choices, numbers, word)


def _choice(shown: tuple[int, ...], kept: tuple[int, ...], weight: float, n_options: int) -> Choice:
    choice = quick_choice(shown, kept) if weight == 1.0 else None
    choice = Choice(shown, kept, weight) if choice is None else choice
    if max(shown) >= n_options:
        raise DataError(
            f"it is about option {max(shown)}, but there are {n_options} options; use indices 0 to {n_options - 1}."
        )
    return choice


def _listed(given: Iterable[Any], name: str, what: str) -> list[Any]:
    """What was given as a list of Python values; arrays are slow to go through."""
    if isinstance(given, np.ndarray):
        return list(given.tolist()) if given.ndim else items(given, name, f"a list of {what}")
    if isinstance(given, (str, bytes)):
        raise DataError(f"{name} is {as_given(given)}; give a list of {what}.")
    found = items(given, name, f"a list of {what}")
    return [each.tolist() if isinstance(each, np.ndarray) else each for each in found]


def _together(**lists: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Answers that come as several lists of the same length."""
    found = {name: _listed(given, name, "answers") for name, given in lists.items()}
    lengths = {name: len(each) for name, each in found.items()}
    if len(set(lengths.values())) > 1:
        told = " but ".join(f"{length} in {name}" for name, length in lengths.items())
        raise DataError(f"there are {told}; give one of each for every answer.")
    return list(zip(*found.values(), strict=True))


def _index(given: Any, name: str) -> int:
    number = index(given)
    if number is None or not 0 <= number < 2**63:
        raise DataError(f"{name} is {as_given(given)}; give the index of an option, a whole number such as 0, 1, 2.")
    return number
