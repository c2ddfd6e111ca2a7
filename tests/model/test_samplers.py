"""Chains of the samplers: they leave the posterior as it is, and tell how far they can be trusted."""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import jax_reference as reference
import numpy as np
import pytest
from blackjax.mcmc import integrators, metrics
from scipy.special import ndtr

import choicebo as cb
from choicebo.model.convergence import margins
from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines import Elliptical, Hamiltonian, Laplace, elliptical, hamiltonian
from choicebo.model.engines.base import Basin, Learned, Limits, ModelSpec, Reporter
from choicebo.model.engines.gaussian import climb, covariance_of, root_of_inverse
from choicebo.model.engines.hamiltonian import Sampler, Target, exchange, first_values, integrate, step_correction
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

NEVER = Limits(1.0, math.inf)
"""Never met: all draws are made that are allowed."""


# The reference problem --------------------------------------------------------------------------------------


class Known:
    """A learner that has been told the answer."""

    def __init__(self, learned):
        self.learned = learned

    def learn(self, rng, spec, likelihood, start, report):
        return self.learned


@pytest.fixture(scope="module")
def setting():
    """The reference problem as an engine is given it: generator, model, choices, and a learner that knows the rest."""
    problem = reference.reference_problem()
    spec = ModelSpec(problem.n_e, problem.kernel, problem.lapse, problem.nugget)
    likelihood = Likelihood.of(problem.data, "choice", problem.lapse)
    assert likelihood.rows.tolist() == list(range(12))
    prior = Whitener.of(spec, likelihood).at(problem.hyper)
    mode = climb(likelihood, prior, np.zeros((2, 12)))
    basin = Basin(mode.v, root_of_inverse(mode.factor), mode.log_evidence)
    return spec, likelihood, Known(Learned(problem.hyper, (basin,), np.zeros(1)))


def drawn(engine, setting, seed=0):
    spec, likelihood, known = setting
    engine = dataclasses.replace(engine, learner=known)
    return engine.fit(np.random.default_rng(seed), spec, likelihood, None, Reporter()).whitened


def long_hmc(setting, monkeypatch, draws=400):
    monkeypatch.setattr(hamiltonian, "_KEPT", 10**6)
    return drawn(Hamiltonian(NEVER, max_samples=draws, num_samples=draws), setting)


def test_hmc_has_the_moments_of_a_long_nuts_run(setting, monkeypatch):
    whitened = long_hmc(setting, monkeypatch)
    assert whitened.shape == (32, 400, 2, 12)
    differences = reference.differences_from_reference(whitened)
    assert max(map(abs, differences.values())) < 4, differences


def test_the_comparison_would_notice_a_prior_with_a_wrong_weight(setting, monkeypatch):
    right = hamiltonian.begin

    def wrong(target, v):
        chains = right(target, v)
        return chains._replace(
            height=chains.height + 0.15 * (v * v).sum((0, 1), dtype=np.float64), slope=chains.slope + 0.3 * v
        )

    monkeypatch.setattr(hamiltonian, "begin", wrong)
    differences = reference.differences_from_reference(long_hmc(setting, monkeypatch, draws=40))
    assert differences["mean of squares"] > 10


def test_ess_has_the_moments_of_a_long_nuts_run(setting):
    whitened = drawn(Elliptical(num_samples=300, num_warmup=20, thin=10), setting)
    assert whitened.shape == (LANES, 300, 2, 12)
    differences = reference.differences_from_reference(whitened)
    assert max(map(abs, differences.values())) < 4, differences


def test_draws_of_ess_begin_after_the_warm_up_and_leave_out_what_is_thinned(setting):
    every = drawn(Elliptical(num_samples=12, num_warmup=0, thin=1), setting)
    some = drawn(Elliptical(num_samples=4, num_warmup=2, thin=2), setting)
    np.testing.assert_array_equal(some, every[:, 5::2])


# A posterior that is known, without a model -----------------------------------------------------------------


class Plain:
    """Latent values that are the whitened ones."""

    def latent(self, v):
        return v

    def pulled(self, gradient):
        return gradient


