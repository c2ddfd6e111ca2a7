"""The values of a Real that are offered where it has a step."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from choicebo.space.scale import round_decimals

Floats = NDArray[np.float64]

# Not 2.5: its digit more is none that a person wants to read.
_NICE = (1, 2, 5, 10)
# On a log scale steps begin to grow beyond so many times the least value.
_LOG_GROWS = 1000.0


def sensible_step(low: float, high: float, log: bool = False) -> float:
    """A round number near a hundredth of the range; on a log scale of what a hundredth of it is at ``low``.

    >>> sensible_step(150, 220), sensible_step(0, 360), sensible_step(1.5, 2.5), sensible_step(1, 1000, log=True)
    (0.5, 5.0, 0.01, 0.05)
    """
    target = (low * math.log(high / low) if log else high - low) / 100.0
    power = math.floor(math.log10(target))
    nearest = min(_NICE, key=lambda nice: abs(math.log10(target) - power - math.log10(nice)))
    return float(f"{nearest}e{power}")


def count_of_steps(low: float, high: float, step: float, log: bool) -> float:
    """About how many values :func:`stepped_values` gives."""
    return sum((end - start) / size for start, end, size in _stretches(low, high, step, log))


def stepped_values(low: float, high: float, step: float, log: bool, circular: bool) -> Floats:
    """Rising values from ``low`` to ``high``, each a step from the one before; if ``circular``, without ``high``.

    ``high`` is the last value also where the range is no whole number of steps: the last step is then shorter or longer by up
    to a half. On a log scale steps grow tenfold with each power of ten beyond a thousand times ``low``.

    >>> stepped_values(0.1, 1.0, 0.4, log=False, circular=False).tolist()
    [0.1, 0.5, 1.0]
    """
    parts = []
    for start, end, size in _stretches(low, high, step, log):
        # Later stretches have round numbers, which low plus so many steps need not be.
        origin = low if start == low else 0.0
        first, last = math.ceil((start - origin) / size), math.floor((end - origin) / size)
        values = origin + size * np.arange(first, last + 1, dtype=np.float64)
        parts.append(round_decimals(values, np.full(len(values), max(decimals_of(origin), decimals_of(size)))))
        step = size
    values = np.concatenate(parts)
    values = values[values < high - step * (0.5 - 1e-9)]
    return np.unique(values if circular else np.append(values, high))


def decimals_of(number: float) -> int:
    """How many decimals a number is written with.

    >>> decimals_of(0.25), decimals_of(40.0)
    (2, 0)
    """
    exponent = Decimal(repr(number)).normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return max(0, -exponent)


def _stretches(low: float, high: float, step: float, log: bool) -> list[tuple[float, float, float]]:
    """Start, end and step of each part of the range."""
    if not log:
        return [(low, high, step)]
    found, start, end = [], low, _LOG_GROWS * low
    while end < high:
        found.append((start, end, step))
        start, end = end, 10.0 * end
        step = float(Decimal(repr(step)).scaleb(1))
    return [*found, (start, high, step)]
