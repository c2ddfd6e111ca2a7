"""Names of hidden objectives, which follow their objectives from fit to fit.

The numbers of objectives are those of one fit. So a name is stored with a pattern: some options, and what the objective was worth
there when it was named. A later fit gives the name to the objective that is most like the pattern, or to none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from choicebo.errors import StudyError
from choicebo.formatting import as_given
from choicebo.space import Option, Searchable

if TYPE_CHECKING:
    from choicebo.insight import Numbering

LONGEST = 60
_MOST = 12
"""At most so many names are stored; the oldest are dropped."""
_OPTIONS = 30


@dataclass(frozen=True)
class ObjectiveName:
    """A name, and the objective that it was given to."""

    name: str
    options: tuple[Option, ...]
    values: tuple[float, ...]
    """Mean of the objective at each of the options."""

    def __post_init__(self) -> None:
        if len(self.options) != len(self.values) or not all(map(math.isfinite, self.values)):
            raise StudyError(f"The pattern of the objective {as_given(self.name)} is damaged: name it again.")


def checked(name: object) -> str:
    """A name that an objective can have; empty: none."""
    if not isinstance(name, str) or len(name.strip()) > LONGEST or not name.strip().isprintable():
        raise StudyError(f"The name of an objective is {as_given(name)}: give at most {LONGEST} printable characters.")
    return name.strip()


def renamed(
    known: Sequence[ObjectiveName], numbered: Numbering, space: Searchable, number: int, name: str
) -> tuple[ObjectiveName, ...]:
    """The names after an objective, by its number from 1, was given another one; an empty one takes its name away."""
    count = numbered.orders.shape[1]
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise StudyError(f"There is no objective {as_given(number)}: the model has those from 1 to {count}.")
    name = checked(name)
    before = names_of(known, numbered, space)[number - 1]
    others = [each for each in known if each.name not in (before, name)]
    if not name:
        return tuple(others)
    X = numbered.posterior.options
    X = X[:: max(1, len(X) // _OPTIONS)]
    values = numbered.latent(X).mean(0)[:, number - 1]
    given = ObjectiveName(name, tuple(space.decode(X)), tuple(round(float(value), 4) for value in values))
    return (*others, given)[-_MOST:]


def names_of(known: Sequence[ObjectiveName], numbered: Numbering, space: Searchable) -> list[str]:
    """The name of each objective of a fit, in the order of its numbers; empty where none belongs to it."""
    import numpy as np

    from choicebo.insight.numbering import matched_names

    if not known:
        return [""] * numbered.orders.shape[1]
    X = space.encode([option for each in known for option in each.options])
    values = numbered.latent(X).mean(0)
    return matched_names(values, [np.array(each.values) for each in known], [each.name for each in known])


def from_record(given: Any) -> Any:
    """What a database or a file holds, as :class:`ObjectiveName`; None if there are no names."""
    if not given:
        return None
    try:
        return tuple(
            each
            if isinstance(each, ObjectiveName)
            else ObjectiveName(
                checked(each["name"]), tuple(map(dict, each["options"])), tuple(map(float, each["values"]))
            )
            for each in given
        )
    except (TypeError, KeyError, ValueError, OverflowError):
        raise StudyError(f"The names of the objectives are {as_given(given)}: give what an export holds.") from None
