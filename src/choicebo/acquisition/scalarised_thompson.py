"""Scalarised Thompson sampling: one draw, one random Chebyshev weight a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from choicebo.acquisition.improvement import attained
from choicebo.acquisition.interface import Array, Known, Prepared

_SUM = 0.05


class Chebyshev(NamedTuple):
    """A weighted Chebyshev scalarisation, measured from the ideal of one draw's front; each (n_e,)."""

    ideal: Array
    scale: Array
    """Weights in units of the front's extent."""


@dataclass(frozen=True)
class ScalarisedThompson:
    """The point that one draw thinks best for one random weighting of the hidden objectives."""

    name: str = "scalarised_thompson"
    sentence: str = "the new option is the best for one plausible balance of what you seem to care about"
    nearby: bool = False
    weight: tuple[float, ...] | None = None
    """Of each hidden objective; None: drawn for each question."""

    def prepare(self, known: Known, seed: int) -> Prepared:
        """One draw as a function, and the weight, if need be drawn evenly from the simplex."""
        rng = np.random.default_rng(seed)
        draws = known.draws
        draw = int(rng.integers(draws.count))
        weight = rng.dirichlet(np.ones(draws.latent_dim)) if self.weight is None else np.array(self.weight)
        unit = attained(known.smooth[[draw]], 0.0, draws.known_dims).unit[:, 0]
        return Prepared(draws.path(draw, seed), Chebyshev(known.smooth[draw].max(0), weight / unit))

    def score(self, state: Any, latent: Array) -> Array:
        """Augmented Chebyshev value: the worst weighted shortfall, and a little of the sum against ties."""
        shortfall = state.scale * (latent[:, 0] - state.ideal)
        return np.asarray(shortfall.min(1) + _SUM * shortfall.sum(1))

    def score_gradient(self, state: Any, latent: Array) -> tuple[Array, Array]:
        """The score, and its derivative by the latent values."""
        shortfall = state.scale * (latent[:, 0] - state.ideal)
        worst = np.arange(shortfall.shape[1]) == shortfall.argmin(1)[:, None]
        by_latent = state.scale * (worst + _SUM)
        return shortfall.min(1) + _SUM * shortfall.sum(1), by_latent[:, None]
