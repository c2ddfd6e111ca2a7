"""Measured objectives: known ones of which values are missing, and which a Gaussian process completes."""

from __future__ import annotations

import dataclasses
import pickle

import jax
import jax.numpy as jnp
import jax_reference as reference
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.model.convergence import margins
from choicebo.model.covariance import HyperPrior, covariance, squared_differences
from choicebo.model.engines import ModelSpec
from choicebo.model.engines.gaussian import precision_at
from choicebo.model.engines.hamiltonian import Hamiltonian, Sampler, Target, begin, exchange
from choicebo.model.engines.laplace import Packing
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.features import MOST
from choicebo.model.known import Known
from choicebo.model.measured import (
    AMPLITUDE,
    Conditioned,
    MeasuredPrior,
    Numbers,
    amplitudes,
    learned_from_numbers,
    measured_rows,
    with_measured,
)
from choicebo.model.native import LANES
from choicebo.pareto import non_dominated


def cost(points):
    """The larger the better."""
    return -3.0 * points[:, 0] - points[:, -1] ** 2


def quality(points):
    return np.sin(5.0 * points[:, 0]) + points[:, 1] ** 2


class Measurements:
    """Of the first objective, ``cost``, the values at some points; the others are functions."""

    def __init__(self, points, *others, declared=True, function=cost):
        self.numbers = {point.tobytes(): function(point[None])[0] for point in points}
        self.others = others
        self.names = ("cost", *(other.__name__ for other in others))
        if declared:
            self.measured = (True, *(False for _ in others))

    def __len__(self):
        return 1 + len(self.others)

    def __call__(self, points):
        seen = [self.numbers.get(point.tobytes(), np.nan) for point in points]
        return np.column_stack([seen, *(other(points) for other in self.others)])


def answers(X, values, rng, count=40, size=4, among=None):
    choices = []
    for _ in range(count):
        shown = rng.choice(len(X) if among is None else among, size, replace=False)
        seen = values[shown] + 0.3 * rng.normal(size=(size, values.shape[1]))
        choices.append(cb.Choice(shown, shown[non_dominated(seen)]))
    return cb.ChoiceData(X, choices)


