"""Options that a person can tell apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.space import Angle, Categorical, Integer, Ordinal, Real, Space
from choicebo.space.spacing import differences, spaced

SPACE = Space(
    [
        Real("a", 0, 10),
        Real("b", 1, 100, log=True),
        Integer("k", 0, 50),
        Ordinal("size", ["s", "m", "l"]),
        Categorical("c", ["x", "y", "z"]),
        Angle("hue"),
    ]
)
FIRST = {"a": 5.0, "b": 10.0, "k": 20, "size": "m", "c": "x", "hue": 355.0}


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({}, 0.0),
        ({"a": 5.2}, 0.02),
        ({"b": 10.0 * 100**0.03}, 0.03),
        ({"k": 21}, 0.02),
        ({"size": "l"}, 0.5),
        ({"c": "z"}, 1.0),
        ({"hue": 4.0}, 9 / 360),
        ({"hue": 175.0}, 0.5),
        ({"a": 5.2, "k": 23}, 0.06),
    ],
)
def test_options_differ_by_the_parameter_that_differs_most(change, difference):
    points = SPACE.encode([FIRST, {**FIRST, **change}])
    assert differences(SPACE.columns, points[:1], points[1:])[0, 0] == pytest.approx(difference, abs=1e-9)


@given(st.integers(0, 2**32), st.floats(0.0, 0.5))
def test_no_two_that_were_taken_are_too_close_and_the_best_is_among_them(seed, least):
    ranked = SPACE.sample(30, seed=seed)
    beside = ranked[:2]
    taken = spaced(SPACE.columns, ranked[2:], 5, least, beside)
    assert len(set(taken.tolist())) == len(taken) == 5
    chosen = np.concatenate([beside, ranked[2:][taken]])
    apart = differences(SPACE.columns, chosen, chosen)
    assert apart[np.triu_indices(7, 1)][1:].min() >= least - 1e-6


def test_where_too_few_are_left_the_best_of_the_others_are_taken():
    space = Space([Real("a", 0, 1)])
    ranked = np.array([[0.5], [0.51], [0.52], [0.9]])
    assert spaced(space.columns, ranked, 3, 0.1, ranked[:0]).tolist() == [0, 3, 1]
    assert spaced(space.columns, ranked, 3, 0.0, ranked[:0]).tolist() == [0, 1, 2]
    assert spaced(space.columns, ranked, 1, 0.1, np.array([[0.45]])).tolist() == [3]


def test_steps_as_long_as_the_least_difference_are_long_enough():
    space = Space([Real("a", 0, 3, step=0.03)])
    ranked = space.enumerate()
    assert spaced(space.columns, ranked, 101, 0.01, ranked[:0]).tolist() == list(range(101))
