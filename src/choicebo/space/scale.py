"""The exact map between a real interval and [0, 1].

No map can keep every float apart: there are more floats in [-5, 5] than in [0, 1]. Two cases remain.

* *Fine* ranges, where the unit interval resolves every float: high at most twice low in size (150 to 220), or
  0 to a power of two (0 to 1). Every float of the range survives the round trip.
* All others, and log scales: values live on a decimal grid, 14 digits of the range (12 significant digits on
  a log scale), far coarser than the rounding of the map. What a person types survives; a float with a longer
  tail is moved to the grid (or to an end that near) once, and from then on survives. So it is on a circle, with
  12 digits of the range, for its positions go through sine and cosine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LINEAR_DIGITS = 14
_CIRCULAR_DIGITS = 12
_LOG_DIGITS = 12
# Powers of ten that a float holds exactly: with these, k / 10**d is the float closest to the decimal.
_TENS = 10.0 ** np.arange(23)
_NUDGES = (1, -1, 2, -2, 3, -3, 4, -4)


def round_decimals(x: Floats, decimals: NDArray[np.int64]) -> Floats:
    """``x`` rounded to that many decimals each (negative: tens, hundreds, ...), as the closest float.

    >>> round_decimals(np.array([0.1 + 0.2, 1234.0]), np.array([5, -2])).tolist()
    [0.3, 1200.0]
    """
    if np.all(np.abs(decimals) < len(_TENS)):
        power = _TENS[np.abs(decimals)]
        rounded: Floats = np.where(decimals >= 0, np.rint(x * power) / power, np.rint(x / power) * power)
        return rounded
    pairs = zip(x.tolist(), decimals.tolist(), strict=True)
    return np.array([round(value, digits) for value, digits in pairs], dtype=np.float64)


@dataclass(frozen=True)
class Scale:
    """An interval with the map to and from [0, 1], linear or logarithmic; both ends are hit exactly.

    The ends of a ``circular`` one are the same value, ``low``.

    >>> scale = Scale(150.0, 220.0)
    >>> scale.to_value(scale.to_unit(np.array([150.0, 183.7, 220.0]))).tolist()
    [150.0, 183.7, 220.0]
    """

    low: float
    high: float
    log: bool = False
    circular: bool = False

    @cached_property
    def _length(self) -> float:
        return math.log(self.high / self.low) if self.log else self.high - self.low

    @cached_property
    def fine(self) -> bool:
        """Whether the unit interval tells all floats of this range apart."""
        if self.log or self.circular:
            return False
        if self.low == 0.0:
            return math.frexp(self.high)[0] == 0.5
        # Then the width is below every |x| of the range, so one step of the cube is below one step of x.
        return self.low * self.high > 0 and self._length <= min(abs(self.low), abs(self.high))

    @property
    def _end(self) -> float:
        return self.low if self.circular else self.high

    def to_value(self, u: Floats) -> Floats:
        """Values in [low, high] of the positions ``u: (n,)``."""
        x = self.low * np.exp(u * self._length) if self.log else self.low + u * self._length
        x = np.clip(x, self.low, self.high) if self.fine else self._grid(x)
        # Adding 0.0 turns -0.0 into 0.0, so that equal options also print equally.
        return np.where(u == 0.0, self.low, np.where(u == 1.0, self._end, x)) + 0.0

    def to_unit(self, x: Floats) -> Floats:
        """Positions in [0, 1] of the values ``x: (n,)``, such that ``to_value`` gives the values back."""
        if not self.fine:
            return self._position(self._grid(x))
        u = self._position(x)
        missed = np.flatnonzero(self.to_value(u) != x)
        for nudge in _NUDGES:
            if not missed.size:
                break
            near = np.clip(u[missed] + nudge * np.spacing(u[missed]), 0.0, 1.0)
            hit = self.to_value(near) == x[missed]
            u[missed[hit]] = near[hit]
            missed = missed[~hit]
        return u

    def _position(self, x: Floats) -> Floats:
        u = np.log(x / self.low) / self._length if self.log else (x - self.low) / self._length
        # NumPy's and Python's logarithm may differ in the last digit.
        return np.where(x == self.high, 1.0, np.clip(u, 0.0, 1.0))

    def _grid(self, x: Floats) -> Floats:
        if self.log:
            decimals = _LOG_DIGITS - 1 - np.floor(np.log10(x)).astype(np.int64)
        else:
            digits = _CIRCULAR_DIGITS if self.circular else _LINEAR_DIGITS
            decimals = np.full(x.shape, digits - math.ceil(math.log10(self._length)), dtype=np.int64)
        x = round_decimals(x, decimals)
        # The ends need not lie on the grid. A grid point next to an end gives way to it; 3/4 of a step takes
        # in the one that the end itself is rounded to, even from halfway.
        near = 0.75 * 10.0 ** -decimals.astype(np.float64)
        return np.where(x < self.low + near, self.low, np.where(x > self.high - near, self._end, x))
