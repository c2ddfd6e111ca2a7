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
from choicebo.formatting import as_given
from choicebo.space.parameters import Block, Parameter
from choicebo.space.ranks import log_to_unit, rank_to_unit, unit_to_log, unit_to_rank
from choicebo.space.scale import Scale
from choicebo.space.searchable import Column
from choicebo.space.values import Value, as_flag, as_number, as_text, as_whole, read_number

# Beyond these, neighbouring whole numbers would share a position in the cube.
_LARGEST = 2**50
_LARGEST_LOG = 2**40


class Numeric(Parameter):
    """What Real and Integer share: a range from ``low`` to ``high``, a unit, and whether its scale is logarithmic."""

    low: float
    high: float
    log: bool
    unit: str

    def __repr__(self) -> str:
        log = ", log=True" if self.log else ""
        unit = f", unit={self.unit!r}" if self.unit else ""
        return f"{type(self).__name__}({self.name!r}, {self.low!r}, {self.high!r}{log}{unit})"

    @property
    def numeric(self) -> bool:
        """A number."""
        return True

    def parse(self, text: str) -> Value:
        """The number that a person wrote, with a decimal point or comma."""
        return self.check(read_number(text, repr(self.name)))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        return {field: getattr(self, field) for field in ("kind", "name", "low", "high", "log", "unit")}

    def _settle(self, low: float, high: float) -> None:
        """Store checked bounds, after the rules that both kinds share."""
        name = as_text(self.name, "The name of a parameter")
        log = as_flag(self.log, f"log of {name!r}")
        unit = "" if isinstance(self.unit, str) and not self.unit else as_text(self.unit, f"The unit of {name!r}")
        if low == high:
            raise SpaceError(f"{name!r} has low = high = {low!r}: use Fixed({name!r}, {low!r}) if it does not vary.")
        if low > high:
            raise SpaceError(f"{name!r} has low = {low!r} above high = {high!r}: swap them.")
        if log and low <= 0:
            raise SpaceError(f"{name!r} has log=True and low = {low!r}: a log scale needs low above 0.")
        for field, value in {"name": name, "low": low, "high": high, "log": log, "unit": unit}.items():
            object.__setattr__(self, field, value)

    def _refuse_outside(self, given: float) -> None:
        if not self.low <= given <= self.high:
            unit = f" {self.unit}" if self.unit else ""
            accepted = f"accepted is {self.low:.12g} to {self.high:.12g}{unit}"
            raise SpaceError(f"{self.name!r} is {as_given(given)}: {accepted}.")


@dataclass(frozen=True, repr=False)
class Real(Numeric):
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
        low = float(as_number(self.low, f"low of {as_given(self.name)}")) + 0.0
        high = float(as_number(self.high, f"high of {as_given(self.name)}")) + 0.0
        self._settle(low, high)
        if not 1e-100 <= high - low <= 1e100:
            raise SpaceError(f"{self.name!r} spans {high - low:.3g}: use a unit in which it is 1e-100 to 1e100.")
        if self.log and low < 1e-100:
            raise SpaceError(f"low of {self.name!r} is {low!r}: use a unit in which it is at least 1e-100.")
        # So short a stretch of a log scale is straight, and its 12 digits would leave hardly any values.
        if self.log and high / low < 1.000001:
            raise SpaceError(f"{self.name!r} goes from {low!r} to {high!r} only: leave out log=True.")

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

    def check(self, value: object) -> float:
        """The value as a float inside the range."""
        if type(value) is float and self.low <= value <= self.high:  # by far the most frequent case
            return value
        given = float(as_number(value, repr(self.name)))
        self._refuse_outside(given)
        return given

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube column of checked values."""
        return self._scale.to_unit(np.asarray(values, dtype=np.float64))[:, None]

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of a cube column."""
        return self._scale.to_value(block[:, 0])

    def moves(self, value: Value) -> list[Any]:
        """None: a continuous parameter has no discrete steps."""
        return []


@dataclass(frozen=True, repr=False)
class Integer(Numeric):
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
        low = as_whole(self.low, f"low of {as_given(self.name)}")
        high = as_whole(self.high, f"high of {as_given(self.name)}")
        log = as_flag(self.log, f"log of {as_given(self.name)}")
        largest, power = (_LARGEST_LOG, 40) if log else (_LARGEST, 50)
        if max(abs(low), abs(high)) > largest:
            raise SpaceError(f"{self.name!r} goes beyond 2**{power}: use Real, or count in a larger unit.")
        self._settle(low, high)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One discrete column."""
        return (Column(self.name, self.name, "discrete", self.levels),)

    @property
    def levels(self) -> int:
        """The number of whole numbers in the range."""
        return self.high - self.low + 1

    def check(self, value: object) -> int:
        """The value as an int inside the range."""
        if type(value) is int and self.low <= value <= self.high:  # by far the most frequent case
            return value
        given = as_whole(value, repr(self.name))
        self._refuse_outside(given)
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

    def moves(self, value: Value) -> list[Any]:
        """One less and one more, inside the range."""
        given = self.check(value)
        return [near for near in (given - 1, given + 1) if self.low <= near <= self.high]
