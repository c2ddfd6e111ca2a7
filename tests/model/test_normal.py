from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_ndtr

from choicebo.model.normal import LOG_SQRT_2PI, log_cdf, mills_ratio, scaled_cdf, scaled_tail

X = np.linspace(-60.0, 30.0, 9001, dtype=np.float32)
EXACT = log_ndtr(X.astype(np.float64))
ROUNDING = np.finfo(np.float32).eps * (1.0 + 0.5 * X.astype(np.float64) ** 2)
"""What the rounding of x^2 / 2 to single precision may move an exponent by."""


def log_density(x: np.ndarray) -> np.ndarray:
    return -0.5 * x.astype(np.float64) ** 2 - LOG_SQRT_2PI


def test_log_cdf_has_the_relative_accuracy_of_single_precision_below_zero():
    below = X <= 0
    np.testing.assert_allclose(np.asarray(log_cdf(X))[below], EXACT[below], rtol=1e-6)


def test_log_cdf_has_the_absolute_accuracy_of_single_precision_above_zero():
    # It is about -Phi(-x) there: log-likelihoods are sums, in which a part of that size below one's rounding is lost anyway.
    above = X > 0
    np.testing.assert_allclose(np.asarray(log_cdf(X))[above], EXACT[above], rtol=0, atol=2e-7)


def test_a_scaled_tail_is_accurate_on_both_sides():
    exact = np.exp(log_ndtr(-np.abs(X.astype(np.float64))) + 0.5 * X.astype(np.float64) ** 2)
    np.testing.assert_allclose(scaled_tail(X), exact, rtol=5e-7)


def test_the_derivative_of_a_scaled_tail_is_one_sided_at_zero():
    at = np.array([-3.0, -0.5, 0.0, 0.5, 3.0])

    def exact(x: np.ndarray) -> np.ndarray:
        return np.exp(log_ndtr(-np.abs(x)) + 0.5 * x**2)

    to_the_right = (exact(at + 1e-6) - exact(at)) / 1e-6
    np.testing.assert_allclose(jax.vmap(jax.grad(scaled_tail))(jnp.asarray(at, jnp.float32)), to_the_right, atol=2e-6)


def test_mills_ratio_is_density_over_distribution_function():
    exact = np.exp(log_density(X) - EXACT)
    reached = X < 12
    np.testing.assert_allclose(np.asarray(mills_ratio(X))[reached], exact[reached], rtol=3e-5)
    assert np.all(np.asarray(mills_ratio(X))[~reached] >= 0)


@pytest.mark.parametrize("shift", [0.0, 2.0, 3.5])
def test_scaled_cdf_is_the_ratio_of_two_distribution_functions(shift):
    log_scale = log_ndtr(X.astype(np.float64) + shift).astype(np.float32)
    ratio = np.asarray(scaled_cdf(X, log_scale)[0])
    exact = np.exp(EXACT - log_scale)
    error = np.abs(ratio - exact) / exact
    resolved = exact > 1e-30
    assert np.all(error[resolved] <= 2e-6 + 4 * ROUNDING[resolved])
    assert np.all(np.isfinite(ratio))


def test_the_derivative_of_log_cdf_is_the_mills_ratio():
    slope = jax.vmap(jax.grad(log_cdf))(X)
    np.testing.assert_array_equal(slope, mills_ratio(X))


def test_the_derivative_of_the_mills_ratio_agrees_with_finite_differences():
    at = X[(X > -30) & (X < 5)].astype(np.float64)

    def exact(x: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * x**2 - LOG_SQRT_2PI - log_ndtr(x))

    slope = jax.vmap(jax.grad(mills_ratio))(jnp.asarray(at, jnp.float32))
    np.testing.assert_allclose(slope, (exact(at + 1e-5) - exact(at - 1e-5)) / 2e-5, atol=3e-4)


def test_the_derivative_of_scaled_cdf_is_the_scaled_density_and_holds_the_scale_constant():
    log_scale = EXACT.astype(np.float32)
    density = np.asarray(scaled_cdf(X, log_scale)[1])
    resolved = X < 5
    exact = np.exp(log_density(X) - log_scale)
    assert np.all((np.abs(density - exact) <= exact * (2e-6 + 4 * ROUNDING))[resolved])
    for part, expected in ((0, density), (1, -X * density)):
        np.testing.assert_array_equal(
            jax.vmap(jax.grad(lambda *g, part=part: scaled_cdf(*g)[part]))(X, log_scale), expected
        )
        assert not np.any(jax.vmap(jax.grad(lambda *g, part=part: scaled_cdf(*g)[part], argnums=1))(X, log_scale))


@pytest.mark.parametrize("x", [-1e3, 1e3])
def test_values_and_derivatives_are_finite_far_out(x):
    x = jnp.float32(x)
    for function in (
        log_cdf,
        mills_ratio,
        scaled_tail,
        lambda x: scaled_cdf(x, log_cdf(x))[0],
        lambda x: scaled_cdf(x, log_cdf(x + 3))[0],
        lambda x: scaled_cdf(x, log_cdf(x))[1],
    ):
        assert np.isfinite(function(x))
        assert np.isfinite(jax.grad(function)(x))
    assert np.isfinite(jax.grad(jax.grad(log_cdf))(x))
    np.testing.assert_allclose(jax.grad(log_cdf)(x), max(0.0, -float(x)), rtol=1e-5)


def test_the_slope_of_log_cdf_never_increases():
    # The logarithm of a normal distribution function is concave; Newton steps rely on it.
    slopes = np.asarray(mills_ratio(X))
    assert np.all(np.diff(slopes) <= 1e-5 * slopes[:-1])
