"""Options that were not shown: how probable it is that none of those shown beats one, and which of them is the most probable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from choicebo.model.posterior import Posterior
from choicebo.space import Catalogue, Searchable
from choicebo.space.points import rows_in

Array = NDArray[np.float64]

_DRAWS = 400
_CHUNK = 256
_SPREAD = 256
"""Candidates from all over the space, and as many again that are mixed of one of them and one of the best."""
_MOST_ROWS = 2048
_MIXED = 12
"""Candidates are mixed from this many of the best options."""


def unbeaten_probability(posterior: Posterior, points: Array, *, draws: int = _DRAWS, seed: int = 0) -> Array:
    """How probable it is that none of the options answered about beats each of ``points: (n, d)``, taken by itself, (n,)."""
    taken = posterior.shortlisted(draws)
    latent = taken.latent
    if any(posterior.measured):
        latent = latent[:, rows_in(posterior.answered, taken.X) >= 0]
    found = []
    for at in range(0, len(points), _CHUNK):
        values = taken.at(points[at : at + _CHUNK], seed)
        beaten = [(known[None] > mine[:, None]).all(2).any(1) for known, mine in zip(latent, values, strict=True)]
        found.append(1.0 - np.mean(beaten, axis=0))
    return np.concatenate(found)


def best_unseen(posterior: Posterior, space: Searchable, seen: Array, *, seed: int = 0) -> tuple[Array, float] | None:
    """The most probable of many options that were not shown, as a point (d,), and its probability; None if all were.

    A candidate comes from all over the space, or takes some of its values from one of the best: each differs visibly from
    what was shown, which a climb to the very best point would not promise.

    Args:
        posterior: What was learned.
        space: Where options are taken from.
        seen: (n, d): options that were shown.
        seed: The same seed gives the same option.
    """
    candidates = _candidates(posterior, space, seed)
    candidates = candidates[rows_in(seen, candidates) < 0]
    if not len(candidates):
        return None
    probability = unbeaten_probability(posterior, candidates, seed=seed)
    best = int(probability.argmax())
    return candidates[best], float(probability[best])


def _candidates(posterior: Posterior, space: Searchable, seed: int) -> Array:
    """(n, d): different points at which the model sees options."""
    if isinstance(space, Catalogue):
        return np.unique(space.sobol(min(len(space), _MOST_ROWS), seed=seed), axis=0)
    spread = space.sobol(int(min(_SPREAD, space.size)), seed=seed)
    options = posterior.options[posterior.shortlist()]
    best = options[np.argsort(-unbeaten_probability(posterior, options, seed=seed), kind="stable")[:_MIXED]]
    rng = np.random.default_rng(seed)
    names = [column.parameter for column in space.columns]
    share = rng.random((len(spread), 1))
    kept = {name: rng.random(len(spread)) < share[:, 0] for name in dict.fromkeys(names)}
    mask = np.column_stack([kept[name] for name in names])
    mixed = space.snap(np.where(mask, best[rng.integers(len(best), size=len(spread))], spread))
    return np.unique(np.concatenate([spread, mixed[space.feasible(mixed)]]), axis=0)
