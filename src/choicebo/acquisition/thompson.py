"""Thompson sampling in latent space: believe one draw, and show what it thinks best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from choicebo.acquisition.improvement import attained, improvement, improvement_gradient
from choicebo.acquisition.interface import Array, Known, Prepared

_LEAST = 1e-12


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
        draw = int(np.random.default_rng(seed).integers(known.draws.count))
        return Prepared(
            known.draws.path(draw, seed), attained(known.smooth[[draw]], self.margin, known.draws.known_dims)
        )

    def score(self, state: Any, latent: Array) -> Array:
        """Logarithm of the improvement in that draw."""
        return np.asarray(np.log(improvement(state, latent)[:, 0] + _LEAST))

    def score_gradient(self, state: Any, latent: Array) -> tuple[Array, Array]:
        """The score, and its derivative by the latent values."""
        gain, by_latent = improvement_gradient(state, latent)
        gain += _LEAST
        return np.log(gain[:, 0]), by_latent / gain[..., None]