@pytest.fixture(scope="module")
def data():
    """Forty choices by quality, which is hidden, and cost."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    return answers(X, np.column_stack([4.0 * quality(X), 2.0 * cost(X)]), rng)


@pytest.fixture(scope="module")
def posterior(data):
    """Of a third of the options the cost was measured."""
    return cb.ChoiceGP(latent_dim=1, engine="laplace", known=Measurements(data.X[:13])).fit_silently(data)


# The Gaussian process given its numbers -----------------------------------------------------------------------------


def tiny(m=9, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((m, 2))
    numbers = Numbers(np.array([0, 3, 4]), np.array([0.3, -1.2, 0.9]))
    return X, numbers, np.log([0.5, 0.9, 0.3, 0.2])


def test_the_part_given_its_numbers_is_that_of_a_joint_normal():
    X, numbers, hyper = tiny()
    K = covariance("matern32", X, X, np.exp(hyper[:2])) + 0.01 * np.eye(9)
    amplitude, noise = 1.3, 0.2
    found = Conditioned(K, numbers, np.log(amplitude), np.log(noise))
    np.testing.assert_allclose(amplitudes(hyper[None]), amplitude)
    joint = np.block([[K, K[:, numbers.rows]], [K[numbers.rows], K[np.ix_(numbers.rows, numbers.rows)]]])
    joint[9:, 9:] += noise**2 * np.eye(3)
    precision = np.linalg.inv(joint)
    rest = np.linalg.inv(precision[:9, :9])  # of the part, given the numbers
    np.testing.assert_allclose(found.lower @ found.lower.T, rest, atol=1e-6)
    np.testing.assert_allclose(found.mean, -rest @ precision[:9, 9:] @ numbers.z / amplitude, atol=1e-6)
    density = multivariate_normal(np.zeros(3), amplitude**2 * joint[9:, 9:]).logpdf(numbers.z)
    np.testing.assert_allclose(found.log_evidence, density + 1.5 * np.log(2.0 * np.pi), rtol=1e-6)


@pytest.mark.parametrize("inducing", [None, np.array([0, 2, 3, 4, 6])])
def test_the_slopes_by_the_hyperparameters_are_those_of_the_values(inducing):
    X, numbers, hyper = tiny()
    base = X if inducing is None else X[inducing]
    seen = Numbers(numbers.rows if inducing is None else np.searchsorted(inducing, numbers.rows), numbers.z)
    rng = np.random.default_rng(1)
    by_factors, by_offset = rng.normal(size=(1, 9, len(base))), rng.normal(size=(1, 9))

    def at(vector):
        return MeasuredPrior("matern32", 0.05, squared_differences(base), (seen,), vector[None], X, inducing)

    def value(vector):
        found = at(vector)
        return (by_factors * found.factors).sum() + (by_offset * found.offset).sum() + found.log_evidence

    here = at(hyper)
    own = by_factors if inducing is not None else np.swapaxes(here.factors, 1, 2) @ np.tril(by_factors)
    slope, by_scale = here.gradient(own, by_offset)
    np.testing.assert_allclose(by_scale, (by_factors * here.factors).sum() + (by_offset * here.offset).sum(), rtol=1e-4)
    slope[0, AMPLITUDE] -= by_scale[0] * 0.3 / 1.3  # an amplitude multiplies the parts as well, which `value` does not
    steps = (1e-3 if inducing is not None else 1e-5) * np.eye(4)
    expected = [(value(hyper + step) - value(hyper - step)) / (2.0 * step.max()) for step in steps]
    np.testing.assert_allclose(slope[0], expected, rtol=1e-3, atol=1e-3)


def test_whitened_values_mean_the_same_with_and_without_numbers():
    X, numbers, hyper = tiny()
    prior = MeasuredPrior("matern32", 0.05, squared_differences(X), (numbers,), hyper[None])
    w = np.random.default_rng(0).normal(size=(5, 1, 9))
    v = prior.unconditioned(w)
    lower = np.linalg.cholesky(0.95 * covariance("matern32", X, X, np.exp(hyper[:2])) + (0.05 + 1e-6) * np.eye(9))
    np.testing.assert_allclose(v[:, 0] @ lower.T, prior.mean[0] + w[:, 0] @ prior.lower[0].T, atol=1e-5)
    np.testing.assert_allclose(prior.conditioned(v), w, atol=1e-6)


def test_the_numbers_alone_say_how_smooth_an_objective_is():
    X = np.random.default_rng(0).random((30, 2))
    z = np.sin(9.0 * X[:, 0])
    numbers = (Numbers(np.arange(30), (z - z.mean()) / z.std()),)
    found = np.exp(learned_from_numbers(HyperPrior(), "matern32", 0.01, squared_differences(X), numbers, 2)[0])
    assert found[1] > 3.0 * found[0]  # the second input does not matter
    noisy = (Numbers(np.arange(30), numbers[0].z + 0.5 * np.random.default_rng(1).normal(size=30)),)
    rough = np.exp(learned_from_numbers(HyperPrior(), "matern32", 0.01, squared_differences(X), noisy, 2)[0])
    assert rough[3] > 5.0 * found[3]


def test_the_prior_of_these_hyperparameters_has_the_slope_that_it_says():
    prior = HyperPrior()
    at = prior.centre(2, 1, 1, measured=1)
    assert np.abs(prior.gradient(at).measured).max() == 0.0
    at = at._replace(measured=at.measured + np.array([[0.3, -0.2, 0.4, -1.0]]))
    for column in range(3):
        step = 1e-5 * np.eye(4)[column]
        values = [prior.log_density(at._replace(measured=at.measured + sign * step)) for sign in (1, -1)]
        expected = (values[0] - values[1]) / 2e-5
        np.testing.assert_allclose(prior.gradient(at).measured[0, column], expected, rtol=1e-5)
    assert prior.gradient(at).measured[0, 3] == 0.0  # the noise is for the numbers to tell


# Engines ------------------------------------------------------------------------------------------------------------


def of_engines(data, hidden, inducing=None):
    """What engines work with, where one objective is measured, at hyperparameters that are not special."""
    known = Known.of(Measurements(data.X[:5], quality), data.X, data.X)
    likelihood = Likelihood.of(data, "choice", 0.01, also=measured_rows(known, data.X)).represented_by(inducing)
    spec = ModelSpec(hidden, known=known)
    rng = np.random.default_rng(2)
    packing = Packing.of(spec, likelihood)
    vector = packing.vector(spec.prior.centre(2, hidden, 2, measured=1))
    return likelihood, packing, Whitener.of(spec, likelihood), vector + 0.2 * rng.normal(size=len(vector)), rng


@pytest.mark.parametrize("hidden", [0, 2])
def test_the_slope_of_the_evidence_counts_numbers_and_choices(hidden):
    rng = np.random.default_rng(1)
    X = rng.random((12, 2))
    data = answers(X, np.column_stack([quality(X), cost(X)]), rng, 10, 3)
    likelihood, packing, whitener, vector, rng = of_engines(data, hidden)
    v = rng.normal(size=(hidden + 1, likelihood.coordinates, LANES)).astype(np.float32)

    def value(vector):
        prior = whitener.at(packing.hyper(vector))
        values = likelihood.value_and_gradient(prior.latent(v))[0]
        return values.mean() + prior.log_density - whitener.spec.prior.log_density(prior.hyper)

    prior = whitener.at(packing.hyper(vector))
    gradient = likelihood.value_and_gradient(prior.latent(v))[1]
    outer = prior.outer(prior.outer_side(gradient, prior.pulled(gradient)), v) / LANES
    found = packing.vector(prior.slope(outer, gradient))
    expected = [(value(vector + step) - value(vector - step)) / 0.02 for step in 0.01 * np.eye(len(vector))]
    assert found[-1] == 0.0  # choices do not tell how well something was measured
    np.testing.assert_allclose(found[:-1], expected[:-1], rtol=0.02, atol=0.02)


def test_what_is_told_of_whitened_values_gives_them_back():
    rng = np.random.default_rng(1)
    X = rng.random((12, 2))
    data = answers(X, np.column_stack([quality(X), cost(X)]), rng, 10, 3)
    for inducing in (None, np.arange(8)):
        likelihood, packing, whitener, vector, rng = of_engines(data, 2, inducing)
        prior = whitener.at(packing.hyper(vector))
        v = rng.normal(size=(3, likelihood.coordinates, LANES)).astype(np.float32)
        np.testing.assert_allclose(prior.whitened(prior.told(v)), v, atol=1e-3)
        # Numbers stay what they are at other scales: only what the choices tell is to be found again.
        other = whitener.at(packing.hyper(vector)._replace(known=packing.hyper(vector).known + 0.5))
        np.testing.assert_allclose(other.whitened(prior.told(v))[2], v[2], atol=1e-3)


def test_the_precision_is_the_curvature_of_the_posterior():
    rng = np.random.default_rng(1)
    X = rng.random((10, 2))
    data = answers(X, np.column_stack([quality(X), cost(X)]), rng, 10, 3)
    likelihood, packing, whitener, vector, rng = of_engines(data, 1)
    prior = whitener.at(packing.hyper(vector))
    point = 0.5 * rng.normal(size=(2, likelihood.coordinates))
    precision = precision_at(likelihood, prior, point)
    direction = rng.normal(size=point.shape)

    def slope(share):
        v = np.repeat((point + share * direction)[..., None], LANES, axis=2).astype(np.float32)
        return (prior.pulled(likelihood.value_and_gradient(prior.latent(v))[1]) - v)[..., 0].reshape(-1)

    expected = (slope(-0.02) - slope(0.02)) / 0.04
    np.testing.assert_allclose(precision @ direction.reshape(-1), expected, rtol=0.05, atol=0.05)


def test_hamiltonian_chains_exchange_hidden_dimensions_only_and_watch_the_margins_of_all():
    rng = np.random.default_rng(1)
    X = rng.random((10, 2))
    data = answers(X, np.column_stack([quality(X), cost(X)]), rng, 10, 3)
    likelihood, packing, whitener, vector, rng = of_engines(data, 2)
    hyper = packing.hyper(vector)
    alike = hyper._replace(
        log_lengthscale=hyper.log_lengthscale[[0, 0]], log_scale=np.ones(2), coupling=np.zeros((2, 2))
    )
    prior = whitener.at(alike)
    v = rng.normal(size=(3, likelihood.coordinates, LANES)).astype(np.float32)
    target = Target.of(likelihood, prior, np.moveaxis(v, 2, 0))
    chains = begin(target, v)
    for _ in range(4):
        after = exchange(rng, target, chains)
        np.testing.assert_allclose(after.v[2], chains.v[2], atol=1e-3)
        np.testing.assert_allclose(after.by_latent, begin(target, after.v).by_latent, atol=1e-2)
    assert np.abs(after.v[:2] - v[:2]).max() > 0.1
    sampler = Sampler(Hamiltonian(), target, rng, v, v[..., 0].astype(float))
    sampler.draw(4)
    draws = sampler.chains_first()
    latent = prior.latent(np.moveaxis(draws.reshape(-1, *draws.shape[2:]), 0, 2).astype(np.float32))
    expected = margins(np.moveaxis(latent, 2, 0)).T.reshape(-1, LANES, 4)
    np.testing.assert_allclose(sampler.quantities()[1:], expected, atol=1e-3)


@pytest.mark.parametrize(("engine", "tolerance"), [("hmc", 0.15), ("ess", 0.25), ("laplace", 0.5), ("vi", 0.5)])
def test_draws_have_the_moments_of_weighted_draws_of_the_prior(engine, tolerance):
    """An independent way to the same posterior: draws of the prior, weighted by numbers and by the reference likelihood."""
    rng = np.random.default_rng(5)
    X = np.linspace(0.0, 1.0, 5)[:, None]
    values = np.column_stack([np.sin(5.0 * X[:, 0]), -X[:, 0]])
    sets = [rng.choice(5, 3, replace=False) for _ in range(5)]
    data = cb.ChoiceData(X, [cb.Choice(shown, shown[non_dominated(values[shown])]) for shown in sets])
    known = Measurements(X[[0, 2]], function=lambda x: -x[:, 0])
    prior = HyperPrior(measurement_noise=0.3, measurement_noise_spread=0.1)
    found = cb.ChoiceGP(1, engine=engine, known=known, correlated=False, prior=prior).fit_silently(data)
    lengthscale, noise = np.exp(found.hyper.measured[0, [0, 2]])
    amplitude = amplitudes(found.hyper.measured)[0]
    draws = np.random.default_rng(0)
    count = 400_000

    def part(lengthscale):
        K = 0.99 * covariance("matern32", X, X, np.atleast_1d(lengthscale)) + 0.01 * np.eye(5)
        return draws.standard_normal((count, 5)) @ np.linalg.cholesky(K).T

    hidden, measured = found.scales[0] * part(found.lengthscales[0]), part(lengthscale)
    log_weight = -0.5 * (((np.array([1.0, -1.0]) / amplitude - measured[:, [0, 2]]) / noise) ** 2).sum(1)
    near = draws.choice(count, 12_000, p=np.exp(log_weight) / np.exp(log_weight).sum())
    latent = np.stack([hidden[near], found.known_scales[0] * amplitude * measured[near]], axis=1)
    log_likelihood = jax.jit(jax.vmap(lambda f: reference.log_likelihoods(f, data, lapse=0.01).sum()))
    weights = np.exp(np.concatenate([np.asarray(log_likelihood(jnp.asarray(each))) for each in np.split(latent, 3)]))
    assert weights.sum() ** 2 / (weights**2).sum() > 300
    expected = np.tensordot(weights, latent, 1) / weights.sum()
    spread = np.sqrt(np.tensordot(weights, (latent - expected) ** 2, 1) / weights.sum())
    ours = found.draws.latent
    difference = np.abs(ours.mean(0).T - expected) / spread
    assert difference.max() < tolerance + 0.1  # of a standard deviation; the weighted draws have an error, too
    if engine in ("hmc", "ess"):
        np.testing.assert_allclose(ours.std(0).T, spread, rtol=0.25)


def test_with_all_options_measured_the_answer_is_that_of_a_known_objective(data):
    points = np.random.default_rng(3).random((30, 2))
    exact = HyperPrior(measurement_noise=1e-3, measurement_noise_spread=0.01)
    known = cb.ChoiceGP(1, engine="laplace", known=cost).fit_silently(data)
    measured = cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X), prior=exact).fit_silently(data)
    np.testing.assert_allclose(measured.known_scales, known.known_scales, rtol=0.05)
    ours, theirs = measured.latent(data.X), known.latent(data.X)
    np.testing.assert_allclose(ours.mean[:, 1], theirs.mean[:, 1], atol=0.05 * known.known_scales[0])
    assert np.abs(ours.mean[:, 0] - theirs.mean[:, 0]).max() < 0.2 * known.scales[0]
    np.testing.assert_allclose(measured.latent(points).mean[:, 1], known.latent(points).mean[:, 1], atol=1.0)


def test_with_nothing_missing_and_nothing_declared_it_is_a_known_objective(data):
    told = cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X, declared=False)).fit_silently(data)
    known = cb.ChoiceGP(1, engine="laplace", known=cost).fit_silently(data)
    assert told.measured == (False,)
    np.testing.assert_array_equal(told.whitened, known.whitened)


# What is learned ----------------------------------------------------------------------------------------------------


def test_draws_at_measured_options_are_the_numbers(posterior, data):
    seen = data.X[:13]
    standard = (cost(seen) - posterior.spec.known.centre) / posterior.spec.known.width * posterior.known_scales
    drawn = posterior.sample(seen, draws=50)[..., 1]
    assert np.abs(drawn - standard).max() < 0.3 * posterior.known_scales[0]
    assert np.abs(drawn - standard).mean() < 0.06 * posterior.known_scales[0]
    others = posterior.sample(data.X[13:], draws=50)[..., 1]
    assert others.std(0).mean() > 3.0 * drawn.std(0).mean()


def test_numbers_tell_of_options_that_were_not_measured(posterior, data):
    points = np.random.default_rng(4).random((100, 2))
    without = cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X[:0])).fit_silently(data)
    alike = [np.corrcoef(found.latent(points).mean[:, 1], cost(points))[0, 1] for found in (posterior, without)]
    assert alike[0] > 0.98
    assert alike[0] > alike[1]
    width = [
        float((found.latent(points).upper - found.latent(points).lower)[:, 1].mean()) for found in (posterior, without)
    ]
    assert width[0] < 0.8 * width[1]


def test_choices_tell_of_a_measured_objective_where_nothing_was_measured():
    """Numbers on the left half; on the right one only the choices say that the objective falls again."""
    X = np.linspace(0.0, 1.0, 21)[:, None]
    rises_and_falls = -np.abs(X - 0.5)
    data = answers(X, 40.0 * rises_and_falls, np.random.default_rng(0), 60, 2)
    model = cb.ChoiceGP(0, engine="laplace", known=Measurements(X[:11], function=lambda x: x[:, 0]))
    found = model.fit_silently(data).latent(X).mean[:, 0]
    assert found[10] > found[15] > found[20]
    left = answers(X, 40.0 * X, np.random.default_rng(0), 60, 2, among=np.arange(11))
    assert model.fit_silently(left).latent(X).mean[20, 0] > model.fit_silently(data).latent(X).mean[20, 0] + 2.0


def test_options_that_were_measured_but_never_shown_count(data):
    unseen = np.random.default_rng(9).random((15, 2))
    more = cb.ChoiceData(np.concatenate([data.X, unseen]), data.choices)
    found = cb.ChoiceGP(1, engine="laplace", known=Measurements(unseen)).fit_silently(more)
    assert len(found.options) == len(data.X) + 15
    points = np.random.default_rng(4).random((100, 2))
    assert np.corrcoef(found.latent(points).mean[:, 1], cost(points))[0, 1] > 0.98
    assert found.pareto_probability(unseen).shape == (15,)
    assert np.isfinite(found.loo(1).elpd)


def test_the_units_of_the_numbers_do_not_matter(data):
    cents = Measurements(data.X[:13], function=lambda x: 100.0 * cost(x) + 7.0)
    points = np.random.default_rng(0).random((6, 2))
    models = [cb.ChoiceGP(1, engine="laplace", known=each) for each in (Measurements(data.X[:13]), cents)]
    np.testing.assert_allclose(*(model.fit_silently(data).latent(points).mean for model in models), atol=1e-2)


# The order of the dimensions, and what is asked of them -------------------------------------------------------------


def mass(points):
    return 2.0 * points[:, 1]


class Mixed(Measurements):
    """A known objective before the measured one, and one behind it."""

    def __init__(self, points):
        super().__init__(points, mass)
        self.names, self.measured = ("quality", "cost", "mass"), (False, True, False)

    def __len__(self):
        return 3

    def __call__(self, points):
        return np.column_stack([quality(points), super().__call__(points)])


@pytest.fixture(scope="module")
def mixed(data):
    return cb.ChoiceGP(latent_dim=1, engine="laplace", known=Mixed(data.X[:20])).fit_silently(data)


def test_hidden_dimensions_come_first_and_then_the_objectives_in_their_order(mixed, data):
    points = np.concatenate([data.X[:2], np.random.default_rng(2).random((4, 2))])
    draws, standardised = mixed.draws, mixed.spec.known
    assert (mixed.latent_dim, mixed.known_count, mixed.measured) == (1, 3, (False, True, False))
    assert (draws.latent_dim, draws.hidden_dim, draws.learned_dim) == (4, 1, 2)
    assert draws.known_dims.tolist() == [1, 3]
    raw = np.column_stack([quality(points), cost(points), mass(points)])
    expected = (raw - standardised.centre) / standardised.width * mixed.known_scales
    every = [
        draws.at(points, 0)[5],
        draws.moments(points)[0][3],
        draws.marginals(0).evaluate(points).latent[:, 4],
        draws.path(0, 0).evaluate(points).latent[:, 0],
        draws.extended(points[2:], 0).at(points, 0)[0],
        draws.extended(points[2:], 0).smooth[0][[*range(2), *range(-4, 0)]],
        draws.core(np.arange(3), 12).at(points, 0)[0],
        mixed.sketch(20, 15).draws.at(points, 0)[0],
    ]
    for found in every:
        assert found.shape == (6, 4)
        np.testing.assert_allclose(found[:, [1, 3]], expected[:, [0, 2]], atol=1e-9)
    variance = draws.moments(points)[1]
    assert (variance[:, [1, 3]] == 0.0).all()
    assert (variance[2:, [0, 2]] > 0.0).all()
    measured = draws.at(data.X[:2], 0)[..., 2].mean(0)
    np.testing.assert_allclose(measured, expected[:2, 1], atol=0.15 * mixed.known_scales[1])


@pytest.mark.parametrize("kind", ["marginals", "path"])
def test_the_slope_of_a_score_counts_every_kind_of_objective(mixed, kind):
    outlook = mixed.draws.marginals(0) if kind == "marginals" else mixed.draws.path(3, 0)
    points = np.array([[0.31, 0.72], [0.55, 0.2]])
    at = outlook.evaluate(points)
    by_latent = np.random.default_rng(0).normal(size=at.latent.shape)
    found = outlook.gradient(at, by_latent)
    for d in range(2):
        step = 1e-4 * np.eye(2)[d]
        change = outlook.evaluate(points + step).latent - outlook.evaluate(points - step).latent
        np.testing.assert_allclose(found[:, d], (change * by_latent).sum((1, 2)) / 2e-4, rtol=1e-2, atol=1e-2)


def test_a_posterior_keeps_its_numbers_whatever_the_function_knows_later(data):
    known = Measurements(data.X[:13])
    found = cb.ChoiceGP(1, engine="laplace", known=known).fit_silently(data)
    before = found.loo(2).elpd
    known.numbers.clear()
    assert found.loo(2).elpd == before
    assert len(found.spec.known.points) == 13


def test_a_posterior_survives_the_way_to_another_process(posterior, data):
    found = pickle.loads(pickle.dumps(posterior))
    np.testing.assert_array_equal(found.sample(data.X[:3], draws=5), posterior.sample(data.X[:3], draws=5))


def test_draws_as_the_engine_made_them_come_back(posterior):
    likelihood, hyper, whitened = posterior.as_fitted()
    prior = Whitener.of(posterior.spec, likelihood).at(hyper)
    np.testing.assert_allclose(prior.unconditioned(whitened), posterior.whitened, atol=1e-8)
    flat = whitened.reshape(-1, *whitened.shape[2:])
    values = prior.over(flat, likelihood.values)[:, likelihood.place]
    np.testing.assert_allclose(values, posterior.log_likelihood.reshape(len(flat), -1), atol=1e-2)


# How many are hidden ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_cost_alone():
    rng = np.random.default_rng(1)
    X = rng.random((30, 2))
    seen = [rng.choice(30, 4, replace=False) for _ in range(30)]
    noisy = [4.0 * cost(X)[shown] + rng.normal(size=4) for shown in seen]
    return cb.ChoiceData(X, [cb.Choice(shown, [shown[int(v.argmax())]]) for shown, v in zip(seen, noisy, strict=True)])


@pytest.mark.parametrize("engine", ["hmc", "ess", "vi", "laplace"])
def test_nothing_need_be_hidden(by_cost_alone, engine):
    found = cb.ChoiceGP(latent_dim=0, engine=engine, known=Measurements(by_cost_alone.X[:8])).fit_silently(
        by_cost_alone
    )
    points = np.random.default_rng(0).random((40, 2))
    assert found.whitened.shape[2] == 1
    assert np.corrcoef(found.latent(points).mean[:, 0], cost(points))[0, 1] > 0.93
    assert found.predict_choice(points[:5]) == (int(cost(points[:5]).argmax()),)
    assert np.isfinite(found.loo(1).elpd)


def test_zero_hidden_objectives_are_an_answer(by_cost_alone, data):
    model = cb.ChoiceGP(engine="laplace", known=Measurements(by_cost_alone.X[:8]))
    selection = cb.select_latent_dim(by_cost_alone, 2, model=model, refit_limit=0)
    assert selection.best == 0
    assert [row.latent_dim for row in selection.table][:2] == [0, 1]
    # Where cost does not explain all, as many are hidden as beside a cost that is known everywhere.
    models = [cb.ChoiceGP(engine="laplace", known=known) for known in (Measurements(data.X[:13]), cost)]
    measured, known = (cb.select_latent_dim(data, 2, model=model, refit_limit=0).best for model in models)
    assert measured == known > 0


# Few numbers, and many ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [0, 1, 2])
@pytest.mark.parametrize("latent_dim", [0, 1])
def test_few_numbers_are_enough(data, numbers, latent_dim):
    model = cb.ChoiceGP(latent_dim, engine="laplace", known=Measurements(data.X[:numbers]))
    found = model.fit_silently(data)
    assert found.measured == (True,)
    assert np.isfinite(found.sample(np.random.default_rng(0).random((5, 2)), draws=20)).all()
    assert found.latent(data.X).mean.shape == (40, latent_dim + 1)


def test_a_single_number_says_nothing(data):
    """Only differences between options count."""
    models = [cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X[:count])) for count in (0, 1)]
    np.testing.assert_array_equal(*(model.fit_silently(data).whitened for model in models))


@pytest.mark.parametrize("count", [6, 20])
def test_numbers_that_are_all_equal_say_that_these_options_are_alike(data, count):
    known = Measurements(data.X[:count], function=lambda x: np.full(len(x), 7.0))
    drawn = cb.ChoiceGP(1, engine="laplace", known=known).fit_silently(data).sample(data.X, draws=30)[..., 1]
    assert np.isfinite(drawn).all()
    assert np.abs(drawn[:, :count]).mean() < 0.5 * np.abs(drawn[:, count:]).mean()


def test_an_earlier_fit_with_fewer_numbers_is_a_start(data):
    earlier = cb.ChoiceGP(1, engine="laplace").fit_silently(data)
    known = cb.ChoiceGP(1, engine="laplace", known=cost).fit_silently(data)
    model = cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X[:13]))
    again = model.fit_silently(data, start=model.fit_silently(data).start)
    assert np.isfinite(again.diagnostics.log_evidence)
    assert np.isfinite(model.fit_silently(data, start=known.start).diagnostics.log_evidence)
    assert np.isfinite(model.fit_silently(data, start=earlier.start).diagnostics.log_evidence)


@pytest.mark.parametrize("engine", ["laplace", "hmc", "vi"])
def test_of_many_options_those_with_a_number_are_inducing_ones(data, engine):
    found = cb.ChoiceGP(1, engine=engine, known=Measurements(data.X[:9]), inducing=12).fit_silently(data)
    assert set(range(9)) <= set(found.inducing.tolist())
    points = np.random.default_rng(4).random((100, 2))
    assert np.corrcoef(found.latent(points).mean[:, 1], cost(points))[0, 1] > 0.95
    standard = (cost(data.X[:9]) - found.spec.known.centre) / found.spec.known.width * found.known_scales
    assert np.abs(found.sample(data.X[:9], draws=50)[..., 1] - standard).mean() < 0.1 * found.known_scales[0]
    assert np.isfinite(found.loo(1).elpd)
    alone = cb.ChoiceGP(0, engine=engine, known=Measurements(data.X[:9]), inducing=12).fit_silently(data)
    assert np.isfinite(alone.pareto_probability(data.X)).all()


def test_of_very_many_numbers_the_ones_that_tell_most_are_used():
    X = np.random.default_rng(0).random((500, 2))
    known = Known.of(Measurements(X[:300]), X, X)
    rows = with_measured(np.array([499]), X, known, "matern32", np.full((1, 2), 0.3))
    assert len(rows) == MOST + 1
    assert rows[:-1].max() < 300


# Several people -----------------------------------------------------------------------------------------------------


def test_several_people_share_what_was_measured(data):
    choices = [dataclasses.replace(choice, rater="ab"[at % 2]) for at, choice in enumerate(data.choices)]
    several = cb.ChoiceData(data.X, choices)
    found = cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X[:13])).fit_silently(several)
    assert found.raters == ("a", "b")
    assert found.measured == (True,)
    points = np.random.default_rng(4).random((100, 2))
    for rater in (None, "a", "b"):
        assert np.corrcoef(found.latent(points, rater=rater).mean[:, 1], cost(points))[0, 1] > 0.95
    standard = (cost(data.X[:13]) - found.spec.known.centre) / found.spec.known.width * found.known_scales
    np.testing.assert_allclose(found.latent(data.X[:13], rater="a").mean[:, 1], standard, atol=1e-6)
    # Before there are two numbers, nobody is told apart.
    assert cb.ChoiceGP(1, engine="laplace", known=Measurements(data.X[:1])).fit_silently(several).raters == ()


# Errors -------------------------------------------------------------------------------------------------------------


def test_a_value_that_is_missing_where_none_may_be_is_refused(data):
    lacking = Measurements(data.X, declared=False)
    found = cb.ChoiceGP(1, engine="laplace", known=lacking).fit_silently(data)
    with pytest.raises(InvalidInputError, match=r"known objective 1 is nan.*attribute measured"):
        found.latent([[0.123, 0.456]])


def test_flags_must_be_as_many_as_objectives(data):
    known = Measurements(data.X[:3])
    known.measured = (True, False)
    with pytest.raises(InvalidInputError, match="2 flags for 1 objectives"):
        cb.ChoiceGP(1, known=known).fit(data)


def test_what_was_not_measured_is_nan_and_not_infinite(data):
    with pytest.raises(InvalidInputError, match="known objective 1 is inf"):
        cb.ChoiceGP(1, known=Measurements(data.X[:3], function=lambda x: np.full(len(x), np.inf))).fit(data)
