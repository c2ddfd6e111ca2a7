"""The experiment on ways of answering: what simulated people say, what is measured, and the report of it."""

from __future__ import annotations

import numpy as np
import pytest
from rich.table import Table

from choicebo.experiments import answers_report, answers_trials, bench_logit
from choicebo.experiments.answers_trials import PEOPLE, WAYS, Protocol, answer, run_trial, taught, trials
from choicebo.experiments.trials import FinishedTrial

TINY = Protocol((4,), 1, 8, 10)
VALUES = np.array([[3.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 3.0], [0.5, 0.5]])
"""The third beats the last, and the second both of them."""


def rng():
    return np.random.default_rng(0)


def test_a_person_keeps_what_no_other_option_beats():
    assert answer(VALUES, "subset", rng()) == ([((0, 1, 2, 3, 4), (0, 1, 3))], 3)
    assert answer(VALUES, "pair", rng()) == ([((0, 1), (0, 1))], 1)


def test_who_must_name_one_names_any_that_is_unbeaten():
    named = {answer(VALUES, "best", np.random.default_rng(seed))[0][0][1] for seed in range(40)}
    assert named == {(0,), (1,), (3,)}


def test_the_worst_beats_no_other_and_an_order_is_repeated_choice():
    for seed in range(20):
        (_, *below), marks = answer(VALUES[1:3], "best-worst", np.random.default_rng(seed))
        assert (below, marks) == ([], 2)
        choices, _ = answer(VALUES, "ranking", np.random.default_rng(seed))
        places = [kept[0] for _, kept in choices]
        assert places.index(1) < [*places, 2].index(2)  # what is beaten comes after what beats it
    order = np.array([[5.0], [1.0], [4.0], [2.0], [3.0]])
    choices, marks = answer(order, "ranking", rng())
    assert [kept for _, kept in choices] == [(0,), (2,), (4,), (3,)]
    assert marks == 4
    choices, marks = answer(order, "first two", rng())
    assert ([kept for _, kept in choices], marks) == ([(0,), (2,)], 2)
    choices, marks = answer(order, "best-worst", rng())
    assert choices[1:] == [((2, 1), (2,)), ((3, 1), (3,)), ((4, 1), (4,))]


def test_with_one_objective_the_best_is_the_subset():
    one, other = (taught("one objective", way, 4, 8, 0) for way in ("subset", "best"))
    assert one == other


def test_every_trial_has_figures_and_the_report_a_row_for_each_way(tmp_path):
    header = "question,rater,mode,minutes,cost_chf,headway_minutes,season_ticket,chosen"
    lines = [
        f"{q},1,{mode},{60 + 10 * at + q},{20 - at},{30},0,{int(at == q % 3)}"
        for q in range(12)
        for at, mode in enumerate(("train", "swissmetro", "car"))
    ]
    lines.append("99,1,train,60,20,30,0,1")  # of fewer alternatives: left out
    (tmp_path / "swissmetro.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    singles = bench_logit.read(tmp_path, bench_logit.SWISSMETRO, most=10)
    assert singles.X.shape == (10, 3, 7)
    real = {"swissmetro": singles}
    grid = trials(TINY, real=real)
    assert len(grid) == len(PEOPLE) * len(WAYS) + 2 * 5
    some = [each for each in grid if each.method in ("subset", "ranking", "multinomial logit")]
    done = [FinishedTrial(each, run_trial(each, real), 0.1, "2026-01-31T12:00:00+00:00", "0") for each in some]
    for each in done:
        assert 0.0 <= each.result["accuracy"] <= 1.0
        assert each.result["log_score"] < 0.0
    found = answers_report.section(done)
    tables = [block for block in found.blocks if isinstance(block, Table)]
    assert [table.row_count for table in tables] == [2, 2, 1]


def test_the_folds_are_learned_from_without_what_is_predicted():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(50, 3, 2))
    singles = bench_logit.Singles(X, X[..., 0].argmax(1))
    seen = []

    def method(train, test):
        seen.append((train.X, test))
        return np.log(np.full((len(test), 3), 1 / 3))

    for fold in range(answers_trials.FOLDS):
        found = answers_trials.predicted(singles, method, fold)
        assert found["log_score"] == pytest.approx(-np.log(3))
    assert sorted(len(test) for _, test in seen) == [10] * 5
    for train, test in seen:
        assert not (train[:, None] == test[None]).all((2, 3)).any()
