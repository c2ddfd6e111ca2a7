import math

import numpy as np
import pytest

from choicebo.errors import InvalidInputError
from choicebo.experiments import methods, optimisation_trials
from choicebo.experiments.choosers import pareto_choice
from choicebo.experiments.methods import METHODS, Method, Sobol
from choicebo.experiments.optimisation_trials import (
    COMPARED,
    FULL,
    INITIAL_OPTIONS,
    INITIAL_SETS,
    QUERY_SIZE,
    Protocol,
)
from choicebo.experiments.problems import PROBLEMS, problem
from choicebo.experiments.trials import Trial, seed_of
from choicebo.model import engines
from choicebo.model.engines import Variational
from choicebo.model.engines.base import Limits


class Spy:
    """Shows the best known option again and two new ones, and remembers all that it is told."""

    def __init__(self, setup):
        self.setup, self.told, self.asked = setup, [], []
        self.rng = np.random.default_rng(setup.seed)

    def ask(self):
        self.asked.append(np.vstack([self.setup.options[:1], self.rng.random((2, self.setup.dim))]))
        return self.asked[-1]

    def tell(self, answer):
        self.told.append(answer)

    def settings(self):
        return {"nosy": True}


@pytest.fixture
def spies(monkeypatch):
    """Two methods for the length of a test, one that sees values and one that does not, and all they learned."""
    made = []

    def make(setup):
        made.append(Spy(setup))
        return made[-1]

    for name, sees_values in (("spy", False), ("oracle-spy", True)):
        monkeypatch.setitem(METHODS, name, Method(name, name, make, sees_values=sees_values))
    return made


def trial(method: str, repetition: int = 0, task: str = "zdt2", **settings) -> Trial:
    return Trial("bo", task, method, repetition, {"iterations": 6, **settings})


def test_the_full_protocol_is_that_of_the_paper():
    assert (INITIAL_OPTIONS, INITIAL_SETS, QUERY_SIZE) == (20, 7, 5)
    assert (FULL.iterations, FULL.repetitions, set(FULL.problems)) == (80, 15, set(PROBLEMS))
    assert set(COMPARED) <= set(METHODS)
    assert len(optimisation_trials.trials(FULL)) == 6 * 15 * len(COMPARED)


def test_a_run_that_is_stopped_leaves_every_method_with_about_as_many_repetitions():
    repetitions = [each.repetition for each in optimisation_trials.trials(FULL)]
    assert repetitions == sorted(repetitions)


def test_what_a_person_reads_and_marks_is_counted(spies):
    result = optimisation_trials.run_trial(trial("spy"))
    assert result["options_read"] == [3] * 6
    assert result["marks"] == [len(answer) for answer in spies[0].told]
    for oracle in ("oracle-spy", "sobol"):  # of one option there is nothing to choose
        assert "marks" not in optimisation_trials.run_trial(trial(oracle))


def test_all_methods_of_a_repetition_start_from_the_same_options_and_sets(spies):
    for method in ("spy", "oracle-spy"):
        optimisation_trials.run_trial(trial(method))
    optimisation_trials.run_trial(trial("spy", repetition=1))
    one, other, later = (spy.setup for spy in spies)
    np.testing.assert_array_equal(one.options, other.options)
    assert (one.sets, one.kept) == (other.sets, other.kept)
    assert one.seed != other.seed
    assert not np.array_equal(one.options, later.options)
    assert one.options.shape == (20, 3)
    assert [len(shown) for shown in one.sets] == [5] * 7


def test_only_oracles_see_values_and_the_others_see_which_options_no_other_dominates(spies):
    for method in ("spy", "oracle-spy"):
        optimisation_trials.run_trial(trial(method))
    chooser, oracle = spies
    zdt2 = problem("zdt2")
    assert chooser.setup.values is None
    np.testing.assert_array_equal(oracle.setup.values, zdt2.objectives(oracle.setup.options))
    for shown, kept in zip(chooser.setup.sets, chooser.setup.kept, strict=True):
        assert kept == pareto_choice(zdt2.objectives(chooser.setup.options[list(shown)]))
    assert chooser.told == [pareto_choice(zdt2.objectives(shown)) for shown in chooser.asked]
    np.testing.assert_array_equal(oracle.told, [zdt2.objectives(shown) for shown in oracle.asked])


def test_all_options_queried_count_and_those_shown_again_count_once(spies):
    result = optimisation_trials.run_trial(trial("spy"))
    (spy,) = spies
    zdt2 = problem("zdt2")
    for k, reached in enumerate(result["log_hv_difference"]):
        queried = np.vstack([spy.setup.options, *spy.asked[:k]])
        assert reached == pytest.approx(zdt2.log_hypervolume_difference(zdt2.objectives(queried)), abs=1e-6)
    assert result["new_options"] == [2] * 6
    assert len(result["log_hv_difference"]) == len(result["seconds"]) + 1 == 7
    assert result["log_hv_difference_per_option"][::2] == result["log_hv_difference"]
    assert result["settings"] == {"nosy": True}


