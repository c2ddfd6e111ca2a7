"""The experiment on the number of latent dimensions, and its report."""

from io import StringIO

from rich.console import Console

from choicebo.experiments import latent_dim_report, latent_dim_trials
from choicebo.experiments.trials import FinishedTrial


def done(trial, best, **unreliable):
    rows = [
        {"latent_dim": n, "elpd": -10.0 * n, "se": 2.0, "difference": 0.0, "difference_se": 1.0, "worst_khat": 0.5}
        | {"refits": 1, "seconds": 2.0}
        | unreliable
        for n in (1, 2, 3, 4)
    ]
    accuracy = {str(n): {"pareto": 0.9, "likelihood": 0.8, "mean": 0.8} for n in (1, 2, 3, 4)}
    result = {"rows": rows, "accuracy": accuracy, "best": best, "stopped_at": 2}
    return FinishedTrial(trial, result, 1.0, "2026-01-01T00:00:00+00:00", "0")


def test_the_full_grid_has_the_papers_data_sets_ten_times_each():
    grid = latent_dim_trials.trials(latent_dim_trials.FULL)
    models = [trial for trial in grid if trial.method != latent_dim_trials.CEILING]
    assert len(models) == 50
    assert {(trial.task, trial.settings["n_choices"]) for trial in models} == set(latent_dim_report.PAPER)


def test_those_who_see_the_objectives_are_measured_once_a_task_and_repetition():
    trials = [
        trial
        for trial in latent_dim_trials.trials(latent_dim_trials.QUICK)
        if trial.method == latent_dim_trials.CEILING
    ]
    assert {(trial.task, trial.repetition) for trial in trials} == {
        (t, r) for t in ("cos", "cos-sin") for r in range(3)
    }
    found = [latent_dim_trials.run_trial(trial) for trial in trials if trial.task == "cos"]
    assert all(0.85 < each["exact"] <= 1.0 and 0.85 < each["oracle"] <= 1.0 for each in found)
    finished = [
        FinishedTrial(trial, latent_dim_trials.run_trial(trial), 1.0, "2026-01-01T00:00:00+00:00", "0")
        for trial in trials
    ]
    written = Console(file=StringIO(), width=150)
    written.print(latent_dim_report.ceilings(finished))
    assert f"{sum(each['exact'] for each in found) / 3:.3f} ±" in written.file.getvalue()


def test_the_table_shows_ours_beside_the_papers_and_how_often_each_was_selected():
    trials = [
        trial
        for trial in latent_dim_trials.trials(latent_dim_trials.QUICK)
        if trial.method != latent_dim_trials.CEILING
    ][:3]
    finished = [done(trial, best) for trial, best in zip(trials, (1, 1, 2), strict=True)]
    written = Console(file=StringIO(), width=150)
    written.print(latent_dim_report.table(finished))
    text = written.file.getvalue()
    assert "-10 ± 2 (-10)" in text
    assert "?" in text  # rows of older releases do not say how many scores cannot be trusted
    assert "0.90 (0.75)" in text
    assert "2/3 (1 in 10)" in text
    assert "stopped before the fourth dimension in 3 of 3" in latent_dim_report.section(finished).blocks[-1]


def test_the_table_shows_how_many_scores_cannot_be_trusted():
    trials = [
        trial
        for trial in latent_dim_trials.trials(latent_dim_trials.QUICK)
        if trial.method != latent_dim_trials.CEILING
    ][:2]
    finished = [done(trial, 1, unreliable=count) for trial, count in zip(trials, (3, 8), strict=True)]
    table = latent_dim_report.table(finished)
    (column,) = [column for column in table.columns if column.header == "poor"]
    assert list(column.cells) == ["5.5"] * 4


def test_what_is_stored_of_a_data_set_says_how_many_scores_cannot_be_trusted():
    found = latent_dim_trials.measure("cos", n_choices=12, seed=0, max_dim=1)
    (row,) = found["rows"]
    assert 0 <= row["unreliable"] <= 12 - row["refits"]
