"""Choices as a CSV table, with a row for each option shown."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from choicebo.choices import cells
from choicebo.choices.building import Flat, ReadChoices, choices_of
from choicebo.choices.json_document import PlainChoices
from choicebo.choices.long_table import ABSENT, RATER, WEIGHT, Answers, Floats, Integers, Raters, Rows
from choicebo.choices.option_columns import InputColumns
from choicebo.choices.options import in_unit_cube
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Chunk, CsvTable, Lines, Progress, lines_of_file, lines_of_text
from choicebo.errors import DataError
from choicebo.formatting import as_given

_FIXED_COLUMNS = ("choice", "option", "kept")
_KEPT = {"1": 1.0, "0": 0.0}


def write_csv(plain: PlainChoices) -> str:
    """Return the CSV table: a row for each option shown, then one for each option that never was.

    The column `weight` is there only if some choice has a weight other than 1, and `rater` only if it is known of some choice who
    made it; they have the same value in all rows of a choice.

    >>> print(write_csv(PlainChoices([[0.0], [0.5], [1.0]], [([2, 0], [0], 1.0, None)])), end="")
    choice,option,kept,x0
    0,2,0,1.0
    0,0,1,0.0
    ,1,,0.5
    """
    dim = len(plain.options[0])
    never_shown = dict.fromkeys(range(len(plain.options)))
    weighted = any(weight != 1.0 for _, _, weight, _ in plain.choices)
    named = any(rater is not None for *_, rater in plain.choices)
    heading = [WEIGHT] * weighted + [RATER] * named
    rows: list[list[object]] = [[*_FIXED_COLUMNS, *heading, *(f"x{column}" for column in range(dim))]]
    for number, (shown, kept, weight, rater) in enumerate(plain.choices):
        own: list[object] = [weight] * weighted + ["" if rater is None else rater] * named
        for option in shown:
            never_shown.pop(option, None)
            rows.append([number, option, int(option in kept), *own, *plain.options[option]])
    rows.extend(["", option, "", *[""] * len(heading), *plain.options[option]] for option in never_shown)
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows(rows)
    return table.getvalue()


def read_csv(text: str) -> ReadChoices:
    """Read the CSV table, or raise `DataError` naming the lines that depart from the format.

    Choices and options are numbered from 0 in the order of their numbers in the table, so that a table from
    which rows were removed can still be read.

    >>> read_csv("choice,option,kept,x0\\n0,2,0,1.0\\n0,0,1,0.0\\n").choices
    [Choice(shown=(1, 0), kept=(0,))]
    """
    if not isinstance(text, str):
        raise DataError(f"{as_given(text)} is not text; give the text that to_csv() wrote, or use load to read a file.")
    return _read(lines_of_text(text))


def read_file(path: str | Path, progress: Progress | None = None) -> ReadChoices:
    """Read the CSV table of a file, some thousand lines at a time."""
    return _read(lines_of_file(Path(path)), progress)


def _read(lines: Lines, progress: Progress | None = None) -> ReadChoices:
    table, problems = CsvTable(lines), Problems("line")
    inputs = _inputs(table.header)
    choices: dict[int, int] = {}
    rows, options, raters = Rows(problems), InputColumns(inputs, "option"), Raters()
    for chunk in table.chunks(table.header, problems, progress):
        X = np.stack([cells.finite(chunk.cells[name], chunk.numbers, name, problems) for name in inputs], axis=1)
        labels = _whole(chunk, "option", problems)
        codes = options.register(labels, X + 0.0, chunk.numbers, problems)
        marks = {"kept": _kept(chunk, problems), **raters.marks_of_answers(chunk, problems)}
        rows.add(chunk.numbers, _codes(_whole(chunk, "choice", problems, may_be_empty=True), choices), codes, marks)
    names, numbered = list(choices), options.labels()
    found = rows.grouped(_rank(names), names.__getitem__, numbered.__getitem__)
    options.check_cube(problems)
    problems.check()
    order = _rank(numbered)
    X = np.empty_like(options.points())
    X[order] = options.points()
    made_by = None if found.raters is None else raters.of(found.raters)
    return ReadChoices(in_unit_cube(X, "X"), _choices(found, order), found.numbers.tolist(), "line", raters=made_by)


def _choices(found: Answers, order: Integers) -> list[Any]:
    return choices_of(Flat(found.lengths, order[found.options], found.marks["kept"] == 1.0, found.weights))


def _inputs(header: Sequence[str]) -> list[str]:
    """Return the columns that hold inputs, or raise `DataError` for a header that is not that of choices."""
    fixed = [*_FIXED_COLUMNS, *(name for name in (WEIGHT, RATER) if name in header)]
    inputs = [f"x{column}" for column in range(max(1, len(header) - len(fixed)))]
    expected = [*fixed, *inputs]
    accepted = "the header must be choice,option,kept,x0,x1,... (to read a file, use load)"
    there, known = Counter(header), set(expected)
    for name in expected:
        if there[name] > 1:
            raise DataError(f"line 1: the column {name!r} appears twice; {accepted}.")
    missing = [name for name in expected if name not in there]
    strange = [name for name in header if name not in known]
    if missing:
        instead = f" and {', '.join(map(as_given, strange[:5]))} is not expected" if strange else ""
        raise DataError(f"line 1: the column {missing[0]!r} is missing{instead}; {accepted}.")
    return inputs


def _whole(chunk: Chunk, name: str, problems: Problems, *, may_be_empty: bool = False) -> list[int | None]:
    """Whole numbers, None where a cell is empty or wrong."""
    try:
        plain = list(map(int, chunk.cells[name]))
        if min(plain, default=0) >= 0:
            return list(plain)
    except ValueError:
        pass
    found: list[int | None] = []
    for number, cell in zip(chunk.numbers.tolist(), chunk.cells[name], strict=True):
        try:
            value = int(cell)
        except ValueError:
            value = -1
        if value < 0 and not (may_be_empty and not cell):
            problems.add(number, f"{name} is {as_given(cell)}, but must be a whole number, 0 or more.")
        found.append(value if value >= 0 else None)
    return found


def _kept(chunk: Chunk, problems: Problems) -> Floats:
    kept = [_KEPT.get(cell, math.nan) for cell in chunk.cells["kept"]]
    found = np.array(kept, dtype=np.float64)
    choices = np.array([bool(cell) for cell in chunk.cells["choice"]], dtype=np.bool_)
    for row in np.flatnonzero(np.isnan(found) | ~choices).tolist():
        cell, number = as_given(chunk.cells["kept"][row]), chunk.numbers[row]
        if choices[row]:
            problems.add(number, f"kept is {cell}, but must be 1 (kept) or 0 (rejected).")
        elif chunk.cells["kept"][row]:
            problems.add(
                number,
                f"kept is {cell} although choice is empty; leave both empty for an option "
                "that was never shown, or give the number of the choice.",
            )
    return found


def _codes(labels: Sequence[int | None], known: dict[int, int]) -> Integers:
    codes = [ABSENT if label is None else known.setdefault(label, len(known)) for label in labels]
    return np.array(codes, dtype=np.int64)


def _rank(names: Sequence[int]) -> Integers:
    """The place of each number in increasing order."""
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return rank
