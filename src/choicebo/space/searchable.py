"""What the other rooms need from anything that options can be taken from: a Space or a Catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Option = dict[str, Any]
"""An option as people see it: a value for each name."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ColumnKind = Literal["continuous", "discrete", "onehot", "circular"]


@dataclass(frozen=True)
class Column:
    """One column of the unit cube.

    ``continuous`` columns may take any value in [0, 1]; ``discrete`` ones hold a few ordered positions;
    the ``onehot`` columns of one parameter change together; the two ``circular`` ones of a parameter hold a point of a circle.

    >>> Column("flour=rye", parameter="flour", kind="onehot", levels=3)
    Column(name='flour=rye', parameter='flour', kind='onehot', levels=3)
    """

    name: str
    """How a person would call the column."""
    parameter: str
    """The parameter or feature that the column belongs to; one-hot and circular columns share it."""
    kind: ColumnKind
    levels: int | None = None
    """How many values of the parameter are offered; None if it is any."""


@runtime_checkable
class Searchable(Protocol):
    """A set of options with a map to and from the unit cube: a Space or a Catalogue.

    The model sees options as rows of ``encode``; ``decode`` accepts every point of the cube and gives the
    option that the point stands for; ``snap`` moves points to where the model sees the nearest option that may be proposed.
    """

    @property
    def dim(self) -> int:
        """The number of cube columns."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What each cube column stands for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of every option."""

    @property
    def size(self) -> int | float:
        """The number of different options before constraints: an int, or ``math.inf``."""

    def encode(self, options: Sequence[Any]) -> Floats:
        """Cube points (n, dim) of options."""

    def decode(self, points: ArrayLike) -> list[Option]:
        """The options of cube points (n, dim)."""

    def snap(self, points: ArrayLike) -> Floats:
        """``encode(decode(points))``, with values that have a step on it."""

    def feasible(self, points: ArrayLike | Sequence[Mapping[str, object]]) -> Bools:
        """Which cube points (or options) may be offered: (n,)."""

    def validate(self, option: Any) -> Option:
        """The option as it is kept, with plain Python values, or an error that says what is wrong."""

    def contains(self, option: Any) -> bool:
        """Whether the option is valid and may be offered."""

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """Random feasible points (n, dim), where the model sees them."""

    def sobol(self, n: int, seed: int = 0, skip: int = 0) -> Floats:
        """Points ``skip`` to ``skip + n`` of a space-filling sequence of feasible points."""

    def enumerate(self, limit: int = 10_000) -> Floats:
        """All feasible points (m, dim), if there are at most ``limit`` options."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description that ``from_dict`` reads back."""
