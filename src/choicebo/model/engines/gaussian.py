"""Gaussians over the whitened values, with the likelihood's curvature: Laplace's approximation, and HMC's coordinates."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import spotrf, spotri, spotrs

from choicebo.errors import NumericalError
from choicebo.model.engines.arrow import ArrowFactor, ArrowInverse, ArrowPrecision, ArrowRoot
from choicebo.model.engines.people import PeopleWhitened
from choicebo.model.engines.whitening import Whitened
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

_LEAST_PRECISION = 0.2
"""The prior alone has precision 1. Lapses make the posterior other than log-concave; no direction gets wider than this."""
_STEP_LENGTHS = np.array(
    [1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.035, 0.025, 0.015, 0.01, 0.005, 0.002, 0.001]
)
"""Shares of a Newton step that are tried, one a lane: a full one may overshoot, because lapses make the posterior other than
log-concave."""
_STEPS_PER_CURVATURE = 3
_NEAR = 0.05
"""A curvature is the mode's if it was found where a step promised less, in nats."""
_ENOUGH = 1e-3
"""Steps that promise less are not taken, in nats: the likelihood has single precision."""
_SMALL = 1200
"""Whitened values of which one product with the whole matrix takes less time than several with its blocks."""
_VARIATIONAL_STEPS = 4
_CURVED_AT = [0, LANES // 2]
"""Of the fixed points, the pair at which the curvature is looked at: it changes less than the slope."""


class Mode(NamedTuple):
    """A point near the mode of the posterior, and the curvature around it."""

    v: Array
    """(n_e, m)"""
    height: float
    """The log-posterior there."""
    factor: Any
    """Lower Cholesky factor of the precision: a matrix, or, of several people, an :class:`ArrowFactor`."""
    gain: float
    """What a further step promises: half the squared length of the slope in the metric of the precision."""

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation at fixed hyperparameters."""
        return self.height - log_determinant(self.factor)


def log_posterior(likelihood: Likelihood, prior: Whitened, v: Array) -> tuple[Array, Array]:
    """Log-density of whitened values ``v: (n_e, m, LANES)`` given the choices, up to a constant, and its gradient."""
    value, gradient = likelihood.value_and_gradient(prior.latent(v.astype(np.float32)))
    return value - 0.5 * (v * v).sum((0, 1)), prior.pulled(gradient) - v


def precision_at(likelihood: Likelihood, prior: Whitened, *points: Array) -> Any:
    """Negative Hessian of the log-posterior at whitened values (n_e, m), averaged over the points; in single precision."""
    if isinstance(prior, PeopleWhitened):
        found = [prior.precision(curvature_of_people(likelihood, prior, point)) for point in points]
        return found[0].averaged(found[1:])
    if not prior.square:
        return _precision_of_features(likelihood, prior, points)
    n_e, m = points[0].shape
    latent = prior.latent(np.stack(points, axis=-1).astype(np.float32))
    curvature = likelihood.curvature(latent[..., 0], n_e)
    for number in range(1, len(points)):
        curvature += likelihood.curvature(latent[..., number], n_e)
    curved = (curvature / np.float32(len(points))).reshape(n_e, m, n_e, m)
    if n_e > 1:
        curved = np.einsum("ad,ambn->dmbn", prior.mixing, curved, optimize=True)
        curved = np.einsum("dmbn,be->dmen", curved, prior.mixing, optimize=True)
    else:
        curved = curved * prior.mixing[0, 0] ** 2
    result = np.empty((n_e, m, n_e, m), dtype=np.float32)
    # Block by block: the factors of different latent dimensions do not mix.
    for d in range(n_e):
        for e in range(d + 1):
            result[d, :, e] = prior.factors[d].T @ np.ascontiguousarray(curved[d, :, e]) @ prior.factors[e]
            if e < d:
                result[e, :, d] = result[d, :, e].T
    flat = result.reshape(n_e * m, n_e * m)
    flat[np.arange(n_e * m), np.arange(n_e * m)] += 1.0
    return flat


def _precision_of_features(likelihood: Likelihood, prior: Whitened, points: tuple[Array, ...]) -> Singles:
    n_e, r = points[0].shape
    result = np.zeros((n_e, r, n_e, r), dtype=np.float32)
    curved = np.zeros((n_e, prior.options, n_e, r), dtype=np.float32)
    for point in points:
        curved += curved_features(likelihood, prior, point) / np.float32(len(points))
    for d in range(n_e):
        for e in range(d + 1):
            result[d, :, e] = prior.factors[d].T @ curved[d, :, e]
            result[e, :, d] = result[d, :, e].T
    flat = result.reshape(n_e * r, n_e * r)
    flat[np.arange(n_e * r), np.arange(n_e * r)] += 1.0
    return 0.5 * (flat + flat.T)


def curved_features(likelihood: Likelihood, prior: Whitened, point: Array) -> Singles:
    """Negative Hessian by the parts times the features, (n_e, m, n_e, size), at whitened values (n_e, size)."""
    latent = prior.latent(point[..., None].astype(np.float32))[..., 0]
    blocks = curvature_of_parts(likelihood, prior.mixing, latent)
    n_e = len(point)
    result = np.empty((n_e, prior.options, n_e, prior.size), dtype=np.float32)
    for d in range(n_e):
        for e in range(n_e):
            result[d, :, e] = blocks[d][e] @ prior.factors[e]
    return result


def curvature_of_parts(likelihood: Likelihood, mixing: Singles, latent: Singles) -> list[list[Any]]:
    """Negative Hessian of the log-likelihood by the parts at ``latent: (n_e + k, m)``: one sparse matrix for two dimensions."""
    n_e = len(mixing)
    blocks = likelihood.sparse_curvature(latent, n_e)
    pairs = [(a, b) for a in range(n_e) for b in range(n_e)]
    return [
        [
            sum((mixing[a, d] * mixing[b, e]) * blocks[a][b] for a, b in pairs if mixing[a, d] and mixing[b, e])
            for e in range(n_e)
        ]
        for d in range(n_e)
    ]


def curvature_of_people(likelihood: Likelihood, prior: PeopleWhitened, point: Array) -> list[list[Any]]:
    """:func:`curvature_of_parts` at whitened values (n_e, size)."""
    latent = prior.latent(point[..., None].astype(np.float32))[..., 0]
    return curvature_of_parts(likelihood, prior.mixing, latent)


def precision_factor(precision: Any, factor: Any = None) -> Any:
    """Lower Cholesky factor of the precision, its eigenvalues raised to the least one allowed where they are below.

    ``factor`` is that of the precision as it is, where it is known.
    """
    if isinstance(precision, ArrowPrecision):
        return precision.factor(_LEAST_PRECISION)[0] if factor is None else factor
    if _factor(precision, -_LEAST_PRECISION) is None:
        values, vectors = eigh(precision, subset_by_value=(-np.inf, _LEAST_PRECISION), check_finite=False)
        raised = precision + (vectors * (_LEAST_PRECISION - values)) @ vectors.T
        # Rounding may leave an eigenvalue a trifle too low, which does no harm.
        return _newton_factor(raised)[0]
    return _newton_factor(precision)[0] if factor is None else factor


def _factor(precision: Singles, shift: float) -> Singles | None:
    """Cholesky factor of the precision with a shifted diagonal; None if it is not positive definite."""
    shifted = precision.copy()
    shifted[np.diag_indices(len(shifted))] += shift
    # The matrix is symmetric: its transpose is in the order that LAPACK works in, and needs no copy.
    factor, failed = spotrf(shifted.T, lower=1, clean=1, overwrite_a=1)
    return None if failed else np.asarray(factor)


def _newton_factor(precision: Any) -> tuple[Any, bool]:
    """The same for a Newton step, which need not be exact: a shift costs less than eigenvalues. Also, whether there was one."""
    if isinstance(precision, ArrowPrecision):
        return precision.factor(_LEAST_PRECISION)
    shift = 0.0
    while (factor := _factor(precision, shift)) is None:
        shift = 2.0 * shift if shift else 0.5
        if shift > 1e30:
            raise NumericalError("The posterior's curvature is not finite; check the options, or try another seed.")
    return factor, shift > 0.0


def climb(likelihood: Likelihood, prior: Whitened, v: Array, factor: Any = None, most: int = 8) -> Mode:
    """Newton steps from ``v: (n_e, m)`` to the mode, until the curvature is the one there, or after ``most`` of them were found.

    With each curvature a few steps are taken, since finding it is what costs; ``factor`` is one to begin with, found nearby.
    """
    value, slope = log_posterior(likelihood, prior, np.repeat(v[..., None], LANES, axis=2))
    height, uphill = float(value[0]), slope[..., 0]
    found, shifted, precision = 0, False, None
    while True:
        first_gain = gain = np.inf
        for number in range(_STEPS_PER_CURVATURE if factor is not None else 0):
            move = solved(factor, uphill.reshape(-1).astype(np.float32))
            gain = 0.5 * float(uphill.reshape(-1) @ move)
            first_gain = gain if number == 0 else first_gain
            if gain < _ENOUGH:
                break
            moved = v[..., None] + move.reshape(*v.shape, 1) * _STEP_LENGTHS
            value, slope = log_posterior(likelihood, prior, moved)
            best = int(np.nan_to_num(value, nan=-np.inf).argmax())
            if not value[best] > height:
                break
            v, height, uphill = moved[..., best], float(value[best]), slope[..., best]
            if best > 3:  # the curvature is another one here
                break
        # Near a saddle a shifted curvature promises little, too.
        near = _ENOUGH if shifted else _NEAR
        if factor is not None and found > 0 and (found == most or first_gain < near):
            return Mode(v, height, precision_factor(precision, None if shifted else factor), gain)
        precision = precision_at(likelihood, prior, v)
        factor, shifted = _newton_factor(precision)
        found += 1


def variational(likelihood: Likelihood, prior: Whitened, v: Array, factor: Any) -> tuple[Array, Any]:
    """The Gaussian nearest to the posterior, from one around ``v: (n_e, size)``: its centre, and the factor of its precision.

    Its slope and its curvature are the posterior's, averaged over itself (Opper and Archambeau 2009), here over fixed points.
    """
    for _ in range(_VARIATIONAL_STEPS):
        away = spread(factor, fixed_points(v.size))
        away = away.reshape(*v.shape, LANES)
        points = v[..., None] + away
        value, slopes = log_posterior(likelihood, prior, points)
        height, slope = value.mean(), slopes.mean(2)
        some = np.moveaxis(points[..., _CURVED_AT], 2, 0)
        factor = precision_factor(precision_at(likelihood, prior, *some))
        move = solved(factor, slope.reshape(-1).astype(np.float32)).reshape(v.shape)
        if 0.5 * float((slope * move).sum()) < _ENOUGH:
            break
        for share in _STEP_LENGTHS[::3]:
            if log_posterior(likelihood, prior, points + share * move[..., None])[0].mean() > height:
                v = v + share * move
                break
    return v, factor


@functools.lru_cache(maxsize=8)
def fixed_points(size: int) -> Singles:
    """Standard normal points (size, LANES) in antithetic pairs, the same whatever the seed."""
    half = np.random.default_rng(0).standard_normal((size, LANES // 2))
    half = half * np.sqrt(size / (half * half).sum(0))
    return np.concatenate([half, -half], axis=1).astype(np.float32)


def solved(factor: Any, x: Singles) -> Singles:
    """The inverse of the precision times ``x: (n,)``."""
    return factor.solve(x) if isinstance(factor, ArrowFactor) else np.asarray(spotrs(factor, x, lower=1)[0])


def spread(factor: Any, x: Singles) -> Singles:
    """Standard normal values ``x: (n, k)`` as those of the Gaussian around its centre."""
    if isinstance(factor, ArrowFactor):
        return factor.spread(x)
    return np.asarray(solve_triangular(factor, x, lower=True, trans="T", check_finite=False))


def covariance_of(factor: Any) -> Any:
    """The inverse of the precision with that lower Cholesky factor."""
    if isinstance(factor, ArrowFactor):
        if len(factor) > _SMALL:
            return ArrowInverse(factor)
        return factor.solve(np.eye(len(factor), dtype=np.float32))
    lower, _ = spotri(factor, lower=1)  # nothing above the diagonal, as in the factor
    inverse = lower + lower.T
    inverse[np.diag_indices(len(inverse))] *= 0.5
    return np.asarray(inverse)


def log_determinant(factor: Any) -> float:
    """Half the logarithm of the precision's determinant."""
    if isinstance(factor, ArrowFactor):
        return factor.log_determinant
    return float(np.log(np.diag(factor), dtype=np.float64).sum())


def root_of_inverse(factor: Any) -> Any:
    """A square root of the covariance, from the Cholesky factor of the precision."""
    if isinstance(factor, ArrowFactor):
        return ArrowRoot(factor)
    root: Singles = solve_triangular(
        factor, np.eye(len(factor), dtype=factor.dtype), lower=True, trans="T", check_finite=False
    )
    return root
