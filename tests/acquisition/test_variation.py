"""Small changes of the best options."""

import numpy as np
from acquisition_helpers import known, prior_belief

from choicebo.acquisition import Variation
from choicebo.acquisition.propose import best_points
from choicebo.space import Catalogue, Categorical, Integer, Real, Space

AROUND = np.array([[0.2, 0.8], [0.6, 0.5]])


def test_variations_are_near_some_of_the_best_and_feasible():
    space = Space([Real("a", 0, 1), Real("b", 0, 1)], constraints=["a + b <= 1.05"])
    found = np.concatenate([Variation().near(space, AROUND, seed) for seed in range(50)])
    assert space.feasible(found).all()
    distance = np.abs(found[:, None] - AROUND[None]).max(2).min(1)
    assert distance.max() < 0.5
    assert 0.005 < np.median(distance) < 0.1
    assert len(np.unique(found, axis=0)) > 100


def test_discrete_parameters_move_by_whole_steps():
    space = Space([Integer("k", 0, 4), Categorical("c", ["x", "y", "z"])])
    here = space.encode([{"k": 2, "c": "y"}])
    options = space.decode(Variation().near(space, here, 0))
    assert {(option["k"], option["c"]) for option in options} >= {(1, "y"), (3, "y"), (2, "x"), (2, "z")}


def test_the_same_seed_gives_the_same_variations():
    space = Space([Real("a", 0, 1), Real("b", 0, 1)])
    first, second, other = (Variation().near(space, AROUND, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_the_proposed_option_is_near_the_believed_front():
    belief = prior_belief(draws=32)
    front = belief.X[known(belief).front]
    space = Space([Real("a", 0, 1), Real("b", 0, 1)])
    point = best_points(belief, space, Variation(), belief.X, seed=0).X[0]
    assert np.abs(front - point).max(1).min() < 0.5
    assert not (point == belief.X).all(1).any()


def test_a_catalogue_has_no_small_changes_and_is_gone_through():
    belief = prior_belief(draws=32)
    rows = [
        {"key": str(i), "a": float(a), "b": float(b)}
        for i, (a, b) in enumerate(np.random.default_rng(0).random((30, 2)))
    ]
    catalogue = Catalogue(rows, key="key")
    assert len(best_points(belief, catalogue, Variation(), belief.X[:0], seed=0).X) == 30
