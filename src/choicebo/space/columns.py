"""What each column of the unit cube stands for, so that a maximiser knows where it may move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ColumnKind = Literal["continuous", "discrete", "onehot"]


@dataclass(frozen=True)
class Column:
    """One column of the unit cube.

    ``continuous`` columns may take any value in [0, 1]; ``discrete`` ones hold a few ordered positions;
    the ``onehot`` columns of one parameter change together.

    >>> Column("flour=rye", parameter="flour", kind="onehot", levels=3)
    Column(name='flour=rye', parameter='flour', kind='onehot', levels=3)
    """

    name: str
    """How a person would call the column."""
    parameter: str
    """The parameter or feature that the column belongs to; one-hot columns share it."""
    kind: ColumnKind
    levels: int | None = None
    """How many values the parameter takes; None if it is continuous."""
