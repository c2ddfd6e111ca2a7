"""The look at the number of hidden objectives in a study: computed ahead, kept, used from the next answer on."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from study_helpers import SPACE

import choicebo as cb
from choicebo.acquisition.propose import Proposal
from choicebo.model import dimension
from choicebo.model.gp import ChoiceGP
from choicebo.optimizer import optimizer as loop
from choicebo.study import Study, compute, posterior_file

SETTINGS = {"query_size": 3, "initial_queries": 2, "seed": 3}


class FakeModel:
    """Fits that cost nothing, questions that depend on the model's dimensions, and a count of the looks."""

    def __init__(self, monkeypatch):
        self.looks = []
        self.fits = []
        monkeypatch.setattr(ChoiceGP, "fit", lambda model, data, *_, **__: self._fit(model, data))
        monkeypatch.setattr(loop, "propose", self._propose)
        monkeypatch.setattr(dimension, "revise", self._revise)
        monkeypatch.setattr(posterior_file, "to_bytes", _to_bytes)
        monkeypatch.setattr(posterior_file, "from_bytes", _from_bytes)

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
        draws=draws,
        choice_probabilities=lambda _: {(0,): 0.5, (1,): 0.3, (2,): 0.2},
    )


def _to_bytes(posterior, history):
    return json.dumps([posterior.data.to_json(), posterior.latent_dim, history]).encode()


def _from_bytes(content):
    data, latent_dim, history = json.loads(content)
    return _posterior(cb.ChoiceData.from_json(data), latent_dim), history


@pytest.fixture
def model(monkeypatch):
    return FakeModel(monkeypatch)


@pytest.fixture
def study(tmp_path, model):
    with Study.create(tmp_path / "study.db", "bread", SPACE, **SETTINGS) as study:
        yield study


def answer(study, n, ahead=None):
    asked = []
    for _ in range(n):
        question = study.ask()
        if ahead is not None:
            study.prepare_ahead(question, ahead)
        study.tell(question, [question.number % 3])
        asked.append(question)
    return asked


def never(*_):
    pytest.fail("it was computed again")


def test_a_study_asks_what_the_loop_in_memory_asks(study):
    opt = cb.ChoiceOptimizer(SPACE, **SETTINGS)
    for question in answer(study, 15):
        query = opt.ask()
        opt.tell(query, [query.id % 3])
        assert (list(question.options), question.latent_dim) == (query.options, query.latent_dim)
    assert study.status(insight=False).answers == 15
    history = [entry.asked.latent_dim_history for entry in study._ledger.read().entries if entry.asked]
    assert history[-1] == [dict(check) for check in opt.latent_dim_history]
    assert [(look["answers"], look["used_from"]) for look in history[-1]] == [(8, 9), (12, 13)]


def test_it_is_computed_ahead_once_and_the_question_that_needs_it_finds_it(study, model, monkeypatch):
    plain = [list(question.options) for question in answer(study, 8)]
    question = study.ask()
    assert model.looks == []
    study.prepare_ahead(question, 3)
    assert model.looks == [(8, True)]  # with the posterior of the question, and not once for each foreseen answer
    monkeypatch.setattr(compute, "look", never)
    study.tell(question, [2])
    found = study.ask()
    assert found.latent_dim == 3
    assert list(found.options) not in plain


def test_what_was_prepared_ahead_changes_no_question(study, tmp_path):
    with Study.create(tmp_path / "other.db", "bread", SPACE, **SETTINGS) as other:
        ahead, without = answer(study, 15, ahead=2), answer(other, 15)
    assert [(q.options, q.latent_dim) for q in ahead] == [(q.options, q.latent_dim) for q in without]


def test_restored_elsewhere_without_the_cache_the_same_question_follows(study, model, tmp_path):
    answer(study, 9, ahead=1)
    with Study.import_json(tmp_path / "copy.db", study.export_json()) as copy:
        assert copy.ask().options == study.ask().options
    assert model.looks == [(8, True), (8, False)]


def test_a_question_that_needs_a_look_under_way_waits_for_it_instead_of_computing_it_again(study, model, monkeypatch):
    answer(study, 8)
    question = study.ask()
    begun, go, computed = threading.Event(), threading.Event(), compute.look

    def slow(*arguments):
        begun.set()
        assert go.wait(60)
        return computed(*arguments)

    monkeypatch.setattr(compute, "look", slow)
    with ThreadPoolExecutor(2) as threads:
        ahead = threads.submit(study.prepare_ahead, question, 1)
        assert begun.wait(60)
        study.tell(question, [0])
        asked = threads.submit(study.ask)
        go.set()
        assert asked.result(60).latent_dim == 3
        ahead.result(60)
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
        answer(study, 10, ahead=1)
    assert model.looks == []
