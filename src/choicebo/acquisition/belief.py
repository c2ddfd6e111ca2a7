"""Draws of the latent functions at known options, and what they say of any other point.

An acquisition looks at thousands of points, so the draws are arranged once for it: the value of draw ``s`` at a new point
is its conditional mean plus a fixed normal deviate times the conditional standard deviation. That is smooth in the point,
and its derivatives are exact.

A point is judged by the part of the latent functions that depends on the inputs. An option's own part, the nugget, cannot be
searched for; were it counted, a copy of the best option would always look like a chance.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from choicebo.model.batching import option_capacity
from choicebo.model.kernels import JITTER, covariance, option_covariance, safe_cholesky
from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

DRAWS = 128
"""Draws that an acquisition averages over: enough for a ranking of points, few enough for thousands of points."""
FEATURES = 512
"""Random Fourier features of one path; see :class:`Paths`."""


class Marginals(NamedTuple):
    """Conditional distributions of the draws at any point; padded to a few sizes, so that compiled code is reused."""

    X: jax.Array
    """(options, d)"""
    weights: jax.Array
    """(n_e, draws, options): ``K^-1 parts`` of each draw; zero for padding."""
    precision: jax.Array
    """(n_e, options, options): ``K^-1`` of unit variance; zero for padding."""
    lengthscale: jax.Array
    """(n_e, d)"""
    mixing: jax.Array
    """(n_e, n_e): latent functions from their independent parts of unit variance."""
    deviates: jax.Array
    """(draws, n_e)"""


class Paths(NamedTuple):
    """One draw as a function: random Fourier features of the prior, corrected to pass through the draw (Matheron's rule)."""

    X: jax.Array
    weights: jax.Array
    """(n_e, options): ``K^-1 (part - prior function)``."""
    lengthscale: jax.Array
    mixing: jax.Array
    frequency: jax.Array
    """(n_e, features, d), in units of the inverse length-scales."""
    phase: jax.Array
    """(n_e, features)"""
    amplitude: jax.Array
    """(n_e, features)"""


Outlook = Marginals | Paths


def latent_at(kernel: str, nugget: float, outlook: Outlook, points: jax.Array) -> jax.Array:
    """Latent values (n, draws, n_e) at ``points: (n, d)``; a path has one draw."""
    parts = []
    for d in range(outlook.lengthscale.shape[0]):
        k = (1.0 - nugget) * covariance(kernel, points, outlook.X, outlook.lengthscale[d])
        if isinstance(outlook, Paths):
            angle = points / outlook.lengthscale[d] @ outlook.frequency[d].T + outlook.phase[d]
            path = jnp.cos(angle) @ outlook.amplitude[d] + k @ outlook.weights[d]
            parts.append(path[:, None])
        else:
            known = ((k @ outlook.precision[d]) * k).sum(1)
            # Nothing is left to be learned at a known option: what its own part hides of the rest is left out, too.
            deviation = jnp.sqrt(jnp.maximum((1.0 - nugget) ** 2 - known, 1e-8))
            mean = k @ outlook.weights[d].T
            parts.append(mean + deviation[:, None] * outlook.deviates[:, d])
    return (jnp.stack(parts, axis=-1) @ outlook.mixing.T).astype(jnp.float32)


@dataclasses.dataclass(frozen=True, eq=False)
class Belief:
    """Joint draws at the options known so far, pending ones included."""

    X: Array
    """(m, d)"""
    latent: Array
    """(draws, m, n_e), in units of the noise."""
    lengthscales: Array
    mixing: Array
    """(n_e, n_e), lower triangular: latent functions from their independent parts of unit variance."""
    kernel: str
    nugget: float

    @classmethod
    def of(cls, posterior: Posterior, draws: int = DRAWS) -> Belief:
        """The posterior's draws, thinned evenly over all chains."""
        chains, length = posterior.whitened.shape[:2]
        flat = np.swapaxes(posterior.whitened, 0, 1).reshape(chains * length, *posterior.whitened.shape[2:])
        chosen = np.linspace(0, len(flat), min(draws, len(flat)), endpoint=False).astype(int)
        bare = cls(
            posterior.options,
            np.zeros((len(chosen), len(posterior.options), posterior.latent_dim)),
            posterior.lengthscales,
            posterior.mixing,
            posterior.spec.kernel,
            posterior.spec.nugget,
        )
        parts = [flat[chosen, d] @ factor.T for d, factor in enumerate(bare.factors)]
        return dataclasses.replace(bare, latent=np.stack(parts, axis=-1) @ bare.mixing.T)

    @property
    def n_e(self) -> int:
        """The number of latent dimensions."""
        return int(self.latent.shape[2])

    @functools.cached_property
    def factors(self) -> tuple[Array, ...]:
        """Cholesky factor of the options' unit-variance covariance, one per latent dimension."""
        identity = JITTER * np.eye(len(self.X))
        return tuple(safe_cholesky(self._covariance(self.X, self.X, row) + identity) for row in self.lengthscales)

    @functools.cached_property
    def parts(self) -> Array:
        """(draws, m, n_e): the independent parts of unit variance that the latent values are combined of."""
        rows = self.latent.reshape(-1, self.n_e)
        return np.asarray(solve_triangular(self.mixing, rows.T, lower=True).T).reshape(self.latent.shape)

    @functools.cached_property
    def smooth(self) -> Array:
        """(draws, m, n_e): the part of the draws that depends on the options' inputs, as far as the draws tell."""
        parts = []
        for d, factor in enumerate(self.factors):
            own = (self.nugget + JITTER) * cho_solve((factor, True), self.parts[..., d].T).T
            parts.append(self.parts[..., d] - own)
        return np.asarray(np.stack(parts, axis=-1) @ self.mixing.T)

    def at(self, points: Array, seed: int) -> Array:
        """Joint draws (draws, n, n_e) at distinct ``points: (n, d)``; at known options, the draws that are there."""
        where = _rows_in(self.X, points)
        fresh = where < 0
        result = np.empty((len(self.latent), len(points), self.n_e))
        result[:, ~fresh] = self.latent[:, where[~fresh]]
        if fresh.any():
            result[:, fresh] = self._conditional(points[fresh], seed)
        return result

    def extended(self, points: Array, seed: int) -> Belief:
        """The belief with ``points: (n, d)`` among the options: each draw imagines what they are worth."""
        added = points[_rows_in(self.X, points) < 0]
        if len(added) == 0:
            return self
        latent = np.concatenate([self.latent, self._conditional(added, seed)], axis=1)
        return dataclasses.replace(self, X=np.concatenate([self.X, added]), latent=latent)

    def marginals(self, seed: int) -> Marginals:
        """What :func:`latent_at` needs for all draws."""
        m, capacity, n_e = len(self.X), option_capacity(len(self.X)), self.n_e
        weights = np.zeros((n_e, len(self.latent), capacity))
        precision = np.zeros((n_e, capacity, capacity))
        for d, factor in enumerate(self.factors):
            inverse = cho_solve((factor, True), np.eye(m))
            precision[d, :m, :m] = inverse
            weights[d, :, :m] = self.parts[..., d] @ inverse
        deviates = _spread_deviates(len(self.latent), n_e, seed)
        arrays = (self._padded(capacity), weights, precision, self.lengthscales, self.mixing, deviates)
        return Marginals(*(jnp.asarray(array) for array in arrays))

    def path(self, draw: int, seed: int, features: int = FEATURES) -> Paths:
        """Draw number ``draw`` as a function of the point."""
        rng = np.random.default_rng(seed)
        m, capacity, dim = len(self.X), option_capacity(len(self.X)), self.X.shape[1]
        frequency = np.stack([_frequencies(self.kernel, features, dim, rng) for _ in range(self.n_e)])
        phase = rng.uniform(0.0, 2.0 * math.pi, (self.n_e, features))
        smooth = math.sqrt((1.0 - self.nugget) * 2.0 / features)
        amplitude = smooth * rng.standard_normal((self.n_e, features))
        weights = np.zeros((self.n_e, capacity))
        for d, factor in enumerate(self.factors):
            prior = np.cos(self.X / self.lengthscales[d] @ frequency[d].T + phase[d]) @ amplitude[d]
            prior += math.sqrt(self.nugget + JITTER) * rng.standard_normal(m)
            weights[d, :m] = cho_solve((factor, True), self.parts[draw, :, d] - prior)
        arrays = (self._padded(capacity), weights, self.lengthscales, self.mixing, frequency, phase, amplitude)
        return Paths(*(jnp.asarray(array) for array in arrays))

    def _conditional(self, points: Array, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        parts = []
        for d, (factor, lengthscale) in enumerate(zip(self.factors, self.lengthscales, strict=True)):
            cross = solve_triangular(factor, self._covariance(self.X, points, lengthscale), lower=True)
            white = solve_triangular(factor, self.parts[..., d].T, lower=True)
            rest = self._covariance(points, points, lengthscale) - cross.T @ cross
            noise = rng.standard_normal((len(self.latent), len(points))) @ safe_cholesky(rest).T
            parts.append(white.T @ cross + noise)
        return np.asarray(np.stack(parts, axis=-1) @ self.mixing.T)

    def _covariance(self, A: Array, B: Array, lengthscale: Array) -> Array:
        return option_covariance(self.kernel, self.nugget, A, B, lengthscale)

    def _padded(self, capacity: int) -> Array:
        return np.concatenate([self.X, np.zeros((capacity - len(self.X), self.X.shape[1]))])


def _rows_in(X: Array, points: Array) -> NDArray[np.int64]:
    """The row of ``X`` equal to each point, or -1."""
    known = {row.tobytes(): number for number, row in enumerate(X + 0.0)}
    return np.array([known.get(point.tobytes(), -1) for point in points + 0.0], dtype=np.int64)


def _spread_deviates(draws: int, n_e: int, seed: int) -> Array:
    """Normal deviates (draws, n_e) that cover the normal distribution evenly in each column, in random order."""
    from scipy.special import ndtri

    rng = np.random.default_rng(seed)
    even = ndtri((np.arange(draws) + 0.5) / draws)
    return np.stack([rng.permutation(even) for _ in range(n_e)], axis=1)


def _frequencies(kernel: str, features: int, dim: int, rng: np.random.Generator) -> Array:
    """Draws (features, dim) from the kernel's spectral density: normal for RBF, Student's t for the Matérn family."""
    normal = rng.standard_normal((features, dim))
    if kernel == "rbf":
        return normal
    freedom = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[kernel]
    return normal / np.sqrt(rng.chisquare(freedom, features) / freedom)[:, None]
