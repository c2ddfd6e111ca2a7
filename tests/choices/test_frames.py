"""Tables of answers: data frames, CSV files and lists of dicts, long and wide, of every kind."""

from __future__ import annotations

import contextlib
import csv
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from choices_helpers import given_data, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import choicebo as cb
from choicebo.choices import Choice, ChoiceData
from choicebo.choices.roles import KINDS

SPACE = cb.Space([cb.Integer("minutes", 5, 25), cb.Categorical("flour", ["rye", "oat"])])
MENU = cb.Catalogue([{"sku": name, "price": price} for name, price in (("A", 3), ("B", 5), ("C", 8), ("7", 9))])
OPTIONS = "option,price\nA,0.1\nB,0.4\nC,0.8\n"


def plain(data: ChoiceData) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(choice.shown, choice.kept) for choice in data.choices]


def rows_of(data: ChoiceData) -> list[dict[str, Any]]:
    """The data as a long table, with the number of the option as a label."""
    return [
        {"choice": f"q{number}", "option": option, "kept": option in choice.kept, "weight": choice.weight}
        | {f"x{column}": value for column, value in enumerate(data.X[option].tolist())}
        for number, choice in enumerate(data.choices)
        for option in choice.shown
    ]


def same(found: ChoiceData, data: ChoiceData) -> bool:
    """Whether two data sets say the same of the same points, whatever their options are numbered."""
    return len(found) == len(data) and all(
        np.array_equal(found.X[list(one.shown)], data.X[list(other.shown)])
        and np.array_equal(found.X[list(one.kept)], data.X[list(other.kept)])
        and one.weight == other.weight
        for one, other in zip(found.choices, data.choices, strict=True)
    )


def written(rows: list[dict[str, Any]]) -> str:
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


# Whatever holds the table


