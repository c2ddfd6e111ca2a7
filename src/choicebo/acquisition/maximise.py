"""The best points of an acquisition over any space: never an infeasible one, never one that is to be avoided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.interface import Acquisition, Differentiable, Known
from choicebo.space import Searchable, Space
from choicebo.space.circle import points_to_turn, turn_to_points
from choicebo.space.points import rows_in

Array = NDArray[np.float64]

ENUMERATE = 10_000
"""Spaces of at most this many options are gone through one by one."""
_GLOBAL = 1024
_LOCAL = 512
_RELATIVES = 256
_MIXED = 0.3
"""Share of variations that mix two options."""
_STARTS = 8
_ROUNDS = 25
_LEAST_GAIN = 1e-6
"""A round that gains less, relative to the value, is the last. Going on gained less than 2e-5, on the ridges of scalarised
Thompson sampling 3e-3 at most (80 searches in two and five dimensions)."""
_WIDTHS = (0.1, 0.03, 0.01)
_CLIMB_STARTS, _CLIMB_ROUNDS = 3, 50
_BLOCK = 128
"""Points at once: few enough for a processor's own cache."""
_STEP = 1e-4
"""Of a finite difference, in the unit cube."""


class Found(NamedTuple):
    """Feasible points by falling value."""

    X: Array
    """(n, d), where the model sees them."""
    value: Array


class Objective:
    """An acquisition, ready to be evaluated anywhere."""

    def __init__(self, acquisition: Acquisition, known: Known, seed: int) -> None:
        self._acquisition = acquisition
        self._gradient = acquisition.score_gradient if isinstance(acquisition, Differentiable) else None
        self._outlook, self._state = acquisition.prepare(known, seed)

    def __call__(self, points: Array) -> Array:
        """Values (n,) at ``points: (n, d)``; what is not finite counts as worst."""
        values = np.empty(len(points))
        for at in range(0, len(points), _BLOCK):
            mine = slice(at, at + _BLOCK)
            # Single precision tells the points apart, in half the time.
            latent = self._outlook.evaluate(points[mine]).latent.astype(np.float32)
            values[mine] = self._acquisition.score(self._state, latent)
        return np.where(np.isfinite(values), values, -np.inf)

    def slope(self, points: Array) -> tuple[float, Array]:
        """Sum of the values at ``points: (n, d)`` and its gradient."""
        if self._gradient is None:
            values, gradient = self._differences(points)
        else:
            at = self._outlook.evaluate(points)
            scores, by_latent = self._gradient(self._state, at.latent)
            values = np.asarray(scores, dtype=np.float64)
            gradient = self._outlook.gradient(at, np.asarray(by_latent, dtype=np.float64))
        return float(values.sum()), np.where(np.isfinite(gradient), gradient, 0.0)

    def _differences(self, points: Array) -> tuple[Array, Array]:
        """Values (n,) and central differences (n, d) of an acquisition that has no derivative of its own."""
        n, dim = points.shape
        steps = _STEP * np.concatenate([np.zeros((1, dim)), np.eye(dim), -np.eye(dim)])
        moved = (points + steps[:, None]).reshape(-1, dim)
        scores = self._acquisition.score(self._state, self._outlook.evaluate(moved).latent)
        values, ahead, behind = np.split(np.asarray(scores, dtype=np.float64).reshape(-1, n), [1, 1 + dim])
        return values[0], ((ahead - behind) / (2.0 * _STEP)).T


def maximise(
    objective: Callable[[Array], Array],
    slope: Callable[[Array], tuple[float, Array]] | None,
    space: Searchable,
    around: Array,
    avoid: Array,
    seed: int,
    *,
    nearby: bool = False,
) -> Found:
    """Points of ``space`` by falling value of ``objective``, none of them a row of ``avoid: (n, d)``.

    ``around: (n, d)`` are points near which better ones are expected. Small spaces are enumerated; others are searched from
    a pool of space-filling points and of points near ``around``, the best of which climb: continuous and circular columns by
    bounded quasi-Newton steps, those of few values step by step. With ``nearby`` only relatives of ``around`` are candidates,
    as long as any are left. The result is empty only if nothing is left.
    """
    if nearby and len(pool := _new_relatives(space, around, avoid, np.random.default_rng(seed))) > 0:
        return _ranked(pool, objective(pool))
    if space.size <= ENUMERATE:
        pool = _without(space.enumerate(ENUMERATE), avoid)
        return _ranked(pool, objective(pool))
    rng = np.random.default_rng(seed)
    pool = _without(_pool(space, around, seed, rng), avoid)
    found = _ranked(pool, objective(pool))
    if len(found.X) == 0:
        return found
    if slope is not None and any(column.kind in ("continuous", "circular") for column in space.columns):
        found = _merged(found, _climbed(objective, slope, space, found, avoid))
    if isinstance(space, Space) and any(column.levels is not None for column in space.columns):
        found = _merged(found, _stepped(objective, space, found, avoid))
    return found


