"""Numbers that people and files give for options: indices into a list, and positions kept among those shown."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from choicebo.errors import DataError
from choicebo.formatting import as_given

_LIST_OF_INDICES = "a list of whole numbers such as [0, 2], even if it is only one"


def kept_positions(kept: Iterable[Any], shown: int, name: str = "kept") -> tuple[int, ...]:
    """Kept positions as Python integers in increasing order.

    Args:
        kept: Positions among the options shown, counted from 0; none at all is for the caller to judge.
        shown: How many options were shown.
        name: What to call ``kept`` in an error.

    Raises:
        DataError: Something is no position, lies beyond the options shown, or is there twice.

    >>> kept_positions([2, 0], shown=3)
    (0, 2)
    """
    accepted = f"give positions from 0 to {shown - 1}, such as [0, {shown - 1}]"
    if isinstance(kept, (str, bytes)) or not isinstance(kept, Iterable):
        raise DataError(f"{name} is {as_given(kept)}: {accepted}.")
    found: list[int] = []
    for given in items(kept, name, accepted.removeprefix("give ")):
        position = index(given)
        if position is None or not 0 <= position < shown:
            raise DataError(f"{name} holds {as_given(given)}, but {shown} options were shown: {accepted}.")
        if position in found:
            raise DataError(f"{name} holds {position} twice: name each position once.")
        found.append(position)
    return tuple(sorted(found))


def items(given: Iterable[Any], name: str, accepted: str = _LIST_OF_INDICES) -> list[Any]:
    """Return what was given as a list, or raise `DataError` if it is not iterable."""
    try:
        return list(given)
    except Exception as error:  # such as that of an array without dimensions, or of somebody's own iterator
        raise DataError(f"{name} is {as_given(given)}; give {accepted}.") from error


def indices(given: Iterable[Any], name: str) -> tuple[int, ...]:
    """Return indices as Python integers, or raise `DataError` naming the one that is none."""
    found = []
    for item in items(given, name):
        number = index(item)
        if number is None or not 0 <= number < 2**63:
            raise DataError(f"{name} holds {as_given(item)}; give indices of options, whole numbers such as 0, 1, 2.")
        found.append(number)
    return tuple(found)


def index(item: Any) -> int | None:
    """Return a Python integer, or None for what is none, which here includes truth values."""
    if isinstance(item, bool):
        return None
    try:
        return operator.index(item)
    except TypeError:
        return None
