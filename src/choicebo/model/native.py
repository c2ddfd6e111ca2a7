"""The likelihood as the engines evaluate it, thousands of times a fit: compiled once by Numba, for choices of every size.

Same formulas as :mod:`choicebo.model.likelihood`, in single precision, with two short cuts. Integrals over a shared noise use
a fixed Gauss-Hermite rule, which the largest terms never need (a single kept option has a closed form); and the
distribution functions are divided by their value at the leftmost node, so that their products cannot underflow. The tests
bound the difference to the exact likelihood.

Choices are ragged arrays: no padding, so one compiled function serves all sizes. Chains, draws, starting points or
perturbations are the last axis, in lanes of 16, and the compiled code has a type for these: it reads as if there were one
chain, and every operation is a vector instruction, or a few on processors with short vectors. The exponential, the logarithm and
the tail of the normal are polynomials, for there is no vector instruction for them.

All compiled code is in this file, for Numba's cache looks at one file alone. Numbers of single precision stay so only if no
Python number meets them: hence the constants.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from choicebo.model.jit import compiled, entry, inlined

LANES = 16
NODES = 6
"""Of the Gauss-Hermite rule while sampling."""

_F = np.float32
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


class _Lanes(types.Type):  # type: ignore[misc]
    """Sixteen numbers, one a lane: a vector for LLVM, which need not find out by itself which loops can become one."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = _Lanes()
_whole_numbers = ir.VectorType(ir.IntType(32), LANES)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: _Any, kind: _Any) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.FloatType(), LANES))


def _repeated(builder: _Any, kind: _Any, value: _Any) -> _Any:
    """Lanes as they are; a number in all lanes."""
    if kind == _lanes:
        return value
    vector = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), ir.Constant(_whole_numbers, None))


def _whole(number: int) -> _Any:
    return ir.Constant(_whole_numbers, [number] * LANES)


def _operator(function: _Any, instruction: str) -> None:
    """Let compiled code apply an operator of Python to lanes, or to lanes and a number."""

    @type_callable(function)
    def type_of(context: _Any) -> _Any:
        return lambda a, b: _lanes if {a, b} in ({_lanes}, {_lanes, types.float32}) else None

    def lowered(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        return getattr(builder, instruction)(*map(functools.partial(_repeated, builder), signature.args, arguments))

    for kinds in ((_lanes, _lanes), (_lanes, types.float32), (types.float32, _lanes)):
        lower_builtin(function, *kinds)(lowered)


for _name, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _operator(getattr(operator, _name), _instruction)
    _operator(getattr(operator, "i" + _name), _instruction)


def _pointer(context: _Any, builder: _Any, kind: _Any, array: _Any, place: _Any) -> _Any:
    data = context.make_array(kind)(context, builder, array).data
    start = builder.gep(data, [builder.mul(place, ir.Constant(place.type, LANES))])
    return builder.bitcast(start, ir.VectorType(ir.FloatType(), LANES).as_pointer())


@intrinsic
def _get(typing_context: _Any, array: _Any, place: _Any) -> _Any:
    """The lanes at a place of an array whose last axis they are, counted through all other axes."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        return builder.load(_pointer(context, builder, signature.args[0], *arguments), align=4)

    return _lanes(array, types.int64), codegen


@intrinsic
def _put(typing_context: _Any, array: _Any, place: _Any, value: _Any) -> _Any:
    """Store lanes, or a number in all of them."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(_repeated(builder, signature.args[2], arguments[2]), pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), codegen


@intrinsic
def _in_all(typing_context: _Any, number: _Any) -> _Any:
    """A number in all lanes."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        return _repeated(builder, signature.args[0], arguments[0])

    return _lanes(types.float32), codegen


@intrinsic
def _below(typing_context: _Any, x: _Any, limit: _Any, low: _Any, high: _Any) -> _Any:
    """In each lane ``low`` if ``x`` is below the limit, else ``high``."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        x, limit, low, high = map(functools.partial(_repeated, builder), signature.args, arguments)
        return builder.select(builder.fcmp_ordered("<", x, limit), low, high)

    return _lanes(x, limit, low, high), codegen


@intrinsic
def _absolute(typing_context: _Any, x: _Any) -> _Any:
    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        bits = builder.bitcast(arguments[0], _whole_numbers)
        return builder.bitcast(builder.and_(bits, _whole(0x7FFFFFFF)), arguments[0].type)

    return _lanes(_lanes), codegen


@intrinsic
def _times_power_of_two(typing_context: _Any, p: _Any, t: _Any) -> _Any:
    """``p`` times two to the whole number in the last bits of ``t``."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        p_bits, t_bits = (builder.bitcast(argument, _whole_numbers) for argument in arguments)
        return builder.bitcast(builder.add(p_bits, builder.shl(t_bits, _whole(23))), arguments[0].type)

    return _lanes(_lanes, _lanes), codegen


@intrinsic
def _mantissa(typing_context: _Any, x: _Any) -> _Any:
    """The mantissa of a positive number, from one half to one."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        kept = builder.and_(builder.bitcast(arguments[0], _whole_numbers), _whole(0x007FFFFF))
        return builder.bitcast(builder.or_(kept, _whole(0x3F000000)), arguments[0].type)

    return _lanes(_lanes), codegen


@intrinsic
def _exponent(typing_context: _Any, x: _Any) -> _Any:
    """Its power of two, as a floating-point number."""

    def codegen(context: _Any, builder: _Any, signature: _Any, arguments: _Any) -> _Any:
        bits = builder.lshr(builder.bitcast(arguments[0], _whole_numbers), _whole(23))
        return builder.sitofp(builder.sub(bits, _whole(126)), arguments[0].type)

    return _lanes(_lanes), codegen


@compiled
def _larger(a, b):
    return _below(b, a, a, b)


@compiled
def _smaller(a, b):
    return _below(a, b, a, b)


@compiled
def _exp(x):
    x = _smaller(_larger(x, _LEAST_EXPONENT), _MOST_EXPONENT)
    t = x * _LOG2_E + _MAGIC
    n = t - _MAGIC
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_E5 * r + _E4) * r + _E3) * r + _E2) * r + _E1) * r + _E0
    return _times_power_of_two(p * r * r + r + _ONE, t)


