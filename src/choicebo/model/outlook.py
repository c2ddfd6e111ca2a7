"""Draws of the latent functions as differentiable functions of a point: what an acquisition evaluates and climbs.

A point is judged by the part of the latent functions that depends on the inputs. An option's own part, the nugget, cannot be
searched for; were it counted, a copy of the best option would always look like a chance.

The derivative of any score by the point is here, and only here: an acquisition gives the derivative by the latent values.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.model.covariance import Kernel, kernel_named
from choicebo.model.known import Known

Array = NDArray[np.float64]

_LEAST_VARIANCE = 1e-8


class Evaluated(NamedTuple):
    """Latent values at some points, and what their derivatives need."""

    points: Array
    """(n, d)"""
    latent: Array
    """(n, draws, n_e); the values of one latent dimension lie side by side in memory."""
    r: Array
    """(n_e, n, m): scaled distances to the known options."""
    inner: Any
    """Of :class:`Marginals`, ``k(points, X) L^-T``: (n_e, n, m). Of :class:`Path`, the features' angles: (n_e, n, features)."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Smooth:
    """The covariance between points and known options, and its derivative by the points."""

    X: Array
    """(m, d)"""
    lengthscales: Array
    """(n_e, d)"""
    mixing: Array
    """(n_e, n_e): latent functions from their independent parts of unit variance."""
    kernel: str | Kernel
    nugget: float
    known: Known | None
    """Latent values that all draws agree about, behind the others."""

    @functools.cached_property
    def _scaled(self) -> tuple[Array, Array]:
        """The options over the length-scales, (n_e, d, m), and their squared lengths (n_e, 1, m)."""
        scaled = np.swapaxes(self.X / self.lengthscales[:, None], 1, 2).copy()
        return scaled, (scaled * scaled).sum(1, keepdims=True)

    def _distances(self, points: Array) -> Array:
        X, squares = self._scaled
        scaled = points / self.lengthscales[:, None]
        squared = (scaled * scaled).sum(2, keepdims=True) + squares - 2.0 * (scaled @ X)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def _covariance(self, r: Array) -> Array:
        return np.asarray((1.0 - self.nugget) * kernel_named(self.kernel).value(r))

    def _mixed(self, points: Array, parts: Array) -> Array:
        """Latent values (n, draws, n_e + k) at ``points: (n, d)`` of ``parts: (n_e, n, draws)``."""
        latent = (self.mixing @ parts.reshape(len(parts), math.prod(parts.shape[1:]))).reshape(parts.shape)
        if self.known is not None:
            values = self.known(points).T[..., None]
            latent = self.known.arranged(latent, np.broadcast_to(values, (len(values), *parts.shape[1:])))
        return np.moveaxis(latent, 0, 2)

    def _unmixed(self, by_latent: Array) -> Array:
        """Derivatives by the parts, (n_e, n, draws)."""
        n_e, (n, draws) = len(self.mixing), by_latent.shape[:2]
        ours = slice(n_e) if self.known is None else self.known.processes(self._hidden)
        hidden = np.moveaxis(by_latent[..., ours], 2, 0)
        return np.asarray((self.mixing.T @ hidden.reshape(n_e, n * draws)).reshape(n_e, n, draws))

    def _by_known(self, at: Evaluated, by_latent: Array) -> Array | float:
        """The share of the derivative by the points, (n, d), that comes from known objectives."""
        if self.known is None or len(self.known.of_fixed) == 0:
            return 0.0
        return self.known.gradient(at.points, by_latent[..., self._hidden + self.known.of_fixed].sum(1))

    @property
    def _hidden(self) -> int:
        """The number of latent functions that are not those of measured objectives."""
        return len(self.mixing) - (0 if self.known is None else len(self.known.of_measured))

    def _by_points(self, at: Evaluated, by_covariance: Array) -> Array:
        """Derivative (n, d) of what has the derivative ``by_covariance: (n_e, n, m)`` by the covariance.

        That of ``k(x, X_m)`` by ``x_j`` is ``k'(r) / r (x_j - X_mj) / l_j^2``.
        """
        pull = by_covariance * ((1.0 - self.nugget) * kernel_named(self.kernel).slope(at.r))
        towards = at.points * pull.sum(2, keepdims=True) - pull @ self.X
        return np.asarray((towards / self.lengthscales[:, None] ** 2).sum(0))


