"""Where trials are worked on: in this process, in several on this machine, or on a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib

from choicebo._runtime import limit_blas_threads, one_blas_thread, threads
from choicebo.errors import ChoiceboError, InvalidInput
from choicebo.experiments.trials import Trial

Work = Callable[[Trial], dict[str, Any]]
"""What turns a trial into its result, as JSON values. It must be picklable unless all runs in this process."""

Outcomes = Generator["Outcome", None, None]

_PATIENCE = "30s"


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: a result, or the error that kept it from one."""

    trial: Trial
    result: dict[str, Any] | None
    seconds: float
    error: str = ""
    """One line."""
    traceback: str = ""


def attempt(work: Work, trial: Trial) -> Outcome:
    """Work on a trial with one BLAS thread; an error is an outcome, so that it does not take other trials along."""
    began = time.perf_counter()
    try:
        with one_blas_thread():
            result = work(trial)
    except Exception as error:
        return _failed(trial, error, time.perf_counter() - began, traceback.format_exc())
    return Outcome(trial, result, time.perf_counter() - began)


def in_this_process(work: Work, trials: Sequence[Trial]) -> Outcomes:
    """One trial after the other."""
    for trial in trials:
        yield attempt(work, trial)


def in_processes(work: Work, trials: Sequence[Trial], jobs: int) -> Outcomes:
    """Several trials at once on this machine, in the order in which they end."""
    limit_blas_threads()  # worker processes inherit the environment
    # joblib replaces a worker that has grown; no trial is lost.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
    pool = joblib.Parallel(
        n_jobs=jobs,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,
        initializer=_begin_worker,
        initargs=(os.getpid(), max(1, threads() // jobs)),
    )
    with _ctrl_c_ignored():  # the call starts the workers
        outcomes = pool(joblib.delayed(attempt)(work, trial) for trial in trials)
    try:
        for outcome in outcomes:  # noqa: UP028 (`yield from` would close the pool itself, and not quietly)
            yield outcome
    finally:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # that unfinished trials are given up
            outcomes.close()


def on_cluster(work: Work, trials: Sequence[Trial], address: str) -> Outcomes:
    """On the workers of a dask scheduler, in the order in which they end.

    The scheduler gives the trials of a worker that dies to another one.
    """
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"No dask scheduler answers at {address!r} ({error}); start one with `dask scheduler` "
            "and give its address, for example tcp://127.0.0.1:8786."
        ) from None
    with client:
        futures = client.map(partial(attempt, work), trials, key=[trial.name for trial in trials], pure=False)
        by_key = {future.key: trial for future, trial in zip(futures, trials, strict=True)}
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                lost = future.exception()  # an error of the work itself is an outcome; this is one of the cluster
                yield future.result() if lost is None else _failed(by_key[future.key], lost, 0.0, repr(lost))
        finally:
            client.cancel(futures, force=True)


def _begin_worker(runner: int, share: int) -> None:
    """Use that many threads, and end soon after the process that started this one: joblib's workers would stay for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a worker that joblib started later, instead of one that grew large
    os.environ["CHOICEBO_THREADS"] = str(share)

    def watch() -> None:
        while os.getppid() == runner:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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


def _failed(trial: Trial, error: BaseException, seconds: float, text: str) -> Outcome:
    shown = str(error) if isinstance(error, ChoiceboError) else f"{type(error).__name__}: {error}"
    return Outcome(trial, None, seconds, " ".join(shown.split()), text)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise InvalidInput(
            "A cluster was asked for, but dask.distributed is not installed; "
            "install it with pip install 'choicebo[dask]', or use --jobs on this machine."
        ) from None
    return distributed
