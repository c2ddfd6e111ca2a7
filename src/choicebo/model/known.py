"""Known objectives: latent dimensions without a Gaussian process.

A price or a mass that can be computed is no secret. Its latent value is the known one, standardised, times a scale that is
learned: how much a person's choices depend on it, beside the noise of their answers.

Of a *measured* objective only some values are known. It has a Gaussian process, which is told these values; see
:mod:`~choicebo.model.measured`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given

Array = NDArray[np.float64]
Places = NDArray[np.int64]
KnownFunction = Callable[[Array], Array]
"""Values (n, k), the larger the better, of the known objectives at points (n, d) of the unit cube; (n,) if there is one.

NaN is a value that was not measured. An attribute ``measured``, a flag for each objective, says of which ones values may be
missing; without it, those are of which one is missing among the options of the data."""

_STEP = 1e-4
"""Of a finite difference, in the unit cube."""


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """Known objectives in units in which they can be compared: ``(function(points) - centre) / width``."""

    function: KnownFunction
    centre: Array
    """(k,)"""
    width: Array
    """(k,)"""
    measured: tuple[bool, ...] = ()
    """Of which of them values may be missing; empty where of none."""
    points: Array = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))
    """(p, d): the options of which something was measured before the fit."""
    values: Array = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))
    """(p, q): what was measured of them, as the function gave it; NaN where it was not."""
    fill: Callable[[Array], Array] | None = None
    """Values (n, q) at points (n, d) that are taken for those of the measured ones. With it they have no Gaussian process, and
    everything else is as if they were known everywhere."""

    @classmethod
    def of(cls, function: KnownFunction, shown: Array, X: Array | None = None) -> Known:
        """Standardised over the options that were ``shown: (m, d)``; what is the same for all of them stays in its own units.

        A measured objective is standardised over those of the options ``X``, shown or not, of which it has a value.

        >>> Known.of(lambda x: 10.0 * x[:, 0], np.array([[0.0], [1.0]]))(np.array([[0.5], [1.0]])).tolist()
        [[0.0], [1.0]]
        """
        everywhere = _given(function, shown if X is None else X)
        measured = measured_flags(function, everywhere)
        values = known_values(function, shown, measured)
        centre, width = values.mean(0), values.std(0)
        if not any(measured):
            return cls(function, centre, np.where(width > 0.0, width, 1.0))
        some = everywhere[:, list(measured)]
        at = np.isfinite(some).any(1)
        for place, column in zip(np.flatnonzero(measured), some.T, strict=True):
            seen = column[np.isfinite(column)]
            centre[place], width[place] = (seen.mean(), seen.std()) if len(seen) else (0.0, 0.0)
        points = (shown if X is None else X)[at]
        return cls(function, centre, np.where(width > 0.0, width, 1.0), measured, points, some[at])

    @property
    def count(self) -> int:
        """How many there are, measured ones included."""
        return len(self.width)

    @functools.cached_property
    def of_measured(self) -> Places:
        """(q,): the places of those that are measured, and have a Gaussian process."""
        return np.flatnonzero(self.measured if self.fill is None else ())

    @functools.cached_property
    def of_fixed(self) -> Places:
        """(k - q,): the places of those whose values are known everywhere."""
        return np.setdiff1d(np.arange(self.count), self.of_measured)

    def __call__(self, points: Array) -> Array:
        """Values (n, k - q) at ``points: (n, d)`` of those that are known everywhere."""
        if not any(self.measured):
            return (known_values(self.function, points) - self.centre) / self.width
        if len(self.of_fixed) == 0:
            return np.zeros((len(points), 0))
        values = known_values(self.function, points, self.measured)
        if self.fill is not None:
            values[:, np.flatnonzero(self.measured)] = self.fill(points)
        return np.asarray((values - self.centre) / self.width)[:, self.of_fixed]

    def processes(self, hidden: int) -> Places | slice:
        """The latent dimensions that have a Gaussian process, behind ``hidden`` ones in the order of the objectives."""
        if len(self.of_measured) == 0:
            return slice(hidden)
        return np.concatenate([np.arange(hidden), hidden + self.of_measured])

    def arranged(self, learned: Array, fixed: Array) -> Array:
        """Latent values in their order: the hidden ones, then all objectives as the function has them.

        Args:
            learned: (n_e + q, ...): those with a Gaussian process, hidden ones first.
            fixed: (k - q, ...): those that are known everywhere.
        """
        if len(self.of_measured) == 0:
            return np.concatenate([learned, fixed])
        hidden = len(learned) - len(self.of_measured)
        result = np.empty((len(learned) + len(fixed), *learned.shape[1:]), dtype=learned.dtype)
        result[self.processes(hidden)] = learned
        result[hidden + self.of_fixed] = fixed
        return result

    def scaled(self, scale: Array) -> Known:
        """The same times ``scale: (k,)``: latent values, in units of the noise."""
        return dataclasses.replace(self, width=self.width / scale)

    def gradient(self, points: Array, by_values: Array) -> Array:
        """Derivative (n, d) by ``points: (n, d)`` of what has the derivative ``by_values: (n, k - q)`` by the values that
        are known everywhere, by central differences."""
        n, dim = points.shape
        steps = _STEP * np.eye(dim)[:, None]
        ahead, behind = (np.clip(points + step, 0.0, 1.0) for step in (steps, -steps))
        values = self(np.concatenate([ahead, behind]).reshape(-1, dim)).reshape(2, dim, n, len(self.of_fixed))
        apart = (ahead - behind)[np.arange(dim), :, np.arange(dim)]
        rise = np.einsum("dnk,nk->dn", values[0] - values[1], by_values)
        return np.asarray(np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0.0).T)


def known_values(function: KnownFunction, points: Array, measured: tuple[bool, ...] = ()) -> Array:
    """Values (n, k) of known objectives as they are given; NaN where one of those that are ``measured`` was not.

    Raises:
        InvalidInputError: They have another shape, or one of them is not finite.
    """
    values = _given(function, points)
    wrong = ~np.isfinite(values)
    if any(measured):
        wrong &= ~(np.isnan(values) & np.array(measured))
    if wrong.any():
        row, number = np.argwhere(wrong)[0]
        missing = np.isnan(values[row, number])
        remedy = ", or the function an attribute measured=(True, ...) if values may be missing" if missing else ""
        raise InvalidInputError(
            f"known objective {number + 1} is {as_given(float(values[row, number]))} at the point "
            f"{np.round(points[row], 4).tolist()}; give a finite number for every option{remedy}."
        )
    return values


def measured_flags(function: KnownFunction, values: Array) -> tuple[bool, ...]:
    """Of which objectives values may be missing: as the function says, or those that lack one in ``values: (n, k)``.

    Empty where of none.

    Raises:
        InvalidInputError: The function does not say so of each of them.
    """
    told = getattr(function, "measured", None)
    flags = tuple(bool(np.any(each)) for each in (np.isnan(values).T if told is None else told))
    if len(flags) != values.shape[1]:
        raise InvalidInputError(
            f"known.measured has {len(flags)} flags for {values.shape[1]} objectives; give one for each."
        )
    return flags if any(flags) else ()


def _given(function: KnownFunction, points: Array) -> Array:
    try:
        values = np.array(function(points), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"known must give a number for each point: {error}") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(points):
        raise InvalidInputError(
            f"known must give an array of shape ({len(points)},) or ({len(points)}, k) for {len(points)} points, "
            f"got {values.shape}."
        )
    return values