@dataclasses.dataclass(frozen=True, eq=False)
class Marginals(_Smooth):
    """Conditional distributions of the draws at any point.

    The value of a draw at a point is its conditional mean plus a fixed normal deviate times the conditional standard
    deviation, which is smooth in the point.
    """

    weights: Array
    """(n_e, draws, m): ``K^-1 parts`` of each draw."""
    whitening: Array
    """(n_e, m, m): the inverse of the factor of ``K``."""
    deviates: Array
    """(n_e, draws)"""

    def evaluate(self, points: Array) -> Evaluated:
        """Latent values of all draws at ``points: (n, d)``."""
        r = self._distances(points)
        k = self._covariance(r)
        inner = k @ np.swapaxes(self.whitening, 1, 2)
        parts = k @ np.swapaxes(self.weights, 1, 2)
        parts += np.sqrt(self._variance(inner))[:, :, None] * self.deviates[:, None]
        return Evaluated(points, self._mixed(points, parts), r, inner)

    def gradient(self, at: Evaluated, by_latent: Array) -> Array:
        """Derivative by the points, (n, d), of what has the derivative ``by_latent: (n, draws, n_e)`` by the values."""
        by_parts = self._unmixed(by_latent)
        variance = self._variance(at.inner)
        by_deviation = (by_parts @ self.deviates[:, :, None])[..., 0]
        free = variance > _LEAST_VARIANCE
        share = np.where(free, by_deviation / np.sqrt(variance), 0.0)
        by_covariance = by_parts @ self.weights - share[:, :, None] * (at.inner @ self.whitening)
        return self._by_points(at, by_covariance) + self._by_known(at, by_latent)

    def _variance(self, inner: Array) -> Array:
        # Nothing is left to be learned at a known option: what its own part hides of the rest is left out, too.
        left = (1.0 - self.nugget) ** 2 - np.einsum("dnm,dnm->dn", inner, inner)
        return np.asarray(np.maximum(left, _LEAST_VARIANCE))


@dataclasses.dataclass(frozen=True, eq=False)
class Path(_Smooth):
    """One draw as a function: random Fourier features of the prior, corrected to pass through the draw (Matheron's rule)."""

    weights: Array
    """(n_e, m): ``K^-1 (part - prior function)``."""
    frequency: Array
    """(n_e, features, d)"""
    phase: Array
    """(n_e, features)"""
    amplitude: Array
    """(n_e, features)"""

    def evaluate(self, points: Array) -> Evaluated:
        """Latent values of the one draw at ``points: (n, d)``."""
        r = self._distances(points)
        angle = prior_angles(points, self.frequency, self.phase)
        parts = np.cos(angle) @ self.amplitude[:, :, None] + self._covariance(r) @ self.weights[:, :, None]
        return Evaluated(points, self._mixed(points, parts), r, angle)

    def gradient(self, at: Evaluated, by_latent: Array) -> Array:
        """Derivative by the points, (n, d), of what has the derivative ``by_latent: (n, 1, n_e)`` by the values."""
        by_parts = self._unmixed(by_latent)
        prior = -(by_parts * np.sin(at.inner) * self.amplitude[:, None]) @ self.frequency
        hidden = prior.sum(0) + self._by_points(at, by_parts * self.weights[:, None])
        return np.asarray(hidden + self._by_known(at, by_latent))


Outlook = Marginals | Path


def prior_angles(points: Array, frequency: Array, phase: Array) -> NDArray[np.float32]:
    """The arguments of the cosines of random features at ``points: (n, d)``: (n_e, n, features), within half a turn.

    In single precision, of which sine and cosine are thirty times as fast, once whole turns are taken off in double precision.
    """
    turns = points @ np.swapaxes(frequency / (2.0 * math.pi), 1, 2)
    turns += phase[:, None] / (2.0 * math.pi)
    turns -= np.rint(turns)
    return turns.astype(np.float32) * np.float32(2.0 * math.pi)
