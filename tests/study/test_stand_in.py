"""Questions that are asked without waiting for the model, and what becomes of the model's."""

from __future__ import annotations

import dataclasses

import pytest
from study_helpers import SPACE

from choicebo.optimizer import situation as compute
from choicebo.study import Study, StudyError

SETTINGS = {"engine": "laplace", "latent_dim": 2, "query_size": 4, "initial_queries": 2, "seed": 3}


@pytest.fixture
def study(tmp_path):
    """Past its beginning: the next question takes the model."""
    with Study.create(tmp_path / "study.db", "bread", SPACE, raters="together", **SETTINGS) as study:
        study.add_rater("ann")
        for _ in range(2):
            study.tell(study.ask(), [0, 1])
        yield study


def never(*_, **__):
    pytest.fail("the model was used")


def test_a_stand_in_needs_no_model_and_is_stored_like_any_question(study, monkeypatch):
    for name in ("next_question", "fit"):
        monkeypatch.setattr(compute, name, never)
    asked = study.ask(stand_in=True)
    assert study.ask(stand_in=True) == study.ask() == asked
    assert (asked.number, asked.strategy, asked.latent_dim) == (3, "stand-in", None)
    assert asked.reason.startswith("The model had not finished with the last answers")
    assert sum(asked.new) == 2
    kept = {str(past.options[at]) for past in study.history() for at in past.kept}
    assert {str(o) for o, is_new in zip(asked.options, asked.new, strict=True) if not is_new} <= kept
    assert study.tell(asked, [0]).question == 3


def test_the_beginning_of_a_study_is_the_same_with_and_without_waiting(tmp_path):
    asked = []
    for stand_in in (False, True):
        with Study.create(tmp_path / f"{stand_in}.db", "bread", SPACE, **SETTINGS) as study:
            assert not study.needs_model()
            asked.append([study.ask(stand_in=stand_in).options, study.ask().strategy])
    assert asked[0] == asked[1]


def test_the_same_record_leads_to_the_same_stand_in_and_to_the_same_question_after_it(study, tmp_path):
    with Study.import_json(tmp_path / "a.db", study.export_json()) as copy:
        assert copy.ask(stand_in=True).options == study.ask(stand_in=True).options
    study.tell(3, [1])
    with Study.import_json(tmp_path / "b.db", study.export_json()) as copy:
        mine, theirs = study.ask(), copy.ask()
    assert mine.latent_dim == 2
    assert (mine.options, mine.reason, mine.new) == (theirs.options, theirs.reason, theirs.new)


def test_a_question_of_the_model_that_comes_late_is_asked_next(study, monkeypatch):
    study.prepare()
    _, before, computed = study._asking._late[None, ""]
    study.add([{"temperature": 160, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0], rater="ann")
    monkeypatch.setattr(compute, "next_question", never)
    asked = study.ask(stand_in=True)
    assert asked.options == computed.options
    assert asked.latent_dim == 2
    assert asked.known_until == before == study.get_question(3).known_until  # the record says what it was computed from
    assert study.ask("ann", stand_in=True).options != computed.options  # nobody is asked the same


def test_a_question_that_was_prepared_in_time_is_asked(study):
    study.prepare()
    assert study.ask(stand_in=True).latent_dim == 2


@pytest.mark.parametrize("take_back", [lambda study, past: study.retract(past), lambda study, _: study.undo(2)])
def test_what_was_computed_from_an_answer_that_no_longer_counts_is_not_asked(study, take_back):
    study.prepare()
    study.add([{"temperature": 160, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0], rater="ann")
    take_back(study, study.history()[0])
    while (asked := study.ask(stand_in=True)).number < 3:
        study.tell(asked, [2])
    assert asked.latent_dim is None


def test_the_look_at_the_latent_dimensions_that_a_late_question_brings_is_kept(study, monkeypatch):
    computed, look = compute.next_question, {"answers": 2, "latent_dim": 2, "reason": "so"}

    def looked(*arguments, **options):
        question, posterior = computed(*arguments, **options)
        return dataclasses.replace(question, looks=(look,)), posterior

    monkeypatch.setattr(compute, "next_question", looked)
    study.prepare()
    study.add([{"temperature": 160, "minutes": 10}, {"temperature": 170, "minutes": 11}], [0], rater="ann")
    study.ask(stand_in=True)
    study.ask("ann", stand_in=True)
    assert [len(question.looks) for question in study.questions()] == [0, 0, 1, 1]


def test_another_question_and_a_stand_in_exclude_each_other(study):
    with pytest.raises(StudyError, match="leave out one"):
        study.ask(another=True, stand_in=True)
