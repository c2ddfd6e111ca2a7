"""The reproduce commands, with the fits replaced where only what surrounds them is tested."""

import json

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from choicebo.__main__ import build_app
from choicebo.experiments import (
    accuracy_trials,
    datasets,
    latent_dim_trials,
    optimisation_trials,
    provenance,
    raters_electricity,
    raters_simulated,
    raters_sushi,
    reproduce,
)
from choicebo.experiments.datasets import RealData
from choicebo.experiments.problems import DEVELOPMENT
from choicebo.experiments.trials import FinishedTrial, Trial
from choicebo.model.posterior import PREDICTION_RULES


def made_up(trial: Trial, sets: object = None) -> dict:
    """The result of an accuracy trial, without the work."""
    if trial.task == accuracy_trials.PICTURE:
        line = np.linspace(-1, 1, 200).tolist()
        return {"mean": [line, line], "lower": [line, line], "upper": [line, line], "options": [0.0]}
    result = {"task": trial.task, "seconds": 1.0, "problems": []}
    if trial.method == accuracy_trials.ORACLE_GP:
        return result | {"oracle": 0.8, "exact": 0.81 if trial.experiment == "toy" else None}
    by_rule = dict.fromkeys(PREDICTION_RULES, 0.75)
    reached = by_rule if trial.method == accuracy_trials.CHOICE_GP else 0.5
    return result | {"n_choices": trial.settings["n_choices"], "accuracy": reached, "model": trial.method}


def selection(trial: Trial) -> dict:
    if trial.method == latent_dim_trials.CEILING:
        return {"exact": 0.9, "oracle": 0.8}
    row = {"elpd": -10.0, "se": 2.0, "worst_khat": 0.4, "refits": 0, "seconds": 1.0}
    accuracy = {str(n): dict.fromkeys(PREDICTION_RULES, 0.6) for n in range(1, 5)}
    return {"rows": [row] * 4, "accuracy": accuracy, "best": 1, "stopped_at": 2, "best_of_all": 1, "largest_score": 1}


