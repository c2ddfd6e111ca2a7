"""A question that needs no model, for a person who should not wait for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.propose import Proposal
from choicebo.acquisition.space_filling import spread_options
from choicebo.space import Searchable
from choicebo.space.points import distinct, point_keys, rows_in
from choicebo.space.spacing import spaced

Array = NDArray[np.float64]

STRATEGY = "stand-in"
_MEANWHILE = "The model had not finished with the last answers when this was asked, so these were chosen without it:"
"""In the past tense, because the sentence is stored with the question and may be read much later."""


def stand_in_options(
    space: Searchable,
    answers: Sequence[tuple[Array, tuple[int, ...]]],
    *,
    size: int,
    new_count: int,
    seen: Array,
    aside: Array,
    seed: int,
    number: int,
    least_difference: float = 0.0,
) -> Proposal:
    """``new_count`` options from parts of the space where nothing was shown yet, next to some that were kept.

    It brings as few new options as a question of the model does: more would tire the person. ``aside: (n, d)`` are options
    not to show as known ones.
    """
    # Some will be too close to an option that was kept.
    spread = spread_options(space, 2 * size, seen, seed, number, least_difference)
    fresh, again = spread.points[spread.new], spread.points[~spread.new]
    new = min(new_count, len(fresh))
    known = kept_points(answers, aside)
    ranked = distinct(np.array([*fresh[:new], *known, *fresh[new:], *again]))[0]
    points = ranked[spaced(space.columns, ranked, min(size, len(ranked)), least_difference, ranked[:0])]
    is_new = rows_in(fresh, points) >= 0
    if not is_new.any():
        return Proposal(points, is_new, STRATEGY, f"{_MEANWHILE} some options that were shown before.")
    beside = ", next to some that were kept" if (rows_in(known, points) >= 0).any() else ""
    return Proposal(points, is_new, STRATEGY, f"{_MEANWHILE} options from parts not seen yet{beside}.")


def kept_points(answers: Sequence[tuple[Array, tuple[int, ...]]], aside: Array) -> list[Array]:
    """Points that were kept when last shown: those shown least often first, so that they get compared, then the latest."""
    hidden = set(point_keys(aside))
    times: dict[bytes, int] = {}
    latest: dict[bytes, tuple[int, bool, Array]] = {}
    for at, (points, kept) in enumerate(answers):
        for position, (key, point) in enumerate(zip(point_keys(points), points, strict=True)):
            times[key] = times.get(key, 0) + 1
            latest[key] = (at, position in kept, point)
    found = [key for key, (_, was_kept, _) in latest.items() if was_kept and key not in hidden]
    found.sort(key=lambda key: (times[key], -latest[key][0]))
    return [latest[key][2] for key in found]
