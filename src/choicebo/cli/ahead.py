"""The next question, computed in a process of its own while the person thinks.

A process and not a thread, because it can be ended at once when the person stops in the middle of a computation.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from choicebo.cli.waiting import waiting
from choicebo.errors import ChoiceboError
from choicebo.study import Question, Storage, Study, compute

CHOOSING = "Choosing the next question"


class Asker:
    """Asks the questions of one rater; use it in a ``with`` block."""

    def __init__(self, storage: Storage, study: Study, rater: str | None, *, ahead: bool) -> None:
        self._study, self._rater = study, rater
        self._helper = _Helper(storage, study.name) if ahead else None

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *exc: object) -> None:
        self._dismiss()

    def ask(self) -> Question:
        """The open question, or the next one, with a display if that takes long."""
        study = self._study
        with waiting(CHOOSING) as progress:
            if self._helper is not None:
                self._helper.finish()
                # Without answers there is no model yet, and starting the helper would take longer than the question.
                if study.n_answers and not study.is_ready(self._rater):
                    try:
                        return self._helper.study.ask(self._rater)
                    except BrokenProcessPool:  # as when memory ran out: then compute here
                        self._dismiss()
            return study.ask(self._rater, progress=progress)

    def prepare(self, question: Question) -> None:
        """Begin to compute what follows the probable answers to an open question."""
        if self._helper is not None:
            self._helper.prepare(question)

    def _dismiss(self) -> None:
        if self._helper is not None:
            self._helper.close()
        self._helper = None


class _Helper:
    """A process that computes, and a thread that waits for it."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_begin)
        self.study = Study.open(storage, name, executor=self._pool)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def prepare(self, question: Question) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._prepare, args=(question,), daemon=True)
        self._thread.start()

    def _prepare(self, question: Question) -> None:
        try:
            self.study.prepare_ahead(question, stop=self._stop.is_set)
        except (ChoiceboError, BrokenProcessPool, CancelledError, RuntimeError):
            return  # what matters is reported when the question is really asked

    def finish(self) -> None:
        """Wait for what is being computed: most often it is what is needed next."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.kill()
        if self._thread is not None:
            self._thread.join(timeout=5)


def _begin() -> None:
    # Ctrl-C is for the process that the person sees; it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compute.be_ready()
