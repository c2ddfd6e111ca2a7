"""Joint draws of the latent functions at known options, and everything about conditioning on them."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.model.covariance import (
    JITTER,
    Kernel,
    factors,
    kernel_named,
    option_covariance,
    safe_cholesky,
    squared_differences,
)
from choicebo.model.known import Known
from choicebo.model.outlook import Marginals, Path, prior_angles
from choicebo.space.points import point_keys, rows_in

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Seed = int | np.random.Generator

FEATURES = 512
"""Random Fourier features of one path."""
_FEW = 40
"""Up to this many options, comparing all pairs is faster than going through the draws one by one."""


_JOINT = 1024
"""Unknown points whose values are drawn jointly. More are drawn so many at a time: given what the draws know, those of one time
are independent of those of another."""


@dataclasses.dataclass(frozen=True, eq=False)
class OwnValues:
    """Gaussians of the own parts of further options, which the draws know in addition to the options they are at."""

    X: Array
    """(m, d)"""
    mean: Array
    """(orders, n_e, m)"""
    spread: Array
    """(orders, n_e, m)"""
    order: Rows
    """(draws,): which of the orders each draw has."""

    @functools.cached_property
    def _rows(self) -> dict[bytes, int]:
        return {key: row for row, key in enumerate(point_keys(self.X))}

    def rows(self, points: Array) -> Rows:
        """The row of each of ``points: (n, d)`` among the options, or -1."""
        return np.array([self._rows.get(key, -1) for key in point_keys(points)], dtype=np.int64)

    def taken(self, draws: Rows) -> OwnValues:
        """For these draws only."""
        return dataclasses.replace(self, order=self.order[draws])

    def values(self, rows: Rows, deviates: Array) -> Array:
        """Own parts (draws, n_e, n) of some options from ``deviates: (draws, n_e, n)``."""
        return np.asarray(self.mean[..., rows][self.order] + self.spread[..., rows][self.order] * deviates)


@dataclasses.dataclass(frozen=True, eq=False)
class LatentDraws:
    """Joint draws at some options; each draw knows its latent functions there, and is uncertain about them elsewhere.

    The latent functions are combinations of independent parts of unit variance, and a part at the options is its Cholesky
    factor times independent normal values. So a draw learns of one more option by one more row of the factor and one more
    normal value.
    """

    X: Array
    """(m, d): different options."""
    whitened: Array
    """(draws, n_e, m): what the parts at the options are made of."""
    factors: Array
    """(n_e, m, m): Cholesky factors of the parts' covariance."""
    lengthscales: Array
    """(n_e, d)"""
    mixing: Array
    """(n_e, n_e): the latent functions as combinations of the parts, ``f = mixing @ parts``."""
    kernel: str | Kernel
    nugget: float
    own: OwnValues | None = None
    """What is known of further options, if there are too many for the draws to be at all of them."""
    known: Known | None = None
    """Objectives whose latent values are the same in every draw, behind the latent functions everywhere below. Measured ones are
    among the latent functions here, behind the hidden ones; in what the draws are asked for, all objectives have their order."""

    @classmethod
    def of(
        cls,
        X: Array,
        whitened: Array,
        lengthscales: Array,
        mixing: Array,
        kernel: str | Kernel,
        nugget: float,
        known: Known | None = None,
    ) -> LatentDraws:
        """Draws whose factors are still to be computed; the arguments are the fields of the same names."""
        lower = factors(kernel, nugget, squared_differences(X), np.log(lengthscales)).lower
        return cls(X, whitened, lower, lengthscales, mixing, kernel, nugget, known=known)

    @property
    def count(self) -> int:
        """The number of draws."""
        return len(self.whitened)

    @property
    def latent_dim(self) -> int:
        """The number of latent dimensions, those of known objectives included."""
        return self.learned_dim + (0 if self.known is None else len(self.known.of_fixed))

    @property
    def known_dims(self) -> Rows:
        """The latent dimensions that are the same in all draws: the known objectives, but for measured ones."""
        return np.zeros(0, dtype=np.int64) if self.known is None else self.hidden_dim + self.known.of_fixed

    @property
    def hidden_dim(self) -> int:
        """The number of latent dimensions that are neither known nor measured; they are the first."""
        return self.learned_dim - (0 if self.known is None else len(self.known.of_measured))

    @property
    def learned_dim(self) -> int:
        """The number of latent dimensions that have a Gaussian process: the hidden ones, and those of measured objectives."""
        return len(self.factors)

    @property
    def learned_dims(self) -> Rows | slice:
        """Which these are."""
        return slice(self.learned_dim) if self.known is None else self.known.processes(self.hidden_dim)

    @functools.cached_property
    def parts(self) -> Array:
        """(draws, m, n_e): the independent parts of unit variance at the options."""
        return _stacked(self.whitened, np.swapaxes(self.factors, 1, 2))

    @functools.cached_property
    def latent(self) -> Array:
        """(draws, m, n_e): the latent functions at the options, in units of the noise."""
        return self._with_known(np.asarray(self.parts @ self.mixing.T), self.X)

    @functools.cached_property
    def smooth(self) -> Array:
        """(draws, m, n_e): the share of `latent` that depends on the options' inputs, as far as the draws tell."""
        own = (self.nugget + JITTER) * np.moveaxis(self._weights, 0, 2)
        return self._with_known(np.asarray((self.parts - own) @ self.mixing.T), self.X)

    def _with_known(self, hidden: Array, points: Array) -> Array:
        """Latent values (draws, n, n_e) with those of known objectives at ``points: (n, d)``, behind the hidden ones."""
        if self.known is None:
            return hidden
        values = self.known(points)
        fixed = np.broadcast_to(values, (len(hidden), *values.shape))
        if len(self.known.of_measured) == 0:
            return np.concatenate([hidden, fixed], axis=2)
        return np.moveaxis(self.known.arranged(*(np.moveaxis(part, 2, 0) for part in (hidden, fixed))), 0, 2)

    @functools.cached_property
    def _weights(self) -> Array:
        """(n_e, draws, m): ``K^-1 parts``."""
        pairs = zip(self.factors, np.swapaxes(self.whitened, 0, 1), strict=True)
        found = [_solved(lower, white.T, trans="T").T for lower, white in pairs]
        return np.array(found).reshape(self.learned_dim, self.count, len(self.X))

    def taken(self, rows: Rows) -> LatentDraws:
        """These draws only, a draw that is given twice counting twice."""
        own = None if self.own is None else self.own.taken(rows)
        return dataclasses.replace(self, whitened=self.whitened[rows], own=own)

    def hidden_only(self) -> LatentDraws:
        """The same draws of the hidden dimensions alone: these depend on nothing that is known or measured."""
        hidden = self.hidden_dim
        own = self.own
        if own is not None:
            own = dataclasses.replace(own, mean=own.mean[:, :hidden], spread=own.spread[:, :hidden])
        return dataclasses.replace(
            self,
            whitened=self.whitened[:, :hidden],
            factors=self.factors[:hidden],
            lengthscales=self.lengthscales[:hidden],
            mixing=self.mixing[:hidden, :hidden],
            own=own,
            known=None,
        )

    def thinned(self, count: int) -> LatentDraws:
        """At most ``count`` draws, spread evenly over all of them."""
        return self if count >= self.count else self.taken(evenly(self.count, count))

    def core(self, rows: Rows, count: int) -> LatentDraws:
        """The same draws at ``count`` of the options: those in ``rows``, and those that tell most of the rest beyond them.

        The latter are pivots of an incomplete Cholesky factorisation: each is the option that is least known from those before.
        """
        scaled = self.X / self.lengthscales.mean(0) if self.learned_dim else self.X
        chosen, left = [], np.ones(len(self.X))
        columns = np.zeros((len(self.X), count))
        for number in range(count):
            pivot = int(rows[number]) if number < len(rows) else int(left.argmax())
            chosen.append(pivot)
            covariance = option_covariance(
                self.kernel, self.nugget, scaled, scaled[pivot][None], np.ones(self.X.shape[1])
            )
            known = columns[:, :number] @ columns[pivot, :number]
            columns[:, number] = (covariance[:, 0] - known) / math.sqrt(max(left[pivot], self.nugget, JITTER))
            left = np.maximum(left - columns[:, number] ** 2, 0.0)
            left[chosen] = 0.0
        kept = np.sort(np.array(chosen))
        white = self.whitened[:, :, kept]  # to be replaced
        found = LatentDraws.of(
            self.X[kept], white, self.lengthscales, self.mixing, self.kernel, self.nugget, self.known
        )
        parts, whitened = self.parts[:, kept], np.empty_like(white)
        for d, lower in enumerate(found.factors):
            whitened[:, d] = _solved(lower, parts[:, :, d].T).T
        return dataclasses.replace(found, whitened=whitened)

    def moments(self, points: Array) -> tuple[Array, Array]:
        """What each draw knows of the latent functions at ``points: (n, d)``, an option's own part included.

        Returns:
            The conditional means (draws, n, n_e), and the variances (n, n_e), which all draws have in common.
        """
        cross = self._cross(points)
        rest = np.maximum(1.0 - (cross * cross).sum(1), 0.0)
        parts = _stacked(self.whitened, cross)
        if self.own is not None:
            rows = np.where(rows_in(self.X, points) < 0, self.own.rows(points), -1)
            at = np.flatnonzero(rows >= 0)
            parts[:, at] += np.swapaxes(self.own.values(rows[at], np.zeros(1)), 1, 2)
            share = np.bincount(self.own.order, minlength=len(self.own.spread)) / self.count
            rest[:, at] = np.tensordot(share, self.own.spread[..., rows[at]] ** 2, axes=1)
        mean = self._with_known(parts @ self.mixing.T, points)
        variance = np.zeros((len(points), self.latent_dim))
        variance[:, self.learned_dims] = rest.T @ (self.mixing**2).T
        return mean, variance

    def at(self, points: Array, seed: Seed) -> Array:
        """Joint draws (draws, n, n_e) at ``points: (n, d)``; at known options, the draws that are there.

        Equal points are one option and get equal values.
        """
        where = rows_in(self.X, points)
        result = self.latent[:, where][..., self.learned_dims]
        if (where < 0).any():
            fresh, inverse = np.unique(points[where < 0], axis=0, return_inverse=True)
            deviates = self._deviates(len(fresh), seed)
            blocks = [slice(begin, begin + _JOINT) for begin in range(0, len(fresh), _JOINT)]
            found = [self._fresh(fresh[block], deviates[..., block]) @ self.mixing.T for block in blocks]
            result[:, where < 0] = np.concatenate(found, axis=1)[:, inverse.reshape(-1)]
        return self._with_known(result, points)

    def _fresh(self, points: Array, deviates: Array) -> Array:
        """Parts (draws, n, n_e) at different points that the draws are not at, from ``deviates: (draws, n_e, n)``."""
        cross = self._cross(points)
        found = _stacked(self.whitened, cross)
        rows = np.full(len(points), -1) if self.own is None else self.own.rows(points)
        new = np.flatnonzero(rows < 0)
        if len(new):
            rest = np.swapaxes(self._factors_of_rest(points[new], cross[..., new]), 1, 2)
            found[:, new] += _stacked(deviates[..., new], rest)
        if self.own is not None and len(new) < len(points):
            at = np.flatnonzero(rows >= 0)
            found[:, at] += np.swapaxes(self.own.values(rows[at], deviates[..., at]), 1, 2)
        return found

    def extended(self, points: Array, seed: Seed) -> LatentDraws:
        """The draws with ``points: (n, d)`` among the options: each draw imagines what they are worth."""
        points = points[rows_in(self.X, points) < 0]
        added = points[np.sort(np.unique(points, axis=0, return_index=True)[1])]
        if len(added) == 0:
            return self
        deviates = self._deviates(len(added), seed)
        rows = np.full(len(added), -1) if self.own is None else self.own.rows(added)
        order = np.argsort(
            rows < 0, kind="stable"
        )  # those whose own part is known come first: the others follow from them
        added, rows = added[order], rows[order]
        m, total = len(self.X), len(self.X) + len(added)
        cross = self._cross(added)
        lower = np.zeros((self.learned_dim, total, total))
        lower[:, :m, :m] = self.factors
        lower[:, m:, :m] = np.swapaxes(cross, 1, 2)
        lower[:, m:, m:] = self._factors_of_rest(added, cross)
        if self.own is not None and (known := int((rows >= 0).sum())):
            own = self.own.values(rows[:known], deviates[..., :known])
            for d in range(self.learned_dim):
                deviates[:, d, :known] = _solved(lower[d, m : m + known, m : m + known], own[:, d].T).T
        return dataclasses.replace(
            self,
            X=np.concatenate([self.X, added]),
            whitened=np.concatenate([self.whitened, deviates], axis=2),
            factors=lower,
        )

    def marginals(self, seed: int) -> Marginals:
        """All draws as functions of a point, each with a deviate of its own from its conditional mean."""
        identity = np.eye(len(self.X))
        return Marginals(
            X=self.X,
            lengthscales=self.lengthscales,
            mixing=self.mixing,
            kernel=self.kernel,
            nugget=self.nugget,
            known=self.known,
            weights=self._weights,
            whitening=np.array([_solved(lower, identity) for lower in self.factors]).reshape(self.factors.shape),
            deviates=_spread_deviates(self.learned_dim, self.count, seed),
        )

    def path(self, draw: int, seed: int, features: int = FEATURES) -> Path:
        """Draw number ``draw`` as a function of the point."""
        rng = np.random.default_rng(seed)
        dim, n_e = self.X.shape[1], self.learned_dim
        frequency = np.array([frequencies(self.kernel, features, dim, rng) for _ in range(n_e)])
        frequency = frequency.reshape(n_e, features, dim) / self.lengthscales[:, None]
        phase = rng.uniform(0.0, 2.0 * math.pi, (n_e, features))
        amplitude = math.sqrt((1.0 - self.nugget) * 2.0 / features) * rng.standard_normal((n_e, features))
        prior = (np.cos(prior_angles(self.X, frequency, phase)) @ amplitude[:, :, None])[..., 0]
        prior += math.sqrt(self.nugget + JITTER) * rng.standard_normal(prior.shape)
        weights = np.empty_like(prior)
        for d, lower in enumerate(self.factors):
            gap = self.whitened[draw, d] - _solved(lower, prior[d])
            weights[d] = _solved(lower, gap, trans="T")
        return Path(
            X=self.X,
            lengthscales=self.lengthscales,
            mixing=self.mixing,
            kernel=self.kernel,
            nugget=self.nugget,
            known=self.known,
            weights=weights,
            frequency=frequency,
            phase=phase,
            amplitude=amplitude,
        )

    def _covariance(self, d: int, A: Array, B: Array) -> Array:
        return option_covariance(self.kernel, self.nugget, A, B, self.lengthscales[d])

    def _cross(self, points: Array) -> Array:
        """(n_e, m, n): ``L^-1 k(X, points)``, whose product with the whitened draws is the conditional mean."""
        found = [_solved(lower, self._covariance(d, self.X, points)) for d, lower in enumerate(self.factors)]
        return np.array(found).reshape(self.learned_dim, len(self.X), len(points))

    def _factors_of_rest(self, points: Array, cross: Array) -> Array:
        """(n_e, n, n): Cholesky factors of the covariance that is left at different, unknown points."""
        identity = JITTER * np.eye(len(points))
        rest = [self._covariance(d, points, points) - known.T @ known for d, known in enumerate(cross)]
        return np.array([safe_cholesky(each + identity) for each in rest]).reshape(-1, *identity.shape)

    def _deviates(self, points: int, seed: Seed) -> Array:
        return np.random.default_rng(seed).standard_normal((self.count, self.learned_dim, points))


