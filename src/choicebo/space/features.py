"""The columns of a catalogue as features in the unit cube."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.space.columns import Column
from choicebo.space.listed import one_hot, one_hot_columns
from choicebo.space.table import Cell, Table

Floats = NDArray[np.float64]

# From this many rows on, a text that is different in every row is a description, not a property.
_DESCRIPTION_ROWS = 20


def encode_feature(table: Table, name: str) -> tuple[Floats, tuple[Column, ...]]:
    """Cube columns (n, width) of one feature: numbers from their least to their greatest, others one-hot.

    >>> encode_feature(Table(("price",), ({"price": 2}, {"price": 3}, {"price": 4})), "price")[0].tolist()
    [[0.0], [0.5], [1.0]]
    """
    cells = column_cells(table, name)
    if _sort(table, name, cells) == "number":
        try:
            numbers = np.array(cells, dtype=np.float64)
        except OverflowError:
            raise SpaceError(f"Column {name!r} holds a number that is too large: use another unit.") from None
        # Halved, so that the span of the largest floats does not overflow.
        least, most = numbers.min() / 2, numbers.max() / 2
        levels = len(np.unique(numbers))
        return ((numbers / 2 - least) / (most - least))[:, None], (Column(name, name, "discrete", levels),)
    values = list(dict.fromkeys(cells))
    codes = np.array([values.index(cell) for cell in cells], dtype=np.int64)
    return one_hot(codes, len(values)), one_hot_columns(name, values)


def why_dropped(table: Table, name: str, asked_for: bool) -> str:
    """Why a column cannot serve as a feature; empty if it can. ``asked_for``: it was named in ``features``.

    >>> why_dropped(Table(("a",), ({"a": 1}, {"a": 1})), "a", asked_for=False)
    'the same in every row'
    """
    cells = column_cells(table, name)
    different = len(set(cells))
    if different == 1:
        return "the same in every row"
    described = different == len(cells) >= _DESCRIPTION_ROWS and _sort(table, name, cells) == "text"
    if described and not asked_for:
        return "a text of its own in every row, which tells no likeness; name it in features to use it"
    return ""


def column_cells(table: Table, name: str) -> list[Cell]:
    """The cells of one column, none of them missing."""
    cells = [row[name] for row in table.rows]
    for index, cell in enumerate(cells):
        if cell is None:
            raise SpaceError(
                f"{table.place(index)} has no value in column {name!r}: fill it in, or list the columns "
                "to use in features."
            )
    return cells


def _sort(table: Table, name: str, cells: Sequence[Cell]) -> Literal["number", "bool", "text"]:
    sorts: list[Literal["number", "bool", "text"]] = [
        "text" if isinstance(cell, str) else "bool" if isinstance(cell, bool) else "number" for cell in cells
    ]
    for index, sort in enumerate(sorts):
        if sort != sorts[0]:
            raise SpaceError(
                f"Column {name!r} mixes sorts: {table.place(0)} has {cells[0]!r}, {table.place(index)} has "
                f"{cells[index]!r}. Give all as numbers, all as texts, or all as true/false."
            )
    return sorts[0]
