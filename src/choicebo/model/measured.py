"""Measured objectives: latent dimensions of which some values are known, and which a Gaussian process completes.

The numbers of a measured objective, standardised, are its part at some options, times an amplitude ``a``, seen with a little
noise: ``z_i / a = part(x_i) + tau e_i``. Given the numbers the part is still a Gaussian process. So the engines are handed the
prior *given the numbers* in whitened coordinates, ``part = mean + lower @ w``, where the ``w`` are independent standard normals;
what is left for them to learn from is the choices. The density of the numbers themselves, which depends on the length-scales, the
amplitude and the noise alone, is added to the evidence. ``docs/explanation/model.md`` has the formulas.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.model.covariance import (
    JITTER,
    Factors,
    HyperPrior,
    Kernel,
    covariance_halves,
    factors,
    factors_gradient,
    kernel_named,
    option_covariance,
    safe_cholesky,
    squared_differences,
)
from choicebo.model.features import MOST, FeatureFactors, telling_rows
from choicebo.model.known import Known
from choicebo.space.points import rows_in

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

AMPLITUDE, NOISE = -2, -1
"""Columns of ``Hyperparameters.measured``; those before them are length-scales. The first is about the amplitude less one."""
_MUCH_NOISE = 0.7
_ENOUGH = 100
"""Numbers that say how smooth an objective is, and how well it was measured; more would only take longer."""
_FEWEST = 2
"""A single number says nothing: only differences between options count."""


class Numbers(NamedTuple):
    """What was measured of one objective."""

    rows: Rows
    """(p,): rows of some options."""
    z: Array
    """(p,): their standardised numbers."""


class Conditioned:
    """A part of unit prior variance at some options, given numbers of some of them: ``mean + lower @ w``."""

    def __init__(self, K: Array, numbers: Numbers, log_amplitude: float, log_noise: float) -> None:
        """``K: (m, m)`` is the covariance of the part before anything was measured."""
        self._rows, self._size = numbers.rows, len(K)
        self._variance = float(np.exp(2.0 * log_noise))
        self._target = numbers.z * np.exp(-log_amplitude)
        if len(self._rows) == 0:
            self.lower, self.mean, self.log_evidence = safe_cholesky(K), np.zeros(len(K)), 0.0
            return
        seen = K[np.ix_(self._rows, self._rows)] + self._variance * np.eye(len(self._rows))
        self._root = safe_cholesky(seen)
        self._cross = _solved(self._root, K[self._rows])
        self._white = _solved(self._root, self._target)
        self.mean = self._cross.T @ self._white
        """(m,)"""
        self.lower = safe_cholesky(K - self._cross.T @ self._cross)
        """(m, m)"""
        self.log_evidence = float(
            -0.5 * self._white @ self._white - np.log(np.diag(self._root)).sum() - len(self._rows) * log_amplitude
        )
        """Log-density of the numbers, up to a constant."""

    def gradient(self, inner: Array, by_mean: Array) -> tuple[Array, float, float]:
        """Derivatives by ``K``, by the logarithm of the amplitude and by that of the noise, :attr:`log_evidence` included.

        Of what has the derivative ``by_mean: (m,)`` by the mean and ``B`` by ``lower``; ``inner: (m, m)`` is ``lower^T B``.
        """
        by_covariance = covariance_halves(self.lower, inner)
        by_covariance = 0.5 * (by_covariance + by_covariance.T)
        if len(self._rows) == 0:
            return by_covariance, 0.0, 0.0
        weights = _solved(self._root, self._cross, trans="T")
        alpha = _solved(self._root, self._white, trans="T")
        inverse = _solved(self._root, _solved(self._root, np.eye(len(self._rows))), trans="T")
        by_target = weights @ by_mean - alpha
        by_seen = weights @ by_covariance @ weights.T - np.outer(weights @ by_mean, alpha)
        by_seen += 0.5 * (np.outer(alpha, alpha) - inverse)
        by_cross = np.outer(by_mean, alpha) - 2.0 * by_covariance @ weights.T
        by_K = by_covariance.copy()
        by_K[:, self._rows] += by_cross
        by_K[np.ix_(self._rows, self._rows)] += by_seen
        by_amplitude = -float(by_target @ self._target) - len(self._rows)
        return by_K, by_amplitude, float(2.0 * self._variance * np.trace(by_seen))


class MeasuredPrior:
    """The parts of all measured objectives at some options, given their numbers, at fixed hyperparameters.

    ``base`` are all options, or the inducing ones, from whose values those of all options follow as their conditional means.
    """

    def __init__(
        self,
        kernel: str | Kernel,
        nugget: float,
        squared: Array,
        numbers: tuple[Numbers, ...],
        hyper: Array,
        X: Array | None = None,
        inducing: Rows | None = None,
    ) -> None:
        """``squared`` are the squared differences of the base options, ``hyper: (q, d + 2)`` is ``Hyperparameters.measured``."""
        self._kernel, self._nugget, self._squared = kernel_named(kernel), nugget, squared
        self._log_lengthscale, self._amplitudes = hyper[:, :AMPLITUDE], amplitudes(hyper)
        if X is not None and inducing is not None:
            self._features = FeatureFactors(kernel, nugget, X, inducing, squared, self._log_lengthscale)
            self._base: Factors = self._features.of_inducing
        else:
            self._base = factors(kernel, nugget, squared, self._log_lengthscale)
        K = (1.0 - nugget) * self._kernel.value(self._base.r)
        K[:, np.arange(K.shape[1]), np.arange(K.shape[1])] += nugget + JITTER
        self._given = [
            Conditioned(each, seen, float(np.log(amplitude)), float(own[NOISE]))
            for each, seen, own, amplitude in zip(K, numbers, hyper, self._amplitudes, strict=True)
        ]
        self._featured = inducing is not None
        self.log_evidence = sum(each.log_evidence for each in self._given)
        """Log-density of all numbers, up to a constant."""

    @functools.cached_property
    def lower(self) -> Array:
        """(q, r, r): what maps whitened values to the parts at the base options, ..."""
        return np.stack([each.lower for each in self._given])

    @functools.cached_property
    def mean(self) -> Array:
        """(q, r): ... and what is added to them."""
        return np.stack([each.mean for each in self._given])

    @functools.cached_property
    def factors(self) -> Array:
        """(q, m, r): the same for all options, ..."""
        return (
            np.stack([p @ t for p, t in zip(self._features.phi, self._turned, strict=True)])
            if self._featured
            else self.lower
        )

    @functools.cached_property
    def offset(self) -> Array:
        """(q, m)"""
        return (
            np.stack([p @ s for p, s in zip(self._features.phi, self._shift, strict=True)])
            if self._featured
            else self.mean
        )

    @functools.cached_property
    def left_out(self) -> Array:
        """(q, m): the share of each option's variance that the base options leave out."""
        if not self._featured:
            return np.zeros_like(self.mean)
        told = np.einsum("qmr,qmr->qm", self._features.phi, self._features.phi)
        return np.asarray(np.maximum(1.0 - told, 0.0), dtype=np.float64)

    @functools.cached_property
    def _turned(self) -> list[Array]:
        return [_solved(lower, given.lower) for lower, given in zip(self._base.lower, self._given, strict=True)]

    @functools.cached_property
    def _shift(self) -> list[Array]:
        return [_solved(lower, given.mean) for lower, given in zip(self._base.lower, self._given, strict=True)]

    def unconditioned(self, w: Array) -> Array:
        """Whitened values as those of a part of which nothing was measured: (draws, q, r) both."""
        found = [s + w[:, q] @ t.T for q, (t, s) in enumerate(zip(self._turned, self._shift, strict=True))]
        return np.stack(found, axis=1)

    def conditioned(self, v: Array) -> Array:
        """The inverse of :meth:`unconditioned`."""
        found = [_solved(t, (v[:, q] - s).T).T for q, (t, s) in enumerate(zip(self._turned, self._shift, strict=True))]
        return np.stack(found, axis=1)

    def gradient(self, own: Array, by_offset: Array, damped: Array | float = 1.0) -> tuple[Array, Array]:
        """Derivatives by the hyperparameters (q, d + 2), and by the logarithms of scales (q,) that multiply the parts, as do the
        amplitudes; where a larger scale is damped more, both count for less.

        Of what has the derivative ``by_offset: (q, m)`` by the offsets, and by the factors ``own: (q, m, r)``; where every option
        is a base option, ``own`` is that derivative multiplied by the transposed factors. The density of the numbers is included.
        """
        result = np.empty((len(own), self._log_lengthscale.shape[1] + 2))
        by_scale = np.einsum("qm,qm->q", by_offset, self.offset)
        slopes = (1.0 - self._nugget) * self._kernel.slope(self._base.r)
        for q, given in enumerate(self._given):
            inner, by_mean, by_lengthscale = own[q].astype(np.float64), by_offset[q], np.zeros(len(result[q]) - 2)
            if self._featured:
                by_scale[q] += np.vdot(own[q], self.factors[q])
                inner, by_mean, by_lengthscale = self._of_features(q, inner, by_mean)
            else:
                by_scale[q] += np.trace(inner)
            by_K, result[q, AMPLITUDE], result[q, NOISE] = given.gradient(inner, by_mean)
            by_lengthscale -= np.exp(-2.0 * self._log_lengthscale[q]) * (self._squared @ (by_K * slopes[q]).reshape(-1))
            result[q, :AMPLITUDE] = by_lengthscale
        by_scale = by_scale * damped
        result[:, AMPLITUDE] = (1.0 - 1.0 / self._amplitudes) * (result[:, AMPLITUDE] + by_scale)
        return result, by_scale

    def _of_features(self, q: int, own: Array, by_offset: Array) -> tuple[Array, Array, Array]:
        """What :meth:`Conditioned.gradient` takes, and the derivative by the length-scales through the features alone."""
        lower, turned, shift = self._base.lower[q], self._turned[q], self._shift[q]
        phi = self._features.phi[q].astype(np.float64)
        by_turned, by_shift = phi.T @ own, phi.T @ by_offset
        inner = self._given[q].lower.T @ _solved(lower, by_turned, trans="T")
        one = self._features.one(q)
        through = one.gradient((own @ turned.T + np.outer(by_offset, shift))[None])[0]
        of_base = -(by_turned @ turned.T + np.outer(by_shift, shift))
        ours = slice(q, q + 1)
        base = Factors(self._base.lower[ours], self._base.r[ours])
        through += factors_gradient(
            self._kernel, self._nugget, self._squared, self._log_lengthscale[ours], base, of_base[None]
        )[0]
        return inner, _solved(lower, by_shift, trans="T"), through


