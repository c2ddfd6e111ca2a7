"""The hypervolume that a point would add, draw by draw, without a decomposition of the dominated region.

The volume that points ``y > 0`` dominate is the mean over directions ``u`` on the positive sphere of ``c max_y min_d (y_d /
u_d)^k`` (Deng and Zhang's polar form). A point's improvement is the mean of what it adds to that maximum. It works for any
number of objectives, and its derivative exists almost everywhere.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.interface import Array
from choicebo.model.draws import memberships

DIRECTIONS = {1: 1, 2: 64, 3: 128, 4: 256}
_ELEMENTS_AT_ONCE = 2**15
"""Of points, draws and directions together: the arrays of one block stay in a processor's own cache."""
_KNOWN_MARGIN = 1.0
"""As ``margin``, for known dimensions. There is no doubt about these to be drawn to the ends of the front by: with the margin of
hidden ones, the end where everything hidden is best was missed for dozens of questions."""


class Attained(NamedTuple):
    """The volume attained in each draw: where it is measured from, in which unit, and how far along each direction."""

    reference: Array
    """(n_e, draws)"""
    unit: Array
    """(n_e, draws)"""
    front: Array
    """(size, n_e, draws): each draw's non-dominated values, as seen from the reference, and others where it has fewer."""
    inverse: Array
    """(n_e, directions): one over the directions, which are positive."""
    reach: Array
    """(draws, directions)"""


def attained(latent: NDArray[np.float64], margin: float, known: Sequence[int] | NDArray[np.int64] = ()) -> Attained:
    """The volume that ``latent: (draws, m, n_e)`` dominates, in units of each draw's own front.

    ``margin`` is how far beyond the front's worst values the volume is still counted, in units of the front's extent: it
    decides how much the ends of the front are worth. The ``known`` dimensions are the same in all draws. No draw hopes for
    more of them than there is, so that a front of few points would count nothing that lies much beyond it: there, the worst
    value of all options is where the volume begins.
    """
    optimal = memberships(latent)
    best = np.where(optimal[..., None], latent, -np.inf).max(1)
    worst = np.where(optimal[..., None], latent, np.inf).min(1)
    fixed = np.asarray(known, dtype=np.int64)
    worst[:, fixed] = latent[..., fixed].min(1)
    overall = latent.max(1) - latent.min(1)
    # A front of one point has no extent of its own: a fifth of the values' spread stands in.
    unit = np.maximum(best - worst, np.maximum(0.2 * overall, 1e-3))
    margins = np.full(latent.shape[2], margin)
    margins[fixed] = max(margin, _KNOWN_MARGIN)
    reference = worst - margins * unit
    inverse = np.ascontiguousarray(1.0 / sphere(latent.shape[2]).T)
    chosen = np.argsort(~optimal, axis=1, kind="stable")[:, : int(optimal.sum(1).max())]
    values = (np.take_along_axis(latent, chosen[..., None], axis=1) - reference[:, None]) / unit[:, None]
    front = np.ascontiguousarray(values.transpose(1, 2, 0))
    reach = np.zeros((len(latent), inverse.shape[1]))
    for option in front:
        np.maximum(reach, _reach(option, inverse), out=reach)
    return Attained(np.ascontiguousarray(reference.T), np.ascontiguousarray(unit.T), front, inverse, reach)


def improvement(state: Attained, latent: Array) -> Array:
    """Volume added by each point in each draw: ``latent: (n, draws, n_e)`` -> (n, draws), in units of the front's box."""
    state, share = _in_precision_of(latent, state)
    power = latent.shape[2]
    gain = np.zeros(latent.shape[:2], dtype=latent.dtype)
    for pairs in _undominated(state, latent):
        reach = np.maximum(_reach(pairs.values, state.inverse), pairs.before)
        gain[pairs.points, pairs.draws] = (_power(reach, power) - _power(pairs.before, power)) @ share
    return gain


