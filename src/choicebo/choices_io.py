"""Choices as text: the JSON document and the CSV table, to and from plain lists.

The functions here know the two formats and nothing else: whether the numbers make sense as choices is for
`choicebo.choices.ChoiceData` to say.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from choicebo.errors import DataError

FORMAT = "choicebo-choices"
VERSION = 1
ENDINGS = (".json", ".csv")

_FIXED_COLUMNS = ("choice", "option", "kept")


class PlainChoices(NamedTuple):
    """Options and choices as the lists that both formats hold."""

    options: list[list[float]]
    """One list of inputs per option: m lists of d numbers."""
    choices: list[tuple[list[int], list[int]]]
    """One (shown, kept) pair of option indices per choice."""


def write_json(plain: PlainChoices) -> str:
    """Return the JSON document; `repr` of a float is its shortest exact form, so nothing is lost.

    >>> write_json(PlainChoices([[0.0], [0.5]], []))
    '{"format": "choicebo-choices", "version": 1, "options": [[0.0], [0.5]], "choices": []}'
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "options": plain.options,
        "choices": [{"shown": shown, "kept": kept} for shown, kept in plain.choices],
    }
    return json.dumps(document, allow_nan=False)


def read_json(text: str) -> PlainChoices:
    """Read the JSON document, or raise `DataError` saying where it departs from the format.

    >>> plain = PlainChoices([[0.0], [0.5]], [([0, 1], [1])])
    >>> read_json(write_json(plain)) == plain
    True
    """
    document = _json_document(text)
    if document.get("format") != FORMAT:
        raise DataError(
            f'the JSON has "format": {document.get("format")!r}, but choices have "format": "{FORMAT}"; '
            "check that this is the file you meant"
        )
    if document.get("version") != VERSION:
        raise DataError(
            f'the JSON has "version": {document.get("version")!r}, but only version {VERSION} can be read; '
            "a newer file needs a newer choicebo"
        )
    options = [_json_option(row, number) for number, row in enumerate(_json_list(document, "options", "the JSON"))]
    choices = []
    for number, choice in enumerate(_json_list(document, "choices", "the JSON")):
        where = f"choices[{number}]"
        if not isinstance(choice, dict):
            raise DataError(f'{where} is {choice!r}, but must be an object {{"shown": [...], "kept": [...]}}')
        choices.append((_json_list(choice, "shown", where), _json_list(choice, "kept", where)))
    return PlainChoices(options, choices)


def write_csv(plain: PlainChoices) -> str:
    """Return the CSV table: a row for each option shown, then one for each option that never was.

    >>> print(write_csv(PlainChoices([[0.0], [0.5], [1.0]], [([2, 0], [0])])), end="")
    choice,option,kept,x0
    0,2,0,1.0
    0,0,1,0.0
    ,1,,0.5
    """
    dim = len(plain.options[0])
    never_shown = dict.fromkeys(range(len(plain.options)))
    rows: list[list[object]] = [[*_FIXED_COLUMNS, *(f"x{column}" for column in range(dim))]]
    for number, (shown, kept) in enumerate(plain.choices):
        for option in shown:
            never_shown.pop(option, None)
            rows.append([number, option, int(option in kept), *plain.options[option]])
    rows.extend(["", option, "", *plain.options[option]] for option in never_shown)
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows(rows)
    return table.getvalue()


def read_csv(text: str) -> PlainChoices:
    """Read the CSV table, or raise `DataError` naming the line that departs from the format.

    Choices and options are numbered from 0 in the order of their numbers in the table, so that a table from
    which rows were removed can still be read.

    >>> read_csv("choice,option,kept,x0\\n0,2,0,1.0\\n0,0,1,0.0\\n").choices
    [([1, 0], [0])]
    """
    if not isinstance(text, str):
        raise DataError(f"{text!r} is not text; give the text that to_csv() wrote, or use load to read a file")
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


