import json

import pytest

from choicebo.experiments.result_file import ResultFile
from choicebo.experiments.trials import FinishedTrial, Trial


def done(repetition: int, value: float = 1.0) -> FinishedTrial:
    return FinishedTrial(
        Trial("bo", "zdt1", "sobol", repetition), {"value": value}, 0.5, "2026-01-01T00:00:00+00:00", "0.1.0"
    )


@pytest.fixture
def file(tmp_path) -> ResultFile:
    return ResultFile(tmp_path / "new folder" / "bo.jsonl")


def test_results_come_back_in_the_order_of_their_arrival(file):
    for repetition in (2, 0, 1):
        file.append(done(repetition))
    assert file.read() == [done(2), done(0), done(1)]
    assert all(json.loads(line) for line in file.path.read_text().splitlines())


def test_nothing_has_been_done_where_there_is_no_file(file):
    assert file.read() == []
    assert file.missing([done(0).trial]) == [done(0).trial]


def test_wherever_a_crash_cuts_the_file_only_the_last_result_is_lost_and_the_next_one_is_kept(file):
    file.append(done(0))
    first = file.path.stat().st_size
    file.append(done(1))
    whole = file.path.read_bytes()
    for cut in range(first, len(whole) - 1):
        file.path.write_bytes(whole[:cut])
        assert file.read() == [done(0)]
        file.append(done(2))
        assert file.read() == [done(0), done(2)]


def test_a_line_whose_newline_alone_is_missing_still_counts(file):
    file.append(done(0))
    file.path.write_bytes(file.path.read_bytes()[:-1])
    file.append(done(1))
    assert file.read() == [done(0), done(1)]


def test_two_runs_of_one_trial_count_once(file):
    file.append(done(0, value=1.0))
    file.append(done(0, value=2.0))
    assert file.read() == [done(0, value=1.0)]


def test_of_some_trials_the_finished_are_given_in_their_order_and_the_others_are_missing(file):
    grid = [done(k).trial for k in range(4)]
    for repetition in (3, 1):
        file.append(done(repetition))
    assert file.of(grid) == [done(1), done(3)]
    assert file.missing(grid) == [grid[0], grid[2]]


def test_a_result_that_is_no_json_is_refused_and_leaves_the_file_alone(file):
    file.append(done(0))
    with pytest.raises(ValueError, match="not JSON compliant"):
        file.append(done(1, value=float("nan")))
    assert file.read() == [done(0)]