@given(given_data())
@settings(max_examples=50, deadline=None)
def test_a_long_table_gives_the_same_data_whatever_holds_it(case: tuple[np.ndarray, list[Choice]]) -> None:
    data = ChoiceData(*case)
    rows = rows_of(data)
    if not rows:
        return
    frame = pd.DataFrame(rows)
    for table in (rows, frame, {name: frame[name].tolist() for name in frame}, written(rows)):
        assert same(ChoiceData.from_frame(table), data)
    unnamed = frame.drop(columns="option")
    assert same(ChoiceData.from_frame(unnamed), data)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_data_frames_are_read_too(library: str) -> None:
    module = pytest.importorskip(library)
    data = ChoiceData([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [((0, 1, 2), (0, 2)), ((2, 1), (1,))])
    table = module.DataFrame(rows_of(data)) if library == "polars" else module.Table.from_pylist(rows_of(data))
    assert same(ChoiceData.from_frame(table), data)
    if library == "polars":
        assert same(ChoiceData.from_frame(table.lazy()), data)


class Frame:
    """A data frame of nobody's library."""

    columns = ("choice", "kept", "price")

    def __getitem__(self, name: str) -> list[Any]:
        return {"choice": ["a", "a"], "kept": [1, 0], "price": [0.25, 0.5]}[name]


def test_a_frame_is_known_by_what_it_can_do() -> None:
    assert ChoiceData.from_frame(Frame()) == ChoiceData([[0.25], [0.5]], [((0, 1), (0,))])


def test_gaps_and_strange_types_of_pandas_are_understood() -> None:
    frame = pd.DataFrame(
        {
            "choice": pd.array([1, 1, None, 2, 2], dtype="Int64"),
            "option": [7.0, 8.0, 9.0, 7.0, 8.0],
            "kept": pd.array([True, False, None, False, True], dtype="boolean"),
            "price": pd.Series([0.1, 0.2, 0.3, 0.1, 0.2], dtype="float32").astype("category"),
        }
    )
    data = ChoiceData.from_frame(frame)
    assert data.n_options == 3  # the one that was never shown has no choice
    assert plain(data) == [((0, 1), (0,)), ((0, 1), (1,))]


def test_rows_of_an_answer_need_not_stand_together() -> None:
    text = "choice,kept,price\nb,1,0.1\na,0,0.2\nb,0,0.3\na,1,0.1\n"
    data = ChoiceData.from_frame(text)
    assert said(data) == [({0.1, 0.3}, {0.1}), ({0.2, 0.1}, {0.1})]
    own = "choice,option,kept,x0\n5,0,1,0.1\n2,1,0,0.2\n5,2,0,0.3\n2,0,1,0.1\n"
    assert plain(ChoiceData.from_csv(own)) == [((1, 0), (0,)), ((0, 2), (0,))]


def test_a_key_that_became_a_float_is_the_whole_number_that_it_was() -> None:
    answers = pd.DataFrame({"option1": [1, 2], "option2": [2, 3], "option3": [3.0, None], "best": [3.0, 2.0]})
    options = pd.DataFrame({"option": [1, 2, 3], "price": [0.1, 0.2, 0.3]})
    data = ChoiceData.from_frame(answers, "best", options=options)
    assert plain(data) == [((0, 1, 2), (2,)), ((1, 2), (1,))]


def test_a_table_from_a_spreadsheet_may_have_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes("\ufeffchoice;kept;price\r\na;yes;0,25\r\na;no;0,5\r\n".encode())
    assert ChoiceData.from_frame(path) == ChoiceData([[0.25], [0.5]], [((0, 1), (0,))])
    assert ChoiceData.from_frame(str(path)) == ChoiceData.from_frame(path)


def test_columns_may_be_called_otherwise() -> None:
    text = "obs,choice,alt,cost\n1,1,bus,0.2\n1,0,car,0.9\n"
    data = ChoiceData.from_frame(text, columns={"choice": "obs", "kept": "choice", "option": "alt"})
    assert data == ChoiceData([[0.2], [0.9]], [((0, 1), (0,))])
    wide = "chosen.cost,other.cost\n0.2,0.9\n"
    assert ChoiceData.from_frame(wide, "pairs", columns={"winner": "chosen", "loser": "other"}) == data
    with refused("no column 'observation' for 'choice'", "'obs'"):
        ChoiceData.from_frame(text, columns={"choice": "observation"})
    with refused("'chosen'", "names of columns for 'choice'"):
        ChoiceData.from_frame(text, columns={"chosen": "choice"})
    with refused("'obs' two roles"):
        ChoiceData.from_frame(text, columns={"choice": "obs", "kept": "obs"})


def test_inputs_can_be_picked_and_scaled() -> None:
    text = "choice,kept,price,note\n1,1,10,cheap\n1,0,30,dear\n2,0,20,fair\n2,1,30,dear\n"
    data = ChoiceData.from_frame(text, inputs=["price"], scale=True)
    assert data.X.ravel().tolist() == [0.0, 1.0, 0.5]
    with refused("4 lines are wrong", "line 2: note is 'cheap'"):
        ChoiceData.from_frame(text, scale=True)
    with refused("3 lines are wrong", "line 2: price is 10.0", "unit cube"):
        ChoiceData.from_frame(text, inputs=["price"])


# Options by parameters and by keys


def test_options_of_a_space_are_given_in_its_own_units() -> None:
    text = "choice,kept,minutes,flour\n1,1,5,rye\n1,0,25,oat\n2,1,25,oat\n2,0,15,rye\n"
    data = ChoiceData.from_frame(text, space=SPACE)
    expected = SPACE.encode([{"minutes": m, "flour": f} for m, f in ((5, "rye"), (25, "oat"), (15, "rye"))])
    assert data == ChoiceData(expected, [((0, 1), (0,)), ((1, 2), (1,))])
    frame = pd.read_csv(io.StringIO(text))
    assert ChoiceData.from_frame(frame, space=SPACE) == data
    with refused("2 lines are wrong", "line 3: .*minutes.* 99", "line 5: .*flour.*wheat"):
        ChoiceData.from_frame(
            "choice,kept,minutes,flour\n1,1,5,rye\n1,0,99,oat\n2,1,25,oat\n2,0,15,wheat\n", space=SPACE
        )


def test_a_truth_value_is_no_number_even_beside_one() -> None:
    rows = [{"choice": 1, "kept": 1, "minutes": 5}, {"choice": 1, "kept": 0, "minutes": 1}]
    rows += [{"choice": 2, "kept": 1, "minutes": 5}, {"choice": 2, "kept": 0, "minutes": True}]
    with refused("row 4: .*minutes.*True"):
        ChoiceData.from_frame(rows, space=cb.Space([cb.Integer("minutes", 1, 9)]))


def test_options_of_a_catalogue_are_given_by_their_key() -> None:
    text = "choice,kept,sku\n1,1,B\n1,0,7\n"
    data = ChoiceData.from_frame(text, space=MENU)
    assert data == ChoiceData(MENU.encode(["B", "7"]), [((0, 1), (0,))])
    named = pd.DataFrame({"choice": [1, 1], "kept": [1, 0], "option": ["B", 7]})
    assert ChoiceData.from_frame(named, space=MENU) == data
    with refused("line 3: sku is 'Z', which is not among the options"):
        ChoiceData.from_frame("choice,kept,sku\n1,1,B\n1,0,Z\n", space=MENU)


def test_a_table_of_options_has_the_inputs_of_those_that_answers_name() -> None:
    for options in (OPTIONS, pd.read_csv(io.StringIO(OPTIONS))):
        data = ChoiceData.from_frame("winner,loser\nC,A\nB,A\n", "pairs", options=options)
        assert data == ChoiceData([[0.8], [0.1], [0.4]], [((0, 1), (0,)), ((2, 1), (2,))])
    in_units = "option,minutes,flour\n1,5,rye\n2,25,oat\n"
    data = ChoiceData.from_frame("winner,loser\n2,1\n", "pairs", options=in_units, space=SPACE)
    assert data.X.tolist() == SPACE.encode([{"minutes": 25, "flour": "oat"}, {"minutes": 5, "flour": "rye"}]).tolist()
    with refused("option line 3: the key 'A' appears twice"):
        ChoiceData.from_frame("winner,loser\nA,B\n", "pairs", options="option,price\nA,0.1\nA,0.2\n")
    scores = "rater,item,score\n1,A,4\n1,B,2\n2,B,3\n2,C,3\n"
    roles = {"sitting": "rater", "option": "item", "rating": "score"}
    data = ChoiceData.from_frame(scores, "ratings", columns=roles, options=OPTIONS.replace("option", "item"))
    assert data == ChoiceData([[0.1], [0.4], [0.8]], [((0, 1), (0,))])
    with refused("no column 'option'"):
        ChoiceData.from_frame("winner,loser\nA,B\n", "pairs", options="key,price\nA,0.1\n")


# Every kind, long and wide


LONG = {
    "best": "choice,best,option,price\n1,0,A,0.1\n1,1,B,0.4\n1,,C,0.8\n",
    "rankings": "choice,rank,option,price\n1,2,A,0.1\n1,1,B,0.4\n1,,C,0.8\n",
    "best_worst": "choice,best,worst,option,price\n1,0,0,A,0.1\n1,1,0,B,0.4\n1,0,1,C,0.8\n",
}
WIDE = {
    "best": "option1.price,option2.price,option3.price,best\n0.1,0.4,0.8,2\n",
    "rankings": "rank1.price,rank2.price,option1.price,option2.price,option3.price\n0.4,0.1,0.1,0.4,0.8\n",
    "best_worst": "option1.price,option2.price,option3.price,best,worst\n0.1,0.4,0.8,option2,3\n",
}
KEYS = {
    "best": "option1,option2,option3,best\nA,B,C,B\n",
    "rankings": "rank1,rank2,option1,option2,option3\nB,A,A,B,C\n",
    "best_worst": "option1,option2,option3,best,worst\nA,B,C,B,C\n",
}
PRICES = [[0.1], [0.4], [0.8]]
EXPECTED = {
    "best": ChoiceData.from_best(PRICES, [(0, 1, 2)], [1]),
    "rankings": ChoiceData.from_rankings(PRICES, [[1, 0]], shown=[(0, 1, 2)]),
    "best_worst": ChoiceData.from_best_worst(PRICES, [(0, 1, 2)], [1], [2]),
}


def said(data: ChoiceData) -> list[tuple[frozenset[float], frozenset[float]]]:
    """What was shown and kept, in points and whatever their order."""
    return [tuple(frozenset(data.X[list(part)].ravel().tolist()) for part in choice) for choice in plain(data)]  # type: ignore[misc]


@pytest.mark.parametrize("kind", list(EXPECTED))
def test_a_kind_says_the_same_in_a_long_table_a_wide_one_and_one_with_keys(kind: str) -> None:
    for table, options in ((LONG, None), (WIDE, None), (KEYS, OPTIONS)):
        assert said(ChoiceData.from_frame(table[kind], kind, options=options)) == said(EXPECTED[kind])
    assert said(ChoiceData.from_frame(LONG[kind], kind.replace("_", "-"))) == said(EXPECTED[kind])


def test_wide_choices_name_several_kept_ones_and_may_show_fewer() -> None:
    wide = "option1,option2,option3,kept\nA,B,C,A C\nB,C,,B;C\n"
    data = ChoiceData.from_frame(wide, options=OPTIONS)
    assert plain(data) == [((0, 1, 2), (0, 2)), ((1, 2), (1, 2))]
    inline = "option1.price,option2.price,option3.price,kept\n0.1,0.4,0.8,1|3\n0.4,0.8,,1 2\n"
    assert plain(ChoiceData.from_frame(inline)) == plain(data)


def test_pairs_may_be_undecided_and_have_weights() -> None:
    text = "winner.price,loser.price,undecided,weight\n0.4,0.1,0,2\n0.1,0.8,1,\n"
    data = ChoiceData.from_frame(text, "pairs")
    assert data.choices == (Choice((0, 1), (0,), 2.0), Choice((1, 2), (1, 2)))


def test_ties_of_a_ranking_have_the_same_rank() -> None:
    data = ChoiceData.from_frame("choice,rank,price\n1,1,0.1\n1,1,0.4\n1,2,0.8\n", "rankings")
    assert plain(data) == [((0, 1, 2), (0, 1))]


def test_ratings_are_compared_within_sittings_and_a_missing_one_says_nothing() -> None:
    text = "sitting,rating,price\nmon,5,0.1\nmon,,0.4\nmon,2,0.8\ntue,1,0.1\ntue,3,0.4\n"
    data = ChoiceData.from_frame(text, "ratings")
    assert said(data) == said(ChoiceData.from_ratings(PRICES, [{0: 5, 2: 2}, {0: 1, 1: 3}]))
    by_rater = ChoiceData.from_frame(text.replace("sitting", "rater"), "ratings")
    assert said(by_rater) == said(data)
    assert [choice.rater for choice in by_rater.choices] == ["mon", "tue"]
    one_sitting = ChoiceData.from_frame("rating,price\n5,0.1\n2,0.8\n", "ratings")
    assert plain(one_sitting) == [((0, 1), (0,))]


def test_approvals_are_compared_with_the_baseline() -> None:
    text = "approved,option,price\n1,A,0.1\n0,B,0.4\n,C,0.8\n"
    expected = ChoiceData.from_approvals([*PRICES, [0.5]], {0: True, 1: False, 2: None}, baseline=3)
    assert said(ChoiceData.from_frame(text, "approvals", baseline={"price": 0.5})) == said(expected)
    by_key = ChoiceData.from_frame("approved,option\n1,A\n0,B\n", "approvals", options=OPTIONS, baseline="C")
    assert plain(by_key) == [((0, 2), (0,)), ((2, 1), (2,))]
    with refused("baseline"):
        ChoiceData.from_frame(text, "approvals")
    with refused("line 2: it compares the baseline with itself"):
        ChoiceData.from_frame(text, "approvals", baseline="A")


def test_a_weight_is_that_of_the_whole_answer() -> None:
    text = "choice,kept,price,weight\n1,1,0.1,3\n1,0,0.4,3\n2,1,0.1,\n2,0,0.8,\n"
    assert [choice.weight for choice in ChoiceData.from_frame(text).choices] == [3.0, 1.0]
    assert ChoiceData.from_frame(text.replace("0.1,3", "0.1,")).choices[0].weight == 3.0
    with refused("line 3: choice 1 has the weight 4, but 3 in an earlier line"):
        ChoiceData.from_frame(text.replace("0.4,3", "0.4,4"))
    with refused("2 lines are wrong", "weight is -3"):
        ChoiceData.from_frame(text.replace(",3\n", ",-3\n"))


# What is wrong is named


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("choice,price\n1,0.1\n", "choices", ["'kept' is missing", "choice, price, kept"]),
        ("kept,price\n1,0.1\n", "choices", ["'choice' is missing", "option1"]),
        ("choice,kept\n1,1\n", "choices", ["No column holds the inputs"]),
        ("choice,kept,price\n", "choices", ["no answers"]),
        ("", "choices", ["No column holds the inputs"]),
        ("choice,kept,price,price\n1,1,0.1,0.2\n", "choices", ["'price' appears twice"]),
        (
            "choice,kept,price\n1,1,0.1\n1,maybe,0.2\n1,,0.3\n",
            "choices",
            ["2 lines", "line 3", "maybe", "line 4", "empty"],
        ),
        ("choice,kept,price\n1,1,0.1\n1,0,nan\n", "choices", ["line 3", "price is 'nan'"]),
        ("choice,kept,price\n1,1,0.1\n1,0\n", "choices", ["line 3", "2 cells", "header has 3"]),
        ("choice,kept,price\n1,1,0.1\n1,0,0.1\n", "choices", ["line 3", "already in choice 1", "line 2"]),
        (
            "choice,kept,price\n1,0,0.1\n1,0,0.2\n2,1,0.1\n",
            "choices",
            ["2 lines", "keeps no option", "shows one option"],
        ),
        (
            "choice,kept,option,price\n1,1,a,0.1\n1,0,b,0.2\n2,1,a,0.3\n2,0,b,0.2\n",
            "choices",
            ["line 4", "option a", "0.1"],
        ),
        ("choice,kept,option,price\n1,1,,0.1\n1,0,b,0.2\n", "choices", ["line 2", "option is empty"]),
        ("choice,kept,price\n1,1,0.1\n,1,0.2\n1,0,0.3\n", "choices", ["line 3", "choice is empty although kept"]),
        ("sitting,rating,price\n1,1,0.1\n,1,0.2\n", "ratings", ["line 3", "sitting is empty although rating"]),
        ('choice,kept,price\n1,1,"0.1\n', "choices", ["not readable as CSV", "quotes"]),
        ("choice,best,price\n1,1,0.1\n1,1,0.2\n", "best", ["line 2", "2 options are marked 'best'"]),
        ("choice,best,worst,price\n1,1,0,0.1\n1,0,0,0.2\n", "best_worst", ["line 2", "0 options are marked 'worst'"]),
        ("choice,best,worst,price\n1,1,1,0.1\n1,0,0,0.2\n", "best_worst", ["line 2", "both best and worst"]),
        ("choice,rank,price\n1,,0.1\n1,,0.2\n", "rankings", ["line 2", "nothing is ranked"]),
        ("choice,rank,price\n1,first,0.1\n1,2,0.2\n", "rankings", ["line 2", "rank is 'first'"]),
        (
            "rank1.p,rank2.p,option1.p,option2.p\n0.1,0.5,0.1,0.2\n",
            "rankings",
            ["line 2", "rank2", "not among those shown"],
        ),
        ("option1.p,option2.p,best\n0.1,0.2,3\n", "best", ["line 2", "names '3'", "1 to 2"]),
        ("winner.p,loser.p\n0.1,\n", "pairs", ["line 2", "loser is empty"]),
        ("winner.p\n0.1\n", "pairs", ["'loser.p' is missing"]),
        ("choice,kept,price\n1,1,0.1\n1,0,0.2\n", "votes", ["kind is 'votes'", "'rankings'"]),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(text: str, kind: str, words: list[str]) -> None:
    with refused(*words):
        ChoiceData.from_frame(text if "\n" in text else text + "\n", kind)


def test_wrong_rows_are_named_together_up_to_a_limit() -> None:
    good = "".join(f"{number},1,0.1\n{number},0,0.2\n" for number in range(100))
    bad = "".join(f"{number},1,0.1\n{number},0,high\n" for number in range(100, 432))
    with pytest.raises(cb.DataError) as caught:
        ChoiceData.from_frame("choice,kept,x0\n" + good + bad)
    lines = str(caught.value).splitlines()
    assert lines[0] == "332 lines are wrong:"
    assert lines[1].startswith("    line 203: x0 is 'high'")
    assert [line.split(":")[0].split()[-1] for line in lines[1:21]] == [str(203 + 2 * k) for k in range(20)]
    assert lines[21:] == ["    and 312 more"]


@pytest.mark.parametrize("kind", ["choices", "best", "best_worst", "rankings"])
def test_what_follows_from_a_wrong_row_is_not_named_as_well(kind: str) -> None:
    marks = {"choices": "kept", "best": "best", "best_worst": "best,worst", "rankings": "rank"}[kind]
    row, count = ("1,1" if kind == "best_worst" else "1"), marks.count(",") + 1
    good = (
        f"2,{'1,0' if count == 2 else '1'},0.1\n2,{'0,1' if count == 2 else ('2' if kind == 'rankings' else '0')},0.2\n"
    )
    with pytest.raises(cb.DataError, match=r"^line 2: price is 'high'[^\n]*$"):
        ChoiceData.from_frame(f"choice,{marks},price\n1,{row},high\n1,{row.replace('1', '0')},0.2\n{good}", kind)


def test_a_row_of_a_frame_is_counted_from_one() -> None:
    with refused("row 2: kept is 3"):
        ChoiceData.from_frame(pd.DataFrame({"choice": [1, 1], "kept": [1, 3], "price": [0.1, 0.2]}))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (3, ["The table is 3", "data frame"]),
        ([1, 2], ["row 1 is 1"]),
        ({"a": [1], "b": [1, 2]}, ["different lengths"]),
        ({"a": [[1, 2], [3, 4]]}, ["2 dimensions"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["'a' appears twice"]),
        (Path("nowhere.csv"), ["nowhere.csv", "cannot be read"]),
        ("nowhere.csv", ["nowhere.csv", "cannot be read"]),
        (b"choice", ["The table is b'choice'"]),
        (pd.DataFrame({"choice": [1, 1], "kept": [1, 0], "x": pd.to_datetime(["2020", "2021"])}), ["2 rows", "x is"]),
        (pd.DataFrame({"choice": [1, 1], "kept": [1, 0], "x": [1j, 2j]}), ["2 rows", "x is"]),
        (pd.DataFrame({"choice": [1, 1], "kept": [[1], [0]], "x": [0.1, 0.2]}), ["2 rows", r"kept is \[1\]"]),
    ],
)
def test_what_is_no_table_of_answers_is_refused(table: Any, words: list[str]) -> None:
    with refused(*words):
        ChoiceData.from_frame(table)