def ending(path: str | Path) -> str:
    """Return the ending of a path that names its format, or raise `DataError` for one that names none.

    >>> ending("answers.CSV")
    '.csv'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ENDINGS:
        raise DataError(f"the ending {suffix!r} of {str(path)!r} names no format for choices; use .json or .csv")
    return suffix


def write_text(path: str | Path, text: str) -> None:
    r"""Write a text file in UTF-8, or raise `DataError` with the reason that the system gives.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(f"{folder}/answers.csv", "choice,option\n")
    ...     read_text(f"{folder}/answers.csv")
    'choice,option\n'
    """
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be written: {error.strerror}; give a path in an existing, writable folder"
        ) from error


def read_text(path: str | Path) -> str:
    r"""Read a text file in UTF-8 (the mark that some editors put in front is ignored), or raise `DataError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "answers.csv").write_bytes(b"\xef\xbb\xbfchoice,option")
    ...     read_text(f"{folder}/answers.csv")
    'choice,option'
    """
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(
            f"{str(path)!r} cannot be read: {error.strerror}; check the path and its permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{str(path)!r} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}; "
            "save it again with the encoding UTF-8"
        ) from error


def _json_document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}; "
            "give the text that to_json() wrote, or use load to read a file"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"not readable as JSON ({error}); give the text that to_json() wrote, or use load") from error
    if not isinstance(document, dict):
        raise DataError(
            f'the JSON holds a {type(document).__name__}, but must hold an object with "format", "version", '
            '"options" and "choices"'
        )
    return document


def _json_list(mapping: dict[str, Any], key: str, where: str) -> list[Any]:
    if key not in mapping:
        raise DataError(f'{where} has no key "{key}"; add "{key}": [...]')
    value = mapping[key]
    if not isinstance(value, list):
        raise DataError(f'"{key}" of {where} is {value!r}, but must be a list')
    return value


def _json_option(row: Any, number: int) -> list[float]:
    if not isinstance(row, list):
        raise DataError(f"options[{number}] is {row!r}, but must be a list of numbers")
    for position, value in enumerate(row):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(f"options[{number}][{position}] is {value!r}, but must be a number")
    try:
        return [float(value) for value in row]
    except OverflowError as error:
        raise DataError(f"options[{number}] holds a number too large; inputs lie between 0 and 1") from error


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Return the position of each column, or raise `DataError` for a header that is not that of choices."""
    dim = max(1, len(header) - len(_FIXED_COLUMNS))
    expected = [*_FIXED_COLUMNS, *(f"x{column}" for column in range(dim))]
    accepted = "the header must be choice,option,kept,x0,x1,... (to read a file, use load)"
    for name in expected:
        if header.count(name) > 1:
            raise DataError(f"line 1: the column {name!r} is there twice; {accepted}")
    missing = [name for name in expected if name not in header]
    strange = [name for name in header if name not in expected]
    if missing:
        instead = f" and {', '.join(map(repr, strange))} is not expected" if strange else ""
        raise DataError(f"line 1: the column {missing[0]!r} is missing{instead}; {accepted}")
    return {name: header.index(name) for name in expected}


class _Table:
    """The rows read so far: options by their number, choices by theirs, and the lines they stand in."""

    def __init__(self) -> None:
        self.options: dict[int, tuple[int, list[float]]] = {}
        self.choices: dict[int, dict[int, tuple[int, bool]]] = {}

    def add(self, line: int, cells: list[str], header: list[str], column: dict[str, int]) -> None:
        """Take in one row, or raise `DataError` naming its line."""
        if len(cells) != len(header):
            raise DataError(f"line {line}: {len(cells)} cells, but the header has {len(header)}; complete the row")
        option = _whole(cells[column["option"]], line, "option")
        inputs = [
            _number(cells[position], line, name) for name, position in column.items() if name not in _FIXED_COLUMNS
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
                    f"line {line}: kept is {kept!r} although choice is empty; leave both empty for an option "
                    "that was never shown, or give the number of the choice"
                )
            return
        if kept not in ("0", "1"):
            raise DataError(f"line {line}: kept is {kept!r}, but must be 1 (kept) or 0 (rejected)")
        shown = self.choices.setdefault(_whole(choice, line, "choice"), {})
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
            choices.append(([index[option] for option in shown], kept))
        return PlainChoices([self.options[option][1] for option in index], choices)


def _whole(cell: str, line: int, name: str) -> int:
    try:
        value = int(cell)
    except ValueError:
        value = -1
    if value < 0:
        raise DataError(f"line {line}: {name} is {cell!r}, but must be a whole number, 0 or more")
    return value


def _number(cell: str, line: int, name: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"line {line}: {name} is {cell!r}, but must be a finite number with a decimal point")
    return value
