"""Modes, Gaussians around them, and hyperparameters that do not depend on where the search began."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.optimize import minimize

import choicebo as cb
from choicebo.errors import NumericalError
from choicebo.experiments import problems
from choicebo.model.covariance import HyperPrior
from choicebo.model.engines import Laplace, gaussian, laplace
from choicebo.model.engines.base import ModelSpec, Reporter
from choicebo.model.engines.gaussian import (
    Mode,
    climb,
    covariance_of,
    log_determinant,
    log_posterior,
    precision_at,
    precision_factor,
    root_of_inverse,
)
from choicebo.model.engines.laplace import Ascender, Packing, hyper_slope, in_order_of
from choicebo.model.engines.starting import Adam, starting_points
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES
from choicebo.pareto import non_dominated

INDEPENDENT = ModelSpec(2, correlated=False)


def answered(X, objectives, choices, size, rng):
    sets = [rng.choice(len(X), size, replace=False) for _ in range(choices)]
    return cb.ChoiceData(X, [cb.Choice(shown, shown[non_dominated(objectives[shown])]) for shown in sets])


@functools.cache
def on_a_line(choices=100, seed=0, options=200):
    """The paper's toy problem: noisy objectives on a line, sets of three."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-4.5, 4.5, options)
    objectives = np.column_stack([np.cos(2 * x), -np.sin(2 * x)]) + 0.1 * rng.normal(size=(options, 2))
    return answered(((x + 4.5) / 9.0)[:, None], objectives, choices, 3, rng)


@functools.cache
def in_a_square(choices=100, seed=0, options=100):
    """Smooth objectives in a square, sets of five."""
    rng = np.random.default_rng(seed)
    X = rng.random((options, 2))
    objectives = np.column_stack([np.cos(5 * X[:, 0] + X[:, 1]), -np.sin(4 * X[:, 0] - 2 * X[:, 1])])
    return answered(X, objectives, choices, 5, rng)


@functools.cache
def problem(correlated=True):
    """A small one: its likelihood, its prior at the prior's median, and the mode there."""
    data = in_a_square(30, seed=1, options=12)
    likelihood = Likelihood.of(data, "choice", 0.01)
    spec = ModelSpec(2, correlated=correlated)
    hyper = HyperPrior().centre(2, 2)
    if correlated:
        hyper = hyper._replace(coupling=np.array([[0.0, 0.0], [0.4, 0.0]]))
    prior = Whitener.of(spec, likelihood).at(hyper)
    return data, likelihood, prior, climb(likelihood, prior, 0.1 * np.random.default_rng(0).normal(size=(2, 12)))


def exact_log_posterior(data, prior, v):
    """At whitened values ``(n_e, m)``, by the exact likelihood."""
    latent = prior.mixing.astype(float) @ np.stack([L @ one for L, one in zip(prior.found.lower, v, strict=True)])
    return cb.choice_log_likelihood(latent.T, data, lapse=0.01).sum() - 0.5 * (v * v).sum()


# Modes and Gaussians ----------------------------------------------------------------------------------------


def test_the_log_posterior_and_its_gradient_are_those_of_the_exact_likelihood():
    data, likelihood, prior, _ = problem()
    v = np.random.default_rng(3).normal(size=(2, 12))
    value, slope = log_posterior(likelihood, prior, np.repeat(v[..., None], LANES, axis=2))
    np.testing.assert_allclose(value, exact_log_posterior(data, prior, v), rtol=2e-3)
    for d, option in [(0, 3), (1, 7), (1, 11)]:
        away = np.zeros((2, 12))
        away[d, option] = 1e-4
        ends = (exact_log_posterior(data, prior, v + sign * away) for sign in (1, -1))
        assert slope[d, option, 0] == pytest.approx((next(ends) - next(ends)) / 2e-4, abs=0.05)


def test_a_climb_ends_at_the_mode_of_the_exact_posterior():
    data, likelihood, prior, mode = problem()
    found = minimize(
        lambda v: -exact_log_posterior(data, prior, v.reshape(2, 12)), mode.v.ravel(), options={"maxiter": 8}
    )
    assert exact_log_posterior(data, prior, mode.v) > -found.fun - 0.05
    assert mode.height == pytest.approx(exact_log_posterior(data, prior, mode.v), abs=0.1)
    assert mode.gain < 1e-2
    assert np.abs(log_posterior(likelihood, prior, np.repeat(mode.v[..., None], LANES, axis=2))[1]).max() < 0.1


@pytest.mark.parametrize("distance", [1.0, 5.0, 8.0])
def test_a_climb_from_far_away_reaches_the_mode_and_stops_at_no_saddle(distance):
    _, likelihood, prior, best = problem()
    for seed in range(3, 9):
        mode = climb(likelihood, prior, distance * np.random.default_rng(seed).normal(size=(2, 12)), most=30)
        assert mode.height == pytest.approx(best.height, abs=0.01)
        assert mode.gain < 0.01


