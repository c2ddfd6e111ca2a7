"""What options have of their own, beyond what their features say: its mean and its spread given the choices.

Features leave a share of each option's variance out: the nugget, and what the inducing options do not tell. An option that was
shown often has told some of it. Given the features, the own parts are independent a priori, and the choices couple only
those of options that were shown together. So Newton's method with conjugate gradients finds all of them at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.model.alignment import aligned_orders
from choicebo.model.engines.gaussian import curvature_of_parts
from choicebo.model.engines.whitening import FeatureWhitened, with_known
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

_STEPS = 3
_ITERATIONS = 15
"""Of conjugate gradients: the matrix is nearly the identity."""


class OwnParts(NamedTuple):
    """Gaussians of the options' own parts, in units of the parts."""

    mean: Array
    """(orders, n_e, m)"""
    spread: Array
    """(orders, n_e, m): standard deviations."""
    order: NDArray[np.int64]
    """(draws,): no choice tells in which order the latent dimensions come; which of the orders each draw has."""


def own_parts(likelihood: Likelihood, prior: FeatureWhitened, draws: Array) -> OwnParts:
    """The own parts of all options, around the mean of the ``draws: (draws, n_e, size)`` of each order."""
    hidden = prior.hidden_count
    if hidden > 1:
        parts = np.stack([draws[:, d] @ lower.T for d, lower in enumerate(prior.found.lower)], axis=2)
        latent = parts @ prior.mixing[:hidden, :hidden].T.astype(np.float64)
        orders, order = np.unique(aligned_orders(latent), axis=0, return_inverse=True)
    else:
        orders, order = np.zeros((1, hidden), dtype=np.intp), np.zeros(len(draws), dtype=np.int64)
    found = [_around(likelihood, prior, draws[order == number].mean(0)) for number in range(len(orders))]
    mean, spread = (np.stack(part) for part in zip(*found, strict=True))
    return OwnParts(mean, spread, order.reshape(-1))


def _around(likelihood: Likelihood, prior: FeatureWhitened, v: Array) -> tuple[Array, Array]:
    scale, damping = np.sqrt(prior.left_out), prior.damping[:, None].astype(np.float32)
    mixing = prior.mixing / damping
    base = prior.hidden(v[..., None].astype(np.float32)) / damping[..., None]
    own = np.zeros_like(scale)
    shares = np.linspace(1.0, 0.0, LANES, dtype=np.float32)
    for _ in range(_STEPS):
        latent = with_known(base + _mixed(mixing, scale * own)[..., None], prior.known_latent)
        _, gradient = likelihood.value_and_gradient(np.repeat(latent, LANES, axis=2))
        slope = scale * (mixing.T @ gradient[: len(own), :, 0]) - own
        blocks = curvature_of_parts(likelihood, mixing, latent[..., 0])
        move = _solved(blocks, scale, slope)
        # A lapse makes the posterior other than log-concave: of shares of the step the best is taken.
        tried = own[..., None] + move[..., None] * shares
        latent = with_known(base + _mixed(mixing, scale[..., None] * tried), prior.known_latent)
        value, _ = likelihood.value_and_gradient(latent)
        own = tried[..., int((value - 0.5 * (tried * tried).sum((0, 1), dtype=np.float64)).argmax())]
    curvature = np.stack([blocks[d][d].diagonal() for d in range(len(own))])
    spread = scale / np.sqrt(1.0 + scale * scale * np.maximum(curvature, 0.0))
    return (scale * own).astype(np.float64), spread.astype(np.float64)


def _mixed(mixing: Singles, parts: Singles) -> Singles:
    return np.asarray((mixing @ parts.reshape(len(parts), -1)).reshape(parts.shape), dtype=np.float32)


def _solved(blocks: list[list[Any]], scale: Singles, right: Singles) -> Singles:
    """``(1 + scale C scale)^-1 right`` by conjugate gradients, (n_e, m) all."""

    def product(x: Singles) -> Singles:
        y = scale * x
        curved = [sum(block @ part for block, part in zip(row, y, strict=True)) for row in blocks]
        return np.asarray(x + scale * np.stack(curved))

    result, residual = np.zeros_like(right), right.copy()
    towards, length = residual, float(np.vdot(residual, residual))
    for _ in range(_ITERATIONS):
        if length < 1e-8 * right.size:
            break
        moved = product(towards)
        curved = float(np.vdot(towards, moved))
        if curved <= 0.0:
            break
        result = result + np.float32(length / curved) * towards
        residual = residual - np.float32(length / curved) * moved
        before, length = length, float(np.vdot(residual, residual))
        towards = residual + np.float32(length / before) * towards
    return result
