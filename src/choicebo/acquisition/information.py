"""What the answer about a point would tell: mutual information between the answer and the latent functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from choicebo.acquisition.interface import Array, Known, Prepared
from choicebo.acquisition.normal import cdf, mills_ratio
from choicebo.acquisition.ucb import Rivals, UpperBound

_SQRT_HALF = math.sqrt(0.5)
_MOST_BEATEN = 1.0 - 1e-6
_LEAST_PROBABILITY = 1e-7
_LEAST = 1e-9
_ELEMENTS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Information:
    """How much "would it be kept beside the best options so far?" says about the latent functions.

    The answer is worth most where the draws disagree on it although each is sure: the entropy of the mean probability less
    the mean entropy.
    """

    name: str = "information"
    sentence: str = "your answer about the new option is expected to reveal most about what you like"
    nearby: bool = False

    def prepare(self, known: Known, seed: int) -> Prepared:
        """The latent values of ``X_nd``, as for the upper bound."""
        return UpperBound().prepare(known, seed)

    def score(self, state: Any, latent: Array) -> Array:
        """Logarithm of the mutual information, in nats."""
        rows = max(1, _ELEMENTS_AT_ONCE // state.latent[0].size)
        blocks = (latent[at : at + rows] for at in range(0, len(latent), rows))
        kept = np.concatenate([_survival(_beaten(_margins(state, block))) for block in blocks])
        return np.asarray(np.log(_told(kept) + _LEAST))

    def score_gradient(self, state: Any, latent: Array) -> tuple[Array, Array]:
        """The score, and its derivative by the latent values."""
        margins = _margins(state, latent)
        beaten = _beaten(margins)
        kept = _survival(beaten)
        told = _told(kept)
        mean = kept.mean(1, keepdims=True)
        by_kept = (_entropy_slope(mean) - _entropy_slope(kept)) / kept.shape[1]
        by_kept = np.where(told[:, None] > 0.0, by_kept, 0.0) / (told[:, None] + _LEAST)
        # Each rival that might beat the point takes from the probability that it is kept.
        free = beaten < _MOST_BEATEN
        by_log_beaten = np.where(free, -beaten / (1.0 - np.minimum(beaten, _MOST_BEATEN)), 0.0)
        by_log_beaten *= (by_kept * kept)[..., None]
        by_latent = [-_SQRT_HALF * (by_log_beaten * mills_ratio(margin)).sum(2) for margin in margins]
        return np.log(told + _LEAST), np.stack(by_latent, axis=2)


def _margins(state: Rivals, latent: Array) -> list[Array]:
    """How far each rival is ahead of each point, for each latent dimension (n, draws, rivals)."""
    rivals = np.asarray(state.latent, dtype=latent.dtype)
    return [(others - latent[..., d, None]) * _SQRT_HALF for d, others in enumerate(rivals)]


def _beaten(margins: list[Array]) -> Array:
    """Probability (n, draws, rivals) that each rival beats the point."""
    beaten = cdf(margins[0])
    for margin in margins[1:]:
        beaten *= cdf(margin)
    return beaten


def _survival(beaten: Array) -> Array:
    """Probability (n, draws) that no rival beats the point."""
    return np.asarray(np.prod(1.0 - np.minimum(beaten, _MOST_BEATEN), axis=2))


def _told(kept: Array) -> Array:
    return np.asarray(np.maximum(_entropy(kept.mean(1)) - _entropy(kept).mean(1), 0.0))


def _entropy(p: Array) -> Array:
    p = np.clip(p, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    return np.asarray(-(p * np.log(p) + (1.0 - p) * np.log1p(-p)))


def _entropy_slope(p: Array) -> Array:
    inside = np.clip(p, _LEAST_PROBABILITY, 1.0 - _LEAST_PROBABILITY)
    return np.asarray(np.where(p == inside, np.log1p(-inside) - np.log(inside), 0.0))
