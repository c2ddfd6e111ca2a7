"""The hypervolume that a point would add, draw by draw, without a decomposition of the dominated region.

The volume that points ``y > 0`` dominate is the mean over directions ``u`` on the positive sphere of ``c max_y min_d (y_d /
u_d)^k`` (Deng and Zhang's polar form). A point's improvement is the mean of what it adds to that maximum. It works for any
number of objectives, and its derivative exists almost everywhere.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIRECTIONS = {1: 1, 2: 64, 3: 128, 4: 256}


class Attained(NamedTuple):
    """The volume attained in each draw: where it is measured from, in which unit, and how far along each direction."""

    reference: jax.Array
    """(draws, n_e)"""
    unit: jax.Array
    """(draws, n_e)"""
    directions: jax.Array
    """(directions, n_e), positive"""
    reach: jax.Array
    """(draws, directions)"""


def attained(latent: Array, margin: float) -> Attained:
    """The volume that ``latent: (draws, m, n_e)`` dominates, in units of each draw's own front.

    ``margin`` is how far beyond the front's worst values the volume is still counted, in units of the front's extent: it
    decides how much the ends of the front are worth.
    """
    best, worst = _front_extent(latent)
    overall = latent.max(1) - latent.min(1)
    # A front of one point has no extent of its own: a fifth of the values' spread stands in.
    unit = np.maximum(best - worst, np.maximum(0.2 * overall, 1e-3))
    reference = worst - margin * unit
    directions = sphere(latent.shape[2])
    reach = _reach((latent - reference[:, None]) / unit[:, None], directions).max(1)
    parts = (reference, unit, directions, reach)
    return Attained(*(jnp.asarray(part, dtype=jnp.float32) for part in parts))


def improvement(state: Attained, latent: jax.Array) -> jax.Array:
    """Volume added by each point in each draw: ``latent: (n, draws, n_e)`` -> (n, draws), in units of the front's box."""
    n_e = latent.shape[-1]
    y = jnp.maximum((latent - state.reference) / state.unit, 0.0)
    reach = (y[..., None, :] / state.directions).min(-1)
    gain = jnp.maximum(reach**n_e - state.reach**n_e, 0.0)
    return _volume_factor(n_e) * gain.mean(-1)


def _reach(y: Array, directions: Array) -> Array:
    """How far along each direction the box below ``y: (..., n_e)`` extends: (..., directions)."""
    reach = np.full((*y.shape[:-1], len(directions)), np.inf)
    for d in range(y.shape[-1]):
        np.minimum(reach, np.maximum(y[..., d, None], 0.0) / directions[:, d], out=reach)
    return reach


def _front_extent(latent: Array) -> tuple[Array, Array]:
    """Best and worst value of each latent dimension over the non-dominated options of each draw, (draws, n_e) each."""
    front = np.stack([_non_dominated(values) for values in latent])
    masked = np.where(front[..., None], latent, np.nan)
    return np.nanmax(masked, axis=1), np.nanmin(masked, axis=1)


def _non_dominated(values: Array) -> NDArray[np.bool_]:
    from choicebo.pareto import non_dominated

    return non_dominated(values)


def _volume_factor(n_e: int) -> float:
    """Volume of the positive part of the unit ball: the mean of ``r^n_e`` over directions times this is a volume."""
    return float(math.pi ** (n_e / 2) / math.gamma(n_e / 2 + 1) / 2**n_e)


@functools.cache
def sphere(n_e: int) -> Array:
    """Directions spread evenly over the positive part of the unit sphere, (directions, n_e)."""
    count = DIRECTIONS.get(n_e, 256)
    if n_e == 1:
        return np.ones((1, 1))
    if n_e == 2:
        angle = (np.arange(count) + 0.5) / count * (math.pi / 2)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    from scipy.special import ndtri
    from scipy.stats import qmc

    cube = qmc.Sobol(n_e, scramble=True, rng=np.random.default_rng(0)).random(count)
    points = np.abs(ndtri(np.clip(cube, 1e-6, 1 - 1e-6)))
    return np.asarray(np.maximum(points / np.linalg.norm(points, axis=1, keepdims=True), 1e-3))
