"""One answer: of the options shown, those that were kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias

from choicebo.choices.positions import indices
from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.notebook_html import table

_LEAST_WEIGHT, _MOST_WEIGHT = 1e-6, 1e9
"""The likelihood is evaluated in single precision: what lies beyond would vanish in it, or drown all other answers."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Choice:
    """One answer: of the options shown, those that were kept.

    Args:
        shown: Indices of the options shown, in the order shown; at least two.
        kept: Indices of those kept; at least one.
        weight: How often the answer counts, as if so many people had given it.
        rater: Who answered, if several people did.

    Raises:
        DataError: Something was kept that was not shown, nothing was kept, or fewer than two were shown.

    Examples:
        >>> choice = Choice(shown=(4, 0, 2), kept=[2, 4])
        >>> choice
        Choice(shown=(4, 0, 2), kept=(4, 2))
        >>> choice.rejected
        (0,)
        >>> Choice((0, 1), (1,), weight=3)
        Choice(shown=(0, 1), kept=(1,), weight=3)
        >>> Choice((0, 1), (1,), rater="Ann")
        Choice(shown=(0, 1), kept=(1,), rater='Ann')
    """

    shown: tuple[int, ...]
    """Indices of the options shown, in the order shown."""
    kept: tuple[int, ...]
    """Indices of the options kept, in the order shown."""
    weight: float
    """How often the answer counts, as if so many people had given it; any positive number."""
    rater: str | None
    """Who answered; None if that is not known, or one person answered everything."""

    def __init__(
        self,
        shown: Iterable[SupportsIndex],
        kept: Iterable[SupportsIndex],
        weight: float = 1.0,
        rater: str | None = None,
    ) -> None:
        all_shown = indices(shown, "shown")
        all_kept = indices(kept, "kept")
        _refuse_repetition(all_shown, "shown")
        _refuse_repetition(all_kept, "kept")
        if len(all_shown) < 2:
            raise DataError(
                f"shown={all_shown} is too short: a choice needs at least two options to choose from; show more."
            )
        there = set(all_shown)
        for option in all_kept:
            if option not in there:
                raise DataError(
                    f"option {option} was kept but not shown: shown={as_given(all_shown)}; "
                    "keep only options among those shown."
                )
        if not all_kept:
            raise DataError(
                f"nothing was kept of shown={as_given(all_shown)}; a choice keeps at least one option: "
                "keep one, or leave the choice out if no answer was given."
            )
        among_kept = set(all_kept)
        object.__setattr__(self, "shown", all_shown)
        object.__setattr__(self, "kept", tuple(option for option in all_shown if option in among_kept))
        object.__setattr__(self, "weight", _weight(weight))
        object.__setattr__(self, "rater", _rater(rater))

    def __repr__(self) -> str:
        weight = "" if self.weight == 1.0 else f", weight={self.weight:g}"
        rater = "" if self.rater is None else f", rater={self.rater!r}"
        return f"Choice(shown={self.shown}, kept={self.kept}{weight}{rater})"

    @property
    def rejected(self) -> tuple[int, ...]:
        """Indices of the options shown and not kept, in the order shown."""
        kept = set(self.kept)
        return tuple(option for option in self.shown if option not in kept)

    def _repr_html_(self) -> str:
        kept = [option in self.kept for option in self.shown]
        rows = [[option, "kept" if is_kept else "rejected"] for option, is_kept in zip(self.shown, kept, strict=True)]
        return table("Choice", ["option", "answer"], rows, marked=kept, total=len(rows))


ChoiceLike: TypeAlias = Choice | tuple[Iterable[SupportsIndex], Iterable[SupportsIndex]]


def _weight(given: object) -> float:
    """The weight as a number, or `DataError` for one that no answer can have."""
    known = not isinstance(given, bool | str | bytes) and hasattr(given, "__float__")
    try:
        weight = float(given) if known else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not _LEAST_WEIGHT <= weight <= _MOST_WEIGHT:
        raise DataError(
            f"weight is {as_given(given)}, but must be a positive finite number: how often the answer counts "
            f"({_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}); to ignore an answer, leave it out."
        )
    return weight


def _rater(given: object) -> str | None:
    """The name of who answered, or `DataError` for what is no name."""
    if given is None:
        return None
    if not isinstance(given, str) or not given.strip():
        raise DataError(f"rater is {as_given(given)}, but must be a name, or None if it is not known who answered.")
    return given


def _refuse_repetition(indices: tuple[int, ...], name: str) -> None:
    seen: set[int] = set()
    for option in indices:
        if option in seen:
            raise DataError(
                f"option {option} appears twice in {name}={as_given(indices)}; name each option {name} once."
            )
        seen.add(option)
