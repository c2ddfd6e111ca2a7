"""Hypothesis strategies for parameters, spaces and options."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from choicebo.space import Angle, Categorical, Fixed, Integer, Ordinal, Real, Space

names = st.text("abcdefghij_ éµ°", min_size=1, max_size=8).filter(lambda name: name.strip() == name)
labels = st.text(min_size=1, max_size=6).filter(lambda text: text.strip() == text and text.isprintable() and text != "")
finite = st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: x + 0.0)


def wide_enough(pair: tuple[float, float]) -> bool:
    return pair[1] - pair[0] >= 1e-90


linear_bounds = st.tuples(finite, finite).map(lambda pair: (min(pair), max(pair))).filter(wide_enough)
positive = st.floats(1e-60, 1e60, allow_nan=False)
log_bounds = st.tuples(positive, positive).map(lambda p: (min(p), max(p))).filter(lambda p: p[1] / p[0] > 1.00001)
units = st.sampled_from(["", "°C", "min"])


def goes_round(low: float, high: float) -> bool:
    return max(abs(low), abs(high)) <= 1000 * (high - low)


@st.composite
def reals(draw, name="x"):
    log = draw(st.booleans())
    low, high = draw(log_bounds if log else linear_bounds)
    circular = not log and goes_round(low, high) and draw(st.booleans())
    # Over many powers of ten there would be too many steps.
    stepped = draw(st.booleans()) and not (log and high > 100 * low)
    step = draw(st.floats(0.01, 0.5)) * (high - low) if stepped else None
    return Real(name, low, high, log=log, unit=draw(units), step=step, circular=circular)


@st.composite
def stepped_reals(draw, name="x"):
    """With bounds and steps as a person writes them."""
    low, steps = draw(st.integers(-100, 100)), draw(st.integers(2, 60))
    step = draw(st.sampled_from([0.01, 0.1, 0.25, 0.5, 1, 2.5]))
    return Real(name, low, low + steps * step, step=step, circular=draw(st.booleans()) and steps * step >= 1)


@st.composite
def angles(draw, name="x"):
    return Angle(name, step=draw(st.sampled_from([None, 1, 2.5, 7])))


@st.composite
def integers(draw, name="x"):
    log = draw(st.booleans())
    low = draw(st.integers(1, 2**39) if log else st.integers(-(2**50), 2**50 - 1))
    high = draw(st.integers(low + 1, 2**40 if log else 2**50))
    circular = not log and max(abs(low), abs(high)) <= min(2**40, 1000 * (high - low)) and high - low > 1
    return Integer(name, low, high, log=log, unit=draw(units), circular=circular and draw(st.booleans()))


@st.composite
def small_integers(draw, name="x"):
    low = draw(st.integers(-5, 5))
    length = draw(st.integers(1, 6))
    return Integer(name, low, low + length, circular=length > 1 and draw(st.booleans()))


@st.composite
def ordinals(draw, name="x"):
    values = draw(
        st.one_of(
            st.lists(finite | st.integers(-1000, 1000), min_size=2, max_size=6, unique=True),
            st.lists(labels, min_size=2, max_size=6, unique=True),
        )
    )
    return Ordinal(name, values)


@st.composite
def categoricals(draw, name="x"):
    return Categorical(name, draw(st.lists(labels | finite | st.booleans(), min_size=2, max_size=6, unique=True)))


def parameters(name="x"):
    return st.one_of(
        reals(name),
        stepped_reals(name),
        angles(name),
        integers(name),
        small_integers(name),
        ordinals(name),
        categoricals(name),
    )


@st.composite
def spaces(draw, kinds=parameters):
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique_by=lambda name: name.replace(" ", "_")))
    parameters = [draw(kinds(f"p{place} {name}".strip())) for place, name in enumerate(chosen)]
    if draw(st.booleans()):
        parameters.append(Fixed("held", draw(labels | finite | st.booleans() | st.integers(-9, 9))))
    return Space(parameters)


def values_of(parameter):
    """Any value that the parameter accepts."""
    match parameter:
        case Real(low=low, high=high):
            return st.floats(low, high)
        case Integer(low=low, high=high):
            return st.integers(low, high)
    return st.sampled_from(parameter.values)


def typed_values_of(parameter):
    """Values of a Real as a person writes them: at most 12 digits of its range."""
    if not isinstance(parameter, Real):
        return values_of(parameter)
    decimals = 12 - math.ceil(math.log10(parameter.high - parameter.low))

    def written(x: float) -> float:
        rounded = float(f"{x:.10e}") if parameter.log else round(x, decimals)
        for end in (parameter.low, parameter.high):
            # So close to an end that both would need more digits to be told apart.
            if abs(rounded - end) <= 1e-9 * (end if parameter.log else parameter.high - parameter.low):
                return end
        return rounded

    return st.floats(parameter.low, parameter.high).map(written)


def cube_points(dim: int, n: int = 3):
    unit = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, np.nextafter(1.0, 0.0), 5e-324]))
    return st.lists(st.lists(unit, min_size=dim, max_size=dim), min_size=n, max_size=n).map(np.array)
