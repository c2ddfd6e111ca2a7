"""What every parameter can do, and the parameter that does not vary."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.expression import identifier
from choicebo.space.searchable import Column
from choicebo.space.values import Value, as_text, as_value

Floats = NDArray[np.float64]
Block = NDArray[np.float64]
"""The columns of one parameter for n options: (n, width)."""


class Parameter(ABC):
    """One thing that varies between options, and its columns of the unit cube.

    The map is exact: ``decode(encode(values))`` gives the values back. ``decode`` accepts every point of the
    cube.
    """

    name: str
    kind: ClassVar[str]
    circular: bool = False
    """Whether the range goes round: its two ends are the same place."""
    context: bool = False
    """Whether the situation gives the value, and nobody chooses it: all options of one question have the same."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The cube columns of this parameter."""

    @property
    @abstractmethod
    def levels(self) -> int | float:
        """How many values are offered: an int, or ``math.inf``."""

    @property
    @abstractmethod
    def numeric(self) -> bool:
        """Whether the values can be calculated with in a constraint."""

    @abstractmethod
    def check(self, value: object) -> Value:
        """Return the value as a plain Python value.

        Args:
            value: What somebody gave: a Python or NumPy value.

        Returns:
            The same as a float, int, bool or text.

        Raises:
            SpaceError: It is not accepted; the message says what is.

        Examples:
            >>> cb.Integer("minutes", 5, 40).check(12.0)
            12
        """

    @abstractmethod
    def parse(self, text: str) -> Value:
        """Read a value that a person wrote.

        Args:
            text: The value as text; a number may have a decimal point or comma.

        Returns:
            The value, checked.

        Raises:
            SpaceError: It cannot be read or is not accepted; the message says what is.

        Examples:
            >>> cb.Real("temperature", 150, 220).parse("180,5")
            180.5
        """

    @abstractmethod
    def encode(self, values: Sequence[Any] | NDArray[Any]) -> Block:
        """Map values to the unit cube.

        Args:
            values: Checked values, (n,).

        Returns:
            Their cube columns, (n, width).

        Examples:
            >>> cb.Integer("minutes", 5, 45).encode([5, 25, 45]).tolist()
            [[0.0], [0.5], [1.0]]
        """

    @abstractmethod
    def decode(self, block: Block) -> NDArray[Any]:
        """Map cube columns back to values.

        Args:
            block: Cube columns, (n, width); any point of the cube will do.

        Returns:
            Values, (n,).

        Examples:
            >>> cb.Integer("minutes", 5, 45).decode(np.array([[0.26]])).tolist()
            [15]
        """

    @abstractmethod
    def moves(self, value: Value) -> list[Any]:
        """List the values that are one discrete step away.

        Args:
            value: A value of the parameter.

        Returns:
            Its neighbours; none where any number may be offered.

        Examples:
            >>> cb.Ordinal("grind", [1, 2, 4, 8]).moves(2)
            [1, 4]
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Describe the parameter in JSON-compatible terms.

        Returns:
            Its kind, name and settings, which ``choicebo.space.from_dict`` reads as part of a space.

        Examples:
            >>> cb.Categorical("flour", ["rye", "wheat"]).to_dict()
            {'kind': 'categorical', 'name': 'flour', 'values': ['rye', 'wheat']}
        """

    @property
    def width(self) -> int:
        """How many cube columns the parameter takes."""
        return len(self.columns)

    def snap(self, block: Block) -> Block:
        """Move cube columns to the nearest values that are offered.

        Args:
            block: Cube columns, (n, width).

        Returns:
            Cube columns of offered values, (n, width).

        Examples:
            >>> cb.Real("hours", 0, 1, step=0.25).snap(np.array([[0.3]])).tolist()
            [[0.25]]
        """
        return self.encode(self.decode(block))

    def spread(self, quantile: Floats) -> Block:
        """Place quantiles in the cube such that uniform ones give every value the same share.

        Args:
            quantile: Numbers from 0 to 1, (n,).

        Returns:
            Cube columns of values, (n, width).

        Examples:
            >>> cb.Integer("eggs", 1, 2).spread(np.array([0.4, 0.6])).tolist()
            [[0.0], [1.0]]
        """
        return self.encode(self.decode(quantile[:, None]))

    def grid(self) -> Block:
        """List all values that are offered, for a parameter with finitely many.

        Returns:
            Their cube columns, (levels, width).

        Examples:
            >>> cb.Integer("eggs", 1, 3).grid().tolist()
            [[0.0], [0.5], [1.0]]
        """
        levels = int(self.levels)
        return self.spread((np.arange(levels) + 0.5) / levels)


