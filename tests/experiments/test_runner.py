"""The runner against real processes: killed, interrupted, and spread over a cluster."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from choicebo.errors import InvalidInputError
from choicebo.experiments import optimisation_trials
from choicebo.experiments.executors import outcomes
from choicebo.experiments.progress import Forecast
from choicebo.experiments.result_file import ResultFile
from choicebo.experiments.runner import TrialsFailedError, run
from choicebo.experiments.trials import Trial

PROTOCOL = optimisation_trials.Protocol(("zdt1", "zdt2", "dtlz1"), ("sobol",), iterations=250, repetitions=10)
ARGUMENTS = ["reproduce", "bo", "--methods", "sobol", "--problems", "zdt1,zdt2,dtlz1", "--iterations", "250"]
PATIENCE = 120.0


def trial(repetition: int, method: str = "square") -> Trial:
    return Trial("test", "numbers", method, repetition)


def square(each: Trial) -> dict:
    return {"value": each.repetition**2}


def square_of_even(each: Trial) -> dict:
    if each.repetition % 2:
        raise ValueError(f"{each.repetition} is\nodd")
    return square(each)


def square_in_a_worker_that_is_killed_once(each: Trial) -> dict:
    mark = Path(each.settings["folder"]) / "killed"
    if each.repetition == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(each)


def square_after_so_many_seconds(each: Trial) -> dict:
    time.sleep(each.settings["seconds"])
    return square(each)


def killed(each: Trial) -> dict:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def curves(file: ResultFile, grid: list[Trial]) -> dict[str, list[float]]:
    """What must not depend on where and when a trial was worked on."""
    return {done.trial.name: done.result["log_hv_difference"] for done in file.of(grid)}


@pytest.fixture(scope="module")
def local_curves(tmp_path_factory) -> dict[str, list[float]]:
    file = ResultFile(tmp_path_factory.mktemp("local") / "bo.jsonl")
    run(optimisation_trials.trials(PROTOCOL), optimisation_trials.run_trial, file)
    return curves(file, optimisation_trials.trials(PROTOCOL))


# A shell that runs the tests in the background may have Ctrl-C ignored, which a child inherits.
MINDS_CTRL_C = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("choicebo", run_name="__main__", alter_sys=True)
"""


def start(out: Path, *more: str) -> subprocess.Popen:
    command = [sys.executable, "-c", MINDS_CTRL_C, *ARGUMENTS, "--repetitions", "10", "--out", str(out), *more]
    # A session of its own, so that a signal to its group reaches its workers as Ctrl-C in a terminal does.
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_lines(path: Path, lines: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_bytes().count(b"\n") >= lines):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"no {lines} results after {PATIENCE} s"
        time.sleep(0.01)


