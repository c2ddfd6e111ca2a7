"""The likelihood of one data set, ready to be evaluated thousands of times: ragged arrays for the compiled loops."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice, ChoiceData
from choicebo.model import native
from choicebo.model.choice_table import MAX_SET
from choicebo.model.likelihood import THRESHOLD
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

KINDS = {"choice": 0, "batch_preference": 1, "pseudo_rational": 2, "noticeable_difference": 3}
_STEP = 0.02
"""Half the distance over which the Hessian is the difference of two gradients, in units of the noise."""
_FINE = 10
"""Nodes for values that are reported."""


class Ragged(NamedTuple):
    """Choices one after the other, without padding."""

    members: NDArray[np.int32]
    """(shown in all,): rows of the options; of each choice the kept ones first."""
    offsets: NDArray[np.int64]
    """(choices + 1,): where each choice begins."""
    kept: NDArray[np.int32]
    """(choices,): how many were kept."""
    log_uniform: Singles
    """(choices,): log-probability of each choice under a uniformly random non-empty subset."""
    counts: Singles
    """(choices,): how often each counts, the weights of equal answers together; 0 leaves it out."""
    lapses: Singles
    """(choices,): the probability that each is a slip."""


class People(NamedTuple):
    """Who the latent values belong to, where several people answered: each of them has values of their own."""

    names: tuple[str | None, ...]
    """Of those who answered, in the order of their first answers; None for answers without a name."""
    of_row: NDArray[np.int64]
    """(m,): for each row of the options, the number of the person whose latent value it is."""
    own: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)
    """(people, personal): rows of each person whose latent values stand for what is personal, -1 where there are fewer than of
    others; see :mod:`~choicebo.model.people`."""

    @property
    def personal(self) -> int:
        """How many whitened values each person has."""
        return int(self.own.shape[1])


class Pairs(NamedTuple):
    """All pairs of options within each choice, and their places in one sparse matrix."""

    first: NDArray[np.int64]
    """(pairs,): a member of a choice, numbered through all choices, ..."""
    moved: NDArray[np.int64]
    """... and the position within the choice of another, or of the same."""
    mirrored: NDArray[np.int64]
    """The pair with the two exchanged."""
    place: NDArray[np.int64]
    """Among the entries of the matrix."""
    columns: NDArray[np.int64]
    """(entries,)"""
    begins: NDArray[np.int64]
    """(options + 1,): where the entries of each row begin."""


@dataclasses.dataclass(frozen=True, eq=False)
class Likelihood:
    """The log-likelihood of all choices of a data set, as a function of the latent values of its options.

    Answers that say the same (the same options shown, in whatever order, and the same kept) are one choice that counts as
    often as all of them together.
    """

    X: Array
    """(m, d): the options that were shown, and those of which something was measured; with :attr:`people`, one row for each
    option and person who saw it."""
    rows: NDArray[np.int64]
    """Which rows of ``data.X`` they are."""
    ragged: Ragged
    place: NDArray[np.int64]
    """(answers,): which of the choices here each choice of the data is."""
    kind: str
    threshold: float = THRESHOLD
    """Of a noticeable difference."""
    people: People | None = None
    """Who answered, where that makes a difference."""
    inducing: NDArray[np.int64] | None = None
    """Rows of ``X`` whose latent values stand for those of all options, which are their conditional means (features);
    ``None`` where every option has a value of its own (square factors)."""

    @classmethod
    def of(
        cls,
        data: ChoiceData,
        kind: str = "choice",
        lapse: float = 0.0,
        *,
        threshold: float = THRESHOLD,
        by_person: bool = False,
        also: NDArray[np.int64] | None = None,
    ) -> Likelihood:
        """The likelihood of ``data``; ``by_person`` where each rater has latent values of their own.

        ``also`` are rows of the data's options that have latent values whether they were shown or not.

        >>> import choicebo as cb
        >>> data = cb.ChoiceData([[0.0], [0.5], [1.0]], [cb.Choice((0, 2), (2,))])
        >>> found = Likelihood.of(data)
        >>> found.rows.tolist(), found.ragged.members.tolist()
        ([0, 2], [1, 0])
        """
        different, place = _merged(data.choices, by_person)
        weights = np.bincount(place, [choice.weight for choice in data.choices])
        sizes = [len(choice.shown) for choice in different]
        shown = np.array([i for c in different for i in (*c.kept, *c.rejected)], dtype=np.int64)
        names = tuple(dict.fromkeys(choice.rater for choice in data.choices)) if by_person else (None,)
        codes = {name: code for code, name in enumerate(names)}
        who = np.repeat([codes[c.rater] if by_person else 0 for c in different], sizes).astype(np.int64)
        keys, members = np.unique(who * len(data.X) + shown, return_inverse=True)
        if also is not None and len(also):
            every = np.union1d(keys, also)
            members = np.searchsorted(every, keys[members])
            keys = every
        rows, of_row = keys % len(data.X), keys // len(data.X)
        ragged = Ragged(
            members.astype(np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.array([len(c.kept) for c in different], dtype=np.int32),
            np.array([-np.log(2.0**size - 1.0) for size in sizes], dtype=np.float32),
            weights.astype(np.float32),
            np.full(len(sizes), lapse, dtype=np.float32),
        )
        people = People(names, of_row) if by_person else None
        return cls(np.asarray(data.X[rows]), rows, ragged, place, kind, threshold, people)

    @property
    def options(self) -> int:
        """How many options there are."""
        return len(self.X)

    @property
    def coordinates(self) -> int:
        """How many whitened values each latent dimension has: one for each option, or for each inducing one.

        With people, those of what all share, followed by those of what is personal, one person after the other.
        """
        shared = self.options if self.inducing is None else len(self.inducing)
        return shared if self.people is None else shared + len(self.people.names) * self.people.personal

    @property
    def choices(self) -> int:
        """How many different choices there are."""
        return len(self.ragged.kept)

    @functools.cached_property
    def once(self) -> Likelihood:
        """The same with each of the different choices counting once, apart from those that are left out."""
        return dataclasses.replace(self, ragged=self.ragged._replace(counts=np.sign(self.ragged.counts)))

    def without(self, number: int) -> Likelihood:
        """The same without one answer of a choice, or without all of it if it counts less than once; the options stay."""
        counts = self.ragged.counts.copy()
        counts[number] = max(counts[number] - 1.0, 0.0)
        return dataclasses.replace(self, ragged=self.ragged._replace(counts=counts))

    def only(self, number: int) -> Likelihood:
        """The likelihood of one choice alone, counting once; the options stay."""
        begin, end = self.ragged.offsets[number : number + 2]
        one = slice(number, number + 1)
        ragged = Ragged(
            self.ragged.members[begin:end].copy(),
            np.array([0, end - begin], dtype=np.int64),
            self.ragged.kept[one].copy(),
            self.ragged.log_uniform[one].copy(),
            np.ones(1, dtype=np.float32),
            self.ragged.lapses[one].copy(),
        )
        return dataclasses.replace(self, ragged=ragged)

    def represented_by(self, inducing: NDArray[np.int64] | None, own: NDArray[np.int64] | None = None) -> Likelihood:
        """The same with other :attr:`inducing` options, and with those that stand for what is personal: (people, personal)."""
        people = self.people if self.people is None or own is None else self.people._replace(own=own)
        return dataclasses.replace(self, inducing=inducing, people=people)

    def lapsing(self, lapses: Array) -> Likelihood:
        """The same with other probabilities of a slip, one for each of the :attr:`people`."""
        if self.people is None:
            raise ValueError("nothing is known of who answered")
        first = self.ragged.members[self.ragged.offsets[:-1]]
        of_choice = lapses[self.people.of_row[first]].astype(np.float32)
        return dataclasses.replace(self, ragged=self.ragged._replace(lapses=of_choice))

    @property
    def lapses(self) -> Array:
        """(people,): the probability of a slip of each of the :attr:`people`."""
        if self.people is None:
            raise ValueError("nothing is known of who answered")
        result = np.empty(len(self.people.names))
        result[self.people.of_row[self.ragged.members[self.ragged.offsets[:-1]]]] = self.ragged.lapses
        return result

    def sample(self, most: int) -> Likelihood:
        """This many of the choices, spread evenly over all, if there are at least twice as many.

        With features only their options stay, and the inducing ones; without, all do. So whitened values mean the same.
        """
        if self.choices <= 2 * most:
            return self
        taken = np.linspace(0, self.choices, most, endpoint=False).astype(np.int64)
        sizes = np.diff(self.ragged.offsets)[taken]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        starts = np.repeat(self.ragged.offsets[taken] - offsets[:-1], sizes)
        members = self.ragged.members[starts + np.arange(offsets[-1])]
        ragged = Ragged(members, offsets, *(part[taken] for part in self.ragged[2:]))
        part = dataclasses.replace(self, ragged=ragged, place=np.arange(most))
        if self.inducing is None:
            return part
        rows = np.union1d(members, self.inducing)
        if self.people is not None:
            rows = np.union1d(rows, self.people.own[self.people.own >= 0])
        ragged = ragged._replace(members=np.searchsorted(rows, members).astype(np.int32))
        inducing = np.searchsorted(rows, self.inducing)
        people = self.people
        if people is not None:
            own = np.where(people.own >= 0, np.searchsorted(rows, people.own), -1)
            people = people._replace(of_row=people.of_row[rows], own=own)
        return dataclasses.replace(
            part, X=self.X[rows], rows=self.rows[rows], ragged=ragged, inducing=inducing, people=people
        )

    def value_and_gradient(self, latent: Singles) -> tuple[Array, Singles]:
        """The log-likelihood of all choices, (LANES,), and its gradient, for ``latent: (n_e, m, LANES)``."""
        values, gradient = self._evaluate(latent, self.ragged, native.NODES)
        return values.sum(0, dtype=np.float64), gradient

    def values(self, latent: Array) -> Array:
        """Log-likelihood (draws, choices) of each choice, counting once, for ``latent: (draws, n_e, m)``."""
        return self._in_lanes(latent, lambda block: self._evaluate(block, self.once.ragged, _FINE)[0])

    def normalised_values(self, latent: Array) -> Array:
        """The same divided by the mass of all non-empty subsets of each set, for sets of up to 12 options.

        Theorem 1 does not sum to one over the subsets, and its sum depends on the number of latent dimensions: only normalised
        values can be compared between them.
        """
        lapses = self.ragged.lapses.astype(np.float64)
        sure = dataclasses.replace(self, ragged=self.ragged._replace(lapses=np.zeros_like(self.ragged.lapses)))
        raw = sure.values(latent)
        if self.kind == "choice":
            raw = raw - self._in_lanes(latent, self._log_masses)
        if not lapses.any():
            return raw
        with np.errstate(divide="ignore"):  # of a person who never slips
            return np.asarray(np.logaddexp(np.log1p(-lapses) + raw, np.log(lapses) + self.ragged.log_uniform))

    def curvature(self, latent: Array, n_e: int | None = None) -> Singles:
        """Negative Hessian at ``latent: (dimensions, m)`` by the first ``n_e`` of them, or by all: (n_e m, n_e m),
        dimension-major."""
        n_e = len(latent) if n_e is None else n_e
        result = np.zeros((n_e * self.options, n_e * self.options), dtype=np.float32)
        for begin, gradient in self._moved_gradients(latent, n_e):
            members, offsets = self.ragged.members, self.ragged.offsets
            native.add_differences(members, offsets, begin, np.float32(-0.5 / _STEP), gradient, result)
        return result

    def sparse_curvature(self, latent: Array, n_e: int | None = None) -> list[list[Any]]:
        """The same as one sparse matrix (m, m) for each pair of latent dimensions: two options that were never shown together
        have no entry."""
        from scipy.sparse import csr_array

        n_e, pairs = len(latent) if n_e is None else n_e, self._pairs
        changes = np.empty((n_e, n_e, len(pairs.first)), dtype=np.float32)
        half = LANES // 2
        for begin, gradient in self._moved_gradients(latent, n_e):
            for d in range(n_e):
                lane = pairs.moved * n_e + d - begin
                at = np.flatnonzero((lane >= 0) & (lane < half))
                up, down = (gradient[:, pairs.first[at], lane[at] + shift] for shift in (0, half))
                changes[:, d, at] = up - down
        # Differences are not symmetric to the last digit.
        changes = (changes + np.swapaxes(changes, 0, 1)[..., pairs.mirrored]) * np.float32(-0.25 / _STEP)
        shape, nonzero = (self.options, self.options), len(pairs.columns)
        return [
            [
                csr_array(
                    (np.bincount(pairs.place, each, nonzero).astype(np.float32), pairs.columns, pairs.begins),
                    shape=shape,
                )
                for each in row
            ]
            for row in changes
        ]

    @functools.cached_property
    def _pairs(self) -> Pairs:
        members, offsets = self.ragged.members.astype(np.int64), self.ragged.offsets
        sizes = np.diff(offsets)
        size = np.repeat(sizes, sizes)  # of the choice of each member
        first = np.repeat(np.arange(len(members)), size)
        begins = np.repeat(np.concatenate([[0], np.cumsum(size)[:-1]]), size)
        moved = np.arange(len(first)) - begins
        start = np.repeat(np.repeat(offsets[:-1], sizes), size)
        own = first - start  # position of the first within its choice
        of_choice = np.repeat(np.concatenate([[0], np.cumsum(sizes**2)[:-1]]), sizes**2)
        mirrored = of_choice + moved * np.repeat(size, size) + own
        keys, place = np.unique(members[first] * self.options + members[start + moved], return_inverse=True)
        rows = np.searchsorted(keys, np.arange(self.options + 1) * self.options)
        return Pairs(first, moved, mirrored, place.reshape(-1), keys % self.options, rows)

    def _moved_gradients(self, latent: Array, n_e: int) -> Iterator[tuple[int, Singles]]:
        """Gradients (n_e, members, LANES) of each choice by the values of its own members, where coordinates of the first
        ``n_e`` dimensions were moved.

        Each choice gets options of its own: in eight lanes one coordinate of every choice goes up, in eight others it goes
        down. The first of these coordinates comes with each.
        """
        members, offsets = self.ragged.members, self.ragged.offsets
        own = self.ragged._replace(members=np.arange(len(members), dtype=np.int32))
        here = np.repeat(latent[:, members, None].astype(np.float32), LANES, axis=2)
        place = (np.arange(len(members)) - np.repeat(offsets[:-1], np.diff(offsets))) * n_e
        half = LANES // 2
        for begin in range(0, int(np.diff(offsets).max()) * n_e, half):
            moved = here.copy()
            for d in range(n_e):
                lane = place + d - begin
                at = np.flatnonzero((lane >= 0) & (lane < half))
                moved[d, at, lane[at]] += _STEP
                moved[d, at, lane[at] + half] -= _STEP
            yield begin, self._evaluate(moved, own, native.NODES)[1][:n_e]

    def _evaluate(self, latent: Singles, ragged: Ragged, nodes: int) -> tuple[Singles, Singles]:
        kind = KINDS[self.kind]
        points, weights = _rule(nodes if kind == 0 else 2 * nodes, kind != 0)
        if self.kind == "noticeable_difference":
            points = np.array([self.threshold], dtype=np.float32)  # all that it needs: nothing is integrated
        values = np.empty((self.choices, LANES), dtype=np.float32)
        gradient = np.empty_like(latent)
        native.log_likelihoods(kind, latent, *ragged, points, weights, values, gradient)
        return values, gradient

    def _log_masses(self, latent: Singles) -> Singles:
        masses = np.empty((self.choices, LANES), dtype=np.float32)
        native.log_masses(latent, self.ragged.members, self.ragged.offsets, MAX_SET, *_rule(_FINE, False), masses)
        return masses

    def _in_lanes(self, latent: Array, function: Any) -> Array:
        draws = len(latent)
        blocks = -(-draws // LANES)
        padded = np.resize(np.arange(draws), blocks * LANES)
        lanes = np.moveaxis(latent[padded].astype(np.float32).reshape(blocks, LANES, *latent.shape[1:]), 1, -1)
        found = [function(np.ascontiguousarray(block)).T for block in lanes]
        return np.concatenate(found)[:draws].astype(np.float64)


def _merged(choices: tuple[Choice, ...], by_person: bool) -> tuple[list[Choice], NDArray[np.int64]]:
    """The different choices in the order of their first occurrence, and for each choice which of them it is."""
    first: dict[tuple[frozenset[int], frozenset[int], str | None], int] = {}
    keys = ((frozenset(c.shown), frozenset(c.kept), c.rater if by_person else None) for c in choices)
    place = [first.setdefault(key, len(first)) for key in keys]
    different = dict(zip(reversed(place), reversed(choices), strict=True))
    return [different[number] for number in range(len(first))], np.array(place, dtype=np.int64)


@functools.cache
def _rule(nodes: int, logarithms: bool) -> tuple[Singles, Singles]:
    """Points and weights of Gauss and Hermite for a standard normal."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    return points.astype(np.float32), (np.log(weights) if logarithms else weights).astype(np.float32)
