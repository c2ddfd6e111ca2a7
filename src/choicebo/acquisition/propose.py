"""From what is believed to the options of the next question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition import query, shares
from choicebo.acquisition.interface import Acquisition, Known
from choicebo.acquisition.maximise import Objective, any_relatives, maximise
from choicebo.model.draws import LatentDraws
from choicebo.space import Searchable, Space
from choicebo.space.points import rows_in
from choicebo.space.spacing import apart, spaced

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Apart = Callable[[Rows, int, Rows], Rows]
"""The best of ranked rows that keep their distance from each other and from other rows, as many as asked for."""

DRAWS = 128
"""Draws that an acquisition averages over: enough for a ranking of points, few enough for thousands of points."""
COMPANIONS = ("doubted", "dominated", "informative")
"""How known options are chosen beside new ones: the paper's rule, but for one place for an option that may wrongly be taken for
beaten; the paper's rule alone; or those about which an answer would tell most."""

DOUBTED = 0.15
"""An option outside of the believed front is doubted, and not beaten, from this probability to be Pareto-optimal on. What some
answer rejected is mostly below it; above it are options that only the model's idea of the whole space speaks against."""

_ROOM = 3
"""So many known options leave a place for a doubted one: with fewer, a question would compare too little with the best."""


class Beside(NamedTuple):
    """What a new option is shown beside, and how much it must differ from that."""

    points: Array
    """(n, d)"""
    least_difference: float


class Proposal(NamedTuple):
    """The options of a question, not yet in the order in which they are shown."""

    points: Array
    """(k, d)"""
    new: NDArray[np.bool_]
    """(k,)"""
    strategy: str
    """What proposed it."""
    reason: str
    found_by: tuple[str, ...] = ()
    """Names of the acquisitions that found the new options, in their order; empty without a model."""


def believed_front(draws: LatentDraws, among: Rows) -> Rows:
    """``X_nd``: those ``among`` the options that are non-dominated in at least half of the draws; never empty."""
    return _likely(among, query.pareto_probabilities(draws.latent[:, among]))


def propose(
    draws: LatentDraws,
    space: Searchable,
    acquisitions: tuple[Acquisition, ...],
    *,
    size: int,
    new_count: int,
    companions: str,
    pending: Array,
    avoid: Array,
    seed: int,
    found_by: Mapping[str, Array] | None = None,
    least_difference: float = 0.0,
    shown: Array | None = None,
) -> Proposal:
    """The next question: ``new_count`` new options beside known ones.

    The acquisitions share the new options; one that found little so far leaves more to the last. Where that one varies known
    options, it finds what was left to it by chance, because the model has just shown that it cannot tell. ``found_by`` holds,
    by name, the options (n, d) that each of them found for earlier questions. ``pending: (n, d)`` are options of open
    questions: draws imagine their values, so that nothing similar is proposed. ``avoid: (n, d)`` are options that must not be
    proposed as new. Of two options that differ by less than ``least_difference`` of every range only one is shown, while there
    are others. ``shown: (n, d)`` are the options that were shown so far, if not all of the draws': what was only measured is
    nothing to compare with.
    """
    answered = np.arange(len(draws.X))
    if shown is not None:
        answered = np.flatnonzero(rows_in(shown, draws.X) >= 0)
    options, before = draws.X, len(draws.X)
    draws = draws.extended(pending, seed)
    probability = query.pareto_probabilities(draws.latent[:, answered])
    front = _likely(answered, probability)
    names = [acquisition.name for acquisition in acquisitions]
    succeeded = shares.success(found_by or {}, names, options, options[front])
    share = shares.shares(*succeeded, last=shares.MODEST if acquisitions[-1].nearby else 1.0)
    new: list[Array] = []
    used: list[Acquisition] = []
    for number, place in enumerate(shares.allotted(share, new_count, seed)):
        left_over = place == len(acquisitions)
        acquisition = acquisitions[-1] if left_over else acquisitions[place]
        by_chance = left_over and acquisition.nearby
        beside = Beside(draws.X[len(draws.X) - len(new) :], least_difference)
        among = None if shown is None else np.concatenate([answered, np.arange(before, len(draws.X))])
        point = best_point(
            draws, space, acquisition, avoid, seed + 1 + number, by_chance=by_chance, beside=beside, among=among
        )
        if len(point) == 0:
            break
        new.append(point[0])
        used.append(acquisition)
        avoid = np.concatenate([avoid, point])
        draws = draws.extended(point, seed + 101 + number)
    new_rows = np.arange(len(draws.X) - len(new), len(draws.X))

    def keeping_distance(ranked: Rows, count: int, beside: Rows) -> Rows:
        return ranked[spaced(space.columns, draws.X[ranked], count, least_difference, draws.X[beside])]

    chances = np.zeros(len(draws.X))
    chances[answered] = probability
    known_rows = _companions(
        draws, new_rows, front, answered, chances, size - len(new), companions, seed, keeping_distance
    )
    points = np.concatenate([draws.X[new_rows], draws.X[known_rows]])
    is_new = np.arange(len(points)) < len(new)
    finders = tuple(acquisition.name for acquisition in used)
    reason = _reason(used, len(known_rows), front, known_rows)
    return Proposal(points, is_new, "+".join(finders) or "known", reason, finders)


