"""Simulated people behind the figures on calibration."""

from __future__ import annotations

import numpy as np
import pytest

from choicebo.choices import Choice, ChoiceData
from choicebo.experiments import calibration_report, calibration_trials
from choicebo.experiments.calibration_trials import SAMPLER, drawn_answer, simulated, told
from choicebo.experiments.trials import FinishedTrial, Trial
from choicebo.model.choice_table import choice_table, subset_of_code
from choicebo.model.covariance import Hyperparameters
from choicebo.model.gp import ChoiceGP
from choicebo.pareto import non_dominated


def test_a_person_of_the_model_answers_as_its_likelihood_says() -> None:
    shown = np.array([[0.0, 0.5], [0.4, -0.2], [-1.0, 1.5]])
    table = choice_table(shown[None])[0]
    table = 0.99 * table + 0.01 / 7
    rng = np.random.default_rng(0)
    drawn = [drawn_answer(shown, rng) for _ in range(20_000)]
    share = [drawn.count(subset_of_code(code, 3)) / len(drawn) for code in range(1, 8)]
    np.testing.assert_allclose(share, table / table.sum(), atol=0.012)


@pytest.mark.parametrize("sort", calibration_trials.SORTS)
def test_a_person_is_the_same_again_and_answers_by_their_objectives(sort: str) -> None:
    person, again, other = (simulated(sort, 2, 30, seed) for seed in (1, 1, 2))
    assert person.data == again.data
    assert person.kept == again.kept
    assert not np.array_equal(person.values, other.values)
    assert len(person.data.choices) == 30
    as_exact = [
        set(choice.kept) == {choice.shown[i] for i in np.flatnonzero(non_dominated(person.values[list(choice.shown)]))}
        for choice in person.data.choices
    ]
    assert np.mean(as_exact) > 0.3  # the rest is noise; of 15 subsets, chance would find one in 15


def test_hyperparameters_that_are_told_are_not_learned() -> None:
    person = simulated("model", 2, 30, 0)
    hyper = Hyperparameters(np.log(np.full((2, 3), 0.4)), np.log([2.0, 5.0]), np.zeros((2, 2)))
    posterior = told(ChoiceGP(latent_dim=2), hyper).fit_silently(person.data, 0)
    np.testing.assert_array_equal(posterior.hyper.log_lengthscale, hyper.log_lengthscale)
    np.testing.assert_array_equal(posterior.hyper.log_scale, hyper.log_scale)


def test_the_mode_is_found_whichever_dimension_the_starting_points_take_for_the_first() -> None:
    # The first objective changes with the first input only, the second with the second.
    rng = np.random.default_rng(3)
    X = rng.random((20, 2))
    sets = [tuple(map(int, rng.choice(20, 4, replace=False))) for _ in range(40)]
    choices = [Choice(s, tuple(s[i] for i in np.flatnonzero(non_dominated(X[list(s)])))) for s in sets]
    hyper = Hyperparameters(np.log([[0.5, 50.0], [50.0, 0.5]]), np.log([4.0, 4.0]), np.zeros((2, 2)))
    posterior = told(ChoiceGP(latent_dim=2), hyper).fit_silently(ChoiceData(X, choices), 0)
    mean = posterior.draws.at(X, 0).mean(0)
    like = [[np.corrcoef(mean[:, d], X[:, e])[0, 1] for e in range(2)] for d in range(2)]
    assert np.diag(like).min() > 0.9


def test_hyperparameters_that_are_averaged_over_lie_around_the_best() -> None:
    person = simulated("smooth", 1, 30, 0)
    model = ChoiceGP(latent_dim=1)
    fitted = model.fit_silently(person.data, 0)
    beliefs = calibration_trials.averaged(model, person.data, fitted, 0)
    assert len(beliefs) == calibration_trials.AVERAGED
    lengths = np.array([each.hyper.log_lengthscale for each in beliefs])
    away = lengths - fitted.hyper.log_lengthscale
    assert (np.abs(away) > 0.02).all(0).all() or np.abs(away).max() > 0.1
    assert np.abs(away).max() < 5.0
    one = calibration_trials.compared(person, [fitted])
    twice = calibration_trials.compared(person, [fitted, fitted])
    assert twice["log_score"] == pytest.approx(one["log_score"])
    assert twice["kept"] == one["kept"]


