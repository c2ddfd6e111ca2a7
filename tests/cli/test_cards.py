from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import choicebo as cb
from choicebo.cli.cards import Cards, bar
from choicebo.cli.fields import describe, fields_of, title_of

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


def printed(cards: Cards, kept=(), width=100) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115, PTH123
    console.print(cards.table(kept, width))
    return console.export_text()


@given(st.floats(-1, 2), st.integers(1, 20), st.booleans())
def test_a_bar_keeps_its_width_whatever_it_shows(share, width, blocks):
    assert len(bar(share, width, blocks)) == width


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_a_longer_bar_never_stands_for_a_smaller_value(shares):
    filled = [bar(share).rstrip() for share in sorted(shares)]
    assert [len(each) for each in filled] == sorted(len(each) for each in filled)


def test_the_ends_of_a_range_have_the_shortest_and_the_longest_bar():
    text = printed(Cards(SPACE, OPTIONS, (True, False, False)))
    line = next(line for line in text.splitlines() if "temperature" in line)
    assert "150.00 ▏" in line
    assert "220.00 ████████" in line


def test_what_all_options_share_is_said_once_and_not_in_the_table():
    cards = Cards(SPACE, OPTIONS, ())
    assert [field.name for field in cards.differing] == ["temperature", "flour"]
    assert cards.shared == "minutes 5, oven gas"
    assert "The same for all: minutes 5, oven gas" in printed(cards)


def test_new_and_kept_options_are_marked():
    text = printed(Cards(SPACE, OPTIONS, (True, False, False)), kept={1})
    assert "1 new" in text
    assert "✓ 2" in text


def test_a_narrow_terminal_cuts_no_value_off():
    for width in (40, 60, 80):
        text = printed(Cards(SPACE, OPTIONS, (), baseline=OPTIONS[1]), width=width)
        assert all(len(line) <= width for line in text.splitlines())
        assert all(value in text for value in ("150.00", "185.00", "220.00", "today", "wheat"))


def test_a_terminal_without_blocks_gets_plain_characters():
    assert printed(Cards(SPACE, OPTIONS, (), blocks=False), kept={0}).count("########") == 1


def test_lines_for_a_screen_reader_name_every_option_and_what_differs():
    lines = Cards(SPACE, OPTIONS, (True, False, False), baseline=OPTIONS[2]).lines()
    assert lines[0] == "Option 1 (new): temperature 150.00 °C, flour rye."
    assert lines[3] == "What you have today: temperature 220.00 °C, flour rye."
    assert lines[4] == "The same for all: minutes 5, oven gas."


def test_rows_of_a_catalogue_are_called_by_their_label_and_have_bars_for_numbers():
    menu = cb.Catalogue(
        [
            {"sku": "A", "name": "Soup", "price": 3.5, "hot": True},
            {"sku": "B", "name": "Salad", "price": 5.0, "hot": False},
        ],
        label="name",
    )
    assert title_of(menu, menu.rows[0]) == "Soup"
    assert describe(menu, menu.rows[0]) == "Soup: price 3.5, hot yes"
    assert [field.share is not None for field in fields_of(menu)] == [True, False]
