"""Thompson sampling in latent space: believe one draw, and show what it thinks best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from choicebo.acquisition.base import Known, Prepared
from choicebo.acquisition.improvement import attained, improvement


@dataclass(frozen=True)
class Thompson:
    """The point that adds most hypervolume if one draw of the latent functions were true."""

    margin: float = 0.3
    """As that of ``ehvi``."""
    name: str = "thompson"
    sentence: str = "the new option is the best addition under one plausible reading of your answers"
    nearby: bool = False

    def prepare(self, known: Known, seed: int) -> Prepared:
        """One draw as a function, and the volume that it attains already."""
        draw = int(np.random.default_rng(seed).integers(len(known.belief.latent)))
        return Prepared(known.belief.path(draw, seed), attained(known.belief.smooth[[draw]], self.margin))

    def score(self, state: Any, latent: jax.Array) -> jax.Array:
        """Logarithm of the improvement in that draw."""
        return jnp.log(improvement(state, latent)[:, 0] + 1e-12)
