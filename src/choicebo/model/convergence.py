"""Whether chains agree and how much they tell, for many quantities at once.

Rank-normalised split R-hat and bulk effective sample size as in Vehtari et al. 2021. They are asked for after every few draws,
for all quantities at once; the tests compare them with arviz-stats, whose functions take one quantity at a time. The
quantities are ones that no permutation of the latent dimensions changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]

_MARGINS = 8


def margin_pairs(options: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some pairs of different options whose dominance margins are monitored."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, options, _MARGINS)
    return first, (first + rng.integers(1, max(2, options), _MARGINS)) % options


def margins(latent: Array) -> Array:
    """Dominance margins of some pairs of options: ``latent: (draws, n_e, options)`` -> (draws, pairs)."""
    first, second = margin_pairs(latent.shape[-1])
    ours, theirs = (latent[..., part].astype(np.float64) for part in (first, second))
    return np.asarray((ours - theirs).min(axis=1))


def worst_r_hat(quantities: Array) -> float:
    """The largest R-hat of ``quantities: (quantities, chains, draws)``; one that never changes counts as 1."""
    return float(np.nanmax([1.0, *r_hat(quantities)]))


def least_effective(quantities: Array) -> float:
    """The smallest effective sample size; that of one which never changes counts as all draws."""
    sizes = effective_sample_size(quantities)
    return float(np.nanmin([quantities[0].size, *sizes]))


def r_hat(quantities: Array) -> Array:
    """Rank-normalised split R-hat of ``quantities: (quantities, chains, draws)``, the worse of bulk and tails."""
    halves = _split(quantities)
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    return np.maximum(_plain_r_hat(_rank_normalised(halves)), _plain_r_hat(_rank_normalised(folded)))


def effective_sample_size(quantities: Array) -> Array:
    """Bulk effective sample size of each of ``quantities: (quantities, chains, draws)``."""
    x = _rank_normalised(_split(quantities))
    _, chains, draws = x.shape
    centred = x - x.mean(2, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * draws, axis=2)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=2)[..., :draws] / draws
    within = covariance[..., 0].mean(1) * draws / (draws - 1.0)
    total = within * (draws - 1.0) / draws
    if chains > 1:
        total = total + x.mean(2).var(1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1.0 - (within[:, None] - covariance.mean(1)) / total[:, None]
    return np.array([_from_correlations(row, chains * draws) for row in correlation])


def _from_correlations(correlation: Array, size: int) -> float:
    """Geyer's initial monotone sequence of sums of pairs of autocorrelations."""
    if not np.isfinite(correlation).all():
        return float("nan")
    pairs: list[float] = []
    even, odd, t = 1.0, float(correlation[1]), 1
    while t < len(correlation) - 3 and even + odd > 0.0:
        pairs.append(even + odd)
        even, odd = float(correlation[t + 1]), float(correlation[t + 2])
        t += 2
    if not pairs:
        pairs, even = [1.0], 0.0  # the first one alone, if it is all there is
    # One more counts if it is positive: it improves the estimate for antithetic chains.
    time = -1.0 + 2.0 * float(np.minimum.accumulate(pairs).sum()) + max(0.0, even)
    return float(size / max(time, 1.0 / np.log10(size)))


def _split(quantities: Array) -> Array:
    half = quantities.shape[2] // 2
    return np.concatenate([quantities[..., :half], quantities[..., -half:]], axis=1)


def _rank_normalised(x: Array) -> Array:
    flat = x.reshape(len(x), -1)
    result = np.empty_like(flat)
    for number, row in enumerate(flat):
        _, place, count = np.unique(row, return_inverse=True, return_counts=True)
        average = np.cumsum(count) - 0.5 * (count - 1.0)
        result[number] = ndtri((average[place] - 0.375) / (len(row) + 0.25))
    return result.reshape(x.shape)


def _plain_r_hat(x: Array) -> Array:
    draws = x.shape[2]
    within = x.var(2, ddof=1).mean(1)
    between = x.mean(2).var(1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((draws - 1.0) / draws + between / within))
