"""The prior as a linear map from independent normal values, and its derivatives."""

from __future__ import annotations

import jax_reference as reference
import numpy as np
import pytest
from model_helpers import central_differences

import choicebo as cb
from choicebo.model.covariance import Hyperparameters, factors, mixing, squared_differences
from choicebo.model.engines.base import ModelSpec
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood

N_E, OPTIONS, LANES = 3, 7, 5
HYPER = Hyperparameters(
    np.log([[0.4, 0.7], [0.8, 0.5], [0.3, 1.2]]),
    np.log([2.0, 1.5, 3.0]),
    np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-0.3, 1.1, 0.0]]),
)


def options():
    return np.random.default_rng(0).random((OPTIONS, 2))


def whitener(**settings):
    spec = ModelSpec(N_E, **settings)
    return Whitener(spec, squared_differences(options()))


def values(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def test_latent_values_are_those_of_the_reference():
    prior = whitener(kernel="matern52", nugget=0.05).at(HYPER)
    v = values(1, N_E, OPTIONS, LANES)
    problem = reference.Problem(cb.ChoiceData(options(), []), "matern52", 0.05, HYPER, 0.0, N_E)
    expected = np.asarray(reference.latent_values(problem, np.moveaxis(v, 2, 0)))
    found = prior.latent(v.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.moveaxis(found, 2, 0), expected, atol=1e-4)


def test_whitening_latent_values_gives_back_what_they_were_made_of():
    prior = whitener().at(HYPER)
    v = values(1, N_E, OPTIONS, LANES)
    np.testing.assert_allclose(prior.whitened(prior.latent(v.astype(np.float32))), v, atol=1e-4)
    one = prior.latent(v[..., :1].astype(np.float32))[..., 0]
    np.testing.assert_allclose(prior.whitened(one), v[..., 0], atol=1e-4)


def test_pulling_a_gradient_back_is_the_transpose_of_the_map():
    prior = whitener().at(HYPER)
    v, gradient = (values(seed, N_E, OPTIONS, LANES).astype(np.float32) for seed in (1, 2))
    np.testing.assert_allclose(
        (prior.latent(v) * gradient).sum((0, 1)), (v * prior.pulled(gradient)).sum((0, 1)), rtol=1e-4
    )


@pytest.mark.parametrize("correlated", [True, False])
@pytest.mark.parametrize("nugget", [0.0, 0.1])
def test_the_derivative_by_the_hyperparameters_agrees_with_finite_differences(correlated, nugget):
    own = whitener(correlated=correlated, nugget=nugget)
    v, gradient = values(1, N_E, OPTIONS), values(2, N_E, OPTIONS)
    prior = own.at(HYPER)

    def total(hyper):
        """The sum of the gradient times the latent values, in double precision."""
        if not correlated:
            hyper = hyper._replace(coupling=np.zeros((N_E, N_E)))
        lower = factors("matern32", nugget, own.squared, hyper.log_lengthscale).lower
        return (gradient * (mixing(hyper) @ np.stack([L @ one for L, one in zip(lower, v, strict=True)]))).sum()

    by_whitened = prior.pulled(gradient[..., None].astype(np.float32))[..., 0].astype(np.float64)
    found = prior.by_hyper(np.multiply.outer(by_whitened, v))
    for name in Hyperparameters._fields:
        expected = central_differences(lambda at, name=name: total(HYPER._replace(**{name: at})), getattr(HYPER, name))
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-3, atol=1e-3 * np.abs(gradient).max())


def test_independent_objectives_are_not_mixed_whatever_the_coupling():
    prior = whitener(correlated=False).at(HYPER)
    np.testing.assert_allclose(prior.mixing, np.diag(np.exp(HYPER.log_scale)), rtol=1e-6)
    assert not prior.hyper.coupling.any()


def test_only_options_that_were_shown_are_whitened():
    data = cb.ChoiceData(options(), [cb.Choice((1, 4), (4,)), cb.Choice((4, 6, 2), (2,))])
    likelihood = Likelihood.of(data)
    found = Whitener.of(ModelSpec(1), likelihood)
    np.testing.assert_array_equal(found.squared, squared_differences(data.X[[1, 2, 4, 6]]))


@pytest.mark.parametrize("apart", [1e-2, 1e-5, 1e-12])
@pytest.mark.parametrize("kernel", ["matern12", "matern32", "rbf"])
def test_options_that_are_nearly_equal_have_finite_factors_and_slopes(kernel, apart):
    X = 0.5 + apart * (options() - 0.5)
    prior = Whitener(ModelSpec(N_E, kernel, nugget=0.0), squared_differences(X)).at(HYPER)
    assert np.isfinite(prior.factors).all()
    found = prior.by_hyper(values(3, N_E, OPTIONS, N_E, OPTIONS))
    assert all(np.isfinite(part).all() for part in found)
