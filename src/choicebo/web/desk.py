"""The studies of a server and everything under way for them: questions being computed, work ahead, results."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from choicebo.errors import ChoiceboError
from choicebo.study import Question, Status, Storage, StorageError, Study, StudyInfo, StudyNotFound, compute
from choicebo.study.definition import StudyDefinition
from choicebo.web.results import Result, build_result, version
from choicebo.web.settings import ServerSettings
from choicebo.web.workers import WorkerPool

T = TypeVar("T")

log = logging.getLogger("choicebo.web")

BEFORE_THINKING = 0.4
"""Seconds for which a page waits for a question before it says that it is thinking."""
_MOST_THREADS = 64
_ANSWERS_AHEAD = 5


@dataclass(frozen=True)
class Job:
    """Something under way in the background."""

    future: Future[Any]
    outwaited: set[str] = field(default_factory=set)
    """Raters whose patience ended before it did: nobody waits for the same thing twice."""


class Desk:
    """Opens studies, computes in the background, and remembers what is under way. Threads share it."""

    def __init__(self, settings: ServerSettings, pool: Executor | None = None) -> None:
        self.storage = Storage(settings.url)
        self.image_folder: Path = settings.image_folder
        self.share_result = settings.share_result
        self.patience = settings.patience
        self.pool = WorkerPool(settings.processes) if pool is None else pool
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "choicebo-ask")
        # Threads of their own: who waits for the model must not take the place of the model.
        self._thinking = ThreadPoolExecutor(_MOST_THREADS, "choicebo-think")
        self._spare = ThreadPoolExecutor(settings.processes, "choicebo-ahead")
        self._lock = threading.Lock()
        self._studies: dict[str, Study] = {}
        self._jobs: dict[tuple[str, ...], Job] = {}
        self._ahead: dict[tuple[str, str], int] = {}
        self._known: dict[tuple[str, ...], tuple[str, Any]] = {}

    def warm(self) -> None:
        """Load what every computation needs before somebody waits for it: in the processes, and here for stand-ins."""
        if isinstance(self.pool, WorkerPool):
            self.pool.warm()
            if self.patience:
                self._submit(self._threads, compute.load_numerics)

    def close(self) -> None:
        """Stop everything. Nothing that was acknowledged is lost, it is stored."""
        self._ahead.clear()
        self.pool.shutdown(cancel_futures=True)
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._thinking.shutdown(wait=False, cancel_futures=True)
        self._spare.shutdown(wait=False, cancel_futures=True)
        self.storage.close()

    # ---- studies

    def list(self) -> tuple[StudyInfo, ...]:
        """All studies of the database; none if there is no database yet."""
        file = self.storage.file
        return () if file is not None and not file.exists() else Study.list(self.storage)

    def study(self, name: str) -> Study:
        """The study of that name."""
        with self._lock:
            known = self._studies.get(name)
        if known is not None:
            return known
        if self.storage.file is not None and not self.storage.file.exists():
            raise StudyNotFound(f"There is no study {name!r}.")
        return self.adopt(Study.open(self.storage, name, executor=self.pool))

    def adopt(self, study: Study) -> Study:
        """Keep a study that was just opened or created; the first of its name stays, so that threads share it."""
        with self._lock:
            return self._studies.setdefault(study.name, study)

    def create(self, definition: StudyDefinition) -> Study:
        """A new study."""
        return self.adopt(Study.create_from_file(self.storage, definition, executor=self.pool))

    def forget(self, name: str) -> None:
        """Drop what is known of a study, which may have gone."""
        with self._lock:
            self._studies.pop(name, None)
            self._known = {key: found for key, found in self._known.items() if key[1] != name}

    # ---- questions

    def question(self, study: Study, rater: str, wait: float = BEFORE_THINKING) -> Question | None:
        """The rater's question if it is there within ``wait`` seconds; else None, and it is being computed.

        What goes wrong in computing it is raised.
        """
        found = study.open_question(rater)
        if found is None:
            try:
                found = self.begin_question(study, rater).result(timeout=wait)
            except TimeoutError:
                return None
        self._think_ahead(study, found)
        return found

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
        while study.needs_model(rater) and not study.is_ready(rater):
            job = self._think(study, rater)
            left = 0.0 if rater in job.outwaited else until - time.monotonic()
            try:
                job.future.result(timeout=max(left, 0.0))
            except TimeoutError:
                if rater not in job.outwaited:
                    job.outwaited.add(rater)
                    job.future.add_done_callback(lambda _: self._look_ahead_again(study, rater))
                return

    def _think(self, study: Study, rater: str) -> Job:
        """The model's next question, computed and kept, but not asked. Raters who are learned from together share it."""
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

    def _look_ahead_again(self, study: Study, rater: str) -> None:
        """Prepare for a stand-in that was asked while the model was busy, so that nothing could be prepared for it."""
        self.answered(study, rater)
        try:
            found = study.open_question(rater)
            if found is not None:
                self._think_ahead(study, found)
        except ChoiceboError as error:
            log.info("Nothing was prepared ahead: %s", error)

    def answered(self, study: Study, rater: str) -> None:
        """Whatever is computed ahead for the question that the rater had is no longer of use."""
        with self._lock:
            self._ahead.pop((study.name, rater), None)

    def _think_ahead(self, study: Study, question: Question) -> None:
        key = (study.name, question.rater)
        with self._lock:
            if self._ahead.get(key) == question.number:
                return
            self._ahead[key] = question.number

        def out_of_date() -> bool:
            with self._lock:
                return self._somebody_waits() or self._ahead.get(key) != question.number

        def prepare() -> None:
            try:
                study.prepare_ahead(question, _ANSWERS_AHEAD, stop=out_of_date)
            except (ChoiceboError, BrokenProcessPool, CancelledError) as error:
                # Work ahead is only a kindness: the question is computed when it is asked for.
                log.info("Nothing was prepared ahead: %s", error)
            except Exception:
                log.exception("Preparing ahead failed.")

        self._submit(self._spare, prepare)

    # ---- what is known

    # ``rater`` is whose answers it is known from; None: everybody's.

    def result(self, study: Study, rater: str | None = None, wait: float = BEFORE_THINKING) -> Result | None:
        """Everything that is known, if it is there within ``wait`` seconds; else None, and it is being computed."""
        try:
            return self.begin_result(study, rater).result(timeout=wait)
        except TimeoutError:
            return None

    def status(self, study: Study, rater: str | None = None, wait: float = BEFORE_THINKING) -> Status | None:
        """The status with what the model says, if it is there within ``wait`` seconds; else None."""
        try:
            return self._begin(study, rater, "status", lambda: study.status(rater=rater)).result(timeout=wait)
        except TimeoutError:
            return None

    def begin_result(self, study: Study, rater: str | None = None) -> Future[Result]:
        """Compute everything that is known in the background."""
        return self._begin(study, rater, "result", lambda: build_result(study, rater))

    def _begin(self, study: Study, rater: str | None, kind: str, build: Callable[[], T]) -> Future[T]:
        now = version(study)
        key = (kind, study.name, *(() if rater is None else (rater,)))
        with self._lock:
            known = self._known.get(key)
        if known is not None and known[0] == now:
            done: Future[T] = Future()
            done.set_result(known[1])
            return done

        def work() -> T:
            found = build()
            with self._lock:
                self._known[key] = (now, found)
            return found

        return self._start((*key, now), work).future

    # ---- inside

    def _start(
        self,
        key: tuple[str, ...],
        work: Callable[[], Any],
        threads: ThreadPoolExecutor | None = None,
    ) -> Job:
        """The job under that key, begun now if there is none; two requests for the same thing share it."""
        with self._lock:
            for name in [name for name, job in self._jobs.items() if job.future.done()]:
                del self._jobs[name]
            known = self._jobs.get(key)
            if known is None:
                known = self._jobs[key] = Job(self._submit(threads or self._threads, work))
            return known

    def _somebody_waits(self) -> bool:
        """Whether a question is wanted now; the lock is held."""
        return any(name[0] in ("question", "model") and not job.future.done() for name, job in self._jobs.items())

    def _submit(self, threads: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
        try:
            return threads.submit(work)
        except RuntimeError:
            raise StorageError("The server is being stopped: try again in a moment.") from None


def _again_if_killed(work: Callable[[], T]) -> T:
    try:
        return work()
    except BrokenProcessPool:  # a worker was killed, perhaps for want of memory; the pool starts another
        return work()
