"""Who waits for what: questions and results are computed in the background, once for everybody who asks.

A question is computed when the answer before it arrives. Nobody waits longer than the server's patience: then a question that
needs no model is asked, the model works on, and what it finds is asked next if it is still new. Until then waiting holds no
thread: raters wait in an event loop of its own.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from choicebo.errors import ChoiceboError
from choicebo.history import Question
from choicebo.serving.pool import LocalPool, load_numerics
from choicebo.serving.waiting_room import done_within, stopping
from choicebo.study import Study

T = TypeVar("T")

log = logging.getLogger("choicebo.serving")

BEFORE_THINKING = 0.4
"""Seconds for which a page waits for something before it says that it is thinking."""
_MOST_THREADS = 64
_LAST_SECONDS = 5
"""For which those who wait are given time to hear that the server is being stopped."""


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
        self._waiting: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        """Of those whose questions are computed from the same answers; it belongs to the event loop."""
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
        if self._waiting is not None and not self._waiting.is_closed():
            # Nothing can be begun any more, so that everybody who waits hears of the end.
            asyncio.run_coroutine_threadsafe(_end(self._waiting), self._waiting)

    # ---- questions

    def begin_question(self, study: Study, rater: str) -> Future[Question]:
        """The rater's next question, in the background: the model's, or after a while one that stands in for it."""
        key = "question", study.name, rater
        if not self.patience:
            ask = functools.partial(_again_if_killed, lambda: study.ask(rater))
            return self._start(key, lambda: self._submit(self._threads, ask)).future
        return self._start(key, lambda: self._wait(self._ask_in_time(study, rater))).future

    async def _ask_in_time(self, study: Study, rater: str) -> Question:
        """Wait until the model's question is there, or the rater has waited long enough, and ask. The model works on."""
        until = time.monotonic() + self.patience
        turn = self._turns.setdefault((study.name, _share(study, rater)), asyncio.Lock())
        is_patient = True
        while True:
            # One after the other: each question depends on those asked before it.
            async with turn:
                if not is_patient or not await self._in_thread(lambda: study.waits_for_model(rater)):
                    return await self._in_thread(lambda: study.ask(rater, stand_in=True))
            job = self._think(study, rater)
            left = 0.0 if rater in job.outwaited else until - time.monotonic()
            is_patient = await done_within(job.future, left)
            if is_patient:
                job.future.result()
            else:
                job.outwaited.add(rater)

    def _think(self, study: Study, rater: str) -> Job:
        """The model's next question, computed but not asked. Raters who are learned from together share it."""

        def think() -> None:
            load_numerics()
            try:
                _again_if_killed(lambda: study.prepare(rater))
            except (ChoiceboError, CancelledError):
                raise  # in words for whoever waits for it; or the server is being stopped
            except Exception as error:
                # Those who were given something else meanwhile will not hear of it.
                log.warning("The model's question could not be computed: %r", error)
                raise

        return self._start(("model", study.name, _share(study, rater)), lambda: self._submit(self._thinking, think))

    def is_thinking(self, study: Study, rater: str) -> bool:
        """Whether the model's next question is being computed at this moment."""
        with self._lock:
            job = self._jobs.get(("model", study.name, _share(study, rater)))
        return job is not None and not job.future.done()

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
            load_numerics()
            found = build()
            with self._lock:
                self._known[name] = now, found
            return found

        return self._start((*name, now), lambda: self._submit(self._threads, work)).future

    def last(self, study: Study, key: Hashable) -> Any:
        """What :meth:`begin` found last, be it for earlier answers; None if there is nothing."""
        with self._lock:
            return self._known.get((study.name, key), (-1, None))[1]

    def forget(self, study: str) -> None:
        """Drop what is known of a study, which may have gone."""
        with self._lock:
            self._known = {key: found for key, found in self._known.items() if key[0] != study}  # type: ignore[index]

    # ---- inside

    def _start(self, key: Hashable, begin: Callable[[], Future[Any]]) -> Job:
        """The job under that key, begun now if there is none; two requests for the same thing share it."""
        with self._lock:
            for name in [name for name, job in self._jobs.items() if job.future.done()]:
                del self._jobs[name]
            known = self._jobs.get(key)
            if known is None:
                known = self._jobs[key] = Job(begin())
            return known

    def _wait(self, waiting: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine, most of which is waiting; the caller holds the lock."""
        if self._waiting is None:
            self._waiting = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(self._waiting,), name="choicebo-wait", daemon=True).start()
        if self._waiting.is_closed():
            waiting.close()
            raise stopping()
        return asyncio.run_coroutine_threadsafe(waiting, self._waiting)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Let a thread do something."""

        def loaded() -> T:
            load_numerics()
            return work()

        return await asyncio.wrap_future(self._submit(self._threads, loaded))

    def _submit(self, threads: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
        try:
            return threads.submit(work)
        except RuntimeError:
            raise stopping() from None


def _share(study: Study, rater: str) -> str:
    """Who waits for the same question as a rater: nobody else; or, empty, everybody who has no wishes of their own."""
    return rater if study.raters_mode == "separate" or study.wishes(rater) else ""


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Stop a loop once everybody has left it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=_LAST_SECONDS)
    loop.stop()


def _again_if_killed(work: Callable[[], T]) -> T:
    try:
        return work()
    except (BrokenProcessPool, CancelledError):
        # A worker was killed, perhaps for want of memory, and the pool starts another; or the server ends, and says so.
        return work()
