"""Gaussians over the whitened values, with the likelihood's exact curvature: Laplace's approximation, and HMC's coordinates."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from choicebo.model.batching import Batch
from choicebo.model.curvature import curvature
from choicebo.model.engines.base import ModelSpec, Whitened, log_posterior

_LEAST_PRECISION = 0.2
"""The prior alone has precision 1. Lapses make the posterior other than log-concave; no direction gets wider than this."""


class Gaussian(NamedTuple):
    """A normal distribution over the whitened values: ``v = centre + transform @ w`` with ``w`` standard normal."""

    centre: jax.Array
    """(n_e, options)"""
    transform: jax.Array
    """(n_e options, n_e options)"""

    def draw(self, w: jax.Array) -> jax.Array:
        """Whitened values (n_e, options) from ``w: (n_e options,)``."""
        return self.centre + (self.transform @ w).reshape(self.centre.shape)


def precision_at(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array) -> jax.Array:
    """Negative Hessian of the log-posterior at whitened values ``v``."""
    factors = jax.scipy.linalg.block_diag(*prior.factors)
    curved = curvature(prior.latent(v), batch, spec.lapse)
    precision: jax.Array = jnp.eye(v.size) + factors.T @ curved @ factors
    return precision


def climb(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array, steps: int) -> jax.Array:
    """Damped Newton steps (Levenberg and Marquardt) towards the mode: a step that does not help is not taken."""

    def height(v: jax.Array) -> jax.Array:
        return log_posterior(spec, batch, prior, v)

    def step(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
        v, damping = carry
        here, slope = jax.value_and_grad(height)(v)
        factor = jnp.linalg.cholesky(precision_at(spec, batch, prior, v) + damping * jnp.eye(v.size))
        move = jax.scipy.linalg.cho_solve((factor, True), slope.reshape(-1)).reshape(v.shape)
        # A precision that is not positive definite gives NaN, which is never better.
        better = height(v + move) > here
        return (jnp.where(better, v + move, v), jnp.where(better, damping / 4.0, 4.0 * damping + 0.5)), None

    return jax.lax.scan(step, (v, jnp.array(0.1)), None, length=steps)[0][0]


def gaussian_at(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array) -> tuple[Gaussian, jax.Array]:
    """The Gaussian centred at ``v`` with the posterior's curvature there, and Laplace's approximation of the evidence."""
    transform, log_determinant = _root_of_inverse(precision_at(spec, batch, prior, v))
    return Gaussian(v, transform), log_posterior(spec, batch, prior, v) - 0.5 * log_determinant


def averaged(
    spec: ModelSpec, batch: Batch, prior: Whitened, gaussian: Gaussian, key: jax.Array, draws: int
) -> Gaussian:
    """The Gaussian with the posterior's curvature averaged over some draws: nearer to its spread than at one point."""
    half = jax.random.normal(key, (-(-draws // 2), gaussian.centre.size))
    points = jax.vmap(gaussian.draw)(jnp.concatenate([half, -half])[:draws])
    precision = jax.lax.map(lambda v: precision_at(spec, batch, prior, v), points).mean(0)
    return Gaussian(points.mean(0), _root_of_inverse(precision)[0])


def _root_of_inverse(precision: jax.Array) -> tuple[jax.Array, jax.Array]:
    values, vectors = jnp.linalg.eigh(0.5 * (precision + precision.T))
    values = jnp.maximum(values, _LEAST_PRECISION)
    return vectors / jnp.sqrt(values), jnp.log(values).sum()


def quick_gaussian_at(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array) -> Gaussian:
    """Like :func:`gaussian_at` by a Cholesky factor, which is several times cheaper; damped where it needs to be."""
    precision = precision_at(spec, batch, prior, v)
    identity = jnp.eye(v.size)

    def more(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        damping = jnp.maximum(4.0 * carry[0], 0.25)
        return damping, jnp.linalg.cholesky(precision + damping * identity)

    start = (jnp.zeros(()), jnp.linalg.cholesky(precision))
    _, factor = jax.lax.while_loop(lambda carry: jnp.isnan(carry[1]).any() & (carry[0] < 1e6), more, start)
    return Gaussian(v, jax.scipy.linalg.solve_triangular(factor, identity, lower=True, trans="T"))
