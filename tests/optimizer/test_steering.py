"""What a person asks of the next question: locked properties, more like an option, options of their own."""

import itertools
import threading

import pytest

import choicebo as cb
from choicebo.errors import ChoiceboError
from choicebo.history import Steering
from choicebo.model.engines import Hamiltonian, Limits
from choicebo.optimizer import situation as compute
from choicebo.optimizer.steered import Part

SPACE = cb.Space(
    [cb.Real("heat", 150, 220), cb.Integer("minutes", 5, 40), cb.Categorical("flour", ["rye", "wheat", "spelt"])],
    constraints=["heat + minutes <= 250"],
)
MINE = {"heat": 200.0, "minutes": 12, "flour": "wheat"}


def loop(answers=0, **settings):
    optimizer = cb.ChoiceOptimizer(SPACE, **{"engine": "laplace", "latent_dim": 1, "initial_queries": 2, **settings})
    for _ in range(answers):
        optimizer.tell(optimizer.ask(), [0])
    return optimizer


@pytest.mark.parametrize("answers", [0, 3])
def test_new_options_have_the_locked_values_until_the_lock_is_taken_off(answers):
    optimizer = loop(answers)
    for question in (optimizer.ask(locked={"flour": "rye", "minutes": 20}), optimizer.ask()):
        assert len(question.options) == 5
        assert all(option["flour"] == "rye" and option["minutes"] == 20 for option, _ in question.new_options)
        assert all(SPACE.contains(option) for option in question.options)
    assert optimizer.locked == {"flour": "rye", "minutes": 20}
    free = optimizer.ask(locked={})
    assert optimizer.locked == {}
    assert any(option["minutes"] != 20 for option, _ in free.new_options)


def test_a_locked_value_may_lie_between_two_steps():
    space = cb.Space([cb.Real("heat", 150, 220, step=5), cb.Real("salt", 1, 3), cb.Real("water", 60, 80)])
    question = cb.ChoiceOptimizer(space).ask(locked={"heat": 187.5})
    assert {option["heat"] for option in question.options} == {187.5}


def test_first_options_with_a_locked_value_differ_noticeably():
    space = cb.Space([cb.Real("heat", 0, 1), cb.Real("salt", 0, 1)])
    question = cb.ChoiceOptimizer(space, least_difference=0.15, seed=1).ask(locked={"heat": 0.5})
    salt = sorted(option["salt"] for option in question.options)
    assert min(after - before for before, after in itertools.pairwise(salt)) >= 0.15


def test_known_options_beside_locked_ones_have_the_locked_values_too():
    optimizer = loop()
    for _ in range(4):
        optimizer.tell(optimizer.ask(locked={"flour": "rye"}), [0, 1])
    question = optimizer.ask()
    assert question.latent_dim == 1
    assert not all(question.new)
    assert {option["flour"] for option in question.options} == {"rye"}


@pytest.mark.parametrize("answers", [0, 3])
def test_more_like_an_option_shows_it_beside_new_ones_that_resemble_it(answers):
    question = loop(answers).ask(like=MINE)
    assert MINE in question.options
    for option, finder in question.new_options:
        if finder != "own":
            assert option["heat"] == pytest.approx(200, abs=0.25 * 70)
            assert abs(option["minutes"] - 12) <= 0.25 * 35
    assert len(question.options) == 5


@pytest.mark.parametrize("answers", [0, 3])
def test_an_own_option_is_in_the_next_question_and_in_no_other(answers):
    optimizer = loop(answers)
    question = optimizer.ask(include=[MINE])
    assert MINE in question.options
    assert (MINE, "own") in question.new_options
    assert question.wishes == Steering(include=(MINE,))
    assert optimizer.ask().wishes == Steering()


def test_a_steered_question_is_a_function_of_what_happened_and_of_the_wishes():
    first, second = (loop(3).ask(locked={"flour": "rye"}, like=MINE | {"flour": "rye"}) for _ in range(2))
    assert first == second
    assert first.options != loop(3).ask().options


def test_a_restored_optimiser_keeps_its_locks_and_asks_the_same():
    optimizer = loop(3)
    optimizer.tell(optimizer.ask(locked={"flour": "spelt"}), [0])
    restored = cb.ChoiceOptimizer.from_dict(optimizer.to_dict())
    assert restored.locked == {"flour": "spelt"}
    assert restored.ask() == optimizer.ask()


