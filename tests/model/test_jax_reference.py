"""The reference is right: against stored values, closed forms and finite differences; and it notices a wrong engine."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax_reference as reference
import numpy as np
import pytest
from arviz_stats.base import array_stats
from model_helpers import central_differences, choice_data, mixed_data, winner_data
from scipy.stats import norm

import choicebo as cb
from choicebo.model.covariance import Hyperparameters, covariance

CASES = json.loads((Path(__file__).parent / "likelihood_cases.json").read_text())
SETTINGS = [
    (mixed_data(), 1, {"noise": 1.3}),
    (mixed_data(), 2, {"noise": 0.8}),
    (mixed_data(), 3, {"lapse": 0.05}),
    (winner_data(), 1, {"likelihood": "batch_preference", "noise": 0.7, "lapse": 0.02}),
]


@pytest.mark.parametrize("n_e", [1, 2, 3, 4])
def test_the_likelihood_agrees_with_the_stored_values(n_e):
    cases = [case for case in CASES if len(case["latent"][0]) == n_e]
    starts = np.cumsum([0, *(len(case["latent"]) for case in cases)])
    latent = np.concatenate([np.array(case["latent"]) / case["sigma"] for case in cases])
    choices = [
        (range(start, start + len(case["chosen"])), start + np.flatnonzero(case["chosen"]))
        for start, case in zip(starts, cases, strict=False)
    ]
    values = jax.jit(lambda f: reference.log_likelihoods(f, choice_data(starts[-1], choices)))(latent.T)
    np.testing.assert_allclose(values, [case["log_likelihood"] for case in cases], rtol=1e-10)


@pytest.mark.parametrize(("data", "n_e", "settings"), SETTINGS)
def test_values_and_gradient_agree_with_the_exact_likelihood(data, n_e, settings):
    latent = 2.0 * np.random.default_rng(n_e).normal(size=(n_e, 8))

    @jax.jit
    @jax.value_and_grad
    def total(f):
        return reference.log_likelihoods(f, data, **settings).sum()

    def exact(f):
        return cb.choice_log_likelihood(f.T, data, **settings).sum()

    value, slope = total(latent)
    np.testing.assert_allclose(value, exact(latent), rtol=1e-9)
    np.testing.assert_allclose(slope, central_differences(exact, latent), rtol=1e-6, atol=1e-8)


def test_latent_values_have_the_covariance_of_the_model():
    X = np.random.default_rng(0).random((4, 2))
    hyper = Hyperparameters(np.log([[0.3, 0.6], [0.9, 0.4]]), np.log([2.0, 3.0]), np.array([[0.0, 0.0], [0.75, 0.0]]))
    problem = reference.Problem(cb.ChoiceData(X, []), "matern52", 0.1, hyper, 0.0, 2)
    units = np.eye(8).reshape(8, 2, 4)
    columns = np.asarray(reference.latent_values(problem, units)).reshape(8, 8)
    one, two = (0.9 * covariance("matern52", X, X, l) + 0.1 * np.eye(4) for l in np.exp(hyper.log_lengthscale))
    # With the coupling 3/4 the second objective is 3/5 of the first part and 4/5 of its own, times its scale 3.
    expected = np.block([[4.0 * one, 3.6 * one], [3.6 * one, 9.0 * (0.36 * one + 0.64 * two)]])
    np.testing.assert_allclose(columns.T @ columns, expected, atol=2e-5)


def test_the_log_posterior_is_that_of_normal_values_and_the_exact_likelihood():
    problem = reference.reference_problem()
    log_density = jax.jit(reference.log_posterior(problem))
    one, other = np.random.default_rng(1).normal(size=(2, 2, 12))

    def expected(v):
        latent = np.asarray(reference.latent_values(problem, v)).T
        return norm.logpdf(v).sum() + cb.choice_log_likelihood(latent, problem.data, lapse=problem.lapse).sum()

    np.testing.assert_allclose(log_density(one) - log_density(other), expected(one) - expected(other), rtol=1e-9)


def test_nuts_finds_the_closed_form_of_one_preference():
    data = cb.ChoiceData([[0.0], [0.5]], [cb.Choice((0, 1), (0,))])
    hyper = Hyperparameters(np.log([[0.6]]), np.log([1.7]), np.zeros((1, 1)))
    problem = reference.Problem(data, "matern32", 0.01, hyper, 0.0, 1)
    draws = reference.nuts(reference.log_posterior(problem), np.zeros((1, 2)), 1000, 200, 2, seed=1)
    latent = np.asarray(reference.latent_values(problem, draws))[:, :, 0]
    found = reference.moments(latent[..., 0] - latent[..., 1])
    # A normal difference times Phi(difference / sqrt 2) is skew-normal.
    prior = 2.0 * 1.7**2 * (1.0 - 0.99 * covariance("matern32", data.X, data.X, np.array([0.6]))[0, 1])
    mean = prior / np.sqrt(prior + 2.0) * np.sqrt(2.0 / np.pi)
    assert abs(found.mean - mean) < 4 * found.mean_error
    assert abs(found.deviation - np.sqrt(prior - mean**2)) < 4 * found.deviation_error
    assert found.mean_error < 0.1 * found.deviation


@pytest.mark.slow
def test_the_stored_moments_are_those_of_another_long_run():
    draws = reference.reference_draws(draws=1000, chains=4, seed=0)
    for values in reference.reference_quantities(draws).values():
        assert array_stats.rhat(values) < 1.01
        assert array_stats.ess(values) > 1000
    assert max(map(abs, reference.differences_from_reference(draws).values())) < 4


@pytest.mark.slow
def test_a_wrong_weight_of_the_prior_is_noticed():
    right = reference.log_posterior(reference.reference_problem())
    draws = reference.nuts(lambda v: right(v) + 0.15 * (v * v).sum(), np.zeros((2, 12)), 200, 200, 2, seed=0)
    assert reference.differences_from_reference(draws)["mean of squares"] > 10
