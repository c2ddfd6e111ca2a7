"""Single values: checked, read from text, and the closest known word for an unknown one."""

from __future__ import annotations

import difflib
import itertools
import math
import re
import unicodedata
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from choicebo.errors import InvalidInputError, SpaceError
from choicebo.formatting import as_given

Value = bool | int | float | str

MOST_COLUMNS = 5_000
"""Columns of the unit cube: no model learns from more, and Sobol sequences end at some four times as many."""
MOST_CELLS = 2**24
"""Numbers in one array of points, 128 MB: of wide points, fewer are drawn or listed at once."""
MOST_LISTED = 2**24
"""Options that are listed at once."""
MOST_POINTS = 2**21
"""As many points as are drawn at once."""

# A leading zero, as in 007, marks a code and not a count.
INT = re.compile(r"[+-]?(0|[1-9][0-9]*)", re.ASCII)
FLOAT = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


MOST_DIGITS = 300
"""Of a whole number: a float holds no larger one, and Python does not write it out."""


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
        raise SpaceError(f"{what} is {as_given(value)}: give a text that is not empty.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value):
        raise SpaceError(f"{what} is {as_given(value)}: leave out line breaks and other control characters.")
    if value != value.strip():
        raise SpaceError(f"{what} is {as_given(value)}: remove the spaces around it.")
    return str(value)


def as_number(value: object, what: str) -> int | float:
    """``value`` as a finite Python number; a bool is not one.

    >>> as_number(np.float64(1.5), "low")
    1.5
    """
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SpaceError(f"{what} is {as_given(value)}: give a number.")
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"{what} is {as_given(value)}: give a finite number.")
    if abs(value) > 1e300:
        raise SpaceError(f"{what} is {as_given(value)}: give a number below 1e300, in another unit if need be.")
    return value


def as_whole(value: object, what: str) -> int:
    """``value`` as a Python int; 5.0 is accepted as 5.

    >>> as_whole(5.0, "low")
    5
    """
    given = as_number(value, what)
    if given != int(given):
        raise SpaceError(f"{what} is {as_given(given)}: give a whole number.")
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
    raise SpaceError(f"{what} is {as_given(value)}: give a text, a number, true or false.")


def as_flag(value: object, what: str) -> bool:
    """``value`` if it is a bool.

    >>> as_flag(False, "log")
    False
    """
    value = plain(value)
    if not isinstance(value, bool):
        raise SpaceError(f"{what} is {as_given(value)}: give True or False.")
    return value


def read_number(text: str, what: str) -> int | float:
    """The number that a person wrote, with a decimal point or comma.

    >>> read_number("12", "low"), read_number("0,5", "low")
    (12, 0.5)
    """
    if not isinstance(text, str):
        raise SpaceError(f"{what} is {as_given(text)}: give a number as text.")
    given = text.strip().replace(",", ".")
    for convert in (int, float):
        try:
            return convert(given)
        except ValueError:
            continue
    raise SpaceError(f"{what} is {as_given(text) if given else 'empty'}: give a number.")


def read_value(text: str) -> int | float | str:
    """What a person wrote, as a number if it looks like one.

    >>> read_value("12"), read_value("rye"), read_value("007")
    (12, 'rye', '007')
    """
    if INT.fullmatch(text) and len(text) <= MOST_DIGITS:
        return int(text)
    return float(text) if FLOAT.fullmatch(text) else text


def read_values(text: str) -> list[int | float] | list[str]:
    """Values that a person wrote with commas between them: numbers if all look like numbers, else texts.

    >>> read_values("1, 2, 4.5"), read_values("1, 2, many")
    ([1, 2, 4.5], ['1', '2', 'many'])
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    numbers = [value for value in map(read_value, parts) if not isinstance(value, str)]
    return numbers if len(numbers) == len(parts) else parts


def check_width(columns: int, what: str) -> None:
    """Refuse what takes more columns of the unit cube than can be learned from.

    >>> check_width(3, "space")
    """
    if columns > MOST_COLUMNS:
        raise SpaceError(
            f"The {what} takes {columns:,} columns, one for each number and for each value of a text: at most "
            f"{MOST_COLUMNS:,} are accepted. Leave some out, or merge values."
        )


def suggestion(word: object, known: Iterable[str]) -> str:
    """A sentence with the closest known word, or with all of them when none is close.

    >>> suggestion("temperatur", ["temperature", "minutes"])
    "Did you mean 'temperature'?"
    """
    known = list(known)
    close = closest(word, known)
    if close is not None:
        return f"Did you mean {as_given(close)}?"
    listed = ", ".join(as_given(name) for name in known[:12]) + (", ..." if len(known) > 12 else "")
    return f"Known are: {listed}."


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word that somebody may have meant; None if none is close.

    >>> closest("temperatur", ["temperature", "minutes"]), closest("cost", ["temperature", "minutes"])
    ('temperature', None)
    """
    # Likeness is costly to tell: a long word is no slip of the pen, and nobody waits for thousands of comparisons.
    if not isinstance(word, str) or len(word) > 100:
        return None
    return next(iter(difflib.get_close_matches(word, itertools.islice(known, 1000), n=1)), None)


def as_count(n: object, what: str, most: int = MOST_POINTS) -> int:
    """``n`` as a number of points, from 0 to ``most``.

    >>> as_count(3, "n")
    3
    """
    given = as_whole(n, what)
    if given < 0:
        raise SpaceError(f"{what} is {as_given(given)}: give 0 or more.")
    if given > most:
        raise SpaceError(f"{what} is {as_given(given)}: give at most {most:,}.")
    return given


def as_generator(seed: object) -> np.random.Generator:
    """A random generator from a seed; a generator is returned as it is.

    >>> int(as_generator(0).integers(10))
    8
    """
    parts = seed if isinstance(seed, (list, tuple)) else [seed]
    whole = all(isinstance(part, (int, np.integer)) and not isinstance(part, bool) and part >= 0 for part in parts)
    if not (parts and whole) and not isinstance(seed, (np.random.Generator, np.random.SeedSequence)):
        raise InvalidInputError(f"seed is {as_given(seed)}: give a whole number of at least 0.")
    return np.random.default_rng(seed)  # type: ignore[arg-type]


def as_executor(given: Any) -> Executor | None:
    """Where to compute, if not here.

    >>> as_executor("tcp://scheduler:8786")
    Traceback (most recent call last):
    ...
    choicebo.errors.InvalidInputError: executor is 'tcp://scheduler:8786'; give a concurrent.futures.Executor, such as ...
    """
    if given is None or isinstance(given, Executor):
        return given
    raise InvalidInputError(
        f"executor is {as_given(given)}; give a concurrent.futures.Executor, such as a ProcessPoolExecutor or "
        "what distributed.Client(...).get_executor() returns."
    )
