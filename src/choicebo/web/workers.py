"""The processes that compute, so that pages are served meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, ParamSpec, TypeVar

from choicebo._runtime import limit_blas_threads
from choicebo.study import StorageError, compute

P = ParamSpec("P")
T = TypeVar("T")

_POLITENESS = 5
"""By how much the processes stand back for the server itself (``os.nice``)."""


class WorkerPool(Executor):
    """A pool of processes that is started anew when one of them dies; threads may share it."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._pool: ProcessPoolExecutor | None = None
        self._closed = False
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Compute ``fn(*args)`` in one of the processes."""
        limit_blas_threads()  # what the processes inherit
        for attempt in (1, 2):
            with self._lock:
                if self._closed:
                    # Work that was cut off by the end must not begin again: nobody would be there to end it.
                    raise StorageError("The server is being stopped: try again in a moment.")
                if self._pool is None:
                    context = multiprocessing.get_context("spawn")
                    self._pool = ProcessPoolExecutor(self.processes, mp_context=context, initializer=_begin)
                pool = self._pool
            try:
                return pool.submit(fn, *args, **kwargs)
            except BrokenProcessPool:
                with self._lock:
                    if self._pool is pool:
                        self._pool = None
                if attempt == 2:
                    raise
        raise AssertionError

    def warm(self) -> None:
        """Start the processes, each of which loads what every computation needs."""
        for _ in range(self.processes):
            self.submit(os.getpid)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop the processes; what they are at is lost and is computed again when needed."""
        with self._lock:
            pool, self._pool = self._pool, None
            self._closed = True
        if pool is None:
            return
        running: dict[int, Any] = dict(getattr(pool, "_processes", None) or {})
        for process in running.values():
            process.terminate()
        pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def _begin() -> None:
    # Ctrl-C goes to the whole group; the server is the one to end its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_POLITENESS)
    compute.be_ready()
