"""What is written about an option: its values as a person reads them, and where they lie in their range."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from choicebo.formatting import number_text, value_text
from choicebo.history.events import option_key
from choicebo.space import Catalogue, Integer, Objective, Option, Ordinal, Parameter, Real, Space
from choicebo.space.steps import decimals_of

Value = Any
Measured = Mapping[str, Mapping[str, float]]
"""What is known of measured objectives: for the key of an option, values by name; an `Estimate` where none was measured."""
NOTHING: Measured = {}


@dataclass(frozen=True)
class Field:
    """One thing that is said about every option."""

    name: str
    unit: str
    text: Callable[[Value], str]
    """A value as it is written, without its unit."""
    share: Callable[[Value], float] | None = None
    """Where a value lies between the least (0) and the greatest (1); None where there is no such order."""
    ends: tuple[Value, Value] = (None, None)
    """The least and the greatest value, where there is such an order."""
    value: Callable[[float], Value] | None = None
    """The value at a share; the way back from :attr:`share`."""
    known: bool = False
    """Whether it is an objective that is known."""
    computed: Callable[[Option], Value] | None = None
    """How it follows from an option; None where the option has it."""
    measured: bool = False
    """Whether it is an objective that is measured, so that an option may have no value."""

    @property
    def heading(self) -> str:
        """The name with the unit, and whether it is a known or a measured objective."""
        kind = "measured" if self.measured else "known" if self.known else ""
        beside = [each for each in (self.unit, kind) if each]
        return f"{self.name} ({', '.join(beside)})" if beside else self.name

    def of(self, option: Option) -> Value:
        """The value that an option has; None if it has none."""
        return option.get(self.name) if self.computed is None else self.computed(option)

    def words(self, text: str) -> str:
        """A value as it is written, with name and unit.

        >>> Field("minutes", "min", str).words("12")
        'minutes 12 min'
        """
        return f"{self.name} {text} {self.unit}".rstrip()


def fields_of(space: Space | Catalogue) -> tuple[Field, ...]:
    """What is said about the options of a space, in its order; a catalogue's label is the title instead.

    >>> from choicebo.space import Real
    >>> [field.heading for field in fields_of(Space([Real("temperature", 150, 220, unit="°C")]))]
    ['temperature (°C)']
    """
    if isinstance(space, Catalogue):
        hidden = {space.key, space.label, space.image}
        return tuple(_column(space, name) for name in space.names if name not in hidden)
    varying = tuple(_parameter(parameter) for parameter in space.parameters)
    return varying + tuple(Field(held.name, "", value_text) for held in space.fixed)


def told_fields(space: Space | Catalogue, measured: Measured = NOTHING) -> tuple[Field, ...]:
    """The same, followed by the known objectives that are computed or measured.

    Args:
        space: What the options belong to.
        measured: What is known of measured objectives.

    >>> from choicebo.space import Real
    >>> space = Space([Real("flour", 0, 5)], objectives=["minimise price = 2*flour"])
    >>> [field.heading for field in told_fields(space)]
    ['flour', 'price (known)']
    """
    objectives = {objective.name: objective for objective in space.objectives}
    given = [dataclasses.replace(field, known=field.name in objectives) for field in fields_of(space)]
    known = space.known
    if known is None:
        return tuple(given)
    ends = list(zip(space.objectives, known.low.tolist(), known.high.tolist(), strict=True))
    entered = {o.name: _measured(o, low, high, measured) for o, low, high in ends if o.measured}
    there = [entered.pop(field.name, field) for field in given]
    computed = [_computed(objective, low, high) for objective, low, high in ends if objective.formula]
    return (*there, *computed, *entered.values())


def _measured(objective: Objective, low: float, high: float, measured: Measured) -> Field:
    """A measured objective, from the least to the greatest value there is."""
    name = objective.name

    def of(option: Option) -> Value:
        return measured.get(option_key(option), {}).get(name, option.get(name))

    there = [*(each[name] for each in measured.values() if name in each), *(end for end in (low, high) if end == end)]
    field = Field(name, "", number_text, known=True, measured=True, computed=of)
    if not there or min(there) == max(there):
        return field
    least, most = float(min(there)), float(max(there))
    return dataclasses.replace(
        field,
        share=lambda value: (value - least) / (most - least),
        ends=(float(f"{least:.4g}"), float(f"{most:.4g}")),
        value=lambda share: least + share * (most - least),
    )


def _computed(objective: Objective, low: float, high: float) -> Field:
    def share(value: Value) -> float:
        return float(min(max((value - low) / (high - low), 0.0), 1.0))

    def value(share: float) -> Value:
        return low + share * (high - low)

    ends = tuple(float(f"{end:.4g}") for end in (low, high))
    return Field(objective.name, "", lambda v: f"{v:.4g}", share, ends, value, True, objective.of)  # type: ignore[arg-type]


def title_of(space: Space | Catalogue, option: Option) -> str:
    """The name of an option; empty where options have none."""
    if not isinstance(space, Catalogue):
        return ""
    return value_text(option.get(space.label) if space.label else None) or value_text(option.get(space.key))


def describe(space: Space | Catalogue, option: Option, measured: Measured = NOTHING) -> str:
    """An option in one line.

    Args:
        space: What it belongs to.
        option: The option.
        measured: What is known of measured objectives.

    >>> from choicebo.space import Categorical, Integer
    >>> space = Space([Integer("minutes", 5, 40, unit="min"), Categorical("flour", ["rye", "wheat"])])
    >>> describe(space, {"minutes": 12, "flour": "rye"})
    'minutes 12 min, flour rye'
    """
    said = [(field, field.of(option)) for field in told_fields(space, measured)]
    words = ", ".join(field.words(field.text(value)) for field, value in said if value is not None)
    title = title_of(space, option)
    return f"{title}: {words}" if title and words else title or words


def as_table(
    space: Space | Catalogue, options: Sequence[Option], measured: Measured = NOTHING
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a table with one option per row; names come first, where options have any.

    Args:
        space: What they belong to.
        options: The options.
        measured: What is known of measured objectives.

    >>> from choicebo.space import Integer
    >>> as_table(Space([Integer("minutes", 5, 40, unit="min")]), [{"minutes": 12}, {"minutes": 30}])
    (['minutes (min)'], [['12'], ['30']])
    """
    fields, named = told_fields(space, measured), isinstance(space, Catalogue)
    headings = ["name"] * named + [field.heading for field in fields]
    rows = [
        [title_of(space, option)] * named + [field.text(field.of(option)) for field in fields] for option in options
    ]
    return headings, rows


