"""Parameters whose values are listed: Ordinal (in an order) and Categorical (without one)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.parameters import Block, Floats, Parameter
from choicebo.space.ranks import rank_to_unit, unit_to_rank
from choicebo.space.searchable import Column
from choicebo.space.values import Value, as_flag, as_text, as_value, check_width, plain, read_value, suggestion

ONE_HOT = 1.0 / math.sqrt(2.0)
"""The value of a one-hot column that is on. Two categories are then at distance 1, as far apart as the two
ends of a Real and as the two values of a yes/no parameter, and still inside the cube."""


def one_hot(codes: NDArray[np.int64], levels: int) -> Floats:
    """Cube columns of category numbers: one column of 0 and 1 for two levels, otherwise one column per level.

    Examples:
        >>> one_hot(np.array([0, 1]), levels=2).tolist()
        [[0.0], [1.0]]
    """
    if levels == 2:
        return codes.astype(np.float64)[:, None]
    block = np.zeros((len(codes), levels))
    block[np.arange(len(codes)), codes] = ONE_HOT
    return block


def one_hot_columns(name: str, values: Sequence[object]) -> tuple[Column, ...]:
    """The columns that ``one_hot`` fills.

    Examples:
        >>> [column.name for column in one_hot_columns("flour", ["rye", "wheat", "spelt"])]
        ['flour=rye', 'flour=wheat', 'flour=spelt']
    """
    if len(values) == 2:
        return (Column(f"{name}={values[1]}", name, "discrete", 2),)
    return tuple(Column(f"{name}={value}", name, "onehot", len(values)) for value in values)


class Discrete(Parameter):
    """What Ordinal and Categorical share: a tuple of values and the way back to a value's place in it."""

    values: tuple[Value, ...]

    def __init__(self, name: str, values: Iterable[Value], *, context: bool = False) -> None:
        name = as_text(name, "The name of a parameter")
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise SpaceError(f"The values of {name!r} are {as_given(values)}: give a list of values.")
        listed = tuple(as_value(value, f"A value of {name!r}") for value in values)
        repeated = {value for value, times in Counter(listed).items() if times > 1}
        twice = [value for value in reversed(listed) if value in repeated]
        if twice:
            raise SpaceError(f"The values of {name!r} hold {twice[0]!r} twice: leave one out.")
        if not listed:
            raise SpaceError(f"The values of {name!r} are an empty list: give two or more values.")
        if len(listed) == 1:
            raise SpaceError(
                f"The values of {name!r} are only {listed[0]!r}: use Fixed({name!r}, {listed[0]!r}) "
                "if it does not vary."
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", listed)
        object.__setattr__(self, "context", as_flag(context, f"context of {name!r}"))

    def __repr__(self) -> str:
        extra = ", context=True" if self.context else ""
        return f"{type(self).__name__}({self.name!r}, {list(self.values)!r}{extra})"

    @cached_property
    def _rank(self) -> dict[Value, int]:
        return {value: rank for rank, value in enumerate(self.values)}

    @cached_property
    def _objects(self) -> NDArray[np.object_]:
        objects = np.empty(len(self.values), dtype=object)
        objects[:] = self.values
        return objects

    @property
    def levels(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def numeric(self) -> bool:
        """Whether every value is a number."""
        return not any(isinstance(value, (bool, str)) for value in self.values)

    def check(self, value: object) -> Value:
        """The listed value that equals ``value``."""
        given = plain(value)
        if isinstance(given, (bool, int, float, str)) and given in self._rank:
            listed = self.values[self._rank[given]]
            # Python takes True for 1; a person does not.
            if isinstance(listed, bool) == isinstance(given, bool):
                return listed
        near = suggestion(given, map(str, self.values)) if isinstance(given, str) else ""
        accepted = ", ".join(map(repr, self.values[:12])) + (", ..." if len(self.values) > 12 else "")
        raise SpaceError(f"{self.name!r} is {as_given(given)}: accepted are {accepted}. {near}".rstrip())

    def parse(self, text: str) -> Value:
        """The listed value that a person wrote.

        Examples:
            >>> Ordinal("grind", [1, 2, 4, 8]).parse("4")
            4
        """
        written = {str(value): value for value in self.values}
        return written[text] if text in written else self.check(read_value(text))

    def _codes(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return np.array([self._rank[value] for value in values], dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description."""
        record = {"kind": self.kind, "name": self.name, "values": list(self.values)}
        return record | ({"context": True} if self.context else {})


@dataclass(frozen=True, repr=False, init=False)
class Ordinal(Discrete):
    """One of a few values in an order, equally spaced by rank: all numbers or all texts.

    Args:
        name: What it is called in options and constraints.
        values: Two or more values, in order.
        context: Whether the situation gives the value, and nobody chooses it; see `Context`.

    Raises:
        SpaceError: There are too few values, one comes twice, or they are of several sorts.

    Examples:
        >>> Ordinal("grind", [1, 2, 4, 8])
        Ordinal('grind', [1, 2, 4, 8])
    """

    name: str
    values: tuple[Value, ...]
    context: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "ordinal"

    def __init__(self, name: str, values: Iterable[Value], *, context: bool = False) -> None:
        super().__init__(name, values, context=context)
        if not self.numeric and not all(isinstance(value, str) for value in self.values):
            raise SpaceError(
                f"The values of {self.name!r} mix texts, numbers or bools: give one kind, or use Categorical."
            )

    @property
    def columns(self) -> tuple[Column, ...]:
        """One discrete column."""
        return (Column(self.name, self.name, "discrete", self.levels),)

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube column of checked values."""
        return rank_to_unit(self._codes(values), self.levels)[:, None]

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of a cube column."""
        return self._objects[unit_to_rank(block[:, 0], self.levels)]

    def moves(self, value: Value) -> list[Any]:
        """The value before and the value after."""
        rank = self._rank[self.check(value)]
        return [self.values[near] for near in (rank - 1, rank + 1) if 0 <= near < self.levels]


@dataclass(frozen=True, repr=False, init=False)
class Categorical(Discrete):
    """One of a few values without an order; all are equally far from each other.

    Args:
        name: What it is called in options and constraints.
        values: Two or more values.
        context: Whether the situation gives the value, and nobody chooses it; see `Context`.

    Raises:
        SpaceError: There are too few values, or one comes twice.

    Examples:
        >>> Categorical("flour", ["rye", "wheat"])
        Categorical('flour', ['rye', 'wheat'])
    """

    name: str
    values: tuple[Value, ...]
    context: bool = field(default=False, kw_only=True)
    kind: ClassVar[str] = "categorical"

    def __init__(self, name: str, values: Iterable[Value], *, context: bool = False) -> None:
        super().__init__(name, values, context=context)
        check_width(len(self.values), f"parameter {self.name!r}")

    @property
    def columns(self) -> tuple[Column, ...]:
        """One column for two values, otherwise one per value."""
        return one_hot_columns(self.name, self.values)

    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Cube columns of checked values."""
        return one_hot(self._codes(values), self.levels)

    def decode(self, block: Block) -> NDArray[Any]:
        """Values of cube columns: the largest column wins."""
        codes = unit_to_rank(block[:, 0], 2) if self.levels == 2 else np.argmax(block, axis=1)
        return self._objects[codes]

    def spread(self, quantile: Floats) -> Block:
        """Cube columns of values at ``quantile: (n,)``."""
        return one_hot(unit_to_rank(quantile, self.levels), self.levels)

    def moves(self, value: Value) -> list[Any]:
        """All other values."""
        current = self.check(value)
        return [other for other in self.values if other != current]
