"""Who waits for what: questions and results are computed in the background, once for everybody who asks.

A question is computed when the answer before it arrives. Nobody waits longer than the server's patience: then a question that
needs no model is asked, the model works on, and what it finds is asked next if it is still new.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, TypeVar

from choicebo.errors import ChoiceboError, StorageError
from choicebo.history import Question
from choicebo.serving.pool import LocalPool, load_numerics
from choicebo.study import Study

T = TypeVar("T")

log = logging.getLogger("choicebo.serving")

BEFORE_THINKING = 0.4
"""Seconds for which a page waits for something before it says that it is thinking."""
_MOST_THREADS = 64


@dataclass(frozen=True)
class Job:
    """Something under way in the background."""

    future: Future[Any]
    outwaited: set[str] = field(default_factory=set)
    """Raters whose patience ended before it did: nobody waits for the same thing twice."""


class Scheduler:
    """Computes in the background, and remembers what is under way. Threads share it.

    Args:
        pool: Where questions and models are computed; studies are opened with it as their ``executor``.
        patience: Seconds that a person waits for the model; 0: as long as it takes.
    """

    def __init__(self, pool: Executor, patience: float = 0.0) -> None:
        self.pool = pool
        self.patience = patience
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "choicebo-ask")
        # Threads of their own: who waits for the model must not take the place of the model.
        self._thinking = ThreadPoolExecutor(_MOST_THREADS, "choicebo-think")
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, Job] = {}
        self._known: dict[Hashable, tuple[int, Any]] = {}

    def warm(self) -> None:
        """Load what every computation needs before somebody waits for it: in the processes, and here for stand-ins."""
        if isinstance(self.pool, LocalPool):
            self.pool.warm()
            if self.patience:
                self._submit(self._threads, load_numerics)

    def close(self) -> None:
        """Stop everything. Nothing that was acknowledged is lost, it is stored."""
        self.pool.shutdown(cancel_futures=True)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._thinking.shutdown(wait=False, cancel_futures=True)

    # ---- questions

    def question(self, study: Study, rater: str, wait: float = BEFORE_THINKING) -> Question | None:
        """The rater's question if it is there within ``wait`` seconds; else None, and it is being computed.

        What goes wrong in computing it is raised.
        """
        return study.open_question(rater) or self.within(wait, self.begin_question(study, rater))

    def begin_question(self, study: Study, rater: str) -> Future[Question]:
        """The rater's next question, in the background: the model's, or after a while one that stands in for it."""

        def ask() -> Question:
            if not self.patience:
                return _again_if_killed(lambda: study.ask(rater))
            self._wait_for_model(study, rater)
            return study.ask(rater, stand_in=True)

        return self._start(("question", study.name, rater), ask).future

    def _wait_for_model(self, study: Study, rater: str) -> None:
        """Return when the model's question is there, or when the rater has waited long enough. The model works on."""
        until = time.monotonic() + self.patience
        while study.waits_for_model(rater):
            job = self._think(study, rater)
            left = 0.0 if rater in job.outwaited else until - time.monotonic()
            try:
                job.future.result(timeout=max(left, 0.0))
            except TimeoutError:
                job.outwaited.add(rater)
                return

    def _think(self, study: Study, rater: str) -> Job:
        """The model's next question, computed but not asked. Raters who are learned from together share it."""
        share = rater if study.raters_mode == "separate" else ""

        def think() -> None:
            try:
                _again_if_killed(lambda: study.prepare(rater))
            except (ChoiceboError, CancelledError):
                raise  # in words for whoever waits for it; or the server is being stopped
            except Exception as error:
                # Those who were given something else meanwhile will not hear of it.
                log.warning("The model's question could not be computed: %r", error)
                raise

        return self._start(("model", study.name, share), think, self._thinking)

    # ---- what is known

    def begin(self, study: Study, key: Hashable, build: Callable[[], T]) -> Future[T]:
        """Something that follows from the answers of a study, computed in the background once for each state of them."""
        now, name = study.learned_until, (study.name, key)
        with self._lock:
            at, known = self._known.get(name, (-1, None))
        if at == now:
            done: Future[T] = Future()
            done.set_result(known)
            return done

        def work() -> T:
            found = build()
            with self._lock:
                self._known[name] = now, found
            return found

        return self._start((*name, now), work).future

    def within(self, wait: float, awaited: Future[T]) -> T | None:
        """What is awaited if it is there within ``wait`` seconds; else None, and it is being computed."""
        try:
            return awaited.result(timeout=wait)
        except TimeoutError:
            return None

    def forget(self, study: str) -> None:
        """Drop what is known of a study, which may have gone."""
        with self._lock:
            self._known = {key: found for key, found in self._known.items() if key[0] != study}  # type: ignore[index]

    # ---- inside

    def _start(self, key: Hashable, work: Callable[[], Any], threads: ThreadPoolExecutor | None = None) -> Job:
        """The job under that key, begun now if there is none; two requests for the same thing share it."""
        with self._lock:
            for name in [name for name, job in self._jobs.items() if job.future.done()]:
                del self._jobs[name]
            known = self._jobs.get(key)
            if known is None:
                known = self._jobs[key] = Job(self._submit(threads or self._threads, work))
            return known

    def _submit(self, threads: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
        try:
            return threads.submit(work)
        except RuntimeError:
            raise StorageError("The server is being stopped: try again in a moment.") from None


def _again_if_killed(work: Callable[[], T]) -> T:
    try:
        return work()
    except (BrokenProcessPool, CancelledError):
        # A worker was killed, perhaps for want of memory, and the pool starts another; or the server ends, and says so.
        return work()
