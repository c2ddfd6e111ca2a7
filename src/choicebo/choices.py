"""What was answered: the options shown, those kept, and those rejected.

`Choice` is one answer, `ChoiceData` all answers together with the options they are about. Both are immutable;
adding or dropping an answer returns new data.
"""

from __future__ import annotations

import hashlib
import operator
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo import choices_io
from choicebo.errors import DataError

Array: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-9
"""How far an input may lie outside the unit cube and still be taken for a rounding error."""

_LIST_OF_CHOICES = "a list of Choice(shown=..., kept=...), even if it is only one"
_LIST_OF_INDICES = "a list of whole numbers such as [0, 2], even if it is only one"


@dataclass(frozen=True, slots=True, init=False)
class Choice:
    """One answer: of the options shown, those that were kept.

    >>> choice = Choice(shown=(4, 0, 2), kept=[2, 4])
    >>> choice
    Choice(shown=(4, 0, 2), kept=(4, 2))
    >>> choice.rejected
    (0,)
    """

    shown: tuple[int, ...]
    """Indices of the options shown, in the order shown."""
    kept: tuple[int, ...]
    """Indices of the options kept, in the order shown."""

    def __init__(self, shown: Iterable[SupportsIndex], kept: Iterable[SupportsIndex]) -> None:
        all_shown = _indices(shown, "shown")
        all_kept = _indices(kept, "kept")
        _refuse_repetition(all_shown, "shown")
        _refuse_repetition(all_kept, "kept")
        if len(all_shown) < 2:
            raise DataError(
                f"shown={all_shown} is too few: a choice needs at least two options to choose from; show more"
            )
        for option in all_kept:
            if option not in all_shown:
                raise DataError(
                    f"option {option} was kept but not shown: shown={reprlib.repr(all_shown)}; "
                    "keep only options among those shown"
                )
        if not all_kept:
            raise DataError(
                f"nothing was kept of shown={reprlib.repr(all_shown)}; a choice keeps at least one option: "
                "keep one, or leave the choice out if no answer was given"
            )
        among_kept = set(all_kept)
        object.__setattr__(self, "shown", all_shown)
        object.__setattr__(self, "kept", tuple(option for option in all_shown if option in among_kept))

    @property
    def rejected(self) -> tuple[int, ...]:
        """Indices of the options shown and not kept, in the order shown."""
        kept = set(self.kept)
        return tuple(option for option in self.shown if option not in kept)


