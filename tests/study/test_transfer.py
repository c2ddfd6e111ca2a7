from __future__ import annotations

import csv
import io
from itertools import pairwise

import pytest
from study_helpers import MENU, SPACE, answer, new_study

import choicebo as cb
from choicebo.errors import DataError
from choicebo.study import transfer

KITCHEN = cb.Space(
    [cb.Real("heat", 0, 1), cb.Ordinal("grind", [1, 2, 4]), cb.Categorical("flour", ["rye", "1"])],
    fixed={"oven": "gas"},
)
HEADER = "winner.heat,winner.grind,winner.flour,loser.heat,loser.grind,loser.flour\n"


def added(space, source):
    return list(transfer.added(transfer.checked(transfer.read_pairs(space, source), space)))


def test_pairs_name_the_rows_of_a_catalogue_by_their_key(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("\ufefflooked,winner,loser\nmonday,A,B\n", encoding="utf-8")
    assert added(MENU, path) == [([{"sku": "A", "price": 3}, {"sku": "B", "price": 5}], (0,), None)]
    assert added(MENU, str(path)) == added(MENU, [("A", {"sku": "B"})])


def test_keys_that_are_numbers_are_found_by_their_text():
    menu = cb.Catalogue([{"sku": 1, "price": 3}, {"sku": 2, "price": 4}])
    assert added(menu, "winner,loser\n2,1\n")[0][0][0]["sku"] == 2


def test_pairs_give_every_parameter_of_a_space():
    ((shown, kept, _),) = added(KITCHEN, HEADER + "0.25,2,rye,1,4,1\n")
    assert shown == [
        {"heat": 0.25, "grind": 2, "flour": "rye", "oven": "gas"},
        {"heat": 1.0, "grind": 4, "flour": "1", "oven": "gas"},
    ]
    assert kept == (0,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("winner\nA\n", "The column 'loser' is missing"),
        ("winner,loser,loser\nA,B,C\n", "The column 'loser' appears twice"),
        ("winner,loser\nA,B\nA\n", "Line 3: 1 cells"),
        ("winner,loser\nA,A\n", "Line 2"),
        ('winner,loser\nA,"B\n', "line 2: not readable as CSV"),
        ("winner,loser\n", "no answers"),
    ],
)
def test_a_bad_line_is_named(text, message):
    with pytest.raises(DataError, match=rf"{message}[\s\S]*Nothing was imported\.$"):
        transfer.checked(transfer.read_pairs(MENU, text), MENU)


@pytest.mark.parametrize(
    "row", ["2,2,rye,1,4,1", "x,2,rye,1,4,1", "0.5,3,rye,1,4,1", "0.5,2,oat,1,4,1", "0.5,2,rye,,4,1"]
)
def test_a_value_that_the_space_does_not_have_is_named_with_its_line(row):
    with pytest.raises(DataError, match="Line 3"):
        transfer.read_pairs(KITCHEN, HEADER + "0.25,2,rye,1,4,1\n" + row + "\n")


def test_a_pair_has_two_sides():
    with pytest.raises(DataError, match=r"Pair 1: .*not a pair"):
        transfer.read_pairs(MENU, [("A", "B"), ("A", "B", "C")])


def test_choices_must_be_about_options_of_the_study(tmp_path):
    data = cb.ChoiceData.from_sets(
        [SPACE.encode([{"temperature": 150, "minutes": 5}, {"temperature": 160, "minutes": 9}])], [[0]]
    )
    data.save(tmp_path / "choices.csv")
    from_csv, from_json = (transfer.read_choices(SPACE, each) for each in (tmp_path / "choices.csv", data.to_json()))
    assert list(transfer.added(from_csv)) == list(transfer.added(from_json)) != []
    with pytest.raises(DataError, match=r"Choice 0: its option 1 .* not one of this study's options"):
        transfer.read_choices(SPACE, cb.ChoiceData([[0.0, 0.0], [0.5, 0.51]], [((0, 1), (0,))]))
    with pytest.raises(DataError, match="have 1 inputs"):
        transfer.read_choices(SPACE, cb.ChoiceData([[0.0], [0.5]], [((0, 1), (0,))]))
    with pytest.raises(DataError, match="no choices"):
        transfer.read_choices(SPACE, cb.ChoiceData([[0.0, 0.0]]))


def test_choices_may_be_about_options_between_two_steps():
    space = cb.Space([cb.Real("heat", 0, 1, step=0.25)])
    read = transfer.read_choices(space, cb.ChoiceData([[0.25], [0.3]], [((0, 1), (1,))]))
    ((shown, kept, _),) = transfer.added(read)
    assert (shown, kept) == ([{"heat": 0.25}, {"heat": 0.3}], (1,))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        transfer.read_pairs(MENU, "nowhere.csv")


def test_a_spreadsheet_computes_nothing_of_an_export_and_it_is_read_back(tmp_path):
    keys = ["=1+1", "+1 day", "-x", "@rye", "'=2", "-5", "rye"]
    menu = cb.Catalogue([{"sku": key, "price": number} for number, key in enumerate(keys)])
    study = new_study(tmp_path / "study.db", space=menu, query_size=7)
    study.add_rater("=cmd|' /C calc'!A0")
    answer(study, rater="=cmd|' /C calc'!A0")
    for table in ("answers", "options"):
        rows = list(csv.reader(io.StringIO(study.export_csv(table))))
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell[:1] in tuple("=+@\t\r") or (cell[:1] == "-" and cell != "-5")]
        column = rows[0].index("sku")
        exported = [row[column] for row in rows[1:]]
        assert {"'=1+1", "''=2", "-5", "rye"} <= set(exported)
        pairs = "winner,loser\n" + "".join(f"{one},{other}\n" for one, other in pairwise(exported))
        read = [shown[0]["sku"] for shown, *_ in added(menu, pairs)]
        assert set(read) <= set(keys)
        assert len(set(read)) == 6
