"""An exported study that was tampered with is refused with the place of the mistake."""

from __future__ import annotations

import copy
import json

import pytest
from study_helpers import new_study

from choicebo.errors import InvalidInputError
from choicebo.study import study_json


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    study = new_study(tmp_path_factory.mktemp("export") / "study.db")
    study.tell(study.ask(), [0], seconds=3.0)
    study.add([{"temperature": 160, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0])
    study.undo()
    study.retract(study.history()[0])
    study.ask()
    return json.loads(study.export_json())


def changed(document, path, value):
    edited = copy.deepcopy(document)
    *way, last = path
    place = edited
    for step in way:
        place = place[step]
    place[last] = value
    return edited


def test_what_was_exported_is_read_back(document):
    text = json.dumps(document)
    what, people, entries = study_json.loads(text)
    assert json.loads(study_json.dumps(what, people, entries)) == document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("format",), "choicebo-choices", "not an exported study"),
        (("version",), 2, "update choicebo"),
        (("raters",), ["ann"], r"log\[0\]: its rater 'owner'"),
        (("raters",), ["owner", "owner"], "twice"),
        (("raters",), [], "raters"),
        (("study", "space"), {}, "kind"),
        (("study", "settings"), {"colour": "red"}, "colour"),
        (("study", "created_at"), "yesterday", "study"),
        (("study", "show"), None, "study"),
        (("options", 0), {"temperature": 10}, r"options\[0\]"),
        (("log", 0, "position"), 2, r"log\[0\]: its position is 2"),
        (("log", 1, "kept"), [5], r"log\[1\]: kept holds 5"),
        (("log", 1, "kept"), None, r"log\[1\]"),
        (("log", 1, "kept"), ["a"], r"log\[1\]\.kept\[0\]"),
        (("log", 1, "target"), 9, r"log\[1\]: its target 9"),
        (("log", 1, "target"), None, r"log\[1\]"),
        (("log", 1, "at"), "noon", r"log\[1\]: its time is 'noon'"),
        (("log", 1, "seconds"), -1.0, r"log\[1\]: seconds"),
        (("log", 0, "options"), [0, 1, 99], r"log\[0\]: its options"),
        (("log", 0, "new"), [True], r"log\[0\]"),
        (("log", 0, "asked"), None, r"log\[0\]"),
        (("log", 5, "asked", "number"), 7, "numbered"),
        (("log", 3, "target"), 1, r"log\[3\]: its target 1"),
        (("log", 3, "kind"), "miracle", r"log\[3\]\.kind"),
        (("log", 3, "colour"), "red", r"log\[3\]\.colour"),
    ],
)
def test_a_mistake_is_refused_and_placed(document, path, value, message):
    with pytest.raises(InvalidInputError, match=message):
        study_json.loads(json.dumps(changed(document, path, value)))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"format": "choicebo-study"}', "[" * 100_000])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInputError):
        study_json.loads(text)


def test_broken_json_names_its_line():
    with pytest.raises(InvalidInputError, match="Line 2, column 1"):
        study_json.loads('{"format":\n')
