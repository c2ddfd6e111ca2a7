from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from space_strategies import cube_points, parameters, typed_values_of

from choicebo.errors import SpaceError
from choicebo.space import Angle, Categorical, Fixed, Integer, Ordinal, Real
from choicebo.space.circle import points_to_turn
from choicebo.space.discrete import ONE_HOT
from choicebo.space.serialisation import parameter_from_dict


@given(parameters(), st.data())
def test_encode_then_decode_gives_the_values_back(parameter, data):
    values = [parameter.check(data.draw(typed_values_of(parameter))) for _ in range(3)]
    block = parameter.encode(values)
    assert block.shape == (3, parameter.width)
    assert np.all((block >= 0) & (block <= 1))
    decoded = parameter.decode(block).tolist()
    assert decoded == values
    assert [type(value) for value in decoded] == [type(value) for value in values]


@given(parameters(), st.data())
def test_every_point_of_the_cube_decodes_to_an_accepted_value(parameter, data):
    block = data.draw(cube_points(parameter.width))
    values = parameter.decode(block).tolist()
    assert [parameter.check(value) for value in values] == values
    assert parameter.decode(parameter.encode(values)).tolist() == values


@given(parameters())
def test_a_record_gives_an_equal_parameter(parameter):
    again = parameter_from_dict(json.loads(json.dumps(parameter.to_dict())))
    assert again == parameter
    assert hash(again) == hash(parameter)
    assert repr(again) == repr(parameter)


@given(parameters())
def test_the_repr_can_be_typed_in_again(parameter):
    kinds = {"Angle": Angle, "Real": Real, "Integer": Integer, "Ordinal": Ordinal, "Categorical": Categorical}
    assert eval(repr(parameter), kinds) == parameter


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real("", 0, 1), "name of a parameter is ''"),
        (lambda: Real("  ", 0, 1), "not empty"),
        (lambda: Real(" a", 0, 1), "remove the spaces"),
        (lambda: Real("a\nb", 0, 1), "line breaks"),
        (lambda: Real(3, 0, 1), "name of a parameter is 3"),
        (lambda: Real("a", 1, 1), r"use Fixed\('a', 1.0\)"),
        (lambda: Real("a", 2, 1), "swap them"),
        (lambda: Real("a", math.nan, 1), "low of 'a' is nan: give a finite number"),
        (lambda: Real("a", 0, math.inf), "high of 'a' is inf"),
        (lambda: Real("a", True, 2), "low of 'a' is True: give a number"),
        (lambda: Real("a", "0", 2), "low of 'a' is '0': give a number"),
        (lambda: Real("a", 0, 1, log=True), "needs low above 0"),
        (lambda: Real("a", 0, 1, log="yes"), "give True or False"),
        (lambda: Real("a", 1, 1.0000001, log=True), "leave out log"),
        (lambda: Real("a", 1e-200, 1, log=True), "at least 1e-100"),
        (lambda: Real("a", 0, 1e200), "use a unit"),
        (lambda: Real("a", 0, 1, unit=3), "unit of 'a' is 3"),
        (lambda: Real("a", 0, 1, step="0.1"), "step of 'a' is '0.1': give a number"),
        (lambda: Real("a", 0, 1, step=-0.1), "step of 'a' is -0.1: give a number above 0"),
        (lambda: Real("a", 0, 1, step=2), "step of 'a' is 2.0, which leaves too few values: give at most 1"),
        (lambda: Real("a", 0, 1, step=0.6, circular=True), "give at most 0.5"),
        (lambda: Real("a", 0, 1, step=1e-7), "more than 100,000 values"),
        (lambda: Real("a", 1, 2, log=True, step=5e-324), "more than 100,000 values"),
        (lambda: Real("a", 1, 2, log=True, circular=True), "a circle has no log scale"),
        (lambda: Real("a", 1e6, 1e6 + 1, circular=True), "a full turn that starts near 0"),
        (lambda: Real("a", 0, 1, circular=1), "circular of 'a' is 1: give True or False"),
        (lambda: Integer("a", 0, 1, circular=True), "give a longer turn"),
        (lambda: Integer("a", 0, 2**41, circular=True), r"2\*\*40"),
        (lambda: Integer("a", 0.5, 3), "low of 'a' is 0.5: give a whole number"),
        (lambda: Integer("a", 0, 3, log=True), "needs low above 0"),
        (lambda: Integer("a", 0, 2**60), r"2\*\*50"),
        (lambda: Integer("a", 1, 2**41, log=True), r"2\*\*40"),
        (lambda: Integer("a", 0, 10**400), "below 1e300"),
        (lambda: Ordinal("a", []), "empty list"),
        (lambda: Ordinal("a", [1]), r"use Fixed\('a', 1\)"),
        (lambda: Ordinal("a", [1, 2, 1.0]), "1.0 twice"),
        (lambda: Ordinal("a", [1, "b"]), "use Categorical"),
        (lambda: Ordinal("a", [True, False]), "use Categorical"),
        (lambda: Ordinal("a", "abc"), "give a list of values"),
        (lambda: Categorical("a", 3), "give a list of values"),
        (lambda: Categorical("a", ["b", "b"]), "'b' twice"),
        (lambda: Categorical("a", ["b", None]), "A value of 'a' is None"),
        (lambda: Categorical("a", ["b", math.nan]), "finite"),
        (lambda: Categorical("a", ["b", ""]), "not empty"),
        (lambda: Fixed("a", None), "The value of 'a' is None"),
        (lambda: Fixed("", 1), "name of a fixed parameter"),
    ],
)
def test_a_parameter_that_cannot_be_offered_says_why(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (Real("t", 150, 220, unit="°C"), 240, "'t' is 240.0: accepted is 150 to 220 °C"),
        (Real("t", 150, 220), "180", "'t' is '180': give a number"),
        (Real("t", 150, 220), None, "'t' is None"),
        (Real("t", 0, 1), True, "'t' is True: give a number"),
        (Real("t", 0, 1), math.nan, "finite"),
        (Integer("m", 5, 40), 4, "'m' is 4: accepted is 5 to 40"),
        (Integer("m", 5, 40), 7.5, "whole number"),
        (Integer("m", 0, 1), False, "give a number"),
        (Ordinal("g", [1, 2, 4]), 3, "'g' is 3: accepted are 1, 2, 4"),
        (Ordinal("g", [1, 2, 4]), True, "'g' is True"),
        (Categorical("f", ["rye", "wheat"]), "weat", "Did you mean 'wheat'"),
        (Categorical("f", [True, False]), 1, "'f' is 1: accepted are True, False"),
        (Categorical("f", ["rye", "wheat"]), ["rye"], "accepted are 'rye', 'wheat'"),
    ],
)
def test_a_value_that_is_not_accepted_says_what_is(parameter, value, message):
    with pytest.raises(SpaceError, match=message):
        parameter.check(value)


