"""Known objectives: latent dimensions without a Gaussian process.

A price or a mass that can be computed is no secret. Its latent value is the known one, standardised, times a scale that is
learned: how much a person's choices depend on it, beside the noise of their answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given

Array = NDArray[np.float64]
KnownFunction = Callable[[Array], Array]
"""Values (n, k), the larger the better, of the known objectives at points (n, d) of the unit cube; (n,) if there is one."""

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

    @classmethod
    def of(cls, function: KnownFunction, X: Array) -> Known:
        """Standardised over the options ``X: (m, d)``; what is the same for all of them stays in its own units.

        >>> Known.of(lambda x: 10.0 * x[:, 0], np.array([[0.0], [1.0]]))(np.array([[0.5], [1.0]])).tolist()
        [[0.0], [1.0]]
        """
        values = known_values(function, X)
        width = values.std(0)
        return cls(function, values.mean(0), np.where(width > 0.0, width, 1.0))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.width)

    def __call__(self, points: Array) -> Array:
        """Values (n, k) at ``points: (n, d)``."""
        return (known_values(self.function, points) - self.centre) / self.width

    def scaled(self, scale: Array) -> Known:
        """The same times ``scale: (k,)``: latent values, in units of the noise."""
        return dataclasses.replace(self, width=self.width / scale)

    def gradient(self, points: Array, by_values: Array) -> Array:
        """Derivative (n, d) by ``points: (n, d)`` of what has the derivative ``by_values: (n, k)``, by central differences."""
        n, dim = points.shape
        steps = _STEP * np.eye(dim)[:, None]
        ahead, behind = (np.clip(points + step, 0.0, 1.0) for step in (steps, -steps))
        values = self(np.concatenate([ahead, behind]).reshape(-1, dim)).reshape(2, dim, n, self.count)
        apart = (ahead - behind)[np.arange(dim), :, np.arange(dim)]
        rise = np.einsum("dnk,nk->dn", values[0] - values[1], by_values)
        return np.asarray(np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0.0).T)


def known_values(function: KnownFunction, points: Array) -> Array:
    """Values (n, k) of known objectives as they are given.

    Raises:
        InvalidInputError: They have another shape, or one of them is not finite.
    """
    try:
        values = np.asarray(function(points), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"known must give a number for each point: {error}") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(points):
        raise InvalidInputError(
            f"known must give an array of shape ({len(points)},) or ({len(points)}, k) for {len(points)} points, "
            f"got {values.shape}."
        )
    if not np.isfinite(values).all():
        row, number = np.argwhere(~np.isfinite(values))[0]
        raise InvalidInputError(
            f"known objective {number + 1} is {as_given(float(values[row, number]))} at the point "
            f"{np.round(points[row], 4).tolist()}; give a finite number for every option"
        )
    return values
