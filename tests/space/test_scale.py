from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from space_strategies import linear_bounds, log_bounds, reals, typed_values_of

from choicebo.space.scale import Scale, round_decimals


def there_and_back(scale: Scale, x: float) -> float:
    return float(scale.to_value(scale.to_unit(np.array([x])))[0])


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (150.0, 220.0), (1.0, 2.0), (-3.0, -1.5), (1e6, 1e6 + 1), (1e16, 1e16 + 4), (0.1, 0.2)],
)
@given(data=st.data())
def test_every_float_of_a_fine_range_survives(low, high, data):
    scale = Scale(low, high)
    assert scale.fine
    x = data.draw(st.floats(low, high))
    assert there_and_back(scale, x) == x


@given(st.data(), st.floats(1e-80, 1e80), st.floats(0, 1), st.sampled_from([1, -1]))
def test_every_range_up_to_twice_its_start_is_fine(data, near, share, sign):
    far = near * (1 + share)
    if far - near < 1e-90:
        return
    low, high = sorted((sign * near, sign * far))
    scale = Scale(low, high)
    x = data.draw(st.floats(low, high))
    assert there_and_back(scale, x) == x


@given(reals(), st.data())
def test_what_a_person_types_survives(parameter, data):
    scale = Scale(parameter.low, parameter.high, parameter.log)
    x = data.draw(typed_values_of(parameter))
    assert there_and_back(scale, x) == x


@given(st.booleans(), st.data())
def test_any_float_is_settled_after_one_round_and_hardly_moves(log, data):
    low, high = data.draw(log_bounds if log else linear_bounds)
    scale = Scale(low, high, log)
    x = data.draw(st.floats(low, high))
    settled = there_and_back(scale, x)
    assert there_and_back(scale, settled) == settled
    assert abs(settled - x) <= (1e-11 * x if log else 1e-13 * (high - low))


@given(st.booleans(), st.data())
def test_a_point_of_the_cube_keeps_its_value(log, data):
    low, high = data.draw(log_bounds if log else linear_bounds)
    scale = Scale(low, high, log)
    u = np.array([data.draw(st.floats(0, 1))])
    value = scale.to_value(u)
    again = scale.to_unit(value)
    assert low <= value[0] <= high
    assert scale.to_value(again) == value
    assert scale.to_unit(scale.to_value(again)) == again


@given(st.booleans(), st.data())
def test_both_ends_are_hit_exactly(log, data):
    low, high = data.draw(log_bounds if log else linear_bounds)
    scale = Scale(low, high, log)
    assert scale.to_value(np.array([0.0, 1.0])).tolist() == [low, high]
    assert scale.to_unit(np.array([low, high])).tolist() == [0.0, 1.0]


@given(st.floats(-1e7, 1e7), st.integers(-3, 6))
def test_rounding_gives_the_float_closest_to_a_decimal(x, decimals):
    rounded = float(round_decimals(np.array([x]), np.array([decimals]))[0])
    step = Decimal(10) ** -decimals
    nearest = (Decimal(rounded) / step).quantize(Decimal(1)) * step
    assert rounded == float(nearest)
    assert abs(rounded - x) <= float(step) * 0.51


def test_rounding_also_works_far_from_one():
    assert round_decimals(np.array([1.23456e-40]), np.array([42])).tolist() == [1.23e-40]


def test_a_log_scale_spreads_ratios_evenly():
    assert Scale(0.01, 100.0, log=True).to_value(np.array([0.25, 0.5, 0.75])).tolist() == [0.1, 1.0, 10.0]
