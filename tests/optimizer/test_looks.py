"""The look at the number of hidden objectives is computed beside the questions and counts from the next answer on."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import choicebo as cb
from choicebo.acquisition.propose import Proposal
from choicebo.errors import FitInterruptedError
from choicebo.model import dimension
from choicebo.model.gp import ChoiceGP
from choicebo.optimizer import looks, prospect

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


@dataclasses.dataclass
class FakeDraws:
    latent_dim: int

    def thinned(self, _):
        return self


class FakeModel:
    """Fits that cost nothing, questions that depend on the model's dimensions, and looks that can be held up."""

    def __init__(self, monkeypatch):
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()
        self.looks = []
        self.problem = None
        monkeypatch.setattr(ChoiceGP, "fit_silently", self._fit)
        monkeypatch.setattr(prospect, "propose", self._propose)
        monkeypatch.setattr(dimension, "revise", self._revise)

    @staticmethod
    def _fit(model, data, seed=0, *, progress=None, start=None):
        fine = SimpleNamespace(problems=())
        draws = FakeDraws(model.latent_dim)
        return SimpleNamespace(
            data=data,
            latent_dim=model.latent_dim,
            draws=draws,
            shortlisted=draws.thinned,
            diagnostics=fine,
            nbytes=0,
        )

    @staticmethod
    def _propose(draws, space, acquisitions, *, size, seed, **_):
        points = space.sample(size, seed=seed + 7919 * draws.latent_dim)
        return Proposal(points, np.ones(size, bool), "ehvi", "As the model has it.")

    def _revise(self, data, current, *, model, posterior, seed, progress):
        assert model.latent_dim == current
        self.looks.append(SimpleNamespace(answers=data.n_choices, current=current, posterior=posterior, data=data))
        self.begun.set()
        while not self.go.wait(0.01):
            if progress("fitting", 0.25) is False:
                raise FitInterruptedError("interrupted")
        if self.problem is not None:
            raise self.problem
        return SimpleNamespace(latent_dim=current + 1, reason=f"after {data.n_choices}", changed=True, posterior=None)


@pytest.fixture
def model(monkeypatch):
    found = FakeModel(monkeypatch)
    yield found
    found.go.set()


def optimizer(**settings):
    return cb.ChoiceOptimizer(SPACE, **{"seed": 3, **settings})


def answer(opt, n=1):
    """Ask and answer ``n`` questions; what was asked."""
    asked = []
    for _ in range(n):
        query = opt.ask()
        opt.tell(query, [query.id % 5])
        asked.append(query)
    return asked


def waiting_threads():
    return [thread for thread in threading.enumerate() if thread.name == "choicebo-look"]


def test_a_look_after_n_answers_counts_from_the_question_after_the_next_answer_on(model):
    asked = answer(opt := optimizer(), 20)
    # asked[k] is the question after k answers; looks are due after 8, 12 and 18.
    assert [query.latent_dim for query in asked] == [None] * 4 + [2] * 5 + [3] * 4 + [4] * 6 + [5]
    assert opt.latent_dim_history == (
        {"answers": 8, "latent_dim": 3, "reason": "after 8", "used_from": 9},
        {"answers": 12, "latent_dim": 4, "reason": "after 12", "used_from": 13},
        {"answers": 18, "latent_dim": 5, "reason": "after 18", "used_from": 19},
    )
    assert [look.answers for look in model.looks] == [8, 12, 18]


def test_the_question_after_n_answers_does_not_wait_for_the_look(model):
    opt = optimizer()
    answer(opt, 8)
    model.go.clear()
    query = opt.ask()  # would never return if it waited
    assert query.latent_dim == 2
    assert model.begun.wait(60)
    assert opt.latent_dim_history == ()  # the record does not depend on how far the look is
    opt.tell(query, [0])
    model.go.set()
    assert opt.ask().latent_dim == 3


def test_the_look_takes_the_posterior_of_the_question_and_of_no_other_answers(model):
    opt = optimizer()
    answer(opt, 9)
    assert model.begun.wait(60)
    (look,) = model.looks
    assert look.posterior.data.fingerprint == look.data.fingerprint
    late = cb.ChoiceOptimizer.from_dict(opt.to_dict())
    late.ask()
    assert [(each.answers, each.posterior) for each in model.looks[1:]] == [(8, None)]
    assert model.looks[1].data.fingerprint == look.data.fingerprint


def test_results_follow_the_same_rule(model):
    opt = optimizer()
    answer(opt, 8)
    assert opt.posterior().latent_dim == 2
    opt.add([{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.4}], [0])
    assert opt.posterior().latent_dim == 3
    assert opt.latent_dim_history[-1]["used_from"] == 9


def test_optimisers_with_the_same_answers_ask_the_same_wherever_they_are_restored(model):
    whole = optimizer()
    expected = answer(whole, 22)
    for stop in range(7, 21):
        first = optimizer()
        answer(first, stop)
        begun = first.ask()
        record = json.loads(json.dumps(first.to_dict()))
        second = cb.ChoiceOptimizer.from_dict(record)
        assert begun == expected[stop]
        for opt in (first, second):
            opt.tell(begun.id, [begun.id % 5])
            assert answer(opt, 21 - stop) == expected[stop + 1 :]
        assert first.to_dict() == second.to_dict() == whole.to_dict()


