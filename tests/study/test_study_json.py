"""An exported study that was tampered with is refused with the place of the mistake."""

from __future__ import annotations

import copy
import json
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_helpers import new_study

from choicebo.errors import ChoiceboError, InvalidInputError
from choicebo.study import Study, study_json


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
        # What would be stored, and then be of no use.
        (("study", "settings", "seed"), 2**63, r"below 2\*\*63"),
        (("study", "created_at"), "0001-01-01T00:00:00+14:00", "created"),
        (("study", "question"), "a\0b", "cannot be stored"),
        (("study", "question"), "\ud800", "cannot be stored"),
        (("study", "name"), "x" * 3000, "at most 200"),
        (("raters",), ["owner", "a\0b"], "printable"),
        (("raters",), ["owner", "x" * 3000], "at most|1 to 200"),
        (("raters",), ["owner", " ann"], "spaces"),
        (("log", 0, "asked", "latent_dim_history"), [{}], r"log\[0\]\.asked\.latent_dim_history\[0\]"),
        (("log", 0, "asked", "latent_dim_history"), [{"answers": "8", "latent_dim": 2}], "latent_dim_history"),
        (("log", 0, "asked", "latent_dim"), 10**30, "latent_dim"),
        (("log", 0, "asked", "seed"), 2**63, "seed"),
        (("log", 0, "asked", "known_until"), 1, "known_until"),
        (("log", 0, "asked", "reason"), "\0", "reason"),
        (("log", 0, "asked", "model_version"), "\ud800", "model_version"),
        (("log", 0, "options"), [0, 0, 1], r"log\[0\]: it shows the same option twice"),
        (("log", 1, "kept"), [], r"log\[1\]: nothing was kept"),
        (("log", 1, "at"), "0001-01-01T00:00:00+14:00", r"log\[1\]: its time"),
        (("log", 1, "seconds"), 10**400, r"log\[1\]"),
        (("log", 2, "kept"), [], r"log\[2\].*nothing was kept"),
        (("log", 2, "options"), [3, 3], r"log\[2\]"),
    ],
)
def test_a_mistake_is_refused_and_placed(document, path, value, message):
    with pytest.raises(InvalidInputError, match=message):
        study_json.loads(json.dumps(changed(document, path, value)))


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", '{"format": "choicebo-study"}', "[" * 100_000, '{"version": ' + "9" * 5000 + "}"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidInputError):
        study_json.loads(text)


def test_broken_json_names_its_line():
    with pytest.raises(InvalidInputError, match="Line 2, column 1"):
        study_json.loads('{"format":\n')


def test_nobody_but_the_owner_can_be_missing(document):
    renamed = json.loads(json.dumps(document).replace('"owner"', '"ann"'))
    with pytest.raises(InvalidInputError, match="'owner' is not among them"):
        study_json.loads(json.dumps(renamed))


def test_an_imported_study_has_images_only_beside_its_database(document, tmp_path):
    (tmp_path / "photos").mkdir()
    folders = {"/": None, "/etc": None, "photos": None, str(tmp_path / "photos" / ".." / ".."): None}
    folders[str(tmp_path / "photos")] = tmp_path / "photos"
    for number, (folder, expected) in enumerate(folders.items()):
        text = json.dumps(changed(document, ("study", "folder"), folder))
        assert Study.import_json(tmp_path / f"{number}.db", text).folder == expected


def test_rows_of_an_imported_catalogue_are_not_read_from_the_disk(document, tmp_path):
    (tmp_path / "secret.csv").write_text("password\nhunter2\n")
    space = {"version": 1, "kind": "catalogue", "key": None, "label": None, "image": None, "features": None}
    text = json.dumps(changed(document, ("study", "space"), {**space, "rows": str(tmp_path / "secret.csv")}))
    with pytest.raises(InvalidInputError) as refused:
        study_json.loads(text)
    assert "password" not in str(refused.value)


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from([[], {}, [{}], [[]], "\0", "\ud800", "/etc/passwd", "question", "answer", "undo", "x" * 3000]),
    st.lists(st.integers(-1, 6), max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_what_is_accepted_works(document, data):
    """An export with one value replaced by any other is refused, or is a study that can be asked, answered and exported."""
    places = [("log", at, key) for at, line in enumerate(document["log"]) for key in line]
    places += [("log", 0, "asked", key) for key in document["log"][0]["asked"]]
    places += [("study", key) for key in document["study"]] + [("raters",), ("options", 0)]
    places += [("study", "settings", key) for key in document["study"]["settings"] if key != "latent_dim"]
    edited = changed(document, data.draw(st.sampled_from(places)), data.draw(ANYTHING))
    with tempfile.TemporaryDirectory() as folder:
        try:
            study = Study.import_json(f"{folder}/study.db", json.dumps(edited))
        except ChoiceboError:
            return
        with study:
            study.tell(study.ask(), [0])
            assert study.data is not None
            assert study.ask(another=True).options
            assert Study.import_json(f"{folder}/copy.db", study.export_json()).history() == study.history()
