"""The normal distribution function over large arrays: a few products where SciPy takes ten times as long.

``Phi(-|x|)`` is a polynomial times ``exp(-x^2 / 2)``: one exponential gives the density and both tails, and nothing cancels
in either, neither in the values nor in the derivatives. The relative error is below 1e-7.
"""

from __future__ import annotations

import math

import numpy as np

from choicebo.acquisition.interface import Array

_INVERSE_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)

_TAIL = (
    0.09973556620061715,
    0.09973653976120024,
    0.09346278632197508,
    0.08164728215788046,
    0.05870716892546313,
    0.06459580261581382,
    -0.03345294745264357,
    0.09752885444170545,
    -0.08202378341753809,
    0.020062734772977812,
)
"""Least squares at 400 Chebyshev nodes in ``t`` of the relative error of the tail divided by ``t``: at most 4e-8."""


def log_cdf(x: Array) -> Array:
    """``log Phi(x)``, elementwise, finite everywhere.

    Examples:
        >>> log_cdf(np.array([-40.0, 0.0, 3.0])).round(3).tolist()
        [-804.608, -0.693, -0.001]
    """
    tail, exponent = _scaled_tail(x), -0.5 * (x * x)
    below = x < 0
    log = np.log(np.where(below, tail, 1.0 - tail * np.exp(exponent)))
    return np.asarray(np.add(log, exponent, out=log, where=below))


def mills_ratio(x: Array) -> Array:
    """``phi(x) / Phi(x)``, the derivative of `log_cdf`.

    Examples:
        >>> mills_ratio(np.array([-100.0, 0.0, 3.0])).round(3).tolist()
        [100.01, 0.798, 0.004]
    """
    tail, density = _scaled_tail(x), np.exp(-0.5 * (x * x))
    # Below zero the Gaussian factors cancel on paper, so that no rounding can.
    below = x < 0
    ratio = np.where(below, 1.0, density) / np.where(below, tail, 1.0 - tail * density)
    return np.asarray(_INVERSE_SQRT_2PI * ratio, dtype=x.dtype)


def cdf(x: Array) -> Array:
    """``Phi(x)``, elementwise.

    Examples:
        >>> cdf(np.array([-1.0, 0.0, 3.0])).round(4).tolist()
        [0.1587, 0.5, 0.9987]
    """
    tail = _scaled_tail(x) * np.exp(-0.5 * (x * x))
    return np.where(x < 0, tail, 1.0 - tail)


def _scaled_tail(x: Array) -> Array:
    """``Phi(-|x|) exp(x^2 / 2)``, a polynomial in ``t = 1 / (1 + |x| / 4)``."""
    t = np.abs(x)
    t *= 0.25
    t += 1.0
    np.reciprocal(t, out=t)
    p = t * _TAIL[-1]
    for coefficient in _TAIL[-2:0:-1]:
        p += coefficient
        p *= t
    p += _TAIL[0]
    p *= t
    return np.asarray(p)