def test_the_precision_is_the_negative_hessian_of_the_log_posterior():
    _, likelihood, prior, mode = problem()
    found = precision_at(likelihood, prior, mode.v)
    np.testing.assert_allclose(found, found.T, atol=1e-3)
    step = 0.02
    for number in (0, 5, 23):
        away = np.zeros(24)
        away[number] = step
        lanes = np.repeat(mode.v[..., None], LANES, axis=2)
        lanes[..., 0] += away.reshape(2, 12)
        lanes[..., 1] -= away.reshape(2, 12)
        slope = log_posterior(likelihood, prior, lanes)[1]
        expected = -(slope[..., 0] - slope[..., 1]).ravel() / (2 * step)
        np.testing.assert_allclose(found[number], expected, atol=0.02 * np.abs(found).max())


def test_the_precision_of_several_points_is_their_average():
    _, likelihood, prior, mode = problem()
    points = [mode.v, mode.v + 0.5, 0.3 * mode.v]
    expected = np.mean([precision_at(likelihood, prior, point) for point in points], axis=0)
    np.testing.assert_allclose(precision_at(likelihood, prior, *points), expected, atol=1e-3)


def test_the_log_evidence_is_laplaces_approximation():
    _, likelihood, prior, mode = problem()
    precision = precision_at(likelihood, prior, mode.v)
    expected = mode.height - 0.5 * np.linalg.slogdet(precision.astype(float))[1]
    assert mode.log_evidence == pytest.approx(expected, abs=0.05)
    factor = np.array([[2.0, 0.0], [1.0, 3.0]], dtype=np.float32)
    assert log_determinant(factor) == pytest.approx(0.5 * np.log(36.0))
    assert Mode(np.zeros((1, 2)), -3.0, factor, 0.0).log_evidence == pytest.approx(-3.0 - 0.5 * np.log(36.0))


def test_the_evidence_of_one_preference_is_nearly_one_half():
    """By symmetry it is one half, at any hyperparameters."""
    data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))])
    prior = Whitener.of(ModelSpec(1), likelihood := Likelihood.of(data)).at(HyperPrior().centre(1, 1))
    assert climb(likelihood, prior, np.zeros((1, 2))).log_evidence == pytest.approx(np.log(0.5), abs=0.15)


def test_roots_and_inverses_of_a_precision_fit_together():
    root = np.random.default_rng(0).normal(size=(6, 6))
    precision = (root @ root.T + np.eye(6)).astype(np.float32)
    factor = precision_factor(precision)
    np.testing.assert_allclose(factor, np.linalg.cholesky(precision), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(covariance_of(factor), np.linalg.inv(precision), atol=1e-5)
    half = root_of_inverse(factor)
    np.testing.assert_allclose(half @ half.T, np.linalg.inv(precision), atol=1e-5)


def test_no_direction_gets_wider_than_the_prior_allows():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    precision = ((turn * [3.0, 1.0, 0.05, -2.0]) @ turn.T).astype(np.float32)
    factor = precision_factor(precision)
    expected = (turn * [3.0, 1.0, 0.2, 0.2]) @ turn.T
    np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-4)


def test_a_curvature_that_is_not_finite_is_an_error(monkeypatch):
    monkeypatch.setattr(gaussian, "_factor", lambda *_: None)  # what some libraries find of values that are not finite
    with pytest.raises(NumericalError, match="not finite"):
        gaussian._newton_factor(np.full((3, 3), np.nan, dtype=np.float32))


# The slope by the hyperparameters ---------------------------------------------------------------------------


@pytest.mark.parametrize("correlated", [True, False])
def test_the_slope_by_the_hyperparameters_is_the_average_over_the_gaussian(correlated, monkeypatch):
    _, likelihood, prior, mode = problem(correlated)
    packing = Packing(2, 2, correlated)
    rng = np.random.default_rng(0)
    root = root_of_inverse(mode.factor)
    found = []
    for _ in range(60):
        outer = np.zeros((2, 12, 2, 12))
        for _ in range(8):
            v = mode.v[..., None] + (root @ pairs(rng, 24)).reshape(2, 12, LANES)
            slope = prior.pulled(likelihood.value_and_gradient(prior.latent(v.astype(np.float32)))[1])
            outer += np.einsum("aml,bnl->ambn", slope, v) / LANES / 8
        found.append(packing.vector(prior.by_hyper(outer)))
    average, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    slope = packing.vector(hyper_slope(likelihood, prior, mode))
    # Sixteen points stand for the Gaussian where the likelihood's slope is not linear: right on the whole, ...
    assert np.corrcoef(slope, average)[0, 1] > 0.98
    # ... and without bias over other points.
    monkeypatch.setattr(laplace, "fixed_points", lambda size: pairs(rng, size).astype(np.float32))
    slopes = [packing.vector(hyper_slope(likelihood, prior, mode)) for _ in range(300)]
    error = np.hypot(error, np.std(slopes, axis=0) / np.sqrt(len(slopes)))
    assert (np.abs(np.mean(slopes, axis=0) - average) < 4 * error).all()
    assert (error < 0.05 * np.abs(average).max()).all()


