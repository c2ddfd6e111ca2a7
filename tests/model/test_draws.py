"""Conditioning on draws, against dense Gaussian conditionals that are written out here."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choicebo.model.covariance import JITTER, KERNELS
from choicebo.model.draws import LatentDraws, memberships
from choicebo.pareto import non_dominated

PROFILES = {
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    "rbf": lambda r: np.exp(-(r**2) / 2),
}


def prior_draws(m=12, dim=2, n_e=2, draws=64, kernel="matern32", nugget=0.01, seed=0):
    rng = np.random.default_rng(seed)
    lengthscales = rng.uniform(0.2, 0.6, (n_e, dim))
    mixing = np.diag(rng.uniform(1.5, 3.0, n_e)) + np.diag(rng.uniform(-1.0, 1.0, n_e - 1), -1)
    whitened = rng.standard_normal((draws, n_e, m))
    return LatentDraws.of(rng.random((m, dim)), whitened, lengthscales, mixing, kernel, nugget)


def part_covariance(draws, d, A, B, *, own=True):
    """Of one part of unit variance, with or without each option's own share of it."""
    r = np.linalg.norm((A[:, None] - B[None]) / draws.lengthscales[d], axis=-1)
    equal = (A[:, None] == B[None]).all(-1)
    return (1 - draws.nugget) * PROFILES[draws.kernel](r) + own * draws.nugget * equal


def joint_covariance(draws, A, B, **settings):
    """Of all latent functions at the rows of ``A`` and ``B``: (a n_e, b n_e), options outside, dimensions inside."""
    parts = np.stack([part_covariance(draws, d, A, B, **settings) for d in range(draws.latent_dim)])
    mixed = np.einsum("dp,ep,pab->adbe", draws.mixing, draws.mixing, parts)
    return mixed.reshape(len(A) * draws.latent_dim, len(B) * draws.latent_dim)


def known_covariance(draws):
    """Of all latent functions at the options, with the jitter of every part."""
    jitter = np.kron(np.eye(len(draws.X)), JITTER * draws.mixing @ draws.mixing.T)
    return joint_covariance(draws, draws.X, draws.X) + jitter


def conditional(draws, points):
    """Means (draws, n, n_e) and covariance (n n_e, n n_e) at unknown points, given the draws at the options."""
    solved = np.linalg.solve(known_covariance(draws), joint_covariance(draws, draws.X, points))
    mean = (draws.latent.reshape(draws.count, -1) @ solved).reshape(draws.count, len(points), draws.latent_dim)
    covariance = joint_covariance(draws, points, points) - joint_covariance(draws, points, draws.X) @ solved
    return mean, covariance


def smooth_deviations(draws, points):
    """(n_e, n): standard deviations of the parts at new points, less what no inputs explain."""
    found = []
    for d in range(draws.latent_dim):
        K = part_covariance(draws, d, draws.X, draws.X) + JITTER * np.eye(len(draws.X))
        k = part_covariance(draws, d, draws.X, points)
        found.append(np.sqrt(np.maximum((1 - draws.nugget) ** 2 - (k * np.linalg.solve(K, k)).sum(0), 0.0)))
    return np.stack(found)


def test_every_kernel_is_tested_here():
    assert set(PROFILES) == set(KERNELS)


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize("n_e", [1, 2, 3])
def test_moments_are_those_of_the_dense_conditional(kernel, n_e):
    draws = prior_draws(kernel=kernel, n_e=n_e)
    points = np.random.default_rng(1).random((7, 2))
    mean, variance = draws.moments(points)
    expected, covariance = conditional(draws, points)
    np.testing.assert_allclose(mean, expected, atol=1e-6)
    np.testing.assert_allclose(variance, np.diag(covariance).reshape(7, n_e), atol=1e-6)


