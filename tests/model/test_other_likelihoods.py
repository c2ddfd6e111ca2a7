"""Likelihoods beside that of Theorem 1, and ways of answering under it, against a simulation of the noise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from model_helpers import one_choice
from scipy.special import ndtr

import choicebo as cb
from choicebo.choices import readings
from choicebo.errors import InvalidInputError
from choicebo.model import choice_table
from choicebo.model import likelihood as exact
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

DRAWS = 400_000
KINDS = [("pseudo_rational", 1), ("pseudo_rational", 2), ("pseudo_rational", 3), ("noticeable_difference", 1)]


def simulated(count, seed=0):
    return np.random.default_rng(seed), 4.0 * np.sqrt(0.25 / count)  # four standard errors of a share


def latent_of(size, n_e, seed=1):
    return np.random.default_rng(seed).normal(size=(size, n_e))


def wins(rng, latent, i, j, noise=None):
    """(draws,): whether option ``i`` beats ``j`` in every dimension, with noise drawn anew for the comparison."""
    shape = (DRAWS, latent.shape[1])
    own = rng.normal(size=shape) if noise is None else noise
    return (latent[i] + own > latent[j] + rng.normal(size=shape)).all(1)


# Ways of answering, read as choices --------------------------------------------------------------------------


@pytest.mark.parametrize("n_e", [1, 2])
def test_the_best_of_several_beats_each_of_the_others(n_e):
    rng, error = simulated(DRAWS)
    latent = latent_of(4, n_e)
    share = np.logical_and.reduce([wins(rng, latent, 2, j) for j in (0, 1, 3)]).mean()
    data = cb.ChoiceData.from_best(np.eye(4) / 2, [range(4)], [2])
    assert np.exp(cb.choice_log_likelihood(latent, data).sum()) == pytest.approx(share, abs=error)


@pytest.mark.parametrize("n_e", [1, 2])
def test_the_best_beats_the_others_and_they_beat_the_worst(n_e):
    rng, error = simulated(DRAWS)
    latent = latent_of(4, n_e)
    best = np.logical_and.reduce([wins(rng, latent, 2, j) for j in (0, 1, 3)])
    worst = np.logical_and.reduce([wins(rng, latent, j, 0) for j in (1, 3)])
    data = cb.ChoiceData.from_best_worst(np.eye(4) / 2, [range(4)], [2], [0])
    assert np.exp(cb.choice_log_likelihood(latent, data).sum()) == pytest.approx((best & worst).mean(), abs=error)


@pytest.mark.parametrize("n_e", [1, 2])
def test_a_ranking_is_repeated_choice_from_what_is_left(n_e):
    rng, error = simulated(DRAWS)
    latent = latent_of(4, n_e)
    steps = [wins(rng, latent, i, j) for i, j in ((2, 0), (2, 1), (2, 3), (0, 1), (0, 3))]
    data = cb.ChoiceData.from_rankings(np.eye(4) / 2, [[2, 0]], shown=[range(4)])
    share = np.logical_and.reduce(steps).mean()
    assert np.exp(cb.choice_log_likelihood(latent, data).sum()) == pytest.approx(share, abs=error)


@pytest.mark.parametrize("n_e", [1, 2])
def test_whoever_cannot_decide_finds_neither_of_two_better(n_e):
    rng, error = simulated(DRAWS)
    latent = latent_of(2, n_e)
    share = (~wins(rng, latent, 0, 1) & ~wins(rng, latent, 1, 0)).mean()
    data = cb.ChoiceData.from_pairs(np.eye(2) / 2, [], undecided=[(0, 1)])
    assert np.exp(cb.choice_log_likelihood(latent, data).sum()) == pytest.approx(share, abs=error)


def test_approvals_and_ratings_are_comparisons():
    rng, error = simulated(DRAWS)
    latent = latent_of(3, 2)
    approved = wins(rng, latent, 1, 0) & wins(rng, latent, 0, 2)
    data = cb.ChoiceData.from_approvals(np.eye(3) / 2, [(1, True), (2, False)], baseline=0)
    assert np.exp(cb.choice_log_likelihood(latent, data).sum()) == pytest.approx(approved.mean(), abs=error)
    rated = wins(rng, latent, 1, 0) & wins(rng, latent, 0, 2)
    data = cb.ChoiceData.from_ratings(np.eye(3) / 2, [{1: 5, 0: 3, 2: 1}])
    assert np.exp(cb.choice_log_likelihood(latent, data).sum()) == pytest.approx(rated.mean(), abs=error)
    assert readings.ratings([1, 0, 2], [5, 3, 1]) == [((1, 0), (1,)), ((0, 2), (0,))]


# Pseudo-rational choice --------------------------------------------------------------------------------------


def bests(latent, draws, seed=0):
    """(draws, size): which options are best in at least one dimension, each having one noise in each of them."""
    noisy = latent + np.random.default_rng(seed).normal(size=(draws, *latent.shape))
    return (noisy == noisy.max(1, keepdims=True)).any(2)


def subsets(size):
    return [kept for count in range(1, size + 1) for kept in itertools.combinations(range(size), count)]


@pytest.mark.parametrize(("size", "n_e"), [(3, 1), (3, 2), (4, 2), (4, 3)])
def test_a_pseudo_rational_choice_agrees_with_simulated_noise(size, n_e):
    latent, (_, error) = latent_of(size, n_e), simulated(DRAWS)
    codes = bests(latent, DRAWS) @ (1 << np.arange(size))
    table = choice_table.best_table(latent[None])[0]
    for kept in subsets(size):
        code = sum(1 << i for i in kept)
        share = (codes == code).mean()
        assert table[code - 1] == pytest.approx(share, abs=error)
        if len(kept) <= n_e:
            value = cb.choice_log_likelihood(latent, one_choice(size, kept), likelihood="pseudo_rational")
            assert np.exp(value[0]) == pytest.approx(share, abs=error)
        else:
            assert share == 0.0
    assert table.sum() == pytest.approx(1.0)


def test_one_winner_of_one_dimension_is_a_batch_preference():
    latent, data = latent_of(4, 1), one_choice(4, [1])
    one, other = (
        cb.choice_log_likelihood(latent, data, likelihood=kind) for kind in ("pseudo_rational", "batch_preference")
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(choice_table.best_table(latent[None])[0, 1], np.exp(other[0]), atol=1e-5)


def test_more_kept_than_dimensions_is_a_slip_or_refused():
    data = one_choice(3, [0, 1])
    with pytest.raises(InvalidInputError, match="only 1 can be best"):
        cb.choice_log_likelihood(np.zeros((3, 1)), data, likelihood="pseudo_rational")
    found = cb.choice_log_likelihood(np.zeros((3, 1)), data, likelihood="pseudo_rational", lapse=0.07)
    np.testing.assert_allclose(np.exp(found), 0.01)
    with pytest.raises(InvalidInputError, match="at most 5"):
        cb.ChoiceGP(latent_dim=6, likelihood="pseudo_rational")


# Noticeable differences --------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.3, 1.0, 2.5])
def test_a_noticeable_difference_agrees_with_simulated_noise(threshold):
    rng, error = simulated(DRAWS)
    latent, how = np.array([[0.4], [-0.3]]), {"likelihood": "noticeable_difference", "threshold": threshold}
    difference = latent[0, 0] - latent[1, 0] + np.sqrt(2.0) * rng.normal(size=DRAWS)
    shares = [(difference > threshold).mean(), (difference < -threshold).mean(), (abs(difference) < threshold).mean()]
    found = [np.exp(cb.choice_log_likelihood(latent, one_choice(2, kept), **how)[0]) for kept in ([0], [1], [0, 1])]
    np.testing.assert_allclose(found, shares, atol=error)
    assert sum(found) == pytest.approx(1.0)
    np.testing.assert_allclose(choice_table.noticeable_table(latent[None], threshold)[0], found)


def test_the_noise_is_the_unit_of_the_threshold():
    data, how = one_choice(2, [0, 1]), {"likelihood": "noticeable_difference"}
    one = cb.choice_log_likelihood([[3.0], [0.0]], data, noise=2.0, threshold=1.5, **how)
    np.testing.assert_allclose(one, cb.choice_log_likelihood([[1.5], [0.0]], data, threshold=1.5, **how))
    np.testing.assert_allclose(
        np.exp(cb.choice_log_likelihood(np.zeros((2, 1)), data, **how)), 2 * ndtr(np.sqrt(0.5)) - 1
    )


@pytest.mark.parametrize("z", [0.0, 3.0, 40.0, -1000.0])
def test_no_difference_is_right_far_in_the_tails(z):
    import mpmath

    t, root = mpmath.mpf(1), mpmath.sqrt(2)
    inside = mpmath.ncdf((t - abs(mpmath.mpf(z))) / root) - mpmath.ncdf((-t - abs(mpmath.mpf(z))) / root)
    np.testing.assert_allclose(exact.log_no_difference(np.array(z), 1.0), float(mpmath.log(inside)), rtol=1e-10)


def test_several_of_more_than_two_are_refused():
    with pytest.raises(InvalidInputError, match="both of two options"):
        cb.choice_log_likelihood(np.zeros((3, 1)), one_choice(3, [0, 1]), likelihood="noticeable_difference")
    for wrong in (0.0, -1.0, np.nan, "1", True):
        with pytest.raises(InvalidInputError, match="threshold"):
            cb.ChoiceGP(latent_dim=1, likelihood="noticeable_difference", threshold=wrong)


# As the engines evaluate them --------------------------------------------------------------------------------


def data_of(kind, n_e):
    if kind == "noticeable_difference":
        choices = [((0, 1), (0,)), ((1, 2), (1, 2)), ((0, 2, 3), (3,)), ((3, 4), (3, 4))]
    else:
        choices = [((0, 1, 2), (0,)), ((1, 2, 3, 4), (2, 4)[:n_e]), ((0, 3, 4), (0, 3, 4)[:n_e]), ((2, 3), (2,))]
    return cb.ChoiceData(np.random.default_rng(3).uniform(size=(5, 2)), [cb.Choice(*choice) for choice in choices])


@pytest.mark.parametrize("lapse", [0.0, 0.02])
@pytest.mark.parametrize("spread", [0.5, 2.0, 8.0])
@pytest.mark.parametrize(("kind", "n_e"), KINDS)
def test_the_compiled_likelihood_and_its_gradient_are_the_exact_ones(kind, n_e, spread, lapse):
    data = data_of(kind, n_e)
    found = Likelihood.of(data, kind, lapse, threshold=0.8)
    latent = spread * np.random.default_rng(5).normal(size=(LANES, 5, n_e))
    values, gradient = found.value_and_gradient(np.moveaxis(latent, (0, 2), (2, 0)).astype(np.float32).copy())

    def log_likelihood(f):
        return cb.choice_log_likelihood(f, data, likelihood=kind, lapse=lapse, threshold=0.8).sum()

    for lane, f in enumerate(latent):
        assert values[lane] == pytest.approx(log_likelihood(f), rel=2e-4, abs=2e-3)
        for option, d in np.ndindex(f.shape):
            step = np.zeros_like(f)
            step[option, d] = 1e-4
            slope = (log_likelihood(f + step) - log_likelihood(f - step)) / 2e-4
            assert gradient[d, option, lane] == pytest.approx(slope, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize(("kind", "n_e"), KINDS)
def test_they_are_finite_at_differences_of_a_thousand(kind, n_e):
    data = data_of(kind, n_e)
    latent = np.full((n_e, 5, LANES), 0.0, dtype=np.float32)
    latent[:, [1, 4]] = 1000.0
    values, gradient = Likelihood.of(data, kind, 0.01).value_and_gradient(latent)
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(("kind", "n_e"), KINDS)
def test_they_are_normalised_as_they_are(kind, n_e):
    data = data_of(kind, n_e)
    latent = np.random.default_rng(2).normal(size=(3, 5, n_e))
    found = Likelihood.of(data, kind, 0.03).normalised_values(np.swapaxes(latent, 1, 2))
    for values, f in zip(found, latent, strict=True):
        np.testing.assert_allclose(
            values, exact.normalised_log_likelihood(f, data, likelihood=kind, lapse=0.03), atol=2e-3
        )


# What is learned ---------------------------------------------------------------------------------------------


def answers(rule, n=60, seed=4):
    """Answers of a person with two objectives, without noise, by one of the two rules."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(40, 2))
    latent = 6.0 * np.stack([-((X - 0.2) ** 2).sum(1), -((X - 0.8) ** 2).sum(1)], axis=1)
    sets, kept = [], []
    for _ in range(n):
        shown = rng.choice(40, size=5, replace=False)
        values = latent[shown]
        if rule == "pseudo_rational":
            mask = (values == values.max(0)).any(1)
        else:
            mask = ~np.array([((values > value).all(1)).any() for value in values])
        sets.append(X[shown])
        kept.append(np.flatnonzero(mask))
    return cb.ChoiceData.from_sets(sets, kept)