class Skewed:
    """Independent whitened values with a log-likelihood of ``rate v - exp(v)`` each: skewed, and known by quadrature."""

    rates = np.array([0.5, 1.5, 3.0])

    def value_and_gradient(self, v):
        rates = self.rates[None, :, None]
        return (rates * v - np.exp(v)).sum((0, 1), dtype=np.float64), (rates - np.exp(v)).astype(v.dtype)

    @classmethod
    def moments(cls):
        """Mean, mean square and probability of being negative of each."""
        v = np.linspace(-12.0, 6.0, 20001)
        density = np.exp(cls.rates[:, None] * v - np.exp(v) - 0.5 * v * v)
        density /= density.sum(1, keepdims=True)
        return np.stack([density @ v, density @ v**2, density @ (v < 0.0)])


def assert_stationary(draws):
    """``(transitions, values, lanes)``: every mean is within four standard errors of the true one."""
    of_draws = np.stack([draws, draws**2, draws < 0.0]).astype(float)
    for quantities, expected in zip(of_draws, Skewed.moments(), strict=True):
        for number, truth in enumerate(expected):
            found = reference.moments(quantities[:, number].T)
            assert abs(found.mean - truth) < 4 * found.mean_error
            assert found.mean_error < 0.05


def skewed_target():
    """With a mass matrix that does not suit it."""
    factor = np.array([[1.3, 0.0, 0.0], [0.4, 1.6, 0.0], [-0.3, 0.5, 1.1]], dtype=np.float32)
    return Target(Skewed(), Plain(), factor, covariance_of(factor))


@pytest.mark.parametrize(("size", "steps"), [(0.9, 2), (1.6, 1)])
def test_transitions_of_hmc_leave_a_skewed_posterior_as_it_is(size, steps):
    rng = np.random.default_rng(0)
    target = skewed_target()
    chains = hamiltonian.begin(target, np.zeros((1, 3, LANES), dtype=np.float32))
    found, acceptance = [], []
    for _ in range(1500):
        chains, done = hamiltonian.transition(rng, target, chains, size, steps)
        found.append(chains.v[0])
        acceptance.append(done.acceptance.mean())
    assert 0.4 < np.mean(acceptance) < 0.99
    assert_stationary(np.stack(found[50:]))


def test_transitions_of_ess_leave_a_skewed_posterior_as_it_is():
    rng = np.random.default_rng(0)
    v = np.zeros((1, 3, LANES), dtype=np.float32)
    height, _ = Skewed().value_and_gradient(v)
    found = []
    for _ in range(2500):
        v, height = elliptical.transition(rng, Skewed(), Plain(), v, height)
        found.append(v[0])
    np.testing.assert_allclose(height, Skewed().value_and_gradient(v)[0], rtol=1e-5)
    assert_stationary(np.stack(found[50:]))


# The integrator ---------------------------------------------------------------------------------------------


class Uneven:
    """In double precision, so that the order of the integrator can be seen."""

    def value_and_gradient(self, v):
        x, y = v[0, 0], v[0, 1]
        slope = -0.4 * v**3
        slope[0, 0] += y * np.cos(x * y)
        slope[0, 1] += x * np.cos(x * y)
        return -0.1 * (v**4).sum((0, 1)) + np.sin(x * y), slope


class Nothing:
    """No choices: the posterior is the prior."""

    def value_and_gradient(self, v):
        return np.zeros(v.shape[-1]), np.zeros_like(v)


def uneven_log_density(x):
    return -0.5 * (x**2).sum() - 0.1 * (x**4).sum() + jnp.sin(x[0] * x[1])


def moved(likelihood, size, steps, seed=0):
    """Where chains and momenta begin and end, and by how much the energy changes, in double precision."""
    rng = np.random.default_rng(seed)
    target = Target(likelihood, Plain(), np.eye(6), np.eye(6))
    chains = hamiltonian.begin(target, rng.standard_normal((1, 6, LANES)))
    momentum = rng.standard_normal((6, LANES))
    end, end_momentum = integrate(target, chains, momentum, size, steps)
    change = (end.height - 0.5 * (end_momentum**2).sum(0)) - (chains.height - 0.5 * (momentum**2).sum(0))
    return target, (chains, momentum), (end, end_momentum), change


