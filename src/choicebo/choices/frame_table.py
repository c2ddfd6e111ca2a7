"""Choices as columns of a table: those of the CSV file."""

from __future__ import annotations

import csv
from typing import Any


def columns_of(text: str) -> dict[str, list[Any]]:
    """The columns of a CSV table of choices, with numbers for texts, and None where an option was never shown.

    >>> columns_of("choice,option,kept,x0\\n0,1,1,0.7\\n,2,,1.0\\n")
    {'choice': [0, None], 'option': [1, 2], 'kept': [True, None], 'x0': [0.7, 1.0]}
    """
    header, *rows = csv.reader(text.splitlines())
    return {name: [_value(name, row[at]) for row in rows] for at, name in enumerate(header)}


def _value(name: str, cell: str) -> Any:
    if not cell:
        return None
    if name == "kept":
        return cell == "1"
    return int(cell) if name in ("choice", "option") else float(cell)
