"""Which points of the unit cube are the same: to the last bit, except that 0.0 and -0.0 are one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def point_keys(points: ArrayLike) -> list[bytes]:
    """A key for each point, for sets and dicts: equal points have equal keys.

    >>> keys = point_keys([[0.0, 1.0], [-0.0, 1.0], [0.5, 1.0]])
    >>> keys[0] == keys[1], keys[0] == keys[2]
    (True, False)
    """
    # Adding zero makes a negative zero positive.
    return [row.tobytes() for row in np.asarray(points, dtype=np.float64) + 0.0]


def rows_in(X: ArrayLike, points: ArrayLike) -> NDArray[np.int64]:
    """The row of ``X`` equal to each point, the first of several, or -1.

    >>> rows_in([[0.0], [1.0], [0.0]], [[1.0], [2.0], [-0.0]]).tolist()
    [1, -1, 0]
    """
    first: dict[bytes, int] = {}
    for row, key in enumerate(point_keys(X)):
        first.setdefault(key, row)
    return np.array([first.get(key, -1) for key in point_keys(points)], dtype=np.int64)


def distinct(points: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Each point once, in order of first appearance, and for each point given its number among them.

    >>> [rows.tolist() for rows in distinct(np.array([[0.5], [0.1], [0.5]]))]
    [[[0.5], [0.1]], [0, 1, 0]]
    """
    number: dict[bytes, int] = {}
    numbers = np.array([number.setdefault(key, len(number)) for key in point_keys(points)], dtype=np.int64)
    first = np.unique(numbers, return_index=True)[1]
    return points[first], numbers
