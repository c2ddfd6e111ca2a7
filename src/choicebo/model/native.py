"""The likelihood as the engines evaluate it, thousands of times a fit: compiled once by Numba, for choices of every size.

Same formulas as :mod:`choicebo.model.likelihood`, in single precision, with two short cuts. Integrals over a shared noise use
a fixed Gauss-Hermite rule, which the largest terms never need (a single kept option has a closed form); and the
distribution functions are divided by their value at the leftmost node, so that their products cannot underflow. The tests
bound the difference to the exact likelihood.

Choices are ragged arrays: no padding, so one compiled function serves all sizes. Chains, draws, starting points or
perturbations are the last axis, in lanes of 16: every inner loop runs over them and becomes a few vector instructions. The
exponential, the logarithm and the tail of the normal are polynomials, because a library call would end that.

All compiled code is in this file, for Numba's cache looks at one file alone. Numbers of single precision stay so only if no
Python number meets them: hence the constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from choicebo.model.jit import compiled, entry, inlined

LANES = 16
NODES = 6
"""Of the Gauss-Hermite rule while sampling."""

_F = np.float32
# Columns are counted in numbers without a sign: Numba need not ask whether one counts from the end, and the loop stays simple.
_unsigned = np.uint64
_NOTHING, _LANES = _unsigned(0), _unsigned(LANES)
_ZERO, _QUARTER, _HALF, _ONE = _F(0.0), _F(0.25), _F(0.5), _F(1.0)
_SQRT_HALF = _F(np.sqrt(0.5))
_INVERSE_SQRT_2PI = _F(1.0 / np.sqrt(2.0 * np.pi))
_MILLS = _F(1.0 / np.sqrt(4.0 * np.pi))
"""The density's constant times the derivative of ``z / sqrt 2``."""
_TINY = _F(1e-37)
_NEVER = _F(-1e30)

# The exponential: 2^n times a polynomial in the rest. Adding the magic number rounds to whole ones.
_LOG2_E, _MAGIC = _F(1.4426950408889634), _F(12582912.0)
_LN2_HIGH, _LN2_LOW = _F(0.693359375), _F(-2.12194440e-4)
_LEAST_EXPONENT, _MOST_EXPONENT = _F(-87.0), _F(80.0)
_E0, _E1, _E2 = _F(5.0000001201e-1), _F(1.6666665459e-1), _F(4.1665795894e-2)
_E3, _E4, _E5 = _F(8.3334519073e-3), _F(1.3981999507e-3), _F(1.9875691500e-4)

# The logarithm of 1 + x between sqrt(1/2) and sqrt(2), less x - x^2 / 2.
_SQRT_OF_HALF = _F(0.707106781186547524)
_L0, _L1, _L2 = _F(3.3333331174e-1), _F(-2.4999993993e-1), _F(2.0000714765e-1)
_L3, _L4, _L5 = _F(-1.6668057665e-1), _F(1.4249322787e-1), _F(-1.2420140846e-1)
_L6, _L7, _L8 = _F(1.1676998740e-1), _F(-1.1514610310e-1), _F(7.0376836292e-2)

# Phi(-|x|) exp(x^2 / 2) as a polynomial in t = 1 / (1 + |x| / 4), divided by t: least squares of the relative error at 400
# Chebyshev nodes, at most 4e-8.
_T0, _T1, _T2 = _F(0.09973556620061715), _F(0.09973653976120024), _F(0.09346278632197508)
_T3, _T4, _T5 = _F(0.08164728215788046), _F(0.05870716892546313), _F(0.06459580261581382)
_T6, _T7, _T8 = _F(-0.03345294745264357), _F(0.09752885444170545), _F(-0.08202378341753809)
_T9 = _F(0.020062734772977812)

_NEWTON_STEPS = 8

_Any = Any


