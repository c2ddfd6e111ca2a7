"""Looks at the number of hidden objectives: when one is due, from when on it counts, and how it is computed beside.

A look that is due after n answers learns from the first n and counts from answer n + 1 on. So nobody waits for it between
an answer and the next question, and that question is still a function of what happened.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from choicebo._runtime import one_blas_thread
from choicebo.choices import ChoiceData
from choicebo.history import Look
from choicebo.model import dimension
from choicebo.model.engines.base import ProgressCallback, Reporter
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior

STAGE = "looking at the number of hidden objectives"
_BEAT = 0.1
"""Seconds between two reports while a look is waited for."""


def used_from(look: Mapping[str, Any]) -> int:
    """How many answers there are when a look counts for the first time.

    Those of older records do not say; they counted at once.

    >>> used_from({"answers": 8, "used_from": 9}), used_from({"answers": 8})
    (9, 8)
    """
    return int(look.get("used_from", look["answers"]))


def in_use(looks: Sequence[Mapping[str, Any]], answers: int) -> list[Look]:
    """Those of the looks that count after so many answers."""
    return [dict(look) for look in looks if used_from(look) <= answers]


def missing(answers: int, looks: Sequence[Mapping[str, Any]]) -> int | None:
    """The look that counts after so many answers but was not made yet: how many answers it learns from; None if there is none.

    Where several were left out, as after an import, only the latest is made up for.

    >>> [missing(n, ()) for n in (8, 9, 12, 13, 40)]
    [None, 8, 8, 12, 27]
    """
    last = int(looks[-1]["answers"]) if looks else 0
    found = None
    for n in range(last + 1, answers):
        if dimension.due(n, last):
            found = last = n
    return found


def look(
    data: ChoiceData,
    answers: int,
    current: int,
    model: ChoiceGP,
    seed: int,
    posterior: Posterior | None = None,
    progress: ProgressCallback | None = None,
) -> Look:
    """What so many answers say about the number of hidden objectives; ``posterior`` is their fit at ``current``, if known."""
    found = dimension.revise(data, current, model=model, posterior=posterior, seed=seed, progress=progress)
    return {
        "answers": answers,
        "latent_dim": int(found.latent_dim),
        "reason": found.reason,
        "used_from": answers + 1,
    }


class BackgroundLook:
    """A look that is computed in a thread of its own, which ends with the process."""

    def __init__(self, work: Callable[[ProgressCallback], Look]) -> None:
        """Begin. ``work`` computes the look; it is handed a callback that interrupts it after :meth:`stop`."""
        self._fraction = 0.0
        self._stopped = False
        self._found: Future[Look] = Future()
        # OpenBLAS heeds a limit of its threads only from the thread that changed it first, so the look's cannot set its own.
        self._blas = contextlib.ExitStack()
        self._blas.enter_context(one_blas_thread())
        threading.Thread(target=self._run, args=(work,), name="choicebo-look", daemon=True).start()

    def result(self, progress: ProgressCallback | None = None) -> Look:
        """What was found, waited for if need be; an error in the thread is raised here.

        ``progress(stage, fraction)`` is called while it is waited for, and ends the wait by returning ``False``.
        """
        report = Reporter(progress)
        while not wait([self._found], timeout=_BEAT).done:
            report(STAGE, self._fraction)
        self._blas.close()
        return self._found.result()

    def done(self) -> bool:
        """Whether something was found."""
        return self._found.done() and self._found.exception() is None

    def stop(self) -> None:
        """Let the thread end at its next report: nobody wants the result."""
        self._stopped = True
        self._blas.close()

    def _run(self, work: Callable[[ProgressCallback], Look]) -> None:
        try:
            self._found.set_result(work(self._report))
        except BaseException as error:  # whoever asks for the result is told
            self._found.set_exception(error)

    def _report(self, stage: str, fraction: float) -> bool:
        self._fraction = fraction
        return not self._stopped


class ExecutorLook:
    """A look that an executor computes."""

    def __init__(self, found: Future[Look]) -> None:
        self._found = found

    def result(self, progress: ProgressCallback | None = None) -> Look:
        """What was found, waited for if need be."""
        return self._found.result()

    def done(self) -> bool:
        """Whether something was found."""
        return self._found.done() and not self._found.cancelled() and self._found.exception() is None

    def stop(self) -> None:
        """Nobody wants the result: if it has not begun, it never does."""
        self._found.cancel()
