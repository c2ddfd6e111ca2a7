"""Known objectives: latent dimensions that are given, behind those that are learned."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax_reference as reference
import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.model.covariance import HyperPrior, covariance
from choicebo.model.engines import ModelSpec
from choicebo.model.engines.gaussian import climb
from choicebo.model.engines.laplace import hyper_slope
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.known import Known
from choicebo.model.native import LANES
from choicebo.pareto import non_dominated


def price(points):
    """The larger the better."""
    return -3.0 * points[:, 0] - points[:, -1]


def quality(points):
    return np.sin(5.0 * points[:, 0]) + points[:, 1] ** 2


def answered(X, values, sets):
    return cb.ChoiceData(X, [cb.Choice(shown, shown[non_dominated(values[shown])]) for shown in sets])


@pytest.fixture(scope="module")
def data():
    """Sixty choices of four by quality, which is hidden, and price, which is known; some of them slips of the eye."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    values = np.column_stack([4.0 * quality(X), 2.0 * price(X)])
    choices = []
    for _ in range(60):
        shown = rng.choice(40, 4, replace=False)
        seen = values[shown] + 0.3 * rng.normal(size=(4, 2))
        choices.append(cb.Choice(shown, shown[non_dominated(seen)]))
    return cb.ChoiceData(X, choices)


@pytest.fixture(scope="module")
def posterior(data):
    return cb.ChoiceGP(latent_dim=1, engine="laplace", known=price).fit_silently(data)


def few_answers():
    rng = np.random.default_rng(5)
    X = np.linspace(0.0, 1.0, 5)[:, None]
    values = np.column_stack([np.sin(5.0 * X[:, 0]), -X[:, 0]])
    return answered(X, values, [rng.choice(5, 3, replace=False) for _ in range(5)])


# The posterior ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "tolerance"), [("hmc", 0.12), ("ess", 0.25), ("laplace", 0.5), ("vi", 0.5)])
def test_draws_have_the_moments_of_weighted_draws_of_the_prior(engine, tolerance):
    """An independent way to the same posterior: draws of the prior, weighted by the reference likelihood."""
    data = few_answers()
    found = cb.ChoiceGP(1, engine=engine, known=lambda x: -x[:, 0], correlated=False).fit_silently(data)
    rng = np.random.default_rng(0)
    K = 0.99 * covariance("matern32", data.X, data.X, found.lengthscales[0]) + 0.01 * np.eye(5)
    hidden = found.scales[0] * rng.standard_normal((30_000, 5)) @ np.linalg.cholesky(K).T
    standard = (-data.X[:, 0] + data.X[:, 0].mean()) / data.X[:, 0].std()
    latent = np.stack([hidden, np.broadcast_to(found.known_scales[0] * standard, hidden.shape)], axis=1)
    log_likelihood = jax.jit(jax.vmap(lambda f: reference.log_likelihoods(f, data, lapse=0.01).sum()))
    weights = np.asarray(jnp.exp(jnp.concatenate([log_likelihood(part) for part in np.split(latent, 3)])))
    assert weights.sum() ** 2 / (weights**2).sum() > 500
    expected = weights @ hidden / weights.sum()
    spread = np.sqrt(weights @ (hidden - expected) ** 2 / weights.sum())
    draws = found.draws.latent
    np.testing.assert_allclose(draws[0, :, 1], found.known_scales[0] * standard, rtol=1e-6)
    assert np.abs(draws[:, :, 0].mean(0) - expected).max() < tolerance * spread.min()


def test_what_is_known_is_worth_having(data):
    rng = np.random.default_rng(1)
    sets = rng.random((200, 4, 2))
    truth = [tuple(np.flatnonzero(non_dominated(np.column_stack([quality(s), price(s)])))) for s in sets]

    def accuracy(**settings):
        found = cb.ChoiceGP(engine="laplace", **settings).fit_silently(data)
        return np.mean([a == b for a, b in zip(found.predict_choices(sets), truth, strict=True)])

    known = accuracy(latent_dim=1, known=price)
    assert known > accuracy(latent_dim=2) + 0.03
    assert accuracy(latent_dim=1, known=price, inducing=20) > known - 0.1


