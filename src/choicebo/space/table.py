"""Rows of a catalogue from wherever they are: a list of dicts, a CSV or Excel file, a data frame."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space import excel
from choicebo.space.values import FLOAT, INT, MOST_DIGITS, Value, plain

Cell = Value | None
Row = dict[str, Cell]

_MISSING = ("", "NA", "N/A", "NaN", "nan")
_TRUTH = {"true": True, "false": False}
# NUL and halves of characters, which not every database and file takes.
UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_MOST_NAMES = 20_000
"""Columns of a table; far fewer are learned from."""


@dataclass(frozen=True)
class Table:
    """Rows with the same columns each; an empty cell is None."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[int, ...] | None = None
    """The line of each row in its file, if it came from one."""

    def place(self, index: int) -> str:
        """How a person finds row ``index``, counted from 1 and by its line in the file.

        >>> Table(("a",), ({"a": 1},), lines=(2,)).place(0)
        'Row 1 (line 2)'
        """
        return f"Row {index + 1}" + (f" (line {self.lines[index]})" if self.lines else "")


def read_table(source: object) -> Table:
    """The table of a CSV or Excel path, a data frame or a list of dicts.

    >>> read_table([{"sku": "a", "price": 1}, {"sku": "b"}]).rows[1]
    {'sku': 'b', 'price': None}
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        return read_file(Path(source))
    records = _frame_records(source)
    if records is not None:
        return _from_dicts(records)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, Mapping)):
        return _from_dicts(source)
    raise SpaceError(f"The rows are {as_given(source)}: give a list of dicts, the path of a table or a data frame.")


def _frame_records(source: Any) -> Iterable[Any] | None:
    """The rows of a data frame as dicts; None for anything else.

    Frames are known by what they can do: only a caller who has loaded pandas, polars or pyarrow can hand over one of theirs, so
    there is no need to load it here.
    """
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # a lazy frame of polars
        source = source.collect()
    if hasattr(source, "iter_rows") and hasattr(source, "columns"):  # polars
        rows: Iterable[Any] = source.iter_rows(named=True)
        return rows
    if hasattr(source, "to_pylist") and hasattr(source, "column_names"):  # pyarrow
        rows = source.to_pylist()
        return rows
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        rows = source.to_dict("records")
        return rows
    return None


def read_file(path: Path) -> Table:
    """The table of a file: an Excel file if it begins like one, CSV if not."""
    try:
        with path.open("rb") as file:
            beginning = file.read(8)
    except (OSError, ValueError):
        beginning = b""  # what is wrong with it is said where it is read
    if beginning.startswith(excel.BEGINNING):
        name = f"The catalogue {str(path)!r}"
        return _from_records(path, excel.read_records(path, name), _retyped)
    if beginning.startswith(excel.OLD_BEGINNING):
        raise SpaceError(
            f"The catalogue {str(path)!r} is an old Excel file (.xls): save it as .xlsx or as 'CSV UTF-8'."
        )
    return read_csv(path)


def read_csv(path: Path) -> Table:
    """The table of a CSV file in UTF-8, separated by commas, semicolons or tabs; line 1 names the columns.

    A column is whole numbers, numbers, true/false or text: the first of these that fits all its cells.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            separator = _separator(file.readline())
            file.seek(0)
            reader = csv.reader(file, delimiter=separator, strict=True)
            records = [(reader.line_num, record) for record in reader if any(cell.strip() for cell in record)]
    except OSError as error:
        raise SpaceError(f"The catalogue {str(path)!r} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise SpaceError(f"The catalogue {str(path)!r} is not UTF-8 text: save it as 'CSV UTF-8'.") from None
    except ValueError:
        raise SpaceError(
            f"The catalogue {as_given(str(path))} is not the path of a file: give the path of a CSV or Excel file."
        ) from None
    except csv.Error as error:
        raise SpaceError(f"The catalogue {str(path)!r} is not a CSV file: {error}.") from None
    return _from_records(path, records, lambda cells: _typed([cell.strip() for cell in cells]))


def _from_records(
    path: Path, records: Sequence[tuple[int, Sequence[Any]]], typed_column: Callable[[Sequence[Any]], Sequence[object]]
) -> Table:
    """The table of the lines of a file, the first of which names the columns."""
    if not records:
        raise SpaceError(f"The catalogue {str(path)!r} is empty: its first line must name the columns.")
    header = [str(cell).strip() for cell in records[0][1]]
    if len(header) > _MOST_NAMES:
        raise SpaceError(
            f"The catalogue {str(path)!r} has {len(header):,} columns: leave some out, at most {_MOST_NAMES:,} "
            "are read."
        )
    for name, times in Counter(header).items():
        if UNSTORABLE.search(name):
            raise SpaceError(f"The first line of {str(path)!r} has the column name {as_given(name)}: give a text.")
        if not name or times > 1:
            problem = f"names the column {as_given(name)} twice" if name else "has a column without a name"
            raise SpaceError(f"The first line of {str(path)!r} {problem}: give each column its own name.")
    for line, record in records[1:]:
        if len(record) != len(header):
            raise SpaceError(
                f"Line {line} of {str(path)!r} has {len(record)} cells, the first line has {len(header)}: "
                "put a cell that holds the separator in double quotes."
            )
    columns = zip(*(record for _, record in records[1:]), strict=True)
    typed = [typed_column(column) for column in columns]
    table = Table(tuple(header), (), tuple(line for line, _ in records[1:]))
    rows = (dict(zip(header, row, strict=True)) for row in zip(*typed, strict=True))
    checked = ({name: _cell(cell, table.place(at), name) for name, cell in row.items()} for at, row in enumerate(rows))
    return replace(table, rows=tuple(checked))


def _separator(first_line: str) -> str:
    return max((",", ";", "\t"), key=first_line.count)


def _typed(cells: list[str]) -> list[Cell]:
    present = [cell for cell in cells if cell not in _MISSING]
    readers: list[tuple[Callable[[str], object], Callable[[str], Value]]] = [
        (lambda cell: INT.fullmatch(cell) and len(cell) <= MOST_DIGITS, int),
        (FLOAT.fullmatch, float),
        (lambda cell: cell.lower() in _TRUTH, lambda cell: _TRUTH[cell.lower()]),
        (lambda cell: True, str),
    ]
    read = next(convert for fits, convert in readers if all(fits(cell) for cell in present))
    return [None if cell in _MISSING else read(cell) for cell in cells]


def _retyped(cells: Sequence[Any]) -> Sequence[object]:
    """A column of a spreadsheet; numbers that were entered as text are numbers."""
    texts = [cell or "" for cell in cells if cell is None or isinstance(cell, str)]
    return _typed(texts) if len(texts) == len(cells) else cells


def _from_dicts(source: Iterable[Any]) -> Table:
    rows = []
    for index, given in enumerate(source):
        if not isinstance(given, Mapping):
            raise SpaceError(f"Row {index + 1} is {as_given(given)}: give a dict with a value for each column.")
        for name in given:
            if not isinstance(name, str) or not name.strip() or UNSTORABLE.search(name):
                raise SpaceError(f"Row {index + 1} has the column name {as_given(name)}: give a text.")
        rows.append({name: _cell(value, f"Row {index + 1}", name) for name, value in given.items()})
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(columns, tuple({name: row.get(name) for name in columns} for row in rows))


def _cell(value: object, place: str, name: str) -> Cell:
    value = plain(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        raise SpaceError(f"{place} has {name!r} = {value!r}: give a finite number, in another unit if need be.")
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            raise SpaceError(f"{place} has {name!r} = {as_given(value)}: leave out characters that cannot be stored.")
        return value.strip() or None
    if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        raise SpaceError(
            f"{place} has {name!r} = {as_given(value)}, which is too large: give at most {MOST_DIGITS} digits."
        )
    if isinstance(value, (bool, int, float)):
        return value
    raise SpaceError(
        f"{place} has {name!r} = {as_given(value)}, a {type(value).__name__}: give a text, number or bool."
    )
