"""Wrong rows, collected so that they are named together instead of one at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import DataError
from choicebo.formatting import counted

LIMIT = 20
"""How many wrong rows an error names; the others are counted."""


class Problems:
    """What is wrong with the rows of a file, a table or a list; of each row, what was found first.

    >>> problems = Problems("line")
    >>> for line in range(39, 1, -1):
    ...     problems.add(line, "kept is 'maybe'")
    >>> try:
    ...     problems.check()
    ... except DataError as error:
    ...     lines = str(error).splitlines()
    >>> print(lines[0], lines[1], lines[-1], sep="\\n")
    38 lines are wrong:
        line 2: kept is 'maybe'
        and 18 more
    """

    def __init__(self, word: str, conclusion: str = "") -> None:
        self.word = word
        """What a row is called in front of its number: "line", "row", "choice"."""
        self._conclusion = conclusion
        """A sentence at the end of the error, such as "Nothing was imported."."""
        self._rows: set[int] = set()
        self._named: dict[int, str] = {}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, number: int, problem: str) -> None:
        """Remember what is wrong with the row of that number."""
        number = int(number)
        if number in self._rows:
            return
        self._rows.add(number)
        self._named[number] = problem
        if len(self._named) > 50 * LIMIT:
            self._named = dict(self._first())

    def has(self, number: int) -> bool:
        """Whether the row of that number is wrong."""
        return number in self._rows

    def among(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows are wrong."""
        return np.isin(numbers, list(self._rows))

    def check(self) -> None:
        """Raise `DataError` if anything is wrong: a single row in one line, several in a line each."""
        if not self._rows:
            return
        named = [f"{self.word} {number}: {problem}" for number, problem in self._first()]
        ending = [self._conclusion] if self._conclusion else []
        if len(self._rows) == 1:
            raise DataError(" ".join(named + ending))
        more = len(self._rows) - len(named)
        if more:
            named.append(f"and {more:,} more")
        heading = f"{counted(len(self._rows), self.word.lower())} are wrong:"
        raise DataError("\n".join([heading, *(f"    {line}" for line in named), *ending]))

    def _first(self) -> list[tuple[int, str]]:
        return sorted(self._named.items())[:LIMIT]