def test_after_an_import_only_the_latest_look_is_made_up_for(model):
    opt = optimizer()
    for number in range(40):
        opt.add([{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": number / 40}], [0])
    opt.ask()
    assert [look.answers for look in model.looks] == [27]
    answer(opt, 1)
    assert [look.answers for look in model.looks] == [27]


def test_undo_forgets_looks_that_no_longer_count(model):
    opt = optimizer()
    answer(opt, 8)
    query = opt.ask()
    before = opt.to_dict()
    opt.tell(query, [0])
    opt.posterior()
    assert opt.latent_dim == 3
    opt.undo()
    assert opt.latent_dim == 2
    assert opt.to_dict() == before
    opt.tell(query, [0])
    opt.posterior()
    assert opt.latent_dim == 3
    assert len(model.looks) == 1  # it learned from answers that stand, so it still holds
    opt.undo(2)
    opt.tell(opt.open_queries[0], [1, 2])
    opt.tell(query, [0])
    opt.posterior()
    assert [look.answers for look in model.looks] == [8, 8]  # answer 8 is another one
    assert model.looks[0].data.fingerprint != model.looks[1].data.fingerprint
    assert model.looks[1].posterior is None  # what was fitted last is of others


def test_a_look_that_nobody_wants_any_more_ends(model):
    opt = optimizer()
    answer(opt, 8)
    model.go.clear()
    opt.ask()
    assert model.begun.wait(60)
    (thread,) = waiting_threads()
    opt.undo()
    opt.tell(opt.open_queries[0], [1, 2])
    opt.ask()
    thread.join(60)
    assert not thread.is_alive()
    assert thread.daemon


def test_an_error_in_the_background_is_raised_when_the_look_is_needed_and_the_loop_goes_on(model):
    opt = optimizer()
    answer(opt, 8)
    model.problem = ZeroDivisionError("no luck")
    query = opt.ask()
    opt.tell(query, [0])
    with pytest.raises(ZeroDivisionError, match="no luck"):
        opt.ask()
    assert opt.latent_dim_history == ()
    assert opt.open_queries == ()
    model.problem = None
    assert opt.ask().latent_dim == 3


def test_a_wait_for_the_look_is_reported_and_can_be_interrupted(model):
    opt = optimizer()
    answer(opt, 8)
    model.go.clear()
    opt.tell(opt.ask(), [0])
    assert model.begun.wait(60)
    stages = []

    def interrupt(stage, fraction):
        stages.append((stage, fraction))
        return fraction < 0.25

    with pytest.raises(FitInterruptedError):
        opt.ask(progress=interrupt)
    assert stages[-1] == (looks.STAGE, 0.25)
    for thread in waiting_threads():
        thread.join(60)
    model.go.set()
    assert opt.ask().latent_dim == 3


def test_a_fixed_number_of_objectives_is_never_looked_at(model):
    answer(opt := optimizer(latent_dim=2), 14)
    opt.posterior()
    assert model.looks == []


def test_questions_without_a_model_begin_no_look(model):
    answer(optimizer(acquisition="sobol"), 14)
    assert model.looks == []


def test_a_look_may_be_left_to_the_question_that_needs_it(model):
    opt = optimizer()
    answer(opt, 8)
    query = opt.ask(look_beside=False)
    assert model.looks == []
    opt.tell(query, [0])
    assert opt.ask(look_beside=False).latent_dim == 3


def test_looks_of_older_records_count_from_their_own_answers_on(model):
    opt = optimizer()
    answer(opt, 8)
    record, look = opt.to_dict(), {"answers": 8, "latent_dim": 1, "reason": "so"}
    asked = [event["asked"] for event in record["log"] if event["kind"] == "question"]
    asked[-1]["latent_dim_history"] = [look]
    older = cb.ChoiceOptimizer.from_dict(record)
    assert older.latent_dim == 1
    assert [query.latent_dim for query in answer(older, 5)] == [1, 1, 1, 1, 1]
    assert older.latent_dim_history == (look,)
    assert older.ask().latent_dim == 2  # by the look after 12 answers


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda opt: pickle.loads(pickle.dumps(opt))])
def test_an_optimiser_whose_look_is_under_way_can_be_copied(model, monkeypatch, twin):
    opt = optimizer()
    answer(opt, 8)
    opt.ask()
    other = twin(opt)
    for each in (opt, other):
        each.tell(each.open_queries[0], [0])
    assert other.ask() == opt.ask()


def test_with_the_real_model_a_look_beside_and_one_in_the_question_find_the_same():
    def likes(option):
        return np.array([option["a"], option["b"] - option["a"]])

    def kept(query):
        values = [likes(option) for option in query.options]
        return [at for at, v in enumerate(values) if not any((o >= v).all() and (o > v).any() for o in values)]

    beside = optimizer(engine="laplace", initial_queries=8)
    for _ in range(8):
        query = beside.ask()
        beside.tell(query, kept(query))
    query = beside.ask()
    restored = cb.ChoiceOptimizer.from_dict(beside.to_dict())
    for opt in (beside, restored):
        opt.tell(query.id, kept(query))
    assert beside.ask() == restored.ask()
    assert [(look["answers"], look["used_from"]) for look in beside.latent_dim_history] == [(8, 9)]
    assert beside.to_dict() == restored.to_dict()
