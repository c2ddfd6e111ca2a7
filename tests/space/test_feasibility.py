from __future__ import annotations

import pytest

from choicebo.errors import SpaceError
from choicebo.space import Categorical, Fixed, Integer, Real, Space

A, B = Real("a", 0, 1), Real("b", 0, 1)


@pytest.mark.parametrize(
    ("parameters", "constraints", "message"),
    [
        ([A, B], ["a + b <= -1", "a <= 0.5"], "'a \\+ b <= -1' is never satisfied"),
        ([A, B], ["a < 0.1", "a > 0.5", "b < 0.5"], "'a < 0.1' and 'a > 0.5' contradict each other"),
        ([A, B], ["a < b", "b < 1 - a", "a > 0.6 or b > 0.99999999"], "None of 65536 options tried"),
        ([A, B], ["a + b == 1"], "abs\\(a \\+ b - 1\\) <= 0.01"),
        ([A, B], ["a < -1", "b < -1"], "'a < -1' and 'b < -1' are never satisfied"),
        ([A, Fixed("oven", "gas")], ["oven != 'gas'"], "'oven != 'gas'' is never satisfied|never satisfied"),
        ([Integer("k", 1, 9)], ["k*k == 10"], "No option satisfies all constraints: 'k\\*k == 10'"),
        (
            [Integer("k", 1, 3), Categorical("c", ["x", "y"])],
            ["k > 1 or c == 'x'", "k < 3 or c == 'x'", "c == 'y' and k != 2"],
            "together. Alone they are satisfied by",
        ),
    ],
)
def test_an_empty_space_fails_at_once_and_names_the_culprit(parameters, constraints, message):
    with pytest.raises(SpaceError, match=message):
        Space(parameters, constraints)


def test_a_small_feasible_part_is_found():
    space = Space([A, B], ["a + b < 0.03"])
    assert space.feasible(space.sample(3)).all()


def test_an_equality_of_whole_numbers_is_no_problem():
    space = Space([Integer("a", 0, 300), Integer("b", 0, 300)], ["a + b == 300"])
    assert all(option["a"] + option["b"] == 300 for option in space.decode(space.sample(20)))