@pytest.mark.parametrize(
    ("parameter", "given", "kept"),
    [
        (Real("t", 150, 220), np.float32(180.5), 180.5),
        (Real("t", 150, 220), 180, 180.0),
        (Integer("m", 5, 40), np.int64(7), 7),
        (Integer("m", 5, 40), 7.0, 7),
        (Ordinal("g", [1, 2, 4]), 2.0, 2),
        (Categorical("f", ["rye", "wheat"]), np.str_("rye"), "rye"),
        (Categorical("f", [True, False]), np.bool_(True), True),
    ],
)
def test_values_become_plain_python_values(parameter, given, kept):
    checked = parameter.check(given)
    assert checked == kept
    assert type(checked) is type(kept)


def test_two_categories_are_one_unit_apart():
    three = Categorical("f", ["a", "b", "c"]).encode(["a", "b", "c"])
    assert three.max() == ONE_HOT
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        assert np.linalg.norm(three[i] - three[j]) == pytest.approx(1.0, abs=1e-15)
    assert Categorical("f", ["a", "b"]).encode(["a", "b"]).tolist() == [[0.0], [1.0]]


def test_an_integer_sits_where_the_real_of_the_same_range_does():
    values = [5, 12, 40]
    np.testing.assert_allclose(Integer("m", 5, 40).encode(values), Real("m", 5, 40).encode(values), rtol=1e-15)


@given(parameters().filter(lambda p: p.levels <= 40))
def test_the_grid_holds_every_value_once(parameter):
    values = parameter.decode(parameter.grid()).tolist()
    assert len(values) == len(set(values)) == parameter.levels


@given(parameters(), st.data())
def test_moves_are_accepted_values_and_never_the_value_itself(parameter, data):
    value = parameter.check(data.draw(typed_values_of(parameter)))
    moves = parameter.moves(value)
    assert value not in moves
    assert [parameter.check(move) for move in moves] == moves
    assert bool(moves) == (parameter.levels != math.inf)


@given(st.integers(2, 6))
def test_uniform_quantiles_spread_evenly_over_categories(levels):
    parameter = Categorical("f", [f"v{level}" for level in range(levels)])
    drawn = parameter.decode(parameter.spread((np.arange(levels * 50) + 0.5) / (levels * 50))).tolist()
    assert {drawn.count(value) for value in parameter.values} == {50}