def improvement_gradient(state: Attained, latent: Array) -> tuple[Array, Array]:
    """What `improvement` gives, (n, draws), and its derivative by ``latent``, (n, draws, n_e)."""
    state, share = _in_precision_of(latent, state)
    power = latent.shape[2]
    gain, by_latent = np.zeros(latent.shape[:2], dtype=latent.dtype), np.zeros_like(latent)
    for pairs in _undominated(state, latent):
        reach = _reach(pairs.values, state.inverse)
        further = reach > pairs.before
        gain[pairs.points, pairs.draws] = (further * (_power(reach, power) - _power(pairs.before, power))) @ share
        slope = further * _power(reach, power - 1)
        for d, (value, inverse) in enumerate(zip(pairs.values, state.inverse, strict=True)):
            # The dimension that ends the reach is the one that lengthens it.
            ends = value[:, None] * inverse == reach
            by_latent[pairs.points, pairs.draws, d] = (slope * ends) @ (power * share * inverse)
    return gain, by_latent / state.unit.T


class _Pairs(NamedTuple):
    """Points and draws in which nothing known dominates them: in all other draws they add nothing."""

    points: NDArray[np.int64]
    """(pairs,)"""
    draws: NDArray[np.int64]
    """(pairs,)"""
    values: Array
    """(n_e, pairs), as seen from the reference, positive."""
    before: Array
    """(pairs, directions): how far the draw reaches without the point."""


def _undominated(state: Attained, latent: Array) -> Iterator[_Pairs]:
    """The pairs that count, in blocks."""
    values = [(latent[..., d] - state.reference[d]) / state.unit[d] for d in range(latent.shape[2])]
    counts = np.logical_and.reduce([value > 0.0 for value in values])
    size = max(1, _ELEMENTS_AT_ONCE // counts.size)
    for at in range(0, len(state.front), size):
        dominated = np.ones((len(state.front[at : at + size]), *counts.shape), dtype=np.bool_)
        for d, value in enumerate(values):
            dominated &= state.front[at : at + size, d, None] >= value
        counts &= ~dominated.any(0)
    points, draws = np.nonzero(counts)
    size = max(1, _ELEMENTS_AT_ONCE // state.reach.shape[1])
    for at in range(0, len(points), size):
        p, s = points[at : at + size], draws[at : at + size]
        yield _Pairs(p, s, np.stack([value[p, s] for value in values]), state.reach[s])


def _in_precision_of(latent: Array, state: Attained) -> tuple[Attained, Array]:
    """The state, and the share of each direction in the volume."""
    count = state.inverse.shape[1]
    share = np.full(count, _volume_factor(latent.shape[2]) / count, dtype=latent.dtype)
    return Attained(*(np.asarray(part, dtype=latent.dtype) for part in state)), share


def _reach(y: Array, inverse: Array) -> Array:
    """How far along each direction the box below ``y: (n_e, n)`` extends: (n, directions)."""
    reach: Array = y[0][:, None] * inverse[0]
    for value, each in zip(y[1:], inverse[1:], strict=True):
        np.minimum(reach, value[:, None] * each, out=reach)
    return reach


def _power(values: Array, exponent: int) -> Array:
    """A small whole power by multiplication."""
    result = values if exponent > 0 else np.ones_like(values)
    for _ in range(exponent - 1):
        result = result * values
    return result


def _volume_factor(latent_dim: int) -> float:
    """Volume of the positive part of the unit ball: the mean of ``r^n_e`` over directions times this is a volume."""
    return float(math.pi ** (latent_dim / 2) / math.gamma(latent_dim / 2 + 1) / 2**latent_dim)


@functools.cache
def sphere(latent_dim: int) -> Array:
    """Directions spread evenly over the positive part of the unit sphere, (directions, n_e)."""
    count = DIRECTIONS.get(latent_dim, 256)
    if latent_dim == 1:
        return np.ones((1, 1))
    if latent_dim == 2:
        angle = (np.arange(count) + 0.5) / count * (math.pi / 2)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    from scipy.special import ndtri
    from scipy.stats import qmc

    cube = qmc.Sobol(latent_dim, scramble=True, rng=np.random.default_rng(0)).random(count)
    points = np.abs(ndtri(np.clip(cube, 1e-6, 1 - 1e-6)))
    return np.asarray(np.maximum(points / np.linalg.norm(points, axis=1, keepdims=True), 1e-3))
