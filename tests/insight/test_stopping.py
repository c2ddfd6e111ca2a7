"""Go on, or stop."""

import numpy as np
import pytest
from insight_helpers import answers, believing

from choicebo import pareto
from choicebo.errors import InvalidInput
from choicebo.insight import stop_advice
from choicebo.insight.stopping import missing_share, proposed_question, stay_probability


def climbing(X):
    return 40.0 * X[:, :1]


@pytest.fixture(scope="module")
def settled():
    """One objective that is known for certain, whose best option has been seen."""
    X = np.linspace(0.0, 1.0, 21)[:, None]
    return believing(answers(X, climbing, 25, size=3), climbing, spread=0.01)


def test_a_settled_study_may_stop(settled):
    advice = stop_advice(settled, np.linspace(0.0, 1.0, 33)[:, None])
    assert advice.stop
    assert advice.stability > 0.95
    assert advice.remaining < 0.02
    assert [settled.options[i, 0] for i in advice.pareto_set] == [1.0]
    assert advice.sentence.startswith("You may stop")
    assert "option as it is" in advice.sentence


def test_an_unsure_model_goes_on(bread_data, bread):
    unsure = believing(bread_data, lambda X: np.zeros((len(X), 2)), spread=4.0)
    advice = stop_advice(unsure, bread.sobol(64))
    assert not advice.stop
    assert advice.stability < 0.5
    assert advice.sentence.startswith("Go on")


def test_options_never_seen_that_reach_further_are_a_reason_to_go_on():
    X = np.linspace(0.0, 0.5, 21)[:, None]
    posterior = believing(answers(X, climbing, 25, size=3), climbing, spread=0.01)
    advice = stop_advice(posterior, np.linspace(0.0, 1.0, 33)[:, None])
    assert advice.remaining > 0.05
    assert not advice.stop


def test_few_answers_are_never_enough(two_answers, bread):
    advice = stop_advice(two_answers, bread.sobol(16))
    assert not advice.stop
    assert "not enough" in advice.sentence


def test_the_question_to_come_decides_what_may_change(bread_posterior, bread):
    poor = bread_posterior.options[np.argsort(bread_posterior.pareto_probability(bread_posterior.options))[:3]]
    harmless = stop_advice(bread_posterior, bread.sobol(64), question=poor)
    ordinary = stop_advice(bread_posterior, bread.sobol(64))
    assert harmless.stability > ordinary.stability
    assert harmless.remaining == pytest.approx(ordinary.remaining)


def test_an_answer_that_tells_nothing_leaves_the_set():
    rng = np.random.default_rng(0)
    optimal = np.tile([True, False, False], (200, 1))
    assert stay_probability(rng.normal(size=(200, 3, 2)), optimal, np.array([0])) > 0.999


def test_an_answer_that_decides_between_two_options_changes_the_set():
    better = np.where(np.arange(200) % 2 == 0, 8.0, -8.0)
    latent = np.stack([better, -better], axis=1)[..., None]
    optimal = np.stack([pareto.non_dominated(values) for values in latent])
    assert stay_probability(latent, optimal, np.array([0, 1])) < 0.01


def test_nothing_is_missing_when_the_best_are_members_and_all_when_only_the_worst_is():
    latent = np.array([[[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]])
    assert missing_share(latent, np.array([1, 2])) == pytest.approx(0.0)
    assert missing_share(latent, np.array([0])) == pytest.approx(1.0)
    assert missing_share(latent, np.array([1])) == pytest.approx(1 / 3)


def test_the_proposed_question_pits_the_furthest_candidate_against_what_it_endangers():
    latent = np.array([[[2.0, 0.0], [0.0, 2.0], [-1.0, -1.0], [0.1, 0.1], [3.0, 1.0]]])
    shown = proposed_question(latent, 3, np.array([0, 1]), np.array([1.0, 1.0, 0.0]), size=3)
    assert shown.tolist() == [4, 0, 1]


def test_bad_candidates_and_questions_are_refused(bread_posterior):
    with pytest.raises(InvalidInput, match="candidates must have shape"):
        stop_advice(bread_posterior, [[0.5]])
    dim = bread_posterior.options.shape[1]
    with pytest.raises(InvalidInput, match="question must have shape"):
        stop_advice(bread_posterior, np.zeros((2, dim)), question=np.zeros((1, dim)))