def test_the_units_of_a_known_objective_do_not_matter(data):
    model = cb.ChoiceGP(1, engine="laplace", known=price)
    cents = cb.ChoiceGP(1, engine="laplace", known=lambda x: 100.0 * price(x) + 7.0)
    points = np.random.default_rng(0).random((6, 2))
    found = [each.fit_silently(data).latent(points).mean for each in (model, cents)]
    np.testing.assert_allclose(*found, atol=1e-3)


def test_the_slope_by_the_scale_is_that_of_the_likelihood(data):
    likelihood = Likelihood.of(data, "choice", 0.01)
    spec = ModelSpec(1, known=Known.of(price, likelihood.X))
    whitener, hyper = Whitener.of(spec, likelihood), spec.prior.centre(2, 1, 1)
    v = np.random.default_rng(0).normal(size=(1, likelihood.options, LANES)).astype(np.float32)

    def value(log_scale):
        prior = whitener.at(hyper._replace(known=np.array([log_scale])))
        return likelihood.value_and_gradient(prior.latent(v))[0].mean()

    prior = whitener.at(hyper)
    slope = prior.by_known(likelihood.value_and_gradient(prior.latent(v))[1])
    at = float(hyper.known[0])
    np.testing.assert_allclose(slope, (value(at + 0.01) - value(at - 0.01)) / 0.02, rtol=1e-2)
    assert hyper_slope(likelihood, prior, climb(likelihood, prior, v[..., 0].astype(float))).known.shape == (1,)


def test_the_prior_of_the_scales_has_the_slope_that_it_says():
    prior = HyperPrior()
    at = prior.centre(2, 1, 2)._replace(known=np.array([0.3, -1.0]))
    step = np.array([0.0, 1e-5])
    values = [prior.log_density(at._replace(known=at.known + sign * step)) for sign in (1, -1)]
    np.testing.assert_allclose(prior.gradient(at).known[1], (values[0] - values[1]) / 2e-5, rtol=1e-6)


def test_a_scale_near_zero_is_a_dimension_that_tells_no_options_apart(data):
    likelihood = Likelihood.of(data)
    hidden = np.random.default_rng(0).normal(size=(1, len(data.X)))
    level = np.concatenate([hidden, np.zeros_like(hidden)])
    nearly = np.concatenate([hidden, 1e-6 * price(data.X)[None]])
    rows = likelihood.rows
    np.testing.assert_allclose(
        likelihood.values(level[None][..., rows]), likelihood.values(nearly[None][..., rows]), atol=1e-4
    )


# Draws and what is asked of them ------------------------------------------------------------------------------------


def test_every_answer_of_the_draws_has_the_known_values_last(posterior, data):
    draws = posterior.draws
    points = np.concatenate([data.X[:2], np.random.default_rng(2).random((3, 2))])
    known = posterior.spec.known(points) * posterior.known_scales
    assert (draws.latent_dim, draws.hidden_dim) == (2, 1)
    np.testing.assert_allclose(draws.at(points, 0)[5, :, 1:], known)
    mean, variance = draws.moments(points)
    np.testing.assert_allclose(mean[3, :, 1:], known)
    assert (variance[:, 1] == 0.0).all()
    assert (variance[2:, 0] > 0.0).all()
    np.testing.assert_allclose(draws.marginals(0).evaluate(points).latent[:, 4, 1:], known)
    np.testing.assert_allclose(draws.path(0, 0).evaluate(points).latent[:, 0, 1:], known)
    more = draws.extended(points[2:], 0)
    np.testing.assert_allclose(more.latent[0, -3:, 1:], known[2:])
    np.testing.assert_allclose(more.smooth[0, -3:, 1:], known[2:])
    np.testing.assert_allclose(draws.core(np.arange(3), 12).at(points, 0)[0, :, 1:], known)


