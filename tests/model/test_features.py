"""Features in the place of square factors: derivatives, the choice of inducing options, and what is asked of the posterior."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from model_helpers import central_differences

import choicebo as cb
from choicebo.model.covariance import Hyperparameters, mixing, option_covariance
from choicebo.model.engines import Hamiltonian, Laplace, Limits, Variational
from choicebo.model.engines.base import ModelSpec
from choicebo.model.engines.gaussian import climb, log_posterior, precision_at
from choicebo.model.engines.laplace import hyper_slope
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.features import inducing_rows, representatives
from choicebo.model.native import LANES

HYPER = Hyperparameters(np.log([[0.4, 0.7], [0.8, 0.5]]), np.log([2.0, 1.5]), np.array([[0.0, 0.0], [0.5, 0.0]]))
OPTIONS = 14


def some_data(n_choices=30, n_options=OPTIONS, seed=0, size=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n_options, 2))
    values = np.stack([np.sin(3 * X[:, 0]) + X[:, 1], np.cos(4 * X[:, 0]) - X[:, 1]], axis=1)
    choices = []
    for _ in range(n_choices):
        shown = rng.choice(n_options, size, replace=False)
        noisy = values[shown] + 0.1 * rng.normal(size=(size, 2))
        kept = [i for i, mine in zip(shown, noisy, strict=True) if not any((other > mine).all() for other in noisy)]
        choices.append(cb.Choice(shown, kept))
    return cb.ChoiceData(X, choices)


def prior_of(rows, spec=ModelSpec(2), hyper=HYPER, data=None):
    likelihood = Likelihood.of(some_data() if data is None else data, "choice", 0.01)
    likelihood = likelihood.represented_by(None if rows is None else np.asarray(rows))
    return likelihood, Whitener.of(spec, likelihood).at(hyper)


def test_features_are_the_conditional_mean_given_the_inducing_options():
    rows = np.array([1, 4, 7, 11])
    likelihood, prior = prior_of(rows, ModelSpec(2, kernel="matern52", nugget=0.05))
    v = np.random.default_rng(1).normal(size=(2, 4, 1)).astype(np.float32)
    parts = np.linalg.solve(prior.mixing, prior.latent(v)[..., 0])
    for d in range(2):
        lengthscale = np.exp(HYPER.log_lengthscale[d])
        X, U = likelihood.X, likelihood.X[rows]
        K = option_covariance("matern52", 0.05, U, U, lengthscale)
        mean = option_covariance("matern52", 0.05, X, U, lengthscale) @ np.linalg.solve(K, parts[d, rows])
        np.testing.assert_allclose(parts[d], mean, atol=2e-4)


def test_with_all_options_inducing_features_are_the_square_factor():
    (_, square), (_, features) = prior_of(None), prior_of(np.arange(OPTIONS))
    np.testing.assert_allclose(features.factors, square.factors, atol=1e-6)


def test_latent_values_are_damped_by_what_the_features_leave_out():
    _, prior = prior_of([0, 3, 6, 9, 12], ModelSpec(2, nugget=0.2))
    assert (prior.damping < 1.0).all()
    left_out = 1.0 - (prior.factors**2).sum(2)
    np.testing.assert_allclose(prior.left_out, left_out, atol=1e-5)
    variance = mixing(HYPER) ** 2 @ left_out.mean(1)
    np.testing.assert_allclose(prior.damping, 1.0 / np.sqrt(1.0 + variance), rtol=1e-5)
    np.testing.assert_allclose(prior.mixing, prior.damping[:, None] * mixing(HYPER), rtol=1e-5)


def test_whitened_values_come_back():
    _, prior = prior_of([0, 3, 6, 9, 12])
    v = np.random.default_rng(1).normal(size=(2, 5, 3)).astype(np.float32)
    np.testing.assert_allclose(prior.whitened(prior.told(v)), v, atol=2e-3)


def test_the_slope_by_whitened_values_is_that_of_differences():
    likelihood, prior = prior_of([0, 3, 6, 9, 12])
    v = np.random.default_rng(2).normal(size=(2, 5))
    _, slope = log_posterior(likelihood, prior, np.repeat(v[..., None], LANES, axis=2))

    def height(at):
        return log_posterior(likelihood, prior, np.repeat(at[..., None], LANES, axis=2))[0][0]

    np.testing.assert_allclose(slope[..., 0], central_differences(height, v, 1e-2), atol=2e-2)


@pytest.mark.parametrize("n_e", [1, 2, 3])
def test_the_sparse_curvature_is_the_dense_one(n_e):
    likelihood = Likelihood.of(some_data(), "choice", 0.01)
    latent = np.random.default_rng(3).normal(size=(n_e, OPTIONS))
    blocks = likelihood.sparse_curvature(latent)
    dense = np.block([[blocks[d][e].toarray() for e in range(n_e)] for d in range(n_e)])
    np.testing.assert_allclose(dense, likelihood.curvature(latent), atol=1e-3)


def test_the_precision_of_features_is_that_of_the_chain_rule():
    likelihood, prior = prior_of([0, 3, 6, 9, 12])
    v = np.random.default_rng(2).normal(size=(2, 5))
    curvature = likelihood.curvature(prior.latent(v[..., None].astype(np.float32))[..., 0])
    whole = np.concatenate(
        [prior.latent(row.reshape(2, 5, 1).astype(np.float32)).reshape(-1, 1) for row in np.eye(10)], axis=1
    )
    expected = whole.T @ curvature @ whole + np.eye(10)
    np.testing.assert_allclose(precision_at(likelihood, prior, v), expected, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("correlated", [True, False])
@pytest.mark.parametrize("kernel", ["matern12", "matern32", "rbf"])
def test_the_derivative_by_hyperparameters_is_that_of_differences(kernel, correlated):
    spec = ModelSpec(2, kernel=kernel, correlated=correlated)
    rows = np.array([0, 3, 6, 9, 12])
    weights = np.random.default_rng(4).normal(size=(2, OPTIONS))
    v = np.random.default_rng(5).normal(size=(2, 5))
    X = some_data().X
    prior = Whitener.of(spec, prior_of(rows)[0]).at(HYPER)
    unit = mixing(prior.hyper) / np.exp(HYPER.log_scale)[:, None]
    left_out = unit**2 @ prior.left_out.mean(1)  # as it is here: that it changes with the length-scales does not count

    def total(vector):
        hyper = Hyperparameters(vector[:4].reshape(2, 2), vector[4:6], np.array([[0.0, 0.0], [vector[6], 0.0]]))
        prior = Whitener.of(spec, prior_of(rows)[0]).at(hyper)
        # In double precision: differences of single numbers would say little.
        mixed = mixing(hyper if correlated else hyper._replace(coupling=np.zeros((2, 2))))
        mixed = mixed / np.sqrt(1.0 + np.exp(2.0 * hyper.log_scale) * left_out)[:, None]
        parts = np.stack(
            [
                option_covariance(kernel, spec.nugget, X, X[rows], np.exp(hyper.log_lengthscale[d]))
                @ np.linalg.solve(lower.T, v[d])
                for d, lower in enumerate(prior.found.lower)
            ]
        )
        parts[:, rows] = np.stack([lower @ each for lower, each in zip(prior.found.lower, v, strict=True)])
        return float((weights * (mixed @ parts)).sum())

    at = np.concatenate([HYPER.log_lengthscale.ravel(), HYPER.log_scale, [HYPER.coupling[1, 0]]])
    gradient = weights[..., None].astype(np.float32)
    side = prior.outer_side(gradient, gradient)[..., 0]
    found = prior.by_hyper(np.einsum("dm,er->dmer", side, v))
    flat = np.concatenate([found.log_lengthscale.ravel(), found.log_scale, [found.coupling[1, 0]]])
    expected = central_differences(total, at)
    np.testing.assert_allclose(flat[:6], expected[:6], rtol=2e-3, atol=2e-3)
    if correlated:
        np.testing.assert_allclose(flat[6], expected[6], rtol=2e-3, atol=2e-3)


def test_the_slope_of_hyperparameters_is_nearly_that_of_square_factors_where_features_leave_nothing_out():
    data = some_data()
    slopes = []
    for rows in (None, np.arange(OPTIONS)):
        likelihood, prior = prior_of(rows, data=data)
        mode = climb(likelihood, prior, np.zeros((2, OPTIONS)))
        slopes.append(hyper_slope(likelihood, prior, mode))
    for square, features in zip(*slopes, strict=True):
        np.testing.assert_allclose(features, square, atol=0.05)


def test_inducing_options_are_different_and_cover_all_categories():
    rng = np.random.default_rng(0)
    category = rng.integers(0, 6, 300)
    X = np.concatenate([np.eye(6)[category], rng.random((300, 2))], axis=1)
    rows = inducing_rows(X, "matern32", np.full((1, 8), 0.8), 24, 24)
    assert len(set(rows.tolist())) == 24
    assert set(category[rows]) == set(range(6))
    np.testing.assert_array_equal(rows, inducing_rows(X, "matern32", np.full((1, 8), 0.8), 24, 24))


def test_of_near_copies_one_is_taken():
    X = np.repeat(np.linspace(0.0, 1.0, 5)[:, None], 20, axis=0)
    X = X + 1e-9 * np.random.default_rng(0).random(X.shape)
    rows = inducing_rows(X, "rbf", np.array([[0.5]]), 30, 30)
    assert len(rows) <= 5
    assert len(np.unique(X[rows].round(3))) == len(rows)


def test_a_sample_of_the_choices_has_their_options_and_the_inducing_ones():
    data = some_data(60, 40)
    whole = Likelihood.of(data, "choice", 0.01).represented_by(np.array([0, 5, 9]))
    part = whole.sample(10)
    assert part.choices == 10
    np.testing.assert_array_equal(part.X[part.inducing], whole.X[whole.inducing])
    taken = np.linspace(0, whole.choices, 10, endpoint=False).astype(int)
    for number, before in enumerate(taken):
        mine = part.X[part.ragged.members[slice(*part.ragged.offsets[number : number + 2])]]
        theirs = whole.X[whole.ragged.members[slice(*whole.ragged.offsets[before : before + 2])]]
        np.testing.assert_array_equal(mine, theirs)
    assert whole.sample(30) is whole


@pytest.fixture(scope="module")
def both():
    """Posteriors of the same choices with square factors and with features, and options that neither has seen."""
    data = some_data(250, 120, size=4)
    fits = [cb.ChoiceGP(inducing=inducing, engine="laplace").fit(data, seed=0) for inducing in (None, 40)]
    return *fits, np.random.default_rng(9).random((60, 2))


def test_features_are_told_of_in_the_diagnostics(both):
    square, features, _ = both
    assert square.diagnostics.inducing is None
    assert features.diagnostics.inducing == len(features.inducing) == 40
    assert "features of 40 inducing options" in repr(features.diagnostics)
    assert "features" not in repr(square.diagnostics)


def test_choice_probabilities_are_those_of_square_factors_within_five_hundredths(both):
    square, features, unseen = both
    known = square.options
    sets = [points[at : at + 4] for points in (unseen, known) for at in range(0, 40, 4)]
    away = []
    for points in sets:
        exact, found = (fit.choice_probabilities(points) for fit in (square, features))
        away.append(0.5 * sum(abs(exact[subset] - found[subset]) for subset in exact))
    assert np.mean(away) < 0.05
    assert np.max(away) < 0.12


def widths(fit, points):
    """Widths of the bands, the same whatever the order of the latent dimensions and their scales."""
    found = fit.latent(points)
    return np.sort((found.upper - found.lower) / fit.scales, axis=1)


def test_bands_are_as_wide_as_those_of_square_factors_near_and_far_from_the_options(both):
    square, features, unseen = both
    far = np.array([[3.0, 3.0], [-2.0, 4.0]])
    for points, tolerance in ((unseen, 0.1), (square.options, 0.1), (far, 0.02)):
        ratio = widths(features, points).mean() / widths(square, points).mean()
        assert abs(np.log(ratio)) < tolerance


def test_pareto_probabilities_are_those_of_square_factors_within_three_hundredths_on_average(both):
    square, features, unseen = both
    for points in (unseen, square.options):
        exact, found = (fit.pareto_probability(points, draws=400) for fit in (square, features))
        assert np.abs(exact - found).mean() < 0.03
        assert np.abs(exact - found).max() < 0.25


def test_leave_one_out_scores_are_nearly_those_of_square_factors(both):
    square, features, _ = both
    exact, found = (fit.loo(0) for fit in (square, features))
    assert abs(exact.elpd - found.elpd) < 0.5 * exact.se


def test_what_features_leave_out_is_not_dropped(both):
    _, features, _ = both
    rows = np.setdiff1d(np.arange(len(features.options)), features.inducing)
    _, variance = features.draws.moments(features.options[rows])
    assert (variance > 0.0).all()
    drawn = features.sample(features.options[rows[:1]], draws=2000)[:, 0]
    means, variances = features.draws.moments(features.options[rows[:1]])
    np.testing.assert_allclose(drawn.var(0), means[:, 0].var(0) + variances[0], rtol=0.2)


@pytest.mark.parametrize("engine", ["vi", "laplace", "ess", "hmc"])
def test_every_engine_predicts_with_features(engine):
    data = some_data(150, 60, size=3)
    fit = cb.ChoiceGP(engine=engine, inducing=20).fit_silently(data, seed=0)
    assert fit.whitened.shape[2:] == (2, 20)
    sets = np.stack([data.X[list(choice.shown)] for choice in data.choices])
    kept = [tuple(choice.shown.index(i) for i in choice.kept) for choice in data.choices]
    assert np.mean([one == other for one, other in zip(fit.predict_choices(sets), kept, strict=True)]) > 0.7


def test_draws_that_learn_of_more_options_agree_with_what_they_knew_of_them(both):
    _, features, unseen = both
    rows = np.setdiff1d(np.arange(len(features.options)), features.inducing)[:30]
    points = np.concatenate([unseen[:5], features.options[rows]])
    mean, variance = features.draws.moments(points)
    learned = features.draws.extended(points, 0)
    assert len(learned.X) == 40 + 35
    found = learned.at(points, 0)
    np.testing.assert_allclose(found.mean(0), mean.mean(0), atol=0.2)
    np.testing.assert_allclose(found.var(0), mean.var(0) + variance, rtol=0.35)


def test_many_inducing_options_are_all_of_them():
    data = some_data(20, 10)
    fit = cb.ChoiceGP(engine="laplace", inducing=50).fit(data)
    assert fit.inducing is None
    assert fit.diagnostics.inducing is None


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "all", True])
def test_a_number_of_inducing_options_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(cb.InvalidInputError, match="inducing must be None, 'auto' or a whole number"):
        cb.ChoiceGP(inducing=wrong)


def test_nearly_singular_covariances_survive():
    rng = np.random.default_rng(0)
    centres = rng.random((6, 2))
    X = np.clip(centres[rng.integers(0, 6, 80)] + 1e-7 * rng.random((80, 2)), 0.0, 1.0)
    choices = []
    for _ in range(60):
        shown = rng.choice(80, 3, replace=False)
        choices.append(cb.Choice(shown, [shown[X[shown, 0].argmax()]]))
    fit = cb.ChoiceGP(kernel="rbf", nugget=0.0, engine="laplace", inducing=30).fit(cb.ChoiceData(X, choices))
    assert np.isfinite(fit.latent(X).mean).all()
    assert np.isfinite(fit.sample(X, draws=20)).all()


def kept_share(fit, data, choices=150):
    """The share of some choices that the fit would have predicted."""
    some = data.choices[:choices]
    sets = np.stack([data.X[list(choice.shown)] for choice in some])
    kept = [tuple(choice.shown.index(i) for i in choice.kept) for choice in some]
    return np.mean([one == other for one, other in zip(fit.predict_choices(sets), kept, strict=True)])


@pytest.mark.parametrize("inducing", [None, 25])
@pytest.mark.parametrize("engine", [Laplace(subset=60), Variational(subset=60)])
def test_hyperparameters_of_a_part_of_the_choices_and_draws_of_all(engine, inducing):
    data = some_data(300, 50)
    whole = dataclasses.replace(engine, subset=300)
    part, all_of_it = (cb.ChoiceGP(engine=each, inducing=inducing).fit(data) for each in (engine, whole))
    assert not np.array_equal(part.hyper.log_scale, all_of_it.hyper.log_scale)
    assert part.log_likelihood.shape[2] == 300
    assert kept_share(part, data) > kept_share(all_of_it, data) - 0.06


@pytest.mark.parametrize("inducing", [None, 25])
def test_beyond_a_number_of_choices_hmc_draws_from_the_nearest_gaussian_and_says_so(inducing):
    data = some_data(300, 50)
    engine = Hamiltonian(max_choices=100, limits=Limits(1.05, 200.0))
    fit, drawn = (
        cb.ChoiceGP(engine=each, inducing=inducing).fit_silently(data)
        for each in (engine, dataclasses.replace(engine, max_choices=1000))
    )
    assert fit.diagnostics.approximate
    assert "draws of a variational approximation" in repr(fit.diagnostics)
    assert not fit.diagnostics.problems
    assert not drawn.diagnostics.approximate
    away = []
    for points in data.X[:40].reshape(10, 4, 2):
        found, expected = (each.choice_probabilities(points) for each in (fit, drawn))
        away.append(0.5 * sum(abs(found[subset] - expected[subset]) for subset in expected))
    assert np.mean(away) < 0.06


def test_an_option_that_was_shown_has_told_some_of_its_own_part():
    """Two copies of each point, hardly apart; one of them always wins: only a part of its own can say so."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((20, 1)), 2, axis=0)
    X[1::2] = np.clip(X[1::2] + 1e-4, 0.0, 1.0)
    choices = []
    for _ in range(200):
        shown = rng.choice(40, 2, replace=False)
        choices.append(cb.Choice(shown, [shown[(X[shown, 0] + 0.3 * (shown % 2)).argmax()]]))
    fit = cb.ChoiceGP(latent_dim=1, engine="laplace", nugget=0.1, inducing=12).fit(cb.ChoiceData(X, choices))
    mean = fit.latent(fit.options).mean[:, 0]
    lower, upper = mean[0::2], mean[1::2]
    assert (upper > lower).mean() > 0.9
    assert fit.own.spread.max() <= np.sqrt(0.1 + 0.1)
    assert (fit.own.spread[..., fit.inducing] < 0.02).all()


