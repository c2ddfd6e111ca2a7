"""The experiment about known objectives: pairs that begin alike, and tasks whose knowledge is true."""

from __future__ import annotations

import numpy as np
import pytest

from choicebo.experiments import known_trials
from choicebo.experiments.trials import FinishedTrial


@pytest.mark.parametrize("task", known_trials.TASKS)
def test_what_is_known_is_one_of_the_objectives(task):
    found = known_trials.TASKS[task](0)
    points = found.known.sobol(40, seed=1)
    known, values = found.known.known(points)[:, 0], found.objectives(points)
    assert values.shape == (40, found.count)
    correlations = [np.corrcoef(known, column)[0, 1] for column in values.T]
    assert max(correlations) == pytest.approx(1.0)
    np.testing.assert_array_equal(found.hidden.sobol(5, seed=1), found.known.sobol(5, seed=1))


def test_both_studies_begin_alike_and_are_compared_in_a_table():
    trials = [trial for trial in known_trials.trials(1, 1) if trial.task == "zdt1"]
    finished = [FinishedTrial(trial, known_trials.run_trial(trial), 1.0, "", "") for trial in trials]
    curves = {done.trial.method: done.result["log_hv_difference"] for done in finished}
    assert curves["known"][0] == curves["hidden"][0]
    assert curves["known"][1] <= curves["known"][0]
    table = known_trials.table(finished)
    assert list(table.columns[1].cells) == ["0"]
    assert list(table.columns[4].cells) == ["0.000"]