@compiled
def _log(x):
    """Of a positive number; anything less counts as a tiny one."""
    x = _larger(x, _TINY)
    m, e = _mantissa(x), _exponent(x)
    e, m = _below(m, _SQRT_OF_HALF, e - _ONE, e), _below(m, _SQRT_OF_HALF, m + m, m) - _ONE
    z = m * m
    p = ((((((((_L8 * m + _L7) * m + _L6) * m + _L5) * m + _L4) * m + _L3) * m + _L2) * m + _L1) * m + _L0) * m * z
    return m + (p + e * _LN2_LOW - _HALF * z) + e * _LN2_HIGH


@compiled
def _tail(x):
    """``Phi(-|x|) exp(x^2 / 2)``."""
    t = _ONE / (_ONE + _QUARTER * _absolute(x))
    p = ((((((((_T9 * t + _T8) * t + _T7) * t + _T6) * t + _T5) * t + _T4) * t + _T3) * t + _T2) * t + _T1) * t + _T0
    return p * t


@compiled
def _add(array, place, change):
    _put(array, place, _get(array, place) + change)


@compiled
def _push(slope, first, second, d, change):
    """Add the derivative by a difference to those by its two options."""
    n_e = slope.shape[1]
    _add(slope, first * n_e + d, change)
    _add(slope, second * n_e + d, _ZERO - change)


@compiled
def _log_distribution(z, slopes, place, product):
    """``log Phi(z / sqrt 2)`` as a summand and a factor of ``product`` that does not underflow; the derivative is stored."""
    x = z * _SQRT_HALF
    square = -_HALF * x * x
    exponential, tail = _exp(square), _tail(x)
    part = _below(x, _ZERO, tail, _ONE - tail * exponential)
    _put(slopes, place, _MILLS * _below(x, _ZERO, _ONE, exponential) / part)
    return _below(x, _ZERO, square, _ZERO), product * part


