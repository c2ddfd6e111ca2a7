from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from model_helpers import law
from scipy.special import gamma, kv
from scipy.stats import norm

import choicebo as cb
from choicebo.model.kernels import (
    JITTER,
    KERNELS,
    Hyperparameters,
    HyperPrior,
    covariance,
    factors,
    mixing,
    option_covariance,
    safe_cholesky,
    squared_differences,
)

SMOOTHNESS = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
LENGTHSCALE = np.array([0.3, 1.1, 0.7])


def distances(A, B, lengthscale):
    return np.array([[np.linalg.norm((a - b) / lengthscale) for b in B] for a in A])


def points(count, seed=0):
    return np.random.default_rng(seed).uniform(size=(count, 3))


@pytest.mark.parametrize("kernel", SMOOTHNESS)
def test_a_matern_covariance_is_the_bessel_function_of_its_definition(kernel):
    A, B, nu = points(6), points(5, seed=1), SMOOTHNESS[kernel]
    s = np.sqrt(2 * nu) * distances(A, B, LENGTHSCALE)
    expected = 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s)
    np.testing.assert_allclose(covariance(kernel, A, B, LENGTHSCALE), expected, rtol=1e-10)


def test_the_rbf_covariance_is_a_gaussian_of_the_distance():
    A, B = points(6), points(5, seed=1)
    np.testing.assert_allclose(
        covariance("rbf", A, B, LENGTHSCALE), np.exp(-(distances(A, B, LENGTHSCALE) ** 2) / 2), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_jax_and_numpy_arrays_give_the_same_covariance(kernel):
    A, B = points(6), points(5, seed=1)
    by_jax = covariance(kernel, jnp.asarray(A), jnp.asarray(B), jnp.asarray(LENGTHSCALE))
    assert isinstance(by_jax, jax.Array)
    by_numpy = covariance(kernel, A, B, LENGTHSCALE)
    assert isinstance(by_numpy, np.ndarray)
    np.testing.assert_allclose(by_jax, by_numpy, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_finite_where_two_options_coincide(kernel):
    A = jnp.asarray(np.vstack([points(3), points(3)]))
    by_point = jax.grad(lambda A: covariance(kernel, A, A, jnp.asarray(LENGTHSCALE)).sum())(A)
    by_lengthscale = jax.grad(lambda l: covariance(kernel, A, A, l).sum())(jnp.asarray(LENGTHSCALE))
    assert np.all(np.isfinite(by_point))
    assert np.all(np.isfinite(by_lengthscale))


@law
@given(arrays(np.float64, (7, 3), elements=st.floats(0, 1)), st.sampled_from(sorted(KERNELS)))
def test_a_covariance_is_symmetric_and_positive_semidefinite_with_unit_variance(X, kernel):
    K = covariance(kernel, X, X, LENGTHSCALE)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(np.diag(K), 1.0)
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_the_nugget_is_each_options_own_share_of_its_variance():
    A = points(4)
    K = option_covariance("matern32", 0.2, A, A, LENGTHSCALE)
    smooth = covariance("matern32", A, A, LENGTHSCALE)
    np.testing.assert_allclose(np.diag(K), 1.0)
    np.testing.assert_allclose(K[~np.eye(4, dtype=bool)], 0.8 * smooth[~np.eye(4, dtype=bool)])


def test_the_nugget_follows_an_option_into_another_set():
    A = points(4)
    B = np.vstack([points(2, seed=1), A[2]])
    K = option_covariance("rbf", 0.3, A, B, LENGTHSCALE)
    expected = 0.7 * covariance("rbf", A, B, LENGTHSCALE)
    expected[2, 2] = 1.0
    np.testing.assert_allclose(K, expected)


def test_without_a_nugget_options_have_the_plain_covariance():
    A = points(4)
    np.testing.assert_array_equal(
        option_covariance("rbf", 0.0, A, A, LENGTHSCALE), covariance("rbf", A, A, LENGTHSCALE)
    )


def test_factors_are_cholesky_factors_of_each_latent_dimensions_covariance():
    X, log_lengthscale = points(6), np.log(np.stack([LENGTHSCALE, 2 * LENGTHSCALE]))
    padded = np.vstack([X, np.zeros((4, 3))])
    used = np.arange(10) < 6
    L = np.asarray(factors("matern52", 0.1, jnp.asarray(padded), jnp.asarray(used), jnp.asarray(log_lengthscale)))
    assert L.shape == (2, 10, 10)
    for factor, lengthscale in zip(L, np.exp(log_lengthscale), strict=True):
        np.testing.assert_array_equal(factor, np.tril(factor))
        expected = np.eye(10)
        expected[:6, :6] = option_covariance("matern52", 0.1, X, X, lengthscale)
        np.testing.assert_allclose(factor @ factor.T, expected + JITTER * np.eye(10), atol=1e-9)


def test_padding_does_not_change_the_factor_of_the_options_used():
    X, log_lengthscale = points(6), jnp.log(jnp.asarray(LENGTHSCALE))[None]
    bare = factors("matern32", 0.0, jnp.asarray(X), jnp.ones(6, bool), log_lengthscale)
    padded = factors("matern32", 0.0, jnp.asarray(np.vstack([X, X[:2]])), jnp.arange(8) < 6, log_lengthscale)
    np.testing.assert_allclose(padded[:, :6, :6], bare, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_squared_differences_give_the_factors_that_the_options_give(kernel):
    X, used = jnp.asarray(points(9)), jnp.arange(9) < 7
    log_lengthscale = jnp.log(jnp.array([LENGTHSCALE, LENGTHSCALE[::-1]]))
    expected = factors(kernel, 0.01, X, used, log_lengthscale)
    np.testing.assert_allclose(
        factors(kernel, 0.01, X, used, log_lengthscale, squared_differences(X)), expected, atol=1e-12
    )


def test_squared_differences_of_too_many_options_are_not_kept(monkeypatch):
    assert squared_differences(jnp.asarray(points(10))).shape == (3, 10, 10)
    monkeypatch.setattr("choicebo.model.kernels._MOST_SQUARES", 299)
    assert squared_differences(jnp.asarray(points(10))) is None


def test_safe_cholesky_leaves_a_well_conditioned_matrix_as_it_is():
    K = covariance("matern12", points(8), points(8), LENGTHSCALE)
    np.testing.assert_allclose(safe_cholesky(K), np.linalg.cholesky(K), atol=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_safe_cholesky_takes_singular_covariances_of_any_size(scale):
    X = np.repeat(points(4), 5, axis=0)  # every option five times
    K = scale * covariance("rbf", X, X, LENGTHSCALE)
    L = safe_cholesky(K)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-6 * scale)


def test_safe_cholesky_takes_a_nearly_singular_covariance():
    X = np.linspace(0, 1, 80)[:, None]
    K = covariance("rbf", X, X, np.array([5.0]))
    L = safe_cholesky(K)
    np.testing.assert_allclose(L @ L.T, K, atol=1e-6)


@pytest.mark.parametrize(
    "K", [-np.eye(3), np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])], ids=["negative", "indefinite"]
)
def test_a_hopeless_matrix_is_an_error_that_names_the_remedy(K):
    with pytest.raises(cb.NumericalError, match=r"covariance of 3 options is not positive definite.*matern32"):
        safe_cholesky(K)


def test_a_covariance_with_values_that_are_not_finite_is_an_error():
    with pytest.raises(cb.NumericalError, match="check the options for values that are not finite"):
        safe_cholesky(np.full((3, 3), np.nan))


def test_the_prior_is_independent_normal_in_the_logarithms():
    prior = HyperPrior(lengthscale_median=0.4, lengthscale_spread=0.8, scale_median=3.0, scale_spread=0.5)
    rng = np.random.default_rng(0)

    def expected(hyper):
        lengthscale = norm.logpdf(hyper.log_lengthscale, np.log(0.4 * np.sqrt(3)), 0.8).sum()
        return lengthscale + norm.logpdf(hyper.log_scale, np.log(3.0), 0.5).sum()

    nothing = np.zeros((2, 2))
    one, two = (Hyperparameters(rng.normal(size=(2, 3)), rng.normal(size=2), nothing) for _ in range(2))
    difference = prior.log_density(one) - prior.log_density(two)  # it is known up to a constant
    np.testing.assert_allclose(difference, expected(one) - expected(two), rtol=1e-10)


@pytest.mark.parametrize("independence", [1.5, 5.0])
def test_the_prior_of_a_correlation_is_a_power_of_what_is_unexplained(independence):
    prior, centre = HyperPrior(independence=independence), HyperPrior().centre(1, 2)
    correlation = np.linspace(-0.95, 0.95, 20)
    coupling = correlation / np.sqrt(1.0 - correlation**2)
    for rho, c in zip(correlation, coupling, strict=True):
        unit = mixing(Hyperparameters(np.zeros((2, 1)), np.zeros(2), np.array([[0.0, 9.0], [c, 9.0]])))
        np.testing.assert_allclose(unit @ unit.T, [[1.0, rho], [rho, 1.0]], atol=1e-12)
    log_density = [
        float(prior.log_density(centre._replace(coupling=jnp.array([[0.0, 0.0], [c, 0.0]])))) for c in coupling
    ]
    jacobian = (1.0 + coupling**2) ** -1.5  # d correlation / d coupling
    by_correlation = np.exp(log_density) / jacobian
    expected = (1.0 - correlation**2) ** (independence - 1.5)  # flat at 1.5
    np.testing.assert_allclose(by_correlation / by_correlation[0], expected / expected[0], rtol=1e-6)


def test_the_priors_centre_is_its_most_probable_point():
    prior = HyperPrior()
    slope = jax.grad(prior.log_density)(prior.centre(3, 2))
    for part in slope:
        np.testing.assert_allclose(part, 0.0, atol=1e-12)
