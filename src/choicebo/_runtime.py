"""What must be true of the process when numerics run: threads."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def limit_blas_threads() -> None:
    """Ask BLAS for one thread per process: of this one if NumPy is not loaded yet, and of those that it starts.

    The matrices here are small (some hundred rows). On a busy two-core machine OpenBLAS's own threads made a 154 x 154
    Cholesky factor 50 times slower. A value that the user has set is left alone.
    """
    global _asked_late
    _asked_late |= "numpy" in sys.modules and "OPENBLAS_NUM_THREADS" not in os.environ
    for name in _THREAD_VARIABLES:
        os.environ.setdefault(name, "1")


_asked_late = False
"""Whether the environment asks for one thread since NumPy was loaded, and so says nothing about this process."""


class _BlasLimit:
    """One BLAS thread for as long as anybody needs it; the limit holds for the whole process, and several may need it at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._users == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


_blas_limit = _BlasLimit()


def one_blas_thread() -> contextlib.AbstractContextManager[None]:
    """Limit BLAS to one thread inside a ``with`` block, for library use where NumPy is loaded already; threads may share it."""
    is_limited = os.environ.get("OPENBLAS_NUM_THREADS") == "1" and not _asked_late
    return contextlib.nullcontext() if is_limited else _blas_limit


def threads() -> int:
    """How many threads to use: as many as this process has processors, or fewer if ``CHOICEBO_THREADS`` says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        return max(1, min(cores, int(os.environ["CHOICEBO_THREADS"])))
    except (KeyError, ValueError):
        return cores


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
    """``function`` of each item, in order, in threads: compiled code on small arrays keeps one processor busy at most.

    The caller may stop early and close the generator; items that have not begun by then are skipped.
    """
    waiting = list(items)
    count = min(threads(), len(waiting))
    if count <= 1:
        yield from map(function, waiting)
        return
    with ThreadPoolExecutor(count, thread_name_prefix="choicebo") as pool:
        try:
            for future in [pool.submit(function, item) for item in waiting]:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