@compiled
def _beaten_by_one(y, j, slope, room):
    """Log-probability that the one kept option beats option ``j``: ``sum_d log Phi(z_d / sqrt 2)``."""
    n_e = y.shape[1]
    logarithm, product = _in_all(_ZERO), _in_all(_ONE)
    for d in range(n_e):
        part, product = _log_distribution(_get(y, d) - _get(y, j * n_e + d), room, d, product)
        logarithm += part
    for d in range(n_e):
        _push(slope, 0, j, d, _get(room, d))
    return logarithm + _log(product)


@compiled
def _beaten_by_some(y, kept, j, slope, points, weights, rooms):
    """Log-probability that the rejected option ``j`` is beaten by some of the kept ones.

    Inclusion-exclusion over the subsets of the kept ones: ``products: (subsets, n_e, nodes)`` holds the products of the
    distribution functions of each, and ``shares: (subsets, n_e)`` first their integrals, then what multiplies these in the sum.
    """
    distributions, densities, products, shares, sums, slopes, single, scales = rooms[:8]
    n_e, nodes, subsets = y.shape[1], len(points), 1 << kept
    rows = n_e * nodes
    largest = _in_all(_NEVER)
    for i in range(kept):
        logarithm, product = _in_all(_ZERO), _in_all(_ONE)
        scale, scale_product = _in_all(_ZERO), _in_all(_ONE)
        for d in range(n_e):
            z = _get(y, i * n_e + d) - _get(y, j * n_e + d)
            part, product = _log_distribution(z, slopes, i * n_e + d, product)
            logarithm += part
            # Distribution functions and densities at the nodes, divided by the former's value at the first node.
            x = z - points[0]
            lift = _below(x, _ZERO, _HALF * x * x, _ZERO)
            exponential, tail = _exp(lift - _HALF * x * x), _tail(x)
            part = _below(x, _ZERO, tail, _ONE - tail * exponential)
            scale, scale_product = scale - lift, scale_product * part
            inverse = _ONE / part
            at = i * rows + d * nodes
            _put(distributions, at, _ONE)
            _put(densities, at, _INVERSE_SQRT_2PI * exponential * inverse)
            for k in range(1, nodes):
                x = z - points[k]
                raised = _exp(lift - _HALF * x * x) * inverse
                small = _tail(x) * raised
                _put(distributions, at + k, _below(x, _ZERO, small, inverse - small))
                _put(densities, at + k, _INVERSE_SQRT_2PI * raised)
        logarithm += _log(product)
        _put(single, i, logarithm)
        _put(scales, i, scale + _log(scale_product))
        largest = _larger(largest, logarithm)

    # Products over the members of each subset at each node, by doubling; the empty one is the weight of the node.
    for d in range(n_e):
        for k in range(nodes):
            _put(products, d * nodes + k, weights[k])
    _put(sums, 0, _ZERO)
    total = _in_all(_ZERO)
    for i in range(kept):
        bit = 1 << i
        share = _exp(_get(single, i) - largest)
        _put(single, i, share)
        total += share
        for code in range(bit):
            _put(sums, code + bit, _get(sums, code) + _get(scales, i))
            for d in range(n_e):
                at = d * nodes
                integral = _in_all(_ZERO)
                for k in range(at, at + nodes):
                    product = _get(products, code * rows + k) * _get(distributions, i * rows + k)
                    _put(products, (code + bit) * rows + k, product)
                    integral += product
                _put(shares, (code + bit) * n_e + d, integral)
    for code in range(3, subsets):
        if code & (code - 1) == 0:
            continue
        sign = -_ONE
        for i in range(kept):
            sign = -sign if code >> i & 1 else sign
        share = sign * _exp(_get(sums, code) - largest)
        product = share
        for d in range(n_e):
            product *= _get(shares, code * n_e + d)
        total += product
        # What stands before a dimension's integral: the product of the others', from either side.
        for d in range(n_e):
            _put(sums, d, share)
            share *= _get(shares, code * n_e + d)
        after = _in_all(_ONE)
        for d in range(n_e - 1, -1, -1):
            integral = _get(shares, code * n_e + d)
            _put(shares, code * n_e + d, _get(sums, d) * after)
            after *= integral

    inverse = _ONE / _larger(total, _TINY)
    for i in range(kept):
        bit = 1 << i
        for d in range(n_e):
            change = _get(slopes, i * n_e + d) * _get(single, i)
            for code in range(3, subsets):
                if code & bit and code != bit:
                    at, density_at = (code - bit) * rows + d * nodes, i * rows + d * nodes
                    integral = _in_all(_ZERO)
                    for k in range(nodes):
                        integral += _get(densities, density_at + k) * _get(products, at + k)
                    change += _get(shares, code * n_e + d) * integral
            _push(slope, i, j, d, change * inverse)
    return largest + _log(total)


