"""The probability of every non-empty subset of a small set at once, for many draws of its latent values.

The integrals of inclusion-exclusion are shared by all subsets: they are computed once for each rejected option and each
group of possible winners, and one subset-sum transform turns them into the rejection probabilities under every
possible kept set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from choicebo.errors import InvalidInputError

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


def joint_wins(z: Array) -> Array:
    """Probability that all of a group of options beat one whose noise is shared by the comparisons, for each group.

    ``(options, n_e, draws) -> (2^options - 1, draws)``: ``z`` is by how much each option is better, in units of the noise,
    and row ``code - 1`` holds the group with the bits of ``code``. A fixed rule of 16 nodes is fast, and right to 1e-5.
    """
    at_nodes = ndtr(z[..., None] - _POINTS)  # (options, n_e, draws, nodes)
    products = np.broadcast_to(_WEIGHTS, (1, *at_nodes.shape[1:]))
    for factor in at_nodes:
        products = np.concatenate([products, products * factor])
    result = products.sum(3).prod(1)
    result[1 << np.arange(len(z))] = ndtr(z / np.sqrt(2.0)).prod(1)
    return np.asarray(result[1:])


def choice_table(latent: Array, joint_wins: Callable[[Array], Array] = joint_wins) -> Array:
    """Theorem 1 for all kept sets, ``(draws, options, n_e) -> (draws, 2^options - 1)``.

    Column ``code - 1`` holds the kept set with the bits of ``code``. The rows need not sum to one.

    Args:
        latent: Latent values in units of the noise.
        joint_wins: Computes the integrals as :func:`joint_wins` does, but perhaps with another accuracy.

    Raises:
        InvalidInputError: The set has more than ``MAX_SET`` options.
    """
    draws, size, n_e = latent.shape
    _require_small(size)
    rows = max(1, _ELEMENTS_AT_ONCE // (2**size * n_e * len(_POINTS)))
    lanes = np.moveaxis(latent, 0, 2)
    parts = [_table(lanes[..., at : at + rows], joint_wins).T for at in range(0, draws, rows)]
    return np.concatenate(parts) if parts else np.zeros((0, 2**size - 1))


def best_table(latent: Array) -> Array:
    """The same for a pseudo-rational choice: the probability that the options best in at least one dimension are these.

    With one dimension it is a batch preference. The rows sum to one.
    """
    draws, size, n_e = latent.shape
    _require_small(size)
    rows = max(1, _ELEMENTS_AT_ONCE // max(2**size * n_e, size * size * n_e * len(_POINTS)))
    parts = [_best_table(latent[at : at + rows]) for at in range(0, draws, rows)]
    return np.concatenate(parts) if parts else np.zeros((0, 2**size - 1))


def _best_table(latent: Array) -> Array:
    draws, size, n_e = latent.shape
    best = np.empty((size, draws, n_e))
    for i in range(size):
        ahead = latent[:, i, None] - np.delete(latent, i, axis=1)  # (draws, others, n_e)
        best[i] = ndtr(ahead[..., None] - _POINTS).prod(1) @ _WEIGHTS
    best /= best.sum(0)
    inside = np.zeros((1, draws, n_e))
    for each in best:  # probability that the best option is in a set, in each dimension: all sets, one option at a time
        inside = np.concatenate([inside, inside + each])
    table = inside.prod(2)  # all best options are in it ...
    for i in range(size):  # ... and in none of its subsets
        halves = table.reshape(-1, 2, 1 << i, draws)
        halves[:, 1] -= halves[:, 0]
    return np.asarray(np.clip(table[1:], 0.0, 1.0).T)


def noticeable_table(latent: Array, threshold: float) -> Array:
    """The same for noticeable differences in one dimension: one option is kept if it is noticeably better than each other one.

    What is left is that no option is, and all are kept. The rows sum to one.
    """
    draws, size, _ = latent.shape
    _require_small(size)
    result = np.zeros((draws, 2**size - 1))
    for i in range(size):
        ahead = latent[:, i] - np.delete(latent[:, :, 0], i, axis=1)
        result[:, (1 << i) - 1] = ndtr((ahead - threshold) / np.sqrt(2.0)).prod(1)
    result[:, -1] = np.clip(1.0 - result.sum(1), 0.0, 1.0)
    return result


def _require_small(size: int) -> None:
    if size > MAX_SET:
        raise InvalidInputError(f"A set of {size} options has 2^{size} subsets; give at most {MAX_SET} options.")


def _table(latent: Array, joint_wins: Callable[[Array], Array]) -> Array:
    size, _, draws = latent.shape
    result = np.ones((2**size, draws))
    for j in range(size):
        rejected = _rejection(joint_wins(np.delete(latent, j, axis=0) - latent[j]))
        by_bit = result.reshape(-1, 2, 1 << j, draws)
        by_bit[:, 0] *= rejected.reshape(-1, 1 << j, draws)
    codes = np.arange(2**size)
    for p in range(size):
        for i in range(p + 1, size):
            x = (latent[p] - latent[i]) / np.sqrt(2.0)
            both = (codes >> p & 1) & (codes >> i & 1) == 1
            result[both] *= (1.0 - ndtr(x).prod(0)) * (1.0 - ndtr(-x).prod(0))
    return result[1:]


def _rejection(wins: Array) -> Array:
    """Probability that some member of a kept set beats an option, for each kept set: (2^others, draws), the empty set first."""
    draws = wins.shape[1]
    odd = np.array([code.bit_count() % 2 == 1 for code in range(1, len(wins) + 1)])
    terms = np.concatenate([np.zeros((1, draws)), np.where(odd[:, None], wins, -wins)])
    for i in range(len(odd).bit_length()):  # sums over all subsets, one option at a time
        halves = terms.reshape(-1, 2, 1 << i, draws)
        halves[:, 1] += halves[:, 0]
    return np.asarray(np.clip(terms, 0.0, 1.0))
