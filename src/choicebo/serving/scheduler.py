"""Who waits for what: questions and results are computed in the background, once for everybody who asks.

A question is computed when the answer before it arrives. Where many ask at once, not every answer can be learned from before the
next question: then those of one study share its latest model, which lacks the last few answers, and the next model is fitted
beside, of one study after the other. Nobody waits longer than the server's patience for a model: then a question that needs none
is asked. Waiting holds no thread: raters wait in an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from choicebo.errors import ChoiceboError
from choicebo.history import Question
from choicebo.serving.computing import Computing, FairThreads
from choicebo.serving.metrics import Metrics
from choicebo.serving.pool import load_numerics
from choicebo.serving.waiting_room import done_within, stopping
from choicebo.study import Study

T = TypeVar("T")

log = logging.getLogger("choicebo.serving")

BEFORE_THINKING = 0.4
"""Seconds for which a page waits for something before it says that it is thinking."""
FOR_THE_LATEST = 0.25
"""The share of the patience for which somebody waits for the last answer to be learned, if there is a model that lacks it."""
_MOST_THREADS = 64
_MOST_CONTEXTS = 16
_LAST_SECONDS = 5
"""Seconds for everybody who waits to hear that the server is being stopped."""


@dataclass(frozen=True)
class Job:
    """Something under way in the background."""

    future: Future[Any]
    outwaited: set[str] = field(default_factory=set)
    """Raters whose patience ended first; they do not wait for the same thing twice."""
    begun: float = field(default_factory=time.monotonic)


class Scheduler:
    """Computes in the background, and remembers what is under way. Threads share it.

    Args:
        pool: Where questions and models are computed; studies are opened with it as their ``executor``.
        patience: Seconds that a person waits for the model; 0: as long as it takes.
    """

    def __init__(self, pool: Executor, patience: float = 0.0) -> None:
        self.pool = pool
        self.patience = patience
        self.metrics = Metrics()
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "choicebo-ask")
        # Threads of their own: who waits for the model must not take the place of the model.
        self._thoughts = ThreadPoolExecutor(_MOST_THREADS, "choicebo-think")
        self._thinking = FairThreads(self._thoughts, self._at_once)
        self._waiting: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        """Of those whose questions are computed from the same answers; it belongs to the event loop."""
        self._jobs: dict[Hashable, Job] = {}
        self._known: dict[Hashable, tuple[int, Any]] = {}

    def warm(self) -> None:
        """Load what every computation needs before somebody waits for it: in the processes, and here for stand-ins."""
        if isinstance(self.pool, Computing):
            self.pool.warm()
            if self.patience:
                self._submit(self._threads, load_numerics)

    def close(self) -> None:
        """Stop everything. Nothing that was acknowledged is lost, it is stored."""
        self._thinking.shutdown()
        self.pool.shutdown(cancel_futures=True)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._thoughts.shutdown(wait=False, cancel_futures=True)
        if self._waiting is not None and not self._waiting.is_closed():
            # Nothing can be begun any more, so that everybody who waits hears of the end.
            asyncio.run_coroutine_threadsafe(_end(self._waiting), self._waiting)

    # ---- questions

    def begin_question(self, study: Study, rater: str) -> Future[Question]:
        """The rater's next question, in the background: the model's, or after a while one that stands in for it."""
        key = "question", study.name, rater
        if not self.patience:
            return self._start(key, lambda: self._submit(self._threads, lambda: self._ask(study, rater))).future
        return self._start(key, lambda: self._wait(self._ask_in_time(study, rater))).future

    def _ask(self, study: Study, rater: str) -> Question:
        """Ask, however long it takes."""
        begun = datetime.now(UTC)
        study.begin_context(rater)
        return self._counted(study.ask(rater), begun)

    def _counted(self, question: Question, begun: datetime) -> Question:
        """A question, which is counted if it is new."""
        if question.asked_at is not None and question.asked_at >= begun:
            self.metrics.asked(question, (datetime.now(UTC) - begun).total_seconds())
        return question

    @property
    def models_waiting(self) -> int:
        """How many models wait for their turn to be fitted."""
        return self._thinking.waiting

    async def _ask_in_time(self, study: Study, rater: str) -> Question:
        """Wait until the model's question is there, or the rater has waited long enough, and ask. The model works on."""
        begun, began = datetime.now(UTC), time.monotonic()
        until = began + (self.patience if self._can_compute() else 0.0)
        share = await self._in_thread(lambda: _share(study, rater))
        turn = self._turns.setdefault((study.name, share), asyncio.Lock())
        is_patient = True
        while True:
            # One after the other: each question depends on those asked before it.
            async with turn:
                if not is_patient or not await self._in_thread(lambda: study.waits_for_model(rater)):
                    question = await self._in_thread(
                        lambda: study.ask(rater, stand_in=True, within=max(until - time.monotonic(), 0.0))
                    )
                    return self._counted(question, begun)
            job = self._think(study, rater, share)
            left = 0.0 if rater in job.outwaited else until - time.monotonic()
            if left > 0 and await self._in_thread(lambda: study.has_recent_model(rater)):
                # The latest answer is waited for only if it is being learned at this moment, and for a moment; not where others
                # wait for their models, for then it takes longer.
                is_learned = job.begun >= began and job.future.running() and not self._thinking.waiting
                left = began + FOR_THE_LATEST * self.patience - time.monotonic() if is_learned else 0.0
            is_patient = await done_within(job.future, left)
            if is_patient:
                is_patient = job.future.result()
            else:
                job.outwaited.add(rater)

    def _think(self, study: Study, rater: str, share: str) -> Job:
        """The model's next question, computed but not asked. Raters who are learned from together share it.

        Its result is whether the question is there: while others wait for their models, only the model is fitted, and where
        one model has a question for each of several people.
        """

        def think() -> bool:
            load_numerics()
            only_model = self._thinking.waiting > 0 or (study.raters_mode == "related" and len(study.raters()) > 1)
            try:
                (study.learn if only_model else study.prepare)(rater)
                return not only_model
            except (ChoiceboError, CancelledError):
                raise  # in words for whoever waits for it; or the server is being stopped
            except Exception as error:
                # Those who were given something else meanwhile will not hear of it.
                log.warning("The model's question could not be computed: %r", error)
                raise

        return self._start(("model", study.name, share), lambda: self._thinking.submit(study.name, think))

    def _can_compute(self) -> bool:
        """Whether anything computes: a cluster may have no workers or be out of reach, which is not worth waiting for."""
        return not isinstance(self.pool, Computing) or self.pool.slots > 0

    def _at_once(self) -> int:
        """How many models are fitted at the same time: all that compute but one, which is there for quick questions."""
        return max(1, self.pool.slots - 1) if isinstance(self.pool, Computing) else _MOST_THREADS

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
                self._known.pop(name, None)
                self._known[name] = now, found
                self._drop_old(study.name)
            return found

        return self._start((*name, now), lambda: self._submit(self._threads, work)).future

    def _drop_old(self, study: str) -> None:
        """Forget what has been known for longest of single contexts: where one is a number there may be any many."""
        of_contexts = [name for name in self._known if name[0] == study and len(name[1]) > 2]  # type: ignore[index]
        for name in of_contexts[:-_MOST_CONTEXTS]:
            del self._known[name]

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
    """Who waits for the same model as a rater: nobody else; or, empty, everybody who has no wishes of their own."""
    study.begin_context(rater)
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