def test_a_fit_with_features_is_the_same_every_time():
    data = some_data(60, 40)
    one, other = (cb.ChoiceGP(inducing=15, engine=Hamiltonian(max_samples=10)).fit_silently(data, seed=3) for _ in "ab")
    np.testing.assert_array_equal(one.whitened, other.whitened)
    np.testing.assert_array_equal(one.own.mean, other.own.mean)


def test_more_than_four_hundred_options_are_represented_by_some():
    rng = np.random.default_rng(0)
    lengthscale = np.array([[0.4, 0.4]])
    assert representatives("auto", rng.random((400, 2)), "matern32", lengthscale) is None
    assert 32 <= len(representatives("auto", rng.random((401, 2)), "matern32", lengthscale)) <= 192
    assert len(representatives("auto", rng.random((401, 9)), "matern12", np.full((1, 9), 0.1))) == 192
    assert representatives(None, rng.random((401, 2)), "matern32", lengthscale) is None
    assert len(representatives(7, rng.random((20, 2)), "matern32", lengthscale)) == 7


def test_the_shortlist_holds_the_options_that_are_probably_best(both):
    square, features, _ = both
    np.testing.assert_array_equal(square.shortlist(), np.arange(len(square.options)))
    rows = features.shortlist(10)
    probability = features.pareto_probability(features.options, draws=128)
    assert probability[rows].min() >= np.sort(probability)[-10]
    draws = features.shortlisted(50)
    assert draws.count == 50
    assert len(draws.X) > 40
    assert square.shortlisted(50).X.shape == square.options.shape


def test_a_sketch_with_features_is_a_small_posterior_that_knows_what_the_whole_knows():
    whole = cb.ChoiceGP(2, inducing=20, correlated=False).fit_silently(some_data(120, 60, seed=3))
    small = whole.sketch(96, 30)
    assert small.inducing is None
    assert small.options.shape == (30, 2)
    assert small.whitened.shape == (1, 96, 2, 30)
    best = whole.options[np.argsort(-whole.pareto_probability(whole.options))[:8]]
    same = whole.draws.thinned(96)  # few draws of broad functions: the same ones are compared
    np.testing.assert_allclose(small.latent(best).mean, same.moments(best)[0].mean(0), atol=0.2)
    np.testing.assert_allclose(small.pareto_probability(best), whole.pareto_probability(best), atol=0.2)
