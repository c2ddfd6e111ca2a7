from __future__ import annotations

import itertools
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from model_helpers import choice_data, mixed_data, one_choice
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtr
from scipy.stats import norm

import choicebo as cb
from choicebo.model import likelihood
from choicebo.model.choice_table import MAX_SET

REFERENCE = json.loads((Path(__file__).parent / "likelihood_cases.json").read_text())


@pytest.mark.parametrize("case", REFERENCE, ids=range(len(REFERENCE)))
def test_agrees_with_the_reference_values(case):
    data = one_choice(len(case["latent"]), np.flatnonzero(case["chosen"]))
    value = cb.choice_log_likelihood(case["latent"], data, case["sigma"])
    np.testing.assert_allclose(value, [case["log_likelihood"]], rtol=1e-10)


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
    value = likelihood.log_rejection(np.array(z))
    np.testing.assert_allclose(value, np.log(integrated_rejection(z)), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "latent",
    [
        [0.4, -0.3, 0.9],
        [-6.0, 3.0, 2.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, -2.0],
        [12.0, 3.0, 14.0],
        [0.0, *[8.0] * 40],  # the more factors, the narrower the integrand
    ],
    ids=str,
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
    np.testing.assert_allclose(value, np.log(expected), rtol=1e-10)


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
    with pytest.raises(cb.InvalidInputError, match=r"Choice 0 kept 13 options.*at most 12 kept.*smaller sets"):
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


@pytest.mark.parametrize("kept", [(0,), (0, 1, 2), tuple(range(12))])
def test_all_events_of_one_kind_are_evaluated_as_each_alone(kept):
    rng = np.random.default_rng(6)
    z = 3 * rng.normal(size=(len(kept), 2, 3))
    together = likelihood.log_rejection(z)
    np.testing.assert_allclose(together, [likelihood.log_rejection(z[..., e]) for e in range(3)], atol=1e-13)


def test_twelve_kept_beside_a_rejected_one_agree_with_the_integral_over_the_noise():
    z = np.linspace(-3.0, 0.5, 12)[:, None]
    np.testing.assert_allclose(likelihood.log_rejection(z), np.log(integrated_rejection(z)), rtol=1e-10)


def test_the_memory_does_not_grow_with_the_number_of_choices():
    data = choice_data(10, [(range(10), range(7))] * 200)
    latent = np.random.default_rng(7).normal(size=(10, 2))
    tracemalloc.start()
    values = cb.choice_log_likelihood(latent, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(values, values[0], rtol=1e-13)
    assert peak < 30e6


# Far apart --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_e", [1, 2, 3])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_values_are_finite_at_differences_of_a_thousand(n_e, sign):
    data = choice_data(8, [((0, 1, 2, 3), (0, 1, 3)), ((4, 5, 6, 7), (5, 6, 7)), ((0, 4), (0,))])
    latent = sign * 1e3 * np.random.default_rng(5).permuted(np.tile(np.arange(8.0), (n_e, 1)), axis=1).T
    for values in (cb.choice_log_likelihood(latent, data), likelihood.normalised_log_likelihood(latent, data)):
        assert np.all(np.isfinite(values))
        assert np.all(values <= 1e-12)


def test_a_rejection_a_thousand_noises_away_has_the_logarithm_of_the_tail():
    # Of two equal rivals far below, one wins by its own noise and the other's: log Phi(-1000 / sqrt 2), and log 2 for
    # the two ways, but for the share of both at once, which is negligible.
    np.testing.assert_allclose(
        likelihood.log_rejection(np.full((2, 1), -1e3)), norm.logcdf(-1e3 / np.sqrt(2)) + np.log(2), rtol=1e-12
    )


def test_a_winner_among_many_far_better_options_agrees_with_a_fine_grid():
    z = -1e3 * np.linspace(0.0, 1.0, 1000) ** 8

    def log_integrand(u):
        return norm.logpdf(u) + log_ndtr(np.subtract.outer(z, u)).sum(0)

    centre = minimize_scalar(lambda u: -log_integrand(u), bounds=(-1e3, 0.0), method="bounded").x
    nodes, step = np.linspace(centre - 10.0, centre + 10.0, 4001, retstep=True)
    expected = logsumexp(log_integrand(nodes)) + np.log(step)
    np.testing.assert_allclose(likelihood.log_batch_preference(z[:, None]), expected, rtol=1e-12)


# Probabilities that sum to one ------------------------------------------------------------------------------


def all_answers(size):
    """One choice for every non-empty subset of the same set."""
    subsets = itertools.chain.from_iterable(itertools.combinations(range(size), k) for k in range(1, size + 1))
    return choice_data(size, [(range(size), kept) for kept in subsets])


@pytest.mark.parametrize(("n_e", "mass"), [(1, 1.27), (2, 1.02)])
def test_three_tied_options_have_the_mass_of_the_closed_form(n_e, mass):
    # A tied option beats another with probability p, and two others at once with q.
    p, q = 0.5**n_e, (1 / 3) ** n_e
    one, two, three = p**2, (2 * p - q) * (1 - p) ** 2, (1 - p) ** 6
    total = 3 * one + 3 * two + three
    assert round(total, 2) == mass
    values = np.exp(likelihood.normalised_log_likelihood(np.zeros((3, n_e)), all_answers(3)))
    np.testing.assert_allclose(values, np.array([one] * 3 + [two] * 3 + [three]) / total, rtol=1e-11)


@pytest.mark.parametrize("n_e", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
def test_normalised_values_are_those_of_the_theorem_divided_by_their_sum(n_e, size, spread):
    latent = spread * np.random.default_rng(size).normal(size=(size, n_e))
    raw = np.exp(cb.choice_log_likelihood(latent, all_answers(size), 0.7))
    values = likelihood.normalised_log_likelihood(latent, all_answers(size), 0.7)
    np.testing.assert_allclose(np.exp(values), raw / raw.sum(), rtol=1e-9, atol=1e-300)


def test_each_choice_is_normalised_over_its_own_set():
    data = mixed_data()
    latent = np.random.default_rng(0).normal(size=(8, 2))
    together = likelihood.normalised_log_likelihood(latent, data)
    for number, choice in enumerate(data.choices):
        alone = one_choice(len(choice.shown), [choice.shown.index(i) for i in choice.kept])
        value = likelihood.normalised_log_likelihood(latent[list(choice.shown)], alone)
        np.testing.assert_allclose(together[number], value[0], rtol=1e-12)


def test_a_lapse_is_mixed_in_after_normalising():
    latent = np.random.default_rng(1).normal(size=(4, 2))
    without = np.exp(likelihood.normalised_log_likelihood(latent, all_answers(4)))
    values = np.exp(likelihood.normalised_log_likelihood(latent, all_answers(4), lapse=0.2))
    np.testing.assert_allclose(values, 0.8 * without + 0.2 / 15, rtol=1e-12)
    np.testing.assert_allclose(values.sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
def test_batch_preferences_sum_to_one_over_the_winners(spread):
    latent = spread * np.random.default_rng(2).normal(size=(5, 1))
    data = choice_data(5, [(range(5), (winner,)) for winner in range(5)])
    settings = {"noise": 1.7, "likelihood": "batch_preference"}
    values = likelihood.normalised_log_likelihood(latent, data, **settings)
    np.testing.assert_allclose(np.exp(values).sum(), 1.0, rtol=1e-11)
    np.testing.assert_array_equal(values, cb.choice_log_likelihood(latent, data, **settings))


def test_the_largest_set_can_be_normalised_and_a_larger_one_is_refused():
    latent = np.random.default_rng(3).normal(size=(MAX_SET + 1, 1))
    value = likelihood.normalised_log_likelihood(latent[:MAX_SET], one_choice(MAX_SET, [0, 1]))
    assert value < 0
    with pytest.raises(cb.InvalidInputError, match=f"at most {MAX_SET} options"):
        likelihood.normalised_log_likelihood(latent, one_choice(MAX_SET + 1, [0, 1]))


def test_no_choices_give_no_normalised_values():
    assert likelihood.normalised_log_likelihood(np.zeros((3, 2)), choice_data(3, [])).shape == (0,)


# Input that cannot be used ----------------------------------------------------------------------------------


@pytest.mark.parametrize("latent", [np.zeros((2, 1)), np.zeros(3), np.zeros((3, 0)), np.zeros((1, 3, 1)), 0.0])
def test_latent_values_of_another_shape_are_refused(latent):
    with pytest.raises(cb.InvalidInputError, match=r"latent must have one row per option.*\(3, n_e\)"):
        cb.choice_log_likelihood(latent, one_choice(3, [0]))


@pytest.mark.parametrize("latent", [[["a"], ["b"], ["c"]], [[0.0], [0.0, 1.0], [0.0]]])
def test_latent_values_that_are_no_numbers_are_refused(latent):
    with pytest.raises(cb.InvalidInputError, match="latent must be a numeric array"):
        cb.choice_log_likelihood(latent, one_choice(3, [0]))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [cb.choice_log_likelihood, likelihood.normalised_log_likelihood])
def test_latent_values_that_are_not_finite_are_refused(bad, function):
    with pytest.raises(cb.InvalidInputError, match="every entry must be finite"):
        function([[0.0], [bad], [1.0]], one_choice(3, [0]))


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf, None, [1.0], "1", 1j])
def test_a_noise_that_is_not_positive_is_refused(noise):
    with pytest.raises(cb.InvalidInputError, match="noise must be a positive finite number"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), noise)


@pytest.mark.parametrize("lapse", ["a", None])
def test_a_lapse_rate_that_is_no_number_is_refused(lapse):
    with pytest.raises(cb.InvalidInputError, match="lapse must be at least 0 and below 1"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), lapse=lapse)


@pytest.mark.parametrize("lapse", [-0.01, 1.0, 2.0, np.nan])
def test_a_lapse_rate_out_of_range_is_refused(lapse):
    with pytest.raises(cb.InvalidInputError, match="lapse must be at least 0 and below 1"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), lapse=lapse)


def test_an_unknown_likelihood_is_refused_and_the_known_ones_named():
    with pytest.raises(cb.InvalidInputError, match=r"'choice', .*'batch_preference', .* got 'probit'"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0]), likelihood="probit")


def test_a_batch_preference_needs_one_latent_dimension():
    with pytest.raises(cb.InvalidInputError, match="needs one latent dimension, got 2"):
        cb.choice_log_likelihood(np.zeros((3, 2)), one_choice(3, [0]), likelihood="batch_preference")


def test_a_batch_preference_needs_one_winner():
    with pytest.raises(cb.InvalidInputError, match=r"choice 0 kept 2 options; use likelihood='choice'"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0, 1]), likelihood="batch_preference")