def test_the_same_trial_gives_the_same_curve_and_another_repetition_another_one():
    once, again, other = (
        optimisation_trials.run_trial(trial("sobol", repetition))["log_hv_difference"] for repetition in (0, 0, 1)
    )
    assert once == again != other
    assert once == sorted(once, reverse=True)


@pytest.mark.parametrize("imperfection", [{"noise": 2.0}, {"lapse": 1.0}])
def test_a_person_who_errs_gives_other_answers(spies, imperfection):
    optimisation_trials.run_trial(trial("spy"))
    optimisation_trials.run_trial(trial("spy", **imperfection))
    exact, errs = spies
    assert exact.setup.kept != errs.setup.kept
    grid = optimisation_trials.trials(Protocol(("zdt2",), ("spy",), 6, 1, **imperfection))
    assert grid == [trial("spy", **imperfection)]


@pytest.mark.parametrize(
    "change", [{"problems": ("zdt9",)}, {"methods": ("luck",)}, {"methods": ()}, {"iterations": 0}]
)
def test_a_protocol_that_cannot_be_run_is_refused(change):
    with pytest.raises(InvalidInputError, match=r"choose|give at least one"):
        Protocol(**({"problems": ("zdt1",), "methods": ("sobol",), "iterations": 1, "repetitions": 1} | change))


def test_sobol_fills_the_cube_more_evenly_than_chance(spies):
    optimisation_trials.run_trial(trial("spy"))
    sequence = Sobol(spies[0].setup)
    options = np.vstack([sequence.ask() for _ in range(64)])
    octants, counts = np.unique((options > 0.5).astype(int), axis=0, return_counts=True)
    assert len(octants) == 8
    assert set(counts) == {8}


def test_without_botorch_its_methods_say_how_to_get_it(spies, monkeypatch):
    monkeypatch.setattr(methods.baselines, "installed", lambda: False)
    with pytest.raises(InvalidInputError, match=r"The method parego needs BoTorch.*choicebo\[botorch\]"):
        optimisation_trials.run_trial(trial("parego"))


def test_our_optimiser_runs_the_protocol_and_records_its_settings():
    result = optimisation_trials.run_trial(Trial("bo", "branin-currin", "ucb", 0, {"iterations": 2}))
    assert result["new_options"] == [1, 1]
    assert result["settings"]["acquisition"] == "ucb"
    assert result["settings"]["latent_dim"] == 2
    assert "seed" not in result["settings"]


def test_the_papers_configuration_is_the_papers():
    settings = methods.PapersSettings(latent_dim=2)
    model = settings.model(2)
    assert (settings.acquisition, settings.new_per_query, model.lapse, model.engine.name) == ("ucb", 1, 0.0, "ess")
    assert isinstance(model.engine.learner, Variational)
    assert model.nugget < 1e-4
    assert model.prior.scale_spread > 2.0
    result = optimisation_trials.run_trial(Trial("bo", "branin-currin", "paper", 0, {"iterations": 1}))
    assert result["settings"].items() >= {"learner": "vi", "lapse": 0.0, "acquisition": "ucb"}.items()
    assert result["new_options"] == [1]


def test_fits_that_our_diagnostics_flag_are_counted(monkeypatch):
    flagged = []
    for limits in (Limits(math.inf, 0.0), Limits(1.0, 1e9)):
        monkeypatch.setattr(engines, "QUESTION", limits)
        result = optimisation_trials.run_trial(Trial("bo", "branin-currin", "default", 0, {"iterations": 2}))
        flagged.append(result["settings"]["fits_flagged"])
    assert flagged == [0, 2]


def test_the_seed_of_the_start_is_not_that_of_a_method(spies):
    optimisation_trials.run_trial(trial("spy"))
    assert spies[0].setup.seed != seed_of("bo", "zdt2", "start", 0)


@pytest.mark.parametrize("name", ["sobol", "default", "parego", "pairwise"])
def test_in_a_mixed_space_every_method_proposes_options_of_the_space(name, monkeypatch):
    if METHODS[name].needs_botorch:
        pytest.importorskip("botorch", reason="BoTorch is not installed")
    seen = []
    chosen = problem("mixed-bowls")
    monkeypatch.setattr(
        type(chosen), "objectives", lambda self, U: seen.append(U) or -self.minimised(np.asarray(U, dtype=float))
    )
    optimisation_trials.run_trial(trial(name, task="mixed-bowls", iterations=2))
    shown = np.vstack(seen)
    np.testing.assert_array_equal(chosen.space.snap(shown), shown)
