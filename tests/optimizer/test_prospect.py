"""What is left of a situation for the next question."""

import dataclasses
import pickle

import numpy as np

import choicebo as cb
from choicebo.history import Steering
from choicebo.optimizer.situation import Situation

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


def answered(count: int) -> cb.ChoiceOptimizer:
    optimizer = cb.ChoiceOptimizer(SPACE, latent_dim=1, engine="laplace", initial_queries=10, query_size=3)
    for _ in range(count):
        optimizer.tell(optimizer.ask(), [0])
    return optimizer


def rows(points: np.ndarray) -> set[tuple[float, ...]]:
    return set(map(tuple, points.tolist()))


def test_what_was_shown_since_the_model_learned_is_pending_and_so_are_open_questions() -> None:
    optimizer = answered(5)
    situation = optimizer.situation
    shown = [rows(SPACE.encode(question.options)) for question in situation.questions]
    assert rows(situation.prospect().pending) == set()
    assert rows(situation.quick_prospect(3).pending) == shown[3] | shown[4]
    optimizer.ask()
    situation = optimizer.situation
    shown.append(rows(SPACE.encode(situation.questions[-1].options)))
    assert rows(situation.prospect().pending) == shown[5]
    assert rows(situation.quick_prospect(4).pending) == shown[4] | shown[5]
    assert rows(situation.prospect().seen) == set().union(*shown)


def test_a_question_depends_on_who_answered_where_people_are_told_apart() -> None:
    events = answered(3).situation.events
    others = tuple(dataclasses.replace(event, rater="bo") if event.kind == "answer" else event for event in events)
    settings = answered(0).settings
    for people in (False, True):
        keys = {Situation(SPACE, settings, each, people=people).key for each in (events, others)}
        assert len(keys) == 1 + people


def test_choices_are_sent_only_where_the_model_may_have_nothing_to_ask_about() -> None:
    situation = answered(4).situation
    assert situation.quick_prospect(4).kept == ()
    assert [kept for _, kept in situation.prospect().kept] == [(0,)] * 4
    space = cb.Space([*SPACE.parameters, cb.Context("season", ["summer", "winter"])])
    optimizer = cb.ChoiceOptimizer(space, latent_dim=1, initial_queries=10, query_size=3)
    optimizer.tell(optimizer.ask(context={"season": "summer"}), [0])
    winter = dataclasses.replace(optimizer.situation, steering=Steering(context={"season": "winter"}))
    assert len(winter.quick_prospect(1).kept) == 1


def test_it_takes_less_to_send_than_the_history() -> None:
    situation = answered(40).situation
    assert 2 * len(pickle.dumps(situation.quick_prospect(40))) < len(pickle.dumps(situation))
