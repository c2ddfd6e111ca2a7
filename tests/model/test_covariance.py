"""Covariance functions, their derivatives, and the priors of what they depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from model_helpers import central_differences, law
from scipy.special import gamma, kv
from scipy.stats import norm

import choicebo as cb
from choicebo.acquisition import ACQUISITIONS
from choicebo.acquisition.propose import best_point
from choicebo.model.covariance import (
    JITTER,
    KERNELS,
    Hyperparameters,
    HyperPrior,
    Kernel,
    covariance,
    distances,
    factors,
    factors_gradient,
    mixing,
    mixing_gradient,
    option_covariance,
    safe_cholesky,
    squared_differences,
)
from choicebo.model.draws import frequencies
from choicebo.pareto import non_dominated

SMOOTHNESS = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
LENGTHSCALE = np.array([0.3, 1.1, 0.7])
HYPER = Hyperparameters(
    np.log(np.stack([LENGTHSCALE, LENGTHSCALE[::-1], 0.5 * LENGTHSCALE])),
    np.log([2.0, 3.0, 1.5]),
    np.array([[0.0, 7.0, 7.0], [0.75, 0.0, 7.0], [-0.4, 1.2, 0.0]]),  # what is above the diagonal does not count
)


def scaled_distances(A, B, lengthscale):
    return np.array([[np.linalg.norm((a - b) / lengthscale) for b in B] for a in A])


def points(count, seed=0):
    return np.random.default_rng(seed).uniform(size=(count, 3))


# Kernels ----------------------------------------------------------------------------------------------------


def test_every_kernel_is_tested_here():
    assert set(KERNELS) == {*SMOOTHNESS, "rbf"}


@pytest.mark.parametrize("kernel", SMOOTHNESS)
def test_a_matern_covariance_is_the_bessel_function_of_its_definition(kernel):
    A, B, nu = points(6), points(5, seed=1), SMOOTHNESS[kernel]
    s = np.sqrt(2 * nu) * scaled_distances(A, B, LENGTHSCALE)
    expected = 2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s)
    np.testing.assert_allclose(covariance(kernel, A, B, LENGTHSCALE), expected, rtol=1e-10)


def test_the_rbf_covariance_is_a_gaussian_of_the_distance():
    A, B = points(6), points(5, seed=1)
    r = scaled_distances(A, B, LENGTHSCALE)
    np.testing.assert_allclose(distances(A, B, LENGTHSCALE), r, rtol=1e-12)
    np.testing.assert_allclose(covariance("rbf", A, B, LENGTHSCALE), np.exp(-(r**2) / 2), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_slope_is_the_derivative_by_the_distance_over_the_distance(kernel):
    value, slope, _ = KERNELS[kernel]
    r = np.linspace(0.05, 4.0, 80)
    np.testing.assert_allclose(slope(r), (value(r + 1e-6) - value(r - 1e-6)) / 2e-6 / r, rtol=1e-6)
    assert value(np.zeros(1)) == 1.0
    assert np.isfinite(slope(np.zeros(1))).all()
    if kernel != "matern12":  # whose slope has a pole
        np.testing.assert_allclose(slope(np.zeros(1)), slope(np.full(1, 1e-7)), rtol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 3])
def test_the_freedom_is_that_of_the_spectral_density(kernel, dim):
    """The mean cosine over the spectral density is the covariance (Bochner)."""
    rng = np.random.default_rng(0)
    frequency = frequencies(kernel, 200_000, dim, rng)
    for r in (0.3, 1.0, 2.5):
        direction = rng.normal(size=dim)
        phase = frequency @ (r * direction / np.linalg.norm(direction))
        assert np.cos(phase).mean() == pytest.approx(KERNELS[kernel].value(np.array(r)), abs=0.008)


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


def test_options_so_close_that_their_distance_is_zero_have_each_their_own_share():
    A = np.array([[0.5], [0.5 + 1e-13]])
    K = option_covariance("rbf", 0.3, A, A, np.array([1e150]))
    np.testing.assert_allclose(K, [[1.0, 0.7], [0.7, 1.0]])


def test_without_a_nugget_options_have_the_plain_covariance():
    A = points(4)
    np.testing.assert_array_equal(
        option_covariance("rbf", 0.0, A, A, LENGTHSCALE), covariance("rbf", A, A, LENGTHSCALE)
    )


def matern72(r):
    s = math.sqrt(7.0) * r
    return (1.0 + s + 0.4 * s**2 + s**3 / 15.0) * np.exp(-s)


def matern72_slope(r):
    s = math.sqrt(7.0) * r
    return -1.4 * (1.0 + s + s**2 / 3.0) * np.exp(-s)


def test_a_kernel_is_one_entry_of_the_table(monkeypatch):
    """A smoother one is added: it can be fitted, predicts, and proposes new options by its derivative and its features."""
    monkeypatch.setitem(KERNELS, "matern72", Kernel(matern72, matern72_slope, 7.0))
    rng = np.random.default_rng(0)
    X = rng.random((24, 1))
    objectives = np.column_stack([np.sin(5 * X[:, 0]), np.cos(5 * X[:, 0])])
    sets = [rng.choice(24, 3, replace=False) for _ in range(30)]
    data = cb.ChoiceData(X, [cb.Choice(shown, shown[non_dominated(objectives[shown])]) for shown in sets])
    posterior = cb.ChoiceGP(kernel="matern72", engine="laplace").fit(data)
    predicted = posterior.predict_choices(X[np.array(sets)])
    right = [tuple(s[list(p)]) == c.kept for s, p, c in zip(sets, predicted, data.choices, strict=True)]
    assert np.mean(right) > 0.8
    space = cb.Space([cb.Real("x", 0.0, 1.0)])
    for name in ("ehvi", "thompson"):
        point = best_point(posterior.draws, space, ACQUISITIONS[name], X, seed=0)
        assert point.shape == (1, 1)
        assert 0.0 <= point[0, 0] <= 1.0
    with pytest.raises(cb.InvalidInputError, match="'rbf', 'matern72' or a Kernel, got 'cubic'"):
        cb.ChoiceGP(kernel="cubic")


# Factors and mixing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nugget", [0.0, 0.1])
def test_factors_are_cholesky_factors_of_each_latent_dimensions_covariance(kernel, nugget):
    X = points(6)
    found = factors(kernel, nugget, squared_differences(X), HYPER.log_lengthscale)
    assert found.lower.shape == found.r.shape == (3, 6, 6)
    for lower, r, lengthscale in zip(*found, np.exp(HYPER.log_lengthscale), strict=True):
        np.testing.assert_array_equal(lower, np.tril(lower))
        expected = option_covariance(kernel, nugget, X, X, lengthscale) + JITTER * np.eye(6)
        np.testing.assert_allclose(lower @ lower.T, expected, atol=1e-9)
        np.testing.assert_allclose(r, scaled_distances(X, X, lengthscale), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("nugget", [0.0, 0.1])
def test_the_gradient_of_the_factors_agrees_with_finite_differences(kernel, nugget):
    squared = squared_differences(points(6))
    weights = np.tril(np.random.default_rng(1).normal(size=(3, 6, 6)))
    found = factors(kernel, nugget, squared, HYPER.log_lengthscale)
    inner = np.swapaxes(found.lower, 1, 2) @ weights
    slope = factors_gradient(kernel, nugget, squared, HYPER.log_lengthscale, found, inner)
    expected = central_differences(
        lambda at: (weights * factors(kernel, nugget, squared, at).lower).sum(), HYPER.log_lengthscale
    )
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("apart", [1e-3, 1e-9, 0.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_options_that_are_nearly_equal_have_finite_factors_and_slopes(kernel, apart):
    X = points(5)
    squared = squared_differences(np.vstack([X, X[:2] + apart]))
    found = factors(kernel, 0.0, squared, HYPER.log_lengthscale)
    inner = np.ones_like(found.lower)
    slope = factors_gradient(kernel, 0.0, squared, HYPER.log_lengthscale, found, inner)
    assert np.isfinite(found.lower).all()
    assert np.isfinite(slope).all()


def test_rows_of_the_mixing_have_the_norm_of_the_output_scales():
    found = mixing(HYPER)
    np.testing.assert_allclose((found**2).sum(1), np.exp(2 * HYPER.log_scale))
    np.testing.assert_array_equal(np.triu(found, 1), 0.0)
    own = np.diag(found)
    np.testing.assert_allclose(np.tril(found / own[:, None], -1), np.tril(HYPER.coupling, -1))


def test_the_gradient_of_the_mixing_agrees_with_finite_differences():
    weights = np.random.default_rng(2).normal(size=(3, 3))
    by_scale, by_coupling = mixing_gradient(HYPER, weights)

    def total(log_scale=HYPER.log_scale, coupling=HYPER.coupling):
        return (weights * mixing(HYPER._replace(log_scale=log_scale, coupling=coupling))).sum()

    np.testing.assert_allclose(by_scale, central_differences(total, HYPER.log_scale), rtol=1e-7)
    expected = central_differences(lambda at: total(coupling=at), HYPER.coupling)
    np.testing.assert_allclose(by_coupling, expected, rtol=1e-6, atol=1e-9)


# Cholesky factors of what is not quite positive definite ----------------------------------------------------


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


@pytest.mark.parametrize("missing", [1e-7, 1e-4])
def test_safe_cholesky_adds_as_much_as_it_takes(missing):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    K = (turn * [2.0, 1.0, 0.5, -missing]) @ turn.T
    L = safe_cholesky(K)
    np.testing.assert_allclose(L @ L.T, K, atol=20 * missing)


@pytest.mark.parametrize(
    "K", [-np.eye(3), np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])], ids=["negative", "indefinite"]
)
def test_a_hopeless_matrix_is_an_error_that_names_the_remedy(K):
    with pytest.raises(cb.NumericalError, match=r"covariance of 3 options is not positive definite.*matern32"):
        safe_cholesky(K)


def test_a_covariance_with_values_that_are_not_finite_is_an_error():
    with pytest.raises(cb.NumericalError, match="check the options for values that are not finite"):
        safe_cholesky(np.full((3, 3), np.nan))


# Priors -----------------------------------------------------------------------------------------------------


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
    log_density = []
    for rho, c in zip(correlation, coupling, strict=True):
        unit = mixing(Hyperparameters(np.zeros((2, 1)), np.zeros(2), np.array([[0.0, 9.0], [c, 9.0]])))
        np.testing.assert_allclose(unit @ unit.T, [[1.0, rho], [rho, 1.0]], atol=1e-12)
        log_density.append(prior.log_density(centre._replace(coupling=np.array([[0.0, 9.0], [c, 9.0]]))))
    jacobian = (1.0 + coupling**2) ** -1.5  # d correlation / d coupling
    by_correlation = np.exp(log_density) / jacobian
    expected = (1.0 - correlation**2) ** (independence - 1.5)  # flat at 1.5
    np.testing.assert_allclose(by_correlation / by_correlation[0], expected / expected[0], rtol=1e-6)


def test_the_gradient_of_the_prior_agrees_with_finite_differences():
    prior = HyperPrior(0.4, 0.8, 2.0, 0.5, 3.0)
    slope = prior.gradient(HYPER)
    for name in Hyperparameters._fields:
        expected = central_differences(
            lambda at, name=name: prior.log_density(HYPER._replace(**{name: at})), getattr(HYPER, name)
        )
        np.testing.assert_allclose(getattr(slope, name), expected, rtol=1e-7, atol=1e-8)


def test_the_priors_centre_is_its_most_probable_point():
    prior = HyperPrior()
    for part in prior.gradient(prior.centre(3, 2)):
        np.testing.assert_allclose(part, 0.0, atol=1e-12)
