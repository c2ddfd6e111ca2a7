import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_helpers import prior_belief

from choicebo.acquisition.belief import latent_at
from choicebo.model.kernels import option_covariance


def joint_covariance(belief, A, B):
    """Of all latent functions at the rows of ``A`` and ``B``: (n_e a, n_e b)."""
    k = [option_covariance(belief.kernel, belief.nugget, A, B, lengthscale) for lengthscale in belief.lengthscales]
    mixed = np.einsum("dp,ep,pab->daeb", belief.mixing, belief.mixing, np.stack(k))
    return mixed.reshape(belief.n_e * len(A), belief.n_e * len(B))


def conditional(belief, points, d):
    """Mean (draws, n) and standard deviation (n,) of the exact Gaussian conditional of all latent functions together."""
    n = len(points)
    solved = np.linalg.solve(joint_covariance(belief, belief.X, belief.X), joint_covariance(belief, belief.X, points))
    values = np.swapaxes(belief.latent, 1, 2).reshape(len(belief.latent), -1)
    rest = joint_covariance(belief, points, points) - joint_covariance(belief, points, belief.X) @ solved
    mine = slice(d * n, (d + 1) * n)
    return (values @ solved)[:, mine], np.sqrt(np.diag(rest)[mine])


def smooth_deviations(belief, points):
    """(n_e, n): standard deviations of the independent parts at new points, less what no inputs explain."""
    found = []
    for lengthscale in belief.lengthscales:
        K = option_covariance(belief.kernel, belief.nugget, belief.X, belief.X, lengthscale)
        k = option_covariance(belief.kernel, belief.nugget, belief.X, points, lengthscale)
        found.append(np.sqrt(np.maximum((1 - belief.nugget) ** 2 - (k * np.linalg.solve(K, k)).sum(0), 0.0)))
    return np.stack(found)


@pytest.mark.parametrize("kernel", ["matern12", "matern32", "matern52", "rbf"])
def test_marginals_are_the_exact_conditional_of_every_draw(kernel):
    belief = prior_belief(kernel=kernel)
    points = np.random.default_rng(1).random((7, 2))
    outlook = belief.marginals(seed=3)
    got = np.asarray(latent_at(belief.kernel, belief.nugget, outlook, jnp.asarray(points)))
    # What no inputs explain is left out: a new option's own part, and what known options' own parts hide.
    away = np.asarray(outlook.deviates)[:, :, None] * smooth_deviations(belief, points)
    for d in range(2):
        mean, _ = conditional(belief, points, d)
        expected = mean + np.einsum("e,sen->sn", belief.mixing[d], away)
        np.testing.assert_allclose(got[..., d].T, expected, atol=5e-3)


def test_a_copy_of_a_known_option_promises_nothing_new():
    belief = prior_belief(nugget=0.05)
    copies = np.asarray(latent_at(belief.kernel, belief.nugget, belief.marginals(0), jnp.asarray(belief.X + 1e-9)))
    np.testing.assert_allclose(np.swapaxes(copies, 0, 1), belief.smooth, atol=0.02 * belief.mixing.max())


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
        smooth = np.sqrt(deviation**2 - belief.nugget * (belief.mixing[d] ** 2).sum())
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
