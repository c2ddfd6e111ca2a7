from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from choicebo.space.points import distinct, point_keys, rows_in

some_points = st.lists(st.lists(st.sampled_from([0.0, -0.0, 0.25, 1.0]), min_size=2, max_size=2), min_size=1).map(
    np.array
)


@given(some_points, some_points)
def test_a_point_is_found_exactly_where_an_equal_one_stands_first(X, points):
    for point, row in zip(points, rows_in(X, points), strict=True):
        equal = np.flatnonzero((point == X).all(axis=1))
        assert row == (equal[0] if len(equal) else -1)


@given(some_points)
def test_distinct_points_are_numbered_in_order_of_appearance(points):
    found, numbers = distinct(points)
    assert np.array_equal(found[numbers], points)
    assert len(set(point_keys(found))) == len(found) == numbers.max() + 1
    assert np.array_equal(np.unique(numbers, return_index=True)[1], np.sort(rows_in(points, found)))
