"""Questions without a model: options that cover the space, and options drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.propose import Proposal
from choicebo.space import Searchable
from choicebo.space.points import distinct, rows_in

Array = NDArray[np.float64]


def spread_options(space: Searchable, size: int, seen: Array, seed: int, number: int) -> Proposal:
    """The next ``size`` points of one scrambled Sobol sequence, those seen before left out while there are others."""
    # Each option seen can be in the way once.
    candidates = space.sobol(_reach(space, size, seen), seed=seed)
    reason = "Options spread over everything that is possible, to get to know what you like."
    return _unseen_first(candidates, size, seen, "sobol", reason, np.random.default_rng([seed, number]))


def random_options(space: Searchable, size: int, seen: Array, seed: int, number: int) -> Proposal:
    """``size`` options drawn at random, those seen before left out while there are others."""
    rng = np.random.default_rng([seed, number])
    candidates = space.sample(_reach(space, size, seen), seed=rng)
    return _unseen_first(candidates, size, seen, "random", "Options drawn at random.", rng)


def _reach(space: Searchable, size: int, seen: Array) -> int:
    return int(min(len(seen) + 4 * size, space.size))


def _unseen_first(
    candidates: Array, size: int, seen: Array, strategy: str, reason: str, rng: np.random.Generator
) -> Proposal:
    points, _ = distinct(candidates)
    is_new = rows_in(seen, points) < 0
    fresh, again = points[is_new][:size], points[~is_new]
    repeated = again[rng.permutation(len(again))[: size - len(fresh)]]
    if not len(fresh):
        reason = "Every option has been shown already; these are some of them again."
    points = np.concatenate([fresh, repeated])
    return Proposal(points, np.arange(len(points)) < len(fresh), strategy, reason)
