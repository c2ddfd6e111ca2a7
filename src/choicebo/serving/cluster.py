"""The workers of a Dask scheduler compute: they need the package and nothing else, and no database."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from concurrent.futures import CancelledError, Future
from importlib import metadata
from typing import Any, NamedTuple

from choicebo.errors import ComputationLostError, InvalidInputError
from choicebo.model.posterior import Posterior
from choicebo.optimizer.recent import Recent
from choicebo.serving.computing import Computing
from choicebo.serving.fair_queue import BESIDE, URGENT, Job
from choicebo.serving.pool import Caps, be_ready, politely
from choicebo.serving.waiting_room import stopping

log = logging.getLogger("choicebo.serving")

_CONNECT_SECONDS = 10
"""Seconds to wait for a scheduler at first, and before reconnecting after it was lost."""
_BEAT = 0.2
_CENSUS_SECONDS = 2.0
"""Seconds for which the list of workers is taken as current."""
_ATTEMPTS = 3
_SENT_MODELS = 64
"""Of so many models workers keep a copy: each is sent to a worker once, and asks many questions."""


class _UnderWay(NamedTuple):
    """A job that a worker computes."""

    future: Future[Any]
    began: float
    worker: str


class Cluster(Computing):
    """The workers of a Dask scheduler, such as ``tcp://host:8786``. Threads share it, and so may several servers.

    If a worker dies, another one computes its job again. Jobs that were running when the scheduler was restarted are
    computed again, too. Workers with another version of choicebo are not used.

    Args:
        address: That of the scheduler.
        caps: What one computation may take; memory is up to the workers (``dask worker --memory-limit``).
        keeps_one_free: Whether one worker is kept for what is urgent, where there are several.

    Raises:
        InvalidInputError: No scheduler answers there, or all of its workers have another version of choicebo.
    """

    def __init__(self, address: str, caps: Caps = Caps(), *, keeps_one_free: bool = False) -> None:
        super().__init__()
        self.address, self.caps, self._keeps_one_free = address, caps, keeps_one_free
        self._client = self._connected()
        self._versions: dict[str, str] = {}
        """Of each worker that was ever there, by address."""
        self._threads: dict[str, int] = {}
        """How many jobs each worker that can be used computes at once."""
        self._counted = 0.0
        self._under_way: dict[Job, _UnderWay] = {}
        self._sent = self._nothing_sent()
        self._changed = threading.Condition()
        self._count_workers()
        if self.refusals and not self._threads:
            self._client.close()
            raise InvalidInputError(self.refusals[0])
        threading.Thread(target=self._dispatch, name="choicebo-cluster", daemon=True).start()

    @property
    def slots(self) -> int:
        """How many jobs are computed at the same time."""
        return sum(self._threads.values())

    @property
    def workers(self) -> int:
        """How many workers can be used."""
        return len(self._threads)

    @property
    def refusals(self) -> list[str]:
        """Why each of the other workers is not used, in sentences."""
        return [
            self._refusal(worker) for worker, version in sorted(self._versions.items()) if version != _own_version()
        ]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster and stop the jobs that run there."""
        for job in self.queue.close():
            job.future.set_exception(stopping())
        with self._changed:
            under_way = list(self._under_way.values())
        for each in under_way:
            each.future.cancel()
        self._client.close()

    # ---- who computes

    def _connected(self) -> Any:
        try:
            import distributed
        except ImportError:
            raise InvalidInputError("A cluster needs dask.distributed: pip install 'choicebo[dask]'.") from None
        try:
            return distributed.Client(self.address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(
                f"No dask scheduler answers at {self.address!r} ({error}); start one with `dask scheduler` and give its address, "
                "for example tcp://127.0.0.1:8786."
            ) from None

    def _count_workers(self) -> None:
        """See who is there, and ask those who are new for their version."""
        there: dict[str, int] = self._client.nthreads()
        new = [worker for worker in there if worker not in self._versions]
        if new:
            # A function of the standard library: another choicebo might not know one of ours.
            told = self._client.run(metadata.version, "choicebo", workers=new, on_error="return")
            self._versions.update({worker: str(version) for worker, version in told.items()})
            usable = [worker for worker in new if self._versions.get(worker) == _own_version()]
            for worker in set(told) - set(usable):
                log.warning("%s", self._refusal(worker))
            self._make_ready(usable)
        self._threads = {
            worker: count for worker, count in there.items() if self._versions.get(worker) == _own_version()
        }
        self._counted = time.monotonic()

    def _make_ready(self, workers: list[str]) -> None:
        """Let workers load what a first question needs before it is asked for; nobody waits for it."""
        from distributed import fire_and_forget

        for worker in workers:
            # Elsewhere if the worker has gone meanwhile, so that nothing waits for it for ever.
            fire_and_forget(self._client.submit(be_ready, workers=[worker], allow_other_workers=True, pure=False))

    def _refusal(self, worker: str) -> str:
        found = self._versions[worker]
        has = f"choicebo {found}" if found[:1].isdigit() else "no choicebo"
        return (
            f"The worker {worker} has {has}, and choicebo {_own_version()} is needed, so it is not used. Install the "
            f"same version there: pip install 'choicebo[dask]=={_own_version()}'."
        )

    # ---- what is computed

    def _dispatch(self) -> None:
        """Hand out jobs while there are workers for them, and collect the results of the others."""
        while not self.queue.is_closed:
            try:
                self._step()
            except Exception as error:  # the scheduler is away; it may come back
                if self.queue.is_closed:
                    return
                log.warning("The cluster at %s cannot be reached at the moment: %r", self.address, error)
                self._threads = {}
                time.sleep(_CENSUS_SECONDS)
                self._reconnect()

    @staticmethod
    def _nothing_sent() -> Recent[tuple[Any, Any]]:
        """Models, and where a worker has them; a model is held here, so that no other one can take its identity."""
        return Recent(most=_SENT_MODELS)

    def _to_send(self, argument: Any, worker: str) -> Any:
        """An argument as it is sent to a worker: of a model, the place at which that worker has it.

        Each worker gets its own copy: one that computes something long is slow to hand its copy on.
        """
        if not isinstance(argument, Posterior):
            return argument
        known = self._sent.get((id(argument), worker))
        if known is None:
            there = self._client.scatter(argument, workers=[worker], hash=False, timeout=_CONNECT_SECONDS)
            known = self._sent.put((id(argument), worker), (argument, there))
        return known[1]

    def _free_worker(self) -> str:
        """The worker that has least to do, for this server and for others that share the cluster."""
        seen = self._client.processing()
        with self._changed:
            mine = Counter(each.worker for each in self._under_way.values())
        return min(self._threads, key=lambda one: max(len(seen.get(one, ())), mine[one]) / self._threads[one])

    def _step(self) -> None:
        if time.monotonic() - self._counted > _CENSUS_SECONDS:
            if self._client.status != "running":
                raise OSError(f"the connection is {self._client.status}")
            self._count_workers()
        now = time.monotonic()
        with self._changed:
            late = [each.future for each in self._under_way.values() if now - each.began > self.caps.seconds]
            running, slow = len(self._under_way), sum(job.level > URGENT for job in self._under_way)
        for future in late:
            future.cancel()
        slots = self.slots
        free = slots - 1 if self._keeps_one_free and slots > 1 else slots
        if running >= slots:
            with self._changed:
                self._changed.wait(_BEAT)
            return
        job = self.queue.take(most=URGENT if slow >= free else BESIDE, seconds=_BEAT)
        if job is None or (not job.future.running() and not job.future.set_running_or_notify_cancel()):
            return
        try:
            worker = self._free_worker()
            urgent = job.level == URGENT
            sent = [self._to_send(each, worker) for each in job.args] if urgent else job.args
            # If that worker goes, another one takes over; if some have another version, only one of those that have ours.
            alike = not self.refusals
            begun = self._client.get_executor(pure=False).submit(
                *((job.fn,) if urgent else (politely, job.fn)),
                *sent,
                **job.kwargs,
                priority=10 if urgent else -job.level,
                workers=[worker] if alike else list(self._threads),
                allow_other_workers=alike,
            )
        except Exception:
            self.queue.put(job, first=True)
            raise
        with self._changed:
            self._under_way[job] = _UnderWay(begun, time.monotonic(), worker)
        begun.add_done_callback(lambda found: self._done(job, found))

    def _done(self, job: Job, found: Future[Any]) -> None:
        with self._changed:
            began = self._under_way.pop(job).began
            self._changed.notify_all()
        self.queue.took(job, time.monotonic() - began)
        try:
            value = found.result()
        except CancelledError:  # the scheduler was lost, or it took too long
            self._lose(job, "hung" if time.monotonic() - began > self.caps.seconds else "scheduler")
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                self._lose(job, "died")
            else:
                self._end(job, error)
        else:
            self._end(job, None, value)

    def _lose(self, job: Job, why: str) -> None:
        """Compute a lost job again, or report its loss to whoever waits for it."""
        if self.queue.is_closed:
            job.future.set_exception(stopping())
            return
        self.counts[why] += 1
        job.attempts += 1
        if why == "scheduler":
            # Its workers may be gone with it: a job that is bound to them would wait for ever. See first who is there.
            self._threads, self._counted = {}, 0.0
            self._sent = self._nothing_sent()
        if job.attempts < _ATTEMPTS and self.queue.put(job, first=True):
            return
        told = {"died": "died", "hung": f"took longer than {self.caps.seconds:g} s", "scheduler": "were lost"}[why]
        self._end(
            job,
            ComputationLostError(
                f"The workers of the cluster that computed this {told}, again and again: look at their logs."
            ),
        )

    def _reconnect(self) -> None:
        """A new connection where the old one has ended."""
        if self._client.status in ("running", "connecting", "newly-connected"):
            return
        try:
            self._client.close(timeout=1)
            self._client = self._connected()
            self._versions = {}
            self._sent = self._nothing_sent()
        except Exception as error:
            log.warning("%s", error)


def _own_version() -> str:
    return metadata.version("choicebo")
