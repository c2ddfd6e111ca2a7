"""Contexts among the parameters of a space."""

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError, SpaceError
from choicebo.space.context import are_in, checked_context, first_context, read_context, taken_into

SPACE = cb.Space(
    [
        cb.Real("sugar", 0, 10, step=0.5),
        cb.Context("season", ["spring", "summer", "winter"]),
        cb.Context("temperature", -10, 35, unit="°C"),
        cb.Integer("ice", 0, 5),
    ],
    constraints=["ice <= 3 + temperature / 10"],
)


def test_a_context_is_a_list_of_values_a_range_or_any_parameter():
    assert cb.Context("season", ["summer", "winter"]) == cb.Categorical("season", ["summer", "winter"], context=True)
    assert cb.Context("size", ["s", "m"], ordered=True) == cb.Ordinal("size", ["s", "m"], context=True)
    assert cb.Context("temperature", -10, 35) == cb.Real("temperature", -10, 35, context=True)
    parameters = [cb.Real("a", 1, 9, log=True), cb.Integer("a", 1, 9), cb.Angle("a"), cb.Ordinal("a", [1, 3])]
    for parameter in parameters:
        context = cb.Context(parameter)
        assert context.context
        assert not parameter.context
        assert context != parameter
        assert context.columns == parameter.columns


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("season",), "give a list"),
        (("season", 3), "both ends of a range"),
        ((cb.Real("a", 0, 1), 0, 1), "give nothing beside it"),
        (("temperature", 35, -10), "swap them"),
    ],
)
def test_a_context_without_values_says_what_to_give(arguments, sentence):
    with pytest.raises(SpaceError, match=sentence):
        cb.Context(*arguments)


def test_something_must_be_left_to_choose():
    with pytest.raises(SpaceError, match="Nothing is left to choose beside the context 'season'"):
        cb.Space([cb.Context("season", ["summer", "winter"])])


def test_records_keep_contexts_and_those_of_other_parameters_are_as_they_were():
    assert cb.Space.from_dict(SPACE.to_dict()) == SPACE
    assert [parameter.name for parameter in SPACE.contexts] == ["season", "temperature"]
    assert SPACE.to_dict()["parameters"][1]["context"] is True
    assert "context" not in SPACE.to_dict()["parameters"][0]
    assert repr(SPACE.contexts[0]) == "Categorical('season', ['spring', 'summer', 'winter'], context=True)"


def test_options_within_a_context_have_it_in_the_same_cube():
    winter = {"season": "winter", "temperature": -3.7}
    here = SPACE.within(winter)
    assert here.dim == SPACE.dim
    for points in (here.sobol(64), here.sample(64), here.snap(SPACE.sample(64)), here.neighbours(here.sobol(1)[0])):
        options = SPACE.decode(points)
        assert {(option["season"], option["temperature"]) for option in options} == {("winter", -3.7)}
    assert all(SPACE.contains(option) for option in SPACE.decode(here.sobol(64)))
    assert (
        max(option["ice"] for option in SPACE.decode(here.sobol(64))) == 2
    )  # the constraint counts with the temperature
    assert SPACE.within({"season": "winter", "temperature": 30}).size == 21 * 6
    np.testing.assert_array_equal(here.encode(options), SPACE.encode(options))


def test_a_context_that_leaves_nothing_to_offer_is_refused_by_name():
    space = cb.Space([cb.Real("a", 0, 1), cb.Context("t", 0, 10)], constraints=["a >= t"])
    with pytest.raises(SpaceError, match="In the context t 5: "):
        space.within({"t": 5})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"season": "winter"}, "The context 'temperature' is missing, a number from -10 to 35 °C"),
        ({"temperature": 3}, "The context 'season' is missing, one of 'spring', 'summer', 'winter'"),
        ({"season": "autumn", "temperature": 3}, "'season' is 'autumn': accepted are"),
        ({"season": "winter", "temperature": 99}, "accepted is -10 to 35"),
        ({"season": "winter", "temperature": 3, "month": 1}, "There is no context 'month'"),
        ("winter", "give a dict such as"),
    ],
)
def test_a_context_that_cannot_be_says_what_can(given, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        checked_context(SPACE, given)


def test_without_contexts_there_is_nothing_to_say():
    plain = cb.Space([cb.Real("a", 0, 1)])
    assert plain.within({}) is plain
    with pytest.raises(InvalidInputError, match="the space has none"):
        checked_context(plain, {"season": "winter"})


def test_a_person_writes_a_context_as_name_and_value():
    assert read_context(SPACE, ["season=winter", "temperature = 3,5"]) == {"season": "winter", "temperature": 3.5}
    with pytest.raises(InvalidInputError, match="write it as name=value"):
        read_context(SPACE, ["winter"])


def test_points_are_taken_into_a_context_and_keep_the_rest():
    winter = first_context(SPACE)
    assert winter == {"season": "spring", "temperature": 12.5}
    points = SPACE.sample(20, seed=3)
    moved = taken_into(SPACE, points, winter)
    assert are_in(SPACE, moved, winter).all()
    assert not are_in(SPACE, points, winter).all()
    kept = [{**option, **winter} for option in SPACE.decode(points)]
    assert SPACE.decode(moved) == kept