@compiled
def _coexist(y, first, second, slope, rooms):
    """Log-probability that neither of two kept options beats the other.

    The probability that an option does not beat the other, ``1 - prod_d Phi_d``, is a sum of positive terms, ``q_1 + Phi_1 q_2 +
    Phi_1 Phi_2 q_3 + ...``, so that nothing cancels. It is small only where one option is better in all dimensions; there the
    exponential of its largest tail is divided out, so that nothing underflows either.
    """
    above, below, exponentials, lifted = rooms[:4]
    n_e = y.shape[1]
    lowest = highest = (_get(y, first * n_e) - _get(y, second * n_e)) * _SQRT_HALF
    for d in range(1, n_e):
        x = (_get(y, first * n_e + d) - _get(y, second * n_e + d)) * _SQRT_HALF
        lowest, highest = _smaller(lowest, x), _larger(highest, x)
    highest = _ZERO - highest
    gap = _larger(_larger(lowest, highest), _ZERO)
    lift = _HALF * gap * gap
    not_above, not_below = _in_all(_ZERO), _in_all(_ZERO)
    before_above, before_below = _in_all(_ONE), _in_all(_ONE)
    for d in range(n_e):
        x = (_get(y, first * n_e + d) - _get(y, second * n_e + d)) * _SQRT_HALF
        square = -_HALF * x * x
        tail, exponential, raised = _tail(x), _exp(square), _exp(square + lift)
        small = tail * exponential
        phi, rest = _below(x, _ZERO, small, _ONE - small), _below(x, _ZERO, _ONE - small, small)
        _put(above, d, phi)
        _put(below, d, rest)
        _put(exponentials, d, exponential)
        _put(lifted, d, raised)
        not_above += before_above * _below(_ZERO, lowest, tail * raised, rest)
        not_below += before_below * _below(_ZERO, highest, tail * raised, phi)
        before_above *= phi
        before_below *= rest
    by_above, by_below = -_MILLS / _larger(not_above, _TINY), _MILLS / _larger(not_below, _TINY)
    for d in range(n_e):
        exponential, raised = _get(exponentials, d), _get(lifted, d)
        up = by_above * _below(_ZERO, lowest, raised, exponential)
        down = by_below * _below(_ZERO, highest, raised, exponential)
        for e in range(n_e):
            if e != d:
                up *= _get(above, e)
                down *= _get(below, e)
        _push(slope, first, second, d, up + down)
    return _log(not_above * not_below) - lift


@compiled
def _log_cdf(x):
    tail, square = _tail(x), -_HALF * x * x
    return _log(_below(x, _ZERO, tail, _ONE - tail * _exp(square))) + _below(x, _ZERO, square, _ZERO)


@compiled
def _mills_ratio(x):
    tail, density = _tail(x), _exp(-_HALF * x * x)
    return _INVERSE_SQRT_2PI * _below(x, _ZERO, _ONE, density) / _below(x, _ZERO, tail, _ONE - tail * density)


@compiled
def _best(y, i, d, slopes, at, points, log_weights, terms):
    """Log-probability that option ``i`` is the best in dimension ``d``, its noise being shared by all comparisons.

    The derivatives by its differences to the others are stored from place ``at`` on, one for each option. No closed form takes
    over in the tails here, so the nodes follow the mode of the integrand, found by Newton's method as in the exact likelihood.
    """
    size, n_e, nodes = y.shape[0], y.shape[1], len(points)
    winner, mode = _get(y, i * n_e + d), _in_all(_ZERO)
    for _ in range(_NEWTON_STEPS):
        by_mode, curvature = mode, _in_all(_ONE)
        for j in range(size):
            if j != i:
                z = winner - _get(y, j * n_e + d) - mode
                mills = _mills_ratio(z)
                by_mode += mills
                curvature += mills * (mills + z)
        mode -= by_mode / curvature
    largest, total = _in_all(_NEVER), _in_all(_ZERO)
    for k in range(nodes):
        # The rule is for a standard normal at the mode: what is left of the density at 0 goes into the integrand.
        term = log_weights[k] - points[k] * mode - _HALF * mode * mode
        for j in range(size):
            if j != i:
                term += _log_cdf(winner - _get(y, j * n_e + d) - mode - points[k])
        _put(terms, k, term)
        largest = _larger(largest, term)
    for k in range(nodes):
        term = _exp(_get(terms, k) - largest)
        _put(terms, k, term)
        total += term
    for j in range(size):
        change = _in_all(_ZERO)
        if j != i:
            for k in range(nodes):
                change += _get(terms, k) / total * _mills_ratio(winner - _get(y, j * n_e + d) - mode - points[k])
        _put(slopes, at + j, change)
    return largest + _log(total)


