"""Studies that version 0.1 left behind: its database and its export open without loss.

``data/study-0.1.db`` and ``.json`` hold one study, written by that version: two raters, a correction, a skip, an undo, answers
retracted and restored, imported pairs, "none of these", and two looks at the number of hidden objectives. ``.expected.json`` is
what that version said of it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from choicebo.study import SchemaVersionError, Study, upgrade

FOLDER = Path(__file__).with_name("data")
EXPECTED = json.loads((FOLDER / "study-0.1.expected.json").read_text(encoding="utf-8"))


@pytest.fixture(params=["database", "export"])
def study(request, tmp_path):
    file = tmp_path / "bread.db"
    if request.param == "database":
        shutil.copy(FOLDER / "study-0.1.db", file)
        with pytest.raises(SchemaVersionError, match="choicebo upgrade"):
            Study.open(file)
        assert [step.partition(":")[0] for step in upgrade(file)] == ["0002", "0003", "0004", "0005", "0006"]
        opened = Study.open(file)
    else:
        opened = Study.import_json(file, FOLDER / "study-0.1.json")
    with opened:
        yield opened


def test_everything_that_happened_is_there(study):
    history = [[a.id, a.question, a.kind, a.state, a.rater, list(a.kept)] for a in study.history()]
    assert history == EXPECTED["history"]
    questions = [[q.id, q.rater, q.strategy, q.latent_dim, q.state, sum(q.new)] for q in study.questions()]
    assert questions == EXPECTED["questions"]
    assert [rater.name for rater in study.raters()] == ["owner", "ann"]
    assert study.question == "Größe?"


def test_the_model_learns_from_the_same_answers(study):
    assert study.n_answers == EXPECTED["n_answers"]
    assert study.data.X.tolist() == EXPECTED["X"]
    assert list(study.optimizer().latent_dim_history) == EXPECTED["looks"]
    assert study.optimizer("ann").n_answers == 3


def test_the_study_goes_on(study):
    assert study.ask("ann").id == 15
    question = study.ask()
    _, reason, new, _, _ = EXPECTED["next"]
    assert (question.id, question.latent_dim, sorted(question.new), len(question.options)) == (16, 1, sorted(new), 4)
    assert question.reason.split(",")[0][:14] == reason[:14]
    study.tell(question, [0])
    (undone,) = study.undo()
    assert undone.question == 16


def test_what_it_exports_is_what_the_first_release_exported(study):
    exported, expected = json.loads(study.export_json()), json.loads((FOLDER / "study-0.1.json").read_text("utf-8"))
    # What the first release did not know, read from its export, has its default.
    for name, default in (
        ("least_difference", 0.02),
        ("answer", "subset"),
        ("likelihood", "choice"),
        ("threshold", 1.0),
    ):
        assert exported["study"]["settings"].pop(name, default) == default
    assert exported == expected