def invoke(*arguments: str):
    result = CliRunner().invoke(build_app(), ["reproduce", *arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def without_fits(monkeypatch):
    monkeypatch.setattr(accuracy_trials, "run_toy_trial", made_up)
    monkeypatch.setattr(accuracy_trials, "run_real_trial", made_up)
    monkeypatch.setattr(latent_dim_trials, "run_trial", selection)
    quick = optimisation_trials.Protocol(("branin-currin", "zdt2"), ("sobol",), iterations=5, repetitions=2)
    monkeypatch.setattr(optimisation_trials, "QUICK", quick)
    rows = np.random.default_rng(0).random((20, 2))
    monkeypatch.setattr(
        datasets, "real_data", lambda name, folder: RealData(name, rows, rows, ("a", "b"), ("y", "z"), (1, -1))
    )


def test_the_toy_command_prints_a_table_and_writes_results_and_report(without_fits, tmp_path):
    result = invoke("toy", "--quick", "--out", str(tmp_path / "out"))
    assert "0.750 ± 0.000" in result.stdout
    stored = [json.loads(line) for line in (tmp_path / "out" / "toy.jsonl").read_text().splitlines()]
    assert sum((each["task"], each["method"]) == ("toy", "choice-gp") for each in stored) == 10
    assert "N = 300" not in (tmp_path / "out" / "toy.md").read_text()
    for name in ("toy.html", "toy.png"):
        assert (tmp_path / "out" / name).stat().st_size > 0


def test_a_second_run_works_on_nothing_again(without_fits, tmp_path, monkeypatch):
    invoke("toy", "--out", str(tmp_path))
    stored = (tmp_path / "toy.jsonl").read_bytes()
    monkeypatch.setattr(accuracy_trials, "run_toy_trial", lambda trial: pytest.fail(f"{trial.name} was run again"))
    invoke("toy", "--out", str(tmp_path))
    assert (tmp_path / "toy.jsonl").read_bytes() == stored


def test_what_is_stored_can_be_reported_without_running_the_rest(without_fits, tmp_path, monkeypatch):
    few = ("--methods", "sobol", "--problems", "zdt2", "--iterations", "5", "--out", str(tmp_path))
    invoke("bo", "--repetitions", "2", *few)
    monkeypatch.setattr(optimisation_trials, "run_trial", lambda trial: pytest.fail("something was run"))
    invoke("bo", "--repetitions", "15", "--stored", *few)
    assert "| bo | sobol | 2 of 15 |" in (tmp_path / "bo.md").read_text()


@pytest.mark.parametrize("experiment", ["toy", "dimension", "stopping", "raters", "bo"])
def test_where_nothing_is_stored_nothing_can_be_reported(experiment, tmp_path):
    nothing = CliRunner().invoke(build_app(), ["reproduce", experiment, "--stored", "--out", str(tmp_path)])
    assert nothing.exit_code == 1
    assert "holds no results of this experiment" in nothing.stderr


@pytest.mark.parametrize(
    ("experiment", "own"),
    [
        ("toy", {"seed"}),
        ("real", {"data", "seed", "splits", "scaling"}),
        ("dimension", {"seed"}),
        ("stopping", {"seed"}),
        ("raters", {"data", "seed", "parts", "repetitions"}),
        ("bo", {"problems", "methods", "repetitions", "iterations", "noise", "lapse"}),
        ("all", {"data", "seed", "scaling"}),
    ],
)
def test_all_experiments_share_the_options_of_a_run_and_have_their_own(experiment, own):
    command = get_command(reproduce.app).commands[experiment]
    assert {option.name for option in command.params} == {"full", "out", "jobs", "cluster", "stored", *own}
    assert command.help
    assert all(option.help for option in command.params)


def test_the_real_report_states_columns_and_signs(without_fits, tmp_path):
    invoke("real", "--data", str(tmp_path), "--out", str(tmp_path))
    text = (tmp_path / "real.md").read_text()
    assert "| slump | 20 | a, b | + y<br>- z |" in text
    assert "0.39" in text
    assert "min-max" in text


def test_the_rows_are_divided_into_folds_as_often_as_asked_for(without_fits, tmp_path):
    def run(splits):
        invoke("real", "--data", str(tmp_path), "--out", str(tmp_path), "--splits", str(splits))
        return [json.loads(line) for line in (tmp_path / "real.jsonl").read_text().splitlines()]

    once, often = run(1), run(3)
    assert {line["settings"]["seed"] for line in once} == {0}
    assert {line["settings"]["seed"] for line in often} == {0, 1, 2}
    assert len(often) == 3 * len(once)


def test_the_real_command_without_data_says_where_they_are_published(monkeypatch):
    monkeypatch.delenv("CHOICEBO_DATA", raising=False)
    result = CliRunner().invoke(build_app(), ["reproduce", "real"])
    assert result.exit_code == 2
    assert "UCI" in result.stderr


def test_missing_data_are_told_before_the_other_experiments_start(without_fits, monkeypatch, tmp_path):
    monkeypatch.delenv("CHOICEBO_DATA", raising=False)
    result = CliRunner().invoke(build_app(), ["reproduce", "all", "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_all_experiments_are_in_one_report(without_fits, tmp_path):
    invoke("all", "--quick", "--data", str(tmp_path), "--out", str(tmp_path))
    text = (tmp_path / "report.md").read_text()
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == [
        "Toy function",
        "Real data sets",
        "Number of latent dimensions",
        "Bayesian optimisation",
        "How it was made",
    ]
    page = (tmp_path / "report.html").read_text()
    assert page.count("<img") == page.count("data:image/png;base64,") == 3
    for experiment in ("toy", "real", "dimension", "bo"):
        assert f"| {experiment} |" in text
        assert (tmp_path / f"{experiment}.jsonl").exists()


def test_problems_methods_and_sizes_can_be_chosen(tmp_path):
    invoke(
        *("bo", "--problems", "zdt1, kursawe", "--methods", "sobol", "--repetitions", "3", "--iterations", "4"),
        *("--lapse", "0.1", "--out", str(tmp_path)),
    )
    names = [json.loads(line) for line in (tmp_path / "bo.jsonl").read_text().splitlines()]
    assert {(each["task"], each["method"]) for each in names} == {("zdt1", "sobol"), ("kursawe", "sobol")}
    assert [each["settings"] for each in names] == [{"iterations": 4, "lapse": 0.1}] * 6


def test_a_group_of_problems_can_be_chosen(tmp_path):
    size = ("--methods", "sobol", "--repetitions", "1", "--iterations", "1", "--out", str(tmp_path))
    invoke("bo", "--problems", "development,zdt1-turned", *size)
    tasks = [json.loads(line)["task"] for line in (tmp_path / "bo.jsonl").read_text().splitlines()]
    assert tasks == [*DEVELOPMENT, "zdt1-turned"]


def test_a_method_that_does_not_exist_is_one_line_with_those_that_do(tmp_path):
    result = CliRunner().invoke(build_app(), ["reproduce", "bo", "--methods", "luck", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "No method is called 'luck'" in result.stderr
    assert "parego" in result.stderr


def test_the_grid_of_the_toy_experiment_has_the_papers_sizes():
    grid = accuracy_trials.toy_trials(range(5))
    fits = [trial for trial in grid if (trial.task, trial.method) == ("toy", "choice-gp")]
    assert [trial.settings["n_choices"] for trial in fits] == [100] * 5 + [300] * 5
    panels = [tuple(trial.settings.values()) for trial in grid if trial.task == accuracy_trials.PICTURE]
    assert sorted(panels) == [(50, 3), (50, 5), (150, 3), (150, 5)]


def people_scored(trial: Trial, **data: object) -> dict:
    """The result of a trial with several people, without the work."""
    if trial.experiment != "raters-simulated":
        n = trial.settings["people"]
        return {"log_score": [-1.0] * n, "right": [0.5] * n, "seconds": 1.0, "problems": []}
    score = {"log_score": -1.0, "right": 0.5}
    shares = {"share": [0.3, 0.3], "lower": [0.1, 0.1], "upper": [0.5, 0.5]}
    found = {"newcomer": score, "people": score, "seconds": 1.0, "problems": []}
    return found | ({"agreement": shares} if trial.method == "related" else {})


@pytest.fixture
def without_people(monkeypatch):
    for module in (raters_simulated, raters_electricity, raters_sushi):
        monkeypatch.setattr(module, "run_trial", people_scored)
    monkeypatch.setattr(raters_electricity, "read", lambda folder: None)
    monkeypatch.setattr(raters_sushi, "read", lambda folder: (None, None))
    monkeypatch.delenv("CHOICEBO_DATA", raising=False)


def test_several_people_are_reported_with_a_picture(without_people, tmp_path):
    invoke("raters", "--data", str(tmp_path), "--out", str(tmp_path))
    text = (tmp_path / "raters.md").read_text()
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["Simulated people", "Electricity suppliers", "Sushi", "How it was made"]
    assert text.startswith("# choicebo learns from several people")
    for name in (
        "raters.html",
        "raters.png",
        "raters-simulated.jsonl",
        "raters-electricity.jsonl",
        "raters-sushi.jsonl",
    ):
        assert (tmp_path / name).stat().st_size > 0


def test_without_data_only_simulated_people_are_run_and_it_is_told(without_people, tmp_path):
    result = invoke("raters", "--repetitions", "1", "--out", str(tmp_path))
    assert "Kamishima" in result.stderr
    assert not (tmp_path / "raters-sushi.jsonl").exists()
    stored = [json.loads(line) for line in (tmp_path / "raters-simulated.jsonl").read_text().splitlines()]
    assert {each["repetition"] for each in stored} == {0}


def test_parts_of_the_experiment_with_several_people_can_be_chosen(without_people, tmp_path):
    invoke("raters", "--parts", "sushi", "--data", str(tmp_path), "--out", str(tmp_path))
    assert not (tmp_path / "raters-simulated.jsonl").exists()
    unknown, lacking = (
        CliRunner().invoke(build_app(), ["reproduce", "raters", "--parts", part, "--out", str(tmp_path)])
        for part in ("bread", "sushi")
    )
    assert unknown.exit_code == lacking.exit_code == 2
    assert "no part is called 'bread'" in " ".join(unknown.stderr.split())
    assert "set CHOICEBO_DATA" in " ".join(lacking.stderr.split())


def test_results_and_report_name_the_commit_of_the_sources(without_fits, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda: "0123456789ab")
    invoke("toy", "--quick", "--out", str(tmp_path))
    stored = [json.loads(line) for line in (tmp_path / "toy.jsonl").read_text().splitlines()]
    assert {each["commit"] for each in stored} == {"0123456789ab"}
    assert "| commits of the results | 0123456789ab |" in (tmp_path / "toy.md").read_text()


def test_a_result_from_before_commits_were_stored_is_read():
    before = FinishedTrial(Trial("toy", "toy", "choice-gp", 0), {}, 1.0, "2026-01-01T00:00:00+00:00", "0.1.0").to_dict()
    del before["commit"]
    assert FinishedTrial.from_dict(before).commit == ""
