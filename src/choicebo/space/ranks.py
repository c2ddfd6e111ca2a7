"""Where the values of a discrete parameter sit in [0, 1].

The first value sits at 0, the last at 1, the others equally spaced: an Integer from 5 to 40 is seen by the
model as the Real from 5 to 40 would be. A point drawn anywhere in [0, 1] belongs to one of n bins of equal
width, so that the first and the last value are drawn as often as the others (rounding to the nearest position
would halve their share).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def rank_to_unit(rank: Ints, n: int) -> Floats:
    """Positions of ranks 0..n-1.

    >>> rank_to_unit(np.array([0, 1, 2]), 3).tolist()
    [0.0, 0.5, 1.0]
    """
    return rank / float(n - 1)


def unit_to_rank(u: Floats, n: int) -> Ints:
    """Ranks of points in [0, 1]: a position gives its own rank, any other point the bin it falls into.

    >>> unit_to_rank(np.array([0.0, 0.3, 0.34, 0.5, 1.0]), 3).tolist()
    [0, 0, 1, 1, 2]
    """
    # Positions near 1 lie so close to the edge of their bin that, in long ranges, rounding would push them
    # over.
    nearest = np.rint(u * (n - 1)).astype(np.int64)
    binned = np.minimum(np.floor(u * n), n - 1).astype(np.int64)
    return np.where(rank_to_unit(nearest, n) == u, nearest, binned)


def log_to_unit(value: Ints, low: int, high: int) -> Floats:
    """Positions of whole numbers on a log scale from ``low`` to ``high``.

    >>> log_to_unit(np.array([1, 10, 100]), 1, 100).tolist()
    [0.0, 0.5, 1.0]
    """
    position: Floats = np.log(value / low) / np.log(high / low)
    return position


def unit_to_log(u: Floats, low: int, high: int) -> Ints:
    """Whole numbers of points in [0, 1] on a log scale; v owns the bin from log(v - 1/2) to log(v + 1/2).

    >>> unit_to_log(np.array([0.0, 0.5, 1.0]), 1, 100).tolist()
    [1, 10, 100]
    """
    nearest = np.rint(low * np.exp(u * np.log(high / low))).astype(np.int64)
    start, end = np.log(low - 0.5), np.log(high + 0.5)
    binned = np.clip(np.rint(np.exp(start + u * (end - start))), low, high).astype(np.int64)
    value: Ints = np.where(log_to_unit(nearest, low, high) == u, nearest, binned)
    return value
