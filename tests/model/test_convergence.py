"""Diagnostics of chains, against arviz-stats."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats

from choicebo.model.convergence import (
    effective_sample_size,
    least_effective,
    margin_pairs,
    margins,
    r_hat,
    worst_r_hat,
)


def autoregressive(correlation, chains, draws, seed=0):
    """Chains (chains, draws) in which each draw remembers the one before."""
    noise = np.random.default_rng(seed).normal(size=(chains, draws))
    x = np.zeros((chains, draws))
    x[:, 0] = noise[:, 0]
    for t in range(1, draws):
        x[:, t] = correlation * x[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    return x


def quantities(chains, draws):
    """Independent, slow, antithetic, skewed, heavy-tailed, drifting and rounded ones; chains that differ in place or spread."""
    rng = np.random.default_rng(chains * draws)
    plain = rng.normal(size=(chains, draws))
    apart = np.arange(chains)[:, None]
    return np.stack(
        [
            plain,
            autoregressive(0.5, chains, draws),
            autoregressive(0.95, chains, draws),
            autoregressive(-0.6, chains, draws),
            np.exp(2.0 * plain),
            rng.standard_cauchy((chains, draws)),
            plain + np.linspace(0.0, 2.0, draws),
            np.rint(plain),
            plain + 0.7 * apart,
            plain * (1.0 + 2.0 * apart),
        ]
    )


SHAPES = [(2, 20), (4, 50), (16, 10), (16, 20), (32, 25), (32, 400), (4, 1001)]


@pytest.mark.parametrize(("chains", "draws"), SHAPES)
def test_r_hat_is_that_of_arviz(chains, draws):
    found = quantities(chains, draws)
    expected = [array_stats.rhat(each, method="rank") for each in found]
    np.testing.assert_allclose(r_hat(found), expected, rtol=1e-10)
    assert worst_r_hat(found) == pytest.approx(max(expected))


@pytest.mark.parametrize(("chains", "draws"), SHAPES)
def test_the_effective_sample_size_is_that_of_arviz(chains, draws):
    found = quantities(chains, draws)
    expected = [array_stats.ess(each, method="bulk") for each in found]
    np.testing.assert_allclose(effective_sample_size(found), expected, rtol=1e-10)
    assert least_effective(found) == pytest.approx(min([chains * draws, *expected]))


def test_one_chain_is_judged_by_its_halves():
    found = quantities(1, 200)[:8]
    expected = [array_stats.ess(each, method="bulk") for each in found]
    np.testing.assert_allclose(effective_sample_size(found), expected, rtol=1e-10)
    drifting = np.random.default_rng(0).normal(size=(1, 1, 200)) + np.linspace(0.0, 4.0, 200)
    assert worst_r_hat(drifting) > 1.3


def test_what_never_changes_needs_no_draws():
    constant = np.full((1, 4, 50), 3.0)
    assert worst_r_hat(constant) == 1.0
    assert least_effective(constant) == 200.0
    slow = autoregressive(0.9, 4, 50)[None]
    both = np.concatenate([constant, slow])
    assert worst_r_hat(both) == worst_r_hat(slow) > 1.0
    assert least_effective(both) == least_effective(slow) < 200.0


def test_the_worst_quantity_counts():
    rng = np.random.default_rng(0)
    good, bad = rng.normal(size=(2, 4, 200)), autoregressive(0.95, 4, 200)[None]
    together = np.concatenate([good, bad])
    assert worst_r_hat(together) == worst_r_hat(bad) > worst_r_hat(good)
    assert least_effective(together) == least_effective(bad) < least_effective(good)


def test_margins_say_by_how_much_one_option_dominates_another():
    latent = np.random.default_rng(0).normal(size=(10, 3, 9))
    first, second = margin_pairs(9)
    assert len(first) == len(second) == 8
    assert (first != second).all()
    assert ((first >= 0) & (first < 9) & (second >= 0) & (second < 9)).all()
    found = margins(latent)
    assert found.shape == (10, 8)
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        np.testing.assert_array_equal(found[:, number], (latent[..., a] - latent[..., b]).min(-1))


def test_margins_do_not_change_when_latent_dimensions_are_permuted():
    latent = np.random.default_rng(0).normal(size=(10, 3, 9))
    np.testing.assert_array_equal(margins(latent), margins(latent[:, [2, 0, 1]]))


@pytest.mark.parametrize("options", [2, 3, 50])
def test_pairs_are_of_different_options_however_few(options):
    first, second = margin_pairs(options)
    assert (first != second).all()
    assert max(first.max(), second.max()) < options
