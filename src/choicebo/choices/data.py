"""All answers together, with the options that they are about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.choices import csv_table, files, json_document
from choicebo.choices.choice import Choice, ChoiceLike
from choicebo.choices.frame_table import columns_of
from choicebo.choices.json_document import PlainChoices
from choicebo.choices.options import Array, in_unit_cube, require_dim
from choicebo.choices.positions import index, items, kept_positions
from choicebo.errors import DataError
from choicebo.formatting import as_given, counted
from choicebo.frames import to_frame
from choicebo.notebook_html import MOST_ROWS, table
from choicebo.space.points import distinct

_LIST_OF_CHOICES = "a list of Choice(shown=..., kept=...), even if it is only one"


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
        given = in_unit_cube(X, "X")
        merged_rows, index_map = distinct(given)
        merged = tuple(
            _renumbered(choice, number, index_map) for number, choice in enumerate(_as_choices(choices, len(given)))
        )
        self.__setstate__((merged_rows, merged, index_map))

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
        shown = items(sets, "sets", "a list of arrays, one for each set shown")
        positions_kept = items(kept, "kept", "a list of lists of positions, one for each set")
        if len(shown) != len(positions_kept):
            raise DataError(
                f"{len(shown)} sets but {len(positions_kept)} lists of kept positions were given; "
                "give one list for each set"
            )
        if not shown:
            raise DataError("no sets were given; to begin without choices use ChoiceData(X, [])")
        arrays = [in_unit_cube(options, f"sets[{number}]") for number, options in enumerate(shown)]
        choices = []
        start = 0
        for number, (array, positions) in enumerate(zip(arrays, positions_kept, strict=True)):
            require_dim(array, arrays[0].shape[1], f"sets[{number}]", "sets[0]")
            kept_here = kept_positions(positions, len(array), f"kept[{number}]")
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
            added = in_unit_cube(X_new, "X_new", allow_none=True)
            require_dim(added, self.dim, "X_new", "the data")
            X = np.concatenate([X, added])
        return ChoiceData(X, [*self.choices, choice])

    def with_choices(self, choices: Iterable[ChoiceLike]) -> ChoiceData:
        """Return the data with several more choices about the options already there.

        >>> ChoiceData([[0.0], [0.5], [1.0]]).with_choices([((0, 1), (0,)), ((1, 2), (1, 2))]).n_choices
        2
        """
        return ChoiceData(self.X, [*self.choices, *items(choices, "choices", _LIST_OF_CHOICES)])

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
        numbers = items(choice_indices, "choice_indices")
        return ChoiceData(self.X, [self.choices[self._choice_number(number)] for number in numbers])

    def _choice_number(self, k: Any) -> int:
        number = index(k)
        if number is None or not 0 <= number < len(self.choices):
            accepted = f"give a number from 0 to {len(self.choices) - 1}" if self.choices else "there are no choices"
            raise DataError(f"there is no choice {as_given(k)} among {len(self.choices)} choices; {accepted}")
        return number

    def to_json(self) -> str:
        """Return the data as a JSON document that `from_json` reads back exactly.

        >>> data = ChoiceData([[0.1], [0.7]], [((0, 1), (1,))])
        >>> ChoiceData.from_json(data.to_json()) == data
        True
        """
        return json_document.write_json(self._plain())

    @classmethod
    def from_json(cls, text: str) -> ChoiceData:
        """Read the JSON document that `to_json` writes.

        >>> text = '{"format": "choicebo-choices", "version": 1, "options": [[0.5]], "choices": []}'
        >>> ChoiceData.from_json(text)
        ChoiceData(n_options=1, dim=1, n_choices=0)
        """
        return cls(*json_document.read_json(text))

    def to_csv(self) -> str:
        """Return the data as a CSV table, a row for each option shown, that `from_csv` reads back exactly.

        >>> print(ChoiceData([[0.1], [0.7], [1.0]], [((1, 0), (1,))]).to_csv(), end="")
        choice,option,kept,x0
        0,1,1,0.7
        0,0,0,0.1
        ,2,,1.0
        """
        return csv_table.write_csv(self._plain())

    @classmethod
    def from_csv(cls, text: str) -> ChoiceData:
        """Read a CSV table with the columns choice, option, kept, x0, x1, ...

        >>> ChoiceData.from_csv("choice,option,kept,x0\\n0,0,0,0.1\\n0,1,1,0.7\\n").choices
        (Choice(shown=(0, 1), kept=(1,)),)
        """
        return cls(*csv_table.read_csv(text))

    def to_frame(self, library: str | None = None) -> Any:
        """Return the data as a data frame, a row for each option shown, with the columns of :meth:`to_csv`.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Raises:
            MissingExtraError: Neither is installed.

        >>> ChoiceData([[0.1], [0.7]], [((0, 1), (1,))]).to_frame()["kept"].tolist()
        [False, True]
        """
        return to_frame(columns_of(self.to_csv()), library)

    def _repr_html_(self) -> str:
        rows = [
            [number, ", ".join(map(str, choice.shown)), ", ".join(map(str, choice.kept))]
            for number, choice in enumerate(self.choices[:MOST_ROWS])
        ]
        about = f"{counted(self.n_options, 'option')} with {counted(self.dim, 'input')}"
        caption = f"{counted(self.n_choices, 'choice')} among {about}"
        return table(caption, ["choice", "shown", "kept"], rows, total=self.n_choices)

    def save(self, path: str | Path) -> None:
        """Write the data to a file, as JSON or CSV by the ending of its name.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ChoiceData([[0.1], [0.7]]).save(f"{folder}/answers.csv")
        ...     ChoiceData.load(f"{folder}/answers.csv")
        ChoiceData(n_options=2, dim=1, n_choices=0)
        """
        text = self.to_json() if files.ending(path) == ".json" else self.to_csv()
        files.write_text(path, text)

    @classmethod
    def load(cls, path: str | Path) -> ChoiceData:
        """Read a file that `save` wrote, as JSON or CSV by the ending of its name.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ChoiceData([[0.1], [0.7]]).save(f"{folder}/answers.json")
        ...     ChoiceData.load(f"{folder}/answers.json").dim
        1
        """
        read = cls.from_json if files.ending(path) == ".json" else cls.from_csv
        text = files.read_text(path)
        try:
            return read(text)
        except DataError as error:
            raise DataError(f"{str(path)!r}: {error}") from error

    def _plain(self) -> PlainChoices:
        return PlainChoices(self.X.tolist(), [(list(choice.shown), list(choice.kept)) for choice in self.choices])


def _as_choices(choices: Iterable[ChoiceLike], n_options: int) -> list[Choice]:
    """Return valid choices about n_options options, or raise `DataError` naming the choice by its number."""
    checked = []
    for number, given in enumerate(items(choices, "choices", _LIST_OF_CHOICES)):
        choice = given
        if not isinstance(choice, Choice):
            if not isinstance(given, tuple | list) or len(given) != 2:
                raise DataError(
                    f"choice {number} is {as_given(given)}; give a Choice(shown=..., kept=...) or a pair (shown, kept)"
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
            f"choice {number} shows only copies of one option: {as_given(choice.shown)} are identical, "
            "so the choice says nothing; show at least two different options, or leave the choice out"
        )
    return Choice(shown, tuple(first_kept))