def test_progress_is_reported_while_a_large_file_is_read(tmp_path: Path) -> None:
    path, reports = tmp_path / "answers.csv", []
    path.write_text("choice,option,kept,x0\n" + "".join(f"{n},0,1,0.1\n{n},1,0,0.2\n" for n in range(5000)))
    data = ChoiceData.load(path, progress=lambda stage, fraction: reports.append((stage, fraction)))
    assert data.n_choices == 5000
    fractions = [fraction for _, fraction in reports]
    assert {stage for stage, _ in reports} == {"reading"}
    assert len(fractions) >= 4
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < fractions[-1] <= 1


# Hostile files


HOSTILE = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(
        st.lists(
            st.sampled_from(["choice", "kept", "x0", "0", "1", "", "\x00", "nan", '"', "é" * 9, "1e999"]), max_size=5
        ),
        max_size=6,
    ).map(lambda rows: "\n".join(",".join(row) for row in rows).encode()),
)


@given(HOSTILE, st.sampled_from(KINDS))
@settings(max_examples=150, deadline=None)
def test_no_file_crashes_the_reader(content: bytes, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "answers.csv")
        path.write_bytes(b"choice,option,kept,rank,rating,best,worst,approved,winner,loser,x0\n" + content)
        for read in (lambda: ChoiceData.from_frame(path, kind), lambda: ChoiceData.load(path)):
            with contextlib.suppress(cb.DataError):
                read()
        path.write_bytes(content)
        with contextlib.suppress(cb.DataError):
            ChoiceData.from_frame(path, kind)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"choice,kept,x0\n1,1," + b"9" * 200_000 + b"\n", ["not readable as CSV", "field larger"]),
        (b"choice,kept,x0\n1,1,0.1\x00\n1,0,0.2\n", ["line 2", "x0 is"]),
        ("choice,kept,x0\n1,1,0.1\n".encode("utf-16"), ["answers.csv", "not UTF-8", "byte 0 is 0xff"]),
        (b"choice,kept,x0\n1,1,0.1\n1,0,\xe9\n", ["answers.csv", "not UTF-8", "byte 27 is 0xe9"]),
        (
            b"choice,kept,x0\n1,1,0.1,9\n1,0\n1,1,0.3,,\n",
            ["3 lines are wrong", "line 2: 4 cells", "line 3: 2 cells", "line 4"],
        ),
        (b"choice,kept,x0,x0\n1,1,0.1,0.2\n", ["'x0' appears twice"]),
        (b"x," * 30_000 + b"y\n", ["60,001|30,001 columns"]),
    ],
)
def test_hostile_files_are_refused_by_what_is_wrong_with_them(tmp_path: Path, content: bytes, words: list[str]) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(content)
    with refused(*words):
        ChoiceData.from_frame(path)
