"""Cells of tables as numbers, flags and labels, many at a time; a cell that is none is a problem of its row."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices.problems import Problems
from choicebo.errors import DataError
from choicebo.formatting import as_given

Cells = Sequence[Any] | NDArray[Any]
Floats = NDArray[np.float64]
Numbers = Sequence[int] | NDArray[np.int64]

_FLAGS = {"1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0, "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "": math.nan}
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet would compute, or one that was protected from it."""


def is_missing(cell: Any) -> bool:
    """Whether a cell is empty: no text, None, NaN, or the missing value of pandas.

    >>> [is_missing(cell) for cell in ("", "rye", None, math.nan, 0)]
    [True, False, True, True, False]
    """
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, str):
        return not cell.strip()
    return isinstance(cell, float) and math.isnan(cell)


def finite(cells: Cells, numbers: Numbers, name: str, problems: Problems) -> Floats:
    """Finite numbers, one in each cell: (n,).

    >>> finite(["0.5", "1e-3"], [2, 3], "x0", Problems("line")).tolist()
    [0.5, 0.001]
    """
    found = _floats(cells)
    for row in np.flatnonzero(~np.isfinite(found)).tolist():
        shown = as_given(plain(cells[row]))
        problems.add(numbers[row], f"{name} is {shown}, but must be a finite number with a decimal point.")
    return found


def finite_or_missing(cells: Cells, numbers: Numbers, name: str, problems: Problems) -> Floats:
    """Finite numbers, or NaN where a cell is empty: (n,).

    >>> finite_or_missing(["2", ""], [2, 3], "rank", Problems("line")).tolist()
    [2.0, nan]
    """
    found = _floats(cells)
    for row in np.flatnonzero(~np.isfinite(found)).tolist():
        if not is_missing(cells[row]):
            shown = as_given(plain(cells[row]))
            problems.add(numbers[row], f"{name} is {shown}, but must be a finite number, or empty.")
    return found


def flags(cells: Cells, numbers: Numbers, name: str, problems: Problems) -> Floats:
    """1 for yes, 0 for no, and NaN where a cell is empty: (n,).

    >>> flags(["yes", "0", ""], [2, 3, 4], "kept", Problems("line")).tolist()
    [1.0, 0.0, nan]
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        found = cells.astype(np.float64)
        wrong = ~np.isnan(found) & (found != 0.0) & (found != 1.0)
    else:
        read = [_flag(cell) for cell in cells]
        wrong = np.array([flag is None for flag in read], dtype=np.bool_)
        found = np.array([math.nan if flag is None else flag for flag in read], dtype=np.float64)
    for row in np.flatnonzero(wrong).tolist():
        problems.add(numbers[row], f"{name} is {as_given(plain(cells[row]))}, but must be 1 (yes) or 0 (no).")
    return found


def labels(cells: Cells, numbers: Numbers, name: str, problems: Problems) -> list[str | None]:
    """Labels as texts, so that a number in one table and the same number in another are one; None where a cell is empty.

    >>> labels(["A", " 7 ", ""], [2, 3, 4], "choice", Problems("line"))
    ['A', '7', None]
    >>> labels(np.array([7.0, np.nan]), [1, 2], "choice", Problems("row"))
    ['7', None]
    """
    found = []
    for row, cell in enumerate(cells.tolist() if isinstance(cells, np.ndarray) else cells):
        try:
            found.append(label(cell))
        except DataError as error:
            problems.add(numbers[row], f"{name} is {error}")
            found.append(None)
    return found


def label(cell: Any) -> str | None:
    """One label as text; None for an empty cell."""
    if isinstance(cell, str):
        return unprotected(cell.strip()) or None
    if is_missing(cell):
        return None
    # Columns of whole numbers with gaps are floats in pandas.
    whole = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
    try:
        if isinstance(whole, (bytes, Collection)):
            raise TypeError
        return str(whole)
    except Exception:  # whatever goes wrong in an object of somebody else, or a number of thousands of digits
        raise DataError(f"{as_given(cell)}, but must be a text or a number.") from None


def unprotected(cell: str) -> str:
    """A text without the apostrophe that keeps a spreadsheet from computing it.

    >>> unprotected("'=1+1"), unprotected("'rye'")
    ('=1+1', "'rye'")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def plain(cell: Any) -> Any:
    """The Python value inside a NumPy scalar; anything else unchanged."""
    return cell.item() if isinstance(cell, np.generic) else cell


def _flag(cell: Any) -> float | None:
    if is_missing(cell):
        return math.nan
    cell = plain(cell)
    if isinstance(cell, (bool, int, float)):
        return float(cell) if cell in (0, 1) else None
    return _FLAGS.get(cell.strip().lower()) if isinstance(cell, str) else None


def _floats(cells: Cells) -> Floats:
    """Numbers, NaN where a cell is none."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    try:
        return np.array(list(map(float, cells)), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_float(cell) for cell in cells], dtype=np.float64)


def _float(cell: Any) -> float:
    try:
        # People whose decimal comma separates no cells write it.
        return float(cell.replace(",", ".") if isinstance(cell, str) else cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan
