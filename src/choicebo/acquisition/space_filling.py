"""Questions without a model: options that cover the space, and options drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.propose import Proposal
from choicebo.space import Searchable
from choicebo.space.points import distinct, rows_in
from choicebo.space.spacing import spaced

Array = NDArray[np.float64]


def spread_options(
    space: Searchable, size: int, seen: Array, seed: int, number: int, least_difference: float = 0.0
) -> Proposal:
    """The next ``size`` points of one scrambled Sobol sequence, those seen before left out while there are others.

    So are those that differ by less than ``least_difference`` of every range from another of the question.
    """
    # Each option seen can be in the way once.
    candidates = space.sobol(_reach(space, size, seen), seed=seed)
    reason = "Options spread over everything that is possible, to learn what you like."
    rng = np.random.default_rng([seed, number])
    return _unseen_first(space, candidates, size, seen, "sobol", reason, rng, least_difference)


def random_options(
    space: Searchable, size: int, seen: Array, seed: int, number: int, least_difference: float = 0.0
) -> Proposal:
    """``size`` options drawn at random, with the same ones left out."""
    rng = np.random.default_rng([seed, number])
    candidates = space.sample(_reach(space, size, seen), seed=rng)
    return _unseen_first(space, candidates, size, seen, "random", "Options drawn at random.", rng, least_difference)


def _reach(space: Searchable, size: int, seen: Array) -> int:
    return int(min(len(seen) + 4 * size, space.size))


def _unseen_first(
    space: Searchable,
    candidates: Array,
    size: int,
    seen: Array,
    strategy: str,
    reason: str,
    rng: np.random.Generator,
    least_difference: float,
) -> Proposal:
    points, _ = distinct(candidates)
    is_new = rows_in(seen, points) < 0
    fresh, again = points[is_new], points[~is_new]
    fresh = fresh[spaced(space.columns, fresh, min(size, len(fresh)), least_difference, fresh[:0])]
    again = again[rng.permutation(len(again))]
    again = again[spaced(space.columns, again, min(size - len(fresh), len(again)), least_difference, fresh)]
    if not len(fresh):
        reason = "Every option has been shown already; these are some of them again."
    points = np.concatenate([fresh, again])
    return Proposal(points, np.arange(len(points)) < len(fresh), strategy, reason)