def amplitudes(hyper: Array) -> Array:
    """(q,): standard deviations of measured objectives, in units of that of their numbers, from ``hyper: (q, d + 2)``.

    Never less than one: what was measured varies at least as much as its numbers do. A few numbers may be alike by chance.
    """
    return np.asarray(1.0 + np.exp(hyper[:, AMPLITUDE]))


def numbers_of(known: Known | None, X: Array) -> tuple[Numbers, ...]:
    """The numbers of each measured objective at the options ``X: (m, d)``; none where fewer than two are known."""
    if known is None or len(known.of_measured) == 0:
        return ()
    rows, found, places = rows_in(X, known.points), [], known.of_measured
    for values, centre, width in zip(known.values.T, known.centre[places], known.width[places], strict=True):
        seen = np.flatnonzero((rows >= 0) & np.isfinite(values))
        seen = seen if np.isfinite(values).sum() >= _FEWEST else seen[:0]
        found.append(Numbers(rows[seen], (values[seen] - centre) / width))
    return tuple(found)


def learned_from_numbers(
    prior: HyperPrior, kernel: str | Kernel, nugget: float, squared: Array, numbers: tuple[Numbers, ...], dim: int
) -> Array:
    """The most probable hyperparameters (q, d + 2) of measured objectives, by their numbers alone.

    The noise is what it is then; with the other ones the choices begin.
    """
    from scipy.optimize import minimize

    m = int(np.sqrt(squared.shape[1]))
    centre = prior.centre(dim, 0, measured=1)
    found = []
    for seen in numbers:
        if len(seen.rows) == 0:
            found.append(centre.measured[0])
            continue
        if len(seen.rows) > _ENOUGH:
            spread = np.linspace(0, len(seen.rows), _ENOUGH, endpoint=False).astype(np.int64)
            seen = Numbers(seen.rows[spread], seen.z[spread])
        some = squared.reshape(dim, m, m)[np.ix_(np.arange(dim), seen.rows, seen.rows)].reshape(dim, -1)
        there = (Numbers(np.arange(len(seen.rows)), seen.z),)
        nothing = np.zeros((1, len(seen.rows), len(seen.rows))), np.zeros((1, len(seen.rows)))

        def falling(
            vector: Array, some: Array = some, there: Any = there, nothing: Any = nothing
        ) -> tuple[float, Array]:
            hyper = centre._replace(measured=vector[None])
            at = MeasuredPrior(kernel, nugget, some, there, vector[None])
            slope = at.gradient(*nothing)[0][0] + prior.gradient(hyper).measured[0]
            noise = (vector[NOISE] - centre.measured[0, NOISE]) / prior.measurement_noise_spread
            slope[NOISE] -= noise / prior.measurement_noise_spread
            return 0.5 * noise**2 - at.log_evidence - prior.log_density(hyper), -slope

        # Numbers that are all over the place have two explanations: a rough objective, and much noise.
        noisy = centre.measured[0].copy()
        noisy[NOISE] = np.log(_MUCH_NOISE)
        options = {"maxiter": 60}
        ends = [
            minimize(falling, at, jac=True, method="L-BFGS-B", options=options) for at in (centre.measured[0], noisy)
        ]
        found.append(np.asarray(min(ends, key=lambda each: each.fun).x))
    return np.array(found).reshape(len(numbers), dim + 2)


