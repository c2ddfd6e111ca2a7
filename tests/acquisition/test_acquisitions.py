"""What every acquisition promises, and the values of each."""

import jax.numpy as jnp
import numpy as np
import pytest
from acquisition_helpers import known, prior_belief
from scipy.special import log_ndtr

from choicebo.acquisition import ACQUISITIONS, ExpectedImprovement, UpperBound
from choicebo.acquisition.maximise import Objective
from choicebo.pareto import hypervolume

EVERY = sorted(ACQUISITIONS)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("n_e", [1, 2, 3, 4])
class TestContract:
    def test_values_are_finite_and_differ_between_points(self, name, n_e):
        objective = Objective(ACQUISITIONS[name], known(prior_belief(n_e=n_e, draws=32)), seed=0)
        values = objective(np.random.default_rng(0).random((40, 2)))
        assert values.shape == (40,)
        assert np.isfinite(values).all()
        assert np.ptp(values) > 0

    def test_gradients_agree_with_finite_differences(self, name, n_e):
        objective = Objective(ACQUISITIONS[name], known(prior_belief(n_e=n_e, draws=32)), seed=0)
        rng = np.random.default_rng(1)
        pool = rng.random((60, 2))
        best = pool[np.argsort(-objective(pool))[:8]]
        gradient = objective.slope(best)[1]
        step = 1e-3
        agreed = 0
        for number, point in enumerate(best):
            for column in range(2):
                moved = np.stack([point, point])
                moved[:, column] += (step, -step)
                high, low = objective(moved)
                agreed += abs((high - low) / (2 * step) - gradient[number, column]) < 0.05 + 0.1 * abs(
                    gradient[number, column]
                )
        # Maxima and minima over draws and directions have corners, where the two differ.
        assert agreed >= 10

    def test_the_same_seed_gives_the_same_values(self, name, n_e):
        points = np.random.default_rng(2).random((5, 2))
        first, second, other = (
            Objective(ACQUISITIONS[name], known(prior_belief(n_e=n_e, draws=32)), seed=s)(points) for s in (4, 4, 5)
        )
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, other)


def test_ucb_is_the_quantile_of_the_log_probability_to_beat_the_whole_front():
    belief = prior_belief(draws=64)
    state = known(belief)
    point = np.array([[0.4, 0.6]])
    objective = Objective(UpperBound(gamma=0.9), state, seed=0)
    from choicebo.acquisition.belief import latent_at

    outlook = belief.marginals(0)
    at = np.asarray(latent_at(belief.kernel, belief.nugget, outlook, jnp.asarray(point)), dtype=float)[0]
    margin = at[:, None] - belief.smooth[:, state.front]
    expected = np.quantile(log_ndtr(margin / np.sqrt(2)).sum((1, 2)), 0.9)
    assert objective(point)[0] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_ucb_does_not_underflow_with_many_rivals():
    belief = prior_belief(m=60, draws=32)
    from choicebo.acquisition.base import Known

    values = Objective(UpperBound(), Known(belief, np.arange(60)), seed=0)(np.random.default_rng(0).random((20, 2)))
    assert np.isfinite(values).all()
    assert len(np.unique(values)) == 20
    assert values.min() < -50


def test_ehvi_is_the_mean_hypervolume_that_a_point_adds():
    belief = prior_belief(draws=64)
    acquisition = ExpectedImprovement()
    prepared = acquisition.prepare(known(belief), seed=0)
    points = np.array([[0.4, 0.6], [0.9, 0.1]])
    from choicebo.acquisition.belief import latent_at

    latent = np.asarray(latent_at(belief.kernel, belief.nugget, prepared.outlook, jnp.asarray(points)), dtype=float)
    reference, unit = np.asarray(prepared.state.reference), np.asarray(prepared.state.unit)
    for number in range(2):
        gains = []
        for draw in range(64):
            values = (belief.smooth[draw] - reference[draw]) / unit[draw]
            with_point = np.vstack([values, (latent[number, draw] - reference[draw]) / unit[draw]])
            gains.append(hypervolume(with_point, [0, 0]) - hypervolume(values, [0, 0]))
        got = float(np.exp(acquisition.score(prepared.state, jnp.asarray(latent, dtype=jnp.float32))[number]))
        assert got == pytest.approx(np.mean(gains), rel=0.05, abs=1e-3)


def test_information_is_at_most_one_bit():
    objective = Objective(ACQUISITIONS["information"], known(prior_belief()), seed=0)
    values = objective(np.random.default_rng(0).random((50, 2)))
    assert (values <= np.log(np.log(2.0)) + 1e-6).all()