def test_bands_hold_as_much_of_the_truth_as_they_say_if_the_hyperparameters_are_the_true_ones() -> None:
    held = []
    for seed in range(6):
        person = simulated("model", 2, 30, seed)
        assert person.hyper is not None
        posterior = told(ChoiceGP(latent_dim=2), person.hyper).fit_silently(person.data, seed)
        held.append(calibration_trials.compared(person, [posterior])["in_bands"])
    # 480 values, which depend on each other; with twice or half the standard deviation it would be .35, .59 or .82, .99
    np.testing.assert_allclose(np.mean(held, axis=0), calibration_trials.BANDS, atol=0.12)


def test_the_truth_lies_somewhere_among_the_draws() -> None:
    found = [calibration_trials.ranks(seed) for seed in range(4)]
    for quantity in calibration_trials.QUANTITIES:
        ranks = [each[quantity] for each in found]
        assert 0 <= min(ranks) < max(ranks) <= 1


def test_predictions_of_one_person_are_stored_beside_what_is_true() -> None:
    trial = next(each for each in calibration_trials.trials(1) if each.task == "model")
    result = calibration_trials.run_trial(trial)
    assert len(result["membership"]) == 40
    assert len(result["kept"]) == 120
    small, middle, large = result["in_bands"]
    assert 0 < small < middle < large <= 1
    assert result["log_score"] < 0
    said, came = np.array(result["kept"]).T
    assert ((said >= 0) & (said <= 1)).all()
    assert set(came) == {0.0, 1.0}
    assert said[came == 1].mean() > said[came == 0].mean()


def finished(task: str, method: str, repetition: int, **result: object) -> FinishedTrial:
    settings = {} if task == SAMPLER else {"objectives": 2, "answers": 30}
    return FinishedTrial(Trial("calibration", task, method, repetition, settings), dict(result), 0.0, "", "", "abc")


def test_the_report_compares_methods_person_by_person_and_tells_whether_ranks_are_uniform() -> None:
    def of(method: str, repetition: int, score: float) -> FinishedTrial:
        pairs = [[0.9, 1.0], [0.9, 0.0], [0.1, 0.0]]
        told = {"membership": pairs, "kept": pairs, "log_score": score, "flagged": repetition == 0}
        return finished("smooth", method, repetition, **told)

    people = [of("default", 0, -1.0), of("default", 1, -2.0), of("averaged", 0, -0.8), of("averaged", 1, -1.6)]
    summary = calibration_report.summary_table(people)
    cells = [list(row) for row in zip(*(column.cells for column in summary.columns), strict=True)]
    assert cells[0][3:] == ["2", "1", "30.0%", "30.0%", "-1.500 ± 0.500", "-", "-", "-"]
    assert "several revisions" not in str(summary.caption)
    (gain,) = calibration_report.paired_table(people).columns[3].cells
    assert gain == "0.300 ± 0.100"

    def sampled(ranks: np.ndarray) -> list[str]:
        rows = [
            finished(SAMPLER, "hmc", number, **dict.fromkeys(calibration_trials.QUANTITIES, float(rank)))
            for number, rank in enumerate(ranks)
        ]
        return [next(iter(column.cells)) for column in calibration_report.sampler_table(rows).columns]

    even = sampled((np.arange(200) + 0.5) / 200)
    assert even[1:] == ["50.0%", "80.0%", "95.0%", "1.00", "200"]
    assert sampled(np.linspace(0.4, 0.6, 200))[4] == "0.00"
    titles = [block.title for block in calibration_report.section(people).blocks if not isinstance(block, str)]
    assert len(titles) == 3
