"""Result: the best options, the charts, what drives the hidden objectives, downloads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from choicebo.serving.scheduler import BEFORE_THINKING
from choicebo.study import Study, StudyNotFoundError
from choicebo.web import charts, pictures, server_sent_events
from choicebo.web.context import OwnerSitting, ResultSitting, Seat, render, server_of, whose, within
from choicebo.web.failures import explain
from choicebo.web.study_result import Point, Result

router = APIRouter()

_MOST_CARDS = 12
_FEWEST_CARDS = 5
"""Where few options are best, those close behind are shown as well, ..."""
_CLOSE = 0.25
"""... which are those of at least this probability."""
_TABLES = ("options", "answers", "pareto")


@router.get("/study/{name}/result")
async def result(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """The page."""
    return await _shown(request, sitting, rater, "result.html")


@router.get("/study/{name}/result/part")
async def result_part(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """What is on the page, for its script."""
    return await _shown(request, sitting, rater, "parts/result.html")


@router.get("/study/{name}/result/events")
def result_events(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """Server-sent events until the result is there."""
    return server_sent_events.stream(
        request, server_of(request).begin_result(sitting.study, whose(sitting, rater)), explain
    )


@router.get("/study/{name}/download/{file}")
def download(sitting: OwnerSitting, file: str, rater: str = "") -> Response:
    """The study as a file."""
    study = sitting.study
    if file == "study.json":
        return _file(study, "study.json", study.export_json(), "application/json")
    if file == "report.html":
        return _file(study, "report.html", _report(study, whose(sitting, rater)), "text/html; charset=utf-8")
    table = next((table for table in _TABLES if file == f"{table}.csv"), None)
    if table is None:
        raise StudyNotFoundError(f"There is no download {file!r}.")
    return _file(study, file, study.export_csv(table), "text/csv; charset=utf-8")  # type: ignore[arg-type]


async def _shown(request: Request, sitting: Seat, rater: str, template: str) -> Response:
    """The result if it is there at once, or that it is being computed."""
    learned_from = whose(sitting, rater)
    answers = await run_in_threadpool(sitting.study.count_answers, learned_from)
    found = None
    if answers:
        begun = await run_in_threadpool(server_of(request).begin_result, sitting.study, learned_from)
        found = await within(request, sitting, BEFORE_THINKING, begun)
    return await run_in_threadpool(
        lambda: render(request, template, seat=sitting, **_known(sitting, learned_from, answers, found))
    )


def _known(sitting: Seat, learned_from: str | None, answers: int, found: Result | None) -> dict[str, Any]:
    study = sitting.study
    context: dict[str, Any] = {"result": found, "answers": answers, "cards": [], "parallel": None, "scatters": ()}
    context["whose"] = learned_from
    context["query"] = "" if learned_from is None else "?" + urlencode({"rater": learned_from})
    several = learned_from is not None and sitting.visitor.is_owner
    context["people"] = [person.name for person in study.raters()] if several else []
    if found is not None and found.points:
        shown = worth_a_card(found.points)
        context["cards"] = [(point, pictures.card(study, point.option)) for point in shown]
        context["more"] = max(len(found.best) - len(shown), 0)
        context["parallel"] = charts.parallel(study.space, found.points)
        context["scatters"] = charts.scatters(study.space, found.points)
        context["spark"] = charts.spark
    return context


def worth_a_card(points: Sequence[Point]) -> Sequence[Point]:
    """The best options, and beside few of them those close behind; ``points`` are sorted."""
    best = sum(point.optimal for point in points)
    close = sum(point.optimal or point.probability >= _CLOSE for point in points)
    return points[: min(max(best, min(close, _FEWEST_CARDS)), _MOST_CARDS)]


def _report(study: Study, rater: str | None) -> str:
    from choicebo.presentation.report_page import report_page

    if not study.count_answers(rater):
        raise StudyNotFoundError("There are no answers yet, so there is nothing to report.")
    return report_page(study, rater)


def _file(study: Study, file: str, content: str, media_type: str) -> Response:
    stem = re.sub(r"[^\w-]+", "-", study.name, flags=re.ASCII).strip("-") or "study"
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{file}"'}
    return Response(content, media_type=media_type, headers=headers)
