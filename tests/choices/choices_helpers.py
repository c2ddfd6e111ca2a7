"""What the tests of choices share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from choicebo.choices import Choice
from choicebo.errors import DataError

X3 = [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]


def refused(*words: str) -> Any:
    """Expect a DataError whose message has all these words, in this order."""
    return pytest.raises(DataError, match="(?s)" + ".*".join(words))


@st.composite
def given_data(draw: st.DrawFn) -> tuple[np.ndarray, list[Choice]]:
    """Options with repeated rows and rows never shown, and choices of any size that may show copies."""
    dim = draw(st.integers(1, 3))
    inputs = st.floats(0.0, 1.0, allow_subnormal=True) | st.sampled_from([0.0, -0.0, 1.0, 0.1])
    distinct = draw(st.lists(st.tuples(*[inputs] * dim), min_size=2, max_size=6, unique=True))
    copies_of = draw(st.permutations([*range(len(distinct)), *draw(st.lists(st.integers(0, len(distinct) - 1)))]))
    choices = []
    for _ in range(draw(st.integers(0, 4))):
        entries = draw(st.lists(st.sampled_from(range(len(distinct))), min_size=2, unique=True))
        kept_entries = draw(st.sets(st.sampled_from(entries), min_size=1))
        shown: list[int] = []
        for entry in entries:
            rows = [row for row, copied in enumerate(copies_of) if copied == entry]
            shown += draw(st.lists(st.sampled_from(rows), min_size=1, unique=True))
        shown = draw(st.permutations(shown))
        choices.append(Choice(shown, [row for row in shown if copies_of[row] in kept_entries]))
    return np.array([distinct[entry] for entry in copies_of]), choices
