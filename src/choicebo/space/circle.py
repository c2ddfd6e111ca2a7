"""Where the values of a circular parameter sit: on a circle inside two columns of the unit cube.

The circle has a diameter of 1, so that opposite values are as far apart as the two ends of a Real. Its ends are one place, and
every covariance of distances sees them so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def turn_to_points(turn: Floats) -> Floats:
    """Points (..., 2) on the circle of fractions of a full turn.

    >>> turn_to_points(np.array([0.0, 0.5, 1.0])).round(6).tolist()
    [[1.0, 0.5], [0.0, 0.5], [1.0, 0.5]]
    """
    angle = 2.0 * np.pi * turn
    return 0.5 + 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def points_to_turn(points: Floats) -> Floats:
    """Fractions of a full turn, from 0 to 1, in whose direction ``points: (..., 2)`` lie.

    >>> points_to_turn(np.array([[1.0, 0.5], [0.5, 0.9], [0.0, 0.5]])).tolist()
    [0.0, 0.25, 0.5]
    """
    turn: Floats = np.arctan2(points[..., 1] - 0.5, points[..., 0] - 0.5) / (2.0 * np.pi) % 1.0
    return turn
