"""The columns of a catalogue as features in the unit cube."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.discrete import one_hot, one_hot_columns
from choicebo.space.searchable import Column
from choicebo.space.table import Cell, Table
from choicebo.space.values import MOST_CELLS, MOST_COLUMNS, check_width

Floats = NDArray[np.float64]

# From this many rows on, a text that is different in every row is a description, not a property.
_DESCRIPTION_ROWS = 20


@dataclass(frozen=True)
class Features:
    """The features of a catalogue, and why other columns are not features."""

    points: Floats
    """All rows in the unit cube: (n, dim), read-only."""
    columns: tuple[Column, ...]
    dropped: dict[str, str]
    """Why columns are not features."""
    empty: frozenset[str]
    """Columns without any value."""


def choose_features(table: Table, special: Sequence[str], asked: Sequence[str] | None) -> Features:
    """The features of a table: the columns ``asked`` for, or all but the ``special`` ones that can serve.

    >>> rows = {"sku": "A", "price": 2, "vat": 7}, {"sku": "B", "price": 3, "vat": 7}
    >>> choose_features(Table(("sku", "price", "vat"), rows), ["sku"], None).dropped
    {'vat': 'the same in every row'}
    """
    others = [name for name in table.columns if name not in special]
    named = frozenset(() if asked is None else asked)
    empty = dict.fromkeys(name for name in others if name not in named and all(row[name] is None for row in table.rows))
    wanted = [name for name in others if name not in empty] if asked is None else list(asked)
    reasons = {name: why_dropped(table, name, asked is not None) for name in wanted}
    dropped = dict.fromkeys(empty, "empty in every row") | {name: why for name, why in reasons.items() if why}
    encoded, cells = [], 0
    for name in wanted:
        if name not in dropped:
            encoded.append(encode_feature(table, name))
            cells += encoded[-1][0].size
            if cells > 8 * MOST_CELLS:
                raise SpaceError(
                    f"The catalogue takes more than {8 * MOST_CELLS:,} numbers (rows times columns, where a text "
                    "column counts once for each of its values): leave out rows or columns."
                )
    if not encoded:
        notes = "; ".join(f"{as_given(name)}: {why}" for name, why in dropped.items()) or "there is no other column"
        raise SpaceError(f"The catalogue has no usable feature ({notes}): add a column in which rows differ.")
    check_width(sum(len(columns) for _, columns in encoded), "catalogue")
    points = np.concatenate([block for block, _ in encoded], axis=1)
    points.flags.writeable = False
    columns = tuple(column for _, columns in encoded for column in columns)
    return Features(points, columns, dropped, frozenset(empty))


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
            raise SpaceError(f"Column {as_given(name)} holds a number that is too large: use another unit.") from None
        # Halved, so that the span of the largest floats does not overflow.
        least, most = numbers.min() / 2, numbers.max() / 2
        levels = len(np.unique(numbers))
        return ((numbers / 2 - least) / (most - least))[:, None], (Column(name, name, "discrete", levels),)
    # In an order of its own, so that the cube does not depend on which row comes first.
    values = sorted(set(cells), key=lambda cell: (str(cell).lower(), str(cell)))
    check_width(len(values), f"column {name!r}")
    code = {value: place for place, value in enumerate(values)}
    codes = np.array([code[cell] for cell in cells], dtype=np.int64)
    return one_hot(codes, len(values)), one_hot_columns(name, values)


def why_dropped(table: Table, name: str, asked_for: bool) -> str:
    """Why a column cannot serve as a feature; empty if it can. ``asked_for``: it was named in ``features``.

    >>> why_dropped(Table(("a",), ({"a": 1}, {"a": 1})), "a", asked_for=False)
    'the same in every row'
    """
    cells = column_cells(table, name)
    sort = _sort(table, name, cells)
    different = len(set(cells))
    if different == 1:
        return "the same in every row"
    if sort == "text" and different > MOST_COLUMNS and not asked_for:
        return f"more than {MOST_COLUMNS:,} different texts"
    if sort == "text" and different == len(cells) >= _DESCRIPTION_ROWS and not asked_for:
        return "a text of its own in every row, which tells no likeness; name it in features to use it"
    return ""


def column_cells(table: Table, name: str) -> list[Cell]:
    """The cells of one column, none of them missing."""
    cells = [row[name] for row in table.rows]
    for index, cell in enumerate(cells):
        if cell is None:
            raise SpaceError(
                f"{table.place(index)} has no value in column {as_given(name)}: fill it in, or list the columns "
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
                f"Column {as_given(name)} mixes kinds of values: {table.place(0)} has {as_given(cells[0])}, "
                f"{table.place(index)} has "
                f"{as_given(cells[index])}. Give all as numbers, all as texts, or all as true/false."
            )
    return sorts[0]
