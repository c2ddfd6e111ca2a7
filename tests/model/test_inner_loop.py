from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model_helpers import choice_data, mixed_data, padded_latent, winner_data
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

import choicebo as cb
from choicebo.model import inner_loop, likelihood
from choicebo.model.batching import SLOTS, make_batch

exact_value_and_slope = jax.jit(jax.vmap(jax.value_and_grad(likelihood.log_rejection)))
log_rejection = jax.jit(inner_loop.log_rejection)
rejection_and_slope = jax.jit(lambda z, used: inner_loop.rejection_and_slope(z, used, inner_loop.NODES))


@functools.partial(jax.jit, static_argnums=2)
def evaluate(latent, batch, lapse):
    """Log-likelihood of each choice, of all together, and its gradient: one compilation for all."""
    total, slope = jax.value_and_grad(inner_loop.log_likelihood)(latent, batch, lapse)
    return inner_loop.choice_log_likelihoods(latent, batch, lapse), total, slope


def choice_log_likelihoods(latent, batch, lapse):
    return evaluate(latent, batch, lapse)[0]


def gradient(latent, batch, lapse):
    return evaluate(latent, batch, lapse)[2]


def random_events(kept, n_e, spread, count=200):
    rng = np.random.default_rng(7)
    return spread * rng.normal(size=(count, kept, n_e))


@jax.jit
def value_and_vjp(events, used):
    value, vjp = jax.vjp(lambda z: inner_loop.log_rejection(z, used, z.shape[-1]), events)
    return value, vjp(jnp.ones_like(value))[0]


def inner_value_and_slope(z):
    value, slope = value_and_vjp(jnp.asarray(np.moveaxis(z, 0, -1), jnp.float32), np.ones((z.shape[1], len(z)), bool))
    return np.asarray(value), np.moveaxis(np.asarray(slope), -1, 0)