def measured_rows(known: Known | None, X: Array) -> Rows | None:
    """Rows of ``X: (m, d)`` of which something was measured; ``None`` where that makes no difference."""
    if known is None or len(known.of_measured) == 0:
        return None
    rows = rows_in(X, known.points)
    return rows[rows >= 0]


def with_measured(inducing: Rows, X: Array, known: Known | None, kernel: str | Kernel, lengthscales: Array) -> Rows:
    """The inducing options, and those of ``X: (m, d)`` with a number: only these can be told one.

    Of very many the ones that tell most about the others.
    """
    rows = measured_rows(known, X)
    if rows is None:
        return inducing
    if len(rows) > MOST:
        rows = rows[telling_rows(X[rows], kernel, lengthscales, MOST, MOST)[0]]
    return np.union1d(inducing, rows)


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """Measured objectives in their own units: their numbers, and what these predict elsewhere, the mean of a Gaussian process."""

    known: Known
    kernel: str | Kernel
    nugget: float
    hyper: Array
    """(q, d + 2): as in ``Hyperparameters.measured``."""

    def __call__(self, points: Array) -> Array:
        """Values (n, q) at ``points: (n, d)``."""
        predicted = np.column_stack([self._one(q, points) for q in range(len(self.hyper))])
        rows = rows_in(self.known.points, points)
        seen = np.where((rows >= 0)[:, None], self.known.values[rows], np.nan)
        return np.where(np.isnan(seen), predicted, seen)

    def _one(self, q: int, points: Array) -> Array:
        X, weights = self._weights[q]
        cross = option_covariance(self.kernel, self.nugget, points, X, np.exp(self.hyper[q, :AMPLITUDE]))
        return np.asarray(cross @ weights + self.known.centre[self.known.of_measured[q]])

    @functools.cached_property
    def _weights(self) -> list[tuple[Array, Array]]:
        """For each of them options with a number, and what their covariances with a point are multiplied by."""
        known, found = self.known, []
        for q, (place, values) in enumerate(zip(known.of_measured, known.values.T, strict=True)):
            lengthscale, noise = np.exp(self.hyper[q, :AMPLITUDE]), np.exp(2.0 * self.hyper[q, NOISE])
            seen = np.flatnonzero(np.isfinite(values))
            if len(seen) > MOST:
                seen = seen[telling_rows(known.points[seen], self.kernel, lengthscale[None], MOST, MOST)[0]]
            X = known.points[seen]
            K = option_covariance(self.kernel, self.nugget, X, X, lengthscale) + (JITTER + noise) * np.eye(len(X))
            found.append((X, np.linalg.solve(K, values[seen] - known.centre[place])))
        return found


def filled(known: Known, prior: HyperPrior, kernel: str | Kernel, nugget: float) -> Known | None:
    """Measured objectives as known ones: what their numbers alone predict is taken for their values.

    ``None`` where that is not possible yet: not before there are two numbers of each of them.
    """
    numbers = numbers_of(known, known.points)
    if any(len(each.rows) == 0 for each in numbers):
        return None
    squared = squared_differences(known.points)
    hyper = learned_from_numbers(prior, kernel, nugget, squared, numbers, known.points.shape[1])
    return dataclasses.replace(known, fill=Prediction(known, kernel, nugget, hyper))


def _solved(lower: Array, right: Array, trans: str = "N") -> Array:
    return np.asarray(solve_triangular(lower, right, lower=True, trans=trans, check_finite=False))
