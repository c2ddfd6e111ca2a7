"""Leave-one-out scores, against fits that really leave one out."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from choicebo.model.batching import make_batch

import choicebo as cb
from choicebo.errors import ConvergenceWarning, FitInterrupted
from choicebo.model import inner_loop
from choicebo.model.choice_table import choice_table
from choicebo.model.loo import KHAT_LIMIT, Loo, smoothed_weights, summarised, without_choice


def one_objective(n_choices=12, n_options=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_options, 1))
    choices = []
    for _ in range(n_choices):
        shown = rng.choice(n_options, 3, replace=False)
        choices.append(cb.Choice(shown, [shown[np.sin(4 * X[shown, 0]).argmax()]]))
    return cb.ChoiceData(X, choices)


@pytest.fixture(scope="module")
def data():
    return one_objective()


@pytest.fixture(scope="module")
def posterior(data):
    return fitted(data)


def fitted(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cb.ChoiceGP(latent_dim=1).fit(data, seed=0)


def exact(data, k):
    """The log-probability of choice ``k`` by a whole fit to the others, its hyperparameters included."""
    choice = data.choices[k]
    latent = fitted(data.without(k)).sample(data.X[list(choice.shown)], draws=400)
    code = sum(1 << choice.shown.index(i) for i in choice.kept)
    table = choice_table(latent)
    return np.log((0.99 * table[:, code - 1] + 0.01 / table.shape[1]).mean())


def test_scores_are_those_of_fits_without_each_choice(posterior, data):
    truth = np.array([exact(data, k) for k in range(data.n_choices)])
    importance, refitted = posterior.loo(0), posterior.loo(data.n_choices)
    assert np.abs(importance.pointwise - truth).mean() < 0.2
    assert np.abs(refitted.pointwise - truth).mean() < 0.15
    assert refitted.elpd == pytest.approx(truth.sum(), abs=0.15 * data.n_choices)
    # A score that had seen the choices would be far too good.
    seen = np.log(np.exp(posterior.log_likelihood).mean((0, 1)))
    assert seen.sum() > truth.sum() + 2 * abs(refitted.elpd - truth.sum())


def test_refits_take_the_worst_first_and_keep_to_their_limit(posterior, monkeypatch):
    khat = posterior.loo(0).khat
    monkeypatch.setattr("choicebo.model.posterior.KHAT_LIMIT", np.sort(khat)[-3] - 1e-9)
    stages = []
    loo = posterior.loo(2, progress=lambda stage, fraction: stages.append((stage, fraction)))
    assert set(loo.refitted) == set(np.argsort(khat)[-2:])
    assert [fraction for _, fraction in stages] == [0.5, 1.0]
    assert all("without choice" in stage for stage, _ in stages)
    with pytest.raises(FitInterrupted):
        posterior.loo(2, progress=lambda *_: False)


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


def test_taking_a_choice_out_removes_its_likelihood_and_no_other():
    data = one_objective()
    batch = jax.tree.map(jnp.asarray, make_batch(data)[0])
    latent = jnp.asarray(np.random.default_rng(0).normal(size=(1, batch.X.shape[0])))
    every = inner_loop.choice_log_likelihoods(latent, batch, 0.01)
    rest = inner_loop.choice_log_likelihoods(latent, without_choice(batch, 3), 0.01)
    assert float(rest[3]) == 0.0
    np.testing.assert_allclose(np.delete(rest, 3), np.delete(every, 3))


def test_a_summary_names_what_remains_unreliable():
    khat = np.array([0.1, KHAT_LIMIT + 0.1, KHAT_LIMIT + 0.2])
    loo = summarised(np.array([-1.0, -2.0, -3.0]), khat, [2])
    assert isinstance(loo, Loo)
    assert loo.unreliable == (1,)
    assert loo.elpd == -6.0
    assert loo.se == pytest.approx(np.sqrt(3.0))