def group_exists(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_trials_and_are_stored(tmp_path, jobs):
    file, grid = ResultFile(tmp_path / "test.jsonl"), [trial(k) for k in range(5)]
    finished = run(grid, square, file, jobs=jobs)
    assert [done.result["value"] for done in finished] == [0, 1, 4, 9, 16]
    assert {done.trial.name for done in file.read()} == {each.name for each in grid}


def test_a_trial_whose_worker_is_killed_is_run_again(tmp_path):
    grid = [Trial("test", "numbers", "square", k, {"folder": str(tmp_path)}) for k in range(6)]
    finished = run(grid, square_in_a_worker_that_is_killed_once, ResultFile(tmp_path / "test.jsonl"), jobs=2)
    assert (tmp_path / "killed").exists()
    assert [each.result["value"] for each in finished] == [0, 1, 4, 9, 16, 25]


def test_whoever_stops_early_does_not_wait_for_trials_under_way():
    grid = [Trial("test", "numbers", "square", k, {"seconds": seconds}) for k, seconds in enumerate((0, 300))]
    arriving = outcomes(square_after_so_many_seconds, grid, jobs=2)
    assert next(arriving).trial == grid[0]
    began = time.monotonic()
    arriving.close()
    for worker in multiprocessing.active_children():
        worker.join(timeout=PATIENCE)
    assert time.monotonic() - began < PATIENCE


def test_a_trial_that_always_kills_its_worker_is_given_up(tmp_path):
    with pytest.raises(TrialsFailedError, match=r"1 of the trials failed.*BrokenProcessPool"):
        run([trial(0)], killed, ResultFile(tmp_path / "test.jsonl"), jobs=2)


def test_what_is_stored_is_not_worked_on_again(tmp_path):
    file, worked_on = ResultFile(tmp_path / "test.jsonl"), []

    def noted(each: Trial) -> dict:
        worked_on.append(each.repetition)
        return square(each)

    run([trial(0), trial(1)], noted, file)
    run([trial(1), trial(2)], noted, file)
    assert worked_on == [0, 1, 2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_that_fails_takes_no_other_along_and_is_tried_again(tmp_path, jobs):
    file, grid = ResultFile(tmp_path / "test.jsonl"), [trial(k) for k in range(5)]
    with pytest.raises(
        TrialsFailedError, match=r"2 of the trials failed.*test/numbers/square/[13]: ValueError: [13] is odd"
    ):
        run(grid, square_of_even, file, jobs=jobs)
    assert [done.trial.repetition for done in file.of(grid)] == [0, 2, 4]
    assert "Traceback" in (tmp_path / "test.failed.txt").read_text()
    assert len(run(grid, square, file)) == 5


def test_a_grid_with_the_same_trial_twice_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="two trials of the same name"):
        run([trial(0), trial(0)], square, ResultFile(tmp_path / "test.jsonl"))


def test_a_killed_run_loses_no_result_and_the_same_command_completes_it(tmp_path, local_curves):
    file, grid = ResultFile(tmp_path / "bo.jsonl"), optimisation_trials.trials(PROTOCOL)
    killed = start(tmp_path)
    wait_for_lines(file.path, 3, killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    survived = curves(file, grid)
    assert 3 <= len(survived) < len(grid)
    before = file.path.read_bytes()
    file.path.write_bytes(before[: -len(before.splitlines()[-1]) // 2])  # as if it had died while writing

    resumed = start(tmp_path)
    output, errors = resumed.communicate(timeout=PATIENCE)
    assert resumed.returncode == 0, errors
    assert "zdt1" in output
    assert curves(file, grid) == local_curves
    assert {name: local_curves[name] for name in survived} == survived
    assert file.path.read_bytes().startswith(before.rsplit(b"\n", 2)[0])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_the_run_cleanly_and_says_how_to_go_on(tmp_path, jobs, local_curves):
    file = ResultFile(tmp_path / "bo.jsonl")
    process = start(tmp_path, "--jobs", jobs)
    wait_for_lines(file.path, 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert "of 30 trials are stored" in " ".join(errors.split())
    assert "Traceback" not in errors, errors
    stored = curves(file, optimisation_trials.trials(PROTOCOL))
    assert 2 <= len(stored) < 30
    assert stored.items() <= local_curves.items()


def test_workers_do_not_outlive_a_runner_that_is_killed(tmp_path):
    process = start(tmp_path, "--jobs", "2")
    wait_for_lines(tmp_path / "bo.jsonl", 2, process)
    process.kill()
    process.communicate(timeout=PATIENCE)  # workers hold the other ends
    deadline = time.monotonic() + PATIENCE
    while group_exists(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not group_exists(process.pid)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, each a process of its own: address and workers."""
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    worker += ["--no-dashboard", "--local-directory", str(tmp_path)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen(command, **quiet) for command in (scheduler, worker, worker)]
    yield address, processes[1:]
    for process in reversed(processes):
        process.kill()
        process.wait()


def test_a_cluster_that_loses_a_worker_gives_the_results_of_a_local_run(tmp_path, cluster, local_curves):
    import distributed

    address, workers = cluster
    with distributed.Client(address, timeout="60s", set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    file, grid = ResultFile(tmp_path / "bo.jsonl"), optimisation_trials.trials(PROTOCOL)
    process = start(tmp_path, "--cluster", address)
    wait_for_lines(file.path, 3, process)
    workers[0].kill()
    assert len(file.read()) < len(grid)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert workers[1].poll() is None
    assert curves(file, grid) == local_curves


def test_an_address_where_nobody_answers_is_said_to_be_one(monkeypatch):
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.setattr("choicebo.serving.cluster._CONNECT_SECONDS", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(InvalidInputError, match=f"No dask scheduler answers at '{address}'"):
        next(outcomes(square, [trial(0)], cluster=address))


def test_the_time_left_is_that_of_trials_of_the_same_kind():
    grid = [trial(k, method) for k in range(3) for method in ("slow", "quick")]
    forecast = Forecast((), grid, workers=2)
    assert forecast.seconds_left() is None
    forecast.ended(grid[0], 10.0)
    assert forecast.seconds_left() is None
    forecast.ended(grid[1], 2.0)
    assert forecast.seconds_left() == pytest.approx((2 * 10 + 2 * 2) / 2)
    forecast.ended(grid[2], None)
    assert forecast.seconds_left() == pytest.approx((10 + 2 * 2) / 2)
