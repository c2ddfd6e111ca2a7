"""Work in threads, and how many of them BLAS has."""

import os
import subprocess
import sys
import threading
import time

import pytest

from choicebo import _runtime
from choicebo._runtime import in_parallel, threads


@pytest.fixture(params=[1, 2, 8])
def some_threads(request, monkeypatch):
    monkeypatch.setattr(_runtime, "threads", lambda: request.param)
    return request.param


def test_results_come_in_the_order_of_the_items(some_threads):
    def slow_first(number):
        time.sleep(0.02 * (number == 0))
        return number**2

    assert list(in_parallel(slow_first, range(6))) == [0, 1, 4, 9, 16, 25]
    assert list(in_parallel(slow_first, [])) == []


def test_items_are_worked_on_at_the_same_time(monkeypatch):
    monkeypatch.setattr(_runtime, "threads", lambda: 2)
    both = threading.Barrier(2, timeout=10)  # breaks unless two wait at once
    assert sorted(in_parallel(lambda number: both.wait() * 0 + number, range(2))) == [0, 1]


def test_an_error_reaches_the_caller_and_ends_the_work(some_threads):
    begun = []

    def fails(number):
        begun.append(number)
        time.sleep(0.01)
        if number == 1:
            raise ValueError("no")
        return number

    with pytest.raises(ValueError, match="no"):
        list(in_parallel(fails, range(200)))
    assert len(begun) < 100


def test_who_stops_early_leaves_nothing_running(some_threads):
    begun = []

    def work(number):
        begun.append(number)
        time.sleep(0.01)
        return number

    results = in_parallel(work, range(200))
    assert next(results) == 0
    results.close()
    so_far = len(begun)
    time.sleep(0.05)
    assert len(begun) == so_far < 100


@pytest.mark.parametrize(("wish", "least", "most"), [("1", 1, 1), ("0", 1, 1), ("many", 1, 4096), ("100000", 1, 4096)])
def test_a_variable_limits_the_threads(monkeypatch, wish, least, most):
    monkeypatch.delenv("CHOICEBO_THREADS", raising=False)
    processors = threads()
    monkeypatch.setenv("CHOICEBO_THREADS", wish)
    assert least <= threads() <= min(most, processors)


def test_blas_has_one_thread_until_the_last_who_wants_it_so_is_done(monkeypatch):
    state = []

    class Limits:
        def __init__(self, limits, user_api):
            state.append(limits)

        def restore_original_limits(self):
            state.append("as before")

    monkeypatch.setattr("threadpoolctl.threadpool_limits", Limits)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "4")
    first, second = _runtime.one_blas_thread(), _runtime.one_blas_thread()
    with first:
        second.__enter__()
    assert state == [1]  # the first one is done, the second is not
    second.__exit__(None, None, None)
    assert state == [1, "as before"]
    monkeypatch.setattr(_runtime, "_asked_late", False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    with _runtime.one_blas_thread():
        assert state == [1, "as before"]


def test_a_limit_that_came_after_numpy_is_not_taken_for_one() -> None:
    code = (
        "import numpy, threadpoolctl, scipy.linalg\n"
        "from choicebo import _runtime\n"
        "if {early}: threadpoolctl.threadpool_limits = None\n"
        "_runtime.limit_blas_threads()\n"
        "with _runtime.one_blas_thread():\n"
        "    print({{each['num_threads'] for each in threadpoolctl.threadpool_info() if each['user_api'] == 'blas'}})\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    for early in (False, True):
        given = {**environment, "OPENBLAS_NUM_THREADS": "1"} if early else environment
        done = subprocess.run(
            [sys.executable, "-c", code.format(early=early)], capture_output=True, text=True, env=given, check=True
        )
        assert done.stdout.strip() == "{1}"
