"""Points spread over a space: uniform by rejection, space-filling by a scrambled Sobol sequence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.space.points import distinct as distinct_points
from choicebo.space.points import point_keys
from choicebo.space.values import MOST_CELLS, MOST_POINTS, as_generator

Floats = NDArray[np.float64]
Draw = Callable[[Floats], Floats]
"""Maps uniform quantiles (n, parameters) to the feasible ones among their cube points."""

MOST_DRAWS = MOST_POINTS
_LARGEST_BATCH = 2**15


def uniform(draw: Draw, parameters: int, n: int, rng: np.random.Generator) -> Floats:
    """``n`` independent feasible points, by drawing until enough are feasible.

    >>> uniform(lambda q: q[q[:, 0] > 0.5], 1, 3, np.random.default_rng(0)).shape
    (3, 1)
    """
    return _collect(lambda size: draw(rng.random((size, parameters))), n)


def sobol(draw: Draw, parameters: int, n: int, seed: int, everything: Floats | None) -> Floats:
    """The first ``n`` points of a scrambled Sobol sequence without infeasible and repeated ones.

    A short list of all feasible points, ``everything``, is gone through before any of them comes again.

    >>> sobol(lambda q: q, 2, 3, seed=0, everything=None).shape
    (3, 2)
    """
    from scipy.stats import qmc

    engine = qmc.Sobol(parameters, scramble=True, seed=as_generator(seed))
    if everything is None:
        return _collect(lambda size: draw(engine.random(size)), n, distinct=True)
    order = draw(engine.random(max(64, 2 ** (4 * len(everything)).bit_length())))
    cycle = distinct_points(np.concatenate([order, everything]))[0]
    return cycle[np.arange(n) % len(cycle)]


def sobol_order(points: Floats, n: int, seed: int) -> NDArray[np.int64]:
    """``n`` different row numbers of ``points: (m, dim)``: each Sobol point takes the nearest row left.

    >>> sorted(sobol_order(np.array([[0.0], [0.4], [1.0]]), 3, seed=0).tolist())
    [0, 1, 2]
    """
    from scipy.stats import qmc

    engine = qmc.Sobol(points.shape[1], scramble=True, seed=as_generator(seed))
    targets = engine.random(2 ** max(n - 1, 0).bit_length())[:n]
    taken = np.zeros(len(points))
    order = np.empty(n, dtype=np.int64)
    for place, target in enumerate(targets):
        order[place] = (squared_distance(target[None], points)[0] + taken).argmin()
        taken[order[place]] = np.inf
    return order


def squared_distance(left: Floats, right: Floats) -> Floats:
    """Squared distances (n, m) between points (n, dim) and (m, dim).

    >>> squared_distance(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]])).tolist()
    [[5.0]]
    """
    total = np.zeros((len(left), len(right)))
    # Column by column: an (n, m, dim) array would not fit, and the shortcut by inner products loses digits.
    for a, b in zip(left.T, right.T, strict=True):
        total += (a[:, None] - b[None, :]) ** 2
    return total


def _collect(draw: Callable[[int], Floats], n: int, distinct: bool = False) -> Floats:
    batches: list[Floats] = []
    seen: set[bytes] = set()
    count = drawn = 0
    size = 64
    while drawn < MOST_DRAWS:
        batch = draw(size)
        drawn += size
        # Powers of two keep the Sobol sequence balanced; doubling finds rare points without many small calls.
        size = min(drawn, _LARGEST_BATCH, 2 ** max(6, (MOST_CELLS // batch.shape[1]).bit_length() - 1))
        if distinct:
            batch = distinct_points(batch)[0]
            keys = point_keys(batch)
            batch = batch[[key not in seen for key in keys]] if len(batch) else batch
            seen.update(keys)
        batches.append(batch)
        count += len(batch)
        if count >= n:
            return np.concatenate(batches)[:n]
    raise SpaceError(
        f"Only {count} of {drawn} points drawn are feasible and {n} are needed: "
        "narrow the ranges to where the constraints hold, or replace a constraint that ties parameters "
        "together (a + b == 1) by leaving one of them out."
    )