@given(parameters(), st.data())
def test_what_is_offered_is_where_snapping_and_spreading_lead(parameter, data):
    block = data.draw(cube_points(parameter.width))
    for offered in (parameter.snap(block), parameter.spread(block[:, 0])):
        assert np.array_equal(parameter.snap(offered), offered)
        assert np.array_equal(parameter.encode(parameter.decode(offered)), offered)
        if parameter.levels <= 1000:
            assert set(map(tuple, offered)) <= set(map(tuple, parameter.grid()))


@given(parameters().filter(lambda p: p.levels <= 1000))
def test_the_grid_holds_each_offered_value_once(parameter):
    grid = parameter.grid()
    assert len(np.unique(grid, axis=0)) == len(grid) == parameter.levels
    assert np.array_equal(parameter.snap(grid), grid)


@pytest.mark.parametrize(
    ("parameter", "offered"),
    [
        (Real("a", 0, 1, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (Real("a", 1.25, 2, step=0.25), [1.25, 1.5, 1.75, 2.0]),
        (Real("a", 0, 1, step=0.3), [0.0, 0.3, 0.6, 1.0]),  # 0.9 would be too near to the end
        (Real("a", 0, 1, step=0.4), [0.0, 0.4, 0.8, 1.0]),
        (Real("a", -0.3, 0.3, step=0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (Real("a", 0, 360, step=90, circular=True), [0.0, 90.0, 180.0, 270.0]),
        (Angle("a", -180, 180, step=100), [-180.0, -80.0, 20.0, 120.0]),
        (Real("a", 8, 13, log=True, step=1), [8.0, 9.0, 10.0, 11.0, 12.0, 13.0]),
        (Integer("a", 0, 4, circular=True), [0, 1, 2, 3]),
    ],
)
def test_values_are_offered_in_steps_and_print_clean(parameter, offered):
    assert parameter.decode(parameter.grid()).tolist() == offered
    assert parameter.levels == len(offered)


def test_steps_grow_with_the_powers_of_ten_of_a_log_scale():
    values = Real("dose", 0.15, 10_000, log=True, step=0.05)
    offered = values.decode(values.grid())
    assert offered[:3].tolist() == [0.15, 0.2, 0.25]
    assert offered[-3:].tolist() == [9990.0, 9995.0, 10_000.0]
    assert np.diff(offered).min() > 0.04
    assert values.levels < 10_000


def test_a_value_between_two_steps_is_accepted_and_kept():
    salt = Real("salt", 0, 1, step=0.25)
    assert salt.check(0.3) == 0.3
    assert salt.decode(salt.encode([0.3])).tolist() == [0.3]
    assert salt.decode(salt.snap(salt.encode([0.3]))).tolist() == [0.25]
    assert salt.moves(0.3) == [0.25, 0.5]


def test_a_step_of_zero_offers_any_value():
    assert Real("a", 0, 1, step=0) == Real("a", 0, 1)


@pytest.mark.parametrize("step", [0.25, 0.1])
def test_uniform_quantiles_spread_evenly_over_steps(step):
    parameter = Real("a", 0, 1, step=step)
    drawn = parameter.decode(parameter.spread((np.arange(10_000) + 0.5) / 10_000))
    shares = [np.mean(drawn == value) for value in parameter.decode(parameter.grid())]
    np.testing.assert_allclose(shares, 1 / parameter.levels, atol=0.03)


@pytest.mark.parametrize("parameter", [Angle("hue"), Angle("hue", step=7.5), Integer("hue", 0, 360, circular=True)])
def test_going_round_passes_the_ends_without_a_jump(parameter):
    before, at, after, opposite = parameter.encode(
        [352.5, 0, 7.5, 180] if parameter.kind == "angle" else [352, 0, 8, 180]
    )
    assert np.linalg.norm(before - at) == pytest.approx(np.linalg.norm(at - after))
    assert np.linalg.norm(before - after) < 0.15
    assert np.linalg.norm(at - opposite) == pytest.approx(1.0)
    assert parameter.check(360) == 0


@pytest.mark.parametrize("parameter", [Angle("hue"), Angle("hue", step=10), Integer("hue", 0, 36, circular=True)])
def test_uniform_quantiles_are_uniform_on_the_circle(parameter):
    points = parameter.spread((np.arange(3600) + 0.5) / 3600)
    np.testing.assert_allclose(points.mean(0), 0.5, atol=1e-9)
    eighths = np.floor(points_to_turn(points) * 8.0).astype(int)
    np.testing.assert_allclose(np.bincount(eighths, minlength=8) / 3600, 1 / 8, atol=0.02)


def test_steps_go_round_a_circle():
    assert Angle("hue", step=90).moves(0.0) == [270.0, 90.0]
    assert Integer("hour", 0, 12, circular=True).moves(0) == [11, 1]
    assert Angle("hue", step=180).moves(180.0) == [0.0]