def any_relatives(space: Searchable, around: Array, avoid: Array, seed: int) -> Array:
    """Relatives (n, d) of ``around`` in random order, none of them one of ``avoid``."""
    rng = np.random.default_rng(seed)
    pool = _new_relatives(space, around, avoid, rng)
    return pool[rng.permutation(len(pool))]


def _pool(space: Searchable, around: Array, seed: int, rng: np.random.Generator) -> Array:
    spread = space.sobol(int(min(_GLOBAL, space.size)), seed=seed)
    if not isinstance(space, Space) or len(around) == 0:
        return np.unique(spread, axis=0)
    centres = around[rng.integers(len(around), size=_LOCAL)]
    partners = around[rng.integers(len(around), size=_LOCAL)]
    width = np.asarray(_WIDTHS)[rng.integers(len(_WIDTHS), size=_LOCAL)][:, None]
    between = np.where(rng.random((_LOCAL, 1)) < 0.3, rng.random((_LOCAL, 1)), 0.0)
    moved = centres + between * (partners - centres) + width * rng.standard_normal(centres.shape)
    # Some coordinates stay: good options often share the values of all but a few parameters.
    stay = rng.random(centres.shape) < 0.3
    local = space.snap(np.clip(np.where(stay, centres, moved), 0.0, 1.0))
    return np.unique(np.concatenate([spread, local[space.feasible(local)]]), axis=0)


def _new_relatives(space: Searchable, around: Array, avoid: Array, rng: np.random.Generator) -> Array:
    """The first set of relatives of which some are left."""
    for relatives in _relatives(space, around, rng) if len(around) > 0 else ():
        if len(pool := _without(relatives, avoid)) > 0:
            return pool
    return around[:0]


