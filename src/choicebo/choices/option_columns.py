"""Options as tables name them: by their inputs, by the parameters of a space, or by the key of a list.

A reader gives each option a code, counted from 0 in the order in which options appear, and knows at the end where they lie in the
unit cube. What the same cells stand for is found out once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import cells
from choicebo.choices.options import OUTSIDE, ROUNDING
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Chunk
from choicebo.errors import ChoiceboError, DataError
from choicebo.formatting import as_given
from choicebo.space import Catalogue, Option, Space
from choicebo.space.points import point_keys
from choicebo.space.values import suggestion

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ABSENT = -1
"""The code of an option that is not there, or cannot be read."""


class OptionReader(Protocol):
    """Reads the options of a table."""

    def columns(self, prefix: str | None = None) -> list[str]:
        """The columns that describe an option; with a prefix, one of several in a row."""

    def codes(self, chunk: Chunk, problems: Problems, prefix: str | None = None) -> Integers:
        """The option in each row: (n,)."""

    def code(self, given: Any) -> int:
        """The option that an argument names."""

    def name(self, code: int) -> str:
        """How to call an option in an error."""

    def points(self) -> Floats:
        """The options in the unit cube: (m, d)."""

    def options(self) -> list[Option] | None:
        """The options as people see them; None if nothing but points of the cube is known of them."""


class InputColumns:
    """Options by their inputs, numbers in the unit cube; a label, where there is one, tells them apart."""

    def __init__(self, inputs: Sequence[str], label: str | None = None) -> None:
        self.inputs = list(inputs)
        self._label = label
        self._codes: dict[Any, int] = {}
        self._labels: list[Any] = []
        self._lines: list[int] = []
        self._X = np.empty((0, len(self.inputs)))

    def columns(self, prefix: str | None = None) -> list[str]:
        """The inputs, and the label."""
        named = self.inputs if self._label is None else [self._label, *self.inputs]
        return named if prefix is None else [f"{prefix}.{name}" for name in self.inputs]

    def codes(self, chunk: Chunk, problems: Problems, prefix: str | None = None) -> Integers:
        """The option in each row; the same label with other inputs is a problem."""
        named = self.columns(prefix)
        if prefix is not None:
            there = ~_all_missing(chunk, named)
            if not there.all():
                found = np.full(len(there), ABSENT, dtype=np.int64)
                if there.any():
                    found[there] = self.codes(_rows(chunk, there), problems, prefix)
                return found
        given = [cells.finite(chunk.cells[name], chunk.numbers, name, problems) for name in named[-len(self.inputs) :]]
        X = np.stack(given, axis=1) + 0.0  # a negative zero is the same input
        if self._label is None or prefix is not None:
            return self.register(point_keys(X), X, chunk.numbers, problems)
        labels = cells.labels(chunk.cells[self._label], chunk.numbers, self._label, problems)
        for row, label in enumerate(labels):
            if label is None:
                problems.add(chunk.numbers[row], f"{self._label} is empty; name the option.")
        return self.register(labels, X, chunk.numbers, problems)

    def register(self, labels: Sequence[Any], X: Floats, numbers: Integers, problems: Problems) -> Integers:
        """The codes of options with these labels and inputs; None is the label of none."""
        codes, readable = self._codes, np.all(np.isfinite(X), axis=1).tolist()
        found = np.array(
            [
                codes.setdefault(label, len(codes)) if whole and label is not None else ABSENT
                for label, whole in zip(labels, readable, strict=True)
            ],
            dtype=np.int64,
        )
        known = len(self._lines)
        if len(self._codes) > known:
            new = np.flatnonzero(found >= known)
            first = new[np.unique(found[new], return_index=True)[1]]
            self._grow(len(self._codes))
            self._X[known : len(self._codes)] = X[first]
            self._lines += numbers[first].tolist()
        read = np.flatnonzero(found != ABSENT)
        for row in read[(self._X[found[read]] != X[read]).any(axis=1)].tolist():
            first_code = int(found[row])
            problems.add(
                numbers[row],
                f"option {self.name(first_code)} has inputs {X[row].tolist()}, but {self._X[first_code].tolist()} in "
                f"{problems.word} {self._lines[first_code]}; give one option the same inputs everywhere, or "
                "another number.",
            )
        return found

    def code(self, given: Any) -> int:
        """The option of a label, or of a dict of inputs."""
        if isinstance(given, Mapping):
            try:
                X = np.array([[float(given[name]) for name in self.inputs]]) + 0.0
            except (KeyError, TypeError, ValueError):
                raise DataError(
                    f"{as_given(given)} is not an option; give a dict with a number for each of "
                    f"{', '.join(self.inputs)}."
                ) from None
            key: Any = point_keys(X)[0]
            if self._label is None:
                return int(self.register([key], X, np.zeros(1, dtype=np.int64), Problems("row"))[0])
            same = np.flatnonzero((self.points() == X).all(axis=1))
            if len(same):
                return int(same[0])
            return int(self.register([("given", key)], X, np.zeros(1, dtype=np.int64), Problems("row"))[0])
        label = cells.label(given)
        if self._label is None or label not in self._codes:
            raise DataError(f"no row of the table has the option {as_given(given)}.")
        return self._codes[label]

    def name(self, code: int) -> str:
        """Its label, or its inputs."""
        label = self.labels()[code]
        return str(label) if not isinstance(label, bytes) else str(self._X[code].tolist())

    def labels(self) -> list[Any]:
        """The label of each option."""
        if len(self._labels) < len(self._codes):
            self._labels = list(self._codes)
        return self._labels

    def points(self) -> Floats:
        """The inputs: (m, d)."""
        return self._X[: len(self._codes)]

    def options(self) -> None:
        """Nothing but points is known."""

    def check_cube(self, problems: Problems) -> None:
        """Find inputs that do not lie in the unit cube."""
        outside = np.argwhere((self.points() < -ROUNDING) | (self.points() > 1 + ROUNDING))
        for code, column in outside.tolist():
            problems.add(self._lines[code], f"{self.inputs[column]} is {self._X[code, column]}, {OUTSIDE}.")

    def _grow(self, size: int) -> None:
        if size > len(self._X):
            larger = np.empty((max(size, 2 * len(self._X)), self._X.shape[1]))
            larger[: len(self._X)] = self._X
            self._X = larger


class ParameterColumns:
    """Options by the values of a space's parameters."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._codes: dict[tuple[Any, ...], int | str] = {}
        self._options: list[Option] = []

    def columns(self, prefix: str | None = None) -> list[str]:
        """The parameters that vary."""
        names = [parameter.name for parameter in self._space.parameters]
        return names if prefix is None else [f"{prefix}.{name}" for name in names]

    def codes(self, chunk: Chunk, problems: Problems, prefix: str | None = None) -> Integers:
        """The option in each row."""
        columns = [_plain_list(chunk.cells[name]) for name in self.columns(prefix)]
        found = []
        for number, values in zip(chunk.numbers.tolist(), zip(*columns, strict=True), strict=True):
            code = self._code(values)
            if isinstance(code, str):
                if prefix is None or not all(map(cells.is_missing, values)):
                    problems.add(number, code)
                code = ABSENT
            found.append(code)
        return np.array(found, dtype=np.int64)

    def code(self, given: Any) -> int:
        """The option of a dict of values."""
        try:
            option = self._space.validate(given)
        except ChoiceboError as error:
            raise DataError(str(error)) from None
        code = self._code(tuple(option[parameter.name] for parameter in self._space.parameters))
        assert isinstance(code, int)  # it is valid
        return code

    def name(self, code: int) -> str:
        """Its values."""
        return as_given(self._options[code])

    def points(self) -> Floats:
        """The options in the unit cube: (m, d)."""
        return self._space.encode(self._options)

    def options(self) -> list[Option]:
        """The options, with plain values as the space keeps them."""
        return self._space.decode(self.points())

    def _code(self, values: tuple[Any, ...]) -> int | str:
        """The code of an option, or what is wrong with it."""
        key = (*values, *map(type, values))  # 1 and True are equal, and not the same value
        try:
            code = self._codes.get(key)
        except TypeError:  # a cell that holds a list
            return f"{as_given(values)} is not an option"
        if code is None:
            code = self._codes[key] = self._read(values)
        return code

    def _read(self, values: tuple[Any, ...]) -> int | str:
        option: Option = {}
        for parameter, value in zip(self._space.parameters, values, strict=True):
            try:
                text = cells.unprotected(value.strip()) if isinstance(value, str) else None
                option[parameter.name] = parameter.check(value) if text is None else parameter.parse(text)
            except ChoiceboError as error:
                return str(error)
        self._options.append(option)
        return len(self._options) - 1