def best_point(
    draws: LatentDraws,
    space: Searchable,
    acquisition: Acquisition,
    avoid: Array,
    seed: int,
    *,
    by_chance: bool = False,
    beside: Beside | None = None,
    among: Rows | None = None,
) -> Array:
    """The point (1, d) of the largest acquisition, or any relative of the believed front; (0, d) if nothing is left.

    Where the best is too close to what it is shown ``beside``, or all but a copy of one of ``avoid``, the next best is taken.
    ``among`` are the rows of the draws that were shown, if not all.
    """
    known = Known(draws, believed_front(draws, np.arange(len(draws.X)) if among is None else among), among)
    around = draws.X[known.front]
    ranked = any_relatives(space, around, avoid, seed) if by_chance else around[:0]
    if len(ranked) == 0:
        objective = Objective(acquisition, known, seed)
        ranked = maximise(objective, objective.slope, space, around, avoid, seed, nearby=acquisition.nearby).X
    if beside is None:
        return ranked[:1]
    least = beside.least_difference
    if isinstance(space, Space) and least > 0.0:
        ranked = _first_without_copies(space, ranked, avoid, beside)
    return ranked[spaced(space.columns, ranked, min(1, len(ranked)), least, beside.points)]


_COPY = 0.25
"""Of the least difference: a new option that differs by less from a known one is a copy of it. More would keep a front that is
short in all parameters from being filled."""
_SOME = 32


def _first_without_copies(space: Space, ranked: Array, known: Array, beside: Beside) -> Array:
    """The best (1, d) of ``ranked: (n, d)`` that is no copy of one of the ``known: (m, d)`` and keeps its distance from what it
    is shown ``beside``; all of them if none is and does."""
    nearest = ((known, _COPY * beside.least_difference), (beside.points, beside.least_difference))
    # Most often one of the first will do, and there may be thousands on either side.
    for first in range(0, len(ranked), _SOME):
        some = ranked[first : first + _SOME]
        for points, least in nearest:
            some = some[apart(space.columns, some, points, least)]
        if len(some):
            return some[:1]
    return ranked


def _likely(among: Rows, probability: Array) -> Rows:
    """Those that are Pareto-optimal with a probability of at least a half; never empty."""
    return among[probability >= min(0.5, float(probability.max()))]


def _companions(
    draws: LatentDraws,
    new: Rows,
    front: Rows,
    answered: Rows,
    probability: Array,
    count: int,
    rule: str,
    seed: int,
    apart: Apart,
) -> Rows:
    """Known options for a question: of the believed front by ``rule``, and the next best where it is too small.

    ``probability`` is that of each row of ``draws.X`` to be Pareto-optimal among those that were ``answered`` about.
    """
    count = max(0, min(count, len(answered)))
    if count == 0:
        return answered[:0]
    if len(new) == 0:
        # Nothing new is left to show: ask about those of which it is least clear whether they belong to the set.
        return apart(answered[np.argsort(np.abs(probability[answered] - 0.5), kind="stable")], count, new)
    if rule == "informative":
        chosen = query.most_informative(draws, new, front, count, about=np.concatenate([front, new]))
        ranked = np.concatenate([chosen, query.most_dominated(draws, new, np.setdiff1d(front, chosen), len(front))])
    else:
        ranked = query.most_dominated(draws, new, front, len(front))
    rest = np.setdiff1d(answered, front)
    rest = rest[np.argsort(-probability[rest], kind="stable")]
    if rule == "doubted" and count >= _ROOM and len(doubted := rest[probability[rest] >= DOUBTED]):
        open_ = probability[doubted] * (1.0 - probability[doubted])
        one = np.random.default_rng(seed).choice(doubted, size=1, p=open_ / open_.sum())
        ranked, rest = np.concatenate([one, ranked]), rest[rest != one]
    return apart(np.concatenate([ranked, rest]), count, new)


def _reason(used: list[Acquisition], known: int, front: Rows, shown: Rows) -> str:
    if not used:
        return "Every option has been shown already; for these it is least clear whether they are among your best."
    distinct = list(dict.fromkeys(acquisition.sentence for acquisition in used))
    new = "; ".join(distinct)
    if known == 0:
        return f"{_capital(new)}."
    beside = "your best so far" if np.isin(shown, front).all() else "what you have seen so far"
    return f"{_capital(new)}, shown next to {known} of {beside} to compare."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
