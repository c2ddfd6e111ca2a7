"""Scalarised Thompson sampling: one draw, one random Chebyshev weight a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from choicebo.acquisition.base import Known, Prepared
from choicebo.acquisition.improvement import attained


class Chebyshev(NamedTuple):
    """A weighted Chebyshev scalarisation, measured from the ideal of one draw's front."""

    ideal: jax.Array
    unit: jax.Array
    weight: jax.Array


@dataclass(frozen=True)
class ScalarisedThompson:
    """The point that one draw thinks best for one random weighting of the hidden objectives."""

    name: str = "scalarised_thompson"
    sentence: str = "the new option is the best for one plausible balance of what you seem to care about"
    nearby: bool = False

    def prepare(self, known: Known, seed: int) -> Prepared:
        """One draw as a function, and a weight drawn evenly from the simplex."""
        rng = np.random.default_rng(seed)
        belief = known.belief
        draw = int(rng.integers(len(belief.latent)))
        weight = rng.dirichlet(np.ones(belief.n_e))
        front = attained(belief.smooth[[draw]], 0.0)
        ideal = belief.smooth[draw].max(0)
        parts = (ideal, np.asarray(front.unit[0]), weight)
        return Prepared(belief.path(draw, seed), Chebyshev(*(jnp.asarray(p, dtype=jnp.float32) for p in parts)))

    def score(self, state: Any, latent: jax.Array) -> jax.Array:
        """Augmented Chebyshev value: the worst weighted shortfall, and a little of the sum against ties."""
        shortfall: jax.Array = state.weight * (latent[:, 0] - state.ideal) / state.unit
        return shortfall.min(-1) + 0.05 * shortfall.sum(-1)
