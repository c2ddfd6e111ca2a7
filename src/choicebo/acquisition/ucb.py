"""The paper's acquisition: an upper credible bound of the probability that a point beats all of ``X_nd``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from choicebo.acquisition.base import Known, Prepared
from choicebo.model.normal import log_cdf

_ROOM = (8, 16, 32, 64, 128, 256)


class Rivals(NamedTuple):
    """``X_nd`` in every draw, padded."""

    latent: jax.Array
    """(draws, rivals, n_e)"""
    used: jax.Array
    """(rivals,)"""
    quantile: jax.Array


@dataclass(frozen=True)
class UpperBound:
    """Upper ``gamma`` quantile over draws of ``log P(C({x} u X_nd) = {x})``: in logs, since the product underflows."""

    gamma: float = 0.95
    name: str = "ucb"
    sentence: str = "the new option is the one that may beat all of your best options so far"
    nearby: bool = False

    def prepare(self, known: Known, seed: int) -> Prepared:
        """The latent values of ``X_nd``."""
        rivals = known.belief.smooth[:, known.front]
        room = next((size for size in _ROOM if size >= rivals.shape[1]), rivals.shape[1])
        padded = np.zeros((len(rivals), room, rivals.shape[2]), dtype=np.float32)
        padded[:, : rivals.shape[1]] = rivals
        used = np.arange(room) < rivals.shape[1]
        state = Rivals(jnp.asarray(padded), jnp.asarray(used), jnp.asarray(self.gamma, dtype=jnp.float32))
        return Prepared(known.belief.marginals(seed), state)

    def score(self, state: Any, latent: jax.Array) -> jax.Array:
        """The bound in logs: of the product over rivals and dimensions of ``Phi((f(x) - f(j)) / sqrt 2)``."""
        margin = (latent[:, :, None] - state.latent) / np.sqrt(2.0).astype(np.float32)
        beats = jnp.where(state.used, log_cdf(margin).sum(-1), 0.0).sum(-1)
        return jnp.quantile(beats, state.quantile, axis=1)
