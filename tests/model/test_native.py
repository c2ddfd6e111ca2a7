"""The compiled likelihood and its derivatives, against the exact likelihood and against derivatives by JAX."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import jax_reference as reference
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_helpers import central_differences, choice_data, law, mixed_data, one_choice, winner_data
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

import choicebo as cb
from choicebo.model import jit, native
from choicebo.model import likelihood as exact
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES


def evaluate(data, latent, kind="choice", lapse=0.0):
    """Log-likelihood (draws,) of all choices and its gradient, as the engines have them, for ``latent: (draws, m, n_e)``."""
    likelihood = Likelihood.of(data, kind, lapse)
    assert likelihood.options == latent.shape[1], "all options must be shown"
    draws = len(latent)
    lanes = np.resize(np.arange(draws), -(-draws // LANES) * LANES).reshape(-1, LANES)
    found = [likelihood.value_and_gradient(as_lanes(latent[block])) for block in lanes]
    gradient = np.concatenate([np.moveaxis(slope, (2, 1), (0, 1)) for _, slope in found])
    return np.concatenate([value for value, _ in found])[:draws], gradient[:draws]


def as_lanes(latent):
    """``(LANES, m, n_e) -> (n_e, m, LANES)`` in single precision."""
    return np.ascontiguousarray(np.moveaxis(latent, (0, 2), (2, 0)), dtype=np.float32)


def exact_choice(latent, kept):
    """Exact log-likelihood (draws,) of one choice that keeps the first options, for ``latent: (draws, m, n_e)``."""
    f = np.moveaxis(latent, 0, 2)
    total = sum((exact.log_rejection(f[:kept] - f[j]) for j in range(kept, len(f))), np.zeros(len(latent)))
    pairs = itertools.combinations(range(kept), 2)
    return sum((exact.log_coexistence(f[p] - f[i]) for p, i in pairs), total)


def exact_slope(latent, kept, step=1e-4):
    """Its derivatives (draws, m, n_e) by central differences."""
    slope = np.empty_like(latent)
    for option, d in np.ndindex(latent.shape[1:]):
        away = np.zeros(latent.shape[1:])
        away[option, d] = step
        slope[:, option, d] = (exact_choice(latent + away, kept) - exact_choice(latent - away, kept)) / (2 * step)
    return slope


def random_latent(options, n_e, spreads=(0.5, 2.0, 5.0, 20.0), draws=160, seed=7):
    rng = np.random.default_rng(seed)
    return np.concatenate([spread * rng.normal(size=(draws, options, n_e)) for spread in spreads])


# One choice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kept", "n_e"), [(2, 1), (2, 2), (3, 2), (4, 1), (2, 5)])
def test_a_rejection_is_close_to_the_exact_one(kept, n_e):
    latent = random_latent(kept + 1, n_e)
    latent[:, kept] = 0.0
    truth = exact_choice(latent, kept)
    value, slope = evaluate(one_choice(kept + 1, range(kept)), latent)
    error = np.abs(value - truth) - 1e-6 * np.abs(truth)  # the rounding of single precision
    assert error.max() < 7e-3
    assert error.mean() < 1e-3
    np.testing.assert_allclose(slope[:, :kept], exact_slope(latent, kept)[:, :kept], rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(slope.sum(1), 0.0, atol=1e-4)  # only differences count


@pytest.mark.parametrize("n_e", [1, 3, 5])
def test_a_rejection_by_a_single_option_is_exact(n_e):
    latent = random_latent(2, n_e, spreads=(0.5, 20.0))
    value, slope = evaluate(one_choice(2, [0]), latent)
    x = (latent[:, 0] - latent[:, 1]) / np.sqrt(2)
    np.testing.assert_allclose(value, log_ndtr(x).sum(1), rtol=1e-6, atol=1e-6)
    expected = np.exp(norm.logpdf(x) - log_ndtr(x)) / np.sqrt(2)
    np.testing.assert_allclose(slope[:, 0], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(slope[:, 1], -slope[:, 0])


@pytest.mark.parametrize(("kept", "bound"), [(2, 5e-3), (3, 8e-3), (4, 1.2e-2), (8, 2.5e-2), (12, 4e-2)])
def test_options_that_tie_are_the_worst_case_and_bounded(kept, bound):
    # In one dimension k equal kept options are one integral: E_u[1 - (1 - Phi(z - u))^k].
    z = np.linspace(-14.0, 6.0, 201)
    u, step = np.linspace(-30.0, 12.0, 3001, retstep=True)
    with np.errstate(divide="ignore"):
        beaten = -np.expm1(kept * np.log1p(-ndtr(z[:, None] - u)))
    rejection = np.log((beaten * norm.pdf(u)).sum(1) * step)
    coexistence = kept * (kept - 1) / 2 * np.log(0.25)
    latent = np.zeros((len(z), kept + 1, 1))
    latent[:, :kept] = z[:, None, None]
    value, _ = evaluate(one_choice(kept + 1, range(kept)), latent)
    assert np.abs(value - coexistence - rejection).max() < bound


@pytest.mark.parametrize("n_e", [1, 2, 3, 5])
def test_a_coexistence_is_exact_to_single_precision(n_e):
    latent = random_latent(2, n_e, spreads=(0.5, 3.0, 20.0))
    value, slope = evaluate(one_choice(2, [0, 1]), latent)
    np.testing.assert_allclose(value, exact_choice(latent, 2), rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(slope, exact_slope(latent, 2), rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("losers", "bound", "slope_bound"),
    [(1, 1e-5, 1e-5), (2, 3e-4, 5e-4), (4, 1e-2, 1e-2), (9, 4e-2, 6e-2), (14, 6e-2, 0.12)],
)
def test_a_contest_is_close_to_the_exact_one(losers, bound, slope_bound):
    latent = random_latent(losers + 1, 1, spreads=(0.5, 2.0, 5.0))
    value, slope = evaluate(one_choice(losers + 1, [0]), latent, "batch_preference")

    def truth(f):
        return exact.log_batch_preference(np.moveaxis(f[:, :1] - f[:, 1:], 0, 2))

    np.testing.assert_allclose(value, truth(latent), rtol=1e-6, atol=bound)
    units = 1e-4 * np.eye(losers + 1)[..., None]
    expected = np.stack([(truth(latent + unit) - truth(latent - unit)) / 2e-4 for unit in units], axis=1)
    np.testing.assert_allclose(slope[..., 0], expected, rtol=1e-4, atol=slope_bound)


@pytest.mark.parametrize("z", [-12.0, -40.0, -1000.0])
def test_a_contest_that_surprises_is_close_to_the_exact_one(z):
    value, slope = evaluate(one_choice(2, [0]), np.array([[[z], [0.0]]]), "batch_preference")
    x = z / np.sqrt(2)
    np.testing.assert_allclose(value, log_ndtr(x), rtol=1e-5)
    np.testing.assert_allclose(slope[0, 0, 0], np.exp(norm.logpdf(x) - log_ndtr(x)) / np.sqrt(2), rtol=1e-4)


@pytest.mark.parametrize(("size", "kept"), [(size, kept) for size in (2, 3, 4, 5, 8, 13, 15) for kept in (1, 2, size)])
@pytest.mark.parametrize("n_e", [1, 2, 3, 5])
def test_sets_of_two_to_fifteen_options_have_nearly_their_exact_likelihood(size, kept, n_e):
    latent = random_latent(size, n_e, spreads=(2.0,), draws=20)
    value, slope = evaluate(one_choice(size, range(kept)), latent)
    bound = 7e-3 * (size - kept if kept > 1 else 0) + 1e-5
    np.testing.assert_allclose(value, exact_choice(latent, kept), rtol=2e-6, atol=bound)
    np.testing.assert_allclose(slope[:4], exact_slope(latent[:4], kept), rtol=1e-2, atol=max(bound, 1e-3))


def test_twelve_kept_options_beside_a_rejected_one_are_taken():
    latent = random_latent(13, 2, spreads=(1.0,), draws=2)
    value, slope = evaluate(one_choice(13, range(12)), latent)
    np.testing.assert_allclose(value, exact_choice(latent, 12), atol=4e-2)
    for option in (0, 12):  # the exact likelihood has 4095 subsets: a derivative of each kind will do
        away = np.zeros((13, 2))
        away[option, 1] = 1e-4
        expected = (exact_choice(latent + away, 12) - exact_choice(latent - away, 12)) / 2e-4
        np.testing.assert_allclose(slope[:, option, 1], expected, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize(("kept", "rejected"), [(2, 9), (5, 10), (6, 9), (7, 3), (12, 3)])
def test_rejected_options_that_are_looked_at_in_portions_count_each_on_its_own(kept, rejected):
    # Of (6, 9), for example, 4, 4 and 1 at a time.
    latent = random_latent(kept + rejected, 2, spreads=(1.5,), draws=16)
    value, slope = evaluate(one_choice(kept + rejected, range(kept)), latent)
    together, together_slope = evaluate(one_choice(kept, range(kept)), latent[:, :kept])
    total, total_slope = together.copy(), np.zeros_like(slope)
    total_slope[:, :kept] = together_slope
    for j in range(kept, kept + rejected):
        shown = [*range(kept), j]
        one, one_slope = evaluate(one_choice(kept + 1, range(kept)), latent[:, shown])
        total += one - together
        total_slope[:, shown] += one_slope
        total_slope[:, :kept] -= together_slope
    np.testing.assert_allclose(value, total, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(slope, total_slope, rtol=1e-4, atol=2e-4)


# Far away ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lapse", [0.0, 0.05])
@pytest.mark.parametrize("n_e", [1, 2, 3, 5])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_value_and_gradient_are_right_at_differences_of_a_thousand(n_e, sign, lapse):
    data = mixed_data()
    latent = sign * 1e3 * np.random.default_rng(5).permuted(np.tile(np.arange(8.0), (n_e, 1)), axis=1).T
    # Off the grid: where two ways to be rejected are exactly as improbable, a finite difference averages them.
    latent += np.random.default_rng(6).normal(size=latent.shape)
    (value,), (slope,) = evaluate(data, latent[None], lapse=lapse)

    def truth(f):
        return cb.choice_log_likelihood(f, data, lapse=lapse).sum()

    np.testing.assert_allclose(value, truth(latent), rtol=1e-5)
    np.testing.assert_allclose(slope, central_differences(truth, latent, 1e-3), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_contests_have_the_right_derivatives_at_differences_of_a_thousand(sign):
    data = winner_data()
    latent = sign * 1e3 * np.random.default_rng(5).permutation(np.arange(8.0))[:, None]
    (value,), (slope,) = evaluate(data, latent[None], "batch_preference")

    def truth(f):
        return cb.choice_log_likelihood(f, data, likelihood="batch_preference").sum()

    np.testing.assert_allclose(value, truth(latent), rtol=1e-5)
    np.testing.assert_allclose(slope, central_differences(truth, latent, 1e-3), rtol=1e-3, atol=1e-2)


def test_many_kept_options_far_apart_have_a_finite_slope():
    latent = 1e3 * np.random.default_rng(1).normal(size=(16, 9, 2))
    value, slope = evaluate(one_choice(9, range(8)), latent)
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()


# Whole data sets --------------------------------------------------------------------------------------------


SETTINGS = [(mixed_data(), "choice", 2), (winner_data(), "batch_preference", 1)]
"""Choices, likelihood and number of latent dimensions."""


@pytest.mark.parametrize(("data", "kind", "n_e"), SETTINGS)
def test_value_and_gradient_are_nearly_those_of_the_reference(data, kind, n_e):
    latent = 2.0 * np.random.default_rng(0).normal(size=(8, n_e))
    (value,), (slope,) = evaluate(data, latent[None], kind, 0.05)

    @jax.jit
    @jax.value_and_grad
    def total(f):
        return reference.log_likelihoods(f, data, likelihood=kind, lapse=0.05).sum()

    expected, expected_slope = total(latent.T)
    np.testing.assert_allclose(value, expected, rtol=1e-3, atol=5e-3)
    np.testing.assert_allclose(slope, np.asarray(expected_slope).T, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("lapse", [0.0, 0.05])
@pytest.mark.parametrize("n_e", [1, 2, 3, 5])
def test_the_gradient_of_all_choices_is_nearly_that_of_the_exact_likelihood(n_e, lapse):
    data = mixed_data()
    latent = 2.0 * np.random.default_rng(1).normal(size=(8, n_e))
    _, (slope,) = evaluate(data, latent[None], lapse=lapse)
    expected = central_differences(lambda f: cb.choice_log_likelihood(f, data, lapse=lapse).sum(), latent)
    np.testing.assert_allclose(slope, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("lapse", [0.0, 0.05])
@pytest.mark.parametrize(("data", "kind", "n_e"), SETTINGS)
@pytest.mark.parametrize("draws", [1, 5, 16, 17, 33])
def test_every_choice_of_any_number_of_draws_has_its_exact_likelihood(data, kind, n_e, lapse, draws):
    latent = 2.0 * np.random.default_rng(draws).normal(size=(draws, 8, n_e))
    values = Likelihood.of(data, kind, lapse).values(np.swapaxes(latent, 1, 2))
    expected = [cb.choice_log_likelihood(f, data, likelihood=kind, lapse=lapse) for f in latent]
    assert values.shape == (draws, len(data))
    assert values.dtype == np.float64
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-3)


@st.composite
def data_sets(draw):
    """Choices of two to six among twelve options, some of which nobody was shown."""
    choices = []
    for _ in range(draw(st.integers(1, 6))):
        shown = draw(st.lists(st.integers(0, 11), min_size=2, max_size=6, unique=True))
        choices.append((shown, draw(st.permutations(shown))[: draw(st.integers(1, len(shown)))]))
    return choice_data(12, choices)


@law
@given(data_sets(), st.integers(1, 3), st.sampled_from([0.0, 0.1]))
def test_any_data_set_has_nearly_its_exact_likelihood(data, n_e, lapse):
    latent = 1.5 * np.random.default_rng(0).normal(size=(12, n_e))
    found = Likelihood.of(data, "choice", lapse)
    assert found.rows.tolist() == sorted({option for choice in data.choices for option in choice.shown})
    np.testing.assert_array_equal(found.X, data.X[found.rows])
    values = found.values(latent[found.rows].T[None])[0]
    np.testing.assert_allclose(
        values[found.place], cb.choice_log_likelihood(latent, data, lapse=lapse), rtol=1e-4, atol=2e-3
    )


def counted(likelihood, counts):
    ragged = likelihood.ragged._replace(counts=np.asarray(counts, dtype=np.float32))
    return dataclasses.replace(likelihood, ragged=ragged)


def lanes_of(likelihood, n_e=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n_e, likelihood.options, LANES)).astype(np.float32)


def test_a_choice_counts_as_often_as_it_is_said_to():
    data = mixed_data()
    whole = Likelihood.of(data, "choice", 0.05)
    latent = lanes_of(whole)
    each = [whole.only(number).value_and_gradient(latent) for number in range(len(data))]
    counts = [1, 0, 2, 1, 0, 3]
    value, slope = counted(whole, counts).value_and_gradient(latent)
    np.testing.assert_allclose(value, sum(c * one for c, (one, _) in zip(counts, each, strict=True)), rtol=1e-5)
    np.testing.assert_allclose(slope, sum(c * one for c, (_, one) in zip(counts, each, strict=True)), atol=1e-5)


@pytest.mark.parametrize("number", [0, 3, 5])
def test_without_a_choice_and_that_choice_only_are_the_whole(number):
    data = mixed_data()
    whole = Likelihood.of(data, "choice", 0.05)
    latent = lanes_of(whole)
    rest, one = whole.without(number), whole.only(number)
    parts = [part.value_and_gradient(latent) for part in (rest, one)]
    value, slope = whole.value_and_gradient(latent)
    np.testing.assert_allclose(sum(part for part, _ in parts), value, rtol=1e-5)
    np.testing.assert_allclose(sum(part for _, part in parts), slope, atol=1e-5)
    draws = np.moveaxis(latent, 2, 0).astype(np.float64)
    every = whole.values(draws)
    assert one.values(draws).shape == (LANES, 1)
    np.testing.assert_array_equal(one.values(draws)[:, 0], every[:, number])
    assert not rest.values(draws)[:, number].any()
    np.testing.assert_array_equal(np.delete(rest.values(draws), number, 1), np.delete(every, number, 1))
    assert whole.ragged.counts.all()  # the original is as it was


def test_options_that_were_not_shown_have_no_influence():
    one = Likelihood.of(mixed_data()).only(1)
    latent = lanes_of(one)
    value, slope = one.value_and_gradient(latent)
    elsewhere = [0, 1, 5, 6, 7]
    latent[:, elsewhere] = np.nan
    again, slope_again = one.value_and_gradient(latent)
    np.testing.assert_array_equal(again, value)
    np.testing.assert_array_equal(slope_again, slope)
    assert not slope[:, elsewhere].any()
    assert slope[:, [2, 3, 4]].all()


@pytest.mark.parametrize(("data", "kind", "n_e"), SETTINGS)
def test_lanes_do_not_know_of_each_other(data, kind, n_e):
    likelihood = Likelihood.of(data, kind, 0.05)
    latent = 3.0 * lanes_of(likelihood, n_e)
    value, slope = likelihood.value_and_gradient(latent)
    for lane in (0, 5, 15):
        alone, alone_slope = likelihood.value_and_gradient(np.repeat(latent[..., lane : lane + 1], LANES, axis=2))
        np.testing.assert_array_equal(alone, value[lane])
        np.testing.assert_array_equal(alone_slope, np.repeat(slope[..., lane : lane + 1], LANES, axis=2))
    for bad in (np.nan, np.inf):
        broken = latent.copy()
        broken[..., 3] = bad
        others = np.arange(LANES) != 3
        found, found_slope = likelihood.value_and_gradient(broken)
        np.testing.assert_array_equal(found[others], value[others])
        np.testing.assert_array_equal(found_slope[..., others], slope[..., others])


# Curvature --------------------------------------------------------------------------------------------------


def second_differences(data, latent, kind, lapse, step=2e-3):
    """Negative Hessian (n_e m, n_e m) of the exact likelihood at ``latent: (n_e, m)``."""

    def total(flat):
        return cb.choice_log_likelihood(flat.reshape(latent.shape).T, data, likelihood=kind, lapse=lapse).sum()

    units, here = step * np.eye(latent.size), latent.reshape(-1)
    result = np.empty((latent.size, latent.size))
    for i, j in itertools.combinations_with_replacement(range(latent.size), 2):
        a, b = units[i], units[j]
        both = total(here + a + b) - total(here + a - b) - total(here - a + b) + total(here - a - b)
        result[i, j] = result[j, i] = -both / (4 * step * step)
    return result


EXACT = choice_data(8, [((0, 1), (1,)), ((2, 3, 4), (2,)), ((5, 6, 7), (5, 6, 7)), ((1, 2, 7), (7,)), ((0, 4), (0, 4))])
"""Only comparisons with a closed form."""


@pytest.mark.parametrize("lapse", [0.0, 0.1])
@pytest.mark.parametrize(
    ("data", "kind", "n_e", "bound"),
    [
        (EXACT, "choice", 1, 5e-4),
        (EXACT, "choice", 2, 5e-4),
        (EXACT, "choice", 3, 5e-4),
        (mixed_data(), "choice", 2, 2e-2),
        (winner_data(), "batch_preference", 1, 5e-3),
    ],
)
def test_the_curvature_is_the_negative_hessian_of_the_exact_likelihood(data, kind, n_e, bound, lapse):
    latent = np.random.default_rng(0).normal(size=(n_e, 8))
    found = Likelihood.of(data, kind, lapse).curvature(latent)
    np.testing.assert_allclose(found, second_differences(data, latent, kind, lapse), atol=bound)
    np.testing.assert_array_equal(found, found.T)


def test_the_curvature_is_close_to_the_negative_hessian_by_jax():
    data = mixed_data()
    latent = np.random.default_rng(1).normal(size=(2, 8))
    hessian = jax.jit(jax.hessian(lambda f: reference.log_likelihoods(f, data, lapse=0.1).sum()))
    found = Likelihood.of(data, "choice", 0.1).curvature(latent)
    np.testing.assert_allclose(found, -hessian(latent).reshape(16, 16), atol=2e-2)


def test_the_curvature_of_a_set_with_many_coordinates_is_that_of_its_comparisons():
    # Thirteen options and three dimensions: five rounds of eight coordinates.
    data = one_choice(13, [4])
    latent = np.random.default_rng(0).normal(size=(3, 13))
    found = Likelihood.of(data).curvature(latent).reshape(3, 13, 3, 13)
    x = (latent[:, 4:5] - latent) / np.sqrt(2)
    mills = np.exp(norm.logpdf(x) - log_ndtr(x))
    curved = 0.5 * mills * (mills + x)
    curved[:, 4] = 0.0
    expected = np.zeros((3, 13, 3, 13))
    for d in range(3):
        expected[d, :, d] = np.diag(curved[d])
        expected[d, 4, d] -= curved[d]
        expected[d, :, d, 4] -= curved[d]
        expected[d, 4, d, 4] = curved[d].sum()
    np.testing.assert_allclose(found, expected, atol=5e-4)


@pytest.mark.parametrize("lapse", [0.0, 0.1])
def test_the_curvature_is_finite_at_differences_of_a_thousand(lapse):
    latent = 1e3 * np.random.default_rng(5).permuted(np.tile(np.arange(8.0), (2, 1)), axis=1)
    assert np.isfinite(Likelihood.of(mixed_data(), "choice", lapse).curvature(latent)).all()


# Normalised -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lapse", [0.0, 0.05])
@pytest.mark.parametrize(
    ("data", "kind", "n_e"),
    [(mixed_data(), "choice", n_e) for n_e in (1, 2, 3)] + [(winner_data(), "batch_preference", 1)],
)
def test_normalised_values_are_the_exact_ones(data, kind, n_e, lapse):
    latent = 2.0 * np.random.default_rng(1).normal(size=(19, 8, n_e))
    found = Likelihood.of(data, kind, lapse).normalised_values(np.swapaxes(latent, 1, 2))
    expected = [exact.normalised_log_likelihood(f, data, likelihood=kind, lapse=lapse) for f in latent]
    assert found.shape == (19, len(data))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("n_e", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_normalised_probabilities_of_all_answers_sum_to_one(size, n_e):
    subsets = [kept for count in range(1, size + 1) for kept in itertools.combinations(range(size), count)]
    data = choice_data(size, [(range(size), kept) for kept in subsets])
    for latent in (np.zeros((2, size, n_e)), np.random.default_rng(0).normal(size=(2, size, n_e))):
        values = Likelihood.of(data, "choice", 0.02).normalised_values(np.swapaxes(latent, 1, 2))
        np.testing.assert_allclose(np.exp(values).sum(1), 1.0, atol=2e-3)


def test_the_largest_set_with_a_mass_has_twelve_options_and_larger_ones_count_as_they_are():
    data = choice_data(14, [(range(12), (0, 3)), (range(14), (0, 3)), ((0, 1, 2), (0,))])
    latent = np.random.default_rng(0).normal(size=(2, 14, 2))
    likelihood = Likelihood.of(data)
    found, raw = (f(np.swapaxes(latent, 1, 2)) for f in (likelihood.normalised_values, likelihood.values))
    small = choice_data(14, [(c.shown, c.kept) for c in data.choices if len(c.shown) <= 12])
    expected = np.array([exact.normalised_log_likelihood(f, small) for f in latent])
    np.testing.assert_allclose(found[:, [0, 2]], expected, rtol=1e-3, atol=5e-3)
    np.testing.assert_array_equal(found[:, 1], raw[:, 1])


# Compiled once ----------------------------------------------------------------------------------------------


def test_nothing_is_compiled_twice_whatever_the_sizes():
    cases = [(mixed_data(), "choice", 1), (mixed_data(), "choice", 3), (winner_data(), "batch_preference", 1)]
    for data, kind, n_e in [*cases, (one_choice(13, range(12)), "choice", 2), (one_choice(2, [1]), "choice", 5)]:
        likelihood = Likelihood.of(data, kind, 0.01)
        for part in (likelihood, likelihood.only(0), likelihood.without(0)):
            part.value_and_gradient(lanes_of(part, n_e))
            part.curvature(np.zeros((n_e, part.options)))
            part.normalised_values(np.zeros((3, n_e, part.options)))
    assert {native.log_likelihoods, native.add_differences, native.log_masses} <= set(jit.entries)
    for entry in jit.entries:
        assert len(entry.dispatcher().signatures) == 1
