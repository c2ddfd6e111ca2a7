import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_helpers import prior_belief

from choicebo.acquisition.belief import latent_at
from choicebo.model.kernels import option_covariance


def conditional(belief, points, d):
    """Mean (draws, n) and standard deviation (n,) of the exact Gaussian conditional, written out."""
    K = option_covariance(belief.kernel, belief.nugget, belief.X, belief.X, belief.lengthscales[d])
    k = option_covariance(belief.kernel, belief.nugget, belief.X, points, belief.lengthscales[d])
    solved = np.linalg.solve(K, k)
    deviation = belief.scales[d] * np.sqrt(1.0 - (k * solved).sum(0))
    return belief.latent[..., d] @ solved, deviation


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52", "rbf"])
def test_marginals_are_the_exact_conditional_of_every_draw(kernel):
    belief = prior_belief(kernel=kernel)
    points = np.random.default_rng(1).random((7, 2))
    outlook = belief.marginals(seed=3)
    got = np.asarray(latent_at(belief.kernel, belief.nugget, outlook, jnp.asarray(points)))
    for d in range(2):
        mean, deviation = conditional(belief, points, d)
        # What no inputs explain is left out: a new option's own part, and what known options' own parts hide.
        smooth = np.sqrt(np.maximum(deviation**2 - belief.scales[d] ** 2 * (1 - (1 - belief.nugget) ** 2), 0.0))
        expected = mean + np.asarray(outlook.deviates)[:, d, None] * smooth
        np.testing.assert_allclose(got[..., d].T, expected, atol=5e-3)


def test_a_copy_of_a_known_option_promises_nothing_new():
    belief = prior_belief(nugget=0.05)
    copies = np.asarray(latent_at(belief.kernel, belief.nugget, belief.marginals(0), jnp.asarray(belief.X + 1e-9)))
    np.testing.assert_allclose(np.swapaxes(copies, 0, 1), belief.smooth, atol=0.02 * belief.scales.max())


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "rbf"])
def test_a_path_has_the_conditional_mean_and_spread_over_its_random_features(kernel):
    belief = prior_belief(m=6, draws=4, kernel=kernel)
    points = np.array([[0.5, 0.5], [0.05, 0.9]])
    values = np.array(
        [
            latent_at(belief.kernel, belief.nugget, belief.path(2, seed), jnp.asarray(points))[:, 0]
            for seed in range(300)
        ]
    )
    for d in range(2):
        mean, deviation = conditional(belief, points, d)
        # The path leaves out a new option's own part of the variance, the nugget.
        smooth = np.sqrt(deviation**2 - belief.nugget * belief.scales[d] ** 2)
        error = np.abs(values[..., d].mean(0) - mean[2])
        assert (error < 5 * deviation / np.sqrt(300) + 1e-3).all()
        np.testing.assert_allclose(values[..., d].std(0), smooth, rtol=0.2)


def test_a_path_passes_near_the_draw_at_known_options():
    belief = prior_belief(nugget=1e-4)
    path = belief.path(5, seed=0)
    got = np.asarray(latent_at(belief.kernel, belief.nugget, path, jnp.asarray(belief.X)))[:, 0]
    np.testing.assert_allclose(got, belief.latent[5], atol=0.15)


def test_extending_keeps_the_draws_and_imagines_new_options_once():
    belief = prior_belief()
    point = np.array([[0.3, 0.3]])
    longer = belief.extended(np.concatenate([belief.X[:1], point]), seed=0)
    assert len(longer.X) == len(belief.X) + 1
    np.testing.assert_array_equal(longer.latent[:, :-1], belief.latent)
    np.testing.assert_array_equal(longer.at(point, seed=9)[:, 0], longer.latent[:, -1])
    mean, deviation = conditional(belief, point, 0)
    standardised = (longer.latent[:, -1, 0] - mean[:, 0]) / deviation[0]
    assert abs(standardised.mean()) < 0.4
    assert 0.7 < standardised.std() < 1.3
