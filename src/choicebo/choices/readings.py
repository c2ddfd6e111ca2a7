"""Other ways of answering, read as choices: pairs, best of several, rankings, best and worst, approvals, ratings.

Each function takes indices of options and returns choices as (shown, kept). Their likelihood is that of Theorem 1,
a product over the choices, with independent noise for every comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

from choicebo.choices.positions import index, indices, items
from choicebo.errors import DataError
from choicebo.formatting import as_given

Plain = tuple[tuple[int, ...], tuple[int, ...]]
"""A choice: the options shown, and those kept."""


def pair(winner: int, loser: int, undecided: bool = False) -> Plain:
    """One of two options was preferred, or neither: then both are kept.

    >>> pair(3, 1), pair(3, 1, undecided=True)
    (((3, 1), (3,)), ((3, 1), (3, 1)))
    """
    return (winner, loser), (winner, loser) if undecided else (winner,)


def best(shown: Sequence[int], chosen: int) -> Plain:
    """One of several options was chosen: it beats each of the others.

    >>> best((4, 0, 2), 0)
    ((4, 0, 2), (0,))
    """
    return tuple(shown), (chosen,)


def ranking(places: Sequence[Sequence[int]], shown: Sequence[int]) -> list[Plain]:
    """Options in order, best first, as repeated choice from what is left; those at one place are kept together.

    Options shown and not ranked are left when the ranking ends; nothing is said about which of them is better.

    >>> ranking([[2], [0]], shown=[0, 1, 2, 3])
    [((0, 1, 2, 3), (2,)), ((0, 1, 3), (0,))]
    """
    _refuse_strangers(chain.from_iterable(places), shown, "ranked")
    found, left = [], list(shown)
    for place in places:
        if len(left) > 1:
            found.append((tuple(left), tuple(place)))
        gone = set(place)
        left = [option for option in left if option not in gone]
    return found


def best_worst(shown: Sequence[int], chosen: int, worst: int) -> list[Plain]:
    """The best beats each of the others, and each of the others beats the worst.

    >>> best_worst([0, 1, 2, 3], 2, 0)
    [((0, 1, 2, 3), (2,)), ((1, 0), (1,)), ((3, 0), (3,))]
    """
    if chosen == worst:
        raise DataError(f"option {chosen} is both best and worst; name two different options.")
    _refuse_strangers([chosen, worst], shown, "named")
    between = [option for option in shown if option not in (chosen, worst)]
    return [best(shown, chosen), *(pair(option, worst) for option in between)]


def approval(option: int, baseline: int, approved: bool | None) -> Plain:
    """An option is better than the baseline, or it is not; None if the person could not say.

    >>> approval(3, 0, True), approval(3, 0, False), approval(3, 0, None)
    (((3, 0), (3,)), ((0, 3), (0,)), ((3, 0), (3, 0)))
    """
    return pair(baseline, option) if approved is False else pair(option, baseline, undecided=approved is None)


def ratings(options: Sequence[int], values: Sequence[float]) -> list[Plain]:
    """Each option beats each one of the next lower rating that was given; equal ratings say nothing about each other.

    >>> ratings([0, 1, 2, 3], [5, 3, 3, 1])
    [((0, 1), (0,)), ((0, 2), (0,)), ((1, 3), (1,)), ((2, 3), (2,))]
    """
    levels: dict[float, list[int]] = {}
    for option, value in zip(options, values, strict=True):
        levels.setdefault(value, []).append(option)
    ordered = [levels[value] for value in sorted(levels, reverse=True)]
    return [pair(above, below) for upper, lower in pairwise(ordered) for above in upper for below in lower]


def places_of(given: Any) -> list[tuple[int, ...]]:
    """The places of a ranking as a person writes it: an index, or a list of indices for a tie, at each.

    >>> places_of([3, (1, 4), 2])
    [(3,), (1, 4), (2,)]
    """
    accepted = "a list of indices, best first, with a list of its own for a tie: [3, [1, 4], 2]"
    found = []
    for place in items(given, "a ranking", accepted):
        one = index(place)
        if one is None and (isinstance(place, (str, bytes, bool)) or not isinstance(place, Iterable)):
            raise DataError(f"a ranking holds {as_given(place)}; give {accepted}.")
        found.append(indices([place] if one is not None else place, "a ranking"))
    seen: set[int] = set()
    for option in chain.from_iterable(found):
        if option in seen:
            raise DataError(f"option {option} appears twice in the ranking {as_given(given)}; rank each option once.")
        seen.add(option)
    if not seen or not all(found):
        raise DataError(f"the ranking {as_given(given)} has an empty place; give {accepted}.")
    return found


def _refuse_strangers(named: Iterable[int], shown: Sequence[int], verb: str) -> None:
    there = set(shown)
    for option in named:
        if option not in there:
            raise DataError(
                f"option {option} was {verb} but not shown: shown={as_given(tuple(shown))}; show it too, or leave "
                "it out."
            )
