from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from choices_helpers import X3, given_data, refused
from hypothesis import given, settings
from hypothesis import strategies as st

from choicebo.choices import Choice, ChoiceData
from choicebo.errors import DataError

# JSON and CSV: what is written is read back


@given(given_data())
@settings(max_examples=100, deadline=None)
def test_json_and_csv_give_back_exactly_what_was_written(case: tuple[np.ndarray, list[Choice]]) -> None:
    data = ChoiceData(*case)
    for again in (ChoiceData.from_json(data.to_json()), ChoiceData.from_csv(data.to_csv())):
        assert again == data
        assert again.fingerprint == data.fingerprint


@pytest.mark.parametrize("name", ["answers.json", "answers.csv", "ANSWERS.CSV"])
def test_file_gives_back_exactly_what_was_saved(tmp_path: Path, name: str) -> None:
    data = ChoiceData([[0.1 + 0.2], [1 / 3], [5e-324]], [((2, 0), (2,))])
    data.save(tmp_path / name)
    assert ChoiceData.load(str(tmp_path / name)) == data


def test_json_document_says_what_it_is() -> None:
    assert json.loads(ChoiceData([[0.0], [0.5]], [((1, 0), (0,))]).to_json()) == {
        "format": "choicebo-choices",
        "version": 1,
        "options": [[0.0], [0.5]],
        "choices": [{"shown": [1, 0], "kept": [0]}],
    }


def test_csv_from_a_spreadsheet_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    table = '\ufeffkept,choice,option,x1,x0\r\n 1 ,10,7,0.25,"0.5"\r\n,,,,\r\n0,10,3,1,0\r\n,,5,0.1,0.1\r\n'
    path.write_bytes(table.encode("utf-8"))
    assert ChoiceData.load(path) == ChoiceData([[0, 1], [0.1, 0.1], [0.5, 0.25]], [((2, 0), (2,))])


# JSON and CSV: what is refused


def document(**changes: Any) -> str:
    content: dict[str, Any] = {
        "format": "choicebo-choices",
        "version": 1,
        "options": [[0.0], [0.5]],
        "choices": [{"shown": [0, 1], "kept": [0]}],
    }
    content |= changes
    return json.dumps({key: value for key, value in content.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format":\n  oops}', ["line 2, column 3", "to_json"]),
        ("answers.json", ["line 1, column 1", "load"]),
        ("[" * 100_000, ["JSON", "to_json"]),
        ("[1, 2]", ["holds a list", "format"]),
        (document(format="other"), ["'other'", "choicebo-choices"]),
        (document(format=...), ["None", "choicebo-choices"]),
        (document(version=2), ["version.*2", "version 1"]),
        (document(options=...), ["no key", "options"]),
        (document(choices=...), ["no key", "choices"]),
        (document(choices={}), ["choices", "must be a list"]),
        (document(choices=[[0, 1]]), ["choice 0: ", "shown", "kept"]),
        (document(choices=[{"shown": [0, 1]}]), ["choice 0: it has no key", "kept"]),
        (document(choices=[{"shown": 0, "kept": [0]}]), ["choice 0: .*shown.* is 0", "list"]),
        (
            document(choices=[{"shown": [0, 1], "kept": [0.5]}]),
            ["choice 0", "kept holds 0.5", "whole numbers"],
        ),
        (document(options=[[0.0], 3]), ["option 1: it is 3", "list of numbers"]),
        (document(options=[[0.0], ["a"]]), ["option 1: its input 0 is 'a'", "a number"]),
        (document(options=[[0.0], [True]]), ["option 1: its input 0 is True", "a number"]),
        (document(options=[[0.0], [10**400]]), ["option 1: ", "too large", "between 0 and 1"]),
        (document(options=[[0.0], [float("nan")]]), [r"X\[1, 0\] is nan", "finite"]),
        (document(options=[[0.0], [0.1, 0.2]]), ["different lengths", "shape"]),
        (document(options=[]), ["no options"]),
    ],
)
def test_json_that_does_not_hold_choices_is_refused(text: str, words: list[str]) -> None:
    with refused(*words):
        ChoiceData.from_json(text)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", ["line 1", "'choice' is missing", "choice,option,kept,x0"]),
        ("answers.csv", ["line 1", "'answers.csv' is not expected", "load"]),
        ("choice,option,x0\n0,0,0.5\n", ["line 1", "'kept' is missing", "choice,option,kept,x0"]),
        ("choice,option,kept\n0,0,1\n", ["line 1", "'x0' is missing", "choice,option,kept,x0"]),
        ("choice,option,kept,x0,x2\n", ["line 1", "'x1' is missing", "'x2' is not expected"]),
        ("choice,option,kept,x0,x0\n", ["line 1", "'x0' appears twice"]),
        ("choice,option,kept,x0\n0,0,1,0.5\n0,1,0,rye\n", ["line 3", "x0 is 'rye'", "finite number"]),
        ("choice,option,kept,x0\n0,0,1,nan\n", ["line 2", "x0 is 'nan'", "finite number"]),
        ("choice,option,kept,x0\n0,0,1,\n", ["line 2", "x0 is ''", "finite number"]),
        ("choice,option,kept,x0\n0,0,yes,0.5\n", ["line 2", "kept is 'yes'", "1 .*0"]),
        ("choice,option,kept,x0\n0,0,,0.5\n", ["line 2", "kept is ''", "1 .*0"]),
        ("choice,option,kept,x0\n,0,1,0.5\n", ["line 2", "kept is '1'", "leave both empty"]),
        ("choice,option,kept,x0\nA,0,1,0.5\n", ["line 2", "choice is 'A'", "whole number"]),
        ("choice,option,kept,x0\n0,-1,1,0.5\n", ["line 2", "option is '-1'", "whole number"]),
        ("choice,option,kept,x0\n0,,1,0.5\n", ["line 2", "option is ''", "whole number"]),
        ("choice,option,kept,x0\n0,0,1\n", ["line 2", "3 cells", "header has 4"]),
        ("choice,option,kept,x0\n0,0,1,0.5,0.6\n", ["line 2", "5 cells", "header has 4"]),
        (
            "choice,option,kept,x0\n0,0,1,0.5\n0,1,0,0.6\n1,0,1,0.7\n",
            ["line 4", "option 0", "0.7", "0.5", "line 2", "same inputs"],
        ),
        (
            "choice,option,kept,x0\n0,0,1,0.5\n0,0,1,0.5\n",
            ["line 3", "option 0", "choice 0", "line 2", "once"],
        ),
        (
            "choice,option,kept,x0\n4,0,0,0.5\n4,1,0,0.6\n",
            ["line 2", "choice 4 keeps no option", "at least one"],
        ),
        ("choice,option,kept,x0\n4,0,1,0.5\n", ["line 2", "choice 4 shows one option", "at least two"]),
        ("choice,option,kept,x0\n0,0,1,1.5\n0,1,0,1\n", ["line 2: x0 is 1.5", "unit cube", "scale"]),
        ('choice,option,kept,x0\n0,0,1,"0.5\n', ["line 2", "CSV", "quotes"]),
        ("choice,option,kept,x0\n", ["no options"]),
    ],
)
def test_csv_that_does_not_hold_choices_is_refused(table: str, words: list[str]) -> None:
    with refused(*words):
        ChoiceData.from_csv(table)


