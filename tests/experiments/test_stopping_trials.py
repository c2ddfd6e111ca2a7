"""The simulated studies behind the advice to stop."""

import numpy as np
import pytest

from choicebo.experiments import stopping_trials
from choicebo.experiments.trials import FinishedTrial


def test_the_curve_compares_what_was_foretold_with_what_came():
    steps = [{"stability": s, "stayed": y} for s, y in ((0.1, False), (0.1, True), (0.95, True), (1.0, True))]
    assert stopping_trials.curve(steps) == [(pytest.approx(0.1), 0.5, 2), (pytest.approx(0.975), 1.0, 2)]


def test_persons_of_different_seeds_want_different_things_and_the_same_seed_the_same():
    X = np.random.default_rng(0).random((50, 2))
    one, again, other = (stopping_trials.smooth_objectives(seed)(X) for seed in (0, 0, 1))
    assert one.shape == (50, 2)
    assert np.array_equal(one, again)
    assert not np.allclose(one, other)


def test_nothing_lacks_when_the_whole_front_is_there():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]])
    assert stopping_trials.lacking(lambda X: X, X, (0, 1, 2), X) == pytest.approx(0.0)
    assert stopping_trials.lacking(lambda X: X + X[:, ::-1], X, (2,), X) == pytest.approx(1.0)


def test_each_study_is_a_trial_of_its_own():
    grid = stopping_trials.trials(3, 20)
    assert len({trial.name for trial in grid}) == 3 * len(stopping_trials.TASKS)


def test_the_amount_of_flicker_that_foretold_what_came_has_the_best_score():
    right = stopping_trials.FLICKERS.index(stopping_trials.FLICKER)
    steps = [
        {
            "stayed": stayed,
            "by_flicker": [float(stayed) if i == right else 0.5 for i in range(len(stopping_trials.FLICKERS))],
        }
        for stayed in (True, True, False, True)
    ]
    trial = stopping_trials.trials(1, 4)[0]
    table = stopping_trials.flicker_table([FinishedTrial(trial, {"steps": steps}, 0.0, "", "")])
    flickers, foretold, stayed, scores = (list(column.cells) for column in table.columns)
    assert scores[right] == "0.000"
    assert set(scores) == {"0.000", "0.250"}
    assert (foretold[right], set(stayed)) == ("75%", {"75%"})
    assert sum("used" in flicker for flicker in flickers) == 1


def test_stored_steps_are_judged_by_the_rule_as_it_is_now():
    used = stopping_trials.FLICKERS.index(stopping_trials.FLICKER)
    step = {"answers": 20, "remaining": 0.01, "by_flicker": [0.95 if i == used else 0.1 for i in range(7)]}

    def last(*steps):
        return stopping_trials.judged(steps)[-1]

    assert last(step)["stability"] == 0.95
    assert last(step)["stop"]
    assert not last(step | {"remaining": 0.2})["stop"]
    assert not last(step | {"answers": 3})["stop"]
    unsure = step | {"by_flicker": [0.05] * 7}
    assert last(unsure, step, step)["stability"] == pytest.approx(0.65)
    assert not last(unsure, step, step)["stop"]
    assert last(unsure, step, step, step)["stop"]
