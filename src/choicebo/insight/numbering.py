"""One numbering of the hidden objectives, for sentences and pictures alike: the first is the one that varies most."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from choicebo.model.alignment import aligned_orders, order_like, reordered
from choicebo.model.posterior import Posterior
from choicebo.space import Catalogue, Searchable

Array = NDArray[np.float64]

_BACKGROUND = 32
"""Points over which an effect is averaged, in each of two independent samples."""
_SURVEY = 512
"""Points that tell how often each value of a parameter occurs in the space."""
_LEAST_LIKENESS = 0.6
"""An objective counts as the one that was named if their correlation is at least this."""


@dataclasses.dataclass(frozen=True, eq=False)
class Numbering:
    """Some draws of a posterior, and in each of them the order of its latent dimensions."""

    posterior: Posterior
    orders: NDArray[np.intp]
    """(draws, n_e)"""
    seed: int = 0

    @classmethod
    def of(
        cls, posterior: Posterior, samples: Sequence[Array], like: Posterior | None, draws: int, seed: int
    ) -> Numbering:
        """The numbering by spread over the points of two ``samples``, or like that of an earlier posterior."""
        background = np.concatenate(samples)
        latent = _hidden(posterior, background, draws, seed)
        orders = aligned_orders(latent)
        mean = reordered(latent, orders).mean(0)
        if like is None:
            first = np.argsort(-mean.var(0), kind="stable")
        else:
            earlier = cls.of(like, samples, None, draws, seed)
            first = order_like(mean, earlier.latent(background).mean(0))
        return cls(posterior, orders[:, first], seed)

    @property
    def dims(self) -> list[int]:
        """The model's own number of each objective, from 0: the one it has in most draws."""
        return [int(np.bincount(column).argmax()) for column in self.orders.T]

    def latent(self, X: Array) -> Array:
        """(draws, n, n_e): joint draws of the numbered objectives, which are the hidden ones, at ``X: (n, d)``."""
        return reordered(_hidden(self.posterior, X, len(self.orders), self.seed), self.orders)


def _hidden(posterior: Posterior, X: Array, draws: int, seed: int) -> Array:
    """Joint draws of the hidden objectives."""
    return posterior.sample(X, draws=draws, seed=seed)[..., : posterior.latent_dim]


def numbering(
    posterior: Posterior,
    space: Searchable | None = None,
    *,
    like: Posterior | None = None,
    draws: int = 100,
    seed: int = 0,
) -> Numbering:
    """Number the hidden objectives of a posterior as `drivers` does.

    Args:
        posterior: What was learned.
        space: Its Space or Catalogue; None: every input goes from 0 to 1.
        like: An earlier posterior over the same space whose numbering to keep.
        draws: How many draws to look at.
        seed: Of the points over which the spread of an objective is measured.

    Returns:
        The numbering: ``latent(X)`` gives draws of the numbered objectives.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo.insight import numbering
        >>> numbering(posterior, space, draws=20).latent(posterior.options).shape
        (20, 8, 2)
    """
    return Numbering.of(posterior, samples(space, posterior.options.shape[1], seed)[1:], like, draws, seed)


def matched_names(values: Array, patterns: Sequence[Array], names: Sequence[str]) -> list[str]:
    """Which name belongs to which objective; an empty text where none does.

    Args:
        values: (n, n_e): means of the numbered objectives at the options of all patterns, one pattern after the other.
        patterns: What each named objective was worth at its options when it was named.
        names: Of the patterns; a later one stands above an earlier one.

    Examples:
        >>> line = np.linspace(0, 1, 5)
        >>> matched_names(np.column_stack([-line, 3 * line]), [line], ["warmth"])
        ['', 'warmth']
    """
    found = [""] * values.shape[1]
    if not patterns:
        return found
    parts = np.split(values, np.cumsum([len(pattern) for pattern in patterns])[:-1])
    likeness = np.array([_correlations(part, pattern) for part, pattern in zip(parts, patterns, strict=True)])
    for row, column in zip(*linear_sum_assignment(-likeness), strict=True):
        if likeness[row, column] >= _LEAST_LIKENESS:
            found[column] = names[row]
    return found


def _correlations(values: Array, pattern: Array) -> Array:
    """(n_e,): of each column with the pattern; 0 where one of the two does not vary."""
    centred, target = values - values.mean(0), pattern - pattern.mean()
    size = np.sqrt((centred**2).sum(0) * (target**2).sum())
    return np.asarray(np.divide(target @ centred, size, out=np.zeros_like(size), where=size > 1e-12))


def samples(space: Searchable | None, dim: int, seed: int) -> list[Array]:
    """A survey of the space and two samples to average over, independent of each other; all of a small space each time."""
    if isinstance(space, Catalogue):
        rng = np.random.default_rng(seed)
        return [space.X, _some_rows(space.X, _BACKGROUND, rng), _some_rows(space.X, _BACKGROUND, rng)]
    seeds = [int(each) for each in np.random.SeedSequence(seed).generate_state(3)]
    sizes = zip((_SURVEY, _BACKGROUND, _BACKGROUND), seeds, strict=True)
    if space is not None:
        return [np.unique(space.sobol(count, seed=each), axis=0) for count, each in sizes]
    from scipy.stats import qmc

    return [np.asarray(qmc.Sobol(dim, seed=each).random(count)) for count, each in sizes]


def _some_rows(points: Array, count: int, rng: np.random.Generator) -> Array:
    """``count`` rows, each as probable as any other, from different parts of the points; all of them if there are no more.

    The space-filling order of a catalogue would not do: it prefers rows that have few others beside them.
    """
    if len(points) <= count:
        return points
    order = _near_together(points, rng.permutation(len(points)), len(points) / count)
    steps = ((rng.random() + np.arange(count)) * len(points) / count).astype(int)
    return np.asarray(points[order[steps]])


def _near_together(points: Array, rows: NDArray[np.intp], size: float) -> NDArray[np.intp]:
    """The rows in an order of halves, split where they differ most, and halves of those, down to ``size`` rows."""
    if len(rows) <= size:
        return rows
    values = points[rows]
    rows = rows[np.argsort(values[:, values.var(0).argmax()], kind="stable")]
    middle = len(rows) // 2
    return np.concatenate([_near_together(points, part, size) for part in (rows[:middle], rows[middle:])])
