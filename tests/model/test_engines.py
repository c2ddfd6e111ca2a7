"""The contract that every engine keeps; an engine's test class supplies the engine and its tolerance."""

from __future__ import annotations

import dataclasses
import math
import threading

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import FitInterruptedError, InvalidInputError
from choicebo.model.covariance import Hyperparameters, HyperPrior
from choicebo.model.engines import (
    ENGINES,
    Elliptical,
    Hamiltonian,
    Laplace,
    Variational,
    engine_named,
    question_engine,
    variational,
)
from choicebo.model.engines.base import Basin, Learned, Limits, Reporter
from choicebo.model.engines.gaussian import climb, root_of_inverse
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.pareto import non_dominated

ENOUGH = Limits(r_hat=1.2, effective_draws=100.0)


def answered(objectives, sets) -> list[cb.Choice]:
    """Exact choices: of every set, the options that no other one beats."""
    return [cb.Choice(shown, shown[non_dominated(objectives[shown])]) for shown in map(np.asarray, sets)]


def small_problem() -> cb.ChoiceData:
    """Twelve choices of three among ten options on a line, from two objectives that disagree."""
    rng = np.random.default_rng(3)
    X = np.linspace(0.0, 1.0, 10)[:, None]
    objectives = np.column_stack([np.sin(4 * X[:, 0]), np.cos(3 * X[:, 0])])
    return cb.ChoiceData(X, answered(objectives, [rng.choice(10, 3, replace=False) for _ in range(12)]))


def winners() -> cb.ChoiceData:
    rng = np.random.default_rng(4)
    X = rng.random((9, 2))
    objective = np.sin(3 * X[:, :1])
    return cb.ChoiceData(X, answered(objective, [rng.choice(9, 4, replace=False) for _ in range(15)]))


def fit(engine, data, seed=0, progress=None, start=None, **settings):
    return cb.ChoiceGP(engine=engine, **settings).fit_silently(data, seed, progress=progress, start=start)


class Known:
    """A learner that has been told the answer."""

    def __init__(self, posterior: cb.Posterior) -> None:
        likelihood = Likelihood.of(posterior.data, posterior.likelihood, posterior.spec.lapse)
        prior = Whitener.of(posterior.spec, likelihood).at(posterior.hyper)
        mode = climb(likelihood, prior, posterior.whitened.mean((0, 1)))
        basin = Basin(mode.v, root_of_inverse(mode.factor), mode.log_evidence)
        self.learned = Learned(posterior.hyper, (basin,), np.zeros(1))

    def learn(self, rng, spec, likelihood, start, report):
        self.start = start
        return self.learned


def probabilities(posterior: cb.Posterior) -> np.ndarray:
    """Of all answers to six sets that nobody was asked about."""
    rng = np.random.default_rng(0)
    tables = [posterior.choice_probabilities(rng.random((3, posterior.options.shape[1]))) for _ in range(6)]
    return np.array([[table[subset] for subset in sorted(table)] for table in tables])