def test_joint_draws_have_the_mean_and_the_covariance_of_the_dense_conditional():
    draws = prior_draws()
    points = np.array([[0.2, 0.7], [0.25, 0.7], [0.9, 0.1]])
    many = 40_000
    latent = draws.taken(np.full(many, 3)).at(points, seed=0).reshape(many, -1)
    mean, covariance = conditional(draws, points)
    np.testing.assert_allclose(latent.mean(0), mean[3].reshape(-1), atol=5 * np.sqrt(covariance.max() / many))
    np.testing.assert_allclose(np.cov(latent.T), covariance, atol=6 * covariance.max() / np.sqrt(many))


def test_at_known_options_the_draws_are_the_known_ones_and_equal_points_have_equal_values():
    draws = prior_draws()
    parts = np.stack(
        [
            np.linalg.cholesky(part_covariance(draws, d, draws.X, draws.X) + JITTER * np.eye(12))
            @ draws.whitened[:, d].T
            for d in range(2)
        ]
    )
    np.testing.assert_allclose(draws.latent, np.einsum("ed,dms->sme", draws.mixing, parts), atol=1e-6)
    new = np.array([[0.3, 0.4]])
    found = draws.at(np.concatenate([draws.X[5:6], new, draws.X[2:3], new]), seed=0)
    np.testing.assert_array_equal(found[:, 0], draws.latent[:, 5])
    np.testing.assert_array_equal(found[:, 2], draws.latent[:, 2])
    np.testing.assert_array_equal(found[:, 1], found[:, 3])
    np.testing.assert_array_equal(draws.at(draws.X[::-1], seed=0), draws.latent[:, ::-1])


def test_extending_keeps_the_draws_and_imagines_each_new_option_once():
    draws = prior_draws(draws=400)
    new = np.array([[0.3, 0.3], [0.8, 0.6]])
    longer = draws.extended(np.concatenate([draws.X[:1], new, new[:1]]), seed=0)
    np.testing.assert_array_equal(longer.X, np.concatenate([draws.X, new]))
    np.testing.assert_allclose(longer.latent[:, :-2], draws.latent, atol=1e-12)
    np.testing.assert_array_equal(longer.at(new, seed=9), longer.latent[:, -2:])
    assert longer.extended(new, seed=5) is longer
    mean, covariance = conditional(draws, new)
    away = (longer.latent[:, -2:] - mean).reshape(400, -1)
    standardised = np.linalg.solve(np.linalg.cholesky(covariance), away.T)
    np.testing.assert_allclose(np.cov(standardised), np.eye(4), atol=0.3)
    assert np.abs(standardised.mean(1)).max() < 0.2


def test_an_extended_factor_is_that_of_all_options():
    draws = prior_draws()
    longer = draws.extended(np.random.default_rng(5).random((3, 2)), seed=0)
    for d, lower in enumerate(longer.factors):
        expected = part_covariance(draws, d, longer.X, longer.X) + JITTER * np.eye(15)
        np.testing.assert_allclose(lower @ lower.T, expected, atol=1e-7)
        np.testing.assert_array_equal(lower, np.tril(lower))
    points = np.random.default_rng(6).random((4, 2))
    np.testing.assert_allclose(longer.moments(points)[0], conditional(longer, points)[0], atol=1e-6)


def test_the_smooth_part_is_what_the_draws_tell_about_the_part_that_depends_on_the_inputs():
    draws = prior_draws(nugget=0.1)
    without = joint_covariance(draws, draws.X, draws.X, own=False)
    expected = draws.latent.reshape(draws.count, -1) @ np.linalg.solve(known_covariance(draws), without)
    np.testing.assert_allclose(draws.smooth.reshape(draws.count, -1), expected, atol=1e-6)


def test_thinned_draws_are_spread_evenly():
    draws = prior_draws(draws=40)
    np.testing.assert_array_equal(draws.thinned(10).latent, draws.latent[::4])
    assert draws.thinned(64) is draws


