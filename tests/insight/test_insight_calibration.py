"""Predicted probabilities against what was answered."""

import dataclasses

import numpy as np
import pytest
from insight_helpers import answers, believing, believing_otherwise, tastes
from scipy.special import ndtr

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.insight import calibration
from choicebo.insight.calibration import reliability
from choicebo.insight.held_out import Expectation, expectations
from choicebo.model.choice_table import choice_table


def test_expectations_are_probabilities_of_all_subsets(bread_posterior):
    found = expectations(bread_posterior)
    assert len(found) == 60
    for each in found:
        assert each.size == 4
        assert each.probabilities.sum() == pytest.approx(1.0)
        choice = bread_posterior.data.choices[each.choice]
        assert [choice.shown[p] for p in np.flatnonzero(each.kept)] == list(choice.kept)


def test_a_held_out_answer_is_predicted_from_the_others_only():
    """One comparison under a broad belief: with it taken away the two options are level again."""
    data = cb.ChoiceData([[0.0], [1.0]], [cb.Choice((0, 1), (0,))])
    rng = np.random.default_rng(0)
    posterior = believing(data, lambda X: np.zeros((len(X), 1)), spread=2.0)
    # Draws of the posterior given the choice, by rejection from those of the prior.
    log_p = posterior.log_likelihood.reshape(-1)
    keep = np.flatnonzero(np.log(rng.random(len(log_p))) < log_p)
    flat = posterior.whitened.reshape(-1, 1, 2)[keep]
    known = dataclasses.replace(posterior, whitened=flat[None], log_likelihood=log_p[keep][None, :, None])
    (found,) = expectations(known)
    assert found.inclusion[0] == pytest.approx(found.inclusion[1], abs=0.12)


def test_every_draw_is_weighted_by_what_it_made_of_the_answer_itself():
    """Chains that believe different things: those that the answer spoke for count less without it, and no others."""
    data = cb.ChoiceData([[0.0], [1.0]], [cb.Choice((0, 1), (0,)), cb.Choice((0, 1), (1,))])
    ahead = [3.0, 1.0, -0.5]  # by how much each chain prefers the first option
    posterior = believing_otherwise(
        data, *(lambda X, a=a: np.where(X < 0.5, a, 0.0) for a in ahead), draws=50, spread=0.01
    )
    tables = choice_table(np.array([[[a], [0.0]] for a in ahead]))
    shares = tables / tables.sum(1, keepdims=True)
    lapse = posterior.spec.lapse
    for found, answered in zip(expectations(posterior), (0, 1), strict=True):
        weights = 1 / ((1 - lapse) * tables[:, answered] + lapse / 3)
        without = (1 - lapse) * (weights / weights.sum()) @ shares + lapse / 3
        assert found.answered == answered
        np.testing.assert_allclose(found.probabilities, without, atol=0.02)


def test_a_curve_of_honest_predictions_lies_on_the_diagonal():
    rng = np.random.default_rng(0)
    found = []
    for number in range(4000):
        p = ndtr(rng.normal())
        answered = 0 if rng.random() < p else 1
        found.append(Expectation(number, np.array([p, 1 - p, 0.0]), answered))
    curve = reliability(found)
    assert np.abs(curve.predicted - curve.observed).max() < 0.06
    assert curve.error < 0.02
    assert (curve.lower <= curve.observed).all()
    assert (curve.observed <= curve.upper).all()
    assert curve.count.sum() == 8000
    assert curve.guessing == pytest.approx(-np.log(3))


def test_overconfidence_shows():
    found = [Expectation(k, np.array([0.99, 0.005, 0.005]), k % 2) for k in range(100)]
    assert reliability(found).error > 0.4


def test_a_good_model_scores_better_than_guessing_on_unseen_answers(bread_posterior, bread):
    unseen = answers(np.unique(bread.sample(60, seed=7), axis=0), tastes, 40, seed=3)
    judged = calibration(bread_posterior, unseen)
    assert judged.answers == 40
    assert judged.log_score > judged.guessing + 1.0
    assert "40" not in judged.sentence
    assert "blind guessing" in judged.sentence


def test_few_answers_are_said_to_be_too_few(two_answers):
    assert calibration(two_answers).sentence == "Not enough answers yet to judge the predictions."


def test_other_inputs_and_too_few_bins_are_refused(bread_posterior):
    with pytest.raises(InvalidInputError, match="1 inputs"):
        calibration(bread_posterior, cb.ChoiceData([[0.0], [1.0]], [((0, 1), (0,))]))
    with pytest.raises(InvalidInputError, match="bins"):
        calibration(bread_posterior, bins=1)
