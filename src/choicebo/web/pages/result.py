"""Result: the best options, the charts, what drives the hidden objectives, downloads."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.study import Study, StudyNotFound
from choicebo.web import charts, events
from choicebo.web.cards import single
from choicebo.web.context import OwnerSitting, Seat, desk_of, render
from choicebo.web.failures import explain

router = APIRouter()

_MOST_CARDS = 12
_FEWEST_CARDS = 5
"""Where few options are best, those close behind are shown as well."""
_TABLES = ("options", "answers", "pareto")


@router.get("/study/{name}/result")
def result(request: Request, sitting: OwnerSitting) -> Response:
    """The page."""
    return render(request, "result.html", seat=sitting, **_known(request, sitting))


@router.get("/study/{name}/result/part")
def result_part(request: Request, sitting: OwnerSitting) -> Response:
    """What is on the page, for its script."""
    return render(request, "parts/result.html", seat=sitting, **_known(request, sitting))


@router.get("/study/{name}/result/events")
def result_events(request: Request, sitting: OwnerSitting) -> Response:
    """Server-sent events until the result is there."""
    return events.stream(request, desk_of(request).begin_result(sitting.study), explain)


@router.get("/study/{name}/download/{file}")
def download(sitting: OwnerSitting, file: str) -> Response:
    """The study as a file."""
    study = sitting.study
    if file == "study.json":
        return _file(study, "study.json", study.export_json(), "application/json")
    if file == "report.html":
        return _file(study, "report.html", _report(study), "text/html; charset=utf-8")
    table = next((table for table in _TABLES if file == f"{table}.csv"), None)
    if table is None:
        raise StudyNotFound(f"There is no download {file!r}.")
    return _file(study, file, study.export_csv(table), "text/csv; charset=utf-8")  # type: ignore[arg-type]


def _known(request: Request, sitting: Seat) -> dict[str, Any]:
    study = sitting.study
    answers = study.n_answers
    found = desk_of(request).result(study) if answers else None
    context: dict[str, Any] = {"result": found, "answers": answers, "cards": [], "parallel": None, "scatters": ()}
    if found is not None and found.points:
        shown = found.points[: min(max(len(found.best), _FEWEST_CARDS), _MOST_CARDS)]
        context["cards"] = [(point, single(study, point.option)) for point in shown]
        context["more"] = max(len(found.best) - len(shown), 0)
        context["parallel"] = charts.parallel(study.space, found.points)
        context["scatters"] = charts.scatters(study.space, found.points)
        context["spark"] = charts.spark
    return context


def _report(study: Study) -> str:
    from choicebo.cli.report_page import page

    posterior = study.posterior()
    if posterior is None:
        raise StudyNotFound("There are no answers yet, so there is nothing to report.")
    return page(study, study.status(), posterior)


def _file(study: Study, file: str, content: str, media_type: str) -> Response:
    stem = re.sub(r"[^\w-]+", "-", study.name, flags=re.ASCII).strip("-") or "study"
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{file}"'}
    return Response(content, media_type=media_type, headers=headers)