ChoiceLike: TypeAlias = Choice | tuple[Iterable[SupportsIndex], Iterable[SupportsIndex]]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class ChoiceData:
    """Options in the unit cube and the choices made among them.

    Rows of X that are exactly equal are one option: the first is retained and the choices are renumbered.

    >>> data = ChoiceData([[0.0, 1.0], [0.5, 0.5], [0.0, 1.0]], [Choice(shown=(1, 2), kept=(2,))])
    >>> data
    ChoiceData(n_options=2, dim=2, n_choices=1)
    >>> data.choices
    (Choice(shown=(1, 0), kept=(0,)),)
    >>> data.index_map.tolist()
    [0, 1, 0]
    """

    X: Array
    """The options, read-only: (m, d), no two rows equal."""
    choices: tuple[Choice, ...]
    """The answers in the order given; their indices are rows of X."""
    index_map: NDArray[np.int64] = field(init=False)
    """For each row given, the row of X that it became. Data derived from other data is given the rows of that
    data's X, followed by those of `X_new`."""

    def __init__(self, X: ArrayLike, choices: Iterable[ChoiceLike] = ()) -> None:
        given = _options(X, "X")
        distinct, index_map = _merge_equal_rows(given)
        merged = tuple(
            _renumbered(choice, number, index_map) for number, choice in enumerate(_as_choices(choices, len(given)))
        )
        self.__setstate__((distinct, merged, index_map))

    def __getstate__(self) -> tuple[Array, tuple[Choice, ...], NDArray[np.int64]]:
        return self.X, self.choices, self.index_map

    def __setstate__(self, state: tuple[Array, tuple[Choice, ...], NDArray[np.int64]]) -> None:
        X, choices, index_map = state
        # Pickling forgets that an array is read-only, so the flags are set here, not where arrays are made.
        X.setflags(write=False)
        index_map.setflags(write=False)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "choices", choices)
        object.__setattr__(self, "index_map", index_map)

    @classmethod
    def from_sets(cls, sets: Iterable[ArrayLike], kept: Iterable[Iterable[SupportsIndex]]) -> ChoiceData:
        """Build the data from the sets shown, each (k_i, d), and the positions kept within each.

        >>> data = ChoiceData.from_sets([[[0.1], [0.2]], [[0.2], [0.3], [0.4]]], kept=[[1], [0, 2]])
        >>> data.X.ravel().tolist()
        [0.1, 0.2, 0.3, 0.4]
        >>> data.choices[1]
        Choice(shown=(1, 2, 3), kept=(1, 3))
        """
        shown = _items(sets, "sets", "a list of arrays, one for each set shown")
        positions_kept = _items(kept, "kept", "a list of lists of positions, one for each set")
        if len(shown) != len(positions_kept):
            raise DataError(
                f"{len(shown)} sets but {len(positions_kept)} lists of kept positions were given; "
                "give one list for each set"
            )
        if not shown:
            raise DataError("no sets were given; to begin without choices use ChoiceData(X, [])")
        arrays = [_options(options, f"sets[{number}]") for number, options in enumerate(shown)]
        choices = []
        start = 0
        for number, (array, positions) in enumerate(zip(arrays, positions_kept, strict=True)):
            _require_dim(array, arrays[0].shape[1], f"sets[{number}]", "sets[0]")
            kept_here = _indices(positions, f"kept[{number}]")
            for position in kept_here:
                if position >= len(array):
                    raise DataError(
                        f"kept[{number}] holds the position {position}, but sets[{number}] has {len(array)} "
                        f"options; give positions 0 to {len(array) - 1}"
                    )
            choices.append((range(start, start + len(array)), [start + position for position in kept_here]))
            start += len(array)
        return cls(np.concatenate(arrays), choices)

    @property
    def n_options(self) -> int:
        """The number m of distinct options, also those never shown."""
        return int(self.X.shape[0])

    @property
    def dim(self) -> int:
        """The number d of inputs of an option."""
        return int(self.X.shape[1])

    @property
    def n_choices(self) -> int:
        """The number of answers."""
        return len(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    def __repr__(self) -> str:
        return f"ChoiceData(n_options={self.n_options}, dim={self.dim}, n_choices={self.n_choices})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChoiceData):
            return NotImplemented
        return self.choices == other.choices and np.array_equal(self.X, other.X)

    def __hash__(self) -> int:
        return hash((self.X.shape, self.X.tobytes(), self.choices))

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of options and choices in hexadecimal, the same in every process on every machine."""
        digest = hashlib.sha256(repr(self.X.shape).encode())
        digest.update(self.X.astype("<f8").tobytes())
        digest.update(repr([(choice.shown, choice.kept) for choice in self.choices]).encode())
        return digest.hexdigest()

    def append(self, choice: ChoiceLike, X_new: ArrayLike | None = None) -> ChoiceData:
        """Return the data with one more choice, which may also be about new options.

        X_new: (k, d). Its rows are numbered n_options, n_options + 1, ... in the choice; a row equal to an
        option already there becomes that option.

        >>> data = ChoiceData([[0.0], [0.5]])
        >>> data.append(Choice(shown=(1, 2), kept=(2,)), X_new=[[1.0]])
        ChoiceData(n_options=3, dim=1, n_choices=1)
        """
        X = self.X
        if X_new is not None:
            added = _options(X_new, "X_new", allow_none=True)
            _require_dim(added, self.dim, "X_new", "the data")
            X = np.concatenate([X, added])
        return ChoiceData(X, [*self.choices, choice])

    def with_choices(self, choices: Iterable[ChoiceLike]) -> ChoiceData:
        """Return the data with several more choices about the options already there.

        >>> ChoiceData([[0.0], [0.5], [1.0]]).with_choices([((0, 1), (0,)), ((1, 2), (1, 2))]).n_choices
        2
        """
        return ChoiceData(self.X, [*self.choices, *_items(choices, "choices", _LIST_OF_CHOICES)])

    def without(self, k: SupportsIndex) -> ChoiceData:
        """Return the data without choice k; its options remain.

        >>> ChoiceData([[0.0], [0.5]], [((0, 1), (0,)), ((0, 1), (1,))]).without(0).choices
        (Choice(shown=(0, 1), kept=(1,)),)
        """
        dropped = self._choice_number(k)
        return ChoiceData(self.X, self.choices[:dropped] + self.choices[dropped + 1 :])

    def subset(self, choice_indices: Iterable[SupportsIndex]) -> ChoiceData:
        """Return the data with only these choices, in this order; all options remain, with their numbers.

        >>> data = ChoiceData([[0.0], [0.5]], [((0, 1), (0,)), ((0, 1), (1,)), ((0, 1), (0, 1))])
        >>> [choice.kept for choice in data.subset([2, 0]).choices]
        [(0, 1), (0,)]
        """
        numbers = _items(choice_indices, "choice_indices", _LIST_OF_INDICES)
        return ChoiceData(self.X, [self.choices[self._choice_number(number)] for number in numbers])

    def _choice_number(self, k: Any) -> int:
        number = _index(k)
        if number is None or not 0 <= number < len(self.choices):
            accepted = f"give a number from 0 to {len(self.choices) - 1}" if self.choices else "there are no choices"
            raise DataError(f"there is no choice {k!r} among {len(self.choices)} choices; {accepted}")
        return number

    def to_json(self) -> str:
        """Return the data as a JSON document that `from_json` reads back exactly.

        >>> data = ChoiceData([[0.1], [0.7]], [((0, 1), (1,))])
        >>> ChoiceData.from_json(data.to_json()) == data
        True
        """
        return choices_io.write_json(self._plain())

    @classmethod
    def from_json(cls, text: str) -> ChoiceData:
        """Read the JSON document that `to_json` writes.

        >>> text = '{"format": "choicebo-choices", "version": 1, "options": [[0.5]], "choices": []}'
        >>> ChoiceData.from_json(text)
        ChoiceData(n_options=1, dim=1, n_choices=0)
        """
        return cls(*choices_io.read_json(text))

    def to_csv(self) -> str:
        """Return the data as a CSV table, a row for each option shown, that `from_csv` reads back exactly.

        >>> print(ChoiceData([[0.1], [0.7], [1.0]], [((1, 0), (1,))]).to_csv(), end="")
        choice,option,kept,x0
        0,1,1,0.7
        0,0,0,0.1
        ,2,,1.0
        """
        return choices_io.write_csv(self._plain())

    @classmethod
    def from_csv(cls, text: str) -> ChoiceData:
        """Read a CSV table with the columns choice, option, kept, x0, x1, ...

        >>> ChoiceData.from_csv("choice,option,kept,x0\\n0,0,0,0.1\\n0,1,1,0.7\\n").choices
        (Choice(shown=(0, 1), kept=(1,)),)
        """
        return cls(*choices_io.read_csv(text))

    def save(self, path: str | Path) -> None:
        """Write the data to a file, as JSON or CSV by the ending of its name.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ChoiceData([[0.1], [0.7]]).save(f"{folder}/answers.csv")
        ...     ChoiceData.load(f"{folder}/answers.csv")
        ChoiceData(n_options=2, dim=1, n_choices=0)
        """
        text = self.to_json() if choices_io.ending(path) == ".json" else self.to_csv()
        choices_io.write_text(path, text)

    @classmethod
    def load(cls, path: str | Path) -> ChoiceData:
        """Read a file that `save` wrote, as JSON or CSV by the ending of its name.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ChoiceData([[0.1], [0.7]]).save(f"{folder}/answers.json")
        ...     ChoiceData.load(f"{folder}/answers.json").dim
        1
        """
        read = cls.from_json if choices_io.ending(path) == ".json" else cls.from_csv
        text = choices_io.read_text(path)
        try:
            return read(text)
        except DataError as error:
            raise DataError(f"{str(path)!r}: {error}") from error

    def _plain(self) -> choices_io.PlainChoices:
        return choices_io.PlainChoices(
            self.X.tolist(), [(list(choice.shown), list(choice.kept)) for choice in self.choices]
        )


def unit_scaled(X: ArrayLike, bounds: ArrayLike | None = None) -> Array:
    """Return options scaled column by column to the unit cube; a column that cannot vary becomes 0.5.

    X: (m, d). bounds: (d, 2), the lowest and highest possible value of each column; without them, those in X.

    >>> unit_scaled([[150.0, 5.0], [220.0, 5.0]]).tolist()
    [[0.0, 0.5], [1.0, 0.5]]
    >>> unit_scaled([[150.0], [200.0]], bounds=[(100, 200)]).ravel().tolist()
    [0.5, 1.0]
    """
    values = _matrix(X, "X")
    if bounds is None:
        lower, upper = values.min(axis=0), values.max(axis=0)
    else:
        lower, upper = _limits(bounds, values.shape[1])
        for row, column in np.argwhere((values < lower) | (values > upper)):
            raise DataError(
                f"X[{row}, {column}] = {values[row, column]} lies outside its bounds ({lower[column]}, "
                f"{upper[column]}); widen the bounds or correct the value"
            )
    # Halved, since the distance between two large finite numbers may not be finite.
    span = upper / 2 - lower / 2
    varies = span > 0
    scaled = np.full_like(values, 0.5)
    np.divide(values / 2 - lower / 2, span, out=scaled, where=np.broadcast_to(varies, values.shape))
    return np.clip(scaled, 0.0, 1.0)


def _limits(bounds: ArrayLike, dim: int) -> tuple[Array, Array]:
    """Return the lower and upper bounds, each (d,), or raise `DataError`."""
    accepted = f"give one finite (lower, upper) pair for each column of X, shape {(dim, 2)}"
    try:
        limits = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"bounds is {reprlib.repr(bounds)}; {accepted}") from error
    if limits.shape != (dim, 2):
        raise DataError(f"bounds has shape {limits.shape}; {accepted}")
    for column, (lower, upper) in enumerate(limits):
        if not (np.isfinite(lower) and np.isfinite(upper) and lower <= upper):
            raise DataError(f"bounds[{column}] is ({lower}, {upper}); {accepted}, lower first")
    return limits[:, 0], limits[:, 1]


def _matrix(X: ArrayLike, name: str, *, allow_none: bool = False) -> Array:
    """Return a new finite (m, d) array, or raise `DataError`."""
    accepted = "give an array of shape (m, d): one row for each option, one column for each input"
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError(f"{name} has rows of different lengths; {accepted}") from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} is not numeric (dtype {array.dtype}); {accepted}, with text encoded as numbers")
    if array.ndim == 1 and array.size > 0:
        raise DataError(
            f"{name} has one dimension, shape {array.shape}; reshape it with reshape(-1, 1) if each value is "
            "an option, or reshape(1, -1) if it is a single option"
        )
    if array.ndim == 0 or array.ndim > 2:
        raise DataError(f"{name} has {array.ndim} dimensions, shape {array.shape}; {accepted}")
    if array.shape[0] == 0 and not (allow_none and array.ndim == 2):
        raise DataError(f"{name} has no options, shape {array.shape}; {accepted}, with at least one row")
    if array.shape[1] == 0:
        raise DataError(f"{name} has no columns, shape {array.shape}; {accepted}, with at least one column")
    values = np.array(array, dtype=np.float64, order="C")
    for row, column in np.argwhere(~np.isfinite(values)):
        raise DataError(
            f"{name}[{row}, {column}] is {values[row, column]}, but inputs must be finite numbers; "
            "fill in or leave out that option"
        )
    return values


def _options(X: ArrayLike, name: str, *, allow_none: bool = False) -> Array:
    """Return a new (m, d) array in the unit cube, or raise `DataError`."""
    values = _matrix(X, name, allow_none=allow_none)
    for row, column in np.argwhere((values < -ROUNDING) | (values > 1 + ROUNDING)):
        raise DataError(
            f"{name}[{row}, {column}] = {values[row, column]} lies outside the unit cube; "
            "scale every input to between 0 and 1, for example with choicebo.choices.unit_scaled(X)"
        )
    # Adding zero turns -0.0 into 0.0, so that equal rows have equal bytes.
    return np.clip(values, 0.0, 1.0) + 0.0


def _require_dim(array: Array, dim: int, name: str, other: str) -> None:
    if array.shape[1] != dim:
        raise DataError(
            f"{name} has {array.shape[1]} columns, but {other} has {dim}; give every option the same inputs"
        )


def _merge_equal_rows(X: Array) -> tuple[Array, NDArray[np.int64]]:
    """Return the distinct rows in order of first occurrence, and for each row of X its number among them."""
    number: dict[bytes, int] = {}
    index_map = np.array([number.setdefault(row.tobytes(), len(number)) for row in X], dtype=np.int64)
    first = np.unique(index_map, return_index=True)[1]
    return X[first], index_map


def _as_choices(choices: Iterable[ChoiceLike], n_options: int) -> list[Choice]:
    """Return valid choices about n_options options, or raise `DataError` naming the choice by its number."""
    checked = []
    for number, given in enumerate(_items(choices, "choices", _LIST_OF_CHOICES)):
        choice = given
        if not isinstance(choice, Choice):
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise DataError(
                    f"choice {number} is {reprlib.repr(given)}; give a Choice(shown=..., kept=...) or a pair "
                    "(shown, kept)"
                )
            try:
                choice = Choice(*given)
            except DataError as error:
                raise DataError(f"choice {number}: {error}") from error
        if max(choice.shown) >= n_options:
            raise DataError(
                f"choice {number} shows option {max(choice.shown)}, but there are {n_options} options; "
                f"use indices 0 to {n_options - 1}, or add the option to X"
            )
        checked.append(choice)
    return checked


def _renumbered(choice: Choice, number: int, index_map: NDArray[np.int64]) -> Choice:
    """Return the choice about merged options, or raise `DataError` if merging leaves no consistent choice."""
    merged = {option: int(index_map[option]) for option in choice.shown}
    if all(before == after for before, after in merged.items()):
        return choice
    first_kept = {merged[option]: option for option in reversed(choice.kept)}
    for option in choice.rejected:
        if merged[option] in first_kept:
            raise DataError(
                f"choice {number} contradicts itself: options {first_kept[merged[option]]} and {option} are "
                "identical, but one was kept and the other rejected; keep or reject both, or show only one"
            )
    shown = tuple(dict.fromkeys(merged.values()))
    if len(shown) < 2:
        raise DataError(
            f"choice {number} shows only copies of one option: {reprlib.repr(choice.shown)} are identical, "
            "so the choice says nothing; show at least two different options, or leave the choice out"
        )
    return Choice(shown, tuple(first_kept))


def _items(given: Iterable[Any], name: str, accepted: str) -> list[Any]:
    try:
        return list(given)
    except TypeError as error:
        raise DataError(f"{name} is {reprlib.repr(given)}; give {accepted}") from error


def _indices(given: Iterable[Any], name: str) -> tuple[int, ...]:
    """Return indices as Python integers, or raise `DataError` naming the one that is none."""
    indices = []
    for item in _items(given, name, _LIST_OF_INDICES):
        index = _index(item)
        if index is None or index < 0:
            raise DataError(f"{name} holds {item!r}; give indices of options, whole numbers such as 0, 1, 2")
        indices.append(index)
    return tuple(indices)


def _index(item: Any) -> int | None:
    """Return a Python integer, or None for what is none, which here includes truth values."""
    if isinstance(item, bool):
        return None
    try:
        return operator.index(item)
    except TypeError:
        return None


def _refuse_repetition(indices: tuple[int, ...], name: str) -> None:
    seen: set[int] = set()
    for option in indices:
        if option in seen:
            raise DataError(f"option {option} is twice in {name}={reprlib.repr(indices)}; name each option {name} once")
        seen.add(option)
