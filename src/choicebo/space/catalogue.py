"""Catalogue: a finite list of things that can be offered, described by their features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.frames import of_options, to_frame
from choicebo.notebook_html import MOST_ROWS, table
from choicebo.space import roles, sampling
from choicebo.space.expression import identifier
from choicebo.space.features import choose_features
from choicebo.space.objectives import KnownObjectives, Objective, as_objectives, check_values, named, spans
from choicebo.space.points import as_cube, point_keys
from choicebo.space.searchable import Bools, Column, Floats, Option
from choicebo.space.serialisation import VERSION, check_record
from choicebo.space.table import Row, Table, read_table
from choicebo.space.truth import Symbol
from choicebo.space.values import MOST_LISTED, as_count, as_generator, plain, suggestion

Key = str | int
# Bounds the memory of one block of distances: about 64 MB.
_BLOCK = 2**23


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Catalogue:
    """A list of rows with a key each; the columns that are not key, label or image are features.

    Rows come as dicts, a CSV path or a data frame of pandas or polars. Numbers are scaled from their least to their
    greatest value, texts and bools become one-hot columns. Two rows with the same features are two options at
    the same cube point; ``decode`` gives the first of them.

    Args:
        rows: Dicts, the path of a CSV or Excel file, or a data frame.
        key: The column that tells rows apart.
        label: The column with the name that people see; None: the key is shown.
        image: The column with picture files.
        features: The columns to learn from; None: all that can serve.
        objectives: What is known to matter, as texts such as ``"minimise price"``. Empty cells of such a column are values that
            were not measured yet, and a name that is no column is measured throughout.

    Raises:
        SpaceError: There are no rows, a column is missing, or two rows have the same key.

    Examples:
        >>> menu = Catalogue([{"sku": "A", "price": 3, "vegan": True}, {"sku": "B", "price": 5, "vegan": False}])
        >>> menu
        Catalogue(2 rows, key='sku', features: price, vegan)
        >>> menu.encode(["A", "B"]).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """

    rows: tuple[Row, ...]
    key: str
    label: str | None
    """The column with the name that people see; None: the key is shown."""
    image: str | None
    features: tuple[str, ...] | None
    """The columns asked for as features; None: all that can serve."""
    dropped: dict[str, str]
    """Columns that could have been features and are not, with the reason."""
    columns: tuple[Column, ...]
    X: Floats
    """All rows in the unit cube: (n, dim), read-only."""
    objectives: tuple[Objective, ...]
    """Columns, or formulas of columns, that are known to matter and need not be learned, such as "minimise price"."""

    def __init__(
        self,
        rows: Iterable[Mapping[str, object]] | str | Path | Any,
        key: str = "sku",
        label: str | None = None,
        image: str | None = None,
        features: Sequence[str] | None = None,
        objectives: Iterable[str | Objective] = (),
    ) -> None:
        table = read_table(rows)
        if not table.rows:
            raise SpaceError("The catalogue has no rows: give at least one.")
        _check_columns(table, {"key": key, "label": label, "image": image}, features)
        _check_keys(table, key)
        objectives = named(objectives)
        lacking = _lacking(table, objectives)
        chosen = choose_features(table, [name for name in (key, label, image, *lacking) if name], features)
        kept = tuple({name: row[name] for name in row if name not in chosen.empty} for row in table.rows)
        fields = {
            "rows": kept,
            "key": key,
            "label": label,
            "image": image,
            "features": None if features is None else tuple(features),
            "dropped": chosen.dropped | dict.fromkeys(lacking, "an objective that is not measured for every row"),
            "columns": chosen.columns,
            "X": chosen.points,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        symbols = {
            identifier(name): Symbol("number" if column.dtype.kind == "f" else "label")
            for name, column in self._table.items()
        }
        object.__setattr__(self, "objectives", as_objectives(objectives, symbols, self.names, lacking))
        self.known  # noqa: B018 - objectives that some row has no value for must fail here

    def __eq__(self, other: object) -> bool:
        fields = ("rows", "key", "label", "image", "features", "objectives")
        return isinstance(other, Catalogue) and all(getattr(self, f) == getattr(other, f) for f in fields)

    def __hash__(self) -> int:
        return hash((self.keys, self.key))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        rows = f"{len(self)} row{'s' if len(self) > 1 else ''}"
        goals = f"; {', '.join(o.title for o in self.objectives)}" if self.objectives else ""
        return f"Catalogue({rows}, key={self.key!r}, features: {', '.join(self._used)}{goals})"

    def _repr_html_(self) -> str:
        rows = [
            [row[self.key], *(row[name] for name in self.names if name != self.key)] for row in self.rows[:MOST_ROWS]
        ]
        headings = [self.key, *(name for name in self.names if name != self.key)]
        below = [f"Features: {', '.join(self._used)}"]
        below += [f"Known objective: {objective.text}" for objective in self.objectives]
        return table(f"Catalogue of {len(self):,}", headings, rows, total=len(self), below=below)

    def to_frame(self, library: str | None = None) -> Any:
        """The rows as a data frame, which ``Catalogue`` reads back.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Returns:
            A data frame, a row for each row of the catalogue.

        Raises:
            MissingExtraError: Neither is installed.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 2}, {"sku": "B", "price": 3}]).to_frame()["price"].tolist()
            [2, 3]
        """
        return to_frame(of_options(self.rows), library)

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The key of each row."""
        return tuple(row[self.key] for row in self.rows)  # type: ignore[misc]

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of every option: the columns of the catalogue."""
        return tuple(self.rows[0])

    @cached_property
    def known(self) -> KnownObjectives | None:
        """The known objectives as a function of cube points; None if there are none.

        Examples:
            >>> menu = Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}], objectives=["minimise price"])
            >>> menu.known(menu.encode(["A", "B"])).tolist()
            [[-3.0], [-5.0]]
        """
        if not self.objectives:
            return None
        values = np.stack([objective.values(self._table) for objective in self.objectives], axis=1)
        check_values(self.objectives, values, lambda row: dict(self.rows[row]))
        first = np.array([self._at[key] for key in point_keys(self.X)])
        there = ~np.isnan(values)
        measured = np.array([objective.measured for objective in self.objectives])
        for row in np.flatnonzero(there.any(1) & (first != np.arange(len(first)))):
            # What is measured of a row is measured of all with the same features.
            known = values[first[row]]
            values[first[row]] = np.where(np.isnan(known) & measured, values[row], known)
        unlike = np.flatnonzero(((values != values[first]) & there).any(1))
        if len(unlike):
            one, other = self.keys[first[unlike[0]]], self.keys[unlike[0]]
            number = int(((values != values[first]) & there)[unlike[0]].argmax())
            raise SpaceError(
                f"The rows {as_given(one)} and {as_given(other)} have the same features, but differ in "
                f"{as_given(self.objectives[number].name)}: add a feature column that tells them apart."
            )
        found = KnownObjectives(self.objectives, self._columns_at, self.feasible, self.decode, *spans(values))
        rows = np.flatnonzero((there & measured).any(1))
        return found.with_measurements(self.X[rows], np.where(measured, values[rows], np.nan))

    def _columns_at(self, points: Floats) -> dict[str, NDArray[Any]]:
        rows = self.index(points)
        return {name: column[rows] for name, column in self._table.items()}

    @cached_property
    def _table(self) -> dict[str, NDArray[Any]]:
        """The columns as formulas see them: numbers as floats, empty cells among them as NaN; the others as they are."""
        found = {}
        for name in self.names:
            cells = [row[name] for row in self.rows]
            numbers = all(
                cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in cells
            )
            found[name] = np.array(cells, dtype=np.float64) if numbers else _objects(cells)
        return found

    @property
    def dim(self) -> int:
        """The number of cube columns."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def validate(self, option: Mapping[str, object] | Key) -> Option:
        """Return the row of a key, or of a dict that holds a key.

        Args:
            option: The key, or a dict whose other values must be those of the row.

        Returns:
            The whole row.

        Raises:
            SpaceError: There is no such row.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).validate("B")
            {'sku': 'B', 'price': 5}
        """
        return dict(self.rows[self._index(option)])

    def parse(self, text: str) -> Option:
        """Find the row whose key a person wrote.

        Args:
            text: The key as text.

        Returns:
            The whole row.

        Raises:
            SpaceError: There is no such row.

        Examples:
            >>> Catalogue([{"sku": 7, "price": 3}, {"sku": 8, "price": 5}]).parse("8")
            {'sku': 8, 'price': 5}
        """
        if not isinstance(text, str):
            raise SpaceError(f"The key is {as_given(text)}: give it as text.")
        return self.validate(self._written.get(text, text))

    def contains(self, option: Mapping[str, object] | Key) -> bool:
        """Say whether there is such a row.

        Args:
            option: A key, or a dict that holds a key.

        Returns:
            True or False; nothing is raised.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).contains("C")
            False
        """
        try:
            self._index(option)
        except SpaceError:
            return False
        return True

    def encode(self, options: Sequence[Mapping[str, object] | Key]) -> Floats:
        """Map rows to points of the unit cube.

        Args:
            options: Keys, or dicts that hold a key.

        Returns:
            Cube points, (n, dim).

        Raises:
            SpaceError: There is no such row, or no list was given.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).encode(["B", "A"]).tolist()
            [[1.0], [0.0]]
        """
        if isinstance(options, (str, Mapping)) or not isinstance(options, Iterable):
            raise SpaceError("encode() takes a list of rows or keys: give one as [row].")
        return self.X[np.array([self._index(option) for option in options], dtype=np.int64)]

    def index(self, points: ArrayLike) -> NDArray[np.int64]:
        """Find the rows of cube points.

        Args:
            points: Cube points, (n, dim).

        Returns:
            The number of the row at each point, or of the nearest; the first of equals, (n,).

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).index([[0.1], [1.0]]).tolist()
            [0, 1]
        """
        cube = as_cube(points, self.dim)
        found = np.array([self._at.get(key, -1) for key in point_keys(cube)], dtype=np.int64)
        astray = np.flatnonzero(found < 0)
        block = max(1, _BLOCK // self.X.size)
        for start in range(0, len(astray), block):
            part = astray[start : start + block]
            found[part] = sampling.squared_distance(cube[part], self.X).argmin(axis=1)
        return found

    def decode(self, points: ArrayLike) -> list[Option]:
        """Map points of the unit cube to rows.

        Args:
            points: Cube points, (n, dim).

        Returns:
            The row at each point, or the nearest one.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).decode([[0.9]])
            [{'sku': 'B', 'price': 5}]
        """
        return [dict(self.rows[index]) for index in self.index(points)]

    def snap(self, points: ArrayLike) -> Floats:
        """Move points to the nearest row.

        Args:
            points: Cube points, (n, dim).

        Returns:
            The points of rows, (n, dim).

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).snap([[0.9]]).tolist()
            [[1.0]]
        """
        return self.X[self.index(points)]

    def feasible(self, points: ArrayLike | Sequence[Mapping[str, object]]) -> Bools:
        """Say which points may be offered: all, for every point stands for a row.

        Args:
            points: Cube points, (n, dim), or a list of rows or keys.

        Returns:
            True for each, (n,).

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).feasible([[0.5]]).tolist()
            [True]
        """
        given = list(points) if isinstance(points, (list, tuple)) else points
        if isinstance(given, list) and given and isinstance(given[0], (Mapping, str)):
            return np.ones(len(self.encode(given)), dtype=np.bool_)
        return np.ones(len(as_cube(points, self.dim)), dtype=np.bool_)

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """Draw different random rows.

        Args:
            n: How many; at most as many as there are.
            seed: A whole number, or a NumPy generator.

        Returns:
            Their cube points, (n, dim).

        Raises:
            SpaceError: There are fewer rows.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).sample(2).shape
            (2, 1)
        """
        if as_count(n, "n") > len(self):
            raise SpaceError(f"The catalogue has {len(self)} rows and n is {n}: give at most {len(self)}.")
        return self.X[as_generator(seed).permutation(len(self))[:n]]

    def sobol(self, n: int, seed: int = 0, skip: int = 0) -> Floats:
        """Return part of a space-filling order of the rows.

        Each point of a scrambled Sobol sequence takes the nearest row not taken yet; after the last row the order starts again.

        Args:
            n: How many rows.
            seed: The same seed gives the same order.
            skip: How many to leave out at the beginning.

        Returns:
            The cube points of rows ``skip`` to ``skip + n`` of the order, (n, dim).

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).sobol(3).shape
            (3, 1)
        """
        skip = as_count(skip, "skip")
        total = as_count(as_count(n, "n") + skip, "n + skip")
        order = sampling.sobol_order(self.X, min(total, len(self)), seed)
        return self.X[order[np.arange(skip, total) % len(self)]]

    def enumerate(self, limit: int = 10_000) -> Floats:
        """List all rows.

        Args:
            limit: The most rows that there may be.

        Returns:
            Their cube points, (n, dim).

        Raises:
            SpaceError: There are more.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).enumerate().tolist()
            [[0.0], [1.0]]
        """
        if len(self) > as_count(limit, "limit", MOST_LISTED):
            raise SpaceError(
                f"The catalogue has {len(self)} rows, above the limit of {limit}: use sample() or sobol()."
            )
        return self.X

    def to_dict(self) -> dict[str, Any]:
        """Describe the catalogue in JSON-compatible terms.

        Returns:
            A dict that ``from_dict`` reads back.

        Examples:
            >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).to_dict()["key"]
            'sku'
        """
        return {
            "version": VERSION,
            "kind": "catalogue",
            "rows": [dict(row) for row in self.rows],
            "key": self.key,
            "label": self.label,
            "image": self.image,
            "features": None if self.features is None else list(self.features),
        } | ({"objectives": [objective.text for objective in self.objectives]} if self.objectives else {})

    @classmethod
    def recognise(
        cls,
        rows: Iterable[Mapping[str, object]] | str | Path | Any,
        key: str | None = None,
        label: str | None = None,
        image: str | None = None,
        objectives: Iterable[str | Objective] = (),
    ) -> Catalogue:
        """The catalogue of a table as people have it: what its columns are for is found by their names and cells.

        Args:
            rows: As for ``Catalogue``: dicts, the path of a CSV or Excel file, or a data frame.
            key: The column that tells rows apart, if it is known; what is given is not looked for.
            label: The column with the name that people see; empty for none.
            image: The column with picture files; empty for none.
            objectives: As for ``Catalogue``.

        Returns:
            The catalogue, with the key, label, image and features that were recognised.

        Raises:
            SpaceError: The table is empty, or has no column that can be the key.

        Examples:
            >>> rows = [{"id": 1, "name": "Rye", "price": 3}, {"id": 2, "name": "Oat", "price": 4}]
            >>> menu = Catalogue.recognise(rows)
            >>> menu.key, menu.label
            ('id', 'name')
        """
        table = read_table(rows)
        if not table.rows:
            raise SpaceError("The catalogue has no rows: give at least one.")
        for role, name in (("key", key), ("label", label), ("image", image)):
            if name:
                _check_columns(table, {role: name}, None)
        objectives = named(objectives)
        table, found = roles.recognise(table, key or None, label, image, _lacking(table, objectives))
        return cls(table, found.key, found.label, found.image, found.features, objectives)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Catalogue:
        """Build the catalogue that ``to_dict`` described.

        Args:
            record: What ``to_dict`` returned.

        Returns:
            An equal catalogue.

        Raises:
            SpaceError: The record is not one of a catalogue.

        Examples:
            >>> menu = Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}])
            >>> Catalogue.from_dict(menu.to_dict()) == menu
            True
        """
        fields = ("rows", "key", "label", "image", "features")
        check_record(record, "catalogue", fields)
        if not isinstance(record["rows"], Sequence) or isinstance(record["rows"], str):
            # A record may come from a stranger, and a path in it would be read from this machine.
            raise SpaceError("The record of a catalogue has no list of rows: give what to_dict() returned.")
        return cls(**{field: record[field] for field in fields}, objectives=record.get("objectives", ()))

    @cached_property
    def _at(self) -> dict[bytes, int]:
        numbered = zip(point_keys(self.X), range(len(self)), strict=True)
        return dict(reversed(list(numbered)))

    @cached_property
    def _used(self) -> tuple[str, ...]:
        """The columns that are features."""
        return tuple(dict.fromkeys(column.parameter for column in self.columns))

    @cached_property
    def _written(self) -> dict[str, Key]:
        return {str(key): key for key in reversed(self.keys)}

    @cached_property
    def _number(self) -> dict[Key, int]:
        return {key: index for index, key in enumerate(self.keys)}

    def _index(self, option: Mapping[str, object] | Key) -> int:
        row = option if isinstance(option, Mapping) else {self.key: option}
        key = plain(row.get(self.key))
        if isinstance(key, bool) or not isinstance(key, (str, int)) or key not in self._number:
            near = suggestion(key, map(str, self.keys))
            raise SpaceError(f"There is no row with {self.key} = {as_given(key)} in the catalogue. {near}")
        kept = self.rows[self._number[key]]
        for name in self._used if len(row) > 1 else ():
            there = kept[name]
            given = plain(row.get(name, there))
            if type(given) not in (bool, int, float, str) or given != there:
                raise SpaceError(
                    f"The row {as_given(key)} has {as_given(name)} = {as_given(there)} in the catalogue, not {as_given(given)}."
                )
        return self._number[key]


def _objects(cells: list[Any]) -> NDArray[Any]:
    found = np.empty(len(cells), dtype=object)
    found[:] = cells
    return found


def _check_columns(table: Table, roles: Mapping[str, str | None], features: Sequence[str] | None) -> None:
    if features is not None and (
        isinstance(features, (str, bytes, Mapping)) or not isinstance(features, (Sequence, np.ndarray))
    ):
        raise SpaceError(f"features is {as_given(features)}: give a list of column names.")
    asked = [(role, name) for role, name in roles.items() if name is not None or role == "key"]
    wanted = () if features is None else tuple(features)
    known = set(table.columns)
    for role, name in [*asked, *(("features", name) for name in wanted)]:
        if not isinstance(name, str) or name not in known:
            near = suggestion(name, table.columns)
            raise SpaceError(f"{role} names the column {as_given(name)}, which the catalogue does not have. {near}")
    for name, times in Counter(wanted).items():
        if name in roles.values() or times > 1:
            raise SpaceError(
                f"features names {as_given(name)}, which is the key, label or image, or is named twice: leave it out."
            )
    for role, name in asked:
        if all(row[str(name)] is None for row in table.rows):
            raise SpaceError(
                f"The {role} column {as_given(name)} is empty in every row: fill it in, or choose another."
            )


def _lacking(table: Table, objectives: Sequence[Objective]) -> tuple[str, ...]:
    """The columns with empty cells that are objectives by themselves."""
    names = [each.name for each in objectives if each.says_measured or not each.formula]
    return tuple(name for name in names if name in table.columns and any(row[name] is None for row in table.rows))


def _check_keys(table: Table, key: str) -> None:
    seen: dict[Key, int] = {}
    for index, row in enumerate(table.rows):
        value = row[key]
        if value is None:
            raise SpaceError(
                f"{table.place(index)} has no value in the key column {as_given(key)}: give each row a key."
            )
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise SpaceError(f"{table.place(index)} has the key {as_given(value)}: give a text or a whole number.")
        if value in seen:
            raise SpaceError(
                f"{table.place(index)} repeats the key {as_given(value)} of {table.place(seen[value]).lower()}: "
                "keys must differ."
            )
        seen[value] = index