class EngineContract:
    """What every engine promises."""

    tolerance: float

    @pytest.fixture
    def engine(self):
        raise NotImplementedError

    def test_draws_have_the_promised_shape_and_are_finite(self, engine):
        data = small_problem()
        for n_e in (1, 2, 3):
            posterior = fit(engine, data, latent_dim=n_e)
            chains, draws, *rest = posterior.whitened.shape
            assert rest == [n_e, 10]
            assert min(chains, draws) > 1
            assert posterior.whitened.dtype == np.float64
            assert np.isfinite(posterior.whitened).all()
            assert posterior.log_likelihood.shape == (chains, draws, 12)
            assert posterior.hyper.log_lengthscale.shape == (n_e, 1)
            assert all(np.isfinite(part).all() for part in posterior.hyper)
            assert math.isfinite(posterior.diagnostics.log_evidence)
            assert posterior.diagnostics.engine == engine.name

    def test_the_log_likelihoods_are_those_of_the_draws(self, engine):
        posterior = fit(engine, small_problem())
        flat = posterior.log_likelihood.swapaxes(0, 1).reshape(posterior.draws.count, -1)
        some = [0, 7, posterior.draws.count - 1]
        expected = [
            cb.choice_log_likelihood(posterior.draws.latent[k], posterior.data, lapse=posterior.spec.lapse)
            for k in some
        ]
        np.testing.assert_allclose(flat[some], expected, rtol=1e-3, atol=2e-3)

    def test_choice_probabilities_agree_with_long_chains_at_the_same_hyperparameters(self, engine):
        posterior = fit(engine, small_problem())
        chains = fit(Hamiltonian(Limits(1.01, 2000.0), learner=Known(posterior)), small_problem(), seed=5)
        assert np.abs(probabilities(posterior) - probabilities(chains)).max() < self.tolerance

    def test_the_same_seed_gives_the_same_draws_and_another_seed_others(self, engine):
        first, again, other = (fit(engine, small_problem(), seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.whitened, again.whitened)
        for part, same in zip(first.hyper, again.hyper, strict=True):
            np.testing.assert_array_equal(part, same)
        assert np.isin(other.whitened, first.whitened).mean() < 1e-3  # numbers of single precision may coincide

    def test_draws_do_not_depend_on_the_number_of_threads(self, engine, monkeypatch):
        monkeypatch.setenv("CHOICEBO_THREADS", "2")
        several = fit(engine, small_problem())
        monkeypatch.setenv("CHOICEBO_THREADS", "1")
        np.testing.assert_array_equal(fit(engine, small_problem()).whitened, several.whitened)

    def test_contradictory_answers_give_a_posterior_that_is_undecided(self, engine):
        choices = [cb.Choice((0, 1), (0,)), cb.Choice((0, 1), (1,))] * 3
        posterior = fit(engine, cb.ChoiceData([[0.2], [0.8]], choices), latent_dim=1)
        shown = posterior.choice_probabilities([[0.2], [0.8]])
        assert abs(shown[0,] - shown[1,]) < 0.25

    def test_one_choice_is_enough_to_learn_something(self, engine):
        data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))])
        for n_e in (1, 2):
            shown = fit(engine, data, latent_dim=n_e).choice_probabilities([[0.1], [0.9]])
            assert shown[0,] > 1.5 * shown[1,]

    def test_options_that_were_all_kept_are_taken(self, engine):
        data = cb.ChoiceData([[0.1], [0.5], [0.9]], [cb.Choice((0, 1, 2), (0, 1, 2)), cb.Choice((0, 2), (0, 2))])
        shown = fit(engine, data).choice_probabilities(data.X)
        assert max(shown, key=shown.get) == (0, 1, 2)

    def test_nearly_equal_options_do_no_harm(self, engine):
        X = np.array([[0.2], [0.2 + 1e-9], [0.8], [0.8 - 1e-12]])
        choices = [cb.Choice((0, 2), (0,)), cb.Choice((1, 3), (1,)), cb.Choice((0, 1, 3), (0, 1))]
        for nugget in (0.01, 0.0):
            posterior = fit(engine, cb.ChoiceData(X, choices), latent_dim=1, nugget=nugget)
            assert np.isfinite(posterior.latent(X).mean).all()
            assert posterior.predict_choice([[0.2], [0.8]]) == (0,)

    def test_equal_options_are_one_option(self, engine):
        choices = [cb.Choice((0, 2), (0,)), cb.Choice((1, 3), (1,)), cb.Choice((0, 3, 4), (0,))]
        data = cb.ChoiceData([[0.2], [0.2], [0.8], [0.8], [0.5]], choices)
        posterior = fit(engine, data, latent_dim=1, nugget=0.0)
        assert posterior.whitened.shape[2:] == (1, 3)
        assert np.isfinite(posterior.whitened).all()
        assert posterior.predict_choice([[0.2], [0.8]]) == (0,)

    @pytest.mark.parametrize("kernel", ["matern12", "rbf"])
    def test_every_kernel_and_independent_objectives_are_taken(self, engine, kernel):
        posterior = fit(engine, small_problem(), kernel=kernel, correlated=False)
        np.testing.assert_array_equal(posterior.correlations, np.eye(2))
        sets = posterior.options[[list(choice.shown) for choice in posterior.data.choices]]
        truth = [tuple(choice.shown.index(i) for i in choice.kept) for choice in posterior.data.choices]
        assert np.mean([p == t for p, t in zip(posterior.predict_choices(sets), truth, strict=True)]) > 0.7

    def test_a_batch_preference_is_learned(self, engine):
        data = winners()
        posterior = fit(engine, data, latent_dim=1, likelihood="batch_preference")
        mean = posterior.latent(data.X).mean[:, 0]
        assert np.corrcoef(mean, np.sin(3 * data.X[:, 0]))[0, 1] > 0.8
        log_p = cb.choice_log_likelihood(
            posterior.draws.latent[0], data, likelihood="batch_preference", lapse=posterior.spec.lapse
        )
        np.testing.assert_allclose(posterior.log_likelihood[0, 0], log_p, rtol=1e-2, atol=1e-2)

    def test_hyperparameters_to_start_from_are_taken(self, engine):
        first = fit(engine, small_problem())
        again = fit(engine, small_problem(), start=first.hyper, seed=1)
        assert again.diagnostics.log_evidence > first.diagnostics.log_evidence - 2.0
        coupled = first.hyper._replace(coupling=np.array([[0.0, 0.0], [3.0, 0.0]]))
        apart = fit(engine, small_problem(), start=coupled, correlated=False)
        np.testing.assert_array_equal(apart.correlations, np.eye(2))

    def test_progress_is_reported_with_fractions_that_rise_to_one(self, engine):
        seen = []
        fit(engine, small_problem(), progress=lambda *said: seen.append(said))
        fractions = [fraction for _, fraction in seen]
        assert fractions == sorted(fractions)
        assert 0.0 < fractions[0] < 0.2
        assert fractions[-1] == pytest.approx(1.0)
        assert len(set(fractions)) > 8
        assert {"looking for where to begin", "learning the hyperparameters", "drawing"} == {stage for stage, _ in seen}

    @pytest.mark.parametrize("cores", ["1", "2"])
    def test_a_fit_can_be_interrupted_anywhere_and_leaves_no_thread_behind(self, engine, cores, monkeypatch):
        monkeypatch.setenv("CHOICEBO_THREADS", cores)
        stages = []
        fit(engine, small_problem(), progress=lambda stage, _: stages.append(stage))
        first_of_each = {stages.index(stage) for stage in stages}
        for moment in sorted({*first_of_each, len(stages) // 2, len(stages) - 2}):
            calls = []

            def until(stage, fraction, moment=moment, calls=calls):
                calls.append(stage)
                return len(calls) <= moment

            with pytest.raises(
                FitInterruptedError, match=f"interrupted by its progress callback during '{stages[moment]}'"
            ):
                fit(engine, small_problem(), progress=until)
            assert calls == stages[: moment + 1]
            assert not [thread for thread in threading.enumerate() if thread.name.startswith("choicebo")]

    @pytest.mark.slow
    def test_two_thousand_choices_are_learned(self, engine):
        rng = np.random.default_rng(0)
        X = rng.random((80, 2))
        objectives = np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1], np.cos(3 * X[:, 1]) - X[:, 0]])
        data = cb.ChoiceData(X, answered(objectives, [rng.choice(80, 3, replace=False) for _ in range(2000)]))
        posterior = fit(engine, data)
        fresh = [rng.choice(80, 3, replace=False) for _ in range(100)]
        predicted = posterior.predict_choices(X[np.array(fresh)])
        truth = answered(objectives, fresh)
        right = [tuple(shown[list(p)]) == t.kept for shown, p, t in zip(fresh, predicted, truth, strict=True)]
        assert np.mean(right) > 0.9


