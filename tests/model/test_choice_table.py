from __future__ import annotations

import numpy as np
import pytest
from model_helpers import choice_data
from scipy.stats import norm

import choicebo as cb
from choicebo.model.choice_table import MAX_SET, choice_table, joint_wins, subset_of_code
from choicebo.model.likelihood import log_joint_wins


@pytest.mark.parametrize("spread", [0.5, 2.0, 6.0])
def test_every_column_is_the_likelihood_of_its_subset(spread):
    rng = np.random.default_rng(0)
    latent = spread * rng.normal(size=(20, 4, 2))
    subsets = [subset_of_code(code, 4) for code in range(1, 16)]
    data = choice_data(4, [(range(4), kept) for kept in subsets])
    exact = np.exp([cb.choice_log_likelihood(draw, data) for draw in latent])
    np.testing.assert_allclose(choice_table(latent), exact, atol=1e-5)
    with_exact_integrals = choice_table(latent, lambda z: np.exp(log_joint_wins(z)))
    np.testing.assert_allclose(with_exact_integrals, exact, rtol=1e-9, atol=1e-14)


def test_the_chance_that_a_group_wins_is_that_of_simulated_noise():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(3, 2, 1))
    draws = 200_000
    beats = (z + rng.standard_normal((3, 2, draws)) > rng.standard_normal((2, draws))).all(1)
    for code, value in enumerate(joint_wins(z)[:, 0], start=1):
        share = beats[list(subset_of_code(code, 3))].all(0).mean()
        assert abs(value - share) < 5 * np.sqrt(share * (1 - share) / draws)


def test_two_options_in_one_dimension_have_probabilities_in_closed_form():
    difference = np.linspace(-6, 6, 13)
    latent = np.stack([difference, np.zeros(13)], axis=1)[:, :, None]
    first = norm.cdf(difference / np.sqrt(2))
    expected = np.stack([first, 1 - first, first * (1 - first)], axis=1)
    np.testing.assert_allclose(choice_table(latent), expected, atol=1e-12)


def test_the_subsets_of_a_set_do_not_in_general_sum_to_one():
    # Of two options that tie, each is alone with probability 1/2, and both are kept with probability 1/4.
    np.testing.assert_allclose(choice_table(np.zeros((1, 2, 1))).sum(), 1.25)


def test_all_values_are_probabilities_even_far_apart():
    ranks = np.random.default_rng(1).permuted(np.tile(np.arange(5.0), (50, 3, 1)), axis=2)
    latent = 1e3 * ranks.swapaxes(1, 2)
    table = choice_table(latent)
    assert table.shape == (50, 31)
    assert np.all((table >= 0) & (table <= 1))
    # Far apart there is no doubt: the undominated options are kept.
    beats = (latent[:, :, None] > latent[:, None]).all(-1).any(1)
    codes = ((~beats) << np.arange(5)).sum(1)
    np.testing.assert_allclose(table[np.arange(50), codes - 1], 1.0, atol=1e-9)


def test_draws_do_not_influence_each_other():
    latent = np.random.default_rng(2).normal(size=(300, 9, 3))  # more than one portion
    table = choice_table(latent)
    for draw in (0, 150, 299):
        np.testing.assert_allclose(table[draw], choice_table(latent[draw : draw + 1])[0], rtol=1e-9, atol=1e-15)


def test_no_draws_give_an_empty_table():
    assert choice_table(np.zeros((0, 3, 2))).shape == (0, 7)


def test_a_set_with_too_many_subsets_is_refused():
    with pytest.raises(cb.InvalidInputError, match=f"at most {MAX_SET} options"):
        choice_table(np.zeros((1, MAX_SET + 1, 1)))
