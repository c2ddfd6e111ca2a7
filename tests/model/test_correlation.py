"""Latent functions that go together or against each other."""

import dataclasses

import numpy as np
import pytest

import choicebo as cb
from choicebo.experiments.choosers import pareto_choice
from choicebo.model.covariance import Hyperparameters


def answers(objectives, sets=40, options=14, seed=0) -> cb.ChoiceData:
    """Exact choices among random options in a plane."""
    rng = np.random.default_rng(seed)
    X = rng.random((options, 2))
    values = objectives(X)
    shown = [rng.choice(options, 3, replace=False) for _ in range(sets)]
    return cb.ChoiceData(X, [cb.Choice(tuple(s), tuple(s[list(pareto_choice(values[s]))])) for s in shown])


def alike(X):
    return np.stack([X.sum(1), X.sum(1) + 0.1 * np.sin(9 * X[:, 0])], axis=1)


def opposed(X):
    return np.stack([X.sum(1), -X.sum(1) + 0.5 * np.sin(9 * X[:, 0])], axis=1)


def test_correlation_is_learned_with_its_sign():
    model = cb.ChoiceGP(engine="laplace")
    together, against = model.fit(answers(alike)), model.fit(answers(opposed))
    assert together.correlations[1, 0] > 0.5
    assert against.correlations[1, 0] < -0.2
    for posterior in (together, against):
        np.testing.assert_allclose(np.diag(posterior.correlations), 1.0)
        np.testing.assert_allclose((posterior.mixing**2).sum(1), posterior.scales**2)


def test_independent_latent_functions_stay_so_whatever_they_start_from():
    data = answers(alike)
    centre = cb.ChoiceGP().prior.centre(2, 2)
    start = Hyperparameters(centre.log_lengthscale, centre.log_scale, np.array([[0.0, 0.0], [2.0, 0.0]]))
    posterior = cb.ChoiceGP(engine="laplace", correlated=False).fit(data, start=start)
    np.testing.assert_array_equal(posterior.correlations, np.eye(2))


def test_joint_draws_have_the_covariance_of_the_mixed_parts():
    """Far from all options the posterior is the prior, whose covariance is known."""
    posterior = cb.ChoiceGP(engine="laplace").fit(answers(opposed, sets=4))
    short = posterior.hyper._replace(log_lengthscale=np.full((2, 2), np.log(0.01)))
    far = dataclasses.replace(posterior, hyper=short)
    draws = far.sample([[5.0, 5.0]], draws=20_000, seed=1)[:, 0]
    expected = far.mixing @ far.mixing.T
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.05 * expected.max())
    band = far.latent([[5.0, 5.0]])
    half = 1.96 * np.sqrt(np.diag(expected))
    np.testing.assert_allclose(band.upper[0] - band.mean[0], half, rtol=0.03)


@pytest.mark.parametrize("given", [1, "yes", None])
def test_correlated_is_true_or_false(given):
    with pytest.raises(cb.InvalidInputError, match="correlated must be True or False"):
        cb.ChoiceGP(correlated=given)