def test_a_step_is_that_of_blackjax():
    _, (chains, momentum), (end, end_momentum), _ = moved(Uneven(), 0.3, 5)
    step = integrators.mclachlan(uneven_log_density, metrics.default_metric(jnp.ones(6)).kinetic_energy)
    for lane in (0, 7):
        state = integrators.new_integrator_state(uneven_log_density, chains.v[0, :, lane], momentum[:, lane])
        for _ in range(5):
            state = step(state, 0.3)
        np.testing.assert_allclose(end.v[0, :, lane], state.position, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(end_momentum[:, lane], state.momentum, rtol=1e-6, atol=1e-6)


def test_a_trajectory_leads_back_when_the_momentum_is_turned_round():
    target, (chains, momentum), (end, end_momentum), _ = moved(Uneven(), 0.5, 4)
    back, back_momentum = integrate(target, end, -end_momentum, 0.5, 4)
    assert np.abs(end.v - chains.v).max() > 0.5
    np.testing.assert_allclose(back.v, chains.v, atol=1e-9)
    np.testing.assert_allclose(back_momentum, -momentum, atol=1e-9)
    np.testing.assert_allclose(back.height, chains.height, atol=1e-9)


def test_the_energy_error_falls_with_the_square_of_the_step():
    errors = [np.abs(moved(Uneven(), 2.0 / steps, steps)[3]).mean() for steps in (16, 32, 64)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.1)


def test_a_normal_posterior_is_followed_on_circles():
    _, (chains, momentum), (end, end_momentum), _ = moved(Nothing(), 0.02, 50)
    np.testing.assert_allclose(end.v[0], np.cos(1.0) * chains.v[0] + np.sin(1.0) * momentum, atol=2e-4)
    np.testing.assert_allclose(end_momentum, np.cos(1.0) * momentum - np.sin(1.0) * chains.v[0], atol=2e-4)


def test_for_as_many_gradients_it_errs_less_than_leapfrog_near_a_normal():
    def leapfrog_error(size, steps, seed):
        _, (chains, momentum), _, _ = moved(Nothing(), size, 1, seed)
        x, p = chains.v[0], momentum - 0.5 * size * chains.v[0]
        for step in range(steps):
            x = x + size * p
            p = p - (size if step < steps - 1 else 0.5 * size) * x
        before = chains.height - 0.5 * (momentum**2).sum(0)
        return np.abs(-0.5 * (x**2).sum(0) - 0.5 * (p**2).sum(0) - before).mean()

    ours = np.mean([np.abs(moved(Nothing(), 0.9, 2, seed)[3]).mean() for seed in range(5)])
    assert ours < 0.5 * np.mean([leapfrog_error(0.45, 4, seed) for seed in range(5)])


def test_a_trajectory_that_fails_is_counted_and_not_taken():
    target = skewed_target()
    chains = hamiltonian.begin(target, np.zeros((1, 3, LANES), dtype=np.float32))
    with np.errstate(all="ignore"):
        after, done = hamiltonian.transition(np.random.default_rng(0), target, chains, 1e3, 4)
    assert done.diverged.all()
    assert not done.acceptance.any()
    for part, before in zip(after, chains, strict=True):
        np.testing.assert_array_equal(part, before)


# Dimensions that change places ------------------------------------------------------------------------------


def real_target(setting, hyper=None, spec=None):
    own, likelihood, known = setting
    prior = Whitener.of(spec or own, likelihood).at(hyper or known.learned.hyper)
    size = len(prior.mixing) * likelihood.options
    return Target(likelihood, prior, np.eye(size, dtype=np.float32), np.eye(size, dtype=np.float32))


def test_dimensions_that_are_alike_change_places_for_sure(setting):
    alike = Hyperparameters(np.log([[0.4, 0.7]] * 3), np.log([2.0] * 3), np.zeros((3, 3)))
    target = real_target(setting, alike, ModelSpec(3))
    rng = np.random.default_rng(0)
    chains = hamiltonian.begin(target, rng.standard_normal((3, 12, LANES), dtype=np.float32))
    seen = set()
    for _ in range(30):
        after = exchange(rng, target, chains)
        order = tuple(int(np.abs(chains.v - row).sum((1, 2)).argmin()) for row in after.v)
        np.testing.assert_allclose(after.v, chains.v[list(order)], atol=1e-4)
        np.testing.assert_allclose(after.height, chains.height, rtol=1e-5)
        seen.add(order)
    assert seen == {(1, 0, 2), (2, 1, 0), (0, 2, 1)}


def test_chains_know_where_they_are_after_a_change_of_places(setting):
    target = real_target(setting)
    rng = np.random.default_rng(1)
    chains = hamiltonian.begin(target, 0.3 * rng.standard_normal((2, 12, LANES), dtype=np.float32))
    after = exchange(rng, target, chains)
    changed = (after.v != chains.v).any((0, 1))
    assert 0 < changed.sum() < LANES
    expected = hamiltonian.begin(target, after.v)
    np.testing.assert_allclose(after.height, expected.height, rtol=1e-4)
    for part in ("slope", "by_latent"):
        np.testing.assert_allclose(getattr(after, part), getattr(expected, part), atol=2e-3)
    latent, swapped = target.prior.latent(chains.v), target.prior.latent(after.v)
    np.testing.assert_allclose(swapped[..., changed], latent[::-1][..., changed], atol=1e-3)


def test_a_change_of_places_leaves_the_prior_as_it_is(setting):
    target = real_target(setting)._replace(likelihood=Nothing())
    rng = np.random.default_rng(2)
    before, after = [], []
    for _ in range(1500):
        chains = hamiltonian.begin(target, rng.standard_normal((2, 12, LANES), dtype=np.float32))
        before.append(chains.v)
        after.append(exchange(rng, target, chains).v)
    moved_share = np.mean([(a != b).any((0, 1)).mean() for a, b in zip(after, before, strict=True)])
    assert 0.05 < moved_share < 0.9
    v = np.concatenate(after, axis=2)
    squares = (v**2).sum((0, 1))
    assert squares.mean() == pytest.approx(24.0, abs=4 * math.sqrt(48.0 / v.shape[2]))
    np.testing.assert_allclose((v**2).mean(2), 1.0, atol=4.5 * math.sqrt(2.0 / v.shape[2]))


def test_one_dimension_has_nothing_to_change_places_with(monkeypatch):
    monkeypatch.setattr(hamiltonian, "exchange", pytest.fail)
    data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))])
    cb.ChoiceGP(latent_dim=1, engine=Hamiltonian(Limits(2.0, 1.0))).fit(data)


