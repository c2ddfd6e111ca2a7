"""Points of the unit cube: which are valid, and which are the same.

Points are the same if they are equal to the last bit, except that 0.0 and -0.0 are one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import SpaceError

Floats = NDArray[np.float64]


def as_cube(points: object, dim: int) -> Floats:
    """``points`` as an (n, dim) array inside the unit cube.

    >>> as_cube([[0.0, 1.0]], dim=2).shape
    (1, 2)
    """
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise SpaceError(f"Cube points must be an array of numbers with {dim} columns.") from None
    if array.shape == (0,):
        return np.empty((0, dim))
    if array.ndim != 2 or array.shape[1] != dim:
        hint = " Give one point u as u[None, :]." if array.shape == (dim,) else ""
        raise SpaceError(f"Cube points have shape {array.shape}; the accepted shape is (n, {dim}).{hint}")
    # Written so that NaN fails too.
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise SpaceError("Cube points must lie in [0, 1]: use encode() to map options into the cube.")
    return array.reshape(len(array), dim)


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
