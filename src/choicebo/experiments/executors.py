"""Where trials are run: in this process, in several on this machine, or on a cluster.

Several processes and a cluster are both a ``concurrent.futures.Executor``.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from choicebo._runtime import limit_blas_threads, one_blas_thread, threads
from choicebo.errors import ChoiceboError
from choicebo.experiments.trials import Trial
from choicebo.serving.cluster import Cluster

Work = Callable[[Trial], dict[str, Any]]
"""What turns a trial into its result, as JSON values. It must be picklable unless all runs in this process."""

Outcomes = Generator["Outcome", None, None]

_MOST_POOLS = 3
"""How often processes are started: once, and again after one of them was killed."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial: a result, or an error."""

    trial: Trial
    result: dict[str, Any] | None
    seconds: float
    error: str = ""
    """One line."""
    traceback: str = ""


def outcomes(work: Work, trials: Sequence[Trial], jobs: int = 1, cluster: str | None = None) -> Outcomes:
    """The outcomes of the trials, in the order in which they end.

    Trials under way when a worker was killed are run again; on a cluster its scheduler sees to that.

    Args:
        work: What runs a trial.
        trials: Those to be run.
        jobs: Processes on this machine; 1 is this process itself.
        cluster: Address of the dask scheduler to use instead.
    """
    if cluster is None and jobs == 1:
        yield from (attempt(work, trial) for trial in trials)
        return
    missing = list(trials)
    for pools_left in reversed(range(_MOST_POOLS)):
        lost = []
        with _processes(jobs) if cluster is None else Cluster(cluster) as executor:
            with _ctrl_c_ignored():  # worker processes start with the first trials
                futures = {executor.submit(attempt, work, trial): trial for trial in missing}
            for future in as_completed(futures):
                try:
                    outcome: Outcome = future.result()
                except Exception as error:  # of the executor: one of the work itself is an outcome
                    if isinstance(error, BrokenProcessPool) and pools_left:
                        lost.append(futures[future])
                        continue
                    outcome = _failed(futures[future], error, 0.0, repr(error))
                yield outcome
        if not lost:
            return
        missing = lost


def attempt(work: Work, trial: Trial) -> Outcome:
    """Run a trial with one BLAS thread; an error is an outcome, so that it does not take other trials along."""
    began = time.perf_counter()
    try:
        with one_blas_thread():
            result = work(trial)
    except Exception as error:
        return _failed(trial, error, time.perf_counter() - began, traceback.format_exc())
    return Outcome(trial, result, time.perf_counter() - began)


def _failed(trial: Trial, error: BaseException, seconds: float, text: str) -> Outcome:
    shown = str(error) if isinstance(error, ChoiceboError) else f"{type(error).__name__}: {error}"
    return Outcome(trial, None, seconds, " ".join(shown.split()), text)


@contextmanager
def _processes(jobs: int) -> Iterator[Executor]:
    """Processes on this machine, which end with the block, whatever they are at."""
    limit_blas_threads()  # worker processes inherit the environment
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, context, _begin_worker, (max(1, threads() // jobs),))
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()


def _begin_worker(share: int) -> None:
    """Use that many threads, and end with the process that started this one, even if that is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["CHOICEBO_THREADS"] = str(share)
    threading.Thread(target=_end_with_the_runner, daemon=True).start()


def _end_with_the_runner() -> None:
    runner = multiprocessing.parent_process()
    assert runner is not None
    runner.join()
    os._exit(1)


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a moment, so that processes that start in it ignore it for good.

    A terminal sends Ctrl-C to the workers too, each of which would print a traceback from wherever it happens to be,
    also from its imports. Ending them is up to this process.
    """
    if threading.current_thread() is not threading.main_thread():  # where Python lets no one change a handler
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
