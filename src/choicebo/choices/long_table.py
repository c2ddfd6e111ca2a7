"""Rows of a table, one for each option shown, put together to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import cells
from choicebo.choices.building import repeated
from choicebo.choices.choice import Choice
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Chunk
from choicebo.errors import DataError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ABSENT = -1
"""Code of a missing answer or option, or of one that could not be read."""
WEIGHT, RATER = "weight", "rater"
"""Marks that belong to an answer and not to one of its options; a rater is a code."""


@dataclass(frozen=True)
class Answers:
    """Answers as flat arrays, one after the other."""

    lengths: Integers
    """How many options each is about: (n,)."""
    options: Integers
    """The options: (sum of lengths,)."""
    marks: Mapping[str, Floats]
    """What was said of each option, by role, NaN for nothing: (sum of lengths,)."""
    numbers: Integers
    """The line or row in which each answer begins: (n,)."""
    weights: list[float] | None
    """How often each counts, (n,); None: once."""
    raters: list[int] | None
    """The code of who gave each, (n,), or `ABSENT`; None: nothing is said of raters."""
    sound: NDArray[np.bool_]
    """Whether all rows of each could be read: (n,). What seems wrong with the others may follow from those that could not."""

    @property
    def starts(self) -> Integers:
        """Where each answer begins in the flat arrays: (n,)."""
        return np.cumsum(self.lengths) - self.lengths


@dataclass
class Rows:
    """The rows read so far."""

    problems: Problems
    _parts: list[tuple[Integers, Integers, Integers, dict[str, Floats]]] = field(default_factory=list)
    _unsound: set[int] = field(default_factory=set)
    """Answers with a row that is wrong."""

    def add(self, numbers: Integers, answers: Integers, options: Integers, marks: dict[str, Floats]) -> None:
        """Take in rows of answers, each (n,); those with an absent option or answer are passed over."""
        if self.problems:
            wrong = self.problems.among(numbers)
            self._unsound.update(answers[wrong].tolist())
        there = (answers != ABSENT) & (options != ABSENT)
        if there.all():
            self._parts.append((numbers, answers, options, marks))
        else:
            picked = {role: values[there] for role, values in marks.items()}
            self._parts.append((numbers[there], answers[there], options[there], picked))

    def grouped(
        self,
        rank: Integers | None,
        answer_name: Callable[[int], Any],
        option_name: Callable[[int], Any],
        least: int = 2,
    ) -> Answers:
        """The answers in the order of their rank, or of their codes; an option twice in one, or too few, is a problem."""
        numbers, answers, options, marks = self._put_together()
        ordered = answers if rank is None else rank[answers]
        if np.any(ordered[1:] < ordered[:-1]):
            order = np.argsort(ordered, kind="stable")
            numbers, answers, options = numbers[order], answers[order], options[order]
            marks = {role: values[order] for role, values in marks.items()}
        again = repeated(answers, options)
        if len(again):
            _, first, which = np.unique(np.stack([answers, options]), axis=1, return_index=True, return_inverse=True)
            for row in again.tolist():
                self.problems.add(
                    numbers[row],
                    f"option {option_name(options[row])} is already in choice {answer_name(answers[row])} "
                    f"({self.problems.word} {numbers[first[which[row]]]}); show an option once per choice.",
                )
        begins = np.flatnonzero(np.diff(answers, prepend=ABSENT))
        lengths = np.diff(begins, append=len(answers))
        codes, rows = answers[begins], (numbers, np.repeat(np.arange(len(begins)), lengths))
        weights = self._of_answers(WEIGHT, marks.pop(WEIGHT, None), rows, codes, answer_name)
        raters = self._of_answers(RATER, marks.pop(RATER, None), rows, codes, answer_name)
        sound = ~np.isin(codes, list(self._unsound))
        found = Answers(
            lengths,
            options,
            marks,
            numbers[begins],
            None if weights is None else np.nan_to_num(weights, nan=1.0).tolist(),
            None if raters is None else np.nan_to_num(raters, nan=ABSENT).astype(np.int64).tolist(),
            sound,
        )
        self._check(found, codes, answer_name, least)
        return found

    def _put_together(self) -> tuple[Integers, Integers, Integers, dict[str, Floats]]:
        if not self._parts:
            nothing = np.empty(0, dtype=np.int64)
            return nothing, nothing, nothing, {}
        numbers, answers, options, marks = zip(*self._parts, strict=True)
        self._parts = []
        together = {role: np.concatenate([each[role] for each in marks]) for role in marks[0]}
        return np.concatenate(numbers), np.concatenate(answers), np.concatenate(options), together

    def _check(self, found: Answers, codes: Integers, name: Callable[[int], Any], least: int) -> None:
        for answer in np.flatnonzero((found.lengths < least) & found.sound).tolist():
            problem = f"choice {name(codes[answer])} shows one option; a choice shows at least two."
            self.problems.add(found.numbers[answer], problem)
        if "kept" in found.marks and len(codes):
            kept = np.add.reduceat(found.marks["kept"] == 1.0, found.starts)
            for answer in np.flatnonzero((kept == 0) & found.sound).tolist():
                problem = f"choice {name(codes[answer])} keeps no option; set kept to 1 in at least one of its rows."
                self.problems.add(found.numbers[answer], problem)

    def _of_answers(
        self,
        role: str,
        given: Floats | None,
        rows: tuple[Integers, Integers],
        codes: Integers,
        name: Callable[[int], Any],
    ) -> Floats | None:
        """What the rows of each answer say of all of it, NaN where none does; rows that disagree are a problem."""
        if given is None:
            return None
        numbers, answers = rows
        told = np.flatnonzero(~np.isnan(given))
        found = np.full(len(codes), np.nan)
        which, first = np.unique(answers[told], return_index=True)
        found[which] = given[told[first]]
        for row in told[given[told] != found[answers[told]]].tolist():
            values = f" {given[row]:g}, but {found[answers[row]]:g}" if role == WEIGHT else ", but another one"
            self.problems.add(
                numbers[row],
                f"choice {name(codes[answers[row]])} has the {role}{values} in an earlier "
                f"{self.problems.word.lower()}; "
                f"give all rows of a choice the same {role}.",
            )
        if role == WEIGHT:
            check_weights(given[told], numbers[told], self.problems)
        return found


class Raters:
    """Names of raters, and their codes."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def marks_of_answers(self, chunk: Chunk, problems: Problems) -> dict[str, Floats]:
        """The weight and the rater that each row gives, if the table has them."""
        found = {}
        if WEIGHT in chunk.cells:
            found[WEIGHT] = cells.finite_or_missing(chunk.cells[WEIGHT], chunk.numbers, WEIGHT, problems)
        if RATER in chunk.cells:
            labels = cells.labels(chunk.cells[RATER], chunk.numbers, RATER, problems)
            codes = [np.nan if label is None else self.names.setdefault(label, len(self.names)) for label in labels]
            found[RATER] = np.array(codes, dtype=np.float64)
        return found

    def of(self, codes: Sequence[int]) -> list[str | None]:
        """The names of codes; None for nobody."""
        names = list(self.names)
        return [None if code == ABSENT else names[code] for code in codes]


def check_weights(weights: Floats, numbers: Integers, problems: Problems) -> None:
    """Find the weights that no choice can have."""
    for weight in np.unique(weights).tolist():
        try:
            Choice((0, 1), (0,), weight)
        except DataError as error:
            for row in np.flatnonzero(weights == weight).tolist():
                problems.add(numbers[row], str(error))
