"""Tables from wherever they are, some thousand rows at a time: CSV files and texts, data frames, lists of dicts.

Data frames are recognised by what they can do, so that neither pandas nor polars has to be installed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import files
from choicebo.choices.problems import Problems
from choicebo.errors import DataError
from choicebo.formatting import as_given

Progress: TypeAlias = Callable[[str, float], object]
"""Called as ``progress(stage, fraction)`` while something large is read."""

Columns: TypeAlias = Mapping[str, Sequence[Any] | NDArray[Any]]

CHUNK = 2_000
"""Rows that are read together: enough for arrays to pay off, and few enough for their texts to stay in the processor's cache."""
_MOST_COLUMNS = 20_000
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ACCEPTED = "a data frame, a list of dicts, a dict of columns, or the path or text of a CSV table"


class Chunk(NamedTuple):
    """Some rows of a table."""

    numbers: NDArray[np.int64]
    """The line of each row in its file, or its number counted from 1."""
    cells: Columns
    """The cells by column: texts of a CSV table, values of a data frame."""


class Table(Protocol):
    """Rows with the same columns, read once from the first to the last."""

    word: str
    """What a row is called in front of its number."""
    header: tuple[str, ...]

    def chunks(self, columns: Sequence[str], problems: Problems, progress: Progress | None = None) -> Iterator[Chunk]:
        """The rows, with these columns of theirs."""


def open_table(source: Any, separators: str = ",;\t") -> Table:
    """The table that a path, a text, a data frame or a list of dicts holds, with a name for each column.

    >>> table = open_table("choice,kept\\n0,1\\n0,0\\n")
    >>> table.header
    ('choice', 'kept')
    >>> [chunk.cells for chunk in table.chunks(["kept"], Problems("line"))]
    [{'kept': ['1', '0']}]
    """
    if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source and "\r" not in source):
        table: Table = CsvTable(lines_of_file(Path(source)), separators)
    elif isinstance(source, str):
        table = CsvTable(lines_of_text(source.removeprefix("\ufeff")), separators)
    else:
        table = ColumnTable(_columns(source))
    if len(table.header) > _MOST_COLUMNS:
        raise DataError(f"The table has {len(table.header):,} columns; at most {_MOST_COLUMNS:,} are read.")
    for name, times in Counter(table.header).items():
        if times > 1 and name:
            raise DataError(f"The column {as_given(name)} appears twice; give each column its own name.")
    return table


class Lines(NamedTuple):
    """The lines of a CSV table."""

    lines: Iterator[str]
    done: Callable[[], float]
    """Which part has been read, if that is known."""


class CsvTable:
    """A CSV table; its first line names the columns."""

    word = "line"

    def __init__(self, source: Lines, separators: str = ",") -> None:
        self._done = source.done
        first = next(source.lines, "")
        separator = max(separators, key=first.count)
        self._reader = csv.reader(chain([first], source.lines), delimiter=separator, strict=True)
        try:
            self.header = tuple(cell.strip() for cell in next(self._reader, []))
        except csv.Error as error:
            raise DataError(_not_csv(1, error)) from error

    def chunks(self, columns: Sequence[str], problems: Problems, progress: Progress | None = None) -> Iterator[Chunk]:
        """The rows, with these columns of theirs; rows of other lengths than the header are problems."""
        width, places = len(self.header), [self.header.index(name) for name in columns]
        numbers: list[int] = []
        rows: list[list[str]] = []
        for number, row in self._rows():
            if len(row) != width:
                problems.add(number, f"{len(row)} cells, but the header has {width}; complete the row.")
                continue
            numbers.append(number)
            rows.append(row)
            if len(rows) == CHUNK:
                yield _chunk(numbers, rows, columns, places)
                numbers, rows = [], []
                if progress is not None:
                    progress("reading", self._done())
        if rows:
            yield _chunk(numbers, rows, columns, places)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        reader = self._reader
        try:
            for row in reader:
                if any(map(str.strip, row)):
                    yield reader.line_num, row
        except csv.Error as error:
            raise DataError(_not_csv(reader.line_num, error)) from error


