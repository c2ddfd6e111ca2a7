"""What computes: one interface for the processes of this machine and for a cluster."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, Protocol, TypeVar

from choicebo.serving.fair_queue import FairQueue, Job
from choicebo.serving.waiting_room import stopping

P = ParamSpec("P")
T = TypeVar("T")


class Computing(Executor):
    """Computes one study after the other, so that a busy one does not starve the others. Threads share it.

    A subclass takes jobs from :attr:`queue`, and counts what happens in :attr:`counts`.
    """

    def __init__(self) -> None:
        self.queue = FairQueue()
        self.counts: Counter[str] = Counter()
        """How many jobs were ``done`` or ``failed``, and workers lost, by reason."""

    @property
    def slots(self) -> int:
        """How many jobs are computed at the same time."""
        raise NotImplementedError

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Compute ``fn(*args)``."""
        return self.submit_for("", fn, *args, **kwargs)

    def submit_for(self, study: str, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Compute ``fn(*args)`` for a study."""
        job = Job(fn, args, kwargs, study)
        if not self.queue.put(job):
            # Work that was cut off by the end must not begin again: nobody would be there to end it.
            raise stopping()
        return job.future

    def of_study(self, study: str) -> Executor:
        """What computes for one study."""
        return _OfStudy(self, study)

    def warm(self) -> None:
        """Load what every computation needs before somebody waits for it."""

    def _end(self, job: Job, error: BaseException | None, value: object = None) -> None:
        """Hand the result of a job to whoever waits for it."""
        self.counts["done" if error is None else "failed"] += 1
        if job.future.cancelled():
            return
        if error is None:
            job.future.set_result(value)
        else:
            job.future.set_exception(error)


class _OfStudy(Executor):
    def __init__(self, computing: Computing, study: str) -> None:
        self._computing, self._study = computing, study

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._computing.submit_for(self._study, fn, *args, **kwargs)


def executor_for(pool: Executor, study: str) -> Executor:
    """Where a study computes: in its turn if the pool knows studies."""
    return pool.of_study(study) if isinstance(pool, Computing) else pool


class Limited(Protocol):
    """Says how many may run at once."""

    def __call__(self) -> int:
        """At least 1."""
        ...


class FairThreads:
    """Threads that take jobs fairly, no more at once than a limit allows at the moment. Threads share it."""

    def __init__(self, executor: Executor, limit: Limited) -> None:
        self._executor, self._limit = executor, limit
        self._queue = FairQueue()
        self._running = 0
        self._lock = threading.Lock()

    def submit(self, study: str, work: Callable[[], T]) -> Future[T]:
        """Do some work for a study when its turn comes."""
        job = Job(work, study=study)
        if not self._queue.put(job):
            raise stopping()
        self._dispatch()
        return job.future

    @property
    def waiting(self) -> int:
        """How many jobs wait for their turn."""
        return sum(self._queue.lengths())

    def shutdown(self) -> None:
        """Start no more jobs, and tell everybody who waits."""
        for job in self._queue.close():
            job.future.set_exception(stopping())

    def _dispatch(self) -> None:
        while True:
            with self._lock:
                job = self._queue.take() if self._running < max(1, self._limit()) else None
                if job is None:
                    return
                self._running += 1
            job.future.set_running_or_notify_cancel()
            try:
                self._executor.submit(self._run, job)
            except RuntimeError:  # the threads are being stopped
                job.future.set_exception(stopping())
                return

    def _run(self, job: Job) -> None:
        try:
            found = job.fn()
        except BaseException as error:  # whoever waits is told
            job.future.set_exception(error)
        else:
            job.future.set_result(found)
        finally:
            with self._lock:
                self._running -= 1
            self._dispatch()
