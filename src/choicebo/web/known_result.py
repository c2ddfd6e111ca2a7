"""The result of a study that is available at once, without waiting for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from choicebo.serving.scheduler import BEFORE_THINKING
from choicebo.study import StudyResult
from choicebo.study.result import counted_result, outdated, with_names
from choicebo.web.context import Seat, server_of, within
from choicebo.web.people import is_of_others

_BEFORE_COUNTS = 0.2
"""Seconds to wait for an earlier model before falling back to counts."""


async def known_result(
    request: Request, sitting: Seat, learned_from: str | None, context: Mapping[str, Any] | None = None
) -> StudyResult:
    """The result; while it is computed, one from earlier answers; while there is no model at all, from counts."""
    study, server = sitting.study, server_of(request)
    begun = await run_in_threadpool(server.begin_result, study, learned_from, context)
    earlier = await run_in_threadpool(server.begin_earlier_result, study, learned_from, context)
    found = await within(request, sitting, BEFORE_THINKING, begun)
    if found is None:
        known = server.latest_result(study, learned_from, context)
        if known is not None and known.posterior is not None:
            found = await run_in_threadpool(outdated, study, known, learned_from)
        else:
            found = await within(request, sitting, _BEFORE_COUNTS, earlier)
    if found is None and is_of_others(sitting, learned_from):
        # Counts of few people's answers would tell a rater what the others kept.
        answers = await run_in_threadpool(study.count_answers)
        return StudyResult(answers, waiting=answers)
    if found is None:
        return await run_in_threadpool(counted_result, study, learned_from, context)
    return await run_in_threadpool(with_names, study, found)
