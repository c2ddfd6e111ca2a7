"""Tables with a row for each answer, and columns for the options in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import cells
from choicebo.choices.long_table import RATER, WEIGHT, Answers, Raters, Rows
from choicebo.choices.option_columns import OptionReader
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Chunk, Progress, Table
from choicebo.errors import DataError
from choicebo.formatting import as_given

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class WideReader:
    """Reads the answers of a table with a row for each."""

    def __init__(
        self, table: Table, options: OptionReader, raters: Raters, problems: Problems, progress: Progress | None
    ) -> None:
        self._table, self._options, self._raters, self._problems, self._progress = (
            table,
            options,
            raters,
            problems,
            progress,
        )
        self._rows = Rows(problems)
        self._count = 0

    def read(
        self, roles: Sequence[str], named: Sequence[str], marks: Callable[[Chunk, Integers], dict[str, Floats]]
    ) -> Answers:
        """The answers.

        Args:
            roles: The columns, or prefixes of groups of columns, with the options of an answer.
            named: Other columns.
            marks: From some rows and the codes of their options, (n, roles), what was said of each option, (n, roles) by name.
        """
        optional = [name for name in (WEIGHT, RATER) if name in self._table.header]
        columns = [*(name for role in roles for name in self._options.columns(role)), *named, *optional]
        missing = [name for name in columns if name not in self._table.header]
        if missing:
            raise DataError(
                f"The column {as_given(missing[0])} is missing; the table has {as_given(list(self._table.header))}."
            )
        for chunk in self._table.chunks(list(dict.fromkeys(columns)), self._problems, self._progress):
            codes = np.stack([self._options.codes(chunk, self._problems, role) for role in roles], axis=1)
            self._add(chunk, codes, marks(chunk, codes))
        return self._rows.grouped(None, lambda code: "in this row", self._options.name)

    def _add(self, chunk: Chunk, codes: Integers, marks: dict[str, Floats]) -> None:
        rows, width = codes.shape
        answers = np.repeat(np.arange(self._count, self._count + rows), width)
        self._count += rows
        for role, values in self._raters.marks_of_answers(chunk, self._problems).items():
            marks[role] = np.repeat(values[:, None], width, axis=1)
        flat = {role: values.ravel() for role, values in marks.items()}
        self._rows.add(np.repeat(chunk.numbers, width), answers, codes.ravel(), flat)


def marked(chunk: Chunk, column: str, roles: Sequence[str], by_key: bool, problems: Problems) -> Floats:
    """Which of the options in each row a cell names, (n, roles): by key, or by position counted from 1.

    Several are separated by semicolons or bars, or by spaces if there are none of these.
    """
    found = np.zeros((len(chunk.numbers), len(roles)))
    keys = [cells.labels(chunk.cells[role], chunk.numbers, role, problems) for role in roles] if by_key else []
    positions: dict[str | None, int] = {role: at for at, role in enumerate(roles)}
    positions |= {str(at + 1): at for at in range(len(roles))}
    for row, cell in enumerate(cells.labels(chunk.cells[column], chunk.numbers, column, problems)):
        if cell is None:
            continue
        places = {labels[row]: at for at, labels in enumerate(keys)} if by_key else positions
        for part in [cell] if cell in places else _parts(cell):
            if part not in places:
                accepted = "the keys of options in the same row" if by_key else f"positions from 1 to {len(roles)}"
                problems.add(chunk.numbers[row], f"{column} names {as_given(part)}; give {accepted}.")
            else:
                found[row, places[part]] = 1.0
    return found


def _parts(cell: str) -> list[str]:
    parts = re.split(r"[;|]", cell) if re.search(r"[;|]", cell) else cell.split()
    return [part.strip() for part in parts if part.strip()]