@compiled
def _wins(y, slope, points, log_weights, rooms):
    """Log-probability of one winner whose noise is shared by all comparisons, with one latent dimension."""
    value = _best(y, 0, 0, rooms[8], 0, points, log_weights, rooms[0])
    for j in range(1, y.shape[0]):
        _push(slope, 0, j, 0, _get(rooms[8], j))
    return value


@compiled
def _bests(y, kept, slope, points, log_weights, rooms):
    """Log-probability that the kept options are those that are best in at least one dimension.

    The sum is over all ways in which the dimensions can have them as their best, each at least once. Way number ``code`` has
    option ``code // kept^d % kept`` as the best in dimension ``d``.
    """
    terms, shares, values, slopes = rooms[0], rooms[3], rooms[5], rooms[8]
    size, n_e = y.shape[0], y.shape[1]
    if kept > n_e:
        return _in_all(_NEVER)
    ways = 1
    for d in range(n_e):
        ways *= kept
        for i in range(kept):
            at = i * n_e + d
            _put(values, at, _best(y, i, d, slopes, at * size, points, log_weights, terms))
            _put(shares, at, _ZERO)
    largest, total = _in_all(_NEVER), _in_all(_ZERO)
    for look in range(2):
        for code in range(ways):
            rest, had, logarithm = code, 0, _in_all(_ZERO)
            for d in range(n_e):
                i = rest % kept
                rest //= kept
                had |= 1 << i
                logarithm += _get(values, i * n_e + d)
            if had != (1 << kept) - 1:
                continue
            if look == 0:
                largest = _larger(largest, logarithm)
                continue
            share = _exp(logarithm - largest)
            total += share
            rest = code
            for d in range(n_e):
                _add(shares, rest % kept * n_e + d, share)
                rest //= kept
    for i in range(kept):
        for d in range(n_e):
            at = i * n_e + d
            share = _get(shares, at) / total
            for j in range(size):
                if j != i:
                    _push(slope, i, j, d, share * _get(slopes, at * size + j))
    return largest + _log(total)


@compiled
def _no_difference(y, threshold, slope):
    """Log-probability that two options differ by less than the threshold, with one latent dimension.

    ``Phi(b) - Phi(a)`` with ``a < b``, taken from the side on which both are small, and with ``exp(-b^2 / 2)`` divided out there.
    """
    z = _get(y, 0) - _get(y, 1)
    far = _absolute(z)
    b, a = (threshold - far) * _SQRT_HALF, (_ZERO - threshold - far) * _SQRT_HALF
    lift = _below(b, _ZERO, _HALF * b * b, _ZERO)
    density_b, density_a = _exp(lift - _HALF * b * b), _exp(lift - _HALF * a * a)
    high = _below(b, _ZERO, _tail(b), _ONE - _tail(b) * density_b)
    inside = _larger(high - _tail(a) * density_a, _TINY)
    change = _MILLS * (density_a - density_b) / inside
    _push(slope, 0, 1, 0, _below(z, _ZERO, _ZERO - change, change))
    return _log(inside) - lift