def _parameter(parameter: Parameter) -> Field:
    unit = getattr(parameter, "unit", "")
    if not isinstance(parameter, (Real, Integer, Ordinal)):
        return Field(parameter.name, unit, value_text)

    def share(value: Value) -> float:
        return float(parameter.encode([value])[0, 0]) if isinstance(parameter, Ordinal) else parameter.share(value)

    def value(share: float) -> Value:
        if isinstance(parameter, Ordinal):
            return parameter.values[round(share * (len(parameter.values) - 1))]
        low, high = parameter.low, parameter.high
        found = low * (high / low) ** share if parameter.log else low + share * (high - low)
        return round(found) if isinstance(parameter, Integer) else found

    text = _digits(parameter) if isinstance(parameter, Real) else value_text
    if isinstance(parameter, Ordinal):
        return Field(parameter.name, unit, text, share, (parameter.values[0], parameter.values[-1]), value)
    return Field(parameter.name, unit, text, share, (parameter.low, parameter.high), value)


def _digits(parameter: Real) -> Callable[[Value], str]:
    """As many digits as the step has; else enough to tell a thousandth of the range, on a log scale of the value."""
    decimals = max(0, 3 - math.floor(math.log10(parameter.high - parameter.low)))
    few = decimals if parameter.step is None else max(decimals_of(parameter.low), decimals_of(parameter.step))

    def text(value: Value) -> str:
        if parameter.log:
            return f"{value:.4g}"
        if few < decimals and round(value, few) == value:
            return f"{value:.{few}f}"
        return f"{value:.{decimals}f}" if decimals <= 12 else f"{value:.6g}"

    return text


def _column(catalogue: Catalogue, name: str) -> Field:
    values = [row[name] for row in catalogue.rows if row[name] is not None]
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if name == catalogue.key or len(numbers) < len(values) or not numbers or min(numbers) == max(numbers):
        return Field(name, "", value_text)
    low, high = min(numbers), max(numbers)
    return Field(
        name,
        "",
        value_text,
        lambda value: (value - low) / (high - low),
        (low, high),
        lambda share: low + share * (high - low),
    )
