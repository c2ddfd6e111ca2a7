"""Contexts: inputs that the situation gives and nobody chooses, such as the season.

A question has one context, and options are compared within it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError, SpaceError
from choicebo.formatting import as_given
from choicebo.space.discrete import Categorical, Discrete, Ordinal
from choicebo.space.numeric import Integer, Numeric, Real
from choicebo.space.parameters import Block, Floats, Parameter
from choicebo.space.searchable import Bools, Column, Option, Searchable
from choicebo.space.values import Value, as_flag, suggestion

if TYPE_CHECKING:
    from choicebo.space.catalogue import Catalogue
    from choicebo.space.space import Space


def Context(
    name: str | Parameter,
    values: Iterable[Value] | float | None = None,
    high: float | None = None,
    *,
    ordered: bool = False,
    unit: str = "",
) -> Parameter:
    """Make a parameter that the situation gives and nobody chooses: the season, the temperature outside, who the guest is.

    All options of one question have the same context, which ``ask(context={...})`` says. What is learned in one context informs
    the others, as far as they turn out to be alike.

    Args:
        name: What it is called; or a parameter of any kind, such as ``Integer("guests", 1, 12)``.
        values: The values that it may have, in a list; or the least number.
        high: The greatest number, if ``values`` is the least.
        ordered: Whether the values of a list are in an order: neighbours are then more alike.
        unit: Of a number, shown beside it, as in "°C".

    Returns:
        The parameter, for a `Space` that has others to choose.

    Raises:
        SpaceError: Neither a list nor a range was given, or it cannot be used.

    Examples:
        >>> Context("season", ["summer", "winter"])
        Categorical('season', ['summer', 'winter'], context=True)
        >>> Context("temperature", -10, 35, unit="°C")
        Real('temperature', -10.0, 35.0, unit='°C', context=True)
        >>> Context(Integer("guests", 1, 12))
        Integer('guests', 1, 12, context=True)
    """
    if isinstance(name, Parameter):
        if values is not None or high is not None:
            raise SpaceError(f"Context takes {name.name!r} with its values already: give nothing beside it.")
        return as_context(name)
    if high is not None:
        return Real(name, values, high, unit=unit, context=True)  # type: ignore[arg-type]
    if values is None or isinstance(values, (int, float)):
        raise SpaceError(
            f"The context {as_given(name)} has no values: give a list, as in Context('season', ['summer', 'winter']), or both "
            "ends of a range, as in Context('temperature', -10, 35)."
        )
    if unit:
        raise SpaceError(f"The context {as_given(name)} has a unit: that is for numbers in a range.")
    kind = Ordinal if as_flag(ordered, "ordered") else Categorical
    return kind(name, values, context=True)


def as_context(parameter: Parameter) -> Parameter:
    """The same parameter as a context."""
    if isinstance(parameter, Discrete):
        return type(parameter)(parameter.name, parameter.values, context=True)
    return dataclasses.replace(parameter, context=True)  # type: ignore[type-var]


@dataclasses.dataclass(frozen=True)
class Given(Parameter):
    """A context at one value, in the same columns of the cube: every point stands for that value."""

    name: str
    parameter: Parameter
    value: Value
    kind: ClassVar[str] = "given"

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of the context; there is nothing to search along them."""
        return tuple(dataclasses.replace(column, kind="discrete", levels=1) for column in self.parameter.columns)

    @property
    def levels(self) -> int:
        """One value."""
        return 1

    @property
    def numeric(self) -> bool:
        """As the context is."""
        return self.parameter.numeric

    def check(self, value: object) -> Value:
        """The value itself; another one is refused."""
        given = self.parameter.check(value)
        if given != self.value:
            raise SpaceError(f"{self.name!r} is {as_given(given)}: in this context it is {self.value!r}.")
        return given

    def parse(self, text: str) -> Value:
        """The value that a person wrote."""
        return self.check(self.parameter.parse(text))

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube columns of the value, as often as it is given."""
        return np.repeat(self.parameter.encode([self.value]), len(values), axis=0)

    def decode(self, block: Block) -> NDArray[Any]:
        """The value, whatever the cube columns are."""
        return np.repeat(self.parameter.decode(self.parameter.encode([self.value])), len(block))

    def spread(self, quantile: Floats) -> Block:
        """Cube columns of the value."""
        return self.encode(quantile)

    def moves(self, value: Value) -> list[Any]:
        """No other value."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """A description of the context, whatever its value."""
        return self.parameter.to_dict()


def contexts_of(space: Searchable) -> tuple[Parameter, ...]:
    """The contexts among the parameters of a space; a catalogue has none.

    Examples:
        >>> contexts_of(cb.Space([cb.Real("sugar", 0, 10), cb.Context("season", ["summer", "winter"])]))
        (Categorical('season', ['summer', 'winter'], context=True),)
    """
    return tuple(parameter for parameter in getattr(space, "parameters", ()) if parameter.context)


def context_of(space: Searchable, option: Option) -> dict[str, Value]:
    """The context of an option.

    Examples:
        >>> space = cb.Space([cb.Real("sugar", 0, 10), cb.Context("season", ["summer", "winter"])])
        >>> context_of(space, {"sugar": 3.0, "season": "winter"})
        {'season': 'winter'}
    """
    return {parameter.name: option[parameter.name] for parameter in contexts_of(space)}


def distinct_contexts(contexts: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    """Each of them once, in order of first appearance.

    Examples:
        >>> distinct_contexts([{"season": "winter"}, {"season": "summer"}, {"season": "winter"}])
        [{'season': 'winter'}, {'season': 'summer'}]
    """
    return [context for at, context in enumerate(contexts) if context not in contexts[:at]]


def checked_context(space: Searchable, given: Mapping[str, Any]) -> dict[str, Value]:
    """A value for each context of a space, checked; or an error that says what to give."""
    contexts = contexts_of(space)
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"context is {as_given(given)}: give a dict such as {_example(space)}.")
    for name in given:
        if name not in [parameter.name for parameter in contexts]:
            if not contexts:
                raise InvalidInputError(f"There is no context {as_given(name)}: the space has none, leave it out.")
            near = suggestion(str(name), [parameter.name for parameter in contexts])
            raise InvalidInputError(f"There is no context {as_given(name)}. {near}")
    require_given(space, given)
    return {parameter.name: parameter.check(given[parameter.name]) for parameter in contexts}


def read_context(space: Searchable, texts: Sequence[str]) -> dict[str, Value]:
    """The context that a person wrote as ``season=winter``, once for each.

    Examples:
        >>> read_context(cb.Space([cb.Real("sugar", 0, 10), cb.Context("season", ["summer", "winter"])]), ["season=winter"])
        {'season': 'winter'}
    """
    contexts = {parameter.name: parameter for parameter in contexts_of(space)}
    given: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            raise InvalidInputError(f"A context is {as_given(text)}: write it as name=value, such as season=winter.")
        parameter = contexts.get(name.strip())
        given[name.strip()] = value if parameter is None else parameter.parse(value.strip())
    return checked_context(space, given)


def require_given(space: Searchable, given: Mapping[str, Any]) -> None:
    """Refuse to go on while a context is not said."""
    for parameter in contexts_of(space):
        if parameter.name not in given:
            raise InvalidInputError(
                f"The context {parameter.name!r} is missing, {accepted(parameter)}: say it, as in context={_example(space)}."
            )


def first_context(space: Searchable) -> dict[str, Value]:
    """A context to begin with where a person can see and change it: the first value of each list, the middle of each range."""
    return {parameter.name: first_value(parameter) for parameter in contexts_of(space)}


def in_first_context(space: Space | Catalogue) -> Space | Catalogue:
    """The options of that context, to show what a question will look like; without contexts, all of them."""
    context = first_context(space)
    if not context:
        return space
    try:
        return space.within(context)  # type: ignore[union-attr]
    except SpaceError:  # that context leaves nothing to offer
        return space


def first_value(parameter: Parameter) -> Value:
    """The first value of a list, the middle of a range."""
    if isinstance(parameter, Discrete):
        return parameter.values[0]
    middle: Value = parameter.decode(parameter.snap(parameter.spread(np.array([0.5])))).tolist()[0]
    return middle


def accepted(parameter: Parameter) -> str:
    """The values of a context, in words.

    Examples:
        >>> accepted(Context("season", ["summer", "winter"])), accepted(Context("temperature", -10, 35, unit="°C"))
        ("one of 'summer', 'winter'", 'a number from -10 to 35 °C')
    """
    if isinstance(parameter, Discrete):
        return "one of " + ", ".join(map(repr, parameter.values))
    assert isinstance(parameter, Numeric)
    whole = "a whole number" if isinstance(parameter, Integer) else "a number"
    return f"{whole} from {parameter.low:.12g} to {parameter.high:.12g} {parameter.unit}".rstrip()


def _example(space: Searchable) -> str:
    return str(first_context(space))


def require_one_context(space: Searchable, options: Sequence[Option]) -> None:
    """Refuse a choice among options of several contexts: people compare within one."""
    first = context_of(space, options[0])
    for option in options[1:]:
        other = context_of(space, option)
        for name, value in other.items():
            if value != first[name]:
                raise InvalidInputError(
                    f"The options of one choice have {name!r} at {as_given(first[name])} and at {as_given(value)}: a choice "
                    "is made in one context, so give all of them the same."
                )


def taken_into(space: Space, points: Floats, context: Mapping[str, Value]) -> Floats:
    """``points: (n, d)`` with the context in the place of their own."""
    moved = np.array(points, dtype=np.float64)
    for parameter in contexts_of(space):
        moved[:, space.blocks[parameter.name]] = parameter.encode([context[parameter.name]])
    return moved + 0.0


def are_in(space: Space, points: Floats, context: Mapping[str, Value]) -> Bools:
    """Which of ``points: (n, d)`` have the context, (n,)."""
    return np.asarray((points == taken_into(space, points, context)).all(1))
