from __future__ import annotations

import numpy as np
import pytest

from choicebo.choices import kept_positions
from choicebo.errors import DataError


def test_positions_of_any_kind_become_plain_numbers_in_order():
    assert kept_positions(np.array([3, 0]), shown=4) == (0, 3)
    assert kept_positions((at for at in [2, 1]), shown=3) == (1, 2)
    assert kept_positions([], shown=3) == ()
    assert all(type(at) is int for at in kept_positions(np.array([1, 0]), shown=2))


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ([3], r"kept holds 3, but 3 options were shown: give positions from 0 to 2, such as \[0, 2\]"),
        ([-1], "kept holds -1, but 3 options were shown"),
        ([True], "kept holds True"),
        ([0.0], r"kept holds 0\.0"),
        (["0"], "kept holds '0'"),
        ("01", "kept is '01': give positions from 0 to 2"),
        (1, "kept is 1: give positions"),
        ([1, 1], "kept holds 1 twice: name each position once"),
    ],
)
def test_what_is_no_position_says_what_would_be_one(kept, message):
    with pytest.raises(DataError, match=message):
        kept_positions(kept, shown=3)
