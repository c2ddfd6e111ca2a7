"""Figures that the insights promise; minutes of fits, hence slow."""

import warnings

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.latent_dim_trials import measure
from choicebo.experiments.toy import toy_dataset
from choicebo.insight import surprises


@pytest.mark.slow
def test_a_wrong_answer_among_sixty_is_in_the_top_three_in_nine_of_ten_seeds():
    found = 0
    for seed in range(10):
        right = toy_dataset(60, noise=0.0, n_test=0, seed=seed).train
        number = int(np.random.default_rng(100 + seed).integers(60))
        choices = list(right.choices)
        shown, rejected = choices[number].shown, choices[number].rejected
        choices[number] = cb.Choice(shown, rejected or shown[:1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = cb.ChoiceGP().fit(cb.ChoiceData(right.X, choices), seed=seed)
        found += number in [each.choice for each in surprises(posterior)[:3]]
    assert found >= 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "n_choices", "expected", "accuracy"), [("cos", 30, 1, 0.75), ("cos-sin", 50, 2, 0.51)]
)
def test_the_number_of_objectives_is_found(task, n_choices, expected, accuracy):
    results = [measure(task, n_choices, seed, max_dim=3) for seed in range(5)]
    assert [result["best"] for result in results].count(expected) >= 4
    assert np.mean([result["accuracy"][str(expected)]["pareto"] for result in results]) >= accuracy