@dataclass(frozen=True, repr=False)
class Fixed:
    """A parameter with one value: it takes no cube column and appears in every option.

    Args:
        name: What it is called in options and constraints.
        value: A number, a text or a bool.

    Raises:
        SpaceError: The value is none of these.

    Examples:
        >>> Fixed("oven", "gas")
        Fixed('oven', 'gas')
    """

    name: str
    value: Value

    def __post_init__(self) -> None:
        name = as_text(self.name, "The name of a fixed parameter")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "value", as_value(self.value, f"The value of {as_given(name)}"))

    def __repr__(self) -> str:
        return f"Fixed({self.name!r}, {self.value!r})"

    @property
    def numeric(self) -> bool:
        """Whether the value can be calculated with in a constraint."""
        return not isinstance(self.value, (bool, str))


def size(parameters: Sequence[Parameter]) -> int | float:
    """The number of combinations of values: an int, or ``math.inf``.

    Examples:
        >>> from choicebo.space import Integer, Real
        >>> size([Integer("a", 1, 3), Integer("b", 1, 4)]), size([Real("x", 0, 1)])
        (12, inf)
    """
    levels = [parameter.levels for parameter in parameters]
    return math.inf if math.inf in levels else math.prod(levels)


def split(
    parameters: Iterable[Parameter | Fixed], fixed: Mapping[str, Value]
) -> tuple[tuple[Parameter, ...], tuple[Fixed, ...]]:
    """The parameters that vary, and those that are held: given as Fixed, or named in ``fixed``.

    Examples:
        >>> from choicebo.space import Integer, Real
        >>> split([Real("x", 0, 1), Integer("k", 1, 3)], {"k": 2})
        ((Real('x', 0.0, 1.0),), (Fixed('k', 2),))
    """
    if (
        isinstance(parameters, (Parameter, Fixed, str, Mapping))
        or not isinstance(parameters, Iterable)
        or not isinstance(fixed, Mapping)
    ):
        raise SpaceError("A space takes a list of parameters, and fixed values as a dict: fixed={'oven': 'gas'}.")
    given = list(parameters)
    for parameter in given:
        if not isinstance(parameter, (Parameter, Fixed)):
            raise SpaceError(
                f"A parameter is {as_given(parameter)}: give a Real, Integer, Angle, Ordinal, Categorical or Fixed."
            )
    varying = {parameter.name: parameter for parameter in given if isinstance(parameter, Parameter)}
    held = [parameter for parameter in given if isinstance(parameter, Fixed)]
    for name, value in fixed.items():
        held.append(Fixed(name, varying[name].check(value) if name in varying else value))
    _check_names([p.name for p in given] + [name for name in fixed if name not in varying])
    free = tuple(parameter for name, parameter in varying.items() if name not in fixed)
    if not free:
        raise SpaceError(
            "A space needs at least one parameter that varies: give a Real, Integer, Ordinal or Categorical."
        )
    if all(parameter.context for parameter in free):
        contexts = ", ".join(repr(parameter.name) for parameter in free)
        raise SpaceError(
            f"Nothing is left to choose beside the context {contexts}: give a parameter that is no context."
        )
    return free, tuple(held)


def _check_names(names: Sequence[str]) -> None:
    spelling: dict[str, str] = {}
    for name, times in Counter(names).items():
        word = identifier(name)
        other = spelling.setdefault(word, name)
        if times > 1:
            raise SpaceError(f"The name {as_given(name)} is used twice: rename one of the two parameters.")
        if other != name:
            raise SpaceError(
                f"{other!r} and {as_given(name)} would both be called {word!r} in constraints: rename one of them."
            )
