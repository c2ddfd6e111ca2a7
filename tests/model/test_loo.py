"""Leave-one-out scores, against fits that really leave one out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from arviz_stats.base import array_stats

import choicebo as cb
from choicebo.errors import FitInterruptedError
from choicebo.model import likelihood as exact
from choicebo.model import loo as loo_module
from choicebo.model.choice_table import choice_table
from choicebo.model.engines import Hamiltonian
from choicebo.model.engines.base import Basin, Learned, Limits
from choicebo.model.engines.gaussian import climb, root_of_inverse
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.loo import Loo, khat_limit, smoothed_weights, summarised


def one_objective(n_choices=12, n_options=20, seed=0, noise=0.3):
    """One kept of three, and some answers that are hard to explain."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_options, 1))
    choices = []
    for _ in range(n_choices):
        shown = rng.choice(n_options, 3, replace=False)
        values = np.sin(4 * X[shown, 0]) + noise * rng.normal(size=3)
        choices.append(cb.Choice(shown, [shown[values.argmax()]]))
    return cb.ChoiceData(X, choices)


@pytest.fixture(scope="module")
def data():
    return one_objective()


@pytest.fixture(scope="module")
def posterior(data):
    return cb.ChoiceGP(latent_dim=1).fit_silently(data, seed=0)


class Known:
    """A learner that has been told the hyperparameters."""

    def __init__(self, hyper):
        self.hyper = hyper

    def learn(self, rng, spec, likelihood, start, report):
        mode = climb(
            likelihood, Whitener.of(spec, likelihood).at(self.hyper), np.zeros((spec.latent_dim, likelihood.options))
        )
        return Learned(self.hyper, (Basin(mode.v, root_of_inverse(mode.factor), 0.0),), np.zeros(1))


def left_out(posterior, number, learner=None, seeds=(1,)):
    """The log-probability of a choice by long fits to all others; with a learner, at its hyperparameters."""
    engine = Hamiltonian(Limits(1.01, 1500.0), **({} if learner is None else {"learner": learner}))
    model = cb.ChoiceGP(latent_dim=posterior.latent_dim, engine=engine)
    choice = posterior.data.choices[number]
    code = sum(1 << choice.shown.index(i) for i in choice.kept)
    found = []
    for seed in seeds:
        fit = model.fit_silently(posterior.data.without(number), seed)
        table = choice_table(fit.sample(posterior.data.X[list(choice.shown)], draws=2000))
        found.append(np.mean(0.99 * table[:, code - 1] / table.sum(1) + 0.01 / table.shape[1]))
    return np.log(np.mean(found))


def test_scores_are_those_of_fits_without_each_choice(posterior, data):
    truth = np.array([left_out(posterior, k) for k in range(data.n_choices)])
    importance, refitted = posterior.loo(0), posterior.loo(data.n_choices)
    assert np.abs(importance.pointwise - truth).mean() < 0.2
    assert np.abs(refitted.pointwise - truth).mean() < 0.15
    assert refitted.elpd == pytest.approx(truth.sum(), abs=0.15 * data.n_choices)
    # A score that had seen the choices would be far too good.
    seen = np.log(np.exp(posterior.log_likelihood).mean((0, 1)))
    assert seen.sum() > truth.sum() + 2 * abs(refitted.elpd - truth.sum())


def test_refits_are_those_of_long_chains_without_the_choice(posterior, monkeypatch):
    monkeypatch.setattr(loo_module, "khat_limit", lambda draws: -np.inf)
    found = [posterior.loo(3, seed=seed) for seed in range(4)]
    worst = found[0].refitted
    assert len(worst) == 3
    assert found[0].unreliable == tuple(k for k in range(12) if k not in worst)
    for number in worst:
        truth = left_out(posterior, number, Known(posterior.hyper), seeds=(1, 2, 3))
        assert np.mean([loo.pointwise[number] for loo in found]) == pytest.approx(truth, abs=0.12)


def test_refits_take_the_worst_first_and_keep_to_their_limit(posterior, monkeypatch):
    khat = posterior.loo(0).khat
    monkeypatch.setattr(loo_module, "khat_limit", lambda draws: np.sort(khat)[-4] + 1e-9)
    stages = []
    loo = posterior.loo(2, progress=lambda stage, fraction: stages.append((stage, fraction)))
    worst = np.argsort(-khat)[:3]
    assert loo.refitted == tuple(sorted(worst[:2]))
    assert loo.unreliable == (worst[2],)
    assert stages == [(f"fitting without choice {worst[0]}", 0.5), (f"fitting without choice {worst[1]}", 1.0)]
    untouched = [k for k in range(12) if k not in loo.refitted]
    np.testing.assert_array_equal(loo.pointwise[untouched], posterior.loo(0).pointwise[untouched])
    with pytest.raises(FitInterruptedError):
        posterior.loo(2, progress=lambda *_: False)


