"""One answer: of the options shown, those that were kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, TypeAlias

from choicebo.choices.positions import indices
from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.notebook_html import table


@dataclass(frozen=True, slots=True, init=False)
class Choice:
    """One answer: of the options shown, those that were kept.

    >>> choice = Choice(shown=(4, 0, 2), kept=[2, 4])
    >>> choice
    Choice(shown=(4, 0, 2), kept=(4, 2))
    >>> choice.rejected
    (0,)
    """

    shown: tuple[int, ...]
    """Indices of the options shown, in the order shown."""
    kept: tuple[int, ...]
    """Indices of the options kept, in the order shown."""

    def __init__(self, shown: Iterable[SupportsIndex], kept: Iterable[SupportsIndex]) -> None:
        all_shown = indices(shown, "shown")
        all_kept = indices(kept, "kept")
        _refuse_repetition(all_shown, "shown")
        _refuse_repetition(all_kept, "kept")
        if len(all_shown) < 2:
            raise DataError(
                f"shown={all_shown} is too few: a choice needs at least two options to choose from; show more"
            )
        there = set(all_shown)
        for option in all_kept:
            if option not in there:
                raise DataError(
                    f"option {option} was kept but not shown: shown={as_given(all_shown)}; "
                    "keep only options among those shown"
                )
        if not all_kept:
            raise DataError(
                f"nothing was kept of shown={as_given(all_shown)}; a choice keeps at least one option: "
                "keep one, or leave the choice out if no answer was given"
            )
        among_kept = set(all_kept)
        object.__setattr__(self, "shown", all_shown)
        object.__setattr__(self, "kept", tuple(option for option in all_shown if option in among_kept))

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


def _refuse_repetition(indices: tuple[int, ...], name: str) -> None:
    seen: set[int] = set()
    for option in indices:
        if option in seen:
            raise DataError(f"option {option} is twice in {name}={as_given(indices)}; name each option {name} once")
        seen.add(option)
