from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model_helpers import choice_data, mixed_data, padded_latent, winner_data

import choicebo as cb
from choicebo.model import inner_loop
from choicebo.model.batching import make_batch
from choicebo.model.curvature import curvature


def blocks(matrix, n_e, used):
    """The rows and columns of the options used: (n_e, used, n_e, used)."""
    options = len(matrix) // n_e
    return np.asarray(matrix).reshape(n_e, options, n_e, options)[:, :used, :, :used]


negative_hessian = jax.jit(jax.hessian(lambda *given: -inner_loop.log_likelihood(*given)), static_argnums=2)
compiled = jax.jit(curvature, static_argnums=2)

SETTINGS = {
    "small sets": (
        choice_data(8, [((0, 1), (1,)), ((2, 3, 4), (2, 4)), ((5, 6, 7), (5, 6, 7)), ((1, 2, 7), (7,))]),
        "choice",
        2,
    ),
    "sets of two to five": (mixed_data(), "choice", 2),
    "one winner": (winner_data(), "batch_preference", 1),
}


def prepared(name):
    data, likelihood, n_e = SETTINGS[name]
    latent = np.random.default_rng(0).normal(size=(8, n_e))
    batch, rows = make_batch(data, likelihood)
    return latent, batch, rows, jnp.asarray(padded_latent(batch, rows, latent))


@pytest.mark.parametrize(
    ("name", "lapse"),
    [("small sets", 0.0), ("sets of two to five", 0.1), ("one winner", 0.0), ("one winner", 0.1)],
)
def test_it_is_the_negative_hessian_of_the_likelihood_that_the_engines_use(name, lapse):
    latent, batch, rows, padded = prepared(name)
    found = compiled(padded, batch, lapse)
    expected = negative_hessian(padded, batch, lapse).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(found, found.T, atol=2e-5)
    assert not np.any(np.asarray(found).reshape(latent.shape[1], -1, len(found))[:, len(rows) :])


@pytest.mark.parametrize(("name", "lapse"), [("small sets", 0.0), ("sets of two to five", 0.1), ("one winner", 0.1)])
def test_it_is_close_to_the_negative_hessian_of_the_exact_likelihood(name, lapse):
    data, likelihood, n_e = SETTINGS[name]
    latent, batch, rows, padded = prepared(name)
    found = compiled(padded, batch, lapse)

    slope = jax.jit(jax.grad(lambda f: cb.choice_log_likelihood(f, data, likelihood=likelihood, lapse=lapse).sum()))
    step, expected = 1e-4, np.zeros((n_e, 8, n_e, 8))
    for i, d in np.ndindex(8, n_e):
        offset = np.zeros((8, n_e))
        offset[i, d] = step
        expected[d, i] = -((slope(latent + offset) - slope(latent - offset)) / (2 * step)).T
    np.testing.assert_allclose(blocks(found, n_e, len(rows)), expected, atol=2e-2)


@pytest.mark.parametrize(("name", "lapse"), [("small sets", 0.0), ("sets of two to five", 0.1)])
def test_it_is_finite_at_differences_of_a_thousand(name, lapse):
    latent, batch, rows, _ = prepared(name)
    latent = 1e3 * np.random.default_rng(5).permuted(np.tile(np.arange(8.0), (2, 1)), axis=1).T
    assert np.all(np.isfinite(compiled(jnp.asarray(padded_latent(batch, rows, latent)), batch, lapse)))