@pytest.mark.parametrize("kernel", PROFILES)
def test_marginals_are_the_dense_conditional_of_every_draw_less_what_no_inputs_explain(kernel):
    draws = prior_draws(kernel=kernel)
    points = np.random.default_rng(1).random((7, 2))
    marginals = draws.marginals(seed=3)
    away = marginals.deviates[:, :, None] * smooth_deviations(draws, points)[:, None]
    expected = conditional(draws, points)[0] + np.einsum("ed,dsn->sne", draws.mixing, away)
    np.testing.assert_allclose(np.swapaxes(marginals.evaluate(points).latent, 0, 1), expected, atol=1e-3)


def test_the_deviates_of_the_marginals_cover_the_normal_distribution():
    deviates = prior_draws(draws=200).marginals(seed=0).deviates
    assert deviates.shape == (2, 200)
    np.testing.assert_allclose(deviates.mean(1), 0.0, atol=1e-12)
    np.testing.assert_allclose(deviates.std(1), 1.0, atol=0.02)
    assert abs(np.corrcoef(deviates)[0, 1]) < 0.25


def test_a_copy_of_a_known_option_promises_nothing_new():
    draws = prior_draws(nugget=0.05)
    copies = draws.marginals(0).evaluate(draws.X + 1e-9).latent
    np.testing.assert_allclose(np.swapaxes(copies, 0, 1), draws.smooth, atol=0.02 * draws.mixing.max())


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize("nugget", [0.01, 0.3])
def test_a_path_has_the_conditional_mean_and_spread_over_its_random_features(kernel, nugget):
    draws = prior_draws(m=6, draws=4, kernel=kernel, nugget=nugget)
    points = np.array([[0.05, 0.9], draws.X[3] + 0.01])
    values = np.array([draws.path(2, seed).evaluate(points).latent[:, 0] for seed in range(300)])
    mean, covariance = conditional(draws, points)
    deviation = np.sqrt(np.diag(covariance).reshape(2, 2))
    # The path leaves out a new option's own part of the variance, the nugget.
    smooth = np.sqrt(deviation**2 - draws.nugget * (draws.mixing**2).sum(1))
    assert (np.abs(values.mean(0) - mean[2]) < 5 * deviation / np.sqrt(300) + 1e-3).all()
    np.testing.assert_allclose(values.std(0), smooth, rtol=0.2)


def test_a_path_passes_near_the_draw_at_known_options():
    draws = prior_draws(nugget=1e-4)
    np.testing.assert_allclose(draws.path(5, seed=0).evaluate(draws.X).latent[:, 0], draws.latent[5], atol=0.15)


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize(("kind", "step", "tolerance"), [("marginals", 1e-6, 1e-5), ("path", 1e-4, 5e-3)])
def test_derivatives_by_the_point_agree_with_finite_differences(kernel, kind, step, tolerance):
    draws = prior_draws(kernel=kernel, n_e=3, dim=3)
    outlook = draws.marginals(seed=0) if kind == "marginals" else draws.path(7, seed=0)
    rng = np.random.default_rng(2)
    points = rng.random((10, 3))
    at = outlook.evaluate(points)
    by_latent = rng.standard_normal(at.latent.shape)
    gradient = outlook.gradient(at, by_latent)
    expected = np.empty_like(gradient)
    for column in range(3):
        ahead, behind = (outlook.evaluate(points + sign * step * np.eye(3)[column]).latent for sign in (1, -1))
        expected[:, column] = (by_latent * (ahead - behind)).sum((1, 2)) / (2 * step)
    # The rough kernel's features oscillate too fast for the step of a path, which single precision makes long.
    limit = 20 * tolerance if kernel == "matern12" else tolerance
    np.testing.assert_allclose(gradient, expected, atol=limit * np.abs(expected).max())


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 60))
def test_memberships_are_the_non_dominated_options_of_every_draw(seed, n_e, m):
    rng = np.random.default_rng(seed)
    # Small whole numbers tie often.
    for latent in (rng.integers(0, 6, (6, m, n_e)).astype(float), rng.standard_normal((6, m, n_e))):
        np.testing.assert_array_equal(memberships(latent), [non_dominated(values) for values in latent])
