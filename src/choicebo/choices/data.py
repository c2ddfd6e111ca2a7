"""All answers together, with the options that they are about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.choices import building, csv_table, files, frames, json_document, kinds
from choicebo.choices.building import ReadChoices
from choicebo.choices.choice import Choice, ChoiceLike
from choicebo.choices.files import FileError
from choicebo.choices.frame_table import columns_of
from choicebo.choices.json_document import PlainChoices
from choicebo.choices.options import Array, in_unit_cube, require_dim, stacked
from choicebo.choices.positions import index, items, kept_positions
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Progress
from choicebo.errors import DataError
from choicebo.formatting import as_given, counted
from choicebo.frames import to_frame
from choicebo.notebook_html import MOST_ROWS, table
from choicebo.space import Catalogue, Space
from choicebo.space.points import distinct

_LIST_OF_CHOICES = "a list of Choice(shown=..., kept=...), even if it is only one"


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class ChoiceData:
    """Options in the unit cube and the choices made among them.

    Rows of X that are exactly equal are one option: the first is retained and the choices are renumbered.

    Args:
        X: The options as points of the unit cube, (m, d).
        choices: The answers, each as `Choice` or as (shown, kept); their indices are rows of X.

    Raises:
        DataError: A value lies outside the unit cube, or a choice names an option that is not there.

    Examples:
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
        found = building.as_choices(items(choices, "choices", _LIST_OF_CHOICES), len(given))
        self._put_together(ReadChoices(given, found, range(len(found)), "choice"))

    def _put_together(self, read: ReadChoices) -> None:
        """Hold options and choices that were checked; equal rows become one option."""
        merged_rows, index_map = distinct(read.X)
        problems = Problems(read.word)
        choices = building.by_rater(read.choices, read.raters)
        merged = building.merged(choices, index_map, problems, read.numbers)
        problems.check()
        self.__setstate__((merged_rows, tuple(merged), index_map))

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

        Args:
            sets: The options of each set shown, (k_i, d).
            kept: The positions kept of each set.

        Returns:
            The options of all sets, equal ones merged, and a choice for each set.

        Raises:
            DataError: Sets and positions do not fit together.

        Examples:
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
                "give one list for each set."
            )
        if not shown:
            raise DataError("No sets were given; to begin without choices use ChoiceData(X, []).")
        X, lengths = stacked(shown, "sets")
        choices = []
        start = 0
        for number, (length, positions) in enumerate(zip(lengths, positions_kept, strict=True)):
            kept_here = kept_positions(positions, length, f"kept[{number}]")
            choices.append((range(start, start + length), [start + position for position in kept_here]))
            start += length
        return cls(X, choices)

    @classmethod
    def from_pairs(
        cls,
        X: ArrayLike,
        pairs: Iterable[tuple[SupportsIndex, SupportsIndex]],
        *,
        undecided: Iterable[tuple[SupportsIndex, SupportsIndex]] = (),
        weights: Iterable[float] | None = None,
    ) -> ChoiceData:
        """Build the data from comparisons of two options.

        A decided pair is a choice of one among two: with one objective, the probit of Chu and Ghahramani; with several, the
        winner beats the loser in every one of them. Between the options of an undecided pair neither beats the other: both are
        kept. With one objective that is half the probability that the person would answer differently when asked twice, largest
        where the two are equally good; a person who sees no difference below some threshold is described by it only roughly.

        Args:
            X: The options, (m, d).
            pairs: (winner, loser) as rows of X, or an array (n, 2).
            undecided: Pairs that the person could not decide; they come after the others.
            weights: How often each pair counts, first those of ``pairs``; None: once.

        Returns:
            The options, and a choice for each pair.

        Raises:
            DataError: A pair does not name two rows of X.

        Examples:
            >>> ChoiceData.from_pairs([[0.1], [0.2], [0.3]], [(2, 0)], undecided=[(0, 1)]).choices
            (Choice(shown=(2, 0), kept=(2,)), Choice(shown=(0, 1), kept=(0, 1)))
        """
        return cls._of(kinds.pairs(X, pairs, undecided, weights))

    @classmethod
    def from_best(
        cls,
        X: ArrayLike,
        shown: Iterable[Iterable[SupportsIndex]],
        best: Iterable[SupportsIndex],
        *,
        weights: Iterable[float] | None = None,
    ) -> ChoiceData:
        """Build the data from single choices: of each set shown, the one option that was chosen.

        Each is a choice that keeps one option, so the chosen one beats each of the others, in every objective. That is much to
        say where a person had to name one and would have kept several: with forced answers, ``latent_dim=1`` is the model of one
        overall value. There, ``likelihood="batch_preference"`` gives the chosen option the same noise in all comparisons.

        Args:
            X: The options, (m, d).
            shown: The options of each set, as rows of X.
            best: The chosen row of X of each set.
            weights: How often each answer counts; None: once.

        Returns:
            The options, and the choices that the answers stand for.

        Raises:
            DataError: An answer names a row that was not shown.

        Examples:
            >>> ChoiceData.from_best([[0.1], [0.2], [0.3]], shown=[(0, 1, 2)], best=[1]).choices
            (Choice(shown=(0, 1, 2), kept=(1,)),)
        """
        return cls._of(kinds.best(X, shown, best, weights))

    @classmethod
    def from_rankings(
        cls,
        X: ArrayLike,
        rankings: Iterable[Iterable[Any]],
        *,
        shown: Iterable[Iterable[SupportsIndex]] | None = None,
        weights: Iterable[float] | None = None,
    ) -> ChoiceData:
        """Build the data from rankings, best first, complete or only of the first few.

        A ranking is read as repeated choice from what is left: the first is kept of all options shown, the second of the others,
        and so on; about options that were not ranked it says only that they come after the last ranked one. Several options at
        one place are kept together: none of them beats another. The likelihood is the product over these choices, with noise
        drawn independently for each, as if the person looked again every time.

        With several objectives this assumes that each ranked option beats all that come after it in every objective. A person
        who can name fronts instead (those that nothing beats, then those that nothing of the rest beats) gives them as ties.

        Args:
            X: The options, (m, d).
            rankings: Rows of X, best first; a list instead of a row is a tie.
            shown: The options of each ranking, if not all of them were ranked.
            weights: How often each ranking counts; None: once.

        Returns:
            The options, and the choices that the rankings stand for.

        Raises:
            DataError: A ranking names a row twice, or one that was not shown.

        Examples:
            >>> data = ChoiceData.from_rankings([[0.1], [0.2], [0.3], [0.4]], [[2, 0]], shown=[[0, 1, 2, 3]])
            >>> data.choices
            (Choice(shown=(0, 1, 2, 3), kept=(2,)), Choice(shown=(0, 1, 3), kept=(0,)))
            >>> ChoiceData.from_rankings([[0.1], [0.2], [0.3]], [[(0, 2), 1]]).choices
            (Choice(shown=(0, 2, 1), kept=(0, 2)),)
        """
        return cls._of(kinds.rankings(X, rankings, shown, weights))

    @classmethod
    def from_best_worst(
        cls,
        X: ArrayLike,
        shown: Iterable[Iterable[SupportsIndex]],
        best: Iterable[SupportsIndex],
        worst: Iterable[SupportsIndex],
        *,
        weights: Iterable[float] | None = None,
    ) -> ChoiceData:
        """Build the data from the best and the worst of each set shown.

        Read as: the best beats each of the others, and each of the others beats the worst. That is one choice that keeps the
        best, and a pair with the worst for each option between; ``2 k - 3`` comparisons of ``k`` options, none of them twice. The
        likelihood is their product, with independent noise for each. It is an approximation of a person who looks at each option
        once and names the extremes of what they saw: that couples the comparisons, but the product treats them as independent.

        With several objectives it assumes that the best is best and the worst is worst in every one of them: use ``latent_dim=1``
        unless the options are that easy to tell apart.

        Args:
            X: The options, (m, d).
            shown: The options of each set, as rows of X.
            best: The best row of X of each set.
            worst: The worst row of X of each set.
            weights: How often each answer counts; None: once.

        Returns:
            The options, and the choices that the answers stand for.

        Raises:
            DataError: An answer names a row that was not shown, or the same as best and worst.

        Examples:
            >>> data = ChoiceData.from_best_worst([[0.1], [0.2], [0.3]], shown=[(0, 1, 2)], best=[1], worst=[0])
            >>> data.choices
            (Choice(shown=(0, 1, 2), kept=(1,)), Choice(shown=(2, 0), kept=(2,)))
        """
        return cls._of(kinds.best_worst(X, shown, best, worst, weights))

    @classmethod
    def from_approvals(
        cls,
        X: ArrayLike,
        approvals: Iterable[tuple[SupportsIndex, bool | None]] | Mapping[int, bool | None],
        *,
        baseline: SupportsIndex,
        weights: Iterable[float] | None = None,
    ) -> ChoiceData:
        """Build the data from options that were compared with a baseline: "better than what I have".

        Each is a pair: an approved option beats the baseline, the baseline beats one that was not approved, and where the person
        could not say neither beats the other. With several objectives a refusal is taken to mean that the option is no better
        in any of them. Where it may also be better in some and worse in others, give ``None``, which says just that.

        Args:
            X: The options, (m, d).
            approvals: (option, answer) with a row of X and True, False, or None for "cannot say"; or a dict of these.
            baseline: The row of X that they were compared with.
            weights: How often each answer counts; None: once.

        Returns:
            The options, and a choice for each comparison with the baseline.

        Raises:
            DataError: An answer names no row of X.

        Examples:
            >>> ChoiceData.from_approvals([[0.1], [0.2], [0.3]], [(1, True), (2, False)], baseline=0).choices
            (Choice(shown=(1, 0), kept=(1,)), Choice(shown=(0, 2), kept=(0,)))
        """
        return cls._of(kinds.approvals(X, approvals, baseline, weights))

    @classmethod
    def from_ratings(
        cls,
        X: ArrayLike,
        sittings: Iterable[Mapping[int, float] | Iterable[tuple[SupportsIndex, float]]],
        *,
        weights: Iterable[float] | None = None,
    ) -> ChoiceData:
        """Build the data from ratings on an ordered scale, as the comparisons that they imply within one sitting.

        Only the order of the ratings counts, and only within a sitting: people use scales differently, and the same person does
        so on another day. Each option beats each one of the next lower rating in that sitting; what else they imply follows from
        that. Equal ratings say nothing about each other, since a scale of a few steps puts much together. The likelihood is the
        product over the pairs, with independent noise for each. With several objectives it assumes that a higher rating means
        better in every one of them: use ``latent_dim=1`` unless that is so. A sitting of equal ratings says nothing.

        Args:
            X: The options, (m, d).
            sittings: For each sitting a dict of ratings by row of X; larger is better.
            weights: How often each sitting counts; None: once.

        Returns:
            The options, and the choices that the ratings imply.

        Raises:
            DataError: A rating is no number, or is about no row of X.

        Examples:
            >>> ChoiceData.from_ratings([[0.1], [0.2], [0.3]], [{0: 5, 1: 3, 2: 3}]).choices
            (Choice(shown=(0, 1), kept=(0,)), Choice(shown=(0, 2), kept=(0,)))
        """
        return cls._of(kinds.ratings(X, sittings, weights))

    @classmethod
    def from_frame(
        cls,
        table: Any,
        kind: str = "choices",
        *,
        columns: Mapping[str, str] | None = None,
        inputs: Sequence[str] | None = None,
        options: Any = None,
        space: Space | Catalogue | None = None,
        baseline: Any = None,
        scale: bool = False,
        progress: Progress | None = None,
    ) -> ChoiceData:
        """Build the data from a table of answers: a pandas or polars data frame, a list of dicts, or a CSV file.

        A long table has a row for each option of an answer, a wide one a row for each answer. These columns are looked for:

        ============== =========================================== ==============================================
        kind           long                                        wide
        ============== =========================================== ==============================================
        ``choices``    choice, kept                                option1, option2, ..., kept
        ``best``       choice, best                                option1, option2, ..., best
        ``best_worst`` choice, best, worst                         option1, option2, ..., best, worst
        ``rankings``   choice, rank (1 is best; may be empty)      rank1, rank2, ..., and option1, ... if more were shown
        ``pairs``                                                  winner, loser, and undecided if there are such
        ``ratings``    rating, and sitting or rater if several
        ``approvals``  approved (may be empty)
        ============== =========================================== ==============================================

        A column ``weight`` says how often an answer counts; one called ``rater`` who gave it. What
        the kinds mean is told by `from_best`, `from_best_worst`, `from_rankings`, `from_pairs`, `from_ratings` and
        `from_approvals`. Flags are 1 or 0, yes or no, true or false.

        All other columns of a long table are inputs; a column ``option``, where there is one, names the option. In a wide table
        the inputs of an option have its column's name in front: ``option1.price``, ``winner.price``; kept, best and worst then
        hold positions counted from 1. With ``options`` or a catalogue the columns hold keys instead, as do kept, best and worst.

        Args:
            table: A data frame, a list of dicts, a dict of columns, or the path or text of a CSV table. Rows are counted from 1.
            kind: What the answers are.
            columns: Columns that are called otherwise, as ``{"choice": "question_id"}``.
            inputs: The columns with inputs, numbers in the unit cube; None: all that are left.
            options: A table of the options, with a column ``option`` for their keys, or called as in the answers.
            space: The space of the options, if they are given in its own units; or the catalogue that has the keys.
            baseline: What approvals compare with: a key, or a dict of inputs.
            scale: Whether each input is scaled from its least to its greatest value, instead of lying in the unit cube.
            progress: Called as ``progress(stage, fraction)`` while a large table is read.

        Returns:
            The options of the table, and its answers as choices.

        Raises:
            DataError: Rows are wrong: they are named together, with what would be right.

        Examples:
            >>> rows = [{"choice": 1, "kept": True, "price": 0.2}, {"choice": 1, "kept": False, "price": 0.9}]
            >>> ChoiceData.from_frame(rows).choices
            (Choice(shown=(0, 1), kept=(0,)),)
            >>> menu = [{"option": "A", "price": 3.0}, {"option": "B", "price": 5.0}]
            >>> ChoiceData.from_frame("winner,loser\\nB,A\\n", "pairs", options=menu, scale=True).X.tolist()
            [[1.0], [0.0]]
        """
        return cls._of(
            frames.read_frame(
                table,
                kind,
                columns=columns,
                inputs=inputs,
                options=options,
                space=space,
                baseline=baseline,
                scale=scale,
                progress=progress,
            )
        )

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
        weights = [choice.weight for choice in self.choices]
        if any(weight != 1.0 for weight in weights):
            digest.update(repr(weights).encode())
        if self.raters:
            digest.update(repr([choice.rater for choice in self.choices]).encode())
        return digest.hexdigest()

    @property
    def raters(self) -> tuple[str, ...]:
        """The names of those who answered, in the order of their first answers; choices without a name are left out.

        Examples:
            >>> ChoiceData([[0.0], [1.0]], [Choice((0, 1), (0,), rater="Bo"), Choice((0, 1), (1,), rater="Ann")]).raters
            ('Bo', 'Ann')
        """
        return tuple(dict.fromkeys(choice.rater for choice in self.choices if choice.rater is not None))

    def of_rater(self, rater: str) -> ChoiceData:
        """Return the data with the choices of one person only; all options remain, with their numbers.

        Args:
            rater: Who answered.

        Returns:
            New data; the old data stays as it is.

        Raises:
            DataError: Nobody of that name answered.

        Examples:
            >>> data = ChoiceData([[0.0], [1.0]], [Choice((0, 1), (0,), rater="Bo"), Choice((0, 1), (1,), rater="Ann")])
            >>> data.of_rater("Ann").choices
            (Choice(shown=(0, 1), kept=(1,), rater='Ann'),)
        """
        found = [number for number, choice in enumerate(self.choices) if choice.rater == rater]
        if not found:
            known = (
                f"those who answered are {', '.join(map(repr, self.raters))}"
                if self.raters
                else "no choice has a rater"
            )
            raise DataError(f"No choice was made by {as_given(rater)}; {known}.")
        return self.subset(found)

    def append(self, choice: ChoiceLike, X_new: ArrayLike | None = None) -> ChoiceData:
        """Return the data with one more choice, which may also be about new options.

        X_new: (k, d). Its rows are numbered n_options, n_options + 1, ... in the choice; a row equal to an
        option already there becomes that option.

        Args:
            choice: The answer, as `Choice` or as (shown, kept).
            X_new: New options, (k, d).

        Returns:
            New data; the old data stays as it is.

        Raises:
            DataError: The choice names an option that is not there.

        Examples:
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

        Args:
            choices: Answers, each as `Choice` or as (shown, kept).

        Returns:
            New data; the old data stays as it is.

        Raises:
            DataError: A choice names an option that is not there.

        Examples:
            >>> ChoiceData([[0.0], [0.5], [1.0]]).with_choices([((0, 1), (0,)), ((1, 2), (1, 2))]).n_choices
            2
        """
        return ChoiceData(self.X, [*self.choices, *items(choices, "choices", _LIST_OF_CHOICES)])

    def without(self, k: SupportsIndex) -> ChoiceData:
        """Return the data without choice k; its options remain.

        Args:
            k: The number of the choice, from 0.

        Returns:
            New data; the old data stays as it is.

        Raises:
            DataError: There is no such choice.

        Examples:
            >>> ChoiceData([[0.0], [0.5]], [((0, 1), (0,)), ((0, 1), (1,))]).without(0).choices
            (Choice(shown=(0, 1), kept=(1,)),)
        """
        dropped = self._choice_number(k)
        return ChoiceData(self.X, self.choices[:dropped] + self.choices[dropped + 1 :])

    def subset(self, choice_indices: Iterable[SupportsIndex]) -> ChoiceData:
        """Return the data with only these choices, in this order; all options remain, with their numbers.

        Args:
            choice_indices: The numbers of the choices, from 0.

        Returns:
            New data; the old data stays as it is.

        Raises:
            DataError: There is no such choice.

        Examples:
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
            raise DataError(f"There is no choice {as_given(k)} among {len(self.choices)} choices; {accepted}.")
        return number

    def to_json(self) -> str:
        """Return the data as a JSON document that `from_json` reads back exactly.

        Returns:
            The document as text.

        Examples:
            >>> data = ChoiceData([[0.1], [0.7]], [((0, 1), (1,))])
            >>> ChoiceData.from_json(data.to_json()) == data
            True
        """
        return json_document.write_json(self._plain())

    @classmethod
    def from_json(cls, text: str) -> ChoiceData:
        """Read the JSON document that `to_json` writes.

        Args:
            text: The document.

        Returns:
            The data that was written.

        Raises:
            DataError: The text is no such document; what is wrong is named.

        Examples:
            >>> text = '{"format": "choicebo-choices", "version": 1, "options": [[0.5]], "choices": []}'
            >>> ChoiceData.from_json(text)
            ChoiceData(n_options=1, dim=1, n_choices=0)
        """
        return cls._of(json_document.read_json(text))

    def to_csv(self) -> str:
        """Return the data as a CSV table, a row for each option shown, that `from_csv` reads back exactly.

        Returns:
            The table as text.

        Examples:
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

        Args:
            text: The table.

        Returns:
            The data that was written.

        Raises:
            DataError: Rows are wrong: they are named together.

        Examples:
            >>> ChoiceData.from_csv("choice,option,kept,x0\\n0,0,0,0.1\\n0,1,1,0.7\\n").choices
            (Choice(shown=(0, 1), kept=(1,)),)
        """
        return cls._of(csv_table.read_csv(text))

    def to_frame(self, library: str | None = None) -> Any:
        """Return the data as a data frame, a row for each option shown, with the columns of `to_csv`.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Returns:
            A data frame of that library.

        Raises:
            MissingExtraError: Neither is installed.

        Examples:
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

        Args:
            path: The file; its name ends in ``.json`` or ``.csv``.

        Raises:
            DataError: The name has another ending, or the file cannot be written.

        Examples:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     ChoiceData([[0.1], [0.7]]).save(f"{folder}/answers.csv")
            ...     ChoiceData.load(f"{folder}/answers.csv")
            ChoiceData(n_options=2, dim=1, n_choices=0)
        """
        text = self.to_json() if files.ending(path) == ".json" else self.to_csv()
        files.write_text(path, text)

    @classmethod
    def load(cls, path: str | Path, *, progress: Progress | None = None) -> ChoiceData:
        """Read a file that `save` wrote, as JSON or CSV by the ending of its name.

        Args:
            path: The file.
            progress: Called as ``progress(stage, fraction)`` while a large file is read.

        Returns:
            The data that was written.

        Raises:
            DataError: The file cannot be read, or is wrong.

        Examples:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     ChoiceData([[0.1], [0.7]]).save(f"{folder}/answers.json")
            ...     ChoiceData.load(f"{folder}/answers.json").dim
            1
        """
        is_json = files.ending(path) == ".json"
        try:
            return cls.from_json(files.read_text(path)) if is_json else cls._of(csv_table.read_file(path, progress))
        except FileError:
            raise
        except DataError as error:
            raise DataError(f"{str(path)!r}: {error}") from error

    @classmethod
    def _of(cls, read: ReadChoices) -> ChoiceData:
        data = cls.__new__(cls)
        data._put_together(read)
        return data

    def _plain(self) -> PlainChoices:
        choices = [(list(choice.shown), list(choice.kept), choice.weight, choice.rater) for choice in self.choices]
        return PlainChoices(self.X.tolist(), choices)