class TestHamiltonian(EngineContract):
    tolerance = 0.04

    @pytest.fixture
    def engine(self):
        return Hamiltonian(ENOUGH, groups=2)


class TestElliptical(EngineContract):
    tolerance = 0.08

    @pytest.fixture
    def engine(self):
        return Elliptical(num_samples=50, num_warmup=10, thin=5)


class TestLaplace(EngineContract):
    tolerance = 0.15

    @pytest.fixture
    def engine(self):
        return Laplace()


class TestMeanField(EngineContract):
    tolerance = 0.20

    @pytest.fixture
    def engine(self):
        return Variational()


class TestFullRank(EngineContract):
    tolerance = 0.15

    @pytest.fixture
    def engine(self):
        return Variational(covariance="full_rank")


@pytest.mark.parametrize("sampler", [Hamiltonian(ENOUGH), Elliptical(num_samples=10, num_warmup=2, thin=1)])
@pytest.mark.parametrize("learner", [Laplace(), Variational()])
def test_a_sampler_takes_its_hyperparameters_from_its_learner(sampler, learner):
    start = HyperPrior().centre(1, 2)
    known = Known(fit(learner, small_problem()))
    found = fit(dataclasses.replace(sampler, learner=known), small_problem(), start=start)
    for part, expected in zip(found.hyper, known.learned.hyper, strict=True):
        np.testing.assert_array_equal(part, expected)
    assert known.start is start


def test_hmc_and_ess_agree_within_monte_carlo_error():
    known = Known(fit("laplace", small_problem()))
    hmc = fit(Hamiltonian(Limits(1.01, 4000.0), learner=known), small_problem())
    ess = fit(Elliptical(num_samples=200, thin=10, learner=known), small_problem())
    assert np.abs(probabilities(hmc) - probabilities(ess)).max() < 0.03
    X = np.linspace(0, 1, 7)[:, None]
    assert np.abs(hmc.pareto_probability(X, draws=640) - ess.pareto_probability(X, draws=3200)).max() < 0.08


