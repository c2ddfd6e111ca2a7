from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from choicebo.errors import StorageError
from choicebo.serving.computing import FairThreads
from choicebo.serving.fair_queue import URGENT, FairQueue, Job


def look() -> None:
    """Named as what nobody waits for."""


def fit() -> None:
    """Named as what takes long."""


def question_from() -> None:
    """Named as what is urgent."""


def taken(queue: FairQueue) -> list[tuple[str, str]]:
    found = []
    while (job := queue.take()) is not None:
        found.append((job.study, job.fn.__name__))
    return found


def test_a_busy_study_does_not_starve_the_others() -> None:
    queue = FairQueue()
    for study in ("busy",) * 5 + ("calm",) * 2:
        queue.put(Job(fit, study=study))
    assert [study for study, _ in taken(queue)] == ["busy", "calm", "busy", "calm", "busy", "busy", "busy"]


def test_what_is_urgent_comes_first_and_what_nobody_waits_for_gets_a_share_of_the_time() -> None:
    queue, taken_up = FairQueue(), {"fit": 0.0, "look": 0.0}
    for _ in range(200):
        for fn in (look, fit):
            queue.put(Job(fn))
    queue.put(Job(question_from))
    first = queue.take()
    assert first is not None
    assert first.fn is question_from
    while sum(taken_up.values()) < 300:
        job = queue.take()
        assert job is not None
        seconds = 10.0 if job.fn is look else 1.0
        queue.took(job, seconds)
        taken_up[job.fn.__name__] += seconds
    assert 0.15 < taken_up["look"] / sum(taken_up.values()) < 0.35


def test_who_computes_only_what_is_urgent_takes_nothing_else() -> None:
    queue = FairQueue()
    queue.put(Job(fit))
    assert queue.take(most=URGENT) is None
    assert queue.lengths() == (0, 1, 0)


def test_a_job_that_was_lost_is_the_next() -> None:
    queue = FairQueue()
    for study in "ab":
        queue.put(Job(fit, study=study))
    queue.put(Job(look, study="c"))
    queue.put(Job(fit, study="b", attempts=1), first=True)
    again = queue.take()
    assert again is not None
    assert (again.study, again.attempts) == ("b", 1)


def test_who_waits_for_a_job_is_woken_by_the_end() -> None:
    queue, found = FairQueue(), []
    waiting = threading.Thread(target=lambda: found.append(queue.take(seconds=None)))
    waiting.start()
    queue.close()
    waiting.join(30)
    assert found == [None]
    assert not queue.put(Job(fit))


def test_no_more_threads_think_than_the_limit_says_and_each_study_has_its_turn() -> None:
    go, order, limit = threading.Event(), [], 1

    def think(study: str) -> str:
        assert go.wait(60)
        order.append(study)
        return study

    with ThreadPoolExecutor(8) as threads:
        fair = FairThreads(threads, lambda: limit)
        jobs = [fair.submit(study, lambda study=study: think(study)) for study in "aaab"]
        assert [job.running() for job in jobs] == [True, False, False, False]
        assert fair.waiting == 3
        go.set()
        assert [job.result(60) for job in jobs] == ["a", "a", "a", "b"]
        assert order[:3] == ["a", "a", "b"]
        fair.shutdown()
        with pytest.raises(StorageError, match="being stopped"):
            fair.submit("a", fit)
