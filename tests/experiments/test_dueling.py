"""Dueling scalarised Thompson sampling, a rival that is told the order in each objective."""

import numpy as np
import pytest

from choicebo.acquisition.scalarised_thompson import ScalarisedThompson
from choicebo.choices import ChoiceData
from choicebo.experiments import optimisation_trials
from choicebo.experiments.baselines import dueling
from choicebo.experiments.problems import unit_space


def test_it_hears_the_order_in_each_objective_and_nothing_else():
    values = np.array([[0.1, 3.0], [0.4, 1.0], [0.2, 2.0], [0.4, 0.0]])
    first, second = (dueling.compared((0, 1, 2), column) for column in values.T)
    assert [choice.kept for choice in first] == [(1,), (2,)]
    assert [choice.kept for choice in second] == [(0,), (2,)]
    assert dueling.compared((1, 3), values[:, 0]) == []  # alike: nothing is said


def test_it_finds_a_front_better_than_chance():
    made = {}
    for name in ("dueling", "sobol"):
        protocol = optimisation_trials.Protocol(("tilted-bowls",), (name,), iterations=10, repetitions=1)
        (trial,) = optimisation_trials.trials(protocol)
        made[name] = optimisation_trials.run_trial(trial)
    ends = {name: result["log_hv_difference_per_option"] for name, result in made.items()}
    assert len(ends["dueling"]) == 21  # two new options each time
    assert ends["dueling"][10] < ends["sobol"][10]


def test_both_options_are_best_for_the_same_weights_and_differ(monkeypatch):
    weights = []
    prepare = ScalarisedThompson.prepare
    monkeypatch.setattr(
        ScalarisedThompson, "prepare", lambda self, *given: weights.append(self.weight) or prepare(self, *given)
    )
    space = unit_space(2)
    X = space.sobol(8)
    orders = [dueling.compared(range(8), column) for column in X.T]
    draws = dueling.believed(X, orders, dueling.one_objective(), 0)
    pair = dueling.duel(draws, space, X, 0)
    assert pair.shape == (2, 2)
    assert not np.array_equal(*pair)
    assert len(set(weights)) == 1
    assert sum(weights[0]) == pytest.approx(1.0)


def test_an_option_that_ties_with_all_others_in_one_objective_is_believed_in_too() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((8, 2))
    values = np.column_stack([X[:, 0], X[:, 1]])
    values[[2, 5], 1] = 0.5
    sets = [(0, 1, 3, 4), (2, 5), (6, 7, 0), (3, 6, 1)]
    orders = [[each for shown in sets for each in dueling.compared(shown, column)] for column in values.T]
    draws = dueling.believed(X, orders, dueling.one_objective(), 0)
    assert draws.latent.shape[1:] == (8, 2)
    np.testing.assert_array_equal(draws.X, X)
    mean = draws.latent.mean(0)
    assert np.corrcoef(mean[:, 0], X[:, 0])[0, 1] > 0.7
    compared = [0, 1, 3, 4, 6, 7]
    assert np.corrcoef(mean[compared, 1], X[compared, 1])[0, 1] > 0.7
    own = dueling.one_objective().fit_silently(ChoiceData(X, orders[1]), 0).draws.thinned(dueling.DRAWS)
    np.testing.assert_allclose(draws.latent[:, compared, 1], own.at(X[compared], 0)[..., 0], atol=1e-4)
    # Where nothing was said, the draws differ more than where it was.
    assert draws.latent[:, [2, 5], 1].std(0).min() > 0.5 * draws.latent[:, compared, 1].std(0).mean()