def test_of_two_finalists_the_one_with_the_better_bound_is_kept(monkeypatch):
    """Courses are replaced by bounds: the one that began second ends first."""
    bounds = {0: -15.0, 1: -12.0}
    numbers = iter(bounds)

    def run(course, rng, paces, report):
        number = next(numbers)
        course.trace = [bounds[number]] * 4
        course.hyper = course.hyper._replace(log_scale=np.full(2, float(number)))

    monkeypatch.setattr(variational._Course, "run", run)
    monkeypatch.setenv("CHOICEBO_THREADS", "1")
    posterior = fit(Variational(finalists=2), small_problem())
    assert posterior.diagnostics.evidence_trace.tolist() == [-12.0] * 4
    assert posterior.hyper.log_scale.tolist() == [1.0, 1.0]


def test_one_finalist_begins_at_the_hyperparameters_that_are_given(monkeypatch):
    began = []

    def run(course, rng, paces, report):
        began.append(course.hyper)
        course.trace = [0.0]

    monkeypatch.setattr(variational._Course, "run", run)
    start = Hyperparameters(np.full((2, 1), -1.0), np.full(2, 0.5), np.zeros((2, 2)))
    fit(Variational(finalists=3), small_problem(), start=start)
    assert sum(hyper is start for hyper in began) == 1
    assert len(began) == 3


def test_independent_objectives_start_uncoupled():
    start = HyperPrior().centre(1, 2)._replace(coupling=np.array([[0.0, 0.0], [3.0, 0.0]]))
    posterior = fit(Variational(finalists=1), small_problem(), start=start, correlated=False)
    np.testing.assert_array_equal(posterior.correlations, np.eye(2))


def test_a_bound_that_failed_never_wins():
    course = variational._Course.__new__(variational._Course)
    course.trace = [-3.0, float("nan")]
    assert course.settled == -math.inf


def test_the_evidence_bound_is_below_the_evidence_and_full_rank_is_tighter():
    """Of one preference the evidence at fixed hyperparameters is one half, by symmetry."""
    data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))] * 1)
    likelihood = Likelihood.of(data)
    spec = cb.ChoiceGP(latent_dim=1, lapse=0.0).spec
    prior = Whitener.of(spec, likelihood).at(HyperPrior().centre(1, 1))
    noise = np.random.default_rng(0).standard_normal((1, 2, 4000), dtype=np.float32)
    bounds = {}
    for covariance in ("mean_field", "full_rank"):
        engine = Variational(covariance=covariance, rounds=60, hyper_learning_rate=1e-9)
        q, _, _ = engine.approximate(np.random.default_rng(0), spec, likelihood, HyperPrior().centre(1, 1), Reporter())
        bounds[covariance] = variational.evidence_bound(likelihood, prior, q, noise)
    assert bounds["mean_field"] < bounds["full_rank"] < math.log(0.5)
    assert bounds["full_rank"] > math.log(0.5) - 0.15


def test_every_name_of_the_public_surface_is_an_engine():
    assert set(ENGINES) == {"hmc", "ess", "vi", "laplace"}
    assert all(engine_named(name).name == name for name in ENGINES)
    assert engine_named(own := Laplace(starts=3)) is own


def test_a_question_asks_less_of_its_draws_than_a_fit_on_its_own():
    assert engine_named("hmc").limits == engine_named("ess").limits == Limits(1.01, 400.0)
    assert question_engine("hmc").limits == question_engine("ess").limits == Limits(1.05, 200.0)
    assert question_engine("hmc").learner.refinements < Hamiltonian().learner.refinements
    assert question_engine("laplace") == Laplace()
    assert question_engine("vi") == Variational()


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match="'hmc', 'ess', 'vi', 'laplace'"):
        cb.ChoiceGP(engine="gibbs")


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        (Variational, {"covariance": "diagonal"}),
        (Variational, {"starts": 0}),
        (Variational, {"finalists": 0}),
        (Variational, {"num_samples": 3}),
        (Laplace, {"starts": 0}),
        (Laplace, {"max_rounds": 0}),
        (Elliptical, {"thin": 0}),
        (Elliptical, {"num_samples": 3}),
        (Elliptical, {"num_warmup": -1}),
        (Hamiltonian, {"groups": 0}),
        (Hamiltonian, {"num_samples": 2}),
        (Hamiltonian, {"num_warmup": 3}),
        (Hamiltonian, {"max_samples": 9}),
        (Hamiltonian, {"target_acceptance": 1.0}),
        (Hamiltonian, {"trajectory": 0.0}),
        (Hamiltonian, {"first_step_size": -1.0}),
    ],
    ids=lambda given: str(given) if isinstance(given, dict) else given.__name__,
)
def test_settings_that_make_no_sense_are_refused(engine, settings):
    with pytest.raises(InvalidInputError):
        engine(**settings)
