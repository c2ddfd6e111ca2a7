from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import choicebo as cb
from choicebo.presentation.cards import card_of, compare
from choicebo.presentation.fields import as_table, describe, fields_of, title_of

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
MENU = cb.Catalogue(
    [
        {"sku": "A", "name": "Soup", "price": 3.5, "hot": True, "kcal": 90},
        {"sku": "B", "name": "Salad", "price": 5.0, "hot": False, "kcal": 60},
        {"sku": "C", "name": "Bread", "price": None, "hot": None, "kcal": 250},
    ],
    label="name",
    features=["kcal"],
)


def test_cards_say_what_differs_and_what_they_share_is_said_once():
    found = compare(SPACE, OPTIONS)
    assert [[line.field.name for line in card.lines] for card in found.cards] == [["temperature", "flour"]] * 3
    assert [line.words for line in found.shared] == ["minutes 5", "oven gas"]


def test_the_most_and_the_least_of_all_cards_are_marked_and_equal_ones_are_not():
    ranks = [card.lines[0].rank for card in compare(SPACE, OPTIONS).cards]
    assert ranks == ["least", "", "most"]
    equal = compare(SPACE, [OPTIONS[0], OPTIONS[2], OPTIONS[2]])
    assert [card.lines[0].rank for card in equal.cards] == ["least", "", ""]


def test_a_line_knows_where_the_other_cards_lie():
    line = compare(SPACE, OPTIONS).cards[1].lines[0]
    assert (line.share, line.others) == (0.5, (0.0, 1.0))
    assert compare(SPACE, OPTIONS).cards[1].lines[1].share is None


def test_new_options_and_pictures_are_those_of_their_position():
    found = compare(SPACE, OPTIONS, (False, True, False), lambda option: f"/{option['temperature']:g}.png")
    assert [card.new for card in found.cards] == [False, True, False]
    assert [card.picture for card in found.cards] == ["/150.png", "/185.png", "/220.png"]
    assert [card.position for card in found.cards] == [0, 1, 2]


def test_a_missing_value_is_empty_and_has_no_place_among_the_others():
    found = compare(MENU, MENU.rows)
    assert [line.text for line in found.cards[2].lines] == ["", "", "250"]
    assert found.cards[2].lines[0].share is None
    assert found.cards[0].lines[0].others == (1.0,)


def test_a_card_by_itself_has_all_values_that_there_are():
    assert [line.words for line in card_of(SPACE, OPTIONS[0]).lines] == [
        "temperature 150.00 °C",
        "minutes 5",
        "flour rye",
        "oven gas",
    ]
    assert [line.words for line in card_of(MENU, MENU.rows[2]).lines] == ["kcal 250"]


@given(st.permutations(range(3)))
def test_the_order_of_the_options_changes_only_the_order_of_the_cards(order):
    def told(options):
        return [(card.description, [(line.words, line.rank) for line in card.lines]) for card in options.cards]

    there = told(compare(SPACE, OPTIONS))
    assert told(compare(SPACE, [OPTIONS[at] for at in order])) == [there[at] for at in order]


def test_rows_of_a_catalogue_are_called_by_their_label_and_have_an_order_for_numbers():
    assert title_of(MENU, MENU.rows[0]) == "Soup"
    assert describe(MENU, MENU.rows[0]) == "Soup: price 3.5, hot yes, kcal 90"
    assert [field.share is not None for field in fields_of(MENU)] == [True, False, True]


def test_a_field_with_an_order_knows_its_least_and_its_greatest_value():
    space = cb.Space([cb.Real("salt", 1, 3), cb.Ordinal("grind", [1, 2, 8]), cb.Categorical("flour", ["rye", "wheat"])])
    for field in (*fields_of(space), *fields_of(MENU)):
        if field.share is not None:
            assert [field.share(end) for end in field.ends] == [0.0, 1.0]
    assert [field.ends for field in fields_of(space)] == [(1, 3), (1, 8), (None, None)]
    assert [field.ends for field in fields_of(MENU)] == [(3.5, 5.0), (None, None), (60, 250)]


def test_a_table_of_a_catalogue_begins_with_the_names():
    headings, rows = as_table(MENU, MENU.rows[:2])
    assert headings == ["name", "price", "hot", "kcal"]
    assert rows == [["Soup", "3.5", "yes", "90"], ["Salad", "5", "no", "60"]]


def test_values_are_written_with_the_digits_of_their_step():
    salt, hue, free = fields_of(
        cb.Space([cb.Real("salt", 0, 3, step=0.25), cb.Angle("hue", step=5), cb.Real("free", 0, 3)])
    )
    assert [salt.text(value) for value in (1.0, 0.25, 1.333)] == ["1.00", "0.25", "1.333"]
    assert (hue.text(45.0), hue.share(90.0), hue.share(270.0)) == ("45", 0.25, 0.75)
    assert free.text(1.25) == "1.250"
