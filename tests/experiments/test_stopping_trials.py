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
    assert len({trial.name for trial in grid}) == 3 * len(stopping_trials.KINDS)


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


def test_smooth_objectives_are_as_large_and_as_smooth_for_any_number_of_inputs():
    rng = np.random.default_rng(0)
    for inputs in (1, 2, 5):
        size, change = [], []
        for seed in range(60):
            X, step = rng.random((100, inputs)), 1e-3 * np.eye(inputs)[0] * np.sqrt(inputs)
            values = stopping_trials.smooth_objectives(seed, inputs, 1)
            size.append(values(X).std())
            change.append(np.abs(values(X + step) - values(X)).mean())
        assert 0.5 < np.mean(size) < 1.1
        assert np.mean(change) == pytest.approx(3.4e-3, rel=0.3)


@pytest.mark.parametrize("task", ["catalogue", "one-objective"])
def test_each_step_of_a_study_is_told(task):
    steps = stopping_trials.simulate(task, questions=8, seed=1)
    assert [step["answers"] for step in steps] == list(range(steps[0]["answers"], 8))
    for step in steps:
        assert 0 <= step["lacking"] <= 1
        assert 0 <= step["remaining"] <= 1
        assert len(step["by_flicker"]) == len(stopping_trials.FLICKERS)


def finished(task, *steps):
    trial = next(each for each in stopping_trials.trials(1, 4) if each.task == task)
    return FinishedTrial(trial, {"steps": list(steps)}, 0.0, "", "")


def test_what_was_so_at_the_first_advice_is_told_by_kind_and_by_rule():
    def step(answers, stability, remaining, stayed, lacking):
        return {
            "answers": answers,
            "by_flicker": [stability] * len(stopping_trials.FLICKERS),
            "remaining": remaining,
            "stayed": stayed,
            "lacking": lacking,
        }

    studies = [
        finished("smooth", step(20, 0.92, 0.01, False, 0.2), step(21, 0.92, 0.01, True, 0.1)),
        finished("noisy", step(20, 0.5, 0.01, True, 0.3), step(21, 0.5, 0.01, True, 0.4)),
    ]
    columns = [column.cells for column in stopping_trials.advice_table(studies).columns]
    smooth, noisy, everything = (list(row[1:]) for row in zip(*columns, strict=True))
    assert smooth == ["1 of 1", "20", "92%", "0 of 1", "1.0%", "20.0%", "10.0%"]
    assert noisy == ["0 of 1", *"------"]
    assert everything == ["1 of 2", *smooth[1:]]
    rules = stopping_trials.rules_table(studies)
    advised = dict(zip(stopping_trials.RULES, rules.columns[2].cells, strict=True))
    assert advised[0.95, 0.05] == "0 of 2"
    assert advised[0.8, 0.02] == advised[0.9, 0.1] == "1 of 2"
    missing = stopping_trials.remaining_table(studies)
    assert [list(column.cells) for column in missing.columns[2:]] == [
        ["1.0%"] * 3,
        ["15.0%", "35.0%", "25.0%"],
        ["14.0%", "34.0%", "24.0%"],
        ["15.0%", "35.0%", "25.0%"],
    ]
