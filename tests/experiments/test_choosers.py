from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from choicebo.errors import InvalidInputError
from choicebo.experiments.choosers import Chooser, pareto_choice, random_sets

few_levels = st.integers(1, 3).flatmap(
    lambda n_o: st.integers(1, 6).flatmap(lambda k: arrays(float, (k, n_o), elements=st.integers(0, 3)))
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(few_levels)
def test_an_option_is_kept_exactly_if_no_other_dominates_it(values):
    expected = tuple(i for i, v in enumerate(values) if not any(np.all(w >= v) and np.any(w > v) for w in values))
    assert pareto_choice(values) == expected


@given(few_levels, st.randoms(use_true_random=False))
def test_permuting_the_options_permutes_what_is_kept(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    assert {order[i] for i in pareto_choice(values[order])} == set(pareto_choice(values))


def test_equal_options_are_kept_or_rejected_together():
    assert pareto_choice([[1, 1], [0, 0], [1, 1], [0, 0]]) == (0, 2)


def test_a_single_option_is_kept():
    assert pareto_choice([[-3.0, -4.0]]) == (0,)


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [[]], [[np.nan, 1.0]]])
def test_values_without_options_or_objectives_are_refused(values):
    with pytest.raises(InvalidInputError, match="one row per option"):
        pareto_choice(values)


def test_a_chooser_without_noise_keeps_the_pareto_set_of_its_objectives():
    person = Chooser(lambda X: np.column_stack([X[:, 0], -X[:, 0]]) * X[:, 1:])
    assert person(np.array([[0.2, 1.0], [0.8, 1.0]]), rng()) == (0, 1)
    assert person(np.array([[0.2, 0.0], [0.2, 0.0]]), rng()) == (0, 1)


def test_a_chooser_that_needs_no_chance_draws_none():
    generator = rng(3)
    Chooser(np.asarray)([[1.0], [2.0]], generator)
    assert generator.random() == rng(3).random()


def test_noise_is_drawn_anew_for_every_answer():
    # Two options 1 apart with noise sd 1 each: the worse one wins with probability Phi(-1/sqrt 2) = 0.2398.
    person, generator = Chooser(np.asarray, noise=1.0), rng()
    answers = Counter(person([[0.0], [1.0]], generator) for _ in range(4000))
    assert set(answers) == {(0,), (1,)}
    assert answers[(0,)] / 4000 == pytest.approx(0.2398, abs=0.03)


def test_a_lapse_takes_every_non_empty_subset_equally_often():
    person, generator = Chooser(np.asarray, lapse=1.0), rng()
    answers = Counter(person([[0.0], [1.0], [2.0]], generator) for _ in range(7000))
    assert len(answers) == 7
    assert all(abs(count - 1000) < 150 for count in answers.values())


def test_lapses_come_at_their_rate():
    person, generator = Chooser(np.asarray, lapse=0.2), rng()
    answers = Counter(person([[0.0], [1.0]], generator) for _ in range(5000))
    # One lapse in three is the right answer by chance.
    assert answers[(1,)] / 5000 == pytest.approx(0.8 + 0.2 / 3, abs=0.03)


def test_the_same_generator_gives_the_same_answers():
    person = Chooser(np.asarray, noise=0.5, lapse=0.1)
    values = rng(9).random((5, 2))
    first, second = rng(4), rng(4)
    assert [person(values, first) for _ in range(20)] == [person(values, second) for _ in range(20)]


@pytest.mark.parametrize("settings", [{"noise": -1.0}, {"noise": np.nan}, {"lapse": 1.5}, {"lapse": -0.1}])
def test_impossible_noise_and_lapse_are_refused(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        Chooser(np.asarray, **settings)


def test_objectives_that_are_no_function_are_refused():
    with pytest.raises(InvalidInputError, match="give a function"):
        Chooser(np.zeros((3, 2)))


def test_random_sets_are_different_and_ascending():
    sets = random_sets(6, 3, 20, rng())
    assert sets.shape == (20, 3)
    assert len({tuple(row) for row in sets.tolist()}) == 20
    assert np.all(np.diff(sets, axis=1) > 0)


def test_a_longer_list_of_random_sets_begins_with_the_shorter_one():
    assert np.array_equal(random_sets(30, 4, 50, rng())[:20], random_sets(30, 4, 20, rng()))


def test_no_random_sets_are_an_empty_table():
    assert random_sets(5, 2, 0, rng()).shape == (0, 2)


@pytest.mark.parametrize(("n_options", "set_size", "n_sets"), [(4, 2, 7), (2, 3, 1), (5, 0, 1), (-1, 1, 1)])
def test_more_sets_than_exist_are_refused(n_options, set_size, n_sets):
    with pytest.raises(InvalidInputError, match="ask for fewer sets"):
        random_sets(n_options, set_size, n_sets, rng())
