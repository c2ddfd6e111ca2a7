import numpy as np
import pytest

from choicebo.acquisition.improvement import attained, improvement
from choicebo.pareto import hypervolume, non_dominated


@pytest.mark.parametrize("n_e", [1, 2, 3, 4])
def test_improvement_is_the_difference_of_hypervolumes(n_e):
    rng = np.random.default_rng(n_e)
    latent = rng.standard_normal((5, 9, n_e))
    state = attained(latent, margin=0.1)
    points = rng.standard_normal((6, n_e)) + 0.8
    everywhere = np.repeat(points[:, None], 5, axis=1)
    got = improvement(state, everywhere)
    reference, unit = state.reference.T, state.unit.T
    for draw in range(5):
        values = (latent[draw] - reference[draw]) / unit[draw]
        before = hypervolume(values, np.zeros(n_e))
        for number, point in enumerate(points):
            after = hypervolume(np.vstack([values, (point - reference[draw]) / unit[draw]]), np.zeros(n_e))
            assert got[number, draw] == pytest.approx(after - before, rel=0.15, abs=0.05 * max(1.0, after))


def test_improvement_does_not_depend_on_the_scale_of_a_draw():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((3, 8, 2))
    points = rng.standard_normal((4, 3, 2)) + 1.0
    stretch = np.array([10.0, 0.2])
    plain = improvement(attained(latent, 0.1), points)
    stretched = improvement(attained(latent * stretch + 5.0, 0.1), points * stretch + 5.0)
    np.testing.assert_allclose(plain, stretched, rtol=1e-3, atol=1e-4)


def test_a_dominated_point_adds_nothing():
    latent = np.random.default_rng(0).standard_normal((4, 10, 2))
    front = [values[non_dominated(values)][0] for values in latent]
    below = np.array([[value - 0.01 for value in front]])
    assert improvement(attained(latent, 0.1), below).max() < 1e-6


def test_one_option_that_beats_all_others_is_no_degenerate_front():
    latent = np.array([[[3.0, 3.0], [0.0, 0.0], [1.0, 1.0]]])
    better = np.array([[[3.5, 3.5]], [[2.0, 2.0]]])
    gain = improvement(attained(latent, 0.1), better)[:, 0]
    assert gain[0] > 0.0
    assert gain[1] == 0.0


def test_what_is_known_counts_from_the_worst_of_all_options_on():
    """A front of one cheap option must not hide that a dear one may be worth its price."""
    latent = np.array([[[1.0, 5.0], [0.0, 0.0], [0.5, 1.0]]])
    dear = np.array([[[1.2, 0.5]]])
    assert improvement(attained(latent, 0.1), dear)[0, 0] == 0.0
    assert improvement(attained(latent, 0.1, known=[1]), dear)[0, 0] > 0.0


def test_the_dear_end_of_the_front_counts_for_its_whole_extent():
    latent = np.array([[[1.0, 5.0], [2.0, 0.0]]])
    better = np.array([[[2.1, 0.0]]])
    gains = [improvement(attained(latent, 0.1, known=known), better)[0, 0] for known in ([], [1])]
    assert gains[1] > 5.0 * gains[0] > 0.0
