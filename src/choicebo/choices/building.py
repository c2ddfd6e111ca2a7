"""Many choices at once: checked as arrays, and one by one only if something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.choices.choice import Choice
from choicebo.choices.problems import Problems
from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.space import Option

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

_LISTS, _INTEGERS = {tuple, list, range}, {int}


class Flat(NamedTuple):
    """Choices as flat arrays, one answer after the other."""

    lengths: Integers
    """How many options each answer is about: (n,)."""
    shown: Integers
    """The options, in the order shown: (sum of lengths,)."""
    kept: Bools
    """Which of them were kept: (sum of lengths,)."""
    weights: Sequence[float] | None = None
    """How often each answer counts, (n,); None: once."""


class ReadChoices(NamedTuple):
    """Choices as they were read from somewhere, checked."""

    X: NDArray[np.float64]
    """The options in the unit cube: (m, d)."""
    choices: Sequence[Choice]
    numbers: Sequence[int]
    """Of each choice, the number of the line or answer that it was read from."""
    word: str
    """What stands in front of such a number."""
    options: list[Option] | None = None
    """The options as people see them, if that is known: (m,)."""
    raters: Sequence[str | None] | None = None
    """Of each choice, who made it, if that is known; None: nothing is said of raters."""


def as_choices(
    given: Sequence[Any],
    n_options: int,
    numbers: Sequence[int] | None = None,
    word: str = "choice",
) -> list[Choice]:
    """Return valid choices about n_options options, or raise `DataError` naming those that are not.

    Args:
        given: Choices or pairs (shown, kept).
        n_options: How many options there are.
        numbers: Of each, the number of the answer that it was read from; None: its own.
        word: What such an answer is called.

    >>> as_choices([((0, 1), (1,)), Choice((1, 2), (1, 2))], n_options=3)
    [Choice(shown=(0, 1), kept=(1,)), Choice(shown=(1, 2), kept=(1, 2))]
    """
    problems, checked = Problems(word), []
    for position, each in enumerate(given):
        choice = each if isinstance(each, Choice) else _quick(each)
        if choice is None or max(choice.shown) >= n_options:
            number = position if numbers is None else numbers[position]
            try:
                choice = _as_choice(each, n_options)
            except DataError as error:
                problems.add(number, str(error))
                continue
        checked.append(choice)
    problems.check()
    return checked


def quick_choice(shown: Any, kept: Any) -> Choice | None:
    """The choice of two lists of integers, if it is plainly valid; None if its constructor should look at it.

    The checks of the constructor, which name what is wrong, take most of the time that many choices need.

    >>> quick_choice([4, 0, 2], [2, 4]), quick_choice([4, 0], [1])
    (Choice(shown=(4, 0, 2), kept=(4, 2)), None)
    """
    if type(shown) not in _LISTS or type(kept) not in _LISTS or not set(map(type, chain(shown, kept))) <= _INTEGERS:
        return None
    there, chosen = set(shown), set(kept)
    valid = 2 <= len(there) == len(shown) and 1 <= len(chosen) == len(kept) and chosen <= there
    if not valid or min(shown) < 0:
        return None
    return _trusted(tuple(shown), tuple(option for option in shown if option in chosen), 1.0)


def sharing(choice: Choice, known: dict[int, int]) -> Choice:
    """The same choice with one integer object for each option, instead of one for each time that it was shown."""
    shown, kept = (tuple([known.setdefault(option, option) for option in part]) for part in (choice.shown, choice.kept))
    return _trusted(shown, kept, choice.weight, choice.rater)


def choices_of(flat: Flat) -> list[Choice]:
    """The choices of arrays that are known to be valid: no option twice, at least two shown and one of them kept."""
    if not len(flat.lengths):
        return []
    # One integer object for each option, instead of one for each time that it was shown.
    shared = np.arange(int(flat.shown.max()) + 1).astype(object)
    shown, kept = shared[flat.shown].tolist(), shared[flat.shown[flat.kept]].tolist()
    ends = np.cumsum(flat.lengths)
    kept_ends = np.cumsum(flat.kept)[ends - 1]
    weights = [1.0] * len(ends) if flat.weights is None else flat.weights
    found, start, kept_start = [], 0, 0
    for end, kept_end, weight in zip(ends.tolist(), kept_ends.tolist(), weights, strict=True):
        found.append(_trusted(tuple(shown[start:end]), tuple(kept[kept_start:kept_end]), weight))
        start, kept_start = end, kept_end
    return found


def merged(choices: Sequence[Choice], index_map: Integers, problems: Problems, numbers: Sequence[int]) -> list[Choice]:
    """The choices about merged options; where merging leaves no consistent choice, that is a problem of its number."""
    moved = index_map != np.arange(len(index_map))
    if not moved.any():
        return list(choices)
    new = index_map.tolist()
    found = []
    for number, choice in zip(numbers, choices, strict=True):
        shown = tuple([new[option] for option in choice.shown])
        if shown == choice.shown:
            found.append(choice)
        elif len(set(shown)) == len(shown):
            found.append(_trusted(shown, tuple([new[option] for option in choice.kept]), choice.weight, choice.rater))
        else:
            try:
                found.append(_renumbered(choice, new))
            except DataError as error:
                problems.add(number, str(error))
    return found


def by_rater(choices: Sequence[Choice], raters: Sequence[str | None] | None) -> Sequence[Choice]:
    """The same choices, each with the name of who made it."""
    if raters is None:
        return choices
    return [_trusted(c.shown, c.kept, c.weight, rater) for c, rater in zip(choices, raters, strict=True)]


def repeated(groups: Integers, members: Integers) -> Integers:
    """The positions at which a member is in its group for the second time or later, in order.

    >>> repeated(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 6])).tolist()
    [1]
    """
    order = np.lexsort((members, groups))
    again = (np.diff(groups[order]) == 0) & (np.diff(members[order]) == 0)
    return np.sort(order[1:][again])


def _trusted(shown: tuple[int, ...], kept: tuple[int, ...], weight: float, rater: str | None = None) -> Choice:
    """A choice without the checks of its constructor, which take most of the time that many choices need."""
    choice = object.__new__(Choice)
    object.__setattr__(choice, "shown", shown)
    object.__setattr__(choice, "kept", kept)
    object.__setattr__(choice, "weight", weight)
    object.__setattr__(choice, "rater", rater)
    return choice


def _quick(given: Any) -> Choice | None:
    return quick_choice(*given) if type(given) in _LISTS and len(given) == 2 else None


def _as_choice(given: Any, n_options: int) -> Choice:
    if not isinstance(given, Choice) and (not isinstance(given, tuple | list) or len(given) != 2):
        raise DataError(
            f"{as_given(given)} is not a choice; give a Choice(shown=..., kept=...) or a pair (shown, kept)."
        )
    choice: Choice = given if isinstance(given, Choice) else Choice(*given)
    if max(choice.shown) >= n_options:
        raise DataError(
            f"it shows option {max(choice.shown)}, but there are {n_options} options; "
            f"use indices 0 to {n_options - 1}, or add the option to X."
        )
    return choice


def _renumbered(choice: Choice, index_map: Sequence[int]) -> Choice:
    """Return the choice about merged options, or raise `DataError` if merging leaves no consistent choice."""
    new = {option: index_map[option] for option in choice.shown}
    first_kept = {new[option]: option for option in reversed(choice.kept)}
    for option in choice.rejected:
        if new[option] in first_kept:
            raise DataError(
                f"it contradicts itself: options {first_kept[new[option]]} and {option} are "
                "identical, but one was kept and the other rejected; keep or reject both, or show only one."
            )
    shown = tuple(dict.fromkeys(new.values()))
    if len(shown) < 2:
        raise DataError(
            f"it shows only copies of one option: {as_given(choice.shown)} are identical, "
            "so the choice says nothing; show at least two different options, or leave the choice out."
        )
    return Choice(shown, tuple(first_kept), choice.weight, choice.rater)
