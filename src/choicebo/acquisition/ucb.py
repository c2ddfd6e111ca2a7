"""The paper's acquisition: an upper credible bound of the probability that a point beats all of ``X_nd``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from choicebo.acquisition.interface import Array, Known, Prepared
from choicebo.acquisition.normal import log_cdf, mills_ratio

_SQRT_HALF = math.sqrt(0.5)
_ELEMENTS_AT_ONCE = 2**15


class Rivals(NamedTuple):
    """``X_nd`` in every draw."""

    latent: Array
    """(n_e, draws, rivals)"""
    quantile: float


@dataclass(frozen=True)
class UpperBound:
    """Upper ``gamma`` quantile over draws of ``log P(C({x} u X_nd) = {x})``: in logs, since the product underflows."""

    gamma: float = 0.95
    name: str = "ucb"
    sentence: str = "the new option is the one that may beat all of your best options so far"
    nearby: bool = False

    def prepare(self, known: Known, seed: int) -> Prepared:
        """The latent values of ``X_nd``."""
        rivals = np.ascontiguousarray(np.moveaxis(known.draws.smooth[:, known.front], 2, 0))
        return Prepared(known.draws.marginals(seed), Rivals(rivals, self.gamma))

    def score(self, state: Any, latent: Array) -> Array:
        """The bound in logs: of the product over rivals and dimensions of ``Phi((f(x) - f(j)) / sqrt 2)``."""
        beats = _log_probability_to_beat_all(state, latent)
        low, high, share = _around_quantile(beats, state.quantile)
        return np.asarray((1.0 - share) * _picked(beats, low) + share * _picked(beats, high))

    def score_gradient(self, state: Any, latent: Array) -> tuple[Array, Array]:
        """The score, and its derivative by the latent values: only the two draws next to the quantile have one."""
        beats = _log_probability_to_beat_all(state, latent)
        low, high, share = _around_quantile(beats, state.quantile)
        by_latent = np.zeros_like(latent)
        rows = np.arange(len(latent))
        for draw, part in ((low, 1.0 - share), (high, share)):
            for d, rivals in enumerate(state.latent):
                margin = (latent[rows, draw, d, None] - rivals[draw]) * _SQRT_HALF
                by_latent[rows, draw, d] += part * _SQRT_HALF * mills_ratio(margin).sum(1)
        return (1.0 - share) * _picked(beats, low) + share * _picked(beats, high), by_latent


def _log_probability_to_beat_all(state: Rivals, latent: Array) -> Array:
    """(n, draws): of each point in each draw."""
    rivals = np.asarray(state.latent, dtype=latent.dtype)
    rows = max(1, _ELEMENTS_AT_ONCE // rivals[0].size)
    found = np.zeros(latent.shape[:2], dtype=latent.dtype)
    # A product sums short rows several times as fast as a sum does.
    ones = np.ones(rivals.shape[2], dtype=latent.dtype)
    for at in range(0, len(latent), rows):
        mine = slice(at, at + rows)
        for d, others in enumerate(rivals):
            margin = latent[mine, :, d, None] - others
            margin *= _SQRT_HALF
            found[mine] += log_cdf(margin) @ ones
    return found


def _around_quantile(values: Array, quantile: float) -> tuple[Any, Any, float]:
    """Per row of ``values: (n, draws)`` the columns whose values lie around the quantile, (n,), and how near it is to the
    second of them, from 0 to 1."""
    place = quantile * (values.shape[1] - 1)
    below = math.floor(place)
    above = min(below + 1, values.shape[1] - 1)
    order = np.argpartition(values, (below, above), axis=1)
    return order[:, below], order[:, above], place - below


def _picked(values: Array, columns: Any) -> Array:
    return np.asarray(values[np.arange(len(values)), columns])
