"""Runs many independent jobs, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import joblib

from choicebo._runtime import limit_blas_threads

Result = TypeVar("Result")


def run(jobs: Sequence[Callable[[], Result]], n_jobs: int = 1, done: Callable[[], None] | None = None) -> list[Result]:
    """The results of the jobs in their order; ``done()`` is called as each arrives.

    With ``n_jobs`` above 1 the jobs must be picklable (``functools.partial`` of a function of a module).

    >>> run([lambda: 1, lambda: 2])
    [1, 2]
    """
    # Worker processes inherit the environment: one BLAS thread each.
    limit_blas_threads()
    arriving = joblib.Parallel(n_jobs=n_jobs, backend="loky", return_as="generator")(
        joblib.delayed(job)() for job in jobs
    )
    results: list[Result] = []
    for result in arriving:
        results.append(result)
        if done is not None:
            done()
    return results
