"""One numbering of the latent dimensions for all draws: their own is arbitrary, and may differ from draw to draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]

_SWEEPS = 5


def aligned_orders(latent: Array, reference: Array | None = None) -> NDArray[np.intp]:
    """For each draw of ``latent: (draws, points, n_e)`` the order of its dimensions that makes all draws alike, (draws, n_e).

    Draws are matched to ``reference: (points, n_e)``, or to their own mean in turns.

    >>> one = np.random.default_rng(0).normal(size=(30, 2))
    >>> aligned_orders(np.stack([one, one[:, ::-1]]), one).tolist()
    [[0, 1], [1, 0]]
    """
    latent_dim = latent.shape[2]
    orders = np.tile(np.arange(latent_dim), (len(latent), 1))
    if latent_dim <= 1:
        return orders
    target = latent[len(latent) // 2] if reference is None else reference
    for _ in range(1 if reference is not None else _SWEEPS):
        products = np.einsum("spa,pb->sba", _standard(latent), _standard(target))
        found = np.stack([linear_sum_assignment(-each)[1] for each in products])
        if reference is None and np.array_equal(found, orders):
            break
        orders = found
        target = np.take_along_axis(latent, orders[:, None], axis=2).mean(0)
    return orders


def reordered(latent: Array, orders: NDArray[np.intp]) -> Array:
    """``latent: (draws, points, n_e)`` with the dimensions of each draw in its order."""
    return np.take_along_axis(latent, orders[:, None], axis=2)


def order_like(mean: Array, earlier: Array) -> NDArray[np.intp]:
    """The order of the columns of ``mean: (points, n_e)`` that is most like ``earlier: (points, k)``, new ones last."""
    likeness = np.einsum("pa,pb->ba", _standard(mean), _standard(earlier))
    rows, columns = linear_sum_assignment(-likeness)
    matched = [int(columns[at]) for at in np.argsort(rows)]
    return np.array([*matched, *(d for d in range(mean.shape[1]) if d not in matched)], dtype=np.intp)


def _standard(values: Array) -> Array:
    """Centred and scaled over the points (second to last axis), so that only the shape counts."""
    centred = values - values.mean(-2, keepdims=True)
    size = np.sqrt((centred**2).sum(-2, keepdims=True))
    return np.asarray(np.divide(centred, size, out=np.zeros_like(centred), where=size > 0))
