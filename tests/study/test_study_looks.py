"""The look at the number of hidden objectives in a study: computed ahead, kept, used from the next answer on."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from study_helpers import SPACE

import choicebo as cb
from choicebo.acquisition.propose import Proposal
from choicebo.model import dimension
from choicebo.model.gp import ChoiceGP
from choicebo.optimizer import prospect
from choicebo.optimizer import situation as compute
from choicebo.study import Study, posterior_store

SETTINGS = {"query_size": 3, "initial_queries": 2, "seed": 3}


class FakeModel:
    """Fits that cost nothing, questions that depend on the model's dimensions, and a count of the looks."""

    def __init__(self, monkeypatch):
        self.looks = []
        self.fits = []
        monkeypatch.setattr(ChoiceGP, "fit_silently", lambda model, data, *_, **__: self._fit(model, data))
        monkeypatch.setattr(prospect, "propose", self._propose)
        monkeypatch.setattr(dimension, "revise", self._revise)
        monkeypatch.setattr(posterior_store, "to_bytes", _to_bytes)
        monkeypatch.setattr(posterior_store, "from_bytes", _from_bytes)

    def _fit(self, model, data):
        self.fits.append(data.n_choices)
        return _posterior(data, model.latent_dim)

    @staticmethod
    def _propose(draws, space, acquisitions, *, size, seed, **_):
        points = space.sample(size, seed=seed + 7919 * draws.latent_dim)
        return Proposal(points, np.ones(size, bool), "ehvi", "As the model has it.")

    def _revise(self, data, current, *, model, posterior, seed, progress):
        self.looks.append((data.n_choices, posterior is not None))
        return SimpleNamespace(latent_dim=current + 1, reason=f"after {data.n_choices}", changed=True, posterior=None)


def _posterior(data, latent_dim):
    draws = SimpleNamespace(thinned=lambda _: draws, latent_dim=latent_dim)
    return SimpleNamespace(
        data=data,
        latent_dim=latent_dim,
        nbytes=0,
        draws=draws,
        shortlisted=draws.thinned,
        choice_probabilities=lambda _: {(0,): 0.5, (1,): 0.3, (2,): 0.2},
        diagnostics=SimpleNamespace(problems=()),
    )


def _to_bytes(posterior):
    return json.dumps([posterior.data.to_json(), posterior.latent_dim]).encode()


def _from_bytes(content):
    data, latent_dim = json.loads(content)
    return _posterior(cb.ChoiceData.from_json(data), latent_dim)


@pytest.fixture
def model(monkeypatch):
    return FakeModel(monkeypatch)


@pytest.fixture
def study(tmp_path, model):
    with Study.create(tmp_path / "study.db", "bread", SPACE, **SETTINGS) as study:
        yield study


def answer(study, n):
    asked = []
    for _ in range(n):
        question = study.ask()
        study.tell(question, [question.number % 3])
        asked.append(question)
    return asked


def never(*_, **__):
    pytest.fail("it was computed again")


def wait_until(true):
    for _ in range(600):
        if true():
            return
        time.sleep(0.01)
    pytest.fail("it never came")


def test_a_study_asks_what_the_loop_in_memory_asks(study):
    opt = cb.ChoiceOptimizer(SPACE, **SETTINGS)
    for question in answer(study, 15):
        query = opt.ask()
        opt.tell(query, [query.id % 3])
        assert (question.options, question.latent_dim, question.looks) == (query.options, query.latent_dim, query.looks)
    assert study.status(insight=False).answers == 15
    assert [(look["answers"], look["used_from"]) for look in question.looks] == [(8, 9), (12, 13)]


def test_it_is_begun_when_the_question_is_asked_and_the_one_that_needs_it_finds_it(study, model, monkeypatch):
    answer(study, 8)
    question = study.ask()
    wait_until(lambda: model.looks == [(8, True)])  # with the posterior of the question
    monkeypatch.setattr(compute.Situation, "look", never)
    study.tell(question, [2])
    assert study.ask().latent_dim == 3


def test_restored_elsewhere_without_what_is_known_the_same_question_follows(study, model, tmp_path):
    answer(study, 9)
    with Study.import_json(tmp_path / "copy.db", study.export_json()) as copy:
        assert copy.ask().options == study.ask().options
    assert model.looks == [(8, True), (8, False)]


def test_an_executor_computes_it_once_and_whoever_needs_it_waits_for_it(model, tmp_path, monkeypatch):
    begun, go, computed = threading.Event(), threading.Event(), compute.look

    def slow(*arguments):
        begun.set()
        assert go.wait(60)
        return computed(*arguments)

    monkeypatch.setattr(compute, "look", slow)
    with ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(1) as person:
        study = Study.create(tmp_path / "pool.db", "bread", SPACE, executor=pool, **SETTINGS)
        answer(study, 8)
        question = study.ask()
        assert begun.wait(60)
        study.tell(question, [0])
        asked = person.submit(study.ask)
        go.set()
        assert asked.result(60).latent_dim == 3
    assert [answers for answers, _ in model.looks] == [8]


def test_the_result_uses_the_look_from_the_same_answer_on_and_leaves_nothing_to_compute(study, model, monkeypatch):
    answer(study, 8)
    assert study.posterior().latent_dim == 2
    question = study.ask()
    study.tell(question, [0])
    assert study.posterior().latent_dim == 3
    assert study.has_posterior()
    fits = list(model.fits)
    study.ask()
    assert study.posterior().latent_dim == 3
    assert study.optimizer().latent_dim_history[-1]["answers"] == 8
    assert (model.fits, [answers for answers, _ in model.looks]) == (fits, [8])


def test_an_undone_answer_takes_the_look_back(study):
    answer(study, 9)
    study.ask()
    study.undo()
    assert study.optimizer().latent_dim == 2
    assert study.optimizer().latent_dim_history == ()
    assert study.has_posterior()  # the model of the answers before is found again


def test_questions_without_a_model_do_not_look(tmp_path, model):
    with Study.create(tmp_path / "study.db", "bread", SPACE, acquisition="sobol", query_size=3) as study:
        answer(study, 10)
    assert model.looks == []