def test_the_same_seed_gives_the_same_refits(posterior, monkeypatch):
    monkeypatch.setattr(loo_module, "khat_limit", lambda draws: -np.inf)
    first, again, other = (posterior.loo(1, seed=seed).pointwise for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# Weights ----------------------------------------------------------------------------------------------------


def heavy_tailed(draws=800, shape=0.6):
    """Log-likelihoods whose inverse has a Pareto tail of that shape, as of a choice that few draws explain."""
    rng = np.random.default_rng(1)
    return -shape * rng.exponential(size=(4, draws // 4, 3))


def test_weights_are_smoothed_as_by_arviz():
    log_p = heavy_tailed()
    log_weights, khat = smoothed_weights(log_p, 500.0)
    for number, own in enumerate(log_p.reshape(800, 3).T):
        expected, shape = array_stats.psislw(own, r_eff=500.0 / 800.0)
        np.testing.assert_allclose(log_weights[number], expected, rtol=1e-12)
        assert khat[number] == pytest.approx(float(shape))
        assert 0.35 < khat[number] < 0.85


def test_the_largest_weights_are_not_taken_as_they_are():
    log_p = heavy_tailed()
    flat = log_p.reshape(800, 3).T
    raw = -flat - np.logaddexp.reduce(-flat, axis=1)[:, None]
    log_weights, _ = smoothed_weights(log_p, 800.0)
    changed = np.abs(log_weights - log_weights.min(1, keepdims=True) - (raw - raw.min(1, keepdims=True))) > 1e-9
    assert (changed.sum(1) >= 50).all()
    assert (changed.sum(1) <= 160).all()
    for before, which in zip(raw, changed, strict=True):
        assert before[which].min() >= np.sort(before)[-161]
    assert (np.abs(log_weights.max(1) - raw.max(1)) > 0.01).any()


def test_smoothed_scores_are_nearer_to_the_truth_than_raw_ones():
    """Of a Pareto tail of shape 0.6 the mean weight is 1 / (1 - 0.6): 2.5, and the score its inverse."""
    errors = {"raw": [], "smoothed": []}
    for seed in range(60):
        log_p = -0.6 * np.random.default_rng(seed).exponential(size=(1, 400, 1))
        log_weights, _ = smoothed_weights(log_p, 400.0)
        smoothed = np.logaddexp.reduce(log_weights[0] + log_p[0, :, 0])
        raw = np.log(400.0) - np.logaddexp.reduce(-log_p.ravel())
        errors["raw"].append(raw - np.log(0.4))
        errors["smoothed"].append(smoothed - np.log(0.4))
    assert np.std(errors["smoothed"]) < 0.95 * np.std(errors["raw"])


def test_scores_are_averages_with_the_smoothed_weights(posterior):
    log_weights, khat = smoothed_weights(posterior.log_likelihood, posterior.diagnostics.effective_sample_size)
    choices = posterior.data
    latent = np.swapaxes(posterior.draws.latent.reshape(*posterior.whitened.shape[1::-1], -1, 1), 0, 1)
    scores = [
        exact.normalised_log_likelihood(f, one_shown(posterior), lapse=0.01)
        for f in latent.reshape(len(log_weights[0]), -1, 1)
    ]
    expected = np.logaddexp.reduce(log_weights + np.array(scores).T, axis=1)
    loo = posterior.loo(0)
    np.testing.assert_allclose(loo.pointwise, expected, atol=5e-3)
    np.testing.assert_allclose(loo.khat, khat)
    assert loo.limit == khat_limit(posterior.draws.count)
    assert len(loo.pointwise) == choices.n_choices


def one_shown(posterior):
    """The choices with rows of the posterior's options in the place of the data's."""
    likelihood = Likelihood.of(posterior.data)
    row = {int(option): number for number, option in enumerate(likelihood.rows)}
    choices = [cb.Choice([row[i] for i in c.shown], [row[i] for i in c.kept]) for c in posterior.data.choices]
    return cb.ChoiceData(posterior.options, choices)


def test_weights_are_large_where_a_choice_was_unlikely():
    rng = np.random.default_rng(0)
    log_p = -rng.gamma(1.0, size=(4, 100, 2))
    log_weights, khat = smoothed_weights(log_p, 400)
    assert np.exp(log_weights).sum(1) == pytest.approx([1.0, 1.0])
    flat = log_p.reshape(400, 2).T
    assert all(np.corrcoef(w, p)[0, 1] < -0.5 for w, p in zip(log_weights, flat, strict=True))
    assert khat.shape == (2,)


def test_a_choice_that_every_draw_explains_alike_needs_no_weights():
    log_weights, khat = smoothed_weights(np.full((2, 50, 1), -0.7), 100)
    assert np.exp(log_weights) == pytest.approx(np.full((1, 100), 0.01))
    assert khat.tolist() == [0.0]


def test_the_limit_of_k_hat_grows_with_the_draws_up_to_seven_tenths():
    assert khat_limit(320) == pytest.approx(1.0 - 1.0 / np.log10(320.0))
    assert khat_limit(640) == pytest.approx(0.6437, abs=1e-3)
    assert khat_limit(2200) == pytest.approx(0.7, abs=1e-2)
    assert khat_limit(10**6) == 0.7
    assert khat_limit(1) < 0.1


def test_choices_above_the_limit_of_so_few_draws_are_refitted(posterior):
    """With 0.7 as the limit, whatever the number of draws, none of these would be."""
    few = smoothed_weights(posterior.log_likelihood[:8, :4], 32.0)[1]
    assert khat_limit(32) < 0.35
    assert ((few > khat_limit(32)) & (few < 0.7)).any()


# Normalised -------------------------------------------------------------------------------------------------


def indifferent(n_choices=60, seed=0):
    """Answers of somebody who keeps any subset of three options, whatever they are."""
    rng = np.random.default_rng(seed)
    X = rng.random((15, 1))
    subsets = [kept for size in (1, 2, 3) for kept in itertools.combinations(range(3), size)]
    sets = [rng.choice(15, 3, replace=False) for _ in range(n_choices)]
    return cb.ChoiceData(X, [cb.Choice(s, s[list(subsets[rng.integers(7)])]) for s in sets])


def test_scores_are_probabilities_among_all_answers():
    """Theorem 1 gives three tied options a mass of 1.27 with one dimension and of 1.02 with two."""
    mass = {}
    subsets = [kept for size in (1, 2, 3) for kept in itertools.combinations(range(3), size)]
    data = cb.ChoiceData(np.linspace(0, 1, 3)[:, None], [cb.Choice(range(3), kept) for kept in subsets])
    for n_e in (1, 2):
        tied = np.zeros((1, n_e, 3))
        likelihood = Likelihood.of(data)
        mass[n_e] = np.exp(likelihood.values(tied)).sum()
        assert np.exp(likelihood.normalised_values(tied)).sum() == pytest.approx(1.0, abs=1e-3)
    assert mass[1] > 1.2 * mass[2]


def test_one_dimension_is_not_favoured_by_what_its_probabilities_sum_to():
    """Whoever keeps anything is not explained better by one dimension than by chance, which has one seventh for each answer."""
    data = indifferent()
    model = cb.ChoiceGP(latent_dim=1, engine="laplace")
    posterior = model.fit(data)
    loo = posterior.loo(0)
    assert loo.elpd < 60 * np.log(1 / 7) + 3.0
    # The unnormalised score would have said the contrary.
    log_weights, _ = smoothed_weights(posterior.log_likelihood, posterior.diagnostics.effective_sample_size)
    flat = posterior.log_likelihood.reshape(-1, 60).T
    unnormalised = np.logaddexp.reduce(log_weights + flat, axis=1).sum()
    assert unnormalised > loo.elpd + 5.0


def test_sets_too_large_to_be_normalised_are_scored_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.random((16, 1))
    sets = [rng.choice(16, 13, replace=False) for _ in range(4)]
    data = cb.ChoiceData(X, [cb.Choice(s, [s[X[s, 0].argmax()]]) for s in sets])
    loo = cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data).loo(0)
    assert np.isfinite(loo.pointwise).all()


def test_batch_preferences_are_scored(data):
    posterior = cb.ChoiceGP(latent_dim=1, likelihood="batch_preference", engine="laplace").fit(data)
    loo = posterior.loo(2)
    assert np.isfinite(loo.pointwise).all()
    assert (loo.pointwise < 0.0).all()


# Summaries --------------------------------------------------------------------------------------------------


def test_a_summary_names_what_remains_unreliable():
    khat = np.array([0.1, 0.75, 0.8, 0.65])
    loo = summarised(np.array([-1.0, -2.0, -3.0, -2.0]), khat, [2], 0.7)
    assert isinstance(loo, Loo)
    assert loo.unreliable == (1,)
    assert loo.elpd == -8.0
    assert loo.se == pytest.approx(np.sqrt(4 * np.var([1.0, 2.0, 3.0, 2.0], ddof=1)))
    assert summarised(np.zeros(4), khat, [2], 0.6).unreliable == (1, 3)


def test_the_error_of_one_choice_is_unknown():
    assert np.isnan(summarised(np.array([-1.0]), np.zeros(1)).se)