class KeyColumn:
    """Options by their key in a list of all of them."""

    def __init__(self, column: str, rows: Mapping[str, int], X: Floats, listed: Sequence[Option] | None = None) -> None:
        self._column = column
        self._rows = rows
        self._X = X
        self._listed = listed
        self._codes: dict[int, int] = {}
        self._names: list[str] = []

    @classmethod
    def of(cls, catalogue: Catalogue, column: str) -> KeyColumn:
        """The rows of a catalogue, by their keys."""
        rows: dict[str, int] = {}
        for row, key in enumerate(catalogue.keys):
            rows.setdefault(str(key), row)
        return cls(column, rows, catalogue.X, catalogue.rows)

    def columns(self, prefix: str | None = None) -> list[str]:
        """The column with the key."""
        return [self._column if prefix is None else prefix]

    def codes(self, chunk: Chunk, problems: Problems, prefix: str | None = None) -> Integers:
        """The option in each row."""
        (column,) = self.columns(prefix)
        found = []
        labels = cells.labels(chunk.cells[column], chunk.numbers, column, problems)
        for number, label in zip(chunk.numbers.tolist(), labels, strict=True):
            row = self._rows.get(label) if label is not None else None
            if row is None and not (label is None and prefix is not None):
                problems.add(number, self._unknown(column, label))
            found.append(ABSENT if row is None else self._codes.setdefault(row, len(self._codes)))
        return np.array(found, dtype=np.int64)

    def code(self, given: Any) -> int:
        """The option of a key."""
        if isinstance(given, Mapping) and self._listed is not None:
            given = next((key for key, row in self._rows.items() if self._listed[row] == dict(given)), given)
        label = cells.label(given)
        if label is None or label not in self._rows:
            raise DataError(self._unknown("the option", given))
        return self._codes.setdefault(self._rows[label], len(self._codes))

    def name(self, code: int) -> str:
        """Its key."""
        if len(self._names) < len(self._codes):
            keys = {row: key for key, row in self._rows.items()}
            self._names = [keys[row] for row in self._codes]
        return self._names[code]

    def points(self) -> Floats:
        """The options in the unit cube: (m, d)."""
        return self._X[list(self._codes)]

    def options(self) -> list[Option] | None:
        """The rows of the list."""
        return None if self._listed is None else [dict(self._listed[row]) for row in self._codes]

    def _unknown(self, column: str, label: Any) -> str:
        if label is None:
            return f"{column} is empty; give the key of an option."
        return f"{column} is {as_given(label)}, which is not among the options. {suggestion(label, self._rows)}"


def _all_missing(chunk: Chunk, columns: Sequence[str]) -> NDArray[np.bool_]:
    rows = zip(*(chunk.cells[name] for name in columns), strict=True)
    return np.array([all(map(cells.is_missing, row)) for row in rows], dtype=np.bool_)


def _rows(chunk: Chunk, picked: NDArray[np.bool_]) -> Chunk:
    rows = np.flatnonzero(picked)
    taken = {name: np.asarray(column, dtype=object)[rows].tolist() for name, column in chunk.cells.items()}
    return Chunk(chunk.numbers[rows], taken)


def _plain_list(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)
