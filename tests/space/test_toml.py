from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.space import toml

scalars = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.dictionaries(st.text(), scalars | st.lists(scalars, max_size=5)))
def test_what_is_written_is_read_back(table):
    assert tomllib.loads(toml.entries(table)) == table


def test_a_long_text_stays_readable():
    svg = '<svg>\n  <circle r="{size}"/>\n</svg>\n'
    assert toml.value(svg) == f"'''\n{svg}'''"
    assert tomllib.loads(f"template = {toml.value(svg)}") == {"template": svg}


def test_a_long_list_has_one_item_per_line():
    assert toml.value(["x" * 60, "y" * 60]).count("\n") == 3


def test_what_has_no_toml_form_is_refused():
    with pytest.raises(TypeError, match="no TOML form"):
        toml.value(object())
