from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_strategies import cube_points, small_integers, spaces, typed_values_of, values_of

from choicebo.errors import SpaceError
from choicebo.space import (
    Categorical,
    Constraint,
    Fixed,
    Integer,
    Ordinal,
    Real,
    Searchable,
    Space,
    from_dict,
)


@pytest.fixture
def bread() -> Space:
    return Space(
        [
            Real("temperature", 150, 220),
            Integer("minutes", 5, 40),
            Ordinal("grind", [1, 2, 4, 8]),
            Categorical("flour", ["rye", "wheat", "spelt"]),
            Fixed("oven", "gas"),
        ],
        constraints=["temperature + 2*minutes <= 280", "flour != 'rye' or temperature <= 200"],
    )


LOAF = {"temperature": 180.5, "minutes": 20, "grind": 4, "flour": "rye", "oven": "gas"}


@given(spaces(), st.data())
def test_encode_then_decode_gives_the_options_back(space, data):
    option = {p.name: data.draw(typed_values_of(p)) for p in space.parameters}
    kept = space.validate(option)
    assert {name: kept[name] for name in option} == {p.name: p.check(option[p.name]) for p in space.parameters}
    assert space.decode(space.encode([kept])) == [kept]


@given(spaces(), st.data())
def test_a_validated_option_stays_as_it_is_whatever_its_floats(space, data):
    kept = space.validate({p.name: data.draw(values_of(p)) for p in space.parameters})
    assert space.validate(kept) == kept
    assert space.decode(space.encode([kept])) == [kept]
    assert list(kept) == list(space.names)


@given(spaces(), st.data())
def test_snapping_keeps_the_option_and_snapping_again_changes_nothing(space, data):
    cube = data.draw(cube_points(space.dim))
    snapped = space.snap(cube)
    assert snapped.shape == cube.shape
    assert np.array_equal(space.snap(snapped), snapped)
    assert np.array_equal(space.encode(space.decode(snapped)), snapped)
    for parameter in space.parameters:
        # Only a step moves a value.
        if getattr(parameter, "step", None) is None:
            block = space.blocks[parameter.name]
            assert parameter.decode(snapped[:, block]).tolist() == parameter.decode(cube[:, block]).tolist()


@given(spaces())
def test_both_ends_of_every_range_can_be_proposed(space):
    first, last = space.decode(np.array([np.zeros(space.dim), np.ones(space.dim)]))
    for parameter in space.parameters:
        if parameter.kind in ("real", "integer") and not parameter.circular:
            assert (first[parameter.name], last[parameter.name]) == (parameter.low, parameter.high)


@given(spaces())
def test_a_record_gives_an_equal_space(space):
    again = from_dict(json.loads(json.dumps(space.to_dict())))
    assert again == space
    assert hash(again) == hash(space)
    assert again.to_dict() == space.to_dict()


def test_a_record_keeps_constraints_and_pickles(bread):
    assert Space.from_dict(bread.to_dict()) == bread
    assert pickle.loads(pickle.dumps(bread)) == bread
    assert Space(bread.parameters) != bread


def test_the_cube_has_a_column_per_number_and_one_per_category(bread):
    assert bread.dim == 6
    assert [column.kind for column in bread.columns] == ["continuous", "discrete", "discrete"] + ["onehot"] * 3
    assert [column.parameter for column in bread.columns][3:] == ["flour"] * 3
    assert bread.blocks["flour"] == slice(3, 6)
    assert bread.names == ("temperature", "minutes", "grind", "flour", "oven")
    assert bread.size == math.inf
    assert repr(bread) == "Space(temperature, minutes, grind, flour, oven; 2 constraints)"
    assert isinstance(bread, Searchable)


def test_options_have_plain_python_values(bread):
    option = bread.decode(bread.encode([LOAF]))[0]
    assert option == LOAF
    assert [type(value) for value in option.values()] == [float, int, int, str, str]


def test_feasible_agrees_for_points_and_options_and_with_the_formula(bread):
    cube = np.random.default_rng(0).random((200, bread.dim))
    options = bread.decode(cube)
    expected = [
        o["temperature"] + 2 * o["minutes"] <= 280 and (o["flour"] != "rye" or o["temperature"] <= 200) for o in options
    ]
    assert bread.feasible(cube).tolist() == expected
    assert bread.feasible(options).tolist() == expected
    assert [bread.contains(option) for option in options] == expected
    assert bread.feasible([]).shape == (0,)


def test_an_infeasible_option_is_valid_but_not_contained(bread):
    hot = {**LOAF, "temperature": 215}
    assert bread.validate(hot)["temperature"] == 215.0
    assert not bread.contains(hot)
    assert bread.violated(hot) == ("flour != 'rye' or temperature <= 200",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": 300}, "'temperature' is 300.0: accepted is 150 to 220"),
        ({"temprature": 180}, "unknown name 'temprature'. Did you mean 'temperature'"),
        ({"oven": "wood"}, "'oven' is 'wood': it is fixed at 'gas'"),
        ({"flour": "oat"}, "accepted are 'rye', 'wheat', 'spelt'"),
    ],
)
def test_an_invalid_option_says_what_is_wrong(bread, change, message):
    with pytest.raises(SpaceError, match=message):
        bread.validate({**LOAF, **change})
    assert not bread.contains({**LOAF, **change})


