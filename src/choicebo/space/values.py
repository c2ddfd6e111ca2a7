"""Single values: checked, read from text, and the closest known word for an unknown one."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable

import numpy as np

from choicebo.errors import SpaceError

Value = bool | int | float | str

# A leading zero, as in 007, marks a code and not a count.
INT = re.compile(r"[+-]?(0|[1-9][0-9]*)", re.ASCII)
FLOAT = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def plain(value: object) -> object:
    """The Python value inside a NumPy scalar; anything else unchanged.

    >>> plain(np.int64(3))
    3
    """
    return value.item() if isinstance(value, np.generic) else value


def as_text(value: object, what: str) -> str:
    """``value`` if it is a text that can be shown and stored: not empty, no control characters.

    >>> as_text("rye", "a value")
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


def as_number(value: object, what: str) -> int | float:
    """``value`` as a finite Python number; a bool is not one.

    >>> as_number(np.float64(1.5), "low")
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


def as_whole(value: object, what: str) -> int:
    """``value`` as a Python int; 5.0 is accepted as 5.

    >>> as_whole(5.0, "low")
    5
    """
    given = as_number(value, what)
    if given != int(given):
        raise SpaceError(f"{what} is {given!r}: give a whole number.")
    return int(given)


def as_value(value: object, what: str) -> Value:
    """``value`` as a plain bool, number or text.

    >>> as_value(np.bool_(True), "a value")
    True
    """
    value = plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return as_text(value, what)
    if isinstance(value, (int, float)):
        return as_number(value, what)
    raise SpaceError(f"{what} is {value!r}: give a text, a number, true or false.")


def as_flag(value: object, what: str) -> bool:
    """``value`` if it is a bool.

    >>> as_flag(False, "log")
    False
    """
    value = plain(value)
    if not isinstance(value, bool):
        raise SpaceError(f"{what} is {value!r}: give True or False.")
    return value


def read_number(text: str, what: str) -> int | float:
    """The number that a person wrote, with a decimal point or comma.

    >>> read_number("12", "low"), read_number("0,5", "low")
    (12, 0.5)
    """
    given = text.strip().replace(",", ".")
    for convert in (int, float):
        try:
            return convert(given)
        except ValueError:
            continue
    raise SpaceError(f"{what} is {repr(text) if given else 'empty'}: give a number.")


def read_value(text: str) -> int | float | str:
    """What a person wrote, as a number if it looks like one.

    >>> read_value("12"), read_value("rye"), read_value("007")
    (12, 'rye', '007')
    """
    return int(text) if INT.fullmatch(text) else float(text) if FLOAT.fullmatch(text) else text


def read_values(text: str) -> list[int | float] | list[str]:
    """Values that a person wrote with commas between them: numbers if all look like numbers, else texts.

    >>> read_values("1, 2, 4.5"), read_values("1, 2, many")
    ([1, 2, 4.5], ['1', '2', 'many'])
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    numbers = [value for value in map(read_value, parts) if not isinstance(value, str)]
    return numbers if len(numbers) == len(parts) else parts


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


def as_count(n: object, what: str) -> int:
    """``n`` as a number of points, at least 0.

    >>> as_count(3, "n")
    3
    """
    given = as_whole(n, what)
    if given < 0:
        raise SpaceError(f"{what} is {given}: give 0 or more.")
    return given
