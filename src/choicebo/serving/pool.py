"""Where to compute: in processes of this machine, or on a Dask cluster. Either is a ``concurrent.futures.Executor``."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, ParamSpec, TypeVar

from choicebo._runtime import limit_blas_threads
from choicebo.errors import ConvergenceWarning, InvalidInputError, StorageError

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("choicebo.serving")

_POLITENESS = 5
"""By how much the processes stand back for the server itself (``os.nice``)."""
_CLUSTER_SECONDS = 30
"""For which a scheduler is waited for."""
_LOADING = threading.Lock()


class LocalPool(Executor):
    """Processes of this machine, so that pages are served meanwhile; one that dies is replaced. Threads may share it."""

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


class Cluster(Executor):
    """The workers of a Dask scheduler, such as ``tcp://host:8786``."""

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError:
            raise InvalidInputError("A cluster needs dask.distributed: pip install 'choicebo[dask]'.") from None
        try:
            self._client = distributed.Client(address, timeout=_CLUSTER_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(
                f"No dask scheduler answers at {address!r} ({error}); start one with `dask scheduler` and give its address, "
                "for example tcp://127.0.0.1:8786."
            ) from None
        self._executor = self._client.get_executor(pure=False)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Compute ``fn(*args)`` on one of the workers."""
        found: Future[T] = self._executor.submit(fn, *args, **kwargs)
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; what is under way there ends."""
        self._executor.shutdown(wait=False)
        self._client.close()


def _begin() -> None:
    # Ctrl-C goes to the whole group; the server is the one to end its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_POLITENESS)
    be_ready()


def be_ready() -> None:
    """Make a process ready that does nothing but compute: what a first question needs is loaded before it is asked for.

    The compiled code is loaded in a thread: it may have to be compiled first, and questions without a model do not wait for that.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)  # status and result tell it to the person
    load_numerics()
    threading.Thread(target=_prepare, name="choicebo-prepare", daemon=True).start()


def load_numerics() -> None:
    """Load what every computation needs; it takes about a second.

    Threads that load a package and a module of it at the same time would find the other one half loaded: one after the other.
    """
    with _LOADING:
        import scipy.stats.qmc  # noqa: F401

        import choicebo.optimizer  # noqa: F401


def _prepare() -> None:
    from choicebo.model import compiling

    try:
        compiling.prepare()
    except Exception as error:  # the first fit meets it again, and there somebody is told
        log.info("The compiled code could not be loaded: %r", error)
