from __future__ import annotations

import json
from pathlib import Path

import pytest

import choicebo as cb
from choicebo.study import StudyError
from choicebo.study.definition import Show, StudyDefinition

SPACE = cb.Space([cb.Real("a", 0, 1)], ["a <= 0.9"])
MENU = cb.Catalogue([{"sku": k, "x": k} for k in range(3)])


def define(**fields):
    return StudyDefinition.of({"name": "s", "space": SPACE, **fields})


def test_a_record_in_json_is_read_back():
    study = define(
        baseline={"a": 0.5},
        show=Show("svg", template="<svg>{a}</svg>"),
        raters="separate",
        settings={"query_size": 3, "seed": 7},
        folder=Path("/photos"),
    )
    record = json.loads(json.dumps(study.to_dict()))
    assert StudyDefinition.of(record) == study
    assert StudyDefinition.of(record, stored=True) == study
    assert record.keys() == {
        "name", "space", "question", "show", "raters_mode", "settings", "folder", "created_at",
    }  # fmt: skip
    assert record["settings"]["baseline"] == {"a": 0.5}


def test_arguments_of_create_describe_the_same_study():
    study = define(baseline={"a": 0.5}, raters="separate", settings={"lapse": 0.05})
    again = StudyDefinition.from_arguments(**study.arguments())
    assert {**again.to_dict(), "created_at": None} == {**study.to_dict(), "created_at": None}
    assert StudyDefinition.from_arguments(**study.arguments() | {"baseline": None}).baseline is None


def test_settings_that_are_missing_take_their_default():
    assert define().settings["query_size"] == 5
    assert StudyDefinition.of({"name": "s", "space": MENU}).settings["query_size"] == 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name of the study is ''"),
        ({"name": 3}, "name of the study is 3"),
        ({"question": " "}, "question is ' '"),
        ({"space": None}, "give a Space or a Catalogue"),
        ({"space": {"kind": "spaceship"}}, "accepted are 'space' and 'catalogue'"),
        (
            {"space": cb.Catalogue([{"sku": "A", "x": 1}, {"sku": "B", "x": 2}]), "baseline": "C"},
            "no row with sku = 'C'",
        ),
        ({"raters": "alone"}, "'raters' of the study is 'alone': give 'together', 'related' or 'separate'"),
        ({"show": {"kind": "bar"}}, "'show.kind' of the study is 'bar': give 'bars', 'svg' or 'image'"),
        ({"show": {"kind": "svg", "templat": "x"}}, "unknown key 'show.templat'. Did you mean 'template'"),
        ({"show": {"kind": "bars", "template": "x"}}, "Bars take no template"),
        ({"show": Show("image")}, "image column, or a template"),
        ({"baseline": {"a": 0.95}}, "The baseline breaks the constraint 'a <= 0.9'"),
        ({"baseline": {}}, "no value for 'a'"),
        ({"settings": {"query_size": 2.5}}, "query_size is 2.5; give a whole number"),
        ({"settings": {"sed": 1}}, "no setting 'sed'"),
        ({"settings": {"name": "t"}}, "no setting 'name'"),
        ({"settings": {"kernel": []}}, "kernel must be one of"),
        ({"settings": 3}, "cannot be created"),
        ({"qestion": "?"}, "unknown key 'qestion'. Did you mean 'question'"),
        ({"created_at": "yesterday"}, "'created_at' of the study is 'yesterday'"),
    ],
)
def test_a_study_that_cannot_be_asked_says_why(fields, message):
    with pytest.raises(cb.InvalidInputError, match=message):
        define(**fields)


def test_what_is_missing_is_named():
    with pytest.raises(StudyError, match="lacks 'name'"):
        StudyDefinition.of({"space": SPACE})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Show("svgs"), "Did you mean 'svg'"),
        (lambda: Show("svg"), "needs a template"),
        (lambda: Show("svg", template="  "), "not empty"),
    ],
)
def test_options_that_cannot_be_shown_so_say_why(make, message):
    with pytest.raises(cb.SpaceError, match=message):
        make()


def test_names_of_objectives_are_short_texts_with_a_pattern():
    def named(names):
        return define(objective_names=names).objective_names

    def pattern(name, values=(1.0, 2.0)):
        return [{"name": name, "options": [{"a": 0.1}, {"a": 0.2}], "values": values}]

    study = define(objective_names=pattern(" warmth "))
    assert [(each.name, each.values) for each in study.objective_names] == [("warmth", (1.0, 2.0))]
    assert StudyDefinition.of(json.loads(json.dumps(study.to_dict()))) == study
    assert named([]) is named(None) is None
    for wrong in ("warmth", [3], pattern("x" * 100), pattern("a\nb"), pattern("a", (1.0,)), pattern("a", (1, "nan"))):
        with pytest.raises(StudyError, match="objective"):
            named(wrong)
