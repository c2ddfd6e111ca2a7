"""What every acquisition promises, and the values of each."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_helpers import known, prior_draws
from scipy.special import log_ndtr, ndtr

import choicebo as cb
from choicebo.acquisition import ACQUISITIONS, Known
from choicebo.acquisition.improvement import sphere
from choicebo.acquisition.interface import Differentiable, Prepared
from choicebo.acquisition.maximise import Objective, maximise
from choicebo.model.covariance import JITTER
from choicebo.pareto import hypervolume, non_dominated

EVERY = sorted(ACQUISITIONS)
ONE_DRAW = {"thompson", "scalarised_thompson", "variation"}


def score(acquisition, state, points):
    """Scores of single points, in double precision."""
    prepared = acquisition.prepare(state, seed=0)
    return acquisition.score(prepared.state, prepared.outlook.evaluate(points).latent)


def promising(acquisition, state, count=8):
    pool = np.random.default_rng(1).random((80, state.draws.X.shape[1]))
    return pool[np.argsort(-score(acquisition, state, pool))[:count]]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("n_e", [1, 2, 3, 4])
class TestContract:
    def test_values_are_finite_and_differ_between_points(self, name, n_e):
        objective = Objective(ACQUISITIONS[name], known(prior_draws(n_e=n_e, draws=32)), seed=0)
        values = objective(np.random.default_rng(0).random((40, 2)))
        assert values.shape == (40,)
        assert np.isfinite(values).all()
        assert np.ptp(values) > 0

    def test_gradients_agree_with_finite_differences_at_every_point(self, name, n_e):
        acquisition, state = ACQUISITIONS[name], known(prior_draws(n_e=n_e, draws=32))
        objective = Objective(acquisition, state, seed=0)
        points = promising(acquisition, state)
        # The features of a path are in single precision, which needs a longer step.
        step, tolerance = (1e-4, 0.03) if name in ONE_DRAW else (1e-6, 1e-4)
        for point in points:
            here, gradient = objective.slope(point[None])
            assert np.abs(gradient).max() > 1e-3
            for column, move in enumerate(step * np.eye(2)):
                ahead, behind = (objective.slope(point[None] + sign * move)[0] for sign in (1, -1))
                # Scores have corners, where a draw, a direction or a dimension takes over from another: there one of the
                # sides agrees, elsewhere all do.
                slopes = np.array([ahead - behind, 2 * (ahead - here), 2 * (here - behind)]) / (2 * step)
                error = np.abs(slopes - gradient[0, column]).min()
                assert error < tolerance * max(1.0, np.abs(gradient).max())

    def test_the_slope_of_several_points_is_that_of_each(self, name, n_e):
        acquisition, state = ACQUISITIONS[name], known(prior_draws(n_e=n_e, draws=32))
        objective = Objective(acquisition, state, seed=0)
        points = promising(acquisition, state)
        value, gradient = objective.slope(points)
        assert value == pytest.approx(score(acquisition, state, points).sum(), rel=1e-9)
        assert value == pytest.approx(objective(points).sum(), rel=1e-3, abs=1e-3)
        for point, expected in zip(points, gradient, strict=True):
            np.testing.assert_allclose(objective.slope(point[None])[1][0], expected, rtol=1e-6, atol=1e-8)

    def test_the_same_seed_gives_the_same_values(self, name, n_e):
        points = np.random.default_rng(2).random((5, 2))
        first, second, other = (
            Objective(ACQUISITIONS[name], known(prior_draws(n_e=n_e, draws=32)), seed=s)(points) for s in (4, 4, 5)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)


def matern32(a, b, lengthscale):
    squared = (((a[:, None] - b[None]) / lengthscale) ** 2).sum(-1)
    s = jnp.sqrt(3.0 * jnp.where(squared > 0, squared, 1.0))
    return jnp.where(squared > 0, (1 + s) * jnp.exp(-s), 1.0)


def latent_in_jax(draws, deviates, point):
    """Latent values (draws, n_e) at a point: conditional mean and fixed deviates from it, by dense solves."""
    parts = []
    for d, lengthscale in enumerate(draws.lengthscales):
        K = (1 - draws.nugget) * matern32(draws.X, draws.X, lengthscale) + (draws.nugget + JITTER) * jnp.eye(
            len(draws.X)
        )
        k = (1 - draws.nugget) * matern32(point[None], draws.X, lengthscale)[0]
        solved = jnp.linalg.solve(K, k)
        deviation = jnp.sqrt((1 - draws.nugget) ** 2 - k @ solved)
        parts.append(draws.parts[..., d] @ solved + deviation * deviates[d])
    return jnp.stack(parts, axis=-1) @ draws.mixing.T


def log_expected_improvement(draws, deviates, margin, point):
    """The mean over draws of the volume with the point less the volume without it, in polar form."""
    latent, n_e = latent_in_jax(draws, deviates, point), draws.latent_dim
    directions = sphere(n_e)
    sector = {2: np.pi / 4, 3: np.pi / 6}[n_e]
    gains = []
    for values, new in zip(draws.smooth, latent, strict=True):
        front = values[non_dominated(values)]
        unit = np.maximum(front.max(0) - front.min(0), 0.2 * (values.max(0) - values.min(0)))
        reference = front.min(0) - margin * unit

        def reach(y, reference=reference, unit=unit):
            return (jnp.maximum((y - reference) / unit, 0.0) / directions).min(-1)

        before = np.max([reach(y) for y in front], axis=0)
        gains.append(sector * (jnp.maximum(reach(new), before) ** n_e - before**n_e).mean())
    return jnp.log(jnp.stack(gains).mean() + 1e-12)


def upper_bound(draws, deviates, front, point):
    margin = latent_in_jax(draws, deviates, point)[:, None] - draws.smooth[:, front]
    beats = jax.scipy.special.log_ndtr(margin / np.sqrt(2.0)).sum((1, 2))
    return jnp.quantile(beats, 0.95)


@pytest.mark.parametrize("n_e", [2, 3])
@pytest.mark.parametrize("name", ["ehvi", "ucb"])
def test_values_and_gradients_are_those_of_a_formula_in_jax(name, n_e):
    jax.config.update("jax_enable_x64", True)
    draws = prior_draws(n_e=n_e, draws=16)
    state, acquisition = known(draws), ACQUISITIONS[name]
    objective = Objective(acquisition, state, seed=0)
    deviates = draws.marginals(0).deviates

    def formula(point):
        if name == "ehvi":
            return log_expected_improvement(draws, deviates, 0.3, point)
        return upper_bound(draws, deviates, state.front, point)

    for point in promising(acquisition, state):
        value, gradient = objective.slope(point[None])
        expected, by_point = jax.value_and_grad(formula)(jnp.asarray(point))
        assert value == pytest.approx(float(expected), rel=1e-6, abs=1e-6)
        np.testing.assert_allclose(gradient[0], by_point, rtol=1e-5, atol=1e-5 * np.abs(by_point).max())


def test_ucb_is_the_95_percent_quantile_of_the_log_probability_to_beat_the_whole_front():
    draws = prior_draws(draws=64)
    state = known(draws)
    points = np.array([[0.4, 0.6], [0.9, 0.1], [0.2, 0.3]])
    latent = draws.marginals(0).evaluate(points).latent
    margin = latent[:, :, None] - draws.smooth[:, state.front]
    expected = np.quantile(log_ndtr(margin / np.sqrt(2)).sum((2, 3)), 0.95, axis=1)
    np.testing.assert_allclose(Objective(ACQUISITIONS["ucb"], state, seed=0)(points), expected, rtol=1e-4)


def test_ucb_does_not_underflow_with_many_rivals():
    draws = prior_draws(m=60, draws=32)
    objective = Objective(ACQUISITIONS["ucb"], Known(draws, np.arange(60)), seed=0)
    points = np.random.default_rng(0).random((20, 2))
    values = objective(points)
    assert np.isfinite(values).all()
    assert len(np.unique(values)) == 20
    assert values.min() < -50
    assert np.isfinite(objective.slope(points)[1]).all()


def test_ehvi_is_the_mean_hypervolume_that_a_point_adds():
    draws = prior_draws(draws=64)
    points = np.array([[0.4, 0.6], [0.9, 0.1]])
    prepared = ACQUISITIONS["ehvi"].prepare(known(draws), seed=0)
    latent = prepared.outlook.evaluate(points).latent
    reference, unit = prepared.state.reference.T, prepared.state.unit.T
    got = np.exp(ACQUISITIONS["ehvi"].score(prepared.state, latent))
    for number in range(2):
        gains = []
        for draw in range(64):
            values = (draws.smooth[draw] - reference[draw]) / unit[draw]
            with_point = np.vstack([values, (latent[number, draw] - reference[draw]) / unit[draw]])
            gains.append(hypervolume(with_point, [0, 0]) - hypervolume(values, [0, 0]))
        assert got[number] == pytest.approx(np.mean(gains), rel=0.05, abs=1e-3)


def test_scalarised_thompson_is_the_chebyshev_value_of_one_draw():
    draws = prior_draws(draws=16, n_e=3)
    points = np.random.default_rng(0).random((6, 2))
    rng = np.random.default_rng(3)
    draw, weight = int(rng.integers(16)), rng.dirichlet(np.ones(3))
    values = draws.smooth[draw]
    front = values[non_dominated(values)]
    unit = np.maximum(front.max(0) - front.min(0), 0.2 * (values.max(0) - values.min(0)))
    shortfall = weight * (draws.path(draw, 3).evaluate(points).latent[:, 0] - values.max(0)) / unit
    expected = shortfall.min(1) + 0.05 * shortfall.sum(1)
    got = Objective(ACQUISITIONS["scalarised_thompson"], known(draws), seed=3)(points)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def entropy(p):
    return -(p * np.log(p) + (1 - p) * np.log1p(-p))


def test_information_is_the_mutual_information_of_the_draw_and_whether_the_point_is_kept():
    draws = prior_draws(draws=64)
    state = known(draws)
    points = np.random.default_rng(0).random((50, 2))
    latent = draws.marginals(0).evaluate(points).latent
    margin = (draws.smooth[:, state.front] - latent[:, :, None]) / np.sqrt(2)
    kept = np.clip((1 - ndtr(margin).prod(3)).prod(2), 1e-12, 1 - 1e-12)
    told = entropy(kept.mean(1)) - entropy(kept).mean(1)
    values = Objective(ACQUISITIONS["information"], state, seed=0)(points)
    np.testing.assert_allclose(np.exp(values), told, atol=1e-4)
    assert (values <= np.log(np.log(2.0)) + 1e-6).all()


@dataclasses.dataclass(frozen=True)
class Nearest:
    """An acquisition that a user might write: latent values close to a target, on average."""

    name: str = "nearest"
    sentence: str = "the new option is the one closest to a target"
    nearby: bool = False

    def prepare(self, known, seed):
        return Prepared(known.draws.marginals(seed), np.array([1.0, -0.5]))

    def score(self, state, latent):
        return -((latent - state) ** 2).sum(2).mean(1)


def test_an_acquisition_without_a_derivative_is_maximised_too():
    draws = prior_draws()
    state = known(draws)
    assert not isinstance(Nearest(), Differentiable)
    assert all(isinstance(acquisition, Differentiable) for acquisition in ACQUISITIONS.values())
    objective = Objective(Nearest(), state, seed=0)
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
    found = maximise(objective, objective.slope, space, draws.X, draws.X, seed=0)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 80)] * 2), axis=-1).reshape(-1, 2)
    pool = maximise(objective, None, space, draws.X, draws.X, seed=0)
    assert found.value[0] >= objective(grid).max() - 1e-4
    assert found.value[0] > pool.value[0], "the climb starts from the pool's best"


def test_finite_differences_agree_with_a_derivative_that_is_written_out():
    state = known(prior_draws())

    class Written(Nearest):
        def score_gradient(self, target, latent):
            return self.score(target, latent), -2.0 * (latent - target) / latent.shape[1]

    points = np.random.default_rng(0).random((6, 2))
    value, gradient = Objective(Nearest(), state, seed=0).slope(points)
    expected_value, expected = Objective(Written(), state, seed=0).slope(points)
    assert value == pytest.approx(expected_value, rel=1e-9)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
