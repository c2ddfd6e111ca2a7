"""Values that people and tables write as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from space_strategies import parameters, values_of

from choicebo.errors import SpaceError
from choicebo.space import Catalogue, Categorical, Integer, Ordinal, Real
from choicebo.space.values import read_number, read_values


@given(parameters(), st.data())
def test_every_value_is_read_back_from_its_text(parameter, data):
    value = parameter.check(data.draw(values_of(parameter)))
    found = parameter.parse(str(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (Real("salt", 0, 2), "0,5", 0.5),
        (Integer("minutes", 5, 40), "12.0", 12),
        (Ordinal("grind", [1, 2.5, 4]), "4.0", 4),
        (Categorical("vegan", [True, False]), "False", False),
        (Categorical("code", ["007", "008"]), "007", "007"),
    ],
)
def test_a_value_may_be_written_in_another_way(parameter, text, value):
    assert parameter.parse(text) == value


@pytest.mark.parametrize(
    ("parameter", "text", "message"),
    [
        (Real("salt", 0, 2), "much", "'salt' is 'much': give a number"),
        (Real("salt", 0, 2), " ", "'salt' is empty: give a number"),
        (Real("salt", 0, 2), "3", "'salt' is 3.0: accepted is 0 to 2"),
        (Real("salt", 0, 2), "nan", "finite"),
        (Integer("minutes", 5, 40), "5.5", "whole number"),
        (Categorical("flour", ["rye", "wheat"]), "whaet", "Did you mean 'wheat'"),
    ],
)
def test_a_text_that_is_no_value_says_what_would_be_one(parameter, text, message):
    with pytest.raises(SpaceError, match=message):
        parameter.parse(text)


def test_a_row_is_found_by_the_text_of_its_key():
    menu = Catalogue([{"sku": 7, "x": 1}, {"sku": 8, "x": 2}])
    assert menu.parse("8") == {"sku": 8, "x": 2}
    with pytest.raises(SpaceError, match="no row with sku = '9'"):
        menu.parse("9")


def test_listed_values_are_numbers_only_if_all_are():
    assert read_values("1, 2.5,, 4") == [1, 2.5, 4]
    assert read_values("1, nan") == ["1", "nan"]
    assert read_values("007, 12") == ["007", "12"]


def test_a_number_that_is_too_long_to_count_is_still_read():
    assert read_number("1" * 5000, "low") == float("inf")