# One event --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kept", "n_e"), [(2, 2), (4, 1)])
def test_a_rejection_is_close_to_the_exact_one(kept, n_e):
    z = np.concatenate([random_events(kept, n_e, spread) for spread in (0.5, 2.0, 5.0, 20.0)])
    exact, exact_slope = exact_value_and_slope(z)
    value, slope = inner_value_and_slope(z)
    error = np.abs(value - exact) - 1e-6 * np.abs(exact)  # the rounding of single precision
    assert error.max() < 7e-3
    assert error.mean() < 1e-3
    np.testing.assert_allclose(slope, exact_slope, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("n_e", [1, 3])
def test_a_rejection_by_a_single_option_is_exact(n_e):
    z = np.concatenate([random_events(1, n_e, spread) for spread in (0.5, 20.0)])
    value, slope = inner_value_and_slope(z)
    x = z[:, 0] / np.sqrt(2)
    np.testing.assert_allclose(value, log_ndtr(x).sum(1), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(slope[:, 0], np.exp(norm.logpdf(x) - log_ndtr(x)) / np.sqrt(2), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("kept", "bound"), [(2, 5e-3), (3, 8e-3), (4, 1.2e-2), (8, 2.5e-2), (12, 4e-2)])
def test_options_that_tie_are_the_worst_case_and_bounded(kept, bound):
    # In one dimension k equal kept options are one integral: E_u[1 - (1 - Phi(z - u))^k].
    z = np.linspace(-14.0, 6.0, 201)
    u, step = np.linspace(-30.0, 12.0, 3001, retstep=True)
    with np.errstate(divide="ignore"):
        beaten = -np.expm1(kept * np.log1p(-ndtr(z[:, None] - u)))
    exact = np.log((beaten * norm.pdf(u)).sum(1) * step)
    slots = next(slots for slots in SLOTS if slots >= kept)
    events = np.zeros((slots, 1, len(z)), dtype=np.float32)
    events[:kept, 0] = z
    used = np.broadcast_to((np.arange(slots) < kept)[:, None], (slots, len(z)))
    value = np.asarray(log_rejection(events, used, len(z)))
    assert np.abs(value - exact).max() < bound


@pytest.mark.parametrize("n_e", [1, 2, 3])
@pytest.mark.parametrize("slots", [2, 4])
def test_subsets_written_out_and_in_arrays_give_the_same(slots, n_e):
    z = jnp.asarray(np.moveaxis(random_events(slots, n_e, 4.0), 0, -1), jnp.float32)
    used = np.random.default_rng(1).random((slots, 200)) < 0.7
    used[0] = True
    few, many = (
        inner_loop.rejection_and_slope(z, used, inner_loop.NODES, compact=compact) for compact in (False, True)
    )
    np.testing.assert_allclose(few[0], many[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(few[1], many[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 64, 65, 150, 160])
def test_events_are_the_same_in_blocks_and_padding_is_finite(count):
    # 160 events are no whole number of blocks: the last one begins earlier and repeats some.
    events = jnp.asarray(np.moveaxis(random_events(3, 2, 2.0, count=160), 0, -1), jnp.float32)
    z, used = jnp.concatenate([events, events[:1]]), np.ones((4, 160), bool)
    used[3] = False
    expected, expected_slope = rejection_and_slope(z, used)
    value, vjp = jax.vjp(lambda z: log_rejection(z, used, count), z)
    np.testing.assert_allclose(value[:count], expected[:count], rtol=1e-6)
    np.testing.assert_allclose(vjp(jnp.ones(160, jnp.float32))[0][..., :count], expected_slope[..., :count], atol=1e-6)
    assert np.all(np.isfinite(value))


@pytest.mark.parametrize("n_e", [1, 2, 3])
def test_a_coexistence_is_exact_to_single_precision(n_e):
    rng = np.random.default_rng(8)
    x = np.concatenate([spread * rng.normal(size=(n_e, 200)) for spread in (0.5, 3.0, 20.0)], axis=1)

    @functools.partial(jax.jit, static_argnums=0)
    def value_and_slope(function, x):
        value, vjp = jax.vjp(function, x)
        return value, vjp(jnp.ones_like(value))[0]

    exact, exact_slope = value_and_slope(likelihood.log_coexistence, x)
    value, slope = value_and_slope(lambda x: inner_loop.log_coexistence(x, x.shape[1]), x.astype(np.float32))
    np.testing.assert_allclose(value, exact, rtol=1e-6, atol=2e-6)
    np.testing.assert_allclose(slope, exact_slope, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize(("losers", "bound"), [(1, 1e-4), (2, 1e-3), (4, 1e-2), (9, 3e-2)])
def test_a_contest_is_close_to_the_exact_one(losers, bound):
    rng = np.random.default_rng(9)
    z = np.concatenate([spread * rng.normal(size=(100, losers)) for spread in (0.5, 2.0)])
    exact = jax.jit(jax.vmap(likelihood.log_batch_preference))(z[:, :, None])
    value = inner_loop.log_contest(jnp.asarray(z.T, jnp.float32), jnp.ones((losers, len(z)), dtype=bool))
    assert np.abs(np.asarray(value) - exact).max() < bound


@pytest.mark.parametrize("z", [-12.0, -20.0, -40.0])
def test_a_contest_that_surprises_is_close_to_the_exact_one(z):
    value = inner_loop.log_contest(jnp.full((1, 1), z, jnp.float32), jnp.ones((1, 1), dtype=bool))
    np.testing.assert_allclose(value, log_ndtr(z / np.sqrt(2)), rtol=1e-2)


# Whole data sets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lapse", [0.0, 0.05])
def test_every_choice_has_nearly_its_exact_likelihood(lapse):
    data = mixed_data()
    latent = 2.0 * np.random.default_rng(0).normal(size=(8, 2))
    batch, rows = make_batch(data)
    values = choice_log_likelihoods(padded_latent(batch, rows, latent), batch, lapse)
    np.testing.assert_allclose(
        values[: len(data)], cb.choice_log_likelihood(latent, data, lapse=lapse), rtol=1e-3, atol=5e-3
    )
    assert not np.any(values[len(data) :])


@pytest.mark.parametrize("lapse", [0.0, 0.05])
def test_every_batch_preference_has_nearly_its_exact_likelihood(lapse):
    data = winner_data()
    latent = np.random.default_rng(0).normal(size=(8, 1))
    batch, rows = make_batch(data, "batch_preference")
    values = choice_log_likelihoods(padded_latent(batch, rows, latent), batch, lapse)
    exact = cb.choice_log_likelihood(latent, data, likelihood="batch_preference", lapse=lapse)
    np.testing.assert_allclose(values[: len(data)], exact, rtol=1e-3, atol=5e-3)
    assert not np.any(values[len(data) :])


def test_the_likelihood_of_all_choices_is_the_sum_over_them():
    batch, rows = make_batch(mixed_data())
    latent = jnp.asarray(padded_latent(batch, rows, np.random.default_rng(0).normal(size=(8, 2))))
    values, total, _ = evaluate(latent, batch, 0.0)
    assert total.dtype == latent.dtype
    np.testing.assert_allclose(total, np.sum(values), rtol=1e-6)


@pytest.mark.parametrize("lapse", [0.0, 0.05])
def test_the_gradient_is_nearly_that_of_the_exact_likelihood(lapse):
    data = mixed_data()
    latent = 2.0 * np.random.default_rng(0).normal(size=(8, 2))
    batch, rows = make_batch(data)
    exact = jax.grad(lambda f: cb.choice_log_likelihood(f, data, lapse=lapse).sum())(jnp.asarray(latent))
    found = gradient(padded_latent(batch, rows, latent), batch, lapse)
    np.testing.assert_allclose(found[:, : len(rows)], exact[rows].T, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("n_e", [1, 2, 3])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_value_and_gradient_are_finite_at_differences_of_a_thousand(n_e, sign):
    batch, rows = make_batch(mixed_data())
    latent = sign * 1e3 * np.random.default_rng(5).permuted(np.tile(np.arange(8.0), (n_e, 1)), axis=1).T
    latent = padded_latent(batch, rows, latent)
    for lapse in (0.0, 0.05) if n_e == 2 else (0.0,):
        assert all(np.all(np.isfinite(part)) for part in evaluate(latent, batch, lapse))


def test_many_kept_options_far_apart_have_a_finite_slope():
    z = 1e3 * np.random.default_rng(1).normal(size=(20, 8, 2))
    value, slope = inner_value_and_slope(z)
    assert np.all(np.isfinite(value))
    assert np.all(np.isfinite(slope))


# Padding ----------------------------------------------------------------------------------------------------


def test_a_larger_batch_gives_the_same_choices_the_same_values():
    data = mixed_data()
    latent = np.random.default_rng(0).normal(size=(40, 2))
    wide = choice_data(40, [(c.shown, c.kept) for c in data.choices])
    longer = wide.with_choices([((i, i + 1, i + 2), (i, i + 1)) for i in range(8, 38)])
    small, small_rows = make_batch(wide)
    large, large_rows = make_batch(longer)
    assert len(large.choice_used) > len(small.choice_used)
    assert len(large.X) > len(small.X)
    np.testing.assert_allclose(
        choice_log_likelihoods(padded_latent(large, large_rows, latent), large, 0.05)[: len(data)],
        choice_log_likelihoods(padded_latent(small, small_rows, latent), small, 0.05)[: len(data)],
        rtol=1e-6,
    )


def test_options_that_were_not_shown_have_no_influence():
    batch, rows = make_batch(mixed_data())
    latent = padded_latent(batch, rows, np.random.default_rng(0).normal(size=(8, 2)))
    disturbed = latent.copy()
    disturbed[:, len(rows) :] = np.nan
    np.testing.assert_array_equal(
        choice_log_likelihoods(disturbed, batch, 0.0), choice_log_likelihoods(latent, batch, 0.0)
    )
    slope = gradient(disturbed, batch, 0.0)
    np.testing.assert_array_equal(slope, gradient(latent, batch, 0.0))
    assert not np.any(slope[:, len(rows) :])


@pytest.mark.parametrize("likelihood_name", ["choice", "batch_preference"])
def test_unused_slots_and_padded_events_may_hold_any_option(likelihood_name):
    data, n_e = (mixed_data(), 2) if likelihood_name == "choice" else (winner_data(), 1)
    batch, rows = make_batch(data, likelihood_name)
    latent = padded_latent(batch, rows, 3.0 * np.random.default_rng(0).normal(size=(8, n_e)))

    def disturbed(group):
        rng = np.random.default_rng(1)
        free = ~group.used | (group.weight == 0)
        assert free.any()
        return group._replace(
            kept=np.where(free, rng.integers(0, 8, group.kept.shape, dtype=np.int32), group.kept),
            rejected=np.where(group.weight == 0, np.int32(5), group.rejected),
            choice=np.where(group.weight == 0, np.int32(2), group.choice),
        )

    if likelihood_name == "choice":
        other = batch._replace(rejections=tuple(disturbed(group) for group in batch.rejections))
    else:
        other = batch._replace(contests=disturbed(batch.contests))
    np.testing.assert_allclose(
        choice_log_likelihoods(latent, other, 0.0), choice_log_likelihoods(latent, batch, 0.0), rtol=1e-6
    )
    np.testing.assert_allclose(gradient(latent, other, 0.0), gradient(latent, batch, 0.0), rtol=1e-5, atol=1e-6)
