"""The probability of every non-empty subset of a small set at once, for many draws of its latent values.

The integrals of inclusion-exclusion are shared by all subsets: they are computed once for each rejected option and each
group of possible winners, and one subset-sum transform turns them into the rejection probabilities under every
possible kept set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from choicebo.errors import InvalidInput

Array = NDArray[np.float64]

MAX_SET = 12
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_ELEMENTS_AT_ONCE = 2**22


def subset_of_code(code: int, size: int) -> tuple[int, ...]:
    """The positions whose bits are set in ``code``.

    >>> subset_of_code(5, 3)
    (0, 2)
    """
    return tuple(i for i in range(size) if code >> i & 1)


def choice_table(latent: Array) -> Array:
    """Theorem 1 for all kept sets: ``latent: (draws, options, n_e)`` in units of the noise -> ``(draws, 2^options - 1)``.

    Column ``code - 1`` holds the kept set with the bits of ``code``. The rows need not sum to one.
    """
    draws, size, n_e = latent.shape
    if size > MAX_SET:
        raise InvalidInput(f"a set of {size} options has 2^{size} subsets; at most {MAX_SET} options are taken")
    rows = max(1, _ELEMENTS_AT_ONCE // (2**size * n_e * len(_POINTS)))
    parts = [_table(latent[at : at + rows]) for at in range(0, draws, rows)]
    return np.concatenate(parts) if parts else np.zeros((0, 2**size - 1))


def _table(latent: Array) -> Array:
    draws, size, _ = latent.shape
    codes = np.arange(2**size)
    result = np.ones((2**size, draws))
    for j in range(size):
        rejected = _rejection_by_kept_set(latent, j)
        result *= np.where((codes >> j & 1)[:, None] == 1, 1.0, np.clip(rejected, 0.0, 1.0))
    for p in range(size):
        for i in range(p + 1, size):
            x = (latent[:, p] - latent[:, i]) / np.sqrt(2.0)
            neither = (1.0 - ndtr(x).prod(1)) * (1.0 - ndtr(-x).prod(1))
            both = (codes >> p & 1) & (codes >> i & 1)
            result *= np.where(both[:, None] == 1, neither, 1.0)
    return result[1:].T


def _rejection_by_kept_set(latent: Array, j: int) -> Array:
    """Probability that some member of each kept set beats option ``j``: (2^options, draws); ``j`` is never a winner."""
    draws, size, n_e = latent.shape
    z = latent - latent[:, j, None]
    at_nodes = ndtr(z[..., None] - _POINTS)  # (draws, options, n_e, nodes)
    at_nodes[:, j] = 0.0
    products = np.broadcast_to(_WEIGHTS, (1, draws, n_e, len(_POINTS)))
    for i in range(size):
        products = np.concatenate([products, products * at_nodes[:, i]])
    terms = products.sum(3).prod(2)  # (subsets, draws)
    single = ndtr(z / np.sqrt(2.0)).prod(2)
    single[:, j] = 0.0
    for i in range(size):
        terms[1 << i] = single[:, i]
    count = np.array([code.bit_count() for code in range(2**size)])
    terms = terms * np.where(count % 2 == 1, 1.0, -1.0)[:, None]
    terms[0] = 0.0
    for i in range(size):  # sums over all subsets, one option at a time
        shape = (-1, 2, 1 << i, draws)
        halves = terms.reshape(shape)
        halves[:, 1] += halves[:, 0]
    return np.asarray(terms)