@inlined
def _rooms(kept, n_e, nodes, largest):
    """Scratch arrays that are large enough for every choice."""
    most = 1
    for c in range(len(kept)):
        most = max(most, kept[c])
    subsets = 1 << most
    return (
        np.empty(most * n_e * nodes * LANES, dtype=np.float32),
        np.empty(most * n_e * nodes * LANES, dtype=np.float32),
        np.empty(subsets * n_e * nodes * LANES, dtype=np.float32),
        np.empty(subsets * n_e * LANES, dtype=np.float32),
        np.empty(max(subsets, n_e) * LANES, dtype=np.float32),
        np.empty(most * n_e * LANES, dtype=np.float32),
        np.empty(most * LANES, dtype=np.float32),
        np.empty(most * LANES, dtype=np.float32),
        np.empty(most * n_e * largest * LANES, dtype=np.float32),
    )


@inlined
def _one_choice(kind, y, kept, log_uniform, lapse, slope, points, weights, rooms):
    """Log-probability of one choice, and its derivatives by ``y: (size, n_e, LANES)``; the kept options come first."""
    size, n_e = y.shape[0], y.shape[1]
    value = _in_all(_ZERO)
    for place in range(size * n_e):
        _put(slope, place, _ZERO)
    if kind == 3:  # the points are the threshold alone: no integral is left
        if kept == 2:
            value = _no_difference(y, points[0], slope)
        else:
            for j in range(1, size):
                _put(y, j, _get(y, j) + points[0])
                value += _beaten_by_one(y, j, slope, rooms[0])
    elif kind == 2:
        value = _bests(y, kept, slope, points, weights, rooms)
    elif kind == 1:
        value = _wins(y, slope, points, weights, rooms)
    elif kept == 1:
        for j in range(1, size):
            value += _beaten_by_one(y, j, slope, rooms[0])
    else:
        for j in range(kept, size):
            value += _beaten_by_some(y, kept, j, slope, points, weights, rooms)
        for i in range(kept):
            for j in range(i + 1, kept):
                value += _coexist(y, i, j, slope, rooms)
    if lapse > _ZERO:
        attentive, slip = value + _log(_in_all(_ONE - lapse)), _log(_in_all(lapse)) + log_uniform
        most = _larger(attentive, slip)
        share, rest = _exp(attentive - most), _exp(slip - most)
        value = most + _log(share + rest)
        share = share / (share + rest)
        for place in range(size * n_e):
            _put(slope, place, _get(slope, place) * share)
    return value


_floats, _lanes2, _lanes3 = types.float32[::1], types.float32[:, ::1], types.float32[:, :, ::1]
_choices = (types.int32[::1], types.int64[::1], types.int32[::1], _floats, _floats, _floats)