@pytest.mark.parametrize(
    ("wishes", "sentence"),
    [
        ({"locked": {"flower": "rye"}}, "Did you mean 'flour'"),
        ({"locked": {"flour": "oat"}}, "accepted are 'rye'"),
        ({"locked": {"heat": 300}}, "accepted is"),
        ({"locked": {"heat": 220, "minutes": 40}}, "nothing is left to vary"),
        ({"locked": MINE}, "nothing is left to vary"),
        ({"locked": 3}, "give a dict"),
        ({"include": [{"heat": 220, "minutes": 40, "flour": "rye"}]}, "breaks the constraint 'heat"),
        ({"include": [MINE, MINE]}, "twice"),
        ({"include": MINE}, "give a list"),
        ({"include": [MINE | {"minutes": at} for at in range(5, 10)]}, "at most 4"),
        ({"like": {"heat": 200}}, "no value for"),
    ],
)
def test_wishes_that_cannot_be_fulfilled_are_refused_and_change_nothing(wishes, sentence):
    optimizer = loop()
    with pytest.raises(ChoiceboError, match=sentence):
        optimizer.ask(**wishes)
    assert optimizer.queries == ()
    assert optimizer.locked == {}


def test_rows_of_a_catalogue_can_be_locked_and_resembled():
    rows = [{"sku": f"{kind}{price}", "kind": kind, "price": price} for kind in ("a", "b") for price in range(1, 9)]
    optimizer = cb.ChoiceOptimizer(cb.Catalogue(rows, key="sku"), query_size=4)
    question = optimizer.ask(locked={"kind": "b"})
    assert {option["kind"] for option in question.options} == {"b"}
    question = optimizer.ask(locked={}, like="a4", include=["b8"])
    assert {"a4", "b8"} < {option["sku"] for option in question.options}
    with pytest.raises(ChoiceboError, match="No option has 'kind' at 'c'"):
        optimizer.ask(locked={"kind": "c"})


def test_when_all_that_fits_was_shown_it_is_shown_again():
    space = cb.Space([cb.Categorical("a", ["x", "y", "z"]), cb.Categorical("b", ["p", "q"])])
    optimizer = cb.ChoiceOptimizer(space, query_size=3, engine="laplace", latent_dim=1, initial_queries=1)
    for _ in range(3):
        question = optimizer.ask(locked={"b": "p"})
        assert {option["b"] for option in question.options} == {"p"}
        optimizer.tell(question, [0])


def test_the_part_of_a_large_space_that_is_wished_for_is_feasible_and_distinct():
    part = Part(SPACE, Steering({"minutes": 40}))
    points = part.enumerate()
    assert len(points) > 100
    assert SPACE.feasible(points).all()
    assert part.feasible(points).all()
    assert len({tuple(point) for point in points}) == len(points) == part.size
    assert all(option["minutes"] == 40 for option in SPACE.decode(part.sobol(8)))


def test_who_is_impatient_is_asked_something_that_needs_no_model(monkeypatch):
    go, fit = threading.Event(), compute.Situation.fit
    monkeypatch.setattr(compute.Situation, "fit", lambda *given: go.wait(60) and fit(*given))
    optimizer = loop(2)
    question = optimizer.ask(patience=0.05)
    assert question.strategy == "stand-in"
    assert optimizer.ask(patience=60).strategy == "stand-in"  # nobody waits for the same twice
    go.set()
    with pytest.raises(ChoiceboError, match="patience is 0"):
        optimizer.ask(patience=0)


def test_a_poor_fit_warns_once_and_not_at_questions(recwarn):
    engine = Hamiltonian(num_warmup=4, num_samples=4, max_samples=4, groups=1, limits=Limits(1.0, 1e6))
    optimizer = loop(3, engine=engine)
    optimizer.ask()
    assert not recwarn.list
    with pytest.warns(cb.ConvergenceWarning):
        optimizer.posterior()
    optimizer.tell(optimizer.ask(), [0])
    recwarn.clear()
    optimizer.pareto_set()
    assert not recwarn.list
