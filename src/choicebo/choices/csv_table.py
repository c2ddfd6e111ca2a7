"""Choices as a CSV table, with a row for each option shown."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence

from choicebo.choices.json_document import PlainChoices
from choicebo.errors import DataError
from choicebo.formatting import as_given

_FIXED_COLUMNS = ("choice", "option", "kept")
_WEIGHT = "weight"
"""A column that is there only if some choice has a weight other than 1; it has the same value in all rows of a choice."""


def write_csv(plain: PlainChoices) -> str:
    """Return the CSV table: a row for each option shown, then one for each option that never was.

    >>> print(write_csv(PlainChoices([[0.0], [0.5], [1.0]], [([2, 0], [0], 1.0)])), end="")
    choice,option,kept,x0
    0,2,0,1.0
    0,0,1,0.0
    ,1,,0.5
    """
    dim = len(plain.options[0])
    never_shown = dict.fromkeys(range(len(plain.options)))
    weighted = any(weight != 1.0 for _, _, weight in plain.choices)
    heading = [_WEIGHT] if weighted else []
    rows: list[list[object]] = [[*_FIXED_COLUMNS, *heading, *(f"x{column}" for column in range(dim))]]
    for number, (shown, kept, weight) in enumerate(plain.choices):
        for option in shown:
            never_shown.pop(option, None)
            own = [weight] if weighted else []
            rows.append([number, option, int(option in kept), *own, *plain.options[option]])
    none = [""] if weighted else []
    rows.extend(["", option, "", *none, *plain.options[option]] for option in never_shown)
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows(rows)
    return table.getvalue()


def read_csv(text: str) -> PlainChoices:
    """Read the CSV table, or raise `DataError` naming the line that departs from the format.

    Choices and options are numbered from 0 in the order of their numbers in the table, so that a table from
    which rows were removed can still be read.

    >>> read_csv("choice,option,kept,x0\\n0,2,0,1.0\\n0,0,1,0.0\\n").choices
    [([1, 0], [0], 1.0)]
    """
    if not isinstance(text, str):
        raise DataError(f"{as_given(text)} is not text; give the text that to_csv() wrote, or use load to read a file")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    table = _Table()
    try:
        header = [cell.strip() for cell in next(reader, [])]
        column = _columns(header)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                table.add(reader.line_num, [cell.strip() for cell in cells], header, column)
    except csv.Error as error:
        raise DataError(
            f"line {reader.line_num}: not readable as CSV ({error}); separate cells by commas, close quotes"
        ) from error
    return table.plain()


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Return the position of each column, or raise `DataError` for a header that is not that of choices."""
    fixed = [*_FIXED_COLUMNS, _WEIGHT] if _WEIGHT in header else [*_FIXED_COLUMNS]
    dim = max(1, len(header) - len(fixed))
    expected = [*fixed, *(f"x{column}" for column in range(dim))]
    accepted = "the header must be choice,option,kept,x0,x1,... (to read a file, use load)"
    there, known = Counter(header), set(expected)
    for name in expected:
        if there[name] > 1:
            raise DataError(f"line 1: the column {name!r} is there twice; {accepted}")
    missing = [name for name in expected if name not in there]
    strange = [name for name in header if name not in known]
    if missing:
        instead = f" and {', '.join(map(as_given, strange[:5]))} is not expected" if strange else ""
        raise DataError(f"line 1: the column {missing[0]!r} is missing{instead}; {accepted}")
    place = {name: position for position, name in enumerate(header)}
    return {name: place[name] for name in expected}


class _Table:
    """The rows read so far: options by their number, choices by theirs, and the lines they stand in."""

    def __init__(self) -> None:
        self.options: dict[int, tuple[int, list[float]]] = {}
        self.choices: dict[int, dict[int, tuple[int, bool]]] = {}
        self.weights: dict[int, float] = {}

    def add(self, line: int, cells: list[str], header: list[str], column: dict[str, int]) -> None:
        """Take in one row, or raise `DataError` naming its line."""
        if len(cells) != len(header):
            raise DataError(f"line {line}: {len(cells)} cells, but the header has {len(header)}; complete the row")
        option = _whole(cells[column["option"]], line, "option")
        inputs = [
            _number(cells[position], line, name)
            for name, position in column.items()
            if name not in _FIXED_COLUMNS and name != _WEIGHT
        ]
        first, known = self.options.setdefault(option, (line, inputs))
        if known != inputs:
            raise DataError(
                f"line {line}: option {option} has inputs {inputs}, but {known} in line {first}; "
                "give one option the same inputs everywhere, or another number"
            )
        choice, kept = cells[column["choice"]], cells[column["kept"]]
        if not choice:
            if kept:
                raise DataError(
                    f"line {line}: kept is {as_given(kept)} although choice is empty; leave both empty for an option "
                    "that was never shown, or give the number of the choice"
                )
            return
        if kept not in ("0", "1"):
            raise DataError(f"line {line}: kept is {as_given(kept)}, but must be 1 (kept) or 0 (rejected)")
        number = _whole(choice, line, "choice")
        if _WEIGHT in column and cells[column[_WEIGHT]]:
            weight = _number(cells[column[_WEIGHT]], line, _WEIGHT)
            if self.weights.setdefault(number, weight) != weight:
                raise DataError(
                    f"line {line}: choice {number} has the weight {weight:g}, but {self.weights[number]:g} in an earlier "
                    "line; give all rows of a choice the same weight"
                )
        shown = self.choices.setdefault(number, {})
        if option in shown:
            raise DataError(
                f"line {line}: option {option} is already in choice {choice} (line {shown[option][0]}); "
                "show an option once per choice"
            )
        shown[option] = (line, kept == "1")

    def plain(self) -> PlainChoices:
        """Return what was read, numbered from 0 without gaps."""
        index = {option: position for position, option in enumerate(sorted(self.options))}
        choices = []
        for number, shown in sorted(self.choices.items()):
            kept = [index[option] for option, (_, is_kept) in shown.items() if is_kept]
            line = next(iter(shown.values()))[0]
            if not kept:
                raise DataError(f"line {line}: choice {number} keeps no option; give at least one of its rows kept 1")
            if len(shown) < 2:
                raise DataError(f"line {line}: choice {number} shows one option; a choice shows at least two")
            choices.append(([index[option] for option in shown], kept, self.weights.get(number, 1.0)))
        return PlainChoices([self.options[option][1] for option in index], choices)


def _whole(cell: str, line: int, name: str) -> int:
    try:
        value = int(cell)
    except ValueError:
        value = -1
    if value < 0:
        raise DataError(f"line {line}: {name} is {as_given(cell)}, but must be a whole number, 0 or more")
    return value


def _number(cell: str, line: int, name: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"line {line}: {name} is {as_given(cell)}, but must be a finite number with a decimal point")
    return value
