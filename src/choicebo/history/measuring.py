"""Measurements: values of measured objectives that are entered for an option, checked, and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.frames import of_options, to_frame
from choicebo.history.events import Event, Measured, option_key
from choicebo.history.state import State
from choicebo.history.steering import offerable
from choicebo.notebook_html import options_table
from choicebo.space import Option, Searchable
from choicebo.space.objectives import KnownObjectives, Objective
from choicebo.space.values import suggestion

Values = dict[str, dict[str, float]]
"""By the key of an option: values of measured objectives by name."""

_LARGEST = 1e300


@dataclass(frozen=True)
class Measurement:
    """What was measured of an option."""

    option: Option
    name: str
    """Of the objective."""
    value: float
    """In its own units."""
    rater: str
    """Who entered it."""
    at: datetime | None = None
    """When, if it is stored in a study."""


class Measurements(tuple[Measurement, ...]):
    """Measurements that hold, in the order in which they were entered."""

    __slots__ = ()

    def to_frame(self, library: str | None = None) -> Any:
        """A data frame with a measurement in each row: the option, the ``name`` of the objective and its ``value``.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Raises:
            MissingExtraError: Neither is installed.

        Examples:
            >>> Measurements([Measurement({"minutes": 12}, "cost", 12.5, "owner")]).to_frame()["value"].tolist()
            [12.5]
        """
        names, values = [each.name for each in self], [each.value for each in self]
        return to_frame(of_options([each.option for each in self], name=names, value=values), library)

    def _repr_html_(self) -> str:
        beside = {"measured": [each.name for each in self], "value": [f"{each.value:g}" for each in self]}
        return options_table("Measurements", [each.option for each in self], beside)


def measured_objectives(space: object) -> tuple[Objective, ...]:
    """The objectives of a space of which values can be entered."""
    return tuple(each for each in getattr(space, "objectives", ()) if each.measured)


def read_measured(space: Searchable, option: Any, values: Mapping[str, Any]) -> Measured:
    """Values of measured objectives of an option, checked.

    Args:
        space: What the option belongs to, with its objectives.
        option: As the space takes it: a dict, or in a catalogue the key of a row.
        values: Numbers by the name of the objective; None withdraws one.

    Raises:
        InvalidInputError: There is no such objective, a value is no number, or the option is none of the space.

    Examples:
        >>> import choicebo as cb
        >>> space = cb.Space([cb.Integer("minutes", 5, 40)], objectives=["minimise cost"])
        >>> read_measured(space, {"minutes": 12}, {"cost": 12.5})
        Measured(option={'minutes': 12}, values={'cost': 12.5})
    """
    if not isinstance(values, Mapping) or not values:
        raise InvalidInputError("Nothing was measured: give at least one value, as in measure(option, cost=12.5).")
    return Measured(offerable(space, option), {_named(space, name): _value(name, values[name]) for name in values})


def written_number(name: str, text: str) -> float | None:
    """The value that a person wrote, with a point or a comma; None if it is empty, which withdraws it.

    >>> written_number("cost", "12,5"), written_number("cost", " ")
    (12.5, None)
    """
    written = text.strip().replace(",", ".")
    try:
        return _value(name, float(written)) if written else None
    except ValueError:
        raise InvalidInputError(f"{name} is {as_given(text)}: give a finite number, such as 12.5.") from None


def gathered(values: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """What was given as a dict and as keyword arguments, together."""
    if values is not None and not isinstance(values, Mapping):
        raise InvalidInputError(
            f"The values are {as_given(values)}: give them by name, as in measure(option, cost=12.5)."
        )
    return {**(values or {}), **named}


def measure(state: State, measured: Measured, rater: str, at: datetime | None) -> Event | None:
    """The event that follows when values are entered; None if nothing would change."""
    holding = {
        name: value
        for event in state.measurements()
        if event.measured is not None and option_key(event.measured.option) == option_key(measured.option)
        for name, value in event.measured.values.items()
    }
    news = {name: value for name, value in measured.values.items() if holding.get(name) != value}
    if not news:
        return None
    return Event(state.position + 1, "measurement", rater, at, measured=Measured(measured.option, news))


def listed(state: State) -> Measurements:
    """What was measured and neither replaced nor withdrawn."""
    return Measurements(
        Measurement(dict(event.measured.option), name, float(value), event.rater, event.at)
        for event in state.measurements()
        if event.measured is not None
        for name, value in event.measured.values.items()
        if value is not None
    )


def known_with(known: KnownObjectives, space: Searchable, measured: Iterable[Measured]) -> KnownObjectives:
    """The known objectives of a space with what was measured."""
    found = list(measured)
    if not found:
        return known
    values = np.array([[_number(each.values.get(name)) for name in known.names] for each in found])
    return known.with_measurements(space.encode([each.option for each in found]) + 0.0, values)


def entered_values(known: KnownObjectives | None, space: Searchable, options: Sequence[Option]) -> Values:
    """What was measured of some options; those of which nothing was are left out."""
    if known is None or not any(known.measured) or not options:
        return {}
    found: Values = {}
    for option, row in zip(options, known.values(space.encode(list(options)) + 0.0).tolist(), strict=True):
        pairs = zip(known.objectives, row, strict=True)
        mine = {objective.name: value for objective, value in pairs if objective.measured and value == value}
        if mine:
            found[option_key(option)] = mine
    return found


def _named(space: Searchable, name: object) -> str:
    """The name of a measured objective, or an error that says which there are."""
    objectives = {each.name: each for each in getattr(space, "objectives", ())}
    measured = [each.name for each in measured_objectives(space)]
    if name in measured:
        return str(name)
    if name in objectives:
        raise InvalidInputError(f"{as_given(name)} is known for every option, so that it cannot be measured.")
    if not measured:
        raise InvalidInputError(
            f"There is no measured objective called {as_given(name)}: declare one with "
            'objectives=["minimise cost = measured"] when the space is made.'
        )
    raise InvalidInputError(f"There is no measured objective called {as_given(name)}. {suggestion(name, measured)}")


def _value(name: str, value: Any) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    # Written so that NaN fails too.
    if not (number and abs(value) < _LARGEST):
        raise InvalidInputError(f"{name} is {as_given(value)}: give a finite number, or None to withdraw it.")
    return float(value)


def _number(value: float | None) -> float:
    return np.nan if value is None else value
