"""Options as rows of numbers: checked, and scaled to the unit cube."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.choices.problems import LIMIT
from choicebo.errors import DataError
from choicebo.formatting import as_given

Array: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-9
"""How far an input may lie outside the unit cube and still be taken for a rounding error."""


OUTSIDE = (
    "outside the unit cube; scale every input to between 0 and 1, for example with choicebo.choices.unit_scaled(X)"
)


def unit_scaled(X: ArrayLike, bounds: ArrayLike | None = None) -> Array:
    """Scale options column by column to the unit cube; a column that cannot vary becomes 0.5.

    Args:
        X: The options in their own units, (m, d).
        bounds: The lowest and highest possible value of each column, (d, 2); None: those in X.

    Returns:
        Points of the unit cube, (m, d).

    Raises:
        DataError: A value is not a finite number, or lies outside its bounds.

    Examples:
        >>> unit_scaled([[150.0, 5.0], [220.0, 5.0]]).tolist()
        [[0.0, 0.5], [1.0, 0.5]]
        >>> unit_scaled([[150.0], [200.0]], bounds=[(100, 200)]).ravel().tolist()
        [0.5, 1.0]
    """
    values = _matrix(X, "X")
    if bounds is None:
        lower, upper = values.min(axis=0), values.max(axis=0)
    else:
        lower, upper = _limits(bounds, values.shape[1])
        for row, column in np.argwhere((values < lower) | (values > upper)):
            raise DataError(
                f"X[{row}, {column}] = {values[row, column]} lies outside its bounds ({lower[column]}, "
                f"{upper[column]}); widen the bounds or correct the value."
            )
    # Halved, since the distance between two large finite numbers may not be finite.
    span = upper / 2 - lower / 2
    varies = span > 0
    scaled = np.full_like(values, 0.5)
    np.divide(values / 2 - lower / 2, span, out=scaled, where=np.broadcast_to(varies, values.shape))
    return np.clip(scaled, 0.0, 1.0)


def _limits(bounds: ArrayLike, dim: int) -> tuple[Array, Array]:
    """Return the lower and upper bounds, each (d,), or raise `DataError`."""
    accepted = f"give one finite (lower, upper) pair for each column of X, shape {(dim, 2)}"
    try:
        limits = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"bounds is {as_given(bounds)}; {accepted}.") from error
    if limits.shape != (dim, 2):
        raise DataError(f"bounds has shape {limits.shape}; {accepted}.")
    for column, (lower, upper) in enumerate(limits):
        if not (np.isfinite(lower) and np.isfinite(upper) and lower <= upper):
            raise DataError(f"bounds[{column}] is ({lower}, {upper}); {accepted}, lower first.")
    return limits[:, 0], limits[:, 1]


def _matrix(X: ArrayLike, name: str, *, allow_none: bool = False) -> Array:
    """Return a new finite (m, d) array, or raise `DataError`."""
    accepted = "give an array of shape (m, d): one row for each option, one column for each input"
    try:
        array = np.asarray(X)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} has rows of different lengths; {accepted}.") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} is not numeric (dtype {array.dtype}); {accepted}, with text encoded as numbers.")
    if array.ndim == 1 and array.size > 0:
        raise DataError(
            f"{name} has one dimension, shape {array.shape}; reshape it with reshape(-1, 1) if each value is "
            "an option, or reshape(1, -1) if it is a single option."
        )
    if array.ndim == 0 or array.ndim > 2:
        raise DataError(f"{name} has {array.ndim} dimensions, shape {array.shape}; {accepted}.")
    if array.shape[0] == 0 and not (allow_none and array.ndim == 2):
        raise DataError(f"{name} has no options, shape {array.shape}; {accepted}, with at least one row.")
    if array.shape[1] == 0:
        raise DataError(f"{name} has no columns, shape {array.shape}; {accepted}, with at least one column.")
    values = np.array(array, dtype=np.float64, order="C")
    _refuse(
        [f"{name}[{row}, {column}] is {values[row, column]}" for row, column in np.argwhere(~np.isfinite(values))],
        "but inputs must be finite numbers; fill in or leave out that option",
    )
    return values


def in_unit_cube(X: ArrayLike, name: str, *, allow_none: bool = False) -> Array:
    """Return a new (m, d) array in the unit cube, or raise `DataError`."""
    values = _matrix(X, name, allow_none=allow_none)
    outside = np.argwhere((values < -ROUNDING) | (values > 1 + ROUNDING))
    _refuse([f"{name}[{row}, {column}] = {values[row, column]}" for row, column in outside], OUTSIDE)
    # Adding zero turns -0.0 into 0.0, so that equal rows have equal bytes.
    return np.clip(values, 0.0, 1.0) + 0.0


def stacked(sets: Sequence[ArrayLike], name: str) -> tuple[Array, list[int]]:
    """Return the options of several sets in one array, (sum of k_i, d), and the size of each set, or raise `DataError`.

    Examples:
        >>> X, lengths = stacked([[[0.1], [0.2]], [[0.3]]], "sets")
        >>> X.ravel().tolist(), lengths
        ([0.1, 0.2, 0.3], [2, 1])
    """
    arrays = [options for options in sets if isinstance(options, np.ndarray) and options.ndim == 2 and len(options)]
    if len(arrays) == len(sets) and len({(array.dtype, array.shape[1]) for array in arrays}) == 1:
        together = np.concatenate(arrays)  # alike, so that they can be checked together, in a fraction of the time
        if together.dtype.kind == "f" and together.shape[1] and np.all((together >= 0.0) & (together <= 1.0)):
            return in_unit_cube(together, name), [len(array) for array in arrays]
    checked = [in_unit_cube(options, f"{name}[{number}]") for number, options in enumerate(sets)]
    for number, array in enumerate(checked):
        require_dim(array, checked[0].shape[1], f"{name}[{number}]", f"{name}[0]")
    return np.concatenate(checked), [len(array) for array in checked]


def _refuse(cells: Sequence[str], problem: str) -> None:
    """Raise `DataError` if there are wrong cells, and name the first ones."""
    if cells:
        more = f" and {len(cells) - LIMIT:,} more" if len(cells) > LIMIT else ""
        raise DataError(f"{', '.join(cells[:LIMIT])}{more}, {problem}.")


def require_dim(array: Array, dim: int, name: str, other: str) -> None:
    """Raise `DataError` unless the options have ``dim`` inputs, as those of ``other`` have."""
    if array.shape[1] != dim:
        raise DataError(
            f"{name} has {array.shape[1]} columns, but {other} has {dim}; give every option the same inputs."
        )
