"""Tables in and out: comparisons and choices made elsewhere, and what a study holds as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from choicebo.choices import ROUNDING, ChoiceData, files
from choicebo.choices.positions import items
from choicebo.errors import ChoiceboError, DataError, StudyError
from choicebo.formatting import as_given
from choicebo.history.rules import choice_made_elsewhere
from choicebo.space import Catalogue, Option, Space
from choicebo.study.option_counts import count_options

if TYPE_CHECKING:
    from choicebo.study.study import Study

Choices = list[tuple[Sequence[Option], tuple[int, ...]]]
TABLES = ("options", "answers", "pareto", "probabilities")
_SIDES = ("winner", "loser")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet would compute, or one that was protected from it."""
_NUMBER = re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")


def text_of(source: str | Path) -> str:
    """The text itself, or that of the file which a path names."""
    if isinstance(source, Path) or (isinstance(source, str) and "\n" not in source and not source.startswith("{")):
        return files.read_text(source)
    if not isinstance(source, str):
        raise DataError(f"{as_given(source)} is no text and no path of a file.")
    return source


def written(text: str, path: str | Path | None) -> str:
    """The text, also written to ``path`` if there is one."""
    if path is not None:
        files.write_text(path, text)
    return text


def read_pairs(space: Space | Catalogue, source: str | Path | Iterable[tuple[Any, Any]]) -> Choices:
    """Comparisons as choices among two; the error for a bad one names its line or number."""
    if isinstance(source, (str, Path)):
        numbered = _csv_pairs(space, text_of(source))
    else:
        numbered = [(f"Pair {number}", pair) for number, pair in enumerate(items(source, "pairs", "a list of pairs"))]
    found: Choices = []
    for place, pair in numbered:
        try:
            winner, loser = pair
        except (TypeError, ValueError):
            raise DataError(f"{place}: {as_given(pair)} is not a pair (winner, loser). Nothing was imported.") from None
        try:
            found.append(choice_made_elsewhere(space, [winner, loser], [0]))
        except ChoiceboError as error:
            raise DataError(f"{place}: {error} Nothing was imported.") from None
    if not found:
        raise DataError("There are no pairs to import.")
    return found


def read_choices(space: Space | Catalogue, data: ChoiceData | str | Path) -> Choices:
    """Choices among points of the unit cube as choices among options."""
    if not isinstance(data, ChoiceData):
        text = text_of(data)
        data = ChoiceData.from_json(text) if text.lstrip().startswith("{") else ChoiceData.from_csv(text)
    if data.dim != space.dim:
        raise DataError(f"The choices have {data.dim} inputs, but the options of this study have {space.dim}.")
    if not data.choices:
        raise DataError("There are no choices to import.")
    options = space.decode(data.X)
    moved = np.abs(space.encode(options) - data.X).max(axis=1)
    found: Choices = []
    for number, choice in enumerate(data.choices):
        astray = [row for row in choice.shown if moved[row] > max(ROUNDING, 1e-6)]
        if astray:
            raise DataError(
                f"Choice {number}: its option {astray[0]} at {data.X[astray[0]].tolist()} is none of this study's options. "
                "Nothing was imported."
            )
        kept = [choice.shown.index(row) for row in choice.kept]
        try:
            found.append(choice_made_elsewhere(space, [options[row] for row in choice.shown], kept))
        except ChoiceboError as error:
            raise DataError(f"Choice {number}: {error} Nothing was imported.") from None
    return found


def csv_table(study: Study, table: str, rater: str | None = None) -> str:
    """A table of a study as CSV; what the model says is learned from everybody, or from one rater."""
    names = study.space.names
    table = table if isinstance(table, str) else as_given(table)
    if table == "options":
        rows = [
            [number, *_cells(each.option, names), each.shown, each.kept]
            for number, each in enumerate(count_options(study), start=1)
        ]
        return _csv(["option", *names, "shown", "kept"], rows)
    if table == "answers":
        head = ["id", "question", "kind", "state", "rater", "at", "seconds", "place", "kept", *names]
        rows = [
            [
                *(
                    past.id,
                    past.question,
                    past.kind,
                    past.state,
                    past.rater,
                    past.at and past.at.isoformat(),
                    past.seconds,
                ),
                *(place, int(place in past.kept), *_cells(option, names)),
            ]
            for past in study.history()
            for place, option in enumerate(past.options)
        ]
        return _csv(head, rows)
    if table in ("pareto", "probabilities"):
        found = study.pareto_set(0.5 if table == "pareto" else 0.0, rater)
        return _csv(["probability", *names], [[f"{o.probability:.4f}", *_cells(o.option, names)] for o in found])
    raise StudyError(f"There is no table {as_given(table)}: give one of {', '.join(map(repr, TABLES))}.")


def _cells(option: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [option.get(name) for name in names]


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(map(_cell, head))
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return table.getvalue()


def _cell(value: Any) -> Any:
    """A value as a cell; an apostrophe keeps a spreadsheet from computing a text that somebody else may have written.

    >>> [_cell(value) for value in (None, -3.5, "-3.5", "=1+1", "@rye", "rye")]
    ['', -3.5, '-3.5', "'=1+1", "'@rye", 'rye']
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return "" if value is None else value


def _text(cell: str) -> str:
    """What :func:`_cell` was given.

    >>> _text("'=1+1"), _text("'rye'")
    ('=1+1', "'rye'")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _csv_pairs(space: Space | Catalogue, text: str) -> list[tuple[str, tuple[Any, Any]]]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    found: list[tuple[str, tuple[Any, Any]]] = []
    try:
        header = [cell.strip() for cell in next(reader, [])]
        _check_header(space, header)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            place = f"Line {reader.line_num}"
            if len(cells) != len(header):
                raise DataError(f"{place}: {len(cells)} cells, but the header has {len(header)}. Nothing was imported.")
            row = dict(zip(header, (_text(cell.strip()) for cell in cells), strict=True))
            try:
                winner, loser = (_side(space, row, side) for side in _SIDES)
            except ChoiceboError as error:
                raise DataError(f"{place}: {error} Nothing was imported.") from None
            found.append((place, (winner, loser)))
    except csv.Error as error:
        raise DataError(f"Line {reader.line_num} is not CSV: {error}. Nothing was imported.") from None
    return found


def _check_header(space: Space | Catalogue, header: Sequence[str]) -> None:
    if isinstance(space, Catalogue):
        expected = list(_SIDES)
        accepted = f"winner,loser with the {space.key} of each"
    else:
        expected = [f"{side}.{parameter.name}" for side in _SIDES for parameter in space.parameters]
        accepted = ",".join(expected)
    missing = [name for name in expected if name not in header]
    if missing or len(set(header)) < len(header):
        problem = f"the column {missing[0]!r} is missing" if missing else "a column is there twice"
        raise DataError(f"Line 1: {problem}; the header must be {accepted}. Nothing was imported.")


def _side(space: Space | Catalogue, row: Mapping[str, str], side: str) -> Any:
    if isinstance(space, Catalogue):
        return space.parse(row[side])
    return {p.name: p.parse(row[f"{side}.{p.name}"]) for p in space.parameters}
