"""Checks that every noun of this room shares: names, numbers, plain values, and the closest known word."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Iterable

import numpy as np

from choicebo.errors import SpaceError

Value = bool | int | float | str


def plain(value: object) -> object:
    """The Python value inside a NumPy scalar; anything else unchanged.

    >>> plain(np.int64(3))
    3
    """
    return value.item() if isinstance(value, np.generic) else value


def text(value: object, what: str) -> str:
    """``value`` if it is a text that can be shown and stored: not empty, no control characters.

    >>> text("rye", "a value")
    'rye'
    """
    value = plain(value)
    if not isinstance(value, str) or not value.strip():
        raise SpaceError(f"{what} is {value!r}: give a text that is not empty.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value):
        raise SpaceError(f"{what} is {value!r}: leave out line breaks and other control characters.")
    if value != value.strip():
        raise SpaceError(f"{what} is {value!r}: remove the spaces around it.")
    return str(value)


def number(value: object, what: str) -> int | float:
    """``value`` as a finite Python number; a bool is not one.

    >>> number(np.float64(1.5), "low")
    1.5
    """
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SpaceError(f"{what} is {value!r}: give a number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"{what} is {value!r}: give a finite number.")
    if abs(value) > 1e300:
        raise SpaceError(f"{what} is {value!r}: give a number below 1e300, in another unit if need be.")
    return value


def whole(value: object, what: str) -> int:
    """``value`` as a Python int; 5.0 is accepted as 5.

    >>> whole(5.0, "low")
    5
    """
    given = number(value, what)
    if given != int(given):
        raise SpaceError(f"{what} is {given!r}: give a whole number.")
    return int(given)


def single(value: object, what: str) -> Value:
    """``value`` as a plain bool, number or text.

    >>> single(np.bool_(True), "a value")
    True
    """
    value = plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value, what)
    if isinstance(value, (int, float)):
        return number(value, what)
    raise SpaceError(f"{what} is {value!r}: give a text, a number, true or false.")


def flag(value: object, what: str) -> bool:
    """``value`` if it is a bool.

    >>> flag(False, "log")
    False
    """
    value = plain(value)
    if not isinstance(value, bool):
        raise SpaceError(f"{what} is {value!r}: give True or False.")
    return value


def suggestion(word: str, known: Iterable[str]) -> str:
    """A sentence with the closest known word, or with all of them when none is close.

    >>> suggestion("temperatur", ["temperature", "minutes"])
    "Did you mean 'temperature'?"
    """
    known = list(known)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    listed = ", ".join(repr(name) for name in known[:12]) + (", ..." if len(known) > 12 else "")
    return f"Known are: {listed}."


def as_cube(points: object, dim: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """``points`` as an (n, dim) array inside the unit cube.

    >>> as_cube([[0.0, 1.0]], dim=2).shape
    (1, 2)
    """
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
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


def count(n: object, what: str) -> int:
    """``n`` as a number of points, at least 0.

    >>> count(3, "n")
    3
    """
    given = whole(n, what)
    if given < 0:
        raise SpaceError(f"{what} is {given}: give 0 or more.")
    return given
