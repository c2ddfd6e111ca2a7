import io
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from choicebo.errors import InvalidInputError
from choicebo.experiments import accuracy_report
from choicebo.experiments.accuracy import (
    choice_gp,
    independent_latents,
    real_ceiling,
    real_orders,
    real_split,
    toy_ceiling,
    toy_split,
)
from choicebo.experiments.accuracy_trials import CHOICE_GP, EMBEDDING, ORACLE_GP
from choicebo.experiments.datasets import RealData, rank_scaled
from choicebo.experiments.trials import FinishedTrial, Trial
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.engines import Variational
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import PREDICTION_RULES

SMALL = ChoiceGP(engine=Variational(starts=1, rounds=4, num_samples=40))


class KeepsTheFirst:
    """Stands for a model where only what surrounds the fit is tested."""

    def fit_silently(self, data, seed=0):
        diagnostics = Diagnostics("hmc", 1.5, 20.0, 0, 0.9, -12.0, np.zeros(3), 40, 0.1)
        return SimpleNamespace(diagnostics=diagnostics, predict_choices=lambda sets, rule, seed: [(0,)] * len(sets))


@pytest.fixture(scope="module")
def smooth_data() -> RealData:
    rng = np.random.default_rng(0)
    X = rng.random((60, 1)) * 10.0
    outputs = np.hstack([X, np.sin(X)])
    return RealData("smooth", X, outputs, ("a",), ("y", "z"), (1, 1))


def finished(method, result, repetition=0) -> FinishedTrial:
    return FinishedTrial(Trial("toy", "toy", method, repetition), {"task": "toy"} | result, 1.0, "2026-01-01", "0.1.0")


def score(value=0.75, seed=0, problems=()) -> FinishedTrial:
    by_rule = {rule: value - 0.01 * k for k, rule in enumerate(PREDICTION_RULES)}
    result = {"n_choices": 100, "accuracy": by_rule, "seconds": 1.0 + seed, "problems": list(problems)}
    return finished(CHOICE_GP, result, seed)


def printed(table) -> str:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text()


def test_toy_accuracy_scores_every_rule_and_repeats_itself():
    once, again = (choice_gp(toy_split(12, seed=3, n_test=20), SMALL) for _ in range(2))
    assert [once[key] for key in ("task", "n_choices", "seed", "fold")] == ["toy", 12, 3, None]
    assert set(once["accuracy"]) == set(PREDICTION_RULES)
    assert all(0 <= share <= 1 for share in once["accuracy"].values())
    assert once["accuracy"] == again["accuracy"]
    assert once["seconds"] > 0


def test_poor_draws_are_in_the_score_and_are_not_warned_about_too(recwarn):
    found = choice_gp(toy_split(12, seed=0), SMALL)
    assert isinstance(found["problems"], list)
    assert not [w for w in recwarn if "effective draws" in str(w.message)]


def test_knowing_the_values_beats_a_guess_by_far():
    found = toy_ceiling(seed=0, n_test=100)
    assert found["oracle"] > 0.6
    assert found["exact"] is not None
    assert found["exact"] > 0.6


def test_real_folds_are_scored_on_the_same_test_sets_for_any_number_of_choices(smooth_data):
    few, many = (
        choice_gp(real_split(smooth_data, n, fold=4, seed=1, scale=rank_scaled, n_test=20), KeepsTheFirst())
        for n in (12, 30)
    )
    assert (few["task"], few["n_choices"], few["fold"]) == ("smooth", 12, 4)
    assert many["n_choices"] == 30
    assert few["accuracy"] == many["accuracy"]
    assert few["problems"]
    ceiling = real_ceiling(smooth_data, fold=4, seed=1, n_test=20)
    assert ceiling["oracle"] > 0.8
    assert ceiling["exact"] is None


@pytest.mark.slow
def test_the_orders_of_all_outputs_tell_more_than_choices(smooth_data):
    told = real_orders(smooth_data, 20, fold=0, n_test=50)
    assert (told["task"], told["n_choices"], told["model"]) == ("smooth", 20, "orders")
    assert told["accuracy"] > 0.7
    independent = independent_latents(real_split(smooth_data, 20, fold=0, n_test=50))
    assert (independent["n_choices"], independent["model"]) == (20, "independent")
    assert told["accuracy"] > independent["accuracy"] > 0.0


@pytest.mark.parametrize("fold", [-1, 5])
def test_a_fold_that_does_not_exist_is_refused(smooth_data, fold):
    with pytest.raises(InvalidInputError, match="fold must be from 0 to 4"):
        real_ceiling(smooth_data, fold=fold)


def test_the_table_has_mean_standard_error_lowest_and_the_papers_value():
    scores = [score(value=0.7), score(value=0.8, seed=1, problems=("chains disagree",))]
    table = accuracy_report.table("Toy", scores, "seed")
    (row,) = zip(*(column.cells for column in table.columns), strict=True)
    by_rule = ("0.750 ± 0.050", "0.740 ± 0.050", "0.730 ± 0.050")
    assert row == ("toy", "100", "0.54", *by_rule, "0.700", "1.50", "1/2")


def test_folds_that_learn_from_overlapping_data_have_a_wider_standard_error():
    scores = [score(value=0.7), score(value=0.8, seed=1)]
    table = accuracy_report.table("Real", scores, "fold")
    cells = {column.header: next(iter(column.cells)) for column in table.columns}
    assert cells["pareto"] == f"0.750 ± {0.05 * (1 + 2 / 4) ** 0.5:.3f}"
    assert "overlapping" in str(table.caption)


def test_the_table_shows_ours_beside_the_papers():
    ceiling = finished(ORACLE_GP, {"oracle": 0.8, "exact": 0.81})
    peer = finished(EMBEDDING, {"n_choices": 100, "accuracy": 0.445, "model": "network"})
    shown = printed(accuracy_report.table("g = [cos 2x]", [score(), ceiling, peer], "seed"))
    for part in ("g = [cos 2x]", "0.54", "0.750", "Oracle-GP", "0.77", "0.800", "0.810", "0.445", *PREDICTION_RULES):
        assert part in shown


def test_the_columns_and_signs_are_reported(smooth_data):
    shown = printed(accuracy_report.columns_table([smooth_data]))
    assert "+ y" in shown
    assert "│ a " in shown
