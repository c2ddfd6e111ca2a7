from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choicebo.errors import SpaceError
from choicebo.space import Categorical, Integer, Ordinal, Real, Space

MIXED = Space([Real("a", 0, 10), Integer("b", 1, 30, log=True), Categorical("c", ["x", "y", "z"])], ["a + b <= 20"])
SMALL = Space([Integer("a", 1, 4), Ordinal("b", ["low", "high"])], ["a > 1 or b == 'low'"])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 40))
@pytest.mark.parametrize("space", [MIXED, SMALL])
def test_a_sequence_can_be_continued(space, seed, n, skip):
    whole = space.sobol(n + skip, seed)
    assert whole.shape == (n + skip, space.dim)
    assert np.array_equal(space.sobol(n, seed, skip), whole[skip:])
    assert space.feasible(whole).all()
    assert np.array_equal(space.snap(whole), whole)


def test_a_sequence_does_not_repeat_itself_until_every_option_was_there():
    assert len(np.unique(SMALL.sobol(7), axis=0)) == len(SMALL.enumerate()) == 7
    assert np.array_equal(SMALL.sobol(7, skip=7), SMALL.sobol(7))
    assert len(np.unique(MIXED.sobol(500), axis=0)) == 500


def test_the_sequence_fills_the_space_more_evenly_than_chance():
    from scipy.stats import qmc

    space = Space([Real("a", 0, 1), Real("b", 0, 1)])
    assert qmc.discrepancy(space.sobol(128)) < 0.2 * qmc.discrepancy(space.sample(128))


def test_the_sequence_is_balanced_over_categories():
    space = Space([Real("a", 0, 1), Categorical("c", ["w", "x", "y", "z"])])
    drawn = [option["c"] for option in space.decode(space.sobol(64))]
    assert [drawn.count(value) for value in "wxyz"] == [16] * 4


def test_different_seeds_give_different_sequences():
    assert not np.array_equal(MIXED.sobol(8, seed=0), MIXED.sobol(8, seed=1))


def test_no_warning_reaches_the_caller():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MIXED.sobol(100)
        SMALL.sobol(9)


def test_all_values_of_a_parameter_are_drawn_alike():
    space = Space([Integer("a", 1, 5), Real("b", 0, 1)])
    drawn = [option["a"] for option in space.decode(space.sample(5000, seed=1))]
    shares = np.bincount(drawn, minlength=6)[1:] / 5000
    np.testing.assert_allclose(shares, 0.2, atol=0.02)


def test_samples_of_a_short_list_are_uniform_over_the_feasible_options():
    options = SMALL.decode(SMALL.sample(7000, seed=3))
    counts = [options.count(option) for option in SMALL.decode(SMALL.enumerate())]
    np.testing.assert_allclose(np.array(counts) / 7000, 1 / 7, atol=0.02)


def test_a_space_with_hardly_any_feasible_point_says_so(monkeypatch):
    monkeypatch.setattr("choicebo.space.sampling.MOST_DRAWS", 2**10)
    space = Space([Real("a", 0, 1), Real("b", 0, 1)], ["a + b < 0.05"])
    with pytest.raises(SpaceError, match="narrow the ranges"):
        space.sample(1000)
