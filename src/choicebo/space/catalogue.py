"""Catalogue: a finite list of things that can be offered, described by their features."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import SpaceError
from choicebo.space import checks
from choicebo.space.columns import Column
from choicebo.space.features import encode_feature, why_dropped
from choicebo.space.protocol import Bools, Floats, Option
from choicebo.space.records import VERSION, check_record
from choicebo.space.table import Row, Table, read_table

Key = str | int
# Bounds the memory of one block of distances: about 64 MB.
_BLOCK = 2**23


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Catalogue:
    """A list of rows with a key each; the columns that are not key, label or image are features.

    Rows come as dicts, a CSV path or a pandas data frame. Numbers are scaled from their least to their
    greatest value, texts and bools become one-hot columns. Two rows with the same features are two options at
    the same cube point; ``decode`` gives the first of them.

    >>> menu = Catalogue([{"sku": "A", "price": 3, "vegan": True}, {"sku": "B", "price": 5, "vegan": False}])
    >>> menu
    Catalogue(2 rows, key='sku', features: price, vegan)
    >>> menu.encode(["A", "B"]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
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

    def __init__(
        self,
        rows: Iterable[Mapping[str, object]] | str | Path | Any,
        key: str = "sku",
        label: str | None = None,
        image: str | None = None,
        features: Sequence[str] | None = None,
    ) -> None:
        table = read_table(rows)
        if not table.rows:
            raise SpaceError("The catalogue has no rows: give at least one.")
        special = {"key": key, "label": label, "image": image}
        for role, name in [*special.items(), *(("features", name) for name in features or ())]:
            if name is not None and name not in table.columns:
                near = checks.suggestion(str(name), table.columns)
                raise SpaceError(
                    f"{role} names the column {name!r}, which the catalogue does not have. {near}"
                )
        _check_keys(table, key)
        empty = {name: "empty in every row" for name in table.columns if _is_empty(table, name)}
        if label in empty or image in empty:
            raise SpaceError("The label or image column is empty in every row: fill it in, or leave it out.")
        wanted = _wanted(table, [name for name in special.values() if name], features, empty)
        dropped = {name: why_dropped(table, name, features is not None) for name in wanted}
        dropped = {**empty, **{name: reason for name, reason in dropped.items() if reason}}
        encoded = [encode_feature(table, name) for name in wanted if name not in dropped]
        if not encoded:
            notes = (
                "; ".join(f"{name!r}: {reason}" for name, reason in dropped.items())
                or "there is no other column"
            )
            raise SpaceError(
                f"The catalogue has no usable feature ({notes}): add a column in which rows differ."
            )
        points = np.concatenate([block for block, _ in encoded], axis=1)
        points.flags.writeable = False
        kept = tuple({name: cell for name, cell in row.items() if name not in empty} for row in table.rows)
        self._set(rows=kept, key=key, label=label, image=image, dropped=dropped, X=points)
        self._set(features=None if features is None else tuple(features))
        self._set(columns=tuple(column for _, columns in encoded for column in columns))

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _identity(self) -> tuple[Hashable, ...]:
        cells = tuple(tuple(row.items()) for row in self.rows)
        return cells, self.key, self.label, self.image, self.features

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Catalogue) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.keys, self.key))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        used = ", ".join(dict.fromkeys(column.parameter for column in self.columns))
        return f"Catalogue({len(self)} row{'s' if len(self) > 1 else ''}, key={self.key!r}, features: {used})"

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The key of each row."""
        return tuple(row[self.key] for row in self.rows)  # type: ignore[misc]

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of every option: the columns of the catalogue."""
        return tuple(self.rows[0])

    @property
    def dim(self) -> int:
        """The number of cube columns."""
        return len(self.columns)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def validate(self, option: Mapping[str, object] | Key) -> Option:
        """The row of a key, or of a dict that holds a key.

        >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).validate("B")
        {'sku': 'B', 'price': 5}
        """
        return dict(self.rows[self._index(option)])

    def contains(self, option: Mapping[str, object] | Key) -> bool:
        """Whether there is such a row."""
        try:
            self._index(option)
        except SpaceError:
            return False
        return True

    def encode(self, options: Sequence[Mapping[str, object] | Key]) -> Floats:
        """Cube points (n, dim) of rows, each given by its key or as a dict that holds its key."""
        if isinstance(options, (str, Mapping)):
            raise SpaceError("encode() takes a list of rows or keys: give one as [row].")
        return self.X[np.array([self._index(option) for option in options], dtype=np.int64)]

    def index(self, points: ArrayLike) -> NDArray[np.int64]:
        """The row numbers (n,) of cube points: the row at that point, or the nearest; the first of equals.

        >>> Catalogue([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}]).index([[0.1], [1.0]]).tolist()
        [0, 1]
        """
        cube = checks.as_cube(points, self.dim)
        # Adding 0.0 gives -0.0 and 0.0 the same bytes.
        found = np.array([self._at.get(point.tobytes(), -1) for point in cube + 0.0], dtype=np.int64)
        astray = np.flatnonzero(found < 0)
        block = max(1, _BLOCK // self.X.size)
        for start in range(0, len(astray), block):
            part = astray[start : start + block]
            found[part] = _squared_distance(cube[part], self.X).argmin(axis=1)
        return found

    def decode(self, points: ArrayLike) -> list[Option]:
        """The rows of cube points (n, dim): the row at that point, or the nearest one."""
        return [dict(self.rows[index]) for index in self.index(points)]

    def snap(self, points: ArrayLike) -> Floats:
        """The nearest row's cube point for each of ``points``: (n, dim)."""
        return self.X[self.index(points)]

    def feasible(self, points: ArrayLike | Sequence[Mapping[str, object]]) -> Bools:
        """Always true, (n,): every point stands for a row, and every row may be offered."""
        given = list(points) if isinstance(points, (list, tuple)) else points
        if isinstance(given, list) and given and isinstance(given[0], (Mapping, str)):
            return np.ones(len(self.encode(given)), dtype=np.bool_)
        return np.ones(len(checks.as_cube(points, self.dim)), dtype=np.bool_)

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """``n`` different random rows, as cube points (n, dim)."""
        if checks.count(n, "n") > len(self):
            raise SpaceError(f"The catalogue has {len(self)} rows and n is {n}: give at most {len(self)}.")
        return self.X[np.random.default_rng(seed).permutation(len(self))[:n]]

    def sobol(self, n: int, seed: int = 0, skip: int = 0) -> Floats:
        """Rows ``skip`` to ``skip + n`` of a space-filling order, as cube points (n, dim).

        Each point of a scrambled Sobol sequence takes the nearest row not taken yet; after the last row the
        order starts again.
        """
        from scipy.stats import qmc

        skip = checks.count(skip, "skip")
        total = checks.count(n, "n") + skip
        length = min(total, len(self))
        if not total:
            return self.X[:0]
        engine = qmc.Sobol(self.dim, scramble=True, seed=np.random.default_rng(seed))
        targets = engine.random(2 ** int(np.ceil(np.log2(length))))[:length]
        free = np.zeros(len(self))
        order = np.empty(length, dtype=np.int64)
        for place, target in enumerate(targets):
            order[place] = (_squared_distance(target[None], self.X)[0] + free).argmin()
            free[order[place]] = np.inf
        return self.X[order[np.arange(skip, total) % len(self)]]

    def enumerate(self, limit: int = 10_000) -> Floats:
        """All rows as cube points (n, dim), if there are at most ``limit``."""
        if len(self) > limit:
            raise SpaceError(
                f"The catalogue has {len(self)} rows, above the limit of {limit}: use sample() or sobol()."
            )
        return self.X

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible description that ``from_dict`` reads back."""
        return {
            "version": VERSION,
            "kind": "catalogue",
            "rows": [dict(row) for row in self.rows],
            "key": self.key,
            "label": self.label,
            "image": self.image,
            "features": None if self.features is None else list(self.features),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Catalogue:
        """The catalogue that ``to_dict`` described."""
        fields = ("rows", "key", "label", "image", "features")
        check_record(record, "catalogue", fields)
        return cls(**{field: record[field] for field in fields})

    @cached_property
    def _at(self) -> dict[bytes, int]:
        numbered = zip(self.X, range(len(self)), strict=True)
        return {point.tobytes(): index for point, index in reversed(list(numbered))}

    @cached_property
    def _number(self) -> dict[Key, int]:
        return {key: index for index, key in enumerate(self.keys)}

    def _index(self, option: Mapping[str, object] | Key) -> int:
        given = option.get(self.key) if isinstance(option, Mapping) else option
        key = checks.plain(given)
        if isinstance(key, bool) or not isinstance(key, (str, int)) or key not in self._number:
            near = checks.suggestion(str(key), map(str, self.keys))
            raise SpaceError(f"There is no row with {self.key} = {key!r} in the catalogue. {near}")
        index = self._number[key]
        for name, value in option.items() if isinstance(option, Mapping) else ():
            if name not in self.rows[index] or checks.plain(value) != self.rows[index][name]:
                there = repr(self.rows[index].get(name, "no such column"))
                raise SpaceError(
                    f"The row {key!r} is given with {name!r} = {value!r}; the catalogue has {there}."
                )
        return index


def _squared_distance(points: Floats, rows: Floats) -> Floats:
    total = np.zeros((len(points), len(rows)))
    for left, right in zip(points.T, rows.T, strict=True):
        total += (left[:, None] - right[None, :]) ** 2
    return total


def _is_empty(table: Table, name: str) -> bool:
    return all(row[name] is None for row in table.rows)


def _wanted(
    table: Table, special: Sequence[str], features: Sequence[str] | None, empty: Mapping[str, str]
) -> list[str]:
    if features is None:
        return [name for name in table.columns if name not in special and name not in empty]
    for name in features:
        if name in special or features.count(name) > 1:
            raise SpaceError(f"features names {name!r}, which is the key, label or image, or is named twice.")
    return [name for name in features if name not in empty]


def _check_keys(table: Table, key: str) -> None:
    seen: dict[Key, int] = {}
    for index, row in enumerate(table.rows):
        value = row[key]
        if value is None:
            raise SpaceError(
                f"{table.place(index)} has no value in the key column {key!r}: give each row a key."
            )
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise SpaceError(f"{table.place(index)} has the key {value!r}: give a text or a whole number.")
        if value in seen:
            raise SpaceError(
                f"{table.place(index)} repeats the key {value!r} of {table.place(seen[value]).lower()}: "
                "keys must differ."
            )
        seen[value] = index
