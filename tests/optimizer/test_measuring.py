"""Objectives that are measured: what is entered, replaced and withdrawn, and what the next question knows of it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import ChoiceboError
from choicebo.history import Event, State
from choicebo.history.events import Measured
from choicebo.optimizer.situation import MOST_MEASURED

SPACE = cb.Space(
    [cb.Real("flour", 1, 5), cb.Integer("minutes", 5, 40)],
    constraints=["flour + minutes <= 44"],
    objectives=["minimise price = 2*flour", "minimise cost = measured", "maximise shelf life = measured"],
)
LOAF, ROLL = {"flour": 2.0, "minutes": 12}, {"flour": 3.0, "minutes": 30}


def told(optimizer):
    return [(each.option, each.name, each.value) for each in optimizer.measurements]


def test_measuring_again_replaces_and_none_withdraws():
    optimizer = cb.ChoiceOptimizer(SPACE)
    optimizer.measure(LOAF, {"shelf life": 3}, cost=12.5)
    optimizer.measure(ROLL, cost=4)
    optimizer.measure(LOAF, cost=13.5)
    assert told(optimizer) == [(LOAF, "shelf life", 3.0), (ROLL, "cost", 4.0), (LOAF, "cost", 13.5)]
    optimizer.measure(LOAF, {"shelf life": None, "cost": None})
    assert told(optimizer) == [(ROLL, "cost", 4.0)]
    optimizer.measure(LOAF, cost=None)  # which is so already
    assert len(optimizer.events) == 4


@pytest.mark.parametrize(
    ("option", "values", "said"),
    [
        (LOAF, {"cots": 1}, "no measured objective called 'cots'. Did you mean 'cost'"),
        (LOAF, {"price": 1}, "'price' is known for every option"),
        (LOAF, {"cost": float("nan")}, "cost is nan: give a finite number"),
        (LOAF, {"cost": float("inf")}, "cost is inf"),
        (LOAF, {"cost": "12"}, "cost is '12'"),
        (LOAF, {"cost": True}, "cost is True"),
        (LOAF, {}, "Nothing was measured"),
        (LOAF, 12.5, "give them by name"),
        ({"flour": 9.0, "minutes": 12}, {"cost": 1}, "accepted is 1 to 5"),
        ({"flour": 5.0, "minutes": 40}, {"cost": 1}, "breaks the constraint"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(option, values, said):
    optimizer = cb.ChoiceOptimizer(SPACE)
    with pytest.raises(ChoiceboError, match=said):
        optimizer.measure(option, values)
    assert optimizer.events == ()


def test_without_a_measured_objective_the_error_says_how_to_declare_one():
    with pytest.raises(ChoiceboError, match="minimise cost = measured"):
        cb.ChoiceOptimizer(cb.Space([cb.Real("a", 0, 1)])).measure({"a": 0.5}, cost=1)


def test_the_model_is_told_of_every_measurement_and_of_no_other():
    optimizer = cb.ChoiceOptimizer(SPACE)
    optimizer.tell(optimizer.ask(), [0])
    before = optimizer.situation
    optimizer.measure(LOAF, cost=12.5)
    now = optimizer.situation
    assert now.key != before.key
    assert now.model_key != before.model_key
    known = pickle.loads(pickle.dumps(now)).known
    np.testing.assert_array_equal(known(SPACE.encode([LOAF, ROLL]))[:, 1], [-12.5, np.nan])
    # An option that was never shown is learned from, and still counts as new.
    assert now.data.n_options == before.data.n_options + 1
    assert len(now.seen) == len(before.seen)
    optimizer.measure(LOAF, cost=13.0)
    assert optimizer.situation.key != now.key
    assert optimizer.situation.model_key != now.model_key
    optimizer.measure(LOAF, cost=None)
    assert optimizer.situation.model_key == before.model_key


def test_a_saved_optimiser_has_what_was_measured():
    optimizer = cb.ChoiceOptimizer(SPACE)
    optimizer.measure(LOAF, cost=12.5)
    again = cb.ChoiceOptimizer.from_dict(optimizer.to_dict())
    assert told(again) == told(optimizer)
    assert again.situation.model_key == optimizer.situation.model_key


def test_undo_leaves_measurements_alone():
    optimizer = cb.ChoiceOptimizer(SPACE)
    optimizer.tell(optimizer.ask(), [0])
    optimizer.measure(LOAF, cost=12.5)
    optimizer.undo()
    assert optimizer.n_answers == 0
    assert told(optimizer) == [(LOAF, "cost", 12.5)]


def test_the_prices_of_a_catalogue_are_learned_from_whether_shown_or_not():
    rows = [{"sku": n, "fat": n, "price": None if n % 3 else 2 * n} for n in range(1, 1001)]
    optimizer = cb.ChoiceOptimizer(cb.Catalogue(rows, objectives=["minimise price"]), query_size=3)
    optimizer.tell(optimizer.ask(), [0])
    situation = optimizer.situation
    assert situation.data.n_options <= 3 + MOST_MEASURED
    optimizer.measure(2, price=5)
    assert optimizer.situation.known(situation.space.encode([2]))[0, 0] == -5.0
    # What the table says can be corrected, and comes back.
    optimizer.measure(3, price=7)
    assert optimizer.situation.known(situation.space.encode([3]))[0, 0] == -7.0
    optimizer.measure(3, price=None)
    assert optimizer.situation.known(situation.space.encode([3]))[0, 0] == -6.0


def test_what_was_only_measured_is_nothing_to_compare_with():
    space = cb.Space([cb.Real("flour", 1, 5), cb.Integer("minutes", 5, 40)], objectives=["minimise cost"])
    optimizer = cb.ChoiceOptimizer(space, latent_dim=1, engine="laplace", initial_queries=3, query_size=5, seed=2)
    for _ in range(4):
        question = optimizer.ask()
        optimizer.tell(question, [max(range(5), key=lambda at: question.options[at]["flour"])])
        optimizer.measure(question.options[0], cost=20.0 + question.options[0]["minutes"])
    cheap = [{"flour": 5.0 - 0.01 * number, "minutes": 6 + 3 * number} for number in range(8)]
    for option in cheap:
        optimizer.measure(option, cost=1.0)  # large, by far the cheapest, and nobody was asked about them
    question = optimizer.ask()
    shown = [option for each in optimizer.queries[:-1] for option in each.options]
    assert not any(option in shown for option in cheap)
    known = [option for option, is_new in zip(question.options, question.new, strict=True) if not is_new]
    assert len(known) == 3
    assert all(option in shown for option in known)
    assert all(each.option in shown for each in optimizer.pareto_set(0.0))


def test_what_one_rater_measured_is_known_to_all():
    state = State([Event(1, "measurement", "ann", measured=Measured({"x": 1}, {"cost": 2.0}))])
    for rater in (None, "ann", "owner"):
        (event,) = state.effective(rater)
        assert event.measured == Measured({"x": 1}, {"cost": 2.0})
        assert state.last(rater) == 1
    assert state.learned_until == 1