class ColumnTable:
    """A table whose columns are in memory."""

    word = "row"

    def __init__(self, columns: Columns) -> None:
        self.header = tuple(columns)
        self._columns = columns
        self._length = len(next(iter(columns.values()), ()))

    def chunks(self, columns: Sequence[str], problems: Problems, progress: Progress | None = None) -> Iterator[Chunk]:
        """The rows, with these columns of theirs."""
        for start in range(0, self._length, CHUNK):
            end = min(start + CHUNK, self._length)
            yield Chunk(np.arange(start + 1, end + 1), {name: self._columns[name][start:end] for name in columns})
            if progress is not None:
                progress("reading", end / self._length)


def _chunk(numbers: list[int], rows: list[list[str]], columns: Sequence[str], places: Sequence[int]) -> Chunk:
    cells = list(zip(*rows, strict=True))
    found = {name: list(map(str.strip, cells[place])) for name, place in zip(columns, places, strict=True)}
    return Chunk(np.array(numbers, dtype=np.int64), found)


def _not_csv(line: int, error: csv.Error) -> str:
    return f"line {line}: not readable as CSV ({error}); separate cells with commas and close all quotes."


def lines_of_text(text: str) -> Lines:
    """The lines of a text, however they end."""
    return Lines((match[0] for match in _LINE.finditer(text)), lambda: 0.0)


def lines_of_file(path: Path) -> Lines:
    """The lines of a file in UTF-8, read as they are needed."""
    read = 0.0

    def lines() -> Iterator[str]:
        nonlocal read
        try:
            size = max(1, path.stat().st_size)
            with path.open("rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
                for number, line in enumerate(file):
                    if number % 1000 == 0:
                        read = raw.tell() / size
                    yield line
        except (OSError, ValueError):
            files.read_text(path)  # says what is wrong with the path, or which byte is no text
            raise

    return Lines(lines(), lambda: read)


def _columns(source: Any) -> Columns:
    """The columns of a table in memory by name."""
    if isinstance(source, Mapping):
        return _same_length({str(name): _column(cells, str(name)) for name, cells in source.items()})
    if callable(getattr(source, "collect", None)) and hasattr(source, "collect_schema"):
        source = source.collect()  # a lazy frame of polars
    names = getattr(source, "column_names", None)  # pyarrow
    names = getattr(source, "columns", None) if names is None else names  # pandas, polars and their kin
    if names is not None and not callable(names) and not isinstance(names, str):
        names = list(names)
        if len(names) == len(set(map(str, names))):
            return _same_length({str(name): _column(source[name], str(name)) for name in names})
        again = next(name for name, times in Counter(map(str, names)).items() if times > 1)
        raise DataError(f"The column {as_given(again)} appears twice; give each column its own name.")
    if isinstance(source, Sequence) and not isinstance(source, (str, bytes)):
        return _columns_of_dicts(source)
    raise DataError(f"The table is {as_given(source)}; give {_ACCEPTED}.")


def _column(cells: Any, name: str) -> NDArray[Any]:
    """The cells of a column as an array of numbers, or of objects where they are anything else."""
    try:
        array = np.asarray(cells)
        if array.dtype.kind not in "biuf":
            array = np.empty(len(array), dtype=object)
            array[:] = list(cells.to_pylist() if hasattr(cells, "to_pylist") else cells)
    except Exception as error:  # whatever goes wrong in an object of somebody else
        raise DataError(f"The column {as_given(name)} cannot be read: {error}; give {_ACCEPTED}.") from error
    if array.ndim != 1:
        raise DataError(f"The column {as_given(name)} has {array.ndim} dimensions; give one value for each row.")
    return array


def _same_length(columns: dict[str, Any]) -> dict[str, Any]:
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"The columns have different lengths, {as_given(lengths)}; give a value for each row.")
    return columns


def _columns_of_dicts(rows: Sequence[Any]) -> Columns:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise DataError(f"row {number} is {as_given(row)}; give {_ACCEPTED}.")
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}
