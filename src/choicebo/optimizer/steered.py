"""The part of a space that a person's wishes leave: options with the locked values, options like one that they named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.acquisition.maximise import ENUMERATE
from choicebo.errors import InvalidInputError
from choicebo.history import Steering
from choicebo.space import Column, Option, Searchable, Space
from choicebo.space.points import distinct
from choicebo.space.sampling import sobol_order
from choicebo.space.values import as_generator

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

_CANDIDATES = 2048
"""Number of points to evaluate in a large space; this sample is then searched point by point."""
_NEAR = 0.25
"""Options resemble one another if no number differs by more than this share of its range, and one category at most; ..."""
_LEAST = 12
"""... and in a space of few options, so many of the nearest do."""
_WIDTHS = (0.03, 0.06, 0.12)


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the options of a space, in the same cube: all of a small space that are wished for, a sample of a large one."""

    space: Searchable
    steering: Steering

    @cached_property
    def points(self) -> Array:
        """(n, d), distinct."""
        every = self._everything
        mine = every[self.feasible(every)]
        if self.steering.like is not None and len(mine) < _LEAST and self._is_listed:
            mine = every[self._has_locked(every)]
            mine = mine[np.argsort(self._apart(mine).mean(1), kind="stable")[:_LEAST]]
        return mine

    def require_choice(self) -> None:
        """Refuse wishes that leave nothing to choose between."""
        if len(self.points) < 2:
            locked = " and ".join(f"{name} at {value!r}" for name, value in self.steering.locked.items())
            raise InvalidInputError(
                f"With {locked or 'these wishes'} nothing is left to vary: remove a lock, or lock another value."
            )

    @property
    def _is_listed(self) -> bool:
        return self.space.size <= ENUMERATE or not isinstance(self.space, Space)

    @cached_property
    def _everything(self) -> Array:
        """Every option of a small space; of a large one, points that have the locked values and spread around the liked one."""
        space = self.space
        if self._is_listed:
            return distinct(space.enumerate(int(space.size)))[0]
        spread = space.sobol(_CANDIDATES, seed=0)
        held = np.array([column.parameter in self.steering.locked for column in space.columns])
        option = {**space.decode(spread[:1])[0], **self.steering.locked}
        locked = space.encode([option])[0]
        found = np.where(held, locked, spread)
        if self.steering.like is not None:
            found = np.where(held, found, self._around(space.encode([self.steering.like])[0], spread))
        # A locked value stays as it is, be it between two steps.
        found = np.where(held, locked, space.snap(np.clip(found, 0.0, 1.0)))
        return distinct(found[space.feasible(found)])[0]

    def _around(self, centre: Array, spread: Array) -> Array:
        """Points like ``centre: (d,)``: a normal step in some of the parameters, now and then another category."""
        rng = np.random.default_rng(0)
        columns = self.space.columns
        names, parameter = np.unique([column.parameter for column in columns], return_inverse=True)
        one_hot = np.array([column.kind == "onehot" for column in columns])
        width = np.asarray(_WIDTHS)[rng.integers(len(_WIDTHS), size=len(spread))][:, None]
        stepped = centre + width * rng.standard_normal(spread.shape)
        chance = rng.random((len(spread), len(names)))[:, parameter]
        moved = np.where(one_hot, chance < 1.0 / len(names), chance < 0.7)
        return np.where(moved, np.where(one_hot, spread, stepped), centre)

    def _has_locked(self, points: Array) -> Bools:
        if not self.steering.locked:
            return np.ones(len(points), dtype=np.bool_)
        wanted = self.steering.locked.items()
        options = self.space.decode(points)
        return np.array([all(option[name] == value for name, value in wanted) for option in options], dtype=np.bool_)

    def _apart(self, points: Array) -> Array:
        """Share of the range of each parameter by which points differ from the liked option, (n, parameters)."""
        assert self.steering.like is not None
        apart = np.abs(points - self.space.encode([self.steering.like]))
        names = [column.parameter for column in self.space.columns]
        each = [apart[:, [other == name for other in names]].max(1) for name in dict.fromkeys(names)]
        return np.stack(each, axis=1)

    def _is_like(self, points: Array) -> Bools:
        kinds = {column.parameter: column.kind for column in self.space.columns}
        apart, one_hot = self._apart(points), np.array([kind == "onehot" for kind in kinds.values()])
        numbers, categories = apart[:, ~one_hot], apart[:, one_hot]
        return np.asarray((numbers <= _NEAR).all(1) & ((categories > 0.0).sum(1) <= 1))

    # ---- a Searchable

    @property
    def dim(self) -> int:
        """The number of cube columns."""
        return self.space.dim

    @property
    def columns(self) -> tuple[Column, ...]:
        """What each cube column stands for."""
        return self.space.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of every option."""
        return self.space.names

    @property
    def size(self) -> int | float:
        """How many options there are to search."""
        return len(self.points)

    def encode(self, options: Sequence[Any]) -> Array:
        """Cube points (n, dim) of options."""
        return self.space.encode(options)

    def decode(self, points: ArrayLike) -> list[Option]:
        """The options of cube points (n, dim)."""
        return self.space.decode(points)

    def snap(self, points: ArrayLike) -> Array:
        """``encode(decode(points))``."""
        return self.space.snap(points)

    def feasible(self, points: ArrayLike | Sequence[Mapping[str, object]]) -> Bools:
        """Which cube points may be offered and are wished for: (n,)."""
        cube = np.asarray(points, dtype=np.float64)
        mine = self.space.feasible(cube) & self._has_locked(cube)
        return mine if self.steering.like is None else mine & self._is_like(cube)

    def validate(self, option: Any) -> Option:
        """The option as it is kept, or an error that says what is wrong."""
        return self.space.validate(option)

    def contains(self, option: Any) -> bool:
        """Whether the option is valid, may be offered and is wished for."""
        return self.space.contains(option) and bool(self.feasible(self.space.encode([option]))[0])

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Array:
        """Different random points, at most ``n``."""
        return self.points[as_generator(seed).permutation(len(self.points))[:n]]

    def sobol(self, n: int, seed: int = 0, skip: int = 0) -> Array:
        """Points ``skip`` to ``skip + n`` of an order that fills the part; it starts again after the last."""
        low, high = self.points.min(0), self.points.max(0)
        stretched = (self.points - low) / np.where(high > low, high - low, 1.0)
        order = sobol_order(stretched, min(n + skip, len(self.points)), seed)
        return self.points[order[np.arange(skip, n + skip) % len(self.points)]]

    def enumerate(self, limit: int = 10_000) -> Array:
        """All points (m, dim)."""
        return self.points

    def to_dict(self) -> dict[str, Any]:
        """A description of the whole space."""
        return self.space.to_dict()


def wished_part(space: Searchable, steering: Steering) -> Searchable:
    """Where new options are looked for."""
    if not steering.locked and steering.like is None:
        return space
    part = Part(space, steering)
    part.require_choice()
    return part