def _relatives(space: Searchable, around: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Sets of points like ``around``, in random order: one takes each parameter from one of two members, each of the others
    differs from a member in one parameter, the same for the whole set.

    The kind is drawn and not left to the acquisition: what the model thinks it knows best is where it would never look again.
    """
    # The columns of a parameter go together.
    names, parameter = np.unique([column.parameter for column in space.columns], return_inverse=True)
    kinds = rng.permutation(len(names))
    alone = {column.parameter for column in space.columns if column.levels == 1}
    kinds = kinds[[names[kind] not in alone for kind in kinds]]
    place = 0 if rng.random() < _MIXED else len(kinds)
    for kind in np.insert(kinds, place, -1):
        first, second = around[rng.integers(len(around), size=(2, _RELATIVES))]
        if kind < 0:
            found = np.where((rng.random((_RELATIVES, len(names))) < 0.5)[:, parameter], first, second)
        else:
            found = np.where(parameter == kind, _anywhere(space, rng), first)
        found = space.snap(found)
        yield np.unique(found[space.feasible(found)], axis=0)


def _anywhere(space: Searchable, rng: np.random.Generator) -> Array:
    """Points for relatives to take a value from, all values of a parameter alike."""
    if isinstance(space, Space):
        return space.place(rng.random((_RELATIVES, len(space.parameters))))
    return rng.random((_RELATIVES, space.dim))


def _climbed(
    objective: Callable[[Array], Array],
    slope: Callable[[Array], tuple[float, Array]],
    space: Searchable,
    found: Found,
    avoid: Array,
) -> Found:
    """Quasi-Newton ascent of the best, different points along their continuous columns and round their circles, as one
    bounded problem."""
    from scipy.optimize import Bounds, minimize

    starts = _different(found, _STARTS)
    starts = np.concatenate([starts, np.repeat(starts[-1:], _STARTS - len(starts), axis=0)])
    free = _Free(space)

    def negative(flat: Array) -> tuple[float, Array]:
        points = free.placed(starts, flat)
        value, gradient = slope(points)
        return -value, -free.gradient(points, gradient)

    flat = free.coordinates(starts)
    options = {"maxiter": _ROUNDS, "maxcor": 10, "ftol": _LEAST_GAIN}
    bounds = Bounds(*free.bounds(len(starts)))
    ends = free.placed(starts, minimize(negative, flat, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)
    # Part of the way serves where the whole of it leaves the feasible region.
    trail = np.concatenate([starts + share * (ends - starts) for share in (1.0, 0.5, 0.25, 0.1)])
    trail = space.snap(trail)
    trail = _without(np.unique(trail[space.feasible(trail)], axis=0), avoid)
    return _ranked(trail, objective(trail))


class _Free:
    """What may climb: the continuous columns of points, and one turn for the two columns of each circle."""

    def __init__(self, space: Searchable) -> None:
        kinds = np.array([column.kind for column in space.columns])
        self._straight = np.flatnonzero(kinds == "continuous")
        self._round = np.flatnonzero(kinds == "circular").reshape(-1, 2)

    def coordinates(self, points: Array) -> Array:
        """The free coordinates of ``points: (n, d)`` in one row."""
        return np.concatenate([points[:, self._straight], points_to_turn(points[:, self._round])], axis=1).reshape(-1)

    def placed(self, points: Array, flat: Array) -> Array:
        """``points`` with other free coordinates."""
        given, moved = flat.reshape(len(points), -1), points.copy()
        moved[:, self._straight] = np.clip(given[:, : len(self._straight)], 0.0, 1.0)
        moved[:, self._round] = turn_to_points(given[:, len(self._straight) :])
        return moved

    def gradient(self, points: Array, by_points: Array) -> Array:
        """The derivative by the free coordinates of what has the derivative ``by_points``."""
        towards = 2.0 * np.pi * (points[:, self._round] - 0.5)
        by_turn = by_points[:, self._round]
        along = towards[..., 0] * by_turn[..., 1] - towards[..., 1] * by_turn[..., 0]
        return np.concatenate([by_points[:, self._straight], along], axis=1).reshape(-1)

    def bounds(self, n: int) -> tuple[Array, Array]:
        """The least and the greatest free coordinates of ``n`` points: a circle has neither."""
        straight, turns = len(self._straight), len(self._round)
        least = np.repeat([0.0, -np.inf], [straight, turns])
        most = np.repeat([1.0, np.inf], [straight, turns])
        return np.tile(least, n), np.tile(most, n)


def _stepped(objective: Callable[[Array], Array], space: Space, found: Found, avoid: Array) -> Found:
    """Local search from the best points: the best neighbour, while there is a better one."""
    results = []
    for start in _different(found, _CLIMB_STARTS):
        here, value = start, float(objective(start[None])[0])
        for _ in range(_CLIMB_ROUNDS):
            around = _without(space.neighbours(here), avoid)
            if len(around) == 0:
                break
            best = _ranked(around, objective(around))
            if best.value[0] <= value:
                break
            here, value = best.X[0], float(best.value[0])
        results.append(here)
    ends = _without(np.unique(results, axis=0), avoid)
    return _ranked(ends, objective(ends))


def _different(found: Found, count: int, distance: float = 0.05) -> Array:
    """The best points that keep a distance from each other."""
    chosen: list[Array] = []
    for point in found.X:
        if all(np.abs(point - other).max() > distance for other in chosen):
            chosen.append(point)
            if len(chosen) == count:
                break
    return np.asarray(chosen)


def _without(points: Array, avoid: Array) -> Array:
    return np.asarray(points[rows_in(avoid, points) < 0])


def _ranked(points: Array, values: Array) -> Found:
    order = np.argsort(-values, kind="stable")
    return Found(points[order], values[order])


def _merged(first: Found, second: Found) -> Found:
    points, kept = np.unique(np.concatenate([first.X, second.X]), axis=0, return_index=True)
    return _ranked(points, np.concatenate([first.value, second.value])[kept])
