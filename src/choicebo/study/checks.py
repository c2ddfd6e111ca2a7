"""What is looked at before something is stored: the log holds nothing that cannot be replayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from choicebo.choices import ChoiceData, kept_positions
from choicebo.errors import DataError
from choicebo.space import Catalogue, Option, Space

positions = kept_positions


def seconds(given: float | None) -> float | None:
    """How long an answer took."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < float("inf"):
        raise DataError(f"seconds is {given!r}: give the time that the answer took, 0 or more.")
    return float(given)


def addition(
    space: Space | Catalogue, shown: Sequence[Any], kept: Iterable[Any]
) -> tuple[list[Option], tuple[int, ...]]:
    """A choice made elsewhere, as it is kept."""
    if isinstance(shown, (str, bytes)) or not isinstance(shown, Sequence):
        raise DataError(f"shown is {shown!r}: give a list of at least two options.")
    options = [space.validate(option) for option in shown]
    if len(options) < 2:
        raise DataError(f"{len(options)} options were shown: a choice needs at least two.")
    kept_here = kept_positions(kept, len(options))
    if not kept_here:
        raise DataError("Nothing was kept: a choice made elsewhere keeps at least one option.")
    # Refuses an option that was kept and rejected at once.
    ChoiceData.from_sets([space.encode(options)], [kept_here])
    return options, kept_here
