from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.errors import SpaceError
from choicebo.space import Categorical, Constraint, Fixed, Integer, Ordinal, Real

COLUMNS = {
    "a": np.array([-1.0, 0.0, 0.5, 4.0, 9.0]),
    "b": np.array([2, -3, 1, 0, 5]),
    "flour": np.array(["rye", "wheat", "rye", "spelt", "wheat"], dtype=object),
    "vegan": np.array([True, False, True, True, False]),
}
NAMESPACE = {name: getattr(math, name) for name in ("sqrt", "exp", "log", "log10", "sin", "cos")} | {
    "abs": abs,
    "min": min,
    "max": max,
}


@pytest.mark.parametrize(
    "text",
    [
        "a + 2*b <= 4",
        "a*b >= 3",
        "sqrt(a) + log(b) < 2",
        "-1 <= a/b <= 2",
        "a % 2 == 0.5",
        "flour == 'rye'",
        "flour != 'rye' or a <= 0",
        "not (a > 0 and b > 0)",
        "flour in ('rye', 'spelt')",
        "flour not in ['rye']",
        "b in [2, 5]",
        "vegan == True",
        "min(a, b) < max(b, 1) - abs(a)",
        "sin(a) + cos(b)**2 - exp(-a) > +0.1",
        "log10(a) != 0",
        "1 < a < 9 > b",
    ],
)
def test_it_means_what_python_means_and_undefined_is_infeasible(text):
    expected = []
    for row in zip(*(column.tolist() for column in COLUMNS.values()), strict=True):
        try:
            expected.append(bool(eval(text, dict(NAMESPACE), dict(zip(COLUMNS, row, strict=True)))))
        except (ValueError, ZeroDivisionError):
            expected.append(False)
    rule = Constraint(text)
    assert rule.mask(COLUMNS).tolist() == expected
    options = [{name: column[place] for name, column in COLUMNS.items()} for place in range(5)]
    assert [rule.holds(option) for option in options] == expected


@pytest.mark.parametrize("text", ["log(a) < 1", "not log(a) < 1", "min(1/b, 3) <= 5", "1/b > -9", "a**0.5 >= -9"])
def test_undefined_stays_infeasible_under_not_and_min(text):
    assert not Constraint(text).holds({"a": -1.0, "b": 0.0})


def test_an_undefined_half_does_not_matter_when_the_other_settles_it():
    assert Constraint("a <= 0 or log(a) < 2").holds({"a": -1.0})
    assert not Constraint("a > 0 and log(a) < 2").holds({"a": -1.0})


def test_decimals_add_up_as_on_paper():
    assert Constraint("a + b <= 0.3").holds({"a": 0.1, "b": 0.2})
    assert Constraint("a + b == 0.3").holds({"a": 0.1, "b": 0.2})
    assert not Constraint("a + b > 0.3").holds({"a": 0.1, "b": 0.2})
    assert not Constraint("a + b <= 0.3").holds({"a": 0.1, "b": 0.2000001})


@given(st.floats(-100, 100), st.floats(-100, 100))
def test_one_of_a_comparison_and_its_opposite_holds(a, b):
    option = {"a": a, "b": b}
    for one, other in [("a < b", "a >= b"), ("a > b", "a <= b"), ("a == b", "a != b")]:
        assert Constraint(one).holds(option) != Constraint(other).holds(option)
        assert Constraint(f"not {one}").holds(option) == Constraint(other).holds(option)


PARAMETERS = [
    Real("temperature", 150, 220),
    Real("oven temperature", 0, 1),
    Integer("lambda", 1, 3),
    Real("µ", 0, 1),
    Ordinal("grind", [1, 2, 4]),
    Ordinal("size", ["small", "large"]),
    Categorical("flour", ["rye", "wheat"]),
    Fixed("oven", "gas"),
]


@pytest.mark.parametrize(
    "text",
    [
        "temperature <= 200",
        "oven_temperature < lambda_",
        "µ < 1",
        "μ < 1",
        "grind >= 2",
        "size == 'small'",
        "flour in ['rye']",
        "oven == 'gas' and grind < 4",
    ],
)
def test_it_refers_to_parameters_of_any_name(text):
    Constraint(text).check(PARAMETERS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("temperatur <= 200", "unknown name 'temperatur'(.|\n)*Did you mean 'temperature'"),
        ("flour == 'weat'", "flour is never 'weat'(.|\n)*Did you mean 'wheat'"),
        ("'weat' != flour", "flour is never 'weat'"),
        ("flour in ['rye', 'x']", "flour is never 'x'"),
        ("flour + 1 < 2", "a number is needed"),
        ("sqrt(flour) < 2", "a number is needed"),
        ("flour < 'wheat'", "no order"),
        ("size >= 'large'", "no order"),
        ("flour == 3", "a label is compared with a number"),
        ("temperature == 'rye'", "a number is compared with a label"),
        ("temperature + 1", "not a comparison"),
        ("flour", "not a comparison"),
        ("grind or grind < 3", "a comparison is needed"),
        ("(grind < 3) == (grind < 2)", "cannot be compared again"),
        ("oven == 'wood'", "oven is never 'wood'"),
    ],
)
def test_what_does_not_fit_the_parameters_is_explained(text, message):
    with pytest.raises(SpaceError, match=message):
        Constraint(text).check(PARAMETERS)


@pytest.mark.parametrize("text", ["", "   ", None, 3])
def test_a_constraint_must_be_a_text(text):
    with pytest.raises(SpaceError, match="give a text"):
        Constraint(text)


def test_columns_of_different_length_are_refused():
    with pytest.raises(SpaceError, match="differ in length"):
        Constraint("a < b").mask({"a": [1, 2], "b": [1]})


def test_equal_texts_are_equal_constraints_and_survive_copies():
    rule = Constraint("  a <=\n 1 ")
    assert rule == Constraint("a <=  1")
    assert hash(rule) == hash(Constraint("a <=  1"))
    for again in (pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule)):
        assert again == rule
        assert again.holds({"a": 1})
    assert repr(rule) == "Constraint('a <=  1')"
