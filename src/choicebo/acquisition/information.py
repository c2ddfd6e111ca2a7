"""What the answer about a point would tell: mutual information between the answer and the latent functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from choicebo.acquisition.base import Known, Prepared
from choicebo.acquisition.ucb import UpperBound
from choicebo.model.normal import log_cdf


@dataclass(frozen=True)
class Information:
    """How much "would it be kept beside the best options so far?" says about the latent functions.

    The answer is worth most where the draws disagree on it although each is sure: the entropy of the mean probability less
    the mean entropy.
    """

    name: str = "information"
    sentence: str = "your answer about the new option is the one expected to tell most about what you like"
    nearby: bool = False

    def prepare(self, known: Known, seed: int) -> Prepared:
        """The latent values of ``X_nd``, as for the upper bound."""
        return UpperBound().prepare(known, seed)

    def score(self, state: Any, latent: jax.Array) -> jax.Array:
        """Logarithm of the mutual information, in nats."""
        margin = (state.latent - latent[:, :, None]) / np.sqrt(2.0).astype(np.float32)
        beaten = jnp.where(state.used, jnp.exp(log_cdf(margin).sum(-1)), 0.0)
        kept = jnp.exp(jnp.log1p(-jnp.minimum(beaten, 1.0 - 1e-6)).sum(-1))
        told = _entropy(kept.mean(1)) - _entropy(kept).mean(1)
        return jnp.log(jnp.maximum(told, 0.0) + 1e-9)


def _entropy(p: jax.Array) -> jax.Array:
    p = jnp.clip(p, 1e-7, 1.0 - 1e-7)
    return -(p * jnp.log(p) + (1.0 - p) * jnp.log1p(-p))
