"""Who is next: what is urgent before what is not, and one study after the other."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

URGENT, USUAL, BESIDE = 0, 1, 2
"""Levels of urgency: a person waits for something quick; a person waits for something longer; nobody waits."""

_SHARE = 1 / 3
"""Seconds that background jobs get for each second of jobs that somebody waits for, if there are always both."""
_MOST_OWED = 60.0
_LEVELS = {
    "question_from": URGENT,
    "next_question": USUAL,
    "fit": USUAL,
    "fit_sketch": USUAL,
    "look": BESIDE,
    "fit_earlier": BESIDE,
}
"""Of the functions that compute for a study, by name."""


@dataclass(eq=False)
class Job:
    """Something to compute, and where its result goes."""

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    study: str = ""
    attempts: int = 0
    future: Future[Any] = field(default_factory=Future)

    @property
    def level(self) -> int:
        """How urgent it is."""
        return _LEVELS.get(getattr(self.fn, "__name__", ""), USUAL)


class FairQueue:
    """Jobs that wait. Of the most urgent ones those of each study come in turn, however many a study has. Threads share it.

    >>> queue = FairQueue()
    >>> for study, fn in (("a", min), ("a", max), ("b", sum)):
    ...     _ = queue.put(Job(fn, study=study))
    >>> [queue.take().fn for _ in range(3)]
    [<built-in function min>, <built-in function sum>, <built-in function max>]
    """

    def __init__(self) -> None:
        self._waiting: tuple[OrderedDict[str, deque[Job]], ...] = (OrderedDict(), OrderedDict(), OrderedDict())
        self._changed = threading.Condition()
        self._closed = False
        self._owed = 0.0
        """Seconds that background jobs may take before the others."""

    def put(self, job: Job, *, first: bool = False) -> bool:
        """Let a job wait, before the others of its study if ``first``; False if the queue is closed."""
        with self._changed:
            if self._closed:
                return False
            mine = self._waiting[job.level].setdefault(job.study, deque())
            (mine.appendleft if first else mine.append)(job)
            if first:
                self._waiting[job.level].move_to_end(job.study, last=False)
            self._changed.notify_all()
            return True

    def take(self, least: int = URGENT, most: int = BESIDE, seconds: float | None = 0.0) -> Job | None:
        """The next job of these levels; None if there is none within ``seconds``, or the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or any(self._waiting[least : most + 1]), seconds)
            levels = list(self._waiting[least : most + 1])
            if most == BESIDE and self._owed > 0 and not self._waiting[URGENT]:
                levels.reverse()
            for level in levels:
                if level:
                    study, jobs = level.popitem(last=False)
                    job = jobs.popleft()
                    if jobs:
                        level[study] = jobs  # behind the other studies
                    return job
            return None

    def took(self, job: Job, seconds: float) -> None:
        """Record that a job ended after so many seconds."""
        with self._changed:
            if job.level == BESIDE:
                self._owed -= seconds
            elif job.level == USUAL:
                self._owed = min(self._owed + _SHARE * seconds, _MOST_OWED)

    def lengths(self) -> tuple[int, ...]:
        """How many jobs of each level wait."""
        with self._changed:
            return tuple(sum(map(len, level.values())) for level in self._waiting)

    def close(self) -> list[Job]:
        """Take no more jobs, and wake everybody who waits for one; those that were waiting."""
        with self._changed:
            self._closed = True
            left = [job for level in self._waiting for jobs in level.values() for job in jobs]
            for level in self._waiting:
                level.clear()
            self._changed.notify_all()
            return left

    @property
    def is_closed(self) -> bool:
        """Whether no jobs are taken any more."""
        return self._closed
