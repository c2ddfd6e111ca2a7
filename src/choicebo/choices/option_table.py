"""How a table of answers names its options, and the table of options beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from choicebo.choices import cells
from choicebo.choices.long_table import RATER, WEIGHT
from choicebo.choices.option_columns import InputColumns, KeyColumn, OptionReader, ParameterColumns
from choicebo.choices.options import unit_scaled
from choicebo.choices.problems import Problems
from choicebo.choices.roles import ALONE, MARKS, RoleTable, wide_roles
from choicebo.choices.tables import open_table
from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.space import Catalogue, Space


def option_reader(
    table: RoleTable,
    kind: str,
    is_long: bool,
    inputs: Sequence[str] | None,
    options: Any,
    space: Space | Catalogue | None,
    scale: bool,
) -> OptionReader:
    """The reader of the options that a table is about, whatever names them."""
    if scale and space is not None:
        raise DataError(
            "scale=True is for inputs without a space, but a space was given, which has its own scale; leave one "
            "of them out."
        )
    inputs = None if inputs is None else _checked_inputs(inputs)
    if isinstance(space, Catalogue):
        column = "option" if "option" in table.header or space.key not in table.header else space.key
        return KeyColumn.of(space, column)
    if space is not None and not isinstance(space, Space):
        raise DataError(f"space is {as_given(space)}; give a Space or a Catalogue.")
    if options is not None:
        return _listed_options(options, table.called("option"), inputs, space, scale)
    if space is not None:
        return ParameterColumns(space)
    if is_long:
        used = {"choice", "option", WEIGHT, RATER, *MARKS[kind], *(("sitting",) if kind in ALONE else ())}
        found = list(inputs) if inputs is not None else [name for name in table.header if name not in used]
        label = "option" if "option" in table.header else None
    else:
        parts = [name.partition(".") for name in table.header]
        within = [suffix for role, _, suffix in parts if role in set(wide_roles(table.header, kind)) and suffix]
        found, label = list(inputs) if inputs is not None else list(dict.fromkeys(within)), None
    if not found:
        raise DataError(
            "No column holds the inputs of the options; add some, or give options=... or space=... "
            f"(the columns are {as_given(list(table.header))})."
        )
    return InputColumns(found, label)


def _checked_inputs(given: Any) -> list[str]:
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)):
        raise DataError(f"inputs is {as_given(given)}; give a list of column names.")
    names = list(given)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise DataError(f"inputs is {as_given(given)}; give a list of column names, each once.")
    return names


def _listed_options(
    given: Any, called: str, inputs: Sequence[str] | None, space: Space | None, scale: bool
) -> KeyColumn:
    """The options of a table with the inputs of each, and its key in the column ``option`` or as the answers call it."""
    table = open_table(given)
    key = next((name for name in ("option", called) if name in table.header), None)
    if key is None:
        raise DataError(
            f"The table of options has no column {called!r} for their keys; its columns are "
            f"{as_given(list(table.header))}."
        )
    named = [name for name in table.header if name and name != key] if inputs is None else list(inputs)
    reader: OptionReader = InputColumns(named) if space is None else ParameterColumns(space)
    missing = [name for name in reader.columns() if name not in table.header]
    if missing or not reader.columns():
        raise DataError(
            f"The table of options has no column {as_given(missing[0] if missing else 'x0')} with an input."
        )
    problems = Problems(f"option {table.word}")
    rows: dict[str, int] = {}
    codes: list[int] = []
    for chunk in table.chunks([key, *reader.columns()], problems):
        codes += reader.codes(chunk, problems).tolist()
        labels = cells.labels(chunk.cells[key], chunk.numbers, key, problems)
        for number, label in zip(chunk.numbers.tolist(), labels, strict=True):
            if label is None or label in rows:
                problems.add(
                    number,
                    "its key is empty; name it."
                    if label is None
                    else f"the key {as_given(label)} appears twice; give each option its own.",
                )
            rows[label or ""] = len(rows)
    if isinstance(reader, InputColumns) and not scale:
        reader.check_cube(problems)
    problems.check()
    points, listed = reader.points(), reader.options()
    points = unit_scaled(points) if scale and len(points) else points
    return KeyColumn("option", rows, points[codes], None if listed is None else [listed[code] for code in codes])
