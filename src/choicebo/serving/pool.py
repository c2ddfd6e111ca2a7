"""Processes of this machine that compute: one that dies, hangs or grows too large is replaced, and its job is done again."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from choicebo._runtime import limit_blas_threads
from choicebo.errors import ComputationLostError, ConvergenceWarning
from choicebo.serving.computing import Computing
from choicebo.serving.fair_queue import BESIDE, URGENT, Job
from choicebo.serving.waiting_room import stopping

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("choicebo.serving")

_POLITENESS = 2, 10
"""Niceness of the worker processes (``os.nice``), so that the server goes first: of the urgent one, and of the others."""
_BEAT = 0.1
"""Seconds between two looks at a process that computes."""
_ATTEMPTS = 2
"""How often a job that kills its process is tried before it fails."""
_START_SECONDS = 120.0
"""Seconds that a new process may take to load what it needs, not counted as computing time."""
_LOADING = threading.Lock()
_WORDS = {"died": "died", "hung": "took longer than {seconds:g} s", "grew": "took more than {memory} MB of memory"}


class Caps(NamedTuple):
    """What one computation may take."""

    seconds: float = 300.0
    memory: int = 4096
    """MB of the process; checked on systems with ``/proc``."""


def default_caps(processes: int) -> Caps:
    """Half of the machine's memory for all processes together, and at least 1 GB for each."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (AttributeError, OSError, ValueError):
        return Caps()
    return Caps(memory=max(1024, total // 2 // processes))


def default_processes() -> int:
    """One for each core, and at least two: a long fit must not keep a quick question waiting."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(2, cores or 2)


class LostError(Exception):
    """A process can no longer be used; the argument is why."""


class LocalPool(Computing):
    """Processes of this machine, so that pages are served meanwhile. Threads may share it.

    If there are several, one of them computes only urgent jobs, so that it is free for quick questions whatever the others do.

    Args:
        processes: How many.
        caps: What one computation may take; None: limits that fit the machine.
    """

    def __init__(self, processes: int, caps: Caps | None = None) -> None:
        super().__init__()
        self.processes = processes
        self.caps = default_caps(processes) if caps is None else caps
        self._workers: dict[int, _Worker] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    @property
    def slots(self) -> int:
        """How many jobs are computed at the same time."""
        return self.processes

    def submit_for(self, study: str, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Compute ``fn(*args)`` in one of the processes."""
        self.warm()
        return super().submit_for(study, fn, *args, **kwargs)

    def warm(self) -> None:
        """Start the processes, each of which loads what every computation needs."""
        with self._lock:
            if self._threads or self.queue.is_closed:
                return
            limit_blas_threads()  # what the processes inherit
            self._threads = [
                threading.Thread(target=self._serve, args=(slot,), name=f"choicebo-process-{slot}", daemon=True)
                for slot in range(self.processes)
            ]
        for thread in self._threads:
            thread.start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop the processes; unfinished jobs are lost, and computed again when needed."""
        for job in self.queue.close():
            # Nobody waits for one that was cancelled.
            if job.future.running() or job.future.set_running_or_notify_cancel():
                job.future.set_exception(stopping())
        with self._lock:
            for worker in self._workers.values():
                worker.kill()
        if wait:
            for thread in self._threads:
                thread.join()

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes."""
        with self._lock:
            return tuple(worker.pid for worker in self._workers.values())

    def _serve(self, slot: int) -> None:
        """Hand one job after the other to a process."""
        only_urgent = slot == 0 and self.processes > 1
        worker = self._new_worker(slot, only_urgent)
        while (job := self.queue.take(most=URGENT if only_urgent else BESIDE, seconds=None)) is not None:
            if not job.future.running() and not job.future.set_running_or_notify_cancel():
                continue
            began = time.monotonic()
            try:
                done, value = worker.run(job, self.caps)
                self.queue.took(job, time.monotonic() - began)
            except LostError as lost:
                self._lose(job, str(lost))
                worker.kill()
                worker = self._new_worker(slot, only_urgent)
                continue
            self._end(job, None if done else value, value)
            if worker.memory > self.caps.memory:
                self._count("grew")
                worker.kill()
                worker = self._new_worker(slot, only_urgent)
        worker.kill()

    def _new_worker(self, slot: int, only_urgent: bool) -> _Worker:
        with self._lock:
            worker = self._workers[slot] = _Worker(_POLITENESS[0 if only_urgent else 1])
        if self.queue.is_closed:  # it ended while the process was started
            worker.kill()
        return worker

    def _lose(self, job: Job, why: str) -> None:
        """Do a job again whose process was lost, or report it to whoever waits for it."""
        if self.queue.is_closed:
            job.future.set_exception(stopping())
            return
        self._count(why)
        job.attempts += 1
        if job.attempts < _ATTEMPTS and self.queue.put(job, first=True):
            return
        told = _WORDS[why].format(**self.caps._asdict())
        self._end(
            job,
            ComputationLostError(
                f"The process that computed this {told}, and so did a second one: try again later, or raise the "
                "limits of the server (--most-seconds and --most-memory of `choicebo serve`)."
            ),
        )

    def _count(self, why: str) -> None:
        self.counts[why] += 1
        log.warning("A worker process %s; another one takes its place.", _WORDS[why].format(**self.caps._asdict()))


class _Worker:
    """One process, and the line to it."""

    def __init__(self, politeness: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(target=_work, args=(theirs, politeness), daemon=True)
        self._process.start()
        theirs.close()
        self.pid = self._process.pid or 0
        self._is_ready = False

    def run(self, job: Job, caps: Caps) -> tuple[bool, Any]:
        """Whether a job could be computed, and its value or error.

        Raises:
            LostError: The process is no longer of use.
        """
        try:
            if not self._is_ready:
                self._await(Caps(_START_SECONDS, caps.memory))
                self._is_ready = bool(self._line.recv())
            self._line.send((job.fn, job.args, job.kwargs))
        except (OSError, EOFError):
            raise LostError("died") from None
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            return False, error
        self._await(caps)
        try:
            found: tuple[bool, Any] = self._line.recv()
        except (OSError, EOFError):
            raise LostError("died") from None
        return found

    def _await(self, caps: Caps) -> None:
        """Wait until the process says something."""
        until = time.monotonic() + caps.seconds
        while not self._line.poll(_BEAT):
            if not self._process.is_alive():
                raise LostError("died")
            if time.monotonic() > until:
                raise LostError("hung")
            if self.memory > caps.memory:
                raise LostError("grew")

    @property
    def memory(self) -> int:
        """MB that the process holds; 0 if that is not known."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE") >> 20

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        with contextlib.suppress(OSError):
            self._line.close()


def _work(line: Connection, politeness: int) -> None:
    """What a process does: compute what comes, until the line ends."""
    # Ctrl-C goes to the whole group; the server is the one to end its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(politeness)
    be_ready()
    line.send(True)
    while True:
        try:
            fn, args, kwargs = line.recv()
        except (OSError, EOFError):
            return
        try:
            outcome: tuple[bool, Any] = True, fn(*args, **kwargs)
        except BaseException as error:  # whoever waits is told
            error.add_note(traceback.format_exc())
            outcome = False, error
        try:
            found = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            found = pickle.dumps((False, RuntimeError(f"{outcome[1]!r} cannot be sent: {error!r}")))
        del fn, args, kwargs, outcome  # nothing large is held until the next job
        try:
            line.send_bytes(found)
        except OSError:  # the server has ended meanwhile
            return


def be_ready() -> None:
    """Make a process ready that does nothing but compute: what a first question needs is loaded before it is asked for.

    The compiled code is loaded in a thread: it may have to be compiled first, and questions without a model do not wait for that.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)  # status and result tell it to the person
    keep_memory()
    load_numerics()
    threading.Thread(target=_prepare, name="choicebo-prepare", daemon=True).start()


def keep_memory() -> None:
    """Let the C library keep some memory that was freed for the next array, where it was told to return all of it.

    Dask's nannies tell it so (``MALLOC_TRIM_THRESHOLD_``). Every array is then new memory, and a question takes four times as
    long.
    """
    if "MALLOC_TRIM_THRESHOLD_" in os.environ and sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # another C library
            library = ctypes.CDLL(None)
            for option, size in _KEPT_MEMORY.items():
                library.mallopt(option, size)


_KEPT_MEMORY = {-1: 64 << 20, -3: 8 << 20}
"""Bytes by the numbers of ``mallopt``: what a heap keeps (M_TRIM_THRESHOLD), and what is taken from it (M_MMAP_THRESHOLD)."""


def politely(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Compute something long in a thread that lets others of the machine go first, as quick questions of another process.

    Without privileges a process cannot take its niceness back; on Linux it is a thread's own, and ends with it.
    """
    with ThreadPoolExecutor(1, initializer=_be_nice) as thread:
        return thread.submit(fn, *args, **kwargs).result()


def _be_nice() -> None:
    if sys.platform == "linux":
        me = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, me, max(os.getpriority(os.PRIO_PROCESS, me), _POLITENESS[1]))


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
