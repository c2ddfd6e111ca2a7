"""The contract that every engine keeps; an engine's test class supplies the engine and its tolerance."""

import dataclasses
import threading
import warnings

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from choicebo.model.batching import make_batch

import choicebo as cb
from choicebo.errors import ConvergenceWarning, FitInterrupted, InvalidInput
from choicebo.model.engines import ENGINES, Elliptical, Hamiltonian, Laplace, Variational, engine_named
from choicebo.model.engines.base import Reporter, whiten
from choicebo.model.likelihood import choice_log_likelihood


def small_problem() -> cb.ChoiceData:
    """Twelve choices of three among ten options on a line, from two objectives that disagree."""
    rng = np.random.default_rng(3)
    X = np.linspace(0.0, 1.0, 10)[:, None]
    objectives = np.column_stack([np.sin(4 * X[:, 0]), np.cos(3 * X[:, 0])])
    return cb.ChoiceData(X, [answer(objectives, rng.choice(10, 3, replace=False)) for _ in range(12)])


def answer(objectives, shown):
    values = objectives[shown]
    beaten = [any((other >= mine).all() and (other > mine).any() for other in values) for mine in values]
    return cb.Choice(tuple(shown), tuple(s for s, b in zip(shown, beaten, strict=True) if not b))


def nuts_reference(posterior: cb.Posterior, draws: int = 400, chains: int = 3) -> cb.Posterior:
    """The same model at the same hyperparameters, drawn by a long run of NUTS on the exact likelihood."""
    data, spec = posterior.data, posterior.spec
    batch, rows = make_batch(data)
    m = len(rows)
    factors, mixing = whiten(spec, jax.tree.map(jnp.asarray, batch), posterior.hyper)
    factors = factors[:, :m, :m]

    def density(v):
        latent = mixing @ jnp.einsum("dmn,dn->dm", factors, v)
        full = jnp.zeros((len(data.X), spec.n_e)).at[rows].set(latent.T)
        return choice_log_likelihood(full, data, lapse=spec.lapse).sum() - 0.5 * (v**2).sum()

    kernel = blackjax.nuts(density, step_size=0.35, inverse_mass_matrix=jnp.ones(spec.n_e * m), max_num_doublings=6)

    @jax.jit
    def run(key, v):
        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, kernel.init(v), jax.random.split(key, draws + 100))[1][100:]

    start = posterior.whitened.reshape(-1, spec.n_e, m)
    found = [run(jax.random.key(c), jnp.asarray(start[c * 7])) for c in range(chains)]
    return dataclasses.replace(posterior, whitened=np.stack([np.asarray(f) for f in found]))


def probabilities(posterior: cb.Posterior) -> np.ndarray:
    rng = np.random.default_rng(0)
    tables = []
    for _ in range(6):
        shown = posterior.choice_probabilities(rng.random((3, 1)))
        tables.append([shown[subset] for subset in sorted(shown)])
    return np.array(tables)


@pytest.fixture(scope="module")
def learned():
    """One set of hyperparameters and one Gaussian, for the samplers to start from."""
    batch = jax.tree.map(jnp.asarray, make_batch(small_problem())[0])
    return Laplace().learn(jax.random.key(0), cb.ChoiceGP().spec, batch, None, Reporter())


class GivenHyperparameters:
    """A learner that has been told the answer."""

    def __init__(self, learned):
        self.learned = learned

    def learn(self, key, spec, batch, start, report):
        return self.learned


