"""Parameters that are numbers in a range: Real and Integer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.space import checks
from choicebo.space.columns import Column
from choicebo.space.parameters import Block, Parameter
from choicebo.space.ranks import log_to_unit, rank_to_unit, unit_to_log, unit_to_rank
from choicebo.space.scale import Scale

# Beyond these, neighbouring whole numbers would share a position in the cube.
_LARGEST = 2**50
_LARGEST_LOG = 2**40


def _describe(parameter: Real | Integer, low: object, high: object) -> str:
    log = ", log=True" if parameter.log else ""
    unit = f", unit={parameter.unit!r}" if parameter.unit else ""
    return f"{type(parameter).__name__}({parameter.name!r}, {low!r}, {high!r}{log}{unit})"


def _bounds_message(parameter: Real | Integer) -> str:
    unit = f" {parameter.unit}" if parameter.unit else ""
    return f"accepted is {parameter.low:.12g} to {parameter.high:.12g}{unit}"


def _settle(parameter: Real | Integer, low: int | float, high: int | float) -> None:
    """Store checked bounds, after the rules that both kinds share."""
    name = parameter.name
    if low == high:
        raise SpaceError(f"{name!r} has low = high = {low!r}: use Fixed({name!r}, {low!r}) if it does not vary.")
    if low > high:
        raise SpaceError(f"{name!r} has low = {low!r} above high = {high!r}: swap them.")
    if parameter.log and low <= 0:
        raise SpaceError(f"{name!r} has log=True and low = {low!r}: a log scale needs low above 0.")
    object.__setattr__(parameter, "low", low)
    object.__setattr__(parameter, "high", high)


def _check_names(parameter: Real | Integer) -> str:
    name = checks.text(parameter.name, "The name of a parameter")
    object.__setattr__(parameter, "name", name)
    object.__setattr__(parameter, "log", checks.flag(parameter.log, f"log of {name!r}"))
    if parameter.unit != "":
        object.__setattr__(parameter, "unit", checks.text(parameter.unit, f"The unit of {name!r}"))
    return name


def _as_dict(parameter: Real | Integer) -> dict[str, Any]:
    fields = ("kind", "name", "low", "high", "log", "unit")
    return {field: getattr(parameter, field) for field in fields}


@dataclass(frozen=True, repr=False)
class Real(Parameter):
    """Any number from ``low`` to ``high``; with ``log`` equal ratios are equal distances.

    >>> Real("temperature", 150, 220, unit="°C")
    Real('temperature', 150.0, 220.0, unit='°C')
    """

    name: str
    low: float
    high: float
    log: bool = False
    unit: str = ""
    kind: ClassVar[str] = "real"

    def __post_init__(self) -> None:
        name = _check_names(self)
        low = float(checks.number(self.low, f"low of {name!r}")) + 0.0
        high = float(checks.number(self.high, f"high of {name!r}")) + 0.0
        _settle(self, low, high)
        if not 1e-100 <= high - low <= 1e100:
            raise SpaceError(f"{name!r} spans {high - low:.3g}: use a unit in which it is 1e-100 to 1e100.")
        if self.log and low < 1e-100:
            raise SpaceError(f"low of {name!r} is {low!r}: use a unit in which it is at least 1e-100.")
        # So short a stretch of a log scale is straight, and its 12 digits would leave hardly any values.
        if self.log and high / low < 1.000001:
            raise SpaceError(f"{name!r} goes from {low!r} to {high!r} only: leave out log=True.")

    def __repr__(self) -> str:
        return _describe(self, self.low, self.high)

    @cached_property
    def _scale(self) -> Scale:
        return Scale(self.low, self.high, self.log)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One continuous column."""
        return (Column(self.name, self.name, "continuous"),)

    @property
    def levels(self) -> float:
        """Infinitely many."""
        return math.inf

    @property
    def numeric(self) -> bool:
        """A number."""
        return True

    def check(self, value: object) -> float:
        """The value as a float inside the range."""
        if type(value) is float and self.low <= value <= self.high:  # by far the most frequent case
            return value
        given = float(checks.number(value, f"{self.name!r}"))
        if not self.low <= given <= self.high:
            raise SpaceError(f"{self.name!r} is {given!r}: {_bounds_message(self)}.")
        return given

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube column of checked values."""
        return self._scale.to_unit(np.asarray(values, dtype=np.float64))[:, None]

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of a cube column."""
        return self._scale.to_value(block[:, 0])

    def moves(self, value: checks.Value) -> list[Any]:
        """None: a continuous parameter has no discrete steps."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        return _as_dict(self)


@dataclass(frozen=True, repr=False)
class Integer(Parameter):
    """Any whole number from ``low`` to ``high``, both included.

    >>> Integer("minutes", 5, 40).check(12.0)
    12
    """

    name: str
    low: int
    high: int
    log: bool = False
    unit: str = ""
    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        name = _check_names(self)
        low = checks.whole(self.low, f"low of {name!r}")
        high = checks.whole(self.high, f"high of {name!r}")
        largest, power = (_LARGEST_LOG, 40) if self.log else (_LARGEST, 50)
        if max(abs(low), abs(high)) > largest:
            raise SpaceError(f"{name!r} goes beyond 2**{power}: use Real, or count in a larger unit.")
        _settle(self, low, high)

    def __repr__(self) -> str:
        return _describe(self, self.low, self.high)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One discrete column."""
        return (Column(self.name, self.name, "discrete", self.levels),)

    @property
    def levels(self) -> int:
        """The number of whole numbers in the range."""
        return self.high - self.low + 1

    @property
    def numeric(self) -> bool:
        """A number."""
        return True

    def check(self, value: object) -> int:
        """The value as an int inside the range."""
        if type(value) is int and self.low <= value <= self.high:  # by far the most frequent case
            return value
        given = checks.whole(value, f"{self.name!r}")
        if not self.low <= given <= self.high:
            raise SpaceError(f"{self.name!r} is {given!r}: {_bounds_message(self)}.")
        return given

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube column of checked values."""
        whole = np.asarray(values, dtype=np.int64)
        if self.log:
            return log_to_unit(whole, self.low, self.high)[:, None]
        return rank_to_unit(whole - self.low, self.levels)[:, None]

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of a cube column."""
        if self.log:
            return unit_to_log(block[:, 0], self.low, self.high)
        return unit_to_rank(block[:, 0], self.levels) + self.low

    def grid(self) -> Block:
        """Cube column of all values in the range."""
        return self.encode(np.arange(self.low, self.high + 1))

    def moves(self, value: checks.Value) -> list[Any]:
        """One less and one more, inside the range."""
        given = self.check(value)
        return [near for near in (given - 1, given + 1) if self.low <= near <= self.high]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        return _as_dict(self)
