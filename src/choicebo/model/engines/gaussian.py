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


_ROUNDING = 1e-3
"""Differences of the log-posterior below this are no reason to refuse a step: the likelihood has single precision."""

_STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05)
"""Shares of a Newton step that are tried: a full one may overshoot, because lapses make the posterior other than log-concave."""


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
    """Negative Hessian of the log-posterior at whitened values ``v``, in single precision."""
    n_e, options = v.shape
    factors = prior.factors.astype(jnp.float32)
    curved = curvature(prior.latent(v), batch, spec.lapse).reshape(n_e, options, n_e, options)
    mixing = prior.mixing.astype(jnp.float32)
    curved = jnp.einsum("ad,ambn,be->dmen", mixing, curved, mixing)
    # Block by block: the factors of different latent dimensions do not mix.
    rows = [[factors[d].T @ curved[d, :, e] @ factors[e] for e in range(n_e)] for d in range(n_e)]
    return jnp.eye(v.size, dtype=jnp.float32) + jnp.block(rows)


def precision_factor(precision: jax.Array, reflect: bool = False) -> jax.Array:
    """Lower Cholesky factor of the precision, its eigenvalues raised to the least one allowed where they are below.

    With ``reflect`` the negative ones change their sign first: what suits a Newton step away from a saddle.
    """
    identity = jnp.eye(len(precision), dtype=precision.dtype)

    def raised() -> jax.Array:
        values, vectors = jnp.linalg.eigh(precision)
        values = jnp.maximum(jnp.abs(values) if reflect else values, _LEAST_PRECISION)
        result: jax.Array = (vectors * values) @ vectors.T
        return result

    # A Cholesky factor tells whether there is anything to raise, at a fraction of the price of the eigenvalues.
    excess = jnp.linalg.cholesky(precision - _LEAST_PRECISION * identity)
    factor: jax.Array = jnp.linalg.cholesky(jax.lax.cond(jnp.isnan(excess).any(), raised, lambda: precision))
    return factor


class NewtonStep(NamedTuple):
    """What a step found."""

    v: jax.Array
    """Where it led."""
    height: jax.Array
    """The log-posterior where it began."""
    factor: jax.Array
    """Of the precision there."""


def newton_step(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array) -> NewtonStep:
    """A Newton step towards the mode, shortened if that leads higher."""

    def height(v: jax.Array) -> jax.Array:
        return log_posterior(spec, batch, prior, v)

    here, slope = jax.value_and_grad(height)(v)
    factor = precision_factor(precision_at(spec, batch, prior, v), reflect=True)
    move = jax.scipy.linalg.cho_solve((factor, True), slope.reshape(-1).astype(jnp.float32)).reshape(v.shape)
    lengths = jnp.asarray(_STEP_LENGTHS, dtype=v.dtype)
    heights = jax.vmap(lambda length: height(v + length * move))(lengths)
    heights = jnp.where(jnp.isnan(heights), -jnp.inf, heights)
    best = jnp.argmax(heights)
    length = jnp.where(heights[best] > here - _ROUNDING, lengths[best], 0.0)
    return NewtonStep((v + length * move).astype(v.dtype), here, factor)


def climb(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array, steps: int) -> jax.Array:
    """Newton steps towards the mode."""
    return jax.lax.scan(lambda v, _: (newton_step(spec, batch, prior, v).v, None), v, None, length=steps)[0]


def gaussian_at(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array) -> tuple[Gaussian, jax.Array]:
    """The Gaussian centred at ``v`` with the posterior's curvature there, and Laplace's approximation of the evidence."""
    factor = precision_factor(precision_at(spec, batch, prior, v))
    evidence = log_posterior(spec, batch, prior, v) - jnp.log(jnp.diag(factor)).sum()
    return Gaussian(v, root_of_inverse(factor)), evidence


def averaged(
    spec: ModelSpec, batch: Batch, prior: Whitened, gaussian: Gaussian, key: jax.Array, draws: int
) -> Gaussian:
    """The Gaussian with the posterior's curvature averaged over some draws: nearer to its spread than at one point."""
    half = jax.random.normal(key, (-(-draws // 2), gaussian.centre.size), dtype=gaussian.transform.dtype)
    points = jax.vmap(gaussian.draw)(jnp.concatenate([half, -half])[:draws])
    precision = jax.lax.map(lambda v: precision_at(spec, batch, prior, v), points).mean(0)
    return Gaussian(points.mean(0), root_of_inverse(precision_factor(precision)))


def root_of_inverse(factor: jax.Array) -> jax.Array:
    """A square root of the covariance, from the Cholesky factor of the precision."""
    root: jax.Array = jax.scipy.linalg.solve_triangular(
        factor, jnp.eye(len(factor), dtype=factor.dtype), lower=True, trans="T"
    )
    return root
