from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import choicebo as cb
from choicebo.cli.option_table import OptionTable, bar

SPACE = cb.Space(
    [
        cb.Real("temperature", 150, 220, unit="°C"),
        cb.Integer("minutes", 5, 40),
        cb.Categorical("flour", ["rye", "wheat"]),
    ],
    fixed={"oven": "gas"},
)
OPTIONS = [
    {"temperature": 150.0, "minutes": 5, "flour": "rye", "oven": "gas"},
    {"temperature": 185.0, "minutes": 5, "flour": "wheat", "oven": "gas"},
    {"temperature": 220.0, "minutes": 5, "flour": "rye", "oven": "gas"},
]


def printed(options: OptionTable, kept=(), width=100) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115, PTH123
    console.print(options.table(kept, width))
    return console.export_text()


@given(st.floats(-1, 2), st.integers(1, 20), st.booleans())
def test_a_bar_keeps_its_width_whatever_it_shows(share, width, blocks):
    assert len(bar(share, width, blocks)) == width


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_a_longer_bar_never_stands_for_a_smaller_value(shares):
    filled = [bar(share).rstrip() for share in sorted(shares)]
    assert [len(each) for each in filled] == sorted(len(each) for each in filled)


def test_the_ends_of_a_range_have_the_shortest_and_the_longest_bar():
    text = printed(OptionTable(SPACE, OPTIONS, (True, False, False)))
    line = next(line for line in text.splitlines() if "temperature" in line)
    assert "150.00 ▏" in line
    assert "220.00 ████████" in line


def test_what_all_options_share_is_said_once_and_not_in_the_table():
    text = printed(OptionTable(SPACE, OPTIONS))
    assert "The same for all: minutes 5, oven gas" in text
    assert text.count("minutes") == text.count("oven") == 1


def test_new_and_kept_options_are_marked():
    text = printed(OptionTable(SPACE, OPTIONS, (True, False, False)), kept={1})
    assert "1 new" in text
    assert "✓ 2" in text


def test_a_narrow_terminal_cuts_no_value_off():
    for width in (40, 60, 80):
        text = printed(OptionTable(SPACE, OPTIONS, (), baseline=OPTIONS[1]), width=width)
        assert all(len(line) <= width for line in text.splitlines())
        assert all(value in text for value in ("150.00", "185.00", "220.00", "today", "wheat"))


def test_a_terminal_without_blocks_gets_plain_characters():
    assert printed(OptionTable(SPACE, OPTIONS, (), blocks=False), kept={0}).count("########") == 1


def test_lines_for_a_screen_reader_name_every_option_and_what_differs():
    lines = OptionTable(SPACE, OPTIONS, (True, False, False), baseline=OPTIONS[2]).lines()
    assert lines[0] == "Option 1 (new): temperature 150.00 °C, flour rye."
    assert lines[3] == "What you have today: temperature 220.00 °C, flour rye."
    assert lines[4] == "The same for all: minutes 5, oven gas."
