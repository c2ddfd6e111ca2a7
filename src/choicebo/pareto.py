"""Dominance, non-dominated sets and hypervolume. More is better in every objective."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import InvalidInputError

MAX_OBJECTIVES = 31
"""The largest number of objectives for which moocore computes a hypervolume."""


def dominates(a: ArrayLike, b: ArrayLike) -> bool:
    """Say whether ``a`` is at least as good as ``b`` in every objective and better in one; larger is better.

    Args:
        a: Values of one option, (k,).
        b: Values of the other, (k,).

    Returns:
        True or False.

    Raises:
        InvalidInputError: The two do not have the same number of finite values.

    Examples:
        >>> dominates([1.0, 2.0], [1.0, 1.0])
        True
        >>> dominates([1.0, 2.0], [1.0, 2.0])
        False
    """
    first = _numbers(a, "a", ndim=1)
    second = _numbers(b, "b", ndim=1)
    if first.shape != second.shape:
        raise InvalidInputError(
            f"a has {first.size} objectives and b has {second.size}; give both the same objectives."
        )
    return bool(np.all(first >= second) and np.any(first > second))


def non_dominated(values: ArrayLike) -> NDArray[np.bool_]:
    """Say which rows no other row dominates; larger is better.

    Args:
        values: A row of objectives for each option, (n, k).

    Returns:
        True or False for each row, (n,); of equal rows all or none.

    Raises:
        InvalidInputError: The values are not of this shape.

    Examples:
        >>> non_dominated([[2.0, 1.0], [1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]).tolist()
        [True, True, False, True]
    """
    points = _numbers(values, "values", ndim=2)
    import moocore

    return np.asarray(moocore.is_nondominated(points, maximise=True, keep_weakly=True), dtype=np.bool_)


def hypervolume(values: ArrayLike, reference: ArrayLike) -> float:
    """Compute the volume that the rows dominate beyond the reference.

    A row that is not better than the reference in every objective adds nothing.

    Args:
        values: A row of objectives for each option, (n, k); larger is better.
        reference: Where the volume begins, (k,).

    Returns:
        The volume.

    Raises:
        InvalidInputError: The values are not of these shapes.

    Examples:
        >>> hypervolume([[2.0, 1.0], [1.0, 2.0], [9.0, -1.0]], reference=[0.0, 0.0])
        3.0
    """
    points, corner = _points_and_reference(values, reference)
    better = np.all(points > corner, axis=1)
    if not better.any():
        return 0.0
    import moocore

    return float(moocore.hypervolume(points[better], ref=corner, maximise=True))


def hypervolume_contributions(values: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Compute the hypervolume that would be lost without each row alone.

    Args:
        values: A row of objectives for each option, (n, k); larger is better.
        reference: Where the volume begins, (k,).

    Returns:
        The contributions, (n,).

    Raises:
        InvalidInputError: The values are not of these shapes.

    Examples:
        >>> hypervolume_contributions([[3.0, 1.0], [1.0, 2.0], [1.0, 1.0]], reference=[0.0, 0.0]).tolist()
        [2.0, 1.0, 0.0]
    """
    points, corner = _points_and_reference(values, reference)
    lost = np.zeros(len(points))
    better = np.all(points > corner, axis=1)
    if not better.any():
        return lost
    if points.shape[1] == 1:
        # moocore wants two objectives here; a second one of constant height 1 leaves every volume as it is.
        points = np.column_stack([points, np.ones(len(points))])
        corner = np.append(corner, 0.0)
    import moocore

    lost[better] = moocore.hv_contributions(points[better], ref=corner, maximise=True, ignore_dominated=False)
    return lost


def _points_and_reference(values: ArrayLike, reference: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    points = _numbers(values, "values", ndim=2)
    corner = _numbers(reference, "reference", ndim=1)
    if corner.size != points.shape[1]:
        raise InvalidInputError(
            f"reference has {corner.size} objectives, but values has {points.shape[1]}; give both the same."
        )
    if points.size and np.isposinf(points).any():
        row, column = np.argwhere(np.isposinf(points))[0]
        raise InvalidInputError(f"values[{row}, {column}] is infinite, and so is its volume; give finite values.")
    if not np.isfinite(corner).all():
        raise InvalidInputError(f"reference is {corner.tolist()}; give a finite number for each objective.")
    return points, corner


def _numbers(given: ArrayLike, name: str, *, ndim: int) -> NDArray[np.float64]:
    """Return a float array of one or two dimensions without NaN, or raise `InvalidInputError`."""
    accepted = "(n, k): one row for each point" if ndim == 2 else "(k,)"
    try:
        array = np.asarray(given)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} has rows of different lengths; give an array of shape {accepted}.") from error
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} is not numeric (dtype {array.dtype}); give numbers of shape {accepted}.")
    if array.ndim != ndim:
        raise InvalidInputError(f"{name} has shape {array.shape}; give an array of shape {accepted}.")
    if not 1 <= array.shape[-1] <= MAX_OBJECTIVES:
        raise InvalidInputError(f"{name} has {array.shape[-1]} objectives; give between 1 and {MAX_OBJECTIVES}.")
    if np.isnan(array).any():
        where = ", ".join(str(position) for position in np.argwhere(np.isnan(array))[0])
        raise InvalidInputError(f"{name}[{where}] is NaN; leave the row out, or fill in the value.")
    return array.astype(np.float64)