@pytest.mark.parametrize("kind", ["marginals", "path"])
def test_the_slope_of_a_score_counts_what_is_known(posterior, kind):
    outlook = posterior.draws.marginals(0) if kind == "marginals" else posterior.draws.path(3, 0)
    points = np.array([[0.31, 0.72], [0.55, 0.2]])
    at = outlook.evaluate(points)
    by_latent = np.random.default_rng(0).normal(size=at.latent.shape)
    found = outlook.gradient(at, by_latent)
    for d in range(2):
        step = 1e-4 * np.eye(2)[d]
        change = outlook.evaluate(points + step).latent - outlook.evaluate(points - step).latent
        np.testing.assert_allclose(found[:, d], (change * by_latent).sum((1, 2)) / 2e-4, rtol=5e-3, atol=5e-3)


def test_at_the_ends_of_the_cube_the_slope_is_one_sided():
    known = Known(lambda x: x[:, :1] ** 2, np.zeros(1), np.ones(1))
    np.testing.assert_allclose(known.gradient(np.array([[1.0, 0.5]]), np.ones((1, 1))), [[2.0, 0.0]], atol=1e-3)


# Nothing hidden -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_price_alone():
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    seen = [rng.choice(30, 4, replace=False) for _ in range(40)]
    noisy = [4.0 * price(X)[shown] + rng.normal(size=4) for shown in seen]
    return cb.ChoiceData(X, [cb.Choice(shown, [shown[int(v.argmax())]]) for shown, v in zip(seen, noisy, strict=True)])


def test_with_nothing_hidden_the_scale_is_the_most_probable_one(by_price_alone):
    found = cb.ChoiceGP(latent_dim=0, known=price, lapse=0.0).fit_silently(by_price_alone)
    rows = sorted({row for choice in by_price_alone.choices for row in choice.shown})
    standard = price(by_price_alone.X) - price(by_price_alone.X[rows]).mean()
    standard /= price(by_price_alone.X[rows]).std()
    scales = np.geomspace(0.5, 50.0, 400)
    prior = -0.5 * (np.log(scales / 2.0) / 1.5) ** 2
    log_p = [cb.choice_log_likelihood(scale * standard[:, None], by_price_alone).sum() for scale in scales]
    np.testing.assert_allclose(found.known_scales[0], scales[np.argmax(prior + log_p)], rtol=0.03)
    assert found.whitened.shape[2] == 0
    assert found.diagnostics.problems == ()


def test_with_nothing_hidden_all_questions_have_an_answer(by_price_alone):
    found = cb.ChoiceGP(latent_dim=0, known=price, inducing=10).fit_silently(by_price_alone)
    points = np.random.default_rng(0).random((5, 2))
    best = int(price(points).argmax())
    assert found.predict_choice(points) == (best,)
    assert found.pareto_set(points).tolist() == [best]
    assert next(iter(found.choice_probabilities(points))) == (best,)
    assert np.isfinite(found.loo().elpd)
    assert found.sketch(10, 8).predict_choice(points) == (best,)
    assert found.draws.path(0, 0).evaluate(points).latent.shape == (5, 1, 1)


def test_zero_hidden_objectives_are_an_answer(by_price_alone):
    selection = cb.select_latent_dim(by_price_alone, 2, model=cb.ChoiceGP(engine="laplace", known=price))
    assert selection.best == 0
    assert [row.latent_dim for row in selection.table][:2] == [0, 1]


def test_what_is_known_does_not_explain_all(data):
    selection = cb.select_latent_dim(data, 2, model=cb.ChoiceGP(engine="laplace", known=price), refit_limit=0)
    assert selection.best == 1


# Errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"latent_dim": 0}, "at least 1"),
        ({"latent_dim": 0, "known": 3}, "known must be a function"),
        ({"latent_dim": 1, "likelihood": "batch_preference", "known": price}, "one latent dimension"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with pytest.raises(InvalidInputError, match=said):
        cb.ChoiceGP(**settings)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (lambda x: np.where(x[:, 0] > 0.5, np.inf, 1.0), "known objective 1 is inf at the point"),
        (lambda x: np.ones(3), r"got \(3, 1\)"),
        (lambda x: ["dear"] * len(x), "a number for each point"),
        (lambda x: np.tile(x[:, :1], 40), "at most"),
    ],
)
def test_values_that_are_no_numbers_are_refused(data, known, said):
    with pytest.raises(InvalidInputError, match=said):
        cb.ChoiceGP(1, known=known).fit(data)