def evenly(total: int, count: int) -> Rows:
    """``count`` of the numbers below ``total``, evenly spread.

    Examples:
        >>> evenly(10, 4).tolist()
        [0, 2, 5, 7]
    """
    return np.linspace(0, total, count, endpoint=False).astype(np.int64)


def memberships(latent: Array) -> NDArray[np.bool_]:
    """Whether each option is non-dominated in each draw: ``latent: (draws, m, n_e)`` -> (draws, m); of equal ones all are.

    Examples:
        >>> memberships(np.array([[[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]]])).tolist()
        [[True, True, False]]
    """
    if latent.shape[2] == 2:
        return _memberships_of_two(latent)
    return _memberships_of_any(latent)


def _memberships_of_two(latent: Array) -> NDArray[np.bool_]:
    """For two latent dimensions: an option is not dominated if, in the second, it surpasses all that are better in the first."""
    order = np.argsort(-latent[..., 0], axis=1)
    first, second = (np.take_along_axis(latent[..., d], order, axis=1) for d in range(2))
    before = np.maximum.accumulate(second, axis=1)[:, :-1]
    in_order = np.ones(second.shape, dtype=np.bool_)
    in_order[:, 1:] = second[:, 1:] > before
    result = np.empty_like(in_order)
    np.put_along_axis(result, order, in_order, axis=1)
    # Level values need a closer look; draws of different options have none.
    level = ((first[:, 1:] == first[:, :-1]) | (second[:, 1:] == before)).any(1)
    result[level] = _memberships_of_any(latent[level])
    return result