def test_chains_take_the_order_of_the_best_mode_while_they_warm_up_and_keep_theirs_while_they_draw(
    setting, monkeypatch
):
    monkeypatch.setattr(hamiltonian, "exchange", lambda rng, target, chains: chains)
    engine = Hamiltonian(first_step_size=1e-3, trajectory=1e-3)
    target = real_target(setting)
    centre = setting[2].learned.basins[0].centre
    latent = target.prior.latent(np.repeat(centre[..., None], LANES, axis=2).astype(np.float32))
    turned = target.prior.whitened(latent[::-1]).astype(np.float32)
    chains = Sampler(engine, target, np.random.default_rng(0), turned, centre)
    chains.draw(1)
    np.testing.assert_allclose(target.prior.latent(chains._chains.v), latent[::-1], atol=0.1)
    chains.warm_up()
    np.testing.assert_allclose(target.prior.latent(chains._chains.v), latent, atol=0.5)
    assert np.abs(latent[::-1] - latent).max() > 2.0


# Step size --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("error", [0.01, 0.1, 0.4])
def test_the_corrected_step_has_the_acceptance_that_is_wanted(target, error):
    """With an energy error whose mean ``e`` grows as the fourth power of the step, and an acceptance of 2 Phi(-sqrt(e/2))."""
    correction = step_correction(2.0 * ndtr(-math.sqrt(0.5 * error)), target)
    then = 2.0 * ndtr(-math.sqrt(0.5 * error * math.exp(4.0 * correction)))
    if -1.0 < correction < 0.5:
        assert then == pytest.approx(target, abs=1e-6)
    else:
        assert correction == 0.5
        assert then > target


