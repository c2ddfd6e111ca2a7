"""Dueling scalarised Thompson sampling (Astudillo et al., TMLR 2025): a person compares two options in each objective by name.

They say more than by a choice: which option is better in every single objective. So each objective has a model of its own. Both
options of a question are the best for the same random weights, each under a draw of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.acquisition.propose import best_point
from choicebo.acquisition.scalarised_thompson import ScalarisedThompson
from choicebo.choices import Choice, ChoiceData
from choicebo.model.draws import LatentDraws
from choicebo.model.engines import question_engine
from choicebo.model.gp import ChoiceGP
from choicebo.space import Searchable

Array = NDArray[np.float64]

DRAWS = 128


def compared(rows: Sequence[int], values: Array) -> list[Choice]:
    """The order of options ``rows`` by ``values: (n,)``, one objective's: the best of all, of the rest, and so on.

    >>> compared([4, 7, 9], np.array([0.0, 0, 0, 0, 1, 0, 0, 3, 0, 2]))
    [Choice(shown=(7, 9, 4), kept=(7,)), Choice(shown=(9, 4), kept=(9,))]
    """
    ranked = sorted(rows, key=lambda row: -values[row])
    return [
        Choice(tuple(ranked[at:]), (best,))
        for at, best in enumerate(ranked[:-1])
        if values[best] > values[ranked[at + 1]]
    ]


def believed(X: Array, comparisons: Iterable[Sequence[Choice]], model: ChoiceGP, seed: int) -> LatentDraws:
    """Draws of all objectives at ``X: (n, d)``, each learned from its own comparisons."""
    found = [model.fit_silently(ChoiceData(X, list(each)), seed).draws.thinned(DRAWS) for each in comparisons]
    # An option that is as good as all others beside it is compared with none, and its model does not have it.
    if any(len(each.X) < len(X) for each in found):
        found = [_at(X, each, seed) for each in found]
    return joined(found)


def _at(X: Array, draws: LatentDraws, seed: int) -> LatentDraws:
    """The same draws of one objective, at all options ``X: (n, d)``."""
    at = LatentDraws.of(X, draws.whitened, draws.lengthscales, draws.mixing, draws.kernel, draws.nugget)
    part = draws.at(X, seed)[..., 0] / draws.mixing[0, 0]
    white = solve_triangular(at.factors[0], part.T, lower=True, check_finite=False).T
    return replace(at, whitened=white[:, None])


def joined(found: Sequence[LatentDraws]) -> LatentDraws:
    """Draws of one objective each, at the same options, as draws of all of them."""
    count = min(each.count for each in found)
    return replace(
        found[0],
        whitened=np.concatenate([each.whitened[:count] for each in found], axis=1),
        factors=np.concatenate([each.factors for each in found]),
        lengthscales=np.concatenate([each.lengthscales for each in found]),
        mixing=np.diag([each.mixing[0, 0] for each in found]),
    )


def duel(draws: LatentDraws, space: Searchable, avoid: Array, seed: int) -> Array:
    """Two new options (2, d)."""
    rng = np.random.default_rng(seed)
    acquisition = ScalarisedThompson(weight=tuple(rng.dirichlet(np.ones(draws.latent_dim))))
    found = best_point(draws, space, acquisition, avoid, int(rng.integers(2**31)))
    second = best_point(draws, space, acquisition, np.concatenate([avoid, found]), int(rng.integers(2**31)))
    return np.concatenate([found, second])


def one_objective() -> ChoiceGP:
    """The model of each objective."""
    return ChoiceGP(latent_dim=1, engine=question_engine("hmc"))
