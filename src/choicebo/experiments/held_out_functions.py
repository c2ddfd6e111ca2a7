"""Functions that the default was not developed on: turned inputs, and designs of engineers. All are minimised.

Fronts of common benchmarks lie along the axes, so that changing one input at a time suits them; turned, they do not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ANGLE = np.pi / 6


def turned(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A function of the unit cube in other coordinates: the cube is turned around its centre, and mirrored at its sides.

    The turned cube is shrunk until the whole of the function's own cube is inside of it, so that the front is the same.

    >>> at_centre = turned(lambda x: x)(np.full((1, 3), 0.5))
    >>> at_centre.tolist()
    [[0.5, 0.5, 0.5]]
    """

    def seen(x: Array) -> Array:
        dim = x.shape[1]
        inside = 0.5 + np.sqrt(dim) * (x - 0.5) @ turn(dim).T
        return function(1.0 - np.abs(1.0 - np.mod(inside, 2.0)))

    return seen


def turn(dim: int) -> Array:
    """A rotation by 30 degrees in the plane of each two neighbouring axes, one after the other."""
    result = np.eye(dim)
    for axis in range(dim - 1):
        plane = np.eye(dim)
        plane[axis : axis + 2, axis : axis + 2] = [
            [np.cos(_ANGLE), -np.sin(_ANGLE)],
            [np.sin(_ANGLE), np.cos(_ANGLE)],
        ]
        result = plane @ result
    return result


def car_side_impact(x: Array) -> Array:
    """Weight, force on the pubis and velocity of two points of a car's side, and by how much limits are exceeded.

    Jain and Deb 2014, with the constraints as an objective as in Tanabe and Ishibuchi 2020.
    """
    x1, x2, x3, x4, x5, x6, x7 = x.T
    weight = 1.98 + 4.9 * x1 + 6.67 * x2 + 6.98 * x3 + 4.01 * x4 + 1.78 * x5 + 1e-5 * x6 + 2.73 * x7
    force = 4.72 - 0.5 * x4 - 0.19 * x2 * x3
    pillar = 10.58 - 0.674 * x1 * x2 - 0.67275 * x2
    door = 16.45 - 0.489 * x3 * x7 - 0.843 * x5 * x6
    left = [
        1.0 - 1.16 + 0.3717 * x2 * x4 + 0.0092928 * x3,
        0.32 - 0.261 + 0.0159 * x1 * x2 + 0.06486 * x1 + 0.019 * x2 * x7 - 0.0144 * x3 * x5 - 0.0154464 * x6,
        0.32
        - 0.214
        - 0.00817 * x5
        + 0.045195 * x1
        + 0.0135168 * x1
        - 0.03099 * x2 * x6
        + 0.018 * x2 * x7
        - 0.007176 * x3
        - 0.023232 * x3
        + 0.00364 * x5 * x6
        + 0.018 * x2**2,
        0.32 - 0.74 + 0.61 * x2 + 0.031296 * x3 + 0.031872 * x7 - 0.227 * x2**2,
        32.0 - 28.98 - 3.818 * x3 + 4.2 * x1 * x2 - 1.27296 * x6 + 2.68065 * x7,
        32.0 - 33.86 - 2.95 * x3 + 5.057 * x1 * x2 + 3.795 * x2 + 3.4431 * x7 - 1.45728,
        32.0 - 46.36 + 9.9 * x2 + 4.4505 * x1,
        4.0 - force,
        9.9 - pillar,
        15.7 - door,
    ]
    exceeded = np.maximum(-np.stack(left), 0.0).sum(0)
    return np.stack([weight, force, 0.5 * (pillar + door), exceeded], axis=1)


_LOAD, _LENGTH, _SHEAR, _STRESS = 6000.0, 14.0, 13600.0, 30000.0


def welded_beam(x: Array) -> Array:
    """Cost and deflection of a welded beam, and by how much its limits are exceeded, as shares of them."""
    weld, seam, height, width = x.T
    cost = 1.10471 * weld**2 * seam + 0.04811 * height * width * (_LENGTH + seam)
    deflection = 2.1952 / (width * height**3)
    arm = np.sqrt(0.25 * (seam**2 + (weld + height) ** 2))
    polar = np.sqrt(2.0) * weld * seam * (seam**2 / 12 + 0.25 * (weld + height) ** 2)
    direct = _LOAD / (np.sqrt(2.0) * weld * seam)
    torsion = _LOAD * (_LENGTH + seam / 2) * arm / polar
    shear = np.sqrt(direct**2 + direct * torsion * seam / arm + torsion**2)
    bending = 6 * _LOAD * _LENGTH / (width * height**2)
    buckling = 64746.022 * (1 - 0.0282346 * height) * height * width**3
    over = [
        (shear - _SHEAR) / _SHEAR,
        (bending - _STRESS) / _STRESS,
        (weld - width) / (5 - 0.125),
        (_LOAD - buckling) / _LOAD,
    ]
    return np.stack([cost, deflection, np.maximum(np.stack(over), 0.0).sum(0)], axis=1)


def penicillin(x: Array) -> Array:
    """Yield (negated), time and by-product of a simulated fermenter: BoTorch's, which must be installed."""
    import torch
    from botorch.test_functions.multi_objective import Penicillin

    return np.asarray(Penicillin()(torch.as_tensor(x, dtype=torch.double)).numpy())