class EngineContract:
    """What every engine promises."""

    tolerance: float

    @pytest.fixture
    def engine(self):
        raise NotImplementedError

    def fit(self, engine, data, seed=0, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return cb.ChoiceGP(engine=engine, **settings).fit(data, seed=seed)

    def test_choice_probabilities_agree_with_a_long_nuts_run(self, engine):
        posterior = self.fit(engine, small_problem())
        difference = np.abs(probabilities(posterior) - probabilities(nuts_reference(posterior)))
        assert difference.max() < self.tolerance

    def test_the_same_seed_gives_the_same_draws_and_another_seed_others(self, engine):
        first, again = self.fit(engine, small_problem(), seed=1), self.fit(engine, small_problem(), seed=1)
        assert np.array_equal(first.whitened, again.whitened)
        assert not np.array_equal(first.whitened, self.fit(engine, small_problem(), seed=2).whitened)

    def test_contradictory_answers_give_a_posterior_that_is_undecided(self, engine):
        choices = [cb.Choice((0, 1), (0,)), cb.Choice((0, 1), (1,))] * 3
        posterior = self.fit(engine, cb.ChoiceData([[0.2], [0.8]], choices), latent_dim=1)
        shown = posterior.choice_probabilities([[0.2], [0.8]])
        assert abs(shown[0,] - shown[1,]) < 0.25

    def test_one_choice_is_enough_to_learn_something(self, engine):
        data = cb.ChoiceData([[0.1], [0.9]], [cb.Choice((0, 1), (0,))])
        shown = self.fit(engine, data, latent_dim=1).choice_probabilities([[0.1], [0.9]])
        assert shown[0,] > 0.6

    def test_nearly_equal_options_do_no_harm(self, engine):
        X = np.array([[0.2], [0.2 + 1e-9], [0.8], [0.8 - 1e-12]])
        choices = [cb.Choice((0, 2), (0,)), cb.Choice((1, 3), (1,)), cb.Choice((0, 1, 3), (0, 1))]
        posterior = self.fit(engine, cb.ChoiceData(X, choices), latent_dim=1)
        assert np.isfinite(posterior.latent(X).mean).all()
        assert posterior.predict_choice([[0.2], [0.8]]) == (0,)

    def test_progress_is_reported_and_can_interrupt(self, engine):
        seen = []
        self.fit_with_progress(engine, lambda stage, fraction: seen.append(fraction))
        assert seen == sorted(seen)
        assert seen[-1] == pytest.approx(1.0)
        with pytest.raises(FitInterrupted, match="interrupted"):
            self.fit_with_progress(engine, lambda stage, fraction: False)

    def fit_with_progress(self, engine, progress):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            cb.ChoiceGP(engine=engine).fit(small_problem(), progress=progress)

    @pytest.mark.slow
    def test_two_thousand_choices_are_learned(self, engine):
        rng = np.random.default_rng(0)
        X = rng.random((80, 2))
        objectives = np.column_stack([np.sin(3 * X[:, 0]) + X[:, 1], np.cos(3 * X[:, 1]) - X[:, 0]])
        data = cb.ChoiceData(X, [answer(objectives, rng.choice(80, 3, replace=False)) for _ in range(2000)])
        posterior = self.fit(engine, data)
        fresh = [rng.choice(80, 3, replace=False) for _ in range(100)]
        predicted = posterior.predict_choices(X[np.array(fresh)])
        truth = [answer(objectives, shown) for shown in fresh]
        right = [tuple(shown[list(p)]) == t.kept for shown, p, t in zip(fresh, predicted, truth, strict=True)]
        assert np.mean(right) > 0.9


class TestHamiltonian(EngineContract):
    tolerance = 0.06

    @pytest.fixture
    def engine(self):
        return Hamiltonian(draws=100)


class TestElliptical(EngineContract):
    tolerance = 0.08

    @pytest.fixture
    def engine(self):
        return Elliptical(draws=100)


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


def test_hmc_and_ess_agree_within_monte_carlo_error(learned):
    data = small_problem()
    learner = GivenHyperparameters(learned)
    hmc = cb.ChoiceGP(engine=Hamiltonian(draws=200, learner=learner)).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ess = cb.ChoiceGP(engine=Elliptical(draws=200, thin=20, learner=learner)).fit(data)
    assert np.abs(probabilities(hmc) - probabilities(ess)).max() < 0.05
    X = np.linspace(0, 1, 7)[:, None]
    assert np.abs(hmc.pareto_probability(X) - ess.pareto_probability(X)).max() < 0.12


def test_of_two_finalists_the_one_with_the_better_bound_is_kept(monkeypatch):
    """Courses are replaced by bounds that change places: the best after the short course ends second."""
    bounds = iter([-30.0, -10.0, -20.0, -15.0, -12.0])
    ran = []

    def run(self, spec, batch, states, keys, pace, report):
        found = [next(bounds) for _ in states]
        ran.extend(found)
        return [(state, np.full(4, bound)) for state, bound in zip(states, found, strict=True)]

    monkeypatch.setattr(Variational, "_run", run)
    posterior = cb.ChoiceGP(engine=Variational(starts=3, finalists=2)).fit(small_problem())
    assert ran == [-30.0, -10.0, -20.0, -15.0, -12.0]
    # The third start (-20) overtook the second (-10) on the long course: -12 against -15.
    assert posterior.diagnostics.evidence_trace.tolist() == [-20.0] * 4 + [-12.0] * 4


def test_an_interrupted_fit_leaves_no_thread_behind():
    with pytest.raises(FitInterrupted) as interrupted:
        cb.ChoiceGP(engine=Variational(starts=8)).fit(small_problem(), progress=lambda stage, fraction: False)
    assert interrupted.traceback  # kept by whoever handles it, and with it all that the fit had
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("choicebo")]


@pytest.mark.parametrize("chains", [1, 4])
def test_draws_do_not_depend_on_the_number_of_threads(monkeypatch, chains):
    engine = Hamiltonian(chains=chains, draws=10, learner=Laplace(variational=Variational(starts=3, rounds=5)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        several = cb.ChoiceGP(engine=engine).fit(small_problem())
        monkeypatch.setenv("CHOICEBO_THREADS", "1")
        one = cb.ChoiceGP(engine=engine).fit(small_problem())
    np.testing.assert_array_equal(one.whitened, several.whitened)
    assert several.whitened.shape[:2] == (chains, 10)


def test_every_name_of_the_public_surface_is_an_engine():
    assert set(ENGINES) == {"hmc", "ess", "vi", "laplace"}
    assert all(engine_named(name).name == name for name in ENGINES)


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="'hmc', 'ess', 'vi', 'laplace'"):
        cb.ChoiceGP(engine="gibbs")


@pytest.mark.parametrize(
    "settings",
    [{"covariance": "diagonal"}, {"starts": 0}, {"finalists": 0}, {"gradient_draws": 3}],
    ids=lambda s: next(iter(s)),
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(InvalidInput):
        Variational(**settings)