@intrinsic
def _times_power_of_two(typing_context: _Any, p: _Any, t: _Any) -> _Any:
    """``p`` times two to the whole number in the last bits of ``t``."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        whole = ir.IntType(32)
        p_bits, t_bits = (builder.bitcast(argument, whole) for argument in arguments)
        moved = builder.shl(t_bits, ir.Constant(whole, 23))
        return builder.bitcast(builder.add(p_bits, moved), ir.FloatType())

    return types.float32(types.float32, types.float32), codegen


@intrinsic
def _mantissa(typing_context: _Any, x: _Any) -> _Any:
    """The mantissa of a positive number, from one half to one."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        whole = ir.IntType(32)
        bits = builder.bitcast(arguments[0], whole)
        kept = builder.and_(bits, ir.Constant(whole, 0x007FFFFF))
        return builder.bitcast(builder.or_(kept, ir.Constant(whole, 0x3F000000)), ir.FloatType())

    return types.float32(types.float32), codegen


@intrinsic
def _exponent(typing_context: _Any, x: _Any) -> _Any:
    """Its power of two, as a floating-point number."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        whole = ir.IntType(32)
        bits = builder.lshr(builder.bitcast(arguments[0], whole), ir.Constant(whole, 23))
        return builder.sitofp(builder.sub(bits, ir.Constant(whole, 126)), ir.FloatType())

    return types.float32(types.float32), codegen


@compiled
def _exp(x):
    x = min(max(x, _LEAST_EXPONENT), _MOST_EXPONENT)
    t = x * _LOG2_E + _MAGIC
    n = t - _MAGIC
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_E5 * r + _E4) * r + _E3) * r + _E2) * r + _E1) * r + _E0
    return _times_power_of_two(p * r * r + r + _ONE, t)


@compiled
def _log(x):
    """Of a positive number."""
    m, e = _mantissa(x), _exponent(x)
    below = m < _SQRT_OF_HALF
    e = e - _ONE if below else e
    m = m + m - _ONE if below else m - _ONE
    z = m * m
    p = ((((((((_L8 * m + _L7) * m + _L6) * m + _L5) * m + _L4) * m + _L3) * m + _L2) * m + _L1) * m + _L0) * m * z
    return m + (p + e * _LN2_LOW - _HALF * z) + e * _LN2_HIGH


@compiled
def _tail(x):
    """``Phi(-|x|) exp(x^2 / 2)``."""
    t = _ONE / (_ONE + _QUARTER * abs(x))
    p = ((((((((_T9 * t + _T8) * t + _T7) * t + _T6) * t + _T5) * t + _T4) * t + _T3) * t + _T2) * t + _T1) * t + _T0
    return p * t


# Comparisons of one choice stand side by side, lanes within, as the columns of (dimension, column) arrays: long loops over
# columns keep the processor busy where loops over 16 lanes would spend their time starting.


@compiled
def _tails_and_exponentials(x, exponent, tail, rows, width):
    """The tail of each ``x``, and the exponential of each exponent in its place: what costs most."""
    for r in range(rows):
        for n in range(width):
            tail[r, n] = _tail(x[r, n])
            exponent[r, n] = _exp(exponent[r, n])


@compiled
def _difference(y, first, second, column, x):
    """Latent values of one option less those of another, from a column on."""
    for d in range(y.shape[1]):
        for l in range(_LANES):
            x[d, column + l] = y[first, d, l] - y[second, d, l]


@compiled
def _push(slope, first, second, column, change):
    """Add the derivatives by a difference to those by its two options."""
    for d in range(slope.shape[1]):
        for l in range(_LANES):
            slope[first, d, l] += change[d, column + l]
        for l in range(_LANES):
            slope[second, d, l] -= change[d, column + l]


@compiled
def _add_columns(value, column_values, width):
    for start in range(_NOTHING, width, _LANES):
        for l in range(_LANES):
            value[l] += column_values[start + l]


@compiled
def _beaten_by_one(y, value, slope, x, exponent, tail, row):
    """Log-probability that the one kept option beats each of the others: ``sum_d log Phi(z_d / sqrt 2)``."""
    others, n_e = y.shape[0] - 1, y.shape[1]
    width = _unsigned(others) * _LANES
    for j in range(others):
        _difference(y, 0, 1 + j, _unsigned(j) * _LANES, x)
    for d in range(n_e):
        for n in range(width):
            z = x[d, n] * _SQRT_HALF
            x[d, n] = z
            exponent[d, n] = -_HALF * z * z
    _tails_and_exponentials(x, exponent, tail, n_e, width)
    _log_distributions(x, exponent, tail, n_e, width, row[0], row[1])
    _add_columns(value, row[0], width)
    for j in range(others):
        _push(slope, 0, 1 + j, _unsigned(j) * _LANES, x)


@compiled
def _log_distributions(x, exponential, tail, n_e, width, logarithm, product):
    """``sum_d log Phi(x_d)`` of each column, and in the place of ``x`` its derivatives by ``z``."""
    for n in range(width):
        product[n] = _ONE
        logarithm[n] = _ZERO
    for d in range(n_e):
        for n in range(width):
            below = x[d, n] < _ZERO
            part = tail[d, n] if below else _ONE - tail[d, n] * exponential[d, n]
            product[n] *= part
            logarithm[n] -= _HALF * x[d, n] * x[d, n] if below else _ZERO
            x[d, n] = _MILLS * (_ONE if below else exponential[d, n]) / part
    for n in range(width):
        logarithm[n] += _log(max(product[n], _TINY))


@compiled
def _beaten_by_some(y, kept, low, high, value, slope, points, weights, x, exponent, tail, row, products, shares):
    """Log-probability that each of the rejected options from ``low`` to ``high`` is beaten by some of the kept ones.

    Inclusion-exclusion over the subsets of the kept ones. The rows of ``x``, ``exponent`` and ``tail`` are the dimensions of
    ``z / sqrt 2``, then those of ``z`` at the first node, and so on; their columns the comparisons of the first kept option with
    the rejected ones, then those of the second. ``products: (subsets, n_e nodes, columns)`` holds the products of the
    distribution functions of each subset, ``shares: (subsets, n_e, columns)`` what multiplies the integral of each in the sum.
    """
    n_e, nodes = y.shape[1], len(points)
    width = _unsigned(high - low) * _LANES
    columns = _unsigned(kept) * width
    subsets = 1 << kept
    largest, total, scales, single, product, sums = row[0], row[1], row[2], row[3], row[4], row[5]
    first = points[0]

    for i in range(kept):
        for j in range(low, high):
            _difference(y, i, j, _unsigned(i) * width + _unsigned(j - low) * _LANES, x)
    for d in range(n_e):
        for k in range(nodes):
            at, point = (k + 1) * n_e + d, points[k]
            for n in range(columns):
                left = x[d, n] - first
                z = x[d, n] - point
                x[at, n] = z
                exponent[at, n] = _HALF * ((left * left if left < _ZERO else _ZERO) - z * z)
        for n in range(columns):
            z = x[d, n] * _SQRT_HALF
            x[d, n] = z
            exponent[d, n] = -_HALF * z * z
    _tails_and_exponentials(x, exponent, tail, (nodes + 1) * n_e, columns)
    _log_distributions(x, exponent, tail, n_e, columns, single, product)

    # Distribution functions and densities at the nodes, divided by the former's value at the first node.
    for n in range(columns):
        product[n] = _ONE
        scales[n] = _ZERO
    for d in range(n_e):
        base = n_e + d
        for n in range(columns):
            z = x[base, n]
            below = z < _ZERO
            part = tail[base, n] if below else _ONE - tail[base, n] * exponent[base, n]
            product[n] *= part
            scales[n] -= _HALF * z * z if below else _ZERO
            sums[n] = _ONE / part
        for k in range(nodes):
            at = (k + 1) * n_e + d
            for n in range(columns):
                raised = exponent[at, n] * sums[n]
                small = tail[at, n] * raised
                tail[at, n] = small if x[at, n] < _ZERO else sums[n] - small
                exponent[at, n] = _INVERSE_SQRT_2PI * raised
    for n in range(columns):
        scales[n] += _log(max(product[n], _TINY))

    for n in range(width):
        largest[n] = single[n]
    for i in range(1, kept):
        start = _unsigned(i) * width
        for n in range(width):
            largest[n] = max(largest[n], single[start + n])
    for n in range(width):
        total[n] = _ZERO
    for i in range(kept):
        start = _unsigned(i) * width
        for n in range(width):
            share = _exp(single[start + n] - largest[n])
            single[start + n] = share
            total[n] += share

    # Products over the members of each subset at each node, by doubling; the empty one is the weight of the node.
    for k in range(nodes):
        weight = weights[k]
        for d in range(n_e):
            for n in range(width):
                products[0, k * n_e + d, n] = weight
    for i in range(kept):
        bit, start = 1 << i, _unsigned(i) * width
        for code in range(bit):
            for r in range(nodes * n_e):
                for n in range(width):
                    products[code + bit, r, n] = products[code, r, n] * tail[n_e + r, start + n]
    for code in range(3, subsets):
        if code & (code - 1) == 0:
            continue
        odd = False
        for n in range(width):
            sums[n] = -largest[n]
        for i in range(kept):
            if code >> i & 1:
                odd = not odd
                start = _unsigned(i) * width
                for n in range(width):
                    sums[n] += scales[start + n]
        sign = -_ONE if odd else _ONE
        for n in range(width):
            sums[n] = sign * _exp(sums[n])
        # The rows for the dimensions of z / sqrt 2 are free by now, but for their derivatives in x: integrals go there.
        for d in range(n_e):
            for n in range(width):
                tail[d, n] = products[code, d, n]
            for k in range(1, nodes):
                for n in range(width):
                    tail[d, n] += products[code, k * n_e + d, n]
        for d in range(n_e):
            for n in range(width):
                shares[code, d, n] = sums[n]
            for e in range(n_e):
                if e != d:
                    for n in range(width):
                        shares[code, d, n] *= tail[e, n]
        for n in range(width):
            total[n] -= shares[code, 0, n] * tail[0, n]

    for n in range(width):
        largest[n] += _log(max(total[n], _TINY))
        total[n] = _ONE / max(total[n], _TINY)
    _add_columns(value, largest, width)
    for i in range(kept):
        bit, start = 1 << i, _unsigned(i) * width
        for d in range(n_e):
            for n in range(width):
                x[d, start + n] *= single[start + n]
            for code in range(3, subsets):
                if code & bit and code != bit:
                    for n in range(width):
                        sums[n] = exponent[n_e + d, start + n] * products[code - bit, d, n]
                    for k in range(1, nodes):
                        at = k * n_e + d
                        for n in range(width):
                            sums[n] += exponent[n_e + at, start + n] * products[code - bit, at, n]
                    for n in range(width):
                        x[d, start + n] -= shares[code, d, n] * sums[n]
            for n in range(width):
                x[d, start + n] *= total[n]
        for j in range(low, high):
            _push(slope, i, j, start + _unsigned(j - low) * _LANES, x)


@compiled
def _coexist(y, kept, value, slope, x, exponent, tail, row):
    """Log-probability that no kept option beats another.

    The probability that an option does not beat the other, ``1 - prod_d Phi_d``, is a sum of positive terms, ``q_1 + Phi_1 q_2 +
    Phi_1 Phi_2 q_3 + ...``, so that nothing cancels. It is small only where one option is better in all dimensions; there the
    exponential of its largest tail is divided out, so that nothing underflows either.
    """
    n_e = y.shape[1]
    width = _NOTHING
    for p in range(kept):
        for i in range(p + 1, kept):
            _difference(y, p, i, width, x)
            width += _LANES
    lowest, highest, first, second, before = row[0], row[1], row[2], row[3], row[4]
    for n in range(width):
        lowest[n] = x[0, n]
        highest[n] = x[0, n]
    for d in range(1, n_e):
        for n in range(width):
            lowest[n] = min(lowest[n], x[d, n])
            highest[n] = max(highest[n], x[d, n])
    for n in range(width):
        lowest[n] *= _SQRT_HALF
        highest[n] *= -_SQRT_HALF
    # Every dimension twice: as it is, and with the exponential divided out where one option is better in all of them.
    for d in range(n_e):
        for n in range(width):
            z = x[d, n] * _SQRT_HALF
            gap = max(max(lowest[n], highest[n]), _ZERO)
            x[d, n] = z
            x[n_e + d, n] = z
            exponent[d, n] = -_HALF * z * z
            exponent[n_e + d, n] = _HALF * (gap * gap - z * z)
    _tails_and_exponentials(x, exponent, tail, 2 * n_e, width)
    _not_beaten(x, exponent, tail, n_e, width, _ONE, lowest, first, before)
    _not_beaten(x, exponent, tail, n_e, width, -_ONE, highest, second, before)
    for n in range(width):
        gap = max(max(lowest[n], highest[n]), _ZERO)
        before[n] = _log(max(first[n] * second[n], _TINY)) - _HALF * gap * gap
        first[n] = -_MILLS / max(first[n], _TINY)
        second[n] = _MILLS / max(second[n], _TINY)
    _add_columns(value, before, width)
    # The second copies of x are free by now: derivatives go there.
    for d in range(n_e):
        for n in range(width):
            x[n_e + d, n] = _ZERO
        _not_beaten_slope(x, exponent, tail, n_e, width, d, _ONE, lowest, first, before)
        _not_beaten_slope(x, exponent, tail, n_e, width, d, -_ONE, highest, second, before)
    start = _NOTHING
    for p in range(kept):
        for i in range(p + 1, kept):
            _push(slope, p, i, start, x[n_e:])
            start += _LANES


@compiled
def _not_beaten(x, exponential, tail, n_e, width, sign, least, total, before):
    """``1 - prod_d Phi(sign x_d)`` as a sum of positive terms, lifted where the least of ``sign x_d`` is positive."""
    for n in range(width):
        total[n] = _ZERO
        before[n] = _ONE
    for d in range(n_e):
        for n in range(width):
            small = tail[d, n] * exponential[d, n]
            above = sign * x[d, n] >= _ZERO
            rest = small if above else _ONE - small
            rest = tail[d, n] * exponential[n_e + d, n] if least[n] > _ZERO else rest
            total[n] += before[n] * rest
            before[n] *= _ONE - small if above else small


@compiled
def _not_beaten_slope(x, exponential, tail, n_e, width, d, sign, least, inverse, before):
    """Add the derivative of its logarithm by ``x_d``."""
    for n in range(width):
        before[n] = inverse[n] * (exponential[n_e + d, n] if least[n] > _ZERO else exponential[d, n])
    for e in range(n_e):
        if e != d:
            for n in range(width):
                small = tail[e, n] * exponential[e, n]
                before[n] *= _ONE - small if sign * x[e, n] >= _ZERO else small
    for n in range(width):
        x[n_e + d, n] += before[n]


@compiled
def _log_cdf(x):
    tail, square = _tail(x), -_HALF * x * x
    below = x < _ZERO
    return _log(tail if below else _ONE - tail * _exp(square)) + (square if below else _ZERO)


@compiled
def _mills_ratio(x):
    tail, density = _tail(x), _exp(-_HALF * x * x)
    below = x < _ZERO
    return _INVERSE_SQRT_2PI * (_ONE if below else density) / (tail if below else _ONE - tail * density)


@compiled
def _wins(y, value, slope, points, log_weights, x, exponent, row):
    """Log-probability of one winner whose noise is shared by all comparisons, with one latent dimension.

    No closed form takes over in the tails here, so the nodes follow the mode of the integrand, found by Newton's method as in the
    exact likelihood.
    """
    others, nodes = y.shape[0] - 1, len(points)
    mode, by_mode, curvature, largest, total = row[0], row[1], row[2], row[3], row[4]
    for l in range(_LANES):
        mode[l] = _ZERO
    for _ in range(_NEWTON_STEPS):
        for l in range(_LANES):
            by_mode[l] = mode[l]
            curvature[l] = _ONE
        for j in range(others):
            for l in range(_LANES):
                z = y[0, 0, l] - y[1 + j, 0, l] - mode[l]
                mills = _mills_ratio(z)
                by_mode[l] += mills
                curvature[l] += mills * (mills + z)
        for l in range(_LANES):
            mode[l] -= by_mode[l] / curvature[l]
    for l in range(_LANES):
        largest[l] = _NEVER
        total[l] = _ZERO
    for k in range(nodes):
        for l in range(_LANES):
            # The rule is for a standard normal at the mode: what is left of the density at 0 goes into the integrand.
            x[k, l] = log_weights[k] - points[k] * mode[l] - _HALF * mode[l] * mode[l]
        for j in range(others):
            for l in range(_LANES):
                x[k, l] += _log_cdf(y[0, 0, l] - y[1 + j, 0, l] - mode[l] - points[k])
        for l in range(_LANES):
            largest[l] = max(largest[l], x[k, l])
    for k in range(nodes):
        for l in range(_LANES):
            x[k, l] = _exp(x[k, l] - largest[l])
            total[l] += x[k, l]
    for l in range(_LANES):
        value[l] += largest[l] + _log(total[l])
    for j in range(others):
        for l in range(_LANES):
            exponent[0, l] = _ZERO
        for k in range(nodes):
            for l in range(_LANES):
                z = y[0, 0, l] - y[1 + j, 0, l] - mode[l] - points[k]
                exponent[0, l] += x[k, l] / total[l] * _mills_ratio(z)
        _push(slope, 0, 1 + j, _NOTHING, exponent)


@inlined
def _room(offsets, kept, n_e, nodes):
    """Scratch arrays that are large enough for every choice."""
    columns, subsets, width = 1, 1, 1
    for c in range(len(kept)):
        size, k = offsets[c + 1] - offsets[c], kept[c]
        columns = max(columns, size - 1, k * (k - 1) // 2)
        if 1 < k < size:
            at_once = _rejected_at_once(k, size - k)
            columns, subsets, width = max(columns, k * at_once), max(subsets, 1 << k), max(width, at_once * (1 << k))
    rows = max((nodes + 1) * n_e, 2 * n_e)
    x = np.empty((rows, columns * LANES), dtype=np.float32)
    row = np.empty((6, columns * LANES), dtype=np.float32)
    products = np.empty(nodes * n_e * width * LANES, dtype=np.float32)
    shares = np.empty(n_e * width * LANES, dtype=np.float32)
    return x, np.empty_like(x), np.empty_like(x), row, products, shares


@compiled
def _rejected_at_once(kept, rejected):
    """So many rejected options are looked at together: products of all subsets of the kept ones need memory for each."""
    return max(1, min(rejected, 256 >> kept))


@inlined
def _one_choice(kind, y, kept, log_uniform, lapse, value, slope, points, weights, room):
    """Log-probability (LANES,) of one choice, and its derivatives by ``y: (size, n_e, LANES)``; the kept options come first."""
    x, exponent, tail, row, products, shares = room
    size, n_e, nodes = y.shape[0], y.shape[1], len(points)
    for l in range(_LANES):
        value[l] = _ZERO
    for i in range(size):
        for d in range(n_e):
            for l in range(_LANES):
                slope[i, d, l] = _ZERO
    if kind == 1:
        _wins(y, value, slope, points, weights, x, exponent, row)
    elif kept == 1:
        _beaten_by_one(y, value, slope, x, exponent, tail, row)
    else:
        at_once, low = _rejected_at_once(kept, size - kept), kept
        while low < size:
            high = min(low + at_once, size)
            shape, columns = 1 << kept, (high - low) * LANES
            _beaten_by_some(
                y,
                kept,
                low,
                high,
                value,
                slope,
                points,
                weights,
                x,
                exponent,
                tail,
                row,
                products[: shape * nodes * n_e * columns].reshape((shape, nodes * n_e, columns)),
                shares[: shape * n_e * columns].reshape((shape, n_e, columns)),
            )
            low = high
        _coexist(y, kept, value, slope, x, exponent, tail, row)
    if lapse > _ZERO:
        attentive, slip = _log(_ONE - lapse), _log(lapse) + log_uniform
        for l in range(_LANES):
            p, q = value[l] + attentive, slip
            most = max(p, q)
            p_share, q_share = _exp(p - most), _exp(q - most)
            value[l] = most + _log(p_share + q_share)
            row[0, l] = p_share / (p_share + q_share)
        for i in range(size):
            for d in range(n_e):
                for l in range(_LANES):
                    slope[i, d, l] *= row[0, l]


_floats, _lanes2, _lanes3 = types.float32[::1], types.float32[:, ::1], types.float32[:, :, ::1]
_choices = (types.int32[::1], types.int64[::1], types.int32[::1], _floats, _floats)


@entry(types.void(types.int64, _lanes3, *_choices, types.float32, _floats, _floats, _lanes2, _lanes3))
def log_likelihoods(
    kind, latent, members, offsets, kept, log_uniform, counts, lapse, points, weights, values, gradient
):
    """Log-likelihood of each choice, ``values: (choices, LANES)``, and the gradient of their sum, as ``latent: (n_e, m, LANES)``.

    ``counts: (choices,)`` is how often each choice counts; one that counts for nothing costs nothing and has the value 0.
    """
    n_e, m = latent.shape[0], latent.shape[1]
    largest = 1
    for c in range(len(kept)):
        largest = max(largest, offsets[c + 1] - offsets[c])
    room = _room(offsets, kept, n_e, len(points))
    all_y = np.empty((largest, n_e, LANES), dtype=np.float32)
    all_slope = np.empty_like(all_y)
    for d in range(n_e):
        for i in range(m):
            for l in range(_LANES):
                gradient[d, i, l] = _ZERO
    for c in range(len(kept)):
        start, size, count = offsets[c], offsets[c + 1] - offsets[c], counts[c]
        value = values[c]
        if count == _ZERO:
            value[:] = _ZERO
            continue
        y, slope = all_y[:size], all_slope[:size]
        for i in range(size):
            option = members[start + i]
            for d in range(n_e):
                for l in range(_LANES):
                    y[i, d, l] = latent[d, option, l]
        _one_choice(kind, y, kept[c], log_uniform[c], lapse, value, slope, points, weights, room)
        for l in range(_LANES):
            value[l] *= count
        for i in range(size):
            option = members[start + i]
            for d in range(n_e):
                for l in range(_LANES):
                    gradient[d, option, l] += count * slope[i, d, l]


@entry(types.void(types.int32[::1], types.int64[::1], types.int64, types.float32, _lanes3, _lanes2))
def add_differences(members, offsets, begin, factor, gradient, hessian):
    """Add differences of gradients to a symmetric matrix, ``(n_e m, n_e m)``, dimension-major.

    ``gradient: (n_e, members, LANES)`` holds the derivatives of each choice by the values of its own members. Local coordinate
    number ``begin + l`` of the choice (member by member, dimensions within) went up in lane ``l``, and down in lane ``l + 8``.
    """
    n_e, m = gradient.shape[0], hessian.shape[0] // gradient.shape[0]
    half = LANES // 2
    part = _HALF * factor  # to either side of the diagonal: rounding is not symmetric
    for c in range(len(offsets) - 1):
        start, size = offsets[c], offsets[c + 1] - offsets[c]
        for coordinate in range(begin, min(begin + half, size * n_e)):
            l = coordinate - begin
            moved = (coordinate % n_e) * m + members[start + coordinate // n_e]
            for i in range(size):
                for d in range(n_e):
                    at = d * m + members[start + i]
                    change = part * (gradient[d, start + i, l] - gradient[d, start + i, l + half])
                    hessian[at, moved] += change
                    hessian[moved, at] += change


@compiled
def _subset_probabilities(y, table, points, weights, x, exponent, tail, products, terms):
    """Theorem 1 for every kept set of one choice: ``table: (2^size, LANES)``, the row of the empty set being zero."""
    size, n_e, nodes = y.shape[0], y.shape[1], len(points)
    subsets = 1 << size
    width = _unsigned(size) * _LANES
    for code in range(subsets):
        for l in range(_LANES):
            table[code, l] = _ONE
    for l in range(_LANES):
        table[0, l] = _ZERO
    for j in range(size):
        for i in range(size):
            _difference(y, i, j, _unsigned(i) * _LANES, x)
        for d in range(n_e):
            for k in range(nodes):
                at, point = (k + 1) * n_e + d, points[k]
                for n in range(width):
                    x[at, n] = x[d, n] - point
                    exponent[at, n] = -_HALF * x[at, n] * x[at, n]
            for n in range(width):
                x[d, n] *= _SQRT_HALF
                exponent[d, n] = -_HALF * x[d, n] * x[d, n]
        _tails_and_exponentials(x, exponent, tail, (nodes + 1) * n_e, width)
        for r in range((nodes + 1) * n_e):
            for n in range(width):
                small = tail[r, n] * exponent[r, n]
                tail[r, n] = small if x[r, n] < _ZERO else _ONE - small
        # The option itself is never a winner.
        own = _unsigned(j) * _LANES
        for r in range((nodes + 1) * n_e):
            for l in range(_LANES):
                tail[r, own + l] = _ZERO
        for k in range(nodes):
            for d in range(n_e):
                for l in range(_LANES):
                    products[0, k * n_e + d, l] = weights[k]
        for i in range(size):
            bit, start = 1 << i, _unsigned(i) * _LANES
            for code in range(bit):
                for r in range(nodes * n_e):
                    for l in range(_LANES):
                        products[code + bit, r, l] = products[code, r, l] * tail[n_e + r, start + l]
        for code in range(subsets):
            members, last = 0, 0
            for i in range(size):
                if code >> i & 1:
                    members += 1
                    last = i
            sign = _ONE if members % 2 == 1 else -_ONE
            start = _unsigned(last) * _LANES
            for l in range(_LANES):
                terms[code, l] = _ZERO if members == 0 else sign
            for d in range(n_e):
                if members == 1:
                    for l in range(_LANES):
                        terms[code, l] *= tail[d, start + l]
                    continue
                for k in range(1, nodes):
                    for l in range(_LANES):
                        products[code, d, l] += products[code, k * n_e + d, l]
                for l in range(_LANES):
                    terms[code, l] *= products[code, d, l]
        for i in range(size):  # sums over all subsets, one option at a time
            bit = 1 << i
            for code in range(subsets):
                if code & bit:
                    for l in range(_LANES):
                        terms[code, l] += terms[code - bit, l]
        for code in range(subsets):
            if not code >> j & 1:
                for l in range(_LANES):
                    table[code, l] *= min(max(terms[code, l], _ZERO), _ONE)
        for i in range(j + 1, size):
            other = _unsigned(i) * _LANES
            for l in range(_LANES):
                terms[0, l] = _ONE
                terms[1, l] = _ONE
            for d in range(n_e):
                for l in range(_LANES):
                    terms[0, l] *= tail[d, other + l]
                    terms[1, l] *= _ONE - tail[d, other + l]
            for l in range(_LANES):
                terms[0, l] = (_ONE - terms[0, l]) * (_ONE - terms[1, l])
            both = (1 << j) | (1 << i)
            for code in range(subsets):
                if code & both == both:
                    for l in range(_LANES):
                        table[code, l] *= terms[0, l]


@entry(types.void(_lanes3, types.int32[::1], types.int64[::1], types.int64, _floats, _floats, _lanes2), later=True)
def log_masses(latent, members, offsets, most, points, weights, masses):
    """Logarithm of Theorem 1's mass over all non-empty subsets of each set shown, ``masses: (choices, LANES)``.

    Sets of over ``most`` options have too many subsets: theirs counts as 1.
    """
    n_e = latent.shape[0]
    largest = 1
    for c in range(len(offsets) - 1):
        if offsets[c + 1] - offsets[c] <= most:
            largest = max(largest, offsets[c + 1] - offsets[c])
    rows = (len(points) + 1) * n_e
    x = np.empty((rows, largest * LANES), dtype=np.float32)
    exponent, tail = np.empty_like(x), np.empty_like(x)
    all_y = np.empty((largest, n_e, LANES), dtype=np.float32)
    table = np.empty((1 << largest, LANES), dtype=np.float32)
    terms = np.empty_like(table)
    products = np.empty((1 << largest, len(points) * n_e, LANES), dtype=np.float32)
    for c in range(len(offsets) - 1):
        start, size = offsets[c], offsets[c + 1] - offsets[c]
        if size > most:
            masses[c, :] = _ZERO
            continue
        y = all_y[:size]
        for i in range(size):
            option = members[start + i]
            for d in range(n_e):
                for l in range(_LANES):
                    y[i, d, l] = latent[d, option, l]
        _subset_probabilities(y, table, points, weights, x, exponent, tail, products, terms)
        for l in range(_LANES):
            masses[c, l] = _ZERO
        for code in range(1, 1 << size):
            for l in range(_LANES):
                masses[c, l] += table[code, l]
        for l in range(_LANES):
            masses[c, l] = _log(max(masses[c, l], _TINY))
