"""What the columns of a table of answers are for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from choicebo.choices.long_table import RATER, WEIGHT
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Chunk, Progress, Table
from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.space.values import suggestion

MARKS = {
    "choices": ("kept",),
    "best": ("best",),
    "best_worst": ("best", "worst"),
    "rankings": ("rank",),
    "ratings": ("rating",),
    "approvals": ("approved",),
    "pairs": ("undecided",),
}
"""What is said of an option, by kind of answer."""
KINDS = tuple(MARKS)
ROLES = (
    "choice",
    "sitting",
    "option",
    "winner",
    "loser",
    WEIGHT,
    RATER,
    *dict.fromkeys(mark for marks in MARKS.values() for mark in marks),
)
ALONE = ("ratings", "approvals")
"""Kinds in which one option alone may be rated or approved."""


def prefixes(header: Sequence[str], stem: str) -> list[str]:
    """The numbered columns, or groups of columns, of a stem, in the order of their numbers.

    >>> prefixes(["option2.price", "option1.price", "option1.size", "best"], "option")
    ['option1', 'option2']
    """
    pattern = re.compile(rf"({re.escape(stem)}(\d{{1,9}}))(\..*)?", re.DOTALL)
    found = {match[1]: int(match[2]) for match in map(pattern.fullmatch, header) if match}
    return sorted(found, key=found.__getitem__)


def wide_roles(header: Sequence[str], kind: str) -> list[str]:
    """The columns, or prefixes of groups of columns, with options in a wide table; none if the table is long."""
    if kind == "pairs":
        return ["winner", "loser"]
    if "choice" in header or kind in ALONE:
        return []
    ranked = prefixes(header, "rank") if kind == "rankings" else []
    return ranked + prefixes(header, "option") if ranked or kind != "rankings" else []


class RoleTable:
    """A table whose columns go by their roles."""

    def __init__(self, table: Table, columns: Mapping[str, str]) -> None:
        self._table, self._columns, self.word = table, columns, table.word
        patterns = {
            role: re.compile(rf"{re.escape(column)}(\d*(?:\..*)?)", re.DOTALL) for role, column in columns.items()
        }
        names: dict[str, str] = {}
        for role, pattern in patterns.items():
            found = {f"{role}{match[1]}": match[0] for match in map(pattern.fullmatch, table.header) if match}
            if not found:
                raise DataError(
                    f"There is no column {as_given(columns[role])} for {role!r}. "
                    f"{suggestion(columns[role], table.header)}"
                )
            names |= found
        taken = set(names.values())
        names |= {name: name for name in table.header if name and name not in taken and name not in names}
        self._names = names
        self.header = tuple(names)

    def called(self, role: str) -> str:
        """How the table calls the column of a role."""
        return self._columns.get(role, role)

    def chunks(self, columns: Sequence[str], problems: Problems, progress: Progress | None = None) -> Iterator[Chunk]:
        """The rows, with these columns of theirs."""
        renamed = [self._names[name] for name in columns]
        for chunk in self._table.chunks(renamed, problems, progress):
            yield Chunk(chunk.numbers, {name: chunk.cells[self._names[name]] for name in columns})


def checked_columns(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """The columns that somebody gave roles, or `DataError`."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise DataError(f"columns is {as_given(columns)}; give a dict such as {{'choice': 'question_id'}}.")
    for role, column in columns.items():
        if role not in ROLES or not isinstance(column, str) or not column:
            raise DataError(
                f"columns has {as_given(role)}: {as_given(column)}; give the names of columns for "
                f"{', '.join(map(repr, ROLES))}."
            )
    for column, times in Counter(columns.values()).items():
        if times > 1:
            raise DataError(f"columns gives {as_given(column)} two roles; give each column one role.")
    return columns
