from __future__ import annotations

import itertools
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model_helpers import central_differences, choice_data, mixed_data, one_choice, winner_data
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import choicebo as cb
from choicebo.model import likelihood

LOG_REJECTION = jax.jit(likelihood.log_rejection)
REFERENCE = json.loads((Path(__file__).parent / "likelihood_cases.json").read_text())


@pytest.mark.parametrize("case", REFERENCE, ids=range(len(REFERENCE)))
def test_agrees_with_the_reference_values(case):
    data = one_choice(len(case["latent"]), np.flatnonzero(case["chosen"]))
    value = cb.choice_log_likelihood(case["latent"], data, case["sigma"])
    np.testing.assert_allclose(value, [case["log_likelihood"]], rtol=1e-8, atol=1e-10)


# Simulation and quadrature ----------------------------------------------------------------------------------


def simulated_likelihood(latent, kept, noise, rng, draws=50_000):
    """The product over the events of the share of draws in which each happens, and its relative standard error."""
    size, n_e = latent.shape
    rejected = [j for j in range(size) if j not in kept]
    probability, variance = 1.0, 0.0

    def noisy(option):
        return latent[option] + noise * rng.standard_normal((draws, n_e))

    for j in rejected:
        value_j = noisy(j)  # one noise of j for all comparisons
        beaten = np.zeros(draws, dtype=bool)
        for i in kept:
            beaten |= (noisy(i) > value_j).all(1)
        share = beaten.mean()
        probability, variance = probability * share, variance + (1 - share) / share / draws
    for p, i in itertools.permutations(kept, 2):
        share = 1 - (noisy(p) > noisy(i)).all(1).mean()
        probability, variance = probability * share, variance + (1 - share) / share / draws
    return probability, np.sqrt(variance)


@pytest.mark.parametrize("n_e", [1, 2, 3])
def test_agrees_with_simulated_noise(n_e):
    rng = np.random.default_rng(n_e)
    sets = [
        (2, (0,)),
        (2, (0, 1)),
        (3, (1,)),
        (3, (0, 2)),
        (4, (0, 1)),
        (4, (0, 1, 3)),
        (5, (2,)),
        (5, (0, 2, 3)),
        (5, (1, 2, 3, 4)),
    ]
    starts = np.cumsum([0, *(size for size, _ in sets)])
    latent = rng.normal(size=(starts[-1], n_e))
    for (_, kept), start in zip(sets, starts, strict=False):
        latent[[start + i for i in kept]] += 0.7  # the kept ones are better: all events are common enough to simulate
    data = choice_data(
        starts[-1],
        [
            (range(start, start + size), [start + i for i in kept])
            for (size, kept), start in zip(sets, starts, strict=False)
        ],
    )
    noise = 0.8
    values = np.exp(cb.choice_log_likelihood(latent, data, noise))
    for value, (size, kept), start in zip(values, sets, starts, strict=False):
        simulated, error = simulated_likelihood(latent[start : start + size], kept, noise, rng)
        assert abs(value / simulated - 1) < 5 * error