def _memberships_of_any(latent: Array) -> NDArray[np.bool_]:
    """For any number of latent dimensions: few options are compared in pairs, more of them draw by draw."""
    if latent.shape[1] > _FEW:
        from choicebo.pareto import non_dominated

        return np.array([non_dominated(values) for values in latent], dtype=np.bool_).reshape(latent.shape[:2])
    as_good = np.ones((*latent.shape[:2], latent.shape[1]), dtype=np.bool_)
    for values in np.moveaxis(latent, 2, 0):
        as_good &= values[:, :, None] >= values[:, None]
    return np.asarray(~(as_good & ~np.swapaxes(as_good, 1, 2)).any(1))


def _stacked(whitened: Array, matrices: Array) -> Array:
    """Products of ``whitened: (draws, n_e, m)`` with one of ``matrices: (n_e, m, n)`` for each part, (draws, n, n_e)."""
    return np.moveaxis(np.swapaxes(whitened, 0, 1) @ matrices, 0, 2)


def _solved(lower: Array, right: Array, trans: str = "N") -> Array:
    return np.asarray(solve_triangular(lower, right, lower=True, trans=trans, check_finite=False))


def _spread_deviates(n_e: int, draws: int, seed: int) -> Array:
    """Normal deviates (n_e, draws) that cover the normal distribution evenly in each row, in random order."""
    from scipy.special import ndtri

    rng = np.random.default_rng(seed)
    even = ndtri((np.arange(draws) + 0.5) / draws)
    return np.array([rng.permutation(even) for _ in range(n_e)]).reshape(n_e, draws)


def frequencies(kernel: str | Kernel, features: int, dim: int, rng: np.random.Generator) -> Array:
    """Draws (features, dim) from the kernel's spectral density at length-scales of one."""
    normal = rng.standard_normal((features, dim))
    freedom = kernel_named(kernel).freedom
    if math.isinf(freedom):
        return normal
    return normal / np.sqrt(rng.chisquare(freedom, features) / freedom)[:, None]
