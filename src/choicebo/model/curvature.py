"""The exact negative Hessian of the log-likelihood, assembled from small blocks.

Each comparison touches a handful of options, so its second derivatives are a small dense block. Differentiating the
whole likelihood along every latent value instead would cost hundreds of its gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from choicebo.model import inner_loop
from choicebo.model.batching import Batch


def curvature(latent: jax.Array, batch: Batch, lapse: float) -> jax.Array:
    """``-d^2 log p / df^2`` at ``latent: (n_e, options)``, as (n_e options, n_e options), dimension-major.

    In single precision, as the likelihood itself.
    """
    n_e, options = latent.shape
    choices = batch.choice_used.shape[0]
    blocks, slopes, total = [], [], jnp.zeros(choices, dtype=jnp.float32)
    for members, value, choice, weight in _events(batch):
        rows, log_p, gradient, hessian = _derivatives(latent, members, value)
        blocks.append((rows, choice, -weight * hessian))
        slopes.append((rows, choice, weight * gradient))
        total = total.at[choice].add(weight * log_p)

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


_Value = Callable[[jax.Array], jax.Array]


def _events(batch: Batch) -> list[tuple[jax.Array, _Value, jax.Array, jax.Array]]:
    """Per group of comparisons: the options involved (members, events), the log-probability of their latent values."""
    found: list[tuple[jax.Array, _Value, jax.Array, jax.Array]] = []
    for group in batch.rejections:
        members = jnp.concatenate([group.kept, group.rejected[None]])

        found.append((members, _rejection(group.used), group.choice, group.weight))
    pairs = batch.coexistences
    members = jnp.stack([pairs.first, pairs.second])
    found.append((members, lambda y: inner_loop.log_coexistence(y[0] - y[1]), pairs.choice, pairs.weight))
    if batch.contests is not None:
        contest = batch.contests

        def won(y: jax.Array) -> jax.Array:
            return inner_loop.log_contest(y[-1, 0] - y[:-1, 0], contest.used)

        members = jnp.concatenate([contest.kept, contest.rejected[None]])
        found.append((members, won, contest.choice, contest.weight))
    return found


def _rejection(used: jax.Array) -> _Value:
    def value(y: jax.Array) -> jax.Array:
        log_p: jax.Array = inner_loop.log_rejection(y[:-1] - y[-1], used, inner_loop.NODES)
        return log_p

    return value


def _derivatives(
    latent: jax.Array, members: jax.Array, value: _Value
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Rows of the large matrix (local, events), value, gradient (local, events), Hessian (local, local, events)."""
    n_e, options = latent.shape
    y = jnp.moveaxis(latent[:, members], 0, 1).astype(jnp.float32)  # (members, n_e, events)
    local = y.shape[0] * n_e
    rows = (jnp.arange(n_e)[None, :, None] * options + members[:, None]).reshape(local, -1)

    def gradient(y: jax.Array) -> jax.Array:
        slope: jax.Array = jax.grad(lambda y: value(y).sum())(y)
        return slope

    directions = jnp.eye(local, dtype=y.dtype).reshape(local, y.shape[0], n_e, 1)
    hessian = jax.vmap(lambda t: jax.jvp(gradient, (y,), (jnp.broadcast_to(t, y.shape),))[1])(directions)
    return rows, value(y), gradient(y).reshape(local, -1), hessian.reshape(local, local, -1)
