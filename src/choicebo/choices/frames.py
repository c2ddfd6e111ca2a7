"""Answers of every kind from tables: data frames, CSV files, lists of dicts.

A long table has a row for each option of an answer, a wide one a row for each answer. The columns that say what a row is about go
by the names of their roles, unless they are called otherwise; the others are the inputs of the options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import cells
from choicebo.choices.building import ReadChoices
from choicebo.choices.long_table import ABSENT, RATER, WEIGHT, Answers, Raters, Rows
from choicebo.choices.option_columns import InputColumns, KeyColumn, OptionReader
from choicebo.choices.option_table import option_reader
from choicebo.choices.options import in_unit_cube, unit_scaled
from choicebo.choices.problems import Problems
from choicebo.choices.roles import ALONE, KINDS, MARKS, RoleTable, checked_columns, wide_roles
from choicebo.choices.table_readings import choices_of_answers
from choicebo.choices.tables import Chunk, Progress, open_table
from choicebo.choices.wide_table import WideReader, marked
from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.space import Catalogue, Space
from choicebo.space.values import suggestion

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def read_frame(
    source: Any,
    kind: str = "choices",
    *,
    columns: Mapping[str, str] | None = None,
    inputs: Sequence[str] | None = None,
    options: Any = None,
    space: Space | Catalogue | None = None,
    baseline: Any = None,
    scale: bool = False,
    conclusion: str = "",
    progress: Progress | None = None,
) -> ReadChoices:
    """The choices that the answers in a table are read as.

    Args:
        source: A data frame, a list of dicts, a dict of columns, or the path or text of a CSV table.
        kind: What the answers are, one of `KINDS`.
        columns: The columns that are not called by their role, as ``{role: column}``.
        inputs: The columns with the inputs of an option; None: all that have no role.
        options: A table of the options, if the answers name them by a key.
        space: The space that the options belong to, if they are given in its own units; or the catalogue, by its keys.
        baseline: What approvals compare with: a key, or a dict of inputs.
        scale: Whether each input is scaled from its least to its greatest value.
        conclusion: A sentence at the end of an error.
        progress: Called as ``progress(stage, fraction)`` while a large table is read.
    """
    kind = kind.replace("-", "_") if isinstance(kind, str) else kind
    if not isinstance(kind, str) or kind not in KINDS:
        raise DataError(f"kind is {as_given(kind)}; give one of {', '.join(map(repr, KINDS))}.")
    table = RoleTable(open_table(source), checked_columns(columns))
    problems = Problems(table.word if not conclusion else table.word.capitalize(), conclusion)
    is_long = kind != "pairs" and not wide_roles(table.header, kind)
    reader = option_reader(table, kind, is_long, inputs, options, space, scale)
    raters = Raters()
    answers = (_long if is_long else _wide)(table, kind, reader, raters, problems, progress)
    if not problems and not len(answers.lengths):
        raise DataError(f"There are no answers in the table. {conclusion}".strip())
    if kind == "approvals" and baseline is None:
        raise DataError("Approvals compare with a baseline: give baseline=..., the key or the inputs of an option.")
    today = reader.code(baseline) if kind == "approvals" else ABSENT
    order, number = _appearance(answers.options, today)
    answers = replace(answers, options=number[answers.options])
    choices, numbers = choices_of_answers(answers, kind, int(number[today]), problems)
    by_inputs = isinstance(reader, InputColumns)
    if isinstance(reader, InputColumns) and not scale:
        reader.check_cube(problems)
    problems.check()
    X = unit_scaled(reader.points()) if scale and by_inputs else in_unit_cube(reader.points(), "X")
    order = [*order, *sorted(set(range(len(X))) - set(order))]
    listed = reader.options()
    listed = None if listed is None else [listed[option] for option in order]
    who = None
    if answers.raters is not None:
        by_number = dict(zip(answers.numbers.tolist(), raters.of(answers.raters), strict=True))
        who = [by_number[each] for each in numbers]
    return ReadChoices(X[order], choices, numbers, problems.word, listed, who)


def _appearance(options: Integers, today: int) -> tuple[list[int], Integers]:
    """The options in the order in which answers name them, then the baseline; and the place of each in that order."""
    different, first = np.unique(options, return_index=True)
    order: list[int] = different[np.argsort(first)].tolist()
    if today != ABSENT and today not in order:
        order.append(today)
    place = np.full(max(order, default=0) + 1, ABSENT, dtype=np.int64)
    place[order] = np.arange(len(order))
    return order, place


def _long(
    table: RoleTable, kind: str, reader: OptionReader, raters: Raters, problems: Problems, progress: Progress | None
) -> Answers:
    # Ratings of different people are never of one sitting.
    groups = ("choice", "sitting", RATER) if kind == "ratings" else ("choice",)
    group = next((name for name in groups if name in table.header), None)
    marks = MARKS[kind]
    needed = [*reader.columns(), *marks] if kind in ALONE else ["choice", *reader.columns(), *marks]
    for name in needed:
        if name not in table.header:
            wide = " or, with a row for each answer, option1, option2, ..." if kind not in ALONE else ""
            raise DataError(
                f"The column {as_given(name)} is missing; {kind} need {', '.join(needed)}{wide}. "
                f"{suggestion(name, table.header)}"
            )
    optional = [name for name in (group, WEIGHT, RATER) if name is not None and name in table.header]
    rows, known = Rows(problems), dict[str, int]()
    for chunk in table.chunks(list(dict.fromkeys([*needed, *optional])), problems, progress):
        if kind == "approvals":  # each row is an answer
            answers = chunk.numbers
        elif group is None:
            answers = np.zeros(len(chunk.numbers), dtype=np.int64)
        else:
            labels = cells.labels(chunk.cells[group], chunk.numbers, group, problems)
            codes = [ABSENT if label is None else known.setdefault(label, len(known)) for label in labels]
            answers = np.array(codes, dtype=np.int64)
        options = reader.codes(chunk, problems)
        said = {name: _marks(chunk, name, answers, problems) for name in marks}
        _check_answered(chunk, group, answers, said, problems)
        said |= raters.marks_of_answers(chunk, problems)
        if kind == "ratings":  # what was not rated says nothing
            answers = np.where(np.isnan(said["rating"]), ABSENT, answers)
        rows.add(chunk.numbers, answers, options, said)
    names = list(known)
    return rows.grouped(None, lambda code: names[code] if names else code, reader.name, least=1 if kind in ALONE else 2)


def _check_answered(
    chunk: Chunk, group: str | None, answers: Integers, said: Mapping[str, Floats], problems: Problems
) -> None:
    """Find rows that say something of an option, and not in which answer."""
    something = ~np.isnan(np.stack(list(said.values()))).all(axis=0)
    for row in np.flatnonzero((answers == ABSENT) & something).tolist():
        given = " and ".join(said)
        problems.add(
            chunk.numbers[row],
            f"{group} is empty although {given} is given; leave both empty for an option that was never shown.",
        )


def _marks(chunk: Chunk, name: str, answers: Integers, problems: Problems) -> Floats:
    if name in ("rank", "rating"):
        return cells.finite_or_missing(chunk.cells[name], chunk.numbers, name, problems)
    found = cells.flags(chunk.cells[name], chunk.numbers, name, problems)
    if name == "kept":
        for row in np.flatnonzero(np.isnan(found) & (answers != ABSENT)).tolist():
            problems.add(chunk.numbers[row], "kept is empty, but must be 1 (yes) or 0 (no).")
    return found


def _wide(
    table: RoleTable, kind: str, reader: OptionReader, raters: Raters, problems: Problems, progress: Progress | None
) -> Answers:
    roles = wide_roles(table.header, kind)
    by_key = isinstance(reader, KeyColumn)
    named: list[str] = []
    if kind == "pairs":
        named = [name for name in MARKS[kind] if name in table.header]
    elif kind != "rankings":
        named = list(MARKS[kind])
    ranked = sum(role.startswith("rank") for role in roles) if kind == "rankings" else 0

    def marks(chunk: Chunk, codes: Integers) -> dict[str, Floats]:
        if kind == "rankings":
            return {"rank": _ranks(chunk, codes, ranked, problems)}
        if kind == "pairs":
            undecided = (
                cells.flags(chunk.cells["undecided"], chunk.numbers, "undecided", problems)
                if named
                else np.zeros(len(codes))
            )
            for row, column in np.argwhere(codes == ABSENT).tolist():
                problems.add(chunk.numbers[row], f"{roles[column]} is empty; give both options.")
            return {"kept": np.stack([np.ones(len(codes)), np.nan_to_num(undecided)], axis=1)}
        return {name: marked(chunk, name, roles, by_key, problems) for name in named}

    return WideReader(table, reader, raters, problems, progress).read(roles, named, marks)


def _ranks(chunk: Chunk, codes: Integers, ranked: int, problems: Problems) -> Floats:
    """The ranks of the options; of those shown, the ones that are ranked are taken out, so that no option is there twice."""
    found = np.full(codes.shape, math.nan)
    found[:, :ranked] = np.arange(1, ranked + 1)
    places, shown = codes[:, :ranked], codes[:, ranked:]
    same = (shown[:, :, None] == places[:, None, :]) & (shown[:, :, None] != ABSENT)
    if shown.shape[1]:
        strange = (places != ABSENT) & ~same.any(axis=1)
        for row, place in np.argwhere(strange).tolist():
            problems.add(chunk.numbers[row], f"rank{place + 1} names an option that is not among those shown.")
        shown[same.any(axis=2)] = ABSENT
    return found
