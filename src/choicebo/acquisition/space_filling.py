"""Questions without a model: options that cover the space, and options drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.propose import Proposal
from choicebo.space import Searchable

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
    known = {point.tobytes() for point in seen + 0.0}
    distinct = list({point.tobytes(): point for point in candidates + 0.0}.items())
    fresh = [point for key, point in distinct if key not in known][:size]
    again = [point for key, point in distinct if key in known]
    repeated = [again[at] for at in rng.permutation(len(again))[: size - len(fresh)]]
    if not fresh:
        reason = "Every option has been shown already; these are some of them again."
    points = np.array([*fresh, *repeated]).reshape(len(fresh) + len(repeated), candidates.shape[1])
    return Proposal(points, np.arange(len(points)) < len(fresh), strategy, reason)