def integrated_rejection(z):
    """``E_u[1 - prod_i (1 - prod_d Phi(z_id - u_d))]`` by quadrature in the noise, for one or two dimensions."""
    z = np.asarray(z)

    def integrand(*u):
        beats = np.prod([ndtr(z[:, d].reshape((-1,) + (1,) * np.ndim(u[d])) - u[d]) for d in range(len(u))], axis=0)
        with np.errstate(divide="ignore"):  # a certain victory has the logarithm -inf of its complement
            return -np.expm1(np.log1p(-beats).sum(0)) * np.prod([norm.pdf(x) for x in u], axis=0)

    lower, upper = min(z.min(), 0.0) - 8.0, 10.0
    if z.shape[1] == 1:
        # Pieces, so that no narrow peak falls between the nodes of the adaptive rule.
        edges = np.linspace(lower, upper, 30)
        return sum(quad(integrand, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in itertools.pairwise(edges))
    nodes, step = np.linspace(lower, upper, 401, retstep=True)  # the trapezoidal rule: smooth, and 0 at both ends
    return integrand(*np.meshgrid(nodes, nodes)).sum() * step**2


@pytest.mark.parametrize(
    "z",
    [
        [[0.3], [-0.4]],
        [[2.0], [-5.0]],
        [[-10.0], [-10.5]],
        [[-20.0], [-30.0]],
        [[-30.0], [-30.0]],
        [[0.1], [0.5], [-0.7]],
        [[-12.0], [-10.0], [-11.0]],
        [[-30.0], [-29.0], [-28.0]],
        [[4.0], [3.0], [8.0]],
        [[0.3, -0.4], [-1.0, 1.2]],
        [[-10.0, 1.0], [2.0, -10.0]],
        [[-12.0, -11.0], [-11.0, -13.0]],
        [[0.3, -0.4], [-1.0, 1.2], [0.0, 0.1]],
        [[-15.0, 3.0], [-14.0, 1.0], [-14.0, -1.0]],
    ],
    ids=str,
)
def test_a_rejection_agrees_with_the_integral_over_the_noise(z):
    value = float(LOG_REJECTION(jnp.array(z)))
    np.testing.assert_allclose(value, np.log(integrated_rejection(z)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "latent", [[0.4, -0.3, 0.9], [-6.0, 3.0, 2.0], [1.0, 1.0, 1.0, 1.0, 1.0, -2.0], [12.0, 3.0, 14.0]]
)
@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_a_batch_preference_is_the_integral_over_the_shared_noise(latent, noise):
    winner, others = latent[0], np.array(latent[1:])

    def integrand(v):
        return ndtr((winner + v - others) / noise).prod() * norm.pdf(v, scale=noise)

    edges = np.linspace(-10 * noise, 25 * noise, 60)
    expected = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in itertools.pairwise(edges))
    value = cb.choice_log_likelihood(
        np.array(latent)[:, None], one_choice(len(latent), [0]), noise, likelihood="batch_preference"
    )
    np.testing.assert_allclose(value, np.log(expected), rtol=1e-8)


# Sizes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_e", [1, 2, 3, 4])
def test_ten_options_of_which_nine_are_kept(n_e):
    latent = np.random.default_rng(n_e).normal(size=(10, n_e))
    value = cb.choice_log_likelihood(latent, one_choice(10, range(9)))
    assert np.all(np.isfinite(value))
    assert value < 0


def test_one_of_ten_options_agrees_with_the_closed_form():
    latent = np.random.default_rng(0).normal(size=(10, 2))
    value = cb.choice_log_likelihood(latent, one_choice(10, [3]))
    expected = norm.logcdf((latent[3] - np.delete(latent, 3, axis=0)) / np.sqrt(2)).sum()
    np.testing.assert_allclose(value, [expected], rtol=1e-10)


def test_more_than_twelve_kept_beside_a_rejected_option_are_refused():
    with pytest.raises(cb.InvalidInput, match=r"choice 0 kept 13 options.*at most 12 kept.*smaller sets"):
        cb.choice_log_likelihood(np.zeros((14, 2)), one_choice(14, range(13)))


def test_keeping_all_of_fifteen_options_is_accepted():
    latent = np.random.default_rng(0).normal(size=(15, 2))
    value = cb.choice_log_likelihood(latent, one_choice(15, range(15)))
    beats = norm.cdf((latent[:, None] - latent[None]) / np.sqrt(2)).prod(2)
    expected = np.log1p(-beats[~np.eye(15, dtype=bool)]).sum()
    np.testing.assert_allclose(value, [expected], rtol=1e-10)


def test_each_choice_has_its_own_value():
    data = mixed_data()
    latent = np.random.default_rng(0).normal(size=(8, 2))
    together = cb.choice_log_likelihood(latent, data)
    for k in (0, 3, 5):
        np.testing.assert_allclose(cb.choice_log_likelihood(latent, data.subset([k])), together[k], rtol=1e-12)


def test_no_choices_give_no_values():
    assert cb.choice_log_likelihood(np.zeros((3, 2)), choice_data(3, [])).shape == (0,)


# Gradients --------------------------------------------------------------------------------------------------


def gradient(data, latent, **settings):
    return np.asarray(jax.grad(lambda f: cb.choice_log_likelihood(f, data, **settings).sum())(jnp.asarray(latent)))


@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_the_gradient_agrees_with_finite_differences(spread):
    data = mixed_data()
    latent = spread * np.random.default_rng(3).normal(size=(8, 2))
    expected = central_differences(lambda f: cb.choice_log_likelihood(f, data, 1.3).sum(), latent)
    np.testing.assert_allclose(gradient(data, latent, noise=1.3), expected, rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_batch_preference_with_lapses_agrees_with_finite_differences():
    data = winner_data()
    latent = 2 * np.random.default_rng(4).normal(size=(8, 1))
    settings = {"likelihood": "batch_preference", "lapse": 0.05}
    expected = central_differences(lambda f: cb.choice_log_likelihood(f, data, **settings).sum(), latent)
    np.testing.assert_allclose(gradient(data, latent, **settings), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_e", [1, 2, 3])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_value_and_gradient_are_finite_at_differences_of_a_thousand(n_e, sign):
    data = choice_data(8, [((0, 1, 2, 3), (0, 1, 3)), ((4, 5, 6, 7), (5, 6, 7)), ((0, 4), (0,))])
    latent = sign * 1e3 * np.random.default_rng(5).permuted(np.tile(np.arange(8.0), (n_e, 1)), axis=1).T
    assert np.all(np.isfinite(cb.choice_log_likelihood(latent, data)))
    assert np.all(np.isfinite(gradient(data, latent)))


def test_a_numpy_array_gives_a_numpy_array_and_a_jax_array_a_jax_array():
    data = one_choice(3, [0, 1])
    assert isinstance(cb.choice_log_likelihood(np.zeros((3, 1)), data), np.ndarray)
    assert isinstance(cb.choice_log_likelihood(jnp.zeros((3, 1)), data), jax.Array)


# Input that cannot be used ----------------------------------------------------------------------------------


@pytest.mark.parametrize("latent", [np.zeros((2, 1)), np.zeros(3), np.zeros((3, 0)), np.zeros((1, 3, 1)), 0.0])
def test_latent_values_of_another_shape_are_refused(latent):
    with pytest.raises(cb.InvalidInput, match=r"latent must have one row per option.*\(3, n_e\)"):
        cb.choice_log_likelihood(latent, one_choice(3, [0]))


@pytest.mark.parametrize("latent", [[["a"], ["b"], ["c"]], [[0.0], [0.0, 1.0], [0.0]]])
def test_latent_values_that_are_no_numbers_are_refused(latent):
    with pytest.raises(cb.InvalidInput, match="latent must be a numeric array"):
        cb.choice_log_likelihood(latent, one_choice(3, [0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("array", [np.array, jnp.array])
def test_latent_values_that_are_not_finite_are_refused(bad, array):
    with pytest.raises(cb.InvalidInput, match="every entry must be finite"):
        cb.choice_log_likelihood(array([[0.0], [bad], [1.0]]), one_choice(3, [0]))


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf, None, [1.0], "1", 1j])
def test_a_noise_that_is_not_positive_is_refused(noise):
    with pytest.raises(cb.InvalidInput, match="noise must be a positive finite number"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), noise)


@pytest.mark.parametrize("lapse", ["a", None])
def test_a_lapse_rate_that_is_no_number_is_refused(lapse):
    with pytest.raises(cb.InvalidInput, match="lapse must be at least 0 and below 1"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), lapse=lapse)


@pytest.mark.parametrize("lapse", [-0.01, 1.0, 2.0, np.nan])
def test_a_lapse_rate_out_of_range_is_refused(lapse):
    with pytest.raises(cb.InvalidInput, match="lapse must be at least 0 and below 1"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), lapse=lapse)


def test_an_unknown_likelihood_is_refused_and_the_known_ones_named():
    with pytest.raises(cb.InvalidInput, match="'choice', 'batch_preference', got 'probit'"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), likelihood="probit")


def test_a_batch_preference_needs_one_latent_dimension():
    with pytest.raises(cb.InvalidInput, match="needs one latent dimension, got 2"):
        cb.choice_log_likelihood(np.zeros((3, 2)), one_choice(3, [0]), likelihood="batch_preference")


def test_a_batch_preference_needs_one_winner():
    with pytest.raises(cb.InvalidInput, match=r"choice 0 kept 2 options; use likelihood='choice'"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0, 1]), likelihood="batch_preference")
