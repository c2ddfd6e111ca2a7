"""Go on, or stop."""

from types import SimpleNamespace

import numpy as np
import pytest
from insight_helpers import answers, believing

from choicebo import pareto
from choicebo.errors import InvalidInputError
from choicebo.insight import stop_advice
from choicebo.insight.stopping import enough, missing_share, proposed_question, stay_probability


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


@pytest.mark.parametrize(
    ("answers", "stability", "remaining", "stop"),
    [
        (8, 0.9, 0.05, True),
        (30, 0.99, 0.0, True),
        (7, 0.99, 0.0, False),
        (8, 0.899, 0.0, False),
        (8, 0.99, 0.051, False),
    ],
)
def test_the_advice_to_stop_has_three_conditions(answers, stability, remaining, stop):
    assert enough(answers, stability, remaining) is stop


class Undecided:
    """Stands in for a posterior about two options, at 0 and 1, and candidates at 0.5 and 0.6.

    The option at 0 is better in all draws but ``doubts`` of 400, the other one in those; the candidate at 0.5 is far
    below, the one at 0.6 exceeds both by ``ahead``, as a share of all that is reachable.
    """

    def __init__(self, doubts, ahead, answers):
        self.options = self.answered = np.array([[0.0], [1.0]])
        self.data = SimpleNamespace(n_choices=answers)
        self.doubts, self.ahead = doubts, ahead

    def sample(self, X, draws, seed):
        better = np.where(np.arange(draws) < self.doubts, -20.0, 20.0)
        worst = -1e5
        best = worst + (20.0 - worst) / (1 - self.ahead)
        heights = {0.0: better, 1.0: -better, 0.5: np.full(draws, worst), 0.6: np.full(draws, best)}
        return np.stack([heights[float(x)] for x in X[:, 0]], axis=1)[..., None]


@pytest.mark.parametrize(
    ("doubts", "ahead", "answers", "stop", "reason"),
    [
        (39, 0.0, 8, True, "You may stop"),
        (0, 0.049, 8, True, "You may stop"),
        (41, 0.0, 8, False, "though little is left to find"),
        (0, 0.051, 8, False, "settled among those seen"),
        (41, 0.051, 8, False, "likely), and it is 5 % short"),
        (0, 0.0, 7, False, "7 answers are not enough"),
    ],
)
def test_each_condition_turns_the_advice(doubts, ahead, answers, stop, reason):
    """Whoever keeps the option at 1 shows that it is the better one, which changes the set."""
    posterior = Undecided(doubts, ahead, answers)
    advice = stop_advice(posterior, [[0.5], [0.6]], question=posterior.options)
    assert advice.pareto_set == (0,)
    assert advice.stability == pytest.approx(1 - doubts / 400, abs=1e-3)
    assert advice.remaining == pytest.approx(ahead, abs=1e-4)
    assert advice.stop is stop
    assert reason in advice.sentence


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
    with pytest.raises(InvalidInputError, match="candidates must have shape"):
        stop_advice(bread_posterior, [[0.5]])
    dim = bread_posterior.options.shape[1]
    with pytest.raises(InvalidInputError, match="question must have shape"):
        stop_advice(bread_posterior, np.zeros((2, dim)), question=np.zeros((1, dim)))


def test_the_advice_is_the_mean_of_the_last_looks(settled):
    """From "likely to change" to "you may stop" within two answers would be a change of mind, not of knowledge."""
    candidates = np.linspace(0.0, 1.0, 33)[:, None]
    unsure = believing(settled.data.subset(range(23)), lambda X: np.zeros((len(X), 2)), spread=4.0)
    sure = believing(settled.data.subset(range(24)), climbing, spread=0.01)
    alone, smoothed = stop_advice(settled, candidates), stop_advice(settled, candidates, before=[sure, unsure])
    assert alone.stop
    assert not smoothed.stop
    assert (alone.looks, smoothed.looks) == (1, 3)
    asked = [settled.data.X[list(settled.data.choices[at].shown)] for at in (24, 23)]
    single = [stop_advice(each, candidates, question=next) for each, next in zip((sure, unsure), asked, strict=True)]
    assert smoothed.stability == pytest.approx(np.mean([alone.stability, *(each.stability for each in single)]))
    assert stop_advice(settled, candidates, before=[sure]).stop