@entry(types.void(types.int64, _lanes3, *_choices, _floats, _floats, _lanes2, _lanes3))
def log_likelihoods(
    kind, latent, members, offsets, kept, log_uniform, counts, lapses, points, weights, values, gradient
):
    """Log-likelihood of each choice, ``values: (choices, LANES)``, and the gradient of their sum, as ``latent: (n_e, m, LANES)``.

    ``counts: (choices,)`` is how often each choice counts; one that counts for nothing costs nothing and has the value 0.
    ``lapses: (choices,)`` are the probabilities that each is a slip.
    """
    n_e, m = latent.shape[0], latent.shape[1]
    largest = 1
    for c in range(len(kept)):
        largest = max(largest, offsets[c + 1] - offsets[c])
    rooms = _rooms(kept, n_e, len(points), largest)
    all_y = np.empty((largest, n_e, LANES), dtype=np.float32)
    all_slope = np.empty_like(all_y)
    for place in range(n_e * m):
        _put(gradient, place, _ZERO)
    for c in range(len(kept)):
        start, size, count = offsets[c], offsets[c + 1] - offsets[c], counts[c]
        if count == _ZERO:
            _put(values, c, _ZERO)
            continue
        y, slope = all_y[:size], all_slope[:size]
        for i in range(size):
            for d in range(n_e):
                _put(y, i * n_e + d, _get(latent, d * m + members[start + i]))
        value = _one_choice(kind, y, kept[c], log_uniform[c], lapses[c], slope, points, weights, rooms)
        _put(values, c, value * count)
        for i in range(size):
            for d in range(n_e):
                _add(gradient, d * m + members[start + i], count * _get(slope, i * n_e + d))


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
def _subset_probabilities(y, table, points, weights, distributions, products, terms):
    """Theorem 1 for every kept set of one choice: ``table: (2^size, LANES)``, the row of the empty set being zero.

    ``distributions: (size, n_e, nodes + 1)`` has those of ``z / sqrt 2`` first.
    """
    size, n_e, nodes = y.shape[0], y.shape[1], len(points)
    subsets, rows = 1 << size, n_e * nodes
    _put(table, 0, _ZERO)
    for code in range(1, subsets):
        _put(table, code, _ONE)
    for j in range(size):
        for i in range(size):
            can_win = _ZERO if i == j else _ONE
            for d in range(n_e):
                z, at = _get(y, i * n_e + d) - _get(y, j * n_e + d), (i * n_e + d) * (nodes + 1)
                for k in range(nodes + 1):
                    x = z * _SQRT_HALF if k == 0 else z - points[k - 1]
                    small = _tail(x) * _exp(-_HALF * x * x)
                    distribution = _below(x, _ZERO, small, _ONE - small)
                    _put(distributions, at + k, distribution * can_win)
        for d in range(n_e):
            for k in range(nodes):
                _put(products, d * nodes + k, weights[k])
        _put(terms, 0, _ZERO)
        for i in range(size):
            bit = 1 << i
            for code in range(bit):
                members = 1
                for other in range(i):
                    members += code >> other & 1
                term = _in_all(_ONE if members % 2 == 1 else -_ONE)
                for d in range(n_e):
                    at, integral = (i * n_e + d) * (nodes + 1), _in_all(_ZERO)
                    for k in range(nodes):
                        product = _get(products, code * rows + d * nodes + k) * _get(distributions, at + 1 + k)
                        _put(products, (code + bit) * rows + d * nodes + k, product)
                        integral += product
                    if code == 0:
                        integral = _get(distributions, at)
                    term *= integral
                _put(terms, code + bit, term)
        for i in range(size):  # sums over all subsets, one option at a time
            bit = 1 << i
            for code in range(subsets):
                if code & bit:
                    _add(terms, code, _get(terms, code - bit))
        for code in range(subsets):
            if not code >> j & 1:
                beaten = _smaller(_larger(_get(terms, code), _ZERO), _ONE)
                _put(table, code, _get(table, code) * beaten)
        for i in range(j + 1, size):
            wins, loses = _in_all(_ONE), _in_all(_ONE)
            for d in range(n_e):
                distribution = _get(distributions, (i * n_e + d) * (nodes + 1))
                wins *= distribution
                loses *= _ONE - distribution
            neither = (_ONE - wins) * (_ONE - loses)
            both = (1 << j) | (1 << i)
            for code in range(subsets):
                if code & both == both:
                    _put(table, code, _get(table, code) * neither)


@entry(types.void(_lanes3, types.int32[::1], types.int64[::1], types.int64, _floats, _floats, _lanes2), later=True)
def log_masses(latent, members, offsets, most, points, weights, masses):
    """Logarithm of Theorem 1's mass over all non-empty subsets of each set shown, ``masses: (choices, LANES)``.

    Sets of over ``most`` options have too many subsets: theirs counts as 1.
    """
    n_e, m = latent.shape[0], latent.shape[1]
    largest = 1
    for c in range(len(offsets) - 1):
        if offsets[c + 1] - offsets[c] <= most:
            largest = max(largest, offsets[c + 1] - offsets[c])
    all_y = np.empty((largest, n_e, LANES), dtype=np.float32)
    distributions = np.empty(largest * n_e * (len(points) + 1) * LANES, dtype=np.float32)
    table = np.empty((1 << largest) * LANES, dtype=np.float32)
    terms = np.empty_like(table)
    products = np.empty((1 << largest) * len(points) * n_e * LANES, dtype=np.float32)
    for c in range(len(offsets) - 1):
        start, size = offsets[c], offsets[c + 1] - offsets[c]
        if size > most:
            _put(masses, c, _ZERO)
            continue
        y = all_y[:size]
        for i in range(size):
            for d in range(n_e):
                _put(y, i * n_e + d, _get(latent, d * m + members[start + i]))
        _subset_probabilities(y, table, points, weights, distributions, products, terms)
        mass = _in_all(_ZERO)
        for code in range(1, 1 << size):
            mass += _get(table, code)
        _put(masses, c, _log(mass))