def pairs(rng, size):
    half = rng.standard_normal((size, LANES // 2))
    return np.concatenate([half, -half], axis=1)


def test_packing_keeps_what_is_free_and_nothing_else():
    hyper = HyperPrior().centre(3, 3)._replace(coupling=np.array([[0.0, 9.0, 9.0], [1.0, 0.0, 9.0], [2.0, 3.0, 0.0]]))
    vector = Packing(3, 3, True).vector(hyper)
    assert vector.shape == (15,)
    again = Packing(3, 3, True).hyper(vector)
    np.testing.assert_array_equal(again.log_lengthscale, hyper.log_lengthscale)
    np.testing.assert_array_equal(again.log_scale, hyper.log_scale)
    np.testing.assert_array_equal(again.coupling, np.tril(hyper.coupling, -1))
    assert not Packing(3, 3, False).hyper(Packing(3, 3, False).vector(hyper)).coupling.any()


def test_the_metric_learns_the_curvature_of_a_quadratic():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    hessian = root @ root.T + np.eye(3)
    metric = 0.1 * np.eye(3)
    for _ in range(60):
        step = rng.normal(size=3)
        metric = laplace._bfgs(metric, step, hessian @ step)
    np.testing.assert_allclose(metric, np.linalg.inv(hessian), atol=0.02)
    # A curvature of the wrong sign leaves it positive.
    bent = laplace._bfgs(metric, np.ones(3), -np.ones(3))
    assert np.linalg.eigvalsh(bent).min() > 0.0


# Learning ---------------------------------------------------------------------------------------------------


def learned(data, seed, spec=INDEPENDENT, start=None, **settings):
    likelihood = Likelihood.of(data, "choice", 0.01)
    return Laplace(**settings).learn(np.random.default_rng(seed), spec, likelihood, start, Reporter())


@pytest.mark.parametrize("data", [on_a_line(100), in_a_square(100)], ids=["line", "square"])
def test_six_seeds_find_the_same_evidence_and_output_scales(data):
    found = [learned(data, seed) for seed in range(6)]
    evidence = [each.basins[0].log_evidence for each in found]
    scales = np.sort([np.exp(each.hyper.log_scale) for each in found], axis=1)
    assert max(evidence) - min(evidence) < 0.5
    assert (scales.max(0) / scales.min(0) < 1.1).all()


def along_edges(number):
    """As in a loop, where most options lie along what seems to be the front."""
    rng = np.random.default_rng(number)
    X = rng.random((70, 2))
    side = rng.integers(0, 3, 70)
    for which, column, edge in ((0, 0, 1.0), (1, 0, 0.0), (2, 1, 1.0)):
        X[20:][side[20:] == which, column] = edge
    return answered(X, problems.problem("branin-currin").objectives(X), 30, 5, rng)


@pytest.mark.parametrize("number", [1, 5])
def test_few_choices_lead_every_seed_to_the_best_of_many_modes(number):
    evidence = [learned(along_edges(number), seed).basins[0].log_evidence for seed in range(5)]
    assert max(evidence) - min(evidence) < 2.5


@pytest.mark.parametrize("number", [9, 18])
def test_the_best_mode_at_first_does_not_lead_to_the_best_hyperparameters(number):
    evidence, alone = (learned(along_edges(number), 0, ascents=n).basins[0].log_evidence for n in (2, 1))
    assert evidence > alone + 0.5


def test_learned_hyperparameters_are_a_maximum_of_the_evidence():
    """Laplace's approximation falls in every direction, up to what its slope knows of skewed posteriors and it does not."""
    data = on_a_line(100)
    likelihood = Likelihood.of(data, "choice", 0.01)
    ascender = Ascender.of(INDEPENDENT, likelihood)
    best = learned(data, 0)
    top, centre = best.basins[0].log_evidence, best.basins[0].centre
    vector = ascender.packing.vector(best.hyper)
    for number in range(len(vector)):
        for step in (-0.4, 0.4):
            away = vector.copy()
            away[number] += step
            hyper = ascender.packing.hyper(away)
            there = ascender.mode(hyper, centre).log_evidence + INDEPENDENT.prior.log_density(hyper)
            assert there < top + 0.1


def test_the_evidence_rises_while_the_hyperparameters_are_learned():
    trace = learned(on_a_line(100), 0).trace
    assert len(trace) > 3
    assert trace[-1] > trace[0] + 1.0
    assert trace[-1] > trace.max() - 0.5


def test_hyperparameters_to_start_from_are_climbed_from_as_well(monkeypatch):
    data = on_a_line(40, seed=1)
    began = []
    right = Ascender.begin

    def watched(self, hyper, *rest, **settings):
        began.append(hyper)
        return right(self, hyper, *rest, **settings)

    monkeypatch.setattr(Ascender, "begin", watched)
    best = learned(data, 0)
    again = learned(data, 1, start=best.hyper, starts=1, finalists=1)
    assert sum(hyper is best.hyper for hyper in began) == 1
    assert again.trace[-1] > best.trace[-1] - 0.1


@pytest.mark.parametrize(("choices", "seed"), [(40, 11), (100, 12), (100, 13)])
def test_the_best_finalist_is_nearly_as_good_as_the_best_of_forty(choices, seed):
    data = on_a_line(choices, seed) if seed % 2 else in_a_square(choices, seed)
    likelihood = Likelihood.of(data, "choice", 0.01)
    ascender = Ascender.of(INDEPENDENT, likelihood)
    many = starting_points(np.random.default_rng(seed + 7), INDEPENDENT, likelihood, starts=40, report=Reporter())
    modes = [ascender.mode(many.hyper, v) for v in many.v]
    modes.sort(key=lambda mode: -mode.log_evidence)
    ends = [Laplace()._climb(ascender, ascender.begin(many.hyper, mode), Reporter())[0].evidence for mode in modes[:2]]
    assert learned(data, seed).basins[0].log_evidence > max(ends) - 5.0


def test_modes_that_are_nearly_as_probable_are_kept_apart_and_the_best_comes_first():
    data, many = on_a_line(40, 0, 80), {"finalists": 12, "starts": 32}
    found = learned(data, 0, rival=30.0, **many)
    evidence = [basin.log_evidence for basin in found.basins]
    assert len(found.basins) == 3
    assert evidence == sorted(evidence, reverse=True)
    for number, one in enumerate(found.basins):
        for other in found.basins[:number]:
            assert np.abs(one.centre - other.centre).max() > 0.5
    between = evidence[0] - 0.5 * (evidence[1] + evidence[2])
    assert len(learned(data, 0, rival=between, **many).basins) == 2
    assert len(learned(data, 0, rival=0.0, **many).basins) == 1


def test_dimensions_are_put_in_the_order_that_resembles_another_most():
    latent = np.random.default_rng(0).normal(size=(3, 20))
    np.testing.assert_array_equal(in_order_of(latent[[2, 0, 1]], latent + 0.1), latent)
    np.testing.assert_array_equal(in_order_of(latent[:1], latent[1:2]), latent[:1])


# Starting points --------------------------------------------------------------------------------------------


def test_starting_points_come_with_the_best_bound_first():
    likelihood = Likelihood.of(in_a_square(60), "choice", 0.01)
    found = starting_points(np.random.default_rng(0), ModelSpec(3), likelihood, starts=7, report=Reporter())
    assert found.v.shape == found.log_sd.shape == (7, 3, likelihood.options)
    assert found.bound.tolist() == sorted(found.bound, reverse=True)
    for part in found.hyper[:2]:
        np.testing.assert_array_equal(part, np.repeat(part[:1], 3, axis=0))
    assert not found.hyper.coupling.any()


def test_bounds_of_starting_points_tell_which_ones_lead_to_good_modes():
    data = on_a_line(100)
    likelihood = Likelihood.of(data, "choice", 0.01)
    found = starting_points(np.random.default_rng(0), INDEPENDENT, likelihood, starts=24, report=Reporter())
    ascender = Ascender.of(INDEPENDENT, likelihood)
    evidence = np.array([ascender.mode(found.hyper, v).log_evidence for v in found.v])
    assert np.corrcoef(found.bound, evidence)[0, 1] > 0.5
    assert evidence[:4].max() > evidence.max() - 5.0


def test_steps_of_adam_are_about_one_in_size_and_lead_uphill():
    adam, x = Adam(), np.array([5.0, -300.0], dtype=np.float32)
    first = adam.step(-x)
    assert first.dtype == np.float32
    np.testing.assert_allclose(first, [-1.0, 1.0], rtol=1e-5)
    y, adam = np.array([1.0]), Adam()
    for _ in range(400):
        y = y + 0.02 * adam.step(3.0 - y)
    np.testing.assert_allclose(y, 3.0, atol=0.05)