def test_a_step_is_corrected_by_so_much_and_no_more():
    assert step_correction(0.0, 0.8) == -1.0
    assert step_correction(1.0, 0.8) == 0.5
    assert step_correction(0.8, 0.8) == pytest.approx(0.0)


def sampler(setting, seed=0, **settings):
    spec, likelihood, known = setting
    engine = Hamiltonian(**settings)
    rng = np.random.default_rng(seed)
    prior = Whitener.of(spec, likelihood).at(known.learned.hyper)
    target = engine._target(rng, likelihood, prior, known.learned.basins)
    start = first_values(rng, known.learned.basins)
    return Sampler(engine, target, rng, start, known.learned.basins[0].centre)


@pytest.mark.parametrize("target_acceptance", [0.6, 0.9])
def test_the_warm_up_finds_a_step_with_the_acceptance_that_is_wanted(setting, target_acceptance):
    chains = sampler(setting, num_warmup=60, trajectory=8.0, first_step_size=0.1, target_acceptance=target_acceptance)
    chains.warm_up()
    chains.draw(100)
    assert chains.acceptance == pytest.approx(target_acceptance, abs=0.08)


def test_draws_that_count_all_have_the_step_and_the_mass_that_the_warm_up_found(setting, monkeypatch):
    """What goes on following the chains would bias their draws."""
    chains = sampler(
        setting, trajectory=20.0, max_steps=2
    )  # trajectories are so long that every step has its full size
    first = chains._target
    chains.warm_up()
    found, mass = chains.log_step, chains._target
    assert not np.array_equal(mass.factor, first.factor)
    sizes, right = [], hamiltonian.transition

    def recorded(rng, target, states, size, steps):
        sizes.append(size)
        return right(rng, target, states, size, steps)

    monkeypatch.setattr(hamiltonian, "transition", recorded)
    chains.draw(30)
    assert chains.log_step == found
    assert chains._target is mass
    assert sizes == [math.exp(found)] * 30


def test_all_groups_draw_with_one_step(setting, monkeypatch):
    steps = []

    class Watched(Sampler):
        def draw(self, count):
            steps.append(self.log_step)
            super().draw(count)

    monkeypatch.setattr(hamiltonian, "Sampler", Watched)
    monkeypatch.setenv("CHOICEBO_THREADS", "1")
    drawn(Hamiltonian(Limits(2.0, 1.0), groups=3), setting)
    assert len(steps) == 3
    assert len(set(steps)) == 1


def test_trajectories_differ_in_length(setting, monkeypatch):
    lengths, right = [], hamiltonian.transition

    def recorded(rng, target, states, size, steps):
        lengths.append(size * steps)
        return right(rng, target, states, size, steps)

    monkeypatch.setattr(hamiltonian, "transition", recorded)
    chains = sampler(setting, trajectory=2.0, max_steps=50)
    chains.draw(200)
    short = [length for length in lengths if length < 3.0]
    assert 1.2 <= min(short) < 1.3
    assert 2.7 < max(short) <= 2.8
    assert np.mean(short) == pytest.approx(2.0, abs=0.15)
    long = [length for length in lengths if length >= 3.0]
    assert 0.1 < len(long) / len(lengths) < 0.3
    assert np.mean(long) == pytest.approx(6.0, abs=0.6)


# How many draws ---------------------------------------------------------------------------------------------


def test_draws_are_made_until_the_limits_are_met(setting):
    spec, likelihood, known = setting

    def made(limits, max_samples=400):
        engine = Hamiltonian(limits, groups=1, num_samples=10, max_samples=max_samples, learner=known)
        return engine.fit(np.random.default_rng(0), spec, likelihood, None, Reporter()).quantities.shape[2]

    few, many = made(Limits(1.2, 50.0)), made(Limits(1.02, 1500.0))
    assert few < many < 400
    assert many % 10 == 0
    assert made(Limits(9.0, 1.0)) == 10 < made(Limits(1.01, 1.0))
    assert made(NEVER, max_samples=45) == 40  # another ten would be too many


