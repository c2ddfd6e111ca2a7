"""The prior at hyperparameters that are only on the way to better ones: cheaper, and nearly the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import choicebo as cb
from choicebo.model.batching import make_batch
from choicebo.model.engines.base import ModelSpec, whiten, whitener
from choicebo.model.kernels import HyperPrior


def setting(nugget=0.01, apart=1.0, n_options=60):
    rng = np.random.default_rng(0)
    X = 0.5 + apart * (rng.random((n_options, 3)) - 0.5)
    shown = [tuple(rng.choice(n_options, 3, replace=False).tolist()) for _ in range(40)]
    batch, _ = make_batch(cb.ChoiceData(X, [cb.Choice(options, options[:1]) for options in shown]))
    batch = jax.tree.map(jnp.asarray, batch)
    spec = ModelSpec(2, nugget=nugget)
    hyper = HyperPrior().centre(3, 2)
    return spec, batch, hyper._replace(log_lengthscale=hyper.log_lengthscale + rng.normal(0, 0.5, (2, 3)))


def test_single_precision_gives_nearly_the_same_prior_and_slopes():
    spec, batch, hyper = setting()
    weights = jax.random.normal(jax.random.key(0), (2, batch.X.shape[0], batch.X.shape[0]))

    def total(prior):
        return (weights * prior.factors).sum() + prior.mixing.sum()

    exact, quick = whiten(spec, batch, hyper), whitener(spec, batch)(hyper)
    assert quick.factors.dtype == jnp.float32
    np.testing.assert_allclose(quick.factors, exact.factors, atol=1e-4)
    np.testing.assert_allclose(quick.mixing, exact.mixing, rtol=1e-6)
    exactly = jax.grad(lambda h: total(whiten(spec, batch, h)))(hyper)
    quickly = jax.grad(lambda h: total(whitener(spec, batch)(h)))(hyper)
    size = np.abs(exactly.log_lengthscale).max()
    np.testing.assert_allclose(quickly.log_lengthscale, exactly.log_lengthscale, atol=1e-3 * size)


@pytest.mark.parametrize("apart", [1e-2, 1e-5, 1e-12])
def test_options_that_are_nearly_equal_have_finite_factors_and_slopes(apart):
    spec, batch, hyper = setting(apart=apart)
    prior, slopes = jax.vjp(whitener(spec, batch), hyper)
    (by_hyper,) = slopes(jax.tree.map(jnp.ones_like, prior))
    for found in jax.tree.leaves((prior, by_hyper)):
        assert np.isfinite(found).all()


def test_without_a_nugget_factors_are_found_in_double_precision():
    spec, batch, hyper = setting(nugget=0.0, apart=1e-3)
    found = whitener(spec, batch)(hyper)
    np.testing.assert_allclose(found.factors, whiten(spec, batch, hyper).factors, atol=1e-6)