def test_missing_names_are_listed_and_fixed_ones_may_be_left_out(bread):
    with pytest.raises(SpaceError, match="no value for 'minutes', 'grind'"):
        bread.validate({"temperature": 180, "flour": "rye"})
    assert bread.validate({name: value for name, value in LOAF.items() if name != "oven"}) == LOAF


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.encode(LOAF), r"\[option\]"),
        (lambda s: s.encode([3]), "give a dict"),
        (lambda s: s.decode(np.zeros(6)), r"u\[None, :\]"),
        (lambda s: s.decode(np.zeros((2, 5))), r"accepted shape is \(n, 6\)"),
        (lambda s: s.decode(np.full((1, 6), 1.5)), r"lie in \[0, 1\]"),
        (lambda s: s.decode(np.full((1, 6), np.nan)), r"lie in \[0, 1\]"),
        (lambda s: s.decode("abc"), "array of numbers"),
        (lambda s: s.sample(-1), "n is -1"),
        (lambda s: s.sobol(2.5), "whole number"),
        (lambda s: s.enumerate(), "above the limit"),
    ],
)
def test_calls_that_cannot_work_say_why(bread, call, message):
    with pytest.raises(SpaceError, match=message):
        call(bread)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Space([]), "at least one parameter"),
        (lambda: Space([Fixed("a", 1)]), "at least one parameter that varies"),
        (lambda: Space(Real("a", 0, 1)), "takes a list"),
        (lambda: Space([Real("a", 0, 1)], fixed=["b"]), "as a dict"),
        (lambda: Space(["a"]), "A parameter is 'a'"),
        (lambda: Space([Real("a", 0, 1), Integer("a", 0, 3)]), "'a' is used twice"),
        (lambda: Space([Real("a", 0, 1), Fixed("a", 3)]), "'a' is used twice"),
        (lambda: Space([Real("a b", 0, 1), Real("a_b", 0, 1)]), "both be called 'a_b'"),
        (lambda: Space([Real("a", 0, 1)], ["b < 1"]), "unknown name 'b'"),
        (lambda: Space([Real("a", 0, 1)], [3]), "A constraint is 3"),
        (lambda: Space([Real("a", 0, 1), Real("b", 0, 1)], fixed={"a": 2}), "accepted is 0 to 1"),
    ],
)
def test_a_space_that_cannot_be_offered_says_why(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


def test_a_parameter_can_be_held_at_a_value():
    parameters = [Real("a", 0, 1), Integer("b", 1, 9)]
    space = Space(parameters, ["a*b <= 2"], fixed={"b": 4.0, "oven": "gas"})
    assert space.parameters == (parameters[0],)
    assert space.fixed == (Fixed("b", 4), Fixed("oven", "gas"))
    assert space.feasible([[0.4], [0.6]]).tolist() == [True, False]
    assert space.decode([[0.25]]) == [{"a": 0.25, "b": 4, "oven": "gas"}]


def test_constraints_come_as_texts_or_constraints():
    parameters = [Real("a", 0, 1)]
    assert Space(parameters, "a < 0.5") == Space(parameters, [Constraint("a < 0.5")])


@given(spaces(small_integers))
def test_a_finite_space_is_listed_completely(space):
    cube = space.enumerate(limit=10**4)
    assert len(cube) == space.size
    assert len(np.unique(cube, axis=0)) == space.size
    assert np.array_equal(space.snap(cube), cube)


def test_the_list_of_a_large_finite_space_holds_the_feasible_options():
    space = Space([Integer("a", 1, 200), Integer("b", 1, 200)], ["a + b <= 3"])
    assert space.decode(space.enumerate(40_000)) == [
        {"a": 1, "b": 1},
        {"a": 1, "b": 2},
        {"a": 2, "b": 1},
    ]


def test_neighbours_are_one_discrete_step_away(bread):
    start = bread.encode([LOAF])
    near = bread.decode(bread.neighbours(start[0]))
    changes = {tuple(name for name in option if option[name] != LOAF[name]) for option in near}
    assert changes == {("minutes",), ("grind",), ("flour",)}
    assert sorted(option["minutes"] for option in near if option["minutes"] != 20) == [19, 21]
    assert sorted(option["grind"] for option in near if option["grind"] != 4) == [2, 8]
    assert sorted(option["flour"] for option in near if option["flour"] != "rye") == ["spelt", "wheat"]


def test_neighbours_are_feasible():
    space = Space([Integer("a", 0, 4), Integer("b", 0, 4)], ["a + b <= 3"])
    near = space.decode(space.neighbours(space.encode([{"a": 1, "b": 2}])[0]))
    assert near == [{"a": 0, "b": 2}, {"a": 1, "b": 1}]


def test_neighbours_of_a_continuous_space_are_none():
    assert Space([Real("a", 0, 1)]).neighbours([0.3]).shape == (0, 1)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 40))
def test_samples_are_feasible_snapped_and_repeatable(seed, n):
    space = Space([Real("a", -3, 5), Integer("b", 1, 50)], ["a*b <= 30"])
    cube = space.sample(n, seed)
    assert cube.shape == (n, space.dim)
    assert space.feasible(cube).all()
    assert np.array_equal(space.snap(cube), cube)
    assert np.array_equal(space.sample(n, np.random.default_rng(seed)), cube)