@pytest.mark.parametrize("rule", ["choice", "pseudo_rational"])
def test_leave_one_out_tells_which_of_the_two_describes_a_person(rule):
    data = answers(rule)
    scores = {
        kind: cb.ChoiceGP(2, likelihood=kind, engine="laplace").fit_silently(data).loo(refit_limit=0).elpd
        for kind in ("choice", "pseudo_rational")
    }
    assert max(scores, key=scores.get) == rule, scores


@pytest.mark.parametrize("engine", ["hmc", "ess", "vi", "laplace"])
@pytest.mark.parametrize("kind", ["pseudo_rational", "noticeable_difference"])
def test_every_engine_learns_with_them(engine, kind):
    if kind == "pseudo_rational":
        data, n_e = answers(kind, n=25), 2
    else:
        pairs = np.random.default_rng(0).uniform(size=(40, 2, 1))
        apart = pairs[:, 0, 0] - pairs[:, 1, 0]
        kept = [[0, 1] if abs(each) < 0.15 else [0] if each > 0 else [1] for each in apart]
        data, n_e = cb.ChoiceData.from_sets(list(pairs), kept), 1
    posterior = cb.ChoiceGP(n_e, likelihood=kind, engine=engine).fit_silently(data)
    right = sum(
        posterior.predict_choice(data.X[list(choice.shown)], rule="likelihood")
        == tuple(at for at, option in enumerate(choice.shown) if option in choice.kept)
        for choice in data.choices
    )
    assert right >= 0.7 * data.n_choices
    assert np.isfinite(posterior.loo(refit_limit=0).elpd)


def test_what_is_predicted_without_noise_is_what_is_best_somewhere():
    data = answers("pseudo_rational", n=40)
    posterior = cb.ChoiceGP(2, likelihood="pseudo_rational", engine="laplace").fit_silently(data)
    sets = np.stack([data.X[list(choice.shown)] for choice in data.choices])
    for rule in ("pareto", "mean"):
        assert all(1 <= len(kept) <= 2 for kept in posterior.predict_choices(sets, rule=rule))