def test_path_instead_of_text_is_refused() -> None:
    with refused("not text", "load"):
        ChoiceData.from_csv(Path("answers.csv"))  # type: ignore[arg-type]
    with refused("JSON", "load"):
        ChoiceData.from_json(Path("answers.json"))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["answers.txt", "answers"])
def test_file_ending_that_names_no_format_is_refused(tmp_path: Path, name: str) -> None:
    with refused(name, ".json or .csv"):
        ChoiceData(X3).save(tmp_path / name)
    assert not (tmp_path / name).exists()
    with refused(name, ".json or .csv"):
        ChoiceData.load(tmp_path / name)


def test_file_that_cannot_be_read_or_written_is_refused(tmp_path: Path) -> None:
    with refused("missing.csv", "cannot be read", "check the path"):
        ChoiceData.load(tmp_path / "missing.csv")
    with refused("answers.csv", "cannot be written", "existing, writable folder"):
        ChoiceData(X3).save(tmp_path / "missing" / "answers.csv")
    (tmp_path / "folder.json").mkdir()
    with refused("folder.json", "cannot be read"):
        ChoiceData.load(tmp_path / "folder.json")


@pytest.mark.parametrize("name", ["answers.json", "answers.csv"])
def test_corrupt_file_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"choice\xff\xfe")
    with refused(name, "not UTF-8", "byte 6 is 0xff", "UTF-8"):
        ChoiceData.load(path)
    path.write_bytes(ChoiceData(X3).to_json().encode()[:-20])
    with refused(name, "line 1"):
        ChoiceData.load(path)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
@settings(max_examples=100, deadline=None)
def test_any_other_text_is_refused_without_a_crash(text: str) -> None:
    for read in (ChoiceData.from_json, ChoiceData.from_csv):
        with pytest.raises(DataError):
            read(text)


# Large files


@pytest.fixture(scope="module")
def many() -> ChoiceData:
    rng = np.random.default_rng(0)
    sets = [rng.choice(400, 5, replace=False).tolist() for _ in range(4000)]
    return ChoiceData(rng.random((400, 3)).round(6), [(shown, shown[:2]) for shown in sets])


@pytest.mark.parametrize("name", ["answers.json", "answers.csv"])
def test_a_file_takes_less_than_ten_times_its_size_in_memory(tmp_path: Path, many: ChoiceData, name: str) -> None:
    path = tmp_path / name
    many.save(path)
    tracemalloc.start()
    try:
        data = ChoiceData.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert data == many
    assert peak < 10 * path.stat().st_size


def test_all_wrong_lines_are_named_and_all_wrong_choices_of_a_list() -> None:
    lines = ["choice,option,kept,x0"] + [f"{n},{n % 2},{n % 2},{'high' if n % 3 else '0.1'}" for n in range(90)]
    with pytest.raises(DataError) as caught:
        ChoiceData.from_csv("\n".join(lines))
    told = str(caught.value).splitlines()
    # Each third line could be read, and what it says of option 1 contradicts nothing: its choice shows one option.
    assert told[0] == "90 lines are wrong:"
    assert told[1:3] == [
        "    line 2: choice 0 shows one option; a choice shows at least two.",
        "    line 3: x0 is 'high', but must be a finite number with a decimal point.",
    ]
    assert (len(told), told[-1]) == (22, "    and 70 more")
    with refused("2 choices are wrong", "choice 1: .*kept but not shown", "choice 3: it shows option 9"):
        ChoiceData(X3, [((0, 1), (0,)), ((0, 1), (2,)), ((1, 2), (1,)), ((0, 9), (0,))])
    with refused("2 choices are wrong", "choice 0: .*twice", "choice 2: it has no key"):
        ChoiceData.from_json(
            document(choices=[{"shown": [0, 0], "kept": [0]}, {"shown": [0, 1], "kept": [0]}, {"shown": [0, 1]}])
        )
    with refused(r"X\[0, 0\] = 2.0, X\[2, 0\] = 3.0, outside the unit cube"):
        ChoiceData([[2.0], [0.5], [3.0]])
