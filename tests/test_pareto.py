from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choicebo.errors import InvalidInputError
from choicebo.pareto import dominates, hypervolume, hypervolume_contributions, non_dominated


@st.composite
def points(draw: st.DrawFn, max_rows: int = 8) -> np.ndarray:
    """Points on a small grid, so that ties and equal rows are common. (n, k), n from 0, k from 1 to 5."""
    k = draw(st.integers(1, 5))
    rows = draw(st.lists(st.tuples(*[st.integers(-2, 4)] * k), max_size=max_rows))
    return np.array(rows, dtype=float).reshape(len(rows), k)


def dominates_by_definition(a: np.ndarray, b: np.ndarray) -> bool:
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))


def volume_by_counting(values: np.ndarray, reference: np.ndarray) -> float:
    """On whole numbers the volume is the number of unit cubes below some point."""
    k = len(reference)
    cubes: set[tuple[int, ...]] = set()
    for point in values:
        cubes.update(itertools.product(*(range(int(reference[j]), int(point[j])) for j in range(k))))
    return float(len(cubes))


@given(points())
@settings(max_examples=100, deadline=None)
def test_dominance_and_non_dominated_set_follow_the_definition(values: np.ndarray) -> None:
    for a, b in itertools.product(values, values):
        assert dominates(a, b) == dominates_by_definition(a, b)
    expected = [not any(dominates_by_definition(other, row) for other in values) for row in values]
    assert non_dominated(values).tolist() == expected


@given(points(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_permuting_points_permutes_the_non_dominated_set(values: np.ndarray, random: Any) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    assert non_dominated(values[order]).tolist() == non_dominated(values)[order].tolist()


@given(points(), st.integers(-2, 1))
@settings(max_examples=100, deadline=None)
def test_hypervolume_counts_the_unit_cubes_below_the_points(values: np.ndarray, corner: int) -> None:
    reference = np.full(values.shape[1], float(corner))
    assert hypervolume(values, reference) == pytest.approx(volume_by_counting(values, reference))


@given(points(max_rows=6))
@settings(max_examples=100, deadline=None)
def test_contribution_is_the_hypervolume_lost_without_the_point(values: np.ndarray) -> None:
    reference = np.zeros(values.shape[1])
    total = volume_by_counting(values, reference)
    expected = [total - volume_by_counting(np.delete(values, row, axis=0), reference) for row in range(len(values))]
    assert hypervolume_contributions(values, reference).tolist() == pytest.approx(expected)


def test_equal_points_stay_together_in_the_non_dominated_set() -> None:
    assert non_dominated([[1, 2], [1, 2], [0, 0]]).tolist() == [True, True, False]
    assert non_dominated([[3.0], [3.0], [1.0]]).tolist() == [True, True, False]


def test_points_at_or_below_the_reference_add_nothing() -> None:
    assert hypervolume([[0.0, 5.0], [-1.0, 9.0], [-np.inf, 1.0]], [0.0, 0.0]) == 0.0
    assert hypervolume([[1.0, 2.0], [9.0, -1.0]], [0.0, 0.0]) == 2.0


def test_no_points_have_no_volume_and_nothing_non_dominated() -> None:
    assert hypervolume(np.empty((0, 2)), [0.0, 0.0]) == 0.0
    assert hypervolume_contributions(np.empty((0, 2)), [0.0, 0.0]).shape == (0,)
    assert non_dominated(np.empty((0, 2))).shape == (0,)


def test_arguments_are_left_as_they_were() -> None:
    values, reference = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([-1.0, -1.0])
    hypervolume(values, reference)
    hypervolume_contributions(values, reference)
    non_dominated(values)
    assert values.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert reference.tolist() == [-1.0, -1.0]


def test_infinite_objectives_can_be_compared() -> None:
    assert dominates([np.inf, 0.0], [1.0, 0.0])
    assert non_dominated([[np.inf, 0.0], [0.0, -np.inf], [1.0, 1.0]]).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dominates([1.0, np.nan], [1.0, 2.0]), r"a\[1\] is NaN"),
        (lambda: dominates([1.0, 2.0], [1.0]), "a has 2 objectives and b has 1.*the same objectives"),
        (lambda: dominates([[1.0]], [1.0]), r"a has shape \(1, 1\).*shape \(k,\)"),
        (lambda: non_dominated([[1.0, 2.0], [np.nan, 1.0]]), r"values\[1, 0\] is NaN.*fill in"),
        (lambda: non_dominated([1.0, 2.0]), r"values has shape \(2,\).*shape \(n, k\)"),
        (lambda: non_dominated([[1.0, 2.0], [1.0]]), r"different lengths.*shape \(n, k\)"),
        (lambda: non_dominated([["a", "b"]]), "values is not numeric.*numbers"),
        (lambda: non_dominated(np.empty((2, 0))), "values has 0 objectives.*between 1 and 31"),
        (lambda: hypervolume(np.ones((2, 32)), np.zeros(32)), "values has 32 objectives.*between 1 and 31"),
        (lambda: hypervolume([[1.0, 2.0]], [0.0]), "reference has 1 objectives, but values has 2"),
        (lambda: hypervolume([[1.0, 2.0]], 0.0), r"reference has shape \(\).*shape \(k,\)"),
        (lambda: hypervolume([[1.0, 2.0]], [0.0, np.nan]), r"reference\[1\] is NaN"),
        (lambda: hypervolume([[1.0, 2.0]], [0.0, -np.inf]), "reference is.*-inf.*finite number"),
        (lambda: hypervolume([[1.0, np.inf]], [0.0, 0.0]), r"values\[0, 1\] is infinite.*finite values"),
        (lambda: hypervolume_contributions([[1.0, np.nan]], [0.0, 0.0]), r"values\[0, 1\] is NaN"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        call()


def test_moocore_is_loaded_only_when_it_is_needed() -> None:
    program = "import sys, choicebo.pareto; print('moocore' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
