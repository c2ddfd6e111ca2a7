"""What ``choicebo bench`` measures and how it sums it up; how long things take is for the bench itself to say."""

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from choicebo.__main__ import build_app
from choicebo.experiments import bench, bench_loop, bench_step
from choicebo.experiments.bench_loop import Course, Step
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.engines import QUESTION, Limits

START = bench.StartTiming(compile_seconds=12.0, import_seconds=0.4, first_fit_seconds=0.8, fit_seconds=0.3)


def fit(seconds: float, effective: float = 300.0) -> Diagnostics:
    return Diagnostics("hmc", 1.0, effective, 0, 0.9, -10.0, np.zeros(3), 640, seconds, QUESTION)


def course(questions: int) -> Course:
    """Fits from the fourth question on that take so many milliseconds as there are answers; the rest takes 0.1 s."""
    steps = [
        Step(n, 0.1 + n / 1000, 0.2, 2 * n, fit(n / 1000, 100.0 if n == 12 else 300.0), int(n == 12))
        if n >= 3
        else Step(n, 0.01, 0.01)
        for n in range(questions)
    ]
    return Course("palette", tuple(steps), bench.bench_data(bench.Case("hmc", questions, 20)))


def printed(table) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(table)
    return " ".join(console.export_text().split())


@pytest.mark.parametrize(("alone", "limits"), [(False, QUESTION), (True, Limits())])
def test_fits_are_timed_to_the_limits_of_a_question_and_of_a_fit_alone(alone, limits):
    assert bench.Case("hmc", 8, 10, alone=alone).made().limits == limits


def test_a_fit_is_timed_as_often_as_asked_with_a_seed_each():
    counted = []
    case = bench.Case("laplace", n_choices=8, n_options=10, set_size=3)
    found = bench.time_fit(case, repetitions=2, done=lambda: counted.append(1))
    assert len(counted) == found.repetitions == 2
    assert min(found.seconds, found.cpu_seconds, found.effective_draws) > 0
    assert found.converged <= 2
    assert bench.table([found]).row_count == 1


def test_the_first_fits_are_measured_by_two_processes_that_share_an_empty_cache(monkeypatch):
    folders = []

    def run(command, *, input, env, **_):
        folder = Path(env["NUMBA_CACHE_DIR"])
        folders.append((folder, [path.name for path in folder.iterdir()]))
        (folder / "compiled").touch()
        assert json.loads(input)["choices"]
        compile(command[-1], "first fits", "exec")
        return SimpleNamespace(stdout="[1.5, 12.0, 0.5]" if len(folders) == 1 else "[0.4, 0.9, 0.3]")

    monkeypatch.setattr(bench.subprocess, "run", run)
    found = bench.time_start()
    assert found == bench.StartTiming(12.0, 0.4, 0.9, 0.3)
    (first, before), (second, between) = folders
    assert first == second != Path(os.environ.get("NUMBA_CACHE_DIR", "."))
    assert (before, between) == ([], ["compiled"])
    assert "12.0" in printed(bench.start_table(found))


@pytest.mark.slow
def test_compiling_from_nothing_is_measured():
    found = bench.time_start(bench.Case("hmc", 10, 20))
    assert found.compile_seconds > found.first_fit_seconds > found.fit_seconds


def test_a_loop_is_measured_question_by_question():
    found = bench_loop.run(bench_loop.published("branin-currin"), 4, engine="laplace", initial_queries=2)
    assert [step.answers for step in found.steps] == [0, 1, 2, 3]
    assert [step.fit is not None for step in found.steps] == [False, False, True, True]
    assert found.steps[2].options == 10  # two questions of five
    assert all(step.wait > (step.fit.seconds if step.fit else 0.0) for step in found.steps)
    assert found.data.n_choices == 4


def test_ten_questions_are_a_row_and_the_whole_study_one_more():
    ten, twenty, rest, whole = course(30).stretches(until=23)
    assert [each.answers for each in (ten, twenty, rest, whole)] == [10, 20, 23, 23]
    assert [each.fits for each in (ten, twenty, rest, whole)] == [7, 10, 3, 20]
    assert [each.enough for each in (ten, twenty, rest, whole)] == [7, 9, 3, 19]
    assert [each.warnings for each in (ten, twenty, rest, whole)] == [0, 1, 0, 1]
    assert (twenty.median_fit, twenty.longest_fit) == pytest.approx((0.0145, 0.019))
    assert (twenty.median_wait, twenty.longest_wait) == pytest.approx((0.1145, 0.119))
    shown = printed(bench_loop.table([ten, twenty, rest, whole]))
    assert "all 23 │ 20 │ 95% │ 1 │" in shown


def test_the_person_of_the_palette_rejects_some_of_what_is_shown():
    scenario = bench_loop.palette()
    options = scenario.space.decode(scenario.space.sample(50, seed=0))
    values = scenario.objectives(options)
    assert values.shape == (50, 2)
    assert 1 < len(bench_loop.pareto_choice(values)) < 25


def test_a_step_is_a_median_over_its_neighbours_in_its_parts():
    twenty, fifty = bench_step.timings(course(52).steps, at=(20, 50, 100))
    assert (twenty.answers, twenty.options) == (20, 40)
    assert (twenty.fit_seconds, twenty.question_seconds, twenty.cpu_seconds) == pytest.approx((0.020, 0.1, 0.2))
    assert twenty.seconds == twenty.fit_seconds + twenty.question_seconds
    assert fifty.fit_seconds == pytest.approx(0.0495)  # of 48 to 51
    assert bench_step.table([twenty, fifty]).row_count == 2


@pytest.mark.parametrize(("option", "studies"), [("--quick", 1), ("--full", 3)])
def test_the_command_prints_all_of_it_and_writes_it_down(monkeypatch, tmp_path, option, studies):
    small = (bench.Case("laplace", 6, 10),)
    monkeypatch.setattr(bench, "time_start", lambda: START)
    monkeypatch.setattr(bench, "QUICK", small)
    monkeypatch.setattr(bench, "FULL", small)
    monkeypatch.setattr(bench_loop, "run", lambda scenario, questions, done: course(questions))
    path = tmp_path / "bench.json"
    result = CliRunner().invoke(build_app(), ["bench", option, "--json", str(path)])
    assert result.exit_code == 0, result.output
    for title in ("The first fit of a process", "One fit", "Fits from the loop", "One step"):
        assert title in result.output
    found = json.loads(path.read_text())
    assert found["start"]["compile_seconds"] == 12.0
    assert len(found["timings"]) == 1
    assert sum(row["whole"] for row in found["loop"]) == studies
    assert found["steps"][0]["answers"] == 20
    assert {"date", "versions", "machine"} <= set(found)


def test_quick_and_full_exclude_each_other():
    result = CliRunner().invoke(build_app(), ["bench", "--quick", "--full"])
    assert result.exit_code == 2
    assert "not both" in result.output
