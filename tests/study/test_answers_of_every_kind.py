"""What a study makes of answers that say more than what is kept: damage, surprises, results."""

from __future__ import annotations

import json
import sqlite3
from types import SimpleNamespace

import pytest
from study_helpers import MENU, new_study

from choicebo.study import StorageError, Study, status


def test_an_order_that_was_changed_on_disk_is_noticed(tmp_path):
    path = tmp_path / "menu.db"
    with new_study(path, space=MENU, query_size=3) as study:
        study.tell(study.ask(), ranking=[2, 0, 1])
    connection = sqlite3.connect(path)
    changed = json.dumps({"ranking": [2, 1, 0]})
    assert connection.execute("UPDATE choicebo_log SET marks = ? WHERE position = 2", [changed]).rowcount == 1
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match="damaged"), Study.open(path) as study:
        study.history()


def test_a_surprise_is_told_of_the_answer_whose_choice_it_is(tmp_path, monkeypatch):
    with new_study(tmp_path / "menu.db", space=MENU, query_size=3) as study:
        study.tell(study.ask(), best=1)
        study.tell(study.ask(), ranking=[0, 2, 1])  # the first of three, then one of the others
        study.tell(study.ask(), kept=[0])
        acts = list(study.history())
    told = {"probability": 0.1, "noteworthy": True, "sentence": "Answer 2 is unlike your others."}
    found = [
        SimpleNamespace(choice=2, expected=(1,), position=0, against=3, **told),
        SimpleNamespace(choice=1, expected=(1,), position=2, against=0, **told),  # of the same answer: told once
    ]
    seen = {}

    def surprises(posterior, answers):
        seen["answers"] = list(answers)
        return found

    monkeypatch.setattr("choicebo.insight.surprises", surprises)
    (surprise,) = status._surprising(None, acts)
    assert seen["answers"] == [0, 1, 1, 2]
    assert (surprise.past, surprise.against) == (acts[1], acts[2])
    # The second choice is among positions 1 and 2 of what was shown.
    assert (surprise.position, surprise.expected) == (1, (2,))


def test_a_clash_within_one_answer_is_no_clash_with_another(tmp_path, monkeypatch):
    with new_study(tmp_path / "menu.db", space=MENU, query_size=3) as study:
        study.tell(study.ask(), ranking=[2, 0, 1])
        acts = list(study.history())
    told = {"probability": 0.1, "noteworthy": True, "sentence": "", "expected": (0,), "position": 0}
    monkeypatch.setattr(
        "choicebo.insight.surprises", lambda posterior, answers: [SimpleNamespace(choice=0, against=1, **told)]
    )
    assert status._surprising(None, acts)[0].against is None


def test_results_count_answers_and_not_choices(tmp_path):
    with new_study(tmp_path / "menu.db", space=MENU, query_size=3, latent_dim=1, engine="laplace") as study:
        for _ in range(3):
            study.tell(study.ask(), ranking=[2, 0, 1])
        assert study.data.n_choices == 6
        assert study.result().answers == study.status().answers == 3
        assert "3 answers" in study.result().stage
