"""The exact negative Hessian of the log-likelihood, assembled from small blocks.

Each comparison touches a handful of options, so its second derivatives are a small dense block. Differentiating the
whole likelihood along every latent value instead would cost hundreds of its gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from choicebo.model import inner_loop
from choicebo.model.batching import Batch, Rejections


def curvature(latent: jax.Array, batch: Batch, lapse: float) -> jax.Array:
    """``-d^2 log p / df^2`` at ``latent: (n_e, options)``, as (n_e options, n_e options), dimension-major.

    In single precision, as the likelihood itself.
    """
    n_e, options = latent.shape
    choices = batch.choice_used.shape[0]
    blocks, slopes, total = [], [], jnp.zeros(choices, dtype=jnp.float32)
    for event in _events(batch):
        rows, log_p, gradient, hessian = _derivatives(latent, event)
        blocks.append((rows, event.choice, -event.weight * hessian))
        slopes.append((rows, event.choice, event.weight * gradient))
        total = total.at[event.choice].add(event.weight * log_p)

    share = _share_of_attention(total, batch, lapse)
    result = jnp.zeros((n_e * options, n_e * options), dtype=jnp.float32)
    for rows, choice, hessian in blocks:
        result = result.at[rows[:, None], rows[None]].add((share[choice] * hessian).astype(result.dtype))
    if lapse > 0.0:
        gradients = jnp.zeros((choices, n_e * options), dtype=jnp.float32)
        for rows, choice, gradient in slopes:
            gradients = gradients.at[choice, rows].add(gradient.astype(result.dtype))
        result = result - gradients.T @ ((share * (1.0 - share))[:, None] * gradients)
    return result


def _share_of_attention(total: jax.Array, batch: Batch, lapse: float) -> jax.Array:
    """The posterior probability that each choice was no lapse."""
    if lapse == 0.0:
        return jnp.ones_like(total)
    odds = math.log1p(-lapse) + total - math.log(lapse) - batch.log_uniform
    return jax.nn.sigmoid(odds)


class _Events(NamedTuple):
    """A group of comparisons of some options with one: their log-probability depends on the differences of latent values."""

    several: jax.Array
    """(slots, events)"""
    one: jax.Array
    """(events,)"""
    value_and_slope: Callable[[jax.Array], tuple[jax.Array, jax.Array]]
    """Of the differences ``several - one``, (slots, n_e, events)."""
    choice: jax.Array
    weight: jax.Array


def _events(batch: Batch) -> list[_Events]:
    found = [
        _Events(group.kept, group.rejected, _rejected(group), group.choice, group.weight) for group in batch.rejections
    ]
    pairs = batch.coexistences
    found.append(_Events(pairs.first[None], pairs.second, _coexist, pairs.choice, pairs.weight))
    if batch.contests is not None:
        contest = batch.contests
        found.append(_Events(contest.kept, contest.rejected, _won(contest), contest.choice, contest.weight))
    return found


def _rejected(group: Rejections) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    return lambda z: inner_loop.rejection_and_slope(z, group.used, inner_loop.NODES, compact=True)


def _coexist(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    value, slope = inner_loop.coexistence_and_slope(z[0])
    return value, slope[None]


def _won(contest: Rejections) -> Callable[[jax.Array], tuple[jax.Array, jax.Array]]:
    def value_and_slope(z: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, by_z = jax.vjp(lambda z: inner_loop.log_contest(-z[:, 0], contest.used), z)
        return value, by_z(jnp.ones_like(value))[0]

    return value_and_slope


def _derivatives(latent: jax.Array, events: _Events) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Rows of the large matrix (local, events), value, gradient (local, events), Hessian (local, local, events)."""
    n_e, options = latent.shape
    slots = len(events.several)
    members = jnp.concatenate([events.several, events.one[None]])
    rows = (jnp.arange(n_e)[None, :, None] * options + members[:, None]).reshape((slots + 1) * n_e, -1)
    y = latent[:, members].astype(jnp.float32)
    z = jnp.swapaxes(y[:, :-1] - y[:, -1:], 0, 1)
    value, slope = events.value_and_slope(z)
    directions = jnp.eye(slots * n_e, dtype=z.dtype).reshape(slots * n_e, slots, n_e, 1)
    by_difference = jax.vmap(
        lambda t: jax.jvp(lambda z: events.value_and_slope(z)[1], (z,), (jnp.broadcast_to(t, z.shape),))[1]
    )(directions).reshape(slots, n_e, slots, n_e, -1)
    # Moving the one option is moving all differences the other way.
    gradient = jnp.concatenate([slope, -slope.sum(0, keepdims=True)])
    hessian = jnp.concatenate([by_difference, -by_difference.sum(2, keepdims=True)], axis=2)
    hessian = jnp.concatenate([hessian, -hessian.sum(0, keepdims=True)])
    local = (slots + 1) * n_e
    return rows, value, gradient.reshape(local, -1), hessian.reshape(local, local, -1)