def test_what_is_watched_is_the_log_likelihood_and_the_dominance_margins(setting):
    chains = sampler(setting)
    chains.draw(7)
    v = chains.chains_first()
    _, likelihood, _ = setting
    prior = chains._target.prior
    latent = np.stack(
        [np.moveaxis(prior.latent(np.moveaxis(v[:, k], 0, 2).astype(np.float32)), 2, 0) for k in range(7)], 1
    )
    watched = chains.quantities()
    heights = [
        likelihood.value_and_gradient(np.ascontiguousarray(np.moveaxis(latent[:, k], 0, 2)))[0] for k in range(7)
    ]
    np.testing.assert_allclose(watched[0], np.stack(heights, axis=1), rtol=1e-4)
    of_draws = margins(latent.reshape(-1, *latent.shape[2:])).reshape(*latent.shape[:2], -1)
    np.testing.assert_allclose(watched[1:], np.moveaxis(of_draws, 2, 0), atol=1e-3)


def test_of_very_many_draws_the_posterior_holds_a_part_that_is_spread_over_all(setting):
    data = reference.reference_problem().data
    engine = Hamiltonian(NEVER, groups=1, max_samples=100, learner=setting[2])
    posterior = cb.ChoiceGP(engine=engine).fit_silently(data)
    assert posterior.whitened.shape[:2] == (16, 34)  # every third of a hundred
    assert posterior.diagnostics.draws == 1600
    assert posterior.diagnostics.effective_sample_size > 700


def test_the_mass_matrix_and_its_inverse_are_inverse(setting):
    target = sampler(setting)._target
    np.testing.assert_allclose(target.factor @ target.factor.T @ target.inverse, np.eye(24), atol=1e-4)


# Where chains start -----------------------------------------------------------------------------------------


def basins(*evidences):
    """Narrow, and ten apart."""
    return tuple(Basin(np.full((1, 2), 10.0 * n), 0.01 * np.eye(2), e) for n, e in enumerate(evidences))


@pytest.mark.parametrize("seed", range(5))
def test_as_many_chains_start_in_each_basin_as_its_evidence_says(seed):
    rng = np.random.default_rng(seed)
    start = first_values(rng, basins(-3.0, -3.0 - math.log(3.0)))
    assert start.shape == (1, 2, LANES)
    assert start.dtype == np.float32
    assert np.bincount(np.rint(start[0, 0] / 10.0).astype(int)).tolist() == [12, 4]
    thirds = first_values(rng, basins(0.0, 0.0, 0.0))
    assert set(np.bincount(np.rint(thirds[0, 0] / 10.0).astype(int))) <= {5, 6}


def test_chains_start_as_far_apart_as_the_basin_is_wide():
    root = np.array([[2.0, 0.0], [1.0, 0.5]])
    rng = np.random.default_rng(0)
    starts = [first_values(rng, (Basin(np.array([[1.0, -1.0]]), root, 0.0),)) for _ in range(300)]
    found = np.concatenate(starts, axis=2)[0]
    np.testing.assert_allclose(found.mean(1), [1.0, -1.0], atol=0.15)
    np.testing.assert_allclose(np.cov(found), root @ root.T, atol=0.3)


def test_chains_start_in_every_basin_that_the_learner_knows(setting):
    """Two modes far apart: with chains in one of them alone, R-hat could not tell that there is another."""
    spec, likelihood, known = setting
    (basin,) = known.learned.basins
    turned = basin._replace(centre=-basin.centre)
    both = Known(known.learned._replace(basins=(basin, turned)))
    engine = Hamiltonian(
        Limits(9.0, 0.0), num_samples=4, groups=1, first_step_size=1e-3, num_warmup=4, trajectory=1e-3, learner=both
    )
    whitened = engine.fit(np.random.default_rng(0), spec, likelihood, None, Reporter()).whitened
    side = np.sign((whitened[:, 0] * basin.centre).sum((1, 2)))
    assert (side == 1).sum() == (side == -1).sum() == 8


def test_a_learner_of_modes_returns_the_best_first():
    data = reference.reference_problem().data
    likelihood = Likelihood.of(data, "choice", 0.01)
    learned = Laplace(rival=20.0).learn(np.random.default_rng(0), ModelSpec(2), likelihood, None, Reporter())
    evidences = [basin.log_evidence for basin in learned.basins]
    assert evidences == sorted(evidences, reverse=True)
