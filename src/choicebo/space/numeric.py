"""Parameters that are numbers in a range: Real, Integer, and Angle, which goes round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.circle import points_to_turn, turn_to_points
from choicebo.space.parameters import Block, Floats, Parameter
from choicebo.space.ranks import log_to_unit, rank_to_unit, unit_to_log, unit_to_rank
from choicebo.space.scale import Scale
from choicebo.space.searchable import Column
from choicebo.space.steps import count_of_steps, sensible_step, stepped_values
from choicebo.space.values import Value, as_flag, as_number, as_text, as_whole, read_number

# Beyond these, neighbouring whole numbers would share a position in the cube.
_LARGEST = 2**50
_LARGEST_LOG = 2**40
_MOST_STEPS = 100_000
# Beyond so many turns from zero, the digits of a float would not be enough to go round by.
_MOST_TURNS = 1000


class Numeric(Parameter):
    """What Real and Integer share: a range from ``low`` to ``high``, a unit, and whether its scale is logarithmic or circular."""

    low: float
    high: float
    log: bool
    unit: str

    def __repr__(self) -> str:
        given = {
            key: value for key, value in self.to_dict().items() if key in ("unit", "log", "step", "circular", "context")
        }
        extra = "".join(f", {key}={value!r}" for key, value in given.items() if value)
        return f"{type(self).__name__}({self.name!r}, {self.low!r}, {self.high!r}{extra})"

    @property
    def numeric(self) -> bool:
        """A number."""
        return True

    def parse(self, text: str) -> Value:
        """The number that a person wrote, with a decimal point or comma."""
        return self.check(read_number(text, repr(self.name)))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        record = {field: getattr(self, field) for field in ("kind", "name", "low", "high", "log", "unit")}
        flags = {name: True for name in ("circular", "context") if getattr(self, name)}
        return record | flags

    def share(self, value: Value) -> float:
        """Say where a value lies between ``low`` (0) and ``high`` (1), on the parameter's scale.

        Args:
            value: A value of the parameter.

        Returns:
            A number from 0 to 1.

        Raises:
            SpaceError: The value is not accepted.

        Examples:
            >>> Real("temperature", 150, 220).share(185), Angle("hue").share(90)
            (0.5, 0.25)
        """
        return float(self._to_unit(self.encode([self.check(value)]))[0])

    def _columns(self, kind: Any, levels: int | None) -> tuple[Column, ...]:
        if self.circular:
            return tuple(Column(f"{self.name} ({f})", self.name, "circular", levels) for f in ("cosine", "sine"))
        return (Column(self.name, self.name, kind, levels),)

    def _to_unit(self, block: Block) -> Floats:
        """Positions from 0 to 1 (n,) of cube columns."""
        return points_to_turn(block) if self.circular else block[:, 0]

    def _to_block(self, unit: Floats) -> Block:
        """Cube columns of positions from 0 to 1."""
        return turn_to_points(unit) if self.circular else unit[:, None]

    def _settle(self, low: float, high: float) -> None:
        """Store checked bounds, after the rules that both kinds share."""
        name = as_text(self.name, "The name of a parameter")
        log = as_flag(self.log, f"log of {name!r}")
        circular = as_flag(self.circular, f"circular of {name!r}")
        context = as_flag(self.context, f"context of {name!r}")
        unit = "" if isinstance(self.unit, str) and not self.unit else as_text(self.unit, f"The unit of {name!r}")
        if low == high:
            raise SpaceError(f"{name!r} has low = high = {low!r}: use Fixed({name!r}, {low!r}) if it does not vary.")
        if low > high:
            raise SpaceError(f"{name!r} has low = {low!r} above high = {high!r}: swap them.")
        if log and low <= 0:
            raise SpaceError(f"{name!r} has log=True and low = {low!r}: a log scale needs low above 0.")
        if log and circular:
            raise SpaceError(
                f"{name!r} has log=True and circular=True: a circle has no log scale, leave out one of them."
            )
        if circular and max(abs(low), abs(high)) > _MOST_TURNS * (high - low):
            raise SpaceError(
                f"{name!r} is circular and goes from {low!r} to {high!r}: give a full turn that starts near 0."
            )
        checked = {
            "name": name,
            "low": low,
            "high": high,
            "log": log,
            "unit": unit,
            "circular": circular,
            "context": context,
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)

    def _refuse_outside(self, given: float) -> None:
        if not self.low <= given <= self.high:
            unit = f" {self.unit}" if self.unit else ""
            accepted = f"accepted is {self.low:.12g} to {self.high:.12g}{unit}"
            raise SpaceError(f"{self.name!r} is {as_given(given)}: {accepted}.")


@dataclass(frozen=True, repr=False)
class Real(Numeric):
    """Any number from ``low`` to ``high``; with ``log`` equal ratios are equal distances.

    With a ``step`` only ``low``, ``low + step``, ... and ``high`` are offered, so that people can tell options apart; an option
    that somebody gives may lie between. On a log scale steps grow tenfold with each power of ten beyond a thousand times
    ``low``. With ``circular`` the range goes round: ``high`` is the same place as ``low``, and is called ``low``.

    Args:
        name: What it is called in options and constraints.
        low: The least value.
        high: The greatest value.
        log: Whether equal ratios are equal distances; ``low`` must be above 0.
        unit: Shown beside values, as in "°C".
        step: The distance of the values that are offered; None: any number.
        circular: Whether the range goes round.
        context: Whether the situation gives the value, and nobody chooses it; see `Context`.

    Raises:
        SpaceError: The range is empty, or the settings contradict each other.

    Examples:
        >>> Real("temperature", 150, 220, unit="°C", step=5)
        Real('temperature', 150.0, 220.0, unit='°C', step=5.0)
    """

    name: str
    low: float
    high: float
    log: bool = False
    unit: str = ""
    step: float | None = None
    """None or 0: any number is offered."""
    circular: bool = False
    context: bool = field(default=False, kw_only=True)
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
        object.__setattr__(self, "step", self._checked_step())

    def _checked_step(self) -> float | None:
        what = f"step of {self.name!r}"
        step = None if self.step is None else float(as_number(self.step, what))
        if step is None or step == 0.0:
            return None
        if step < 0.0:
            raise SpaceError(f"{what} is {step!r}: give a number above 0, or leave it out to offer any value.")
        longest = (self.high - self.low) / (2 if self.circular else 1)
        if step > longest * (1.0 + 1e-12):
            raise SpaceError(f"{what} is {step!r}, which leaves too few values: give at most {longest:.6g}.")
        # Written so that a step whose number of values is not finite fails too.
        if not count_of_steps(self.low, self.high, max(step, 1e-200), self.log) <= _MOST_STEPS:
            raise SpaceError(
                f"{what} is {step!r}, which makes more than {_MOST_STEPS:,} values: give a larger one, or leave it out to offer "
                "any value."
            )
        return step

    def stepped(self) -> Real:
        """Add a step that people can tell apart, about a hundredth of the range, where there is none.

        Returns:
            The same parameter with a step.

        Examples:
            >>> Real("temperature", 150, 220).stepped()
            Real('temperature', 150.0, 220.0, step=0.5)
        """
        return self if self.step is not None else replace(self, step=sensible_step(self.low, self.high, self.log))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        return super().to_dict() | ({} if self.step is None else {"step": self.step})

    @cached_property
    def _scale(self) -> Scale:
        return Scale(self.low, self.high, self.log, self.circular)

    @cached_property
    def _offered(self) -> Floats:
        """The values that are offered, rising."""
        assert self.step is not None
        values = stepped_values(self.low, self.high, self.step, self.log, self.circular)
        return np.unique(self._scale.to_value(self._scale.to_unit(values)))

    @cached_property
    def _middles(self) -> Floats:
        """Positions halfway between those of the values that are offered; on a circle also after the last."""
        unit = self._scale.to_unit(self._offered)
        unit = np.append(unit, 1.0) if self.circular else unit
        return (unit[1:] + unit[:-1]) / 2.0

    def _nearest(self, unit: Floats) -> Block:
        """Cube columns of the offered values nearest to positions; those after the last middle are the first again."""
        return self.encode(self._offered[np.searchsorted(self._middles, unit) % len(self._offered)])

    @property
    def columns(self) -> tuple[Column, ...]:
        """One continuous column, or two of a circle."""
        return self._columns("continuous", None if self.step is None else len(self._offered))

    @property
    def levels(self) -> int | float:
        """Infinitely many without a step."""
        return math.inf if self.step is None else len(self._offered)

    def check(self, value: object) -> float:
        """The value as a float inside the range; it may lie between two steps."""
        if type(value) is float and self.low <= value < self.high:  # by far the most frequent case
            return value
        given = float(as_number(value, repr(self.name)))
        self._refuse_outside(given)
        return self.low if self.circular and given == self.high else given

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube columns of checked values."""
        return self._to_block(self._scale.to_unit(np.asarray(values, dtype=np.float64)))

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of cube columns, which may lie between two steps."""
        return self._scale.to_value(self._to_unit(block))

    def snap(self, block: Block) -> Block:
        """Cube columns of the nearest values that are offered."""
        return super().snap(block) if self.step is None else self._nearest(self._to_unit(block))

    def spread(self, quantile: Floats) -> Block:
        """Cube columns of values at ``quantile: (n,)``."""
        if self.step is None:
            return self.encode(self._scale.to_value(quantile))
        if self.circular:
            return self._nearest(quantile)
        # A little beyond both ends, so that the first and the last value are drawn as often as the others.
        start, end = -self._middles[0], 2.0 - self._middles[-1]
        return self._nearest(start + quantile * (end - start))

    def grid(self) -> Block:
        """Cube columns of all values that are offered."""
        return self.encode(self._offered)

    def moves(self, value: Value) -> list[Any]:
        """The values one step below and above; none where any value is offered."""
        if self.step is None:
            return []
        given, offered = self.check(value), self._offered
        near = [np.searchsorted(offered, given) - 1, np.searchsorted(offered, given, side="right")]
        if self.circular:
            return list(dict.fromkeys(offered[np.array(near) % len(offered)].tolist()))
        return [float(offered[place]) for place in near if 0 <= place < len(offered)]


@dataclass(frozen=True, repr=False)
class Angle(Real):
    """A direction or a hue: a full turn from ``low`` to ``high``, whose ends are the same place.

    Args:
        name: What it is called in options and constraints.
        low: Where the turn begins.
        high: Where it is complete: the same place.
        unit: Shown beside values.
        step: The distance of the values that are offered; None: any number.
        context: As in `Real`.

    Raises:
        SpaceError: The range is empty, or starts far from 0.

    Examples:
        >>> hue = Angle("hue")
        >>> hue
        Angle('hue', 0.0, 360.0, unit='°')
        >>> near = hue.encode([359.0, 1.0])
        >>> float(np.linalg.norm(near[0] - near[1]).round(3))
        0.017
    """

    low: float = 0.0
    high: float = 360.0
    log: bool = field(default=False, init=False)
    unit: str = "°"
    step: float | None = None
    circular: bool = field(default=True, init=False)
    kind: ClassVar[str] = "angle"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        return {key: value for key, value in super().to_dict().items() if key not in ("log", "circular")}


@dataclass(frozen=True, repr=False)
class Integer(Numeric):
    """Any whole number from ``low`` to ``high``, both included; if ``circular``, ``high`` is the same place as ``low``.

    Args:
        name: What it is called in options and constraints.
        low: The least value.
        high: The greatest value.
        log: Whether equal ratios are equal distances; ``low`` must be above 0.
        unit: Shown beside values, as in "minutes".
        circular: Whether the range goes round.
        context: As in `Real`.

    Raises:
        SpaceError: The range is empty, or the settings contradict each other.

    Examples:
        >>> Integer("minutes", 5, 40).check(12.0)
        12
    """

    name: str
    low: int
    high: int
    log: bool = False
    unit: str = ""
    circular: bool = False
    context: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "integer"

    def __post_init__(self) -> None:
        low = as_whole(self.low, f"low of {as_given(self.name)}")
        high = as_whole(self.high, f"high of {as_given(self.name)}")
        log = as_flag(self.log, f"log of {as_given(self.name)}")
        circular = as_flag(self.circular, f"circular of {as_given(self.name)}")
        largest, power = (_LARGEST_LOG, 40) if log or circular else (_LARGEST, 50)
        if max(abs(low), abs(high)) > largest:
            raise SpaceError(f"{self.name!r} goes beyond 2**{power}: use Real, or count in a larger unit.")
        self._settle(low, high)
        if circular and high - low < 2:
            raise SpaceError(
                f"{self.name!r} goes round from {low} to {high}, which are the same place: give a longer turn."
            )

    @property
    def columns(self) -> tuple[Column, ...]:
        """One discrete column, or two of a circle."""
        return self._columns("discrete", self.levels)

    @property
    def levels(self) -> int:
        """The number of whole numbers in the range."""
        return self.high - self.low + (0 if self.circular else 1)

    def check(self, value: object) -> int:
        """The value as an int inside the range."""
        if type(value) is int and self.low <= value < self.high:  # by far the most frequent case
            return value
        given = as_whole(value, repr(self.name))
        self._refuse_outside(given)
        return self.low if self.circular and given == self.high else given

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube columns of checked values."""
        whole = np.asarray(values, dtype=np.int64)
        if self.circular:
            return self._to_block((whole - self.low) / self.levels)
        if self.log:
            return log_to_unit(whole, self.low, self.high)[:, None]
        return rank_to_unit(whole - self.low, self.levels)[:, None]

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of cube columns."""
        if self.circular:
            return np.rint(self._to_unit(block) * self.levels).astype(np.int64) % self.levels + self.low
        if self.log:
            return unit_to_log(block[:, 0], self.low, self.high)
        return unit_to_rank(block[:, 0], self.levels) + self.low

    def spread(self, quantile: Floats) -> Block:
        """Cube columns of values at ``quantile: (n,)``."""
        if self.circular:
            return self.encode(unit_to_rank(quantile, self.levels) + self.low)
        return super().spread(quantile)

    def grid(self) -> Block:
        """Cube columns of all values in the range."""
        return self.encode(np.arange(self.low, self.low + self.levels))

    def moves(self, value: Value) -> list[Any]:
        """One less and one more, inside the range or round its ends."""
        given = self.check(value)
        near = (given - 1, given + 1)
        if self.circular:
            return list(dict.fromkeys((each - self.low) % self.levels + self.low for each in near))
        return [each for each in near if self.low <= each <= self.high]
