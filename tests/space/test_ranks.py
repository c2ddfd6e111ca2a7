from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from choicebo.space.ranks import log_to_unit, rank_to_unit, unit_to_log, unit_to_rank


@given(st.integers(2, 2**51 + 1), st.data())
def test_every_rank_survives_however_long_the_range(n, data):
    rank = np.array([0, n - 1, max(n - 2, 0), data.draw(st.integers(0, n - 1))])
    assert unit_to_rank(rank_to_unit(rank, n), n).tolist() == rank.tolist()


@given(st.integers(2, 50))
def test_all_ranks_own_the_same_share_of_the_unit_interval(n):
    grid = (np.arange(n * 100) + 0.5) / (n * 100)
    assert np.bincount(unit_to_rank(grid, n), minlength=n).tolist() == [100] * n


@given(st.integers(1, 2**40 - 1), st.data())
def test_every_whole_number_of_a_log_scale_survives(low, data):
    high = data.draw(st.integers(low + 1, 2**40))
    value = np.array([low, high, data.draw(st.integers(low, high))])
    assert unit_to_log(log_to_unit(value, low, high), low, high).tolist() == value.tolist()


def test_the_ends_of_a_log_scale_own_a_whole_bin():
    shares = np.bincount(unit_to_log((np.arange(10**5) + 0.5) / 10**5, 1, 4), minlength=5)[1:] / 10**5
    edges = np.log(np.array([0.5, 1.5, 2.5, 3.5, 4.5]))
    np.testing.assert_allclose(shares, np.diff(edges) / (edges[-1] - edges[0]), atol=1e-3)
