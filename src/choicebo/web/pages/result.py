"""Result: the best options, what drives the hidden objectives, options to try, downloads. There is always one to show."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from choicebo.presentation import charts
from choicebo.presentation.colours import is_hue
from choicebo.study import Point, Study, StudyNotFoundError, StudyResult
from choicebo.study.transfer import TABLES
from choicebo.web import people, pictures, server_sent_events, trying
from choicebo.web.addresses import at, study_path
from choicebo.web.context import (
    Form,
    OwnerSitting,
    ResultSitting,
    Seat,
    render,
    see_other,
    server_of,
    text,
    whole,
    whose,
)
from choicebo.web.context_fields import context_fields, context_pairs, query_of, sent_context
from choicebo.web.failures import explain
from choicebo.web.known_result import known_result

router = APIRouter()

_MOST_CARDS = 12
_FEWEST_CARDS = 5
"""Where few options are best, those close behind are shown as well, ..."""
_CLOSE = 0.25
"""... which are those of at least this probability."""
_MOST_DRIVERS = 4


@router.get("/study/{name}/result")
async def result(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """The page."""
    return await _shown(request, sitting, rater, "result.html")


@router.get("/study/{name}/result/part")
async def result_part(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """What is on the page, for its script."""
    return await _shown(request, sitting, rater, "parts/result.html")


@router.get("/study/{name}/result/compare")
async def result_compare(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """Two options side by side, for the script of the page."""
    found = await known_result(request, sitting, whose(sitting, rater), _asked_context(request, sitting))
    return await run_in_threadpool(
        lambda: render(request, "parts/compared.html", seat=sitting, **_compared(request, sitting, found))
    )


@router.get("/study/{name}/result/try")
async def result_try(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """How probable an option is to be kept, for the script of the page."""
    found = await known_result(request, sitting, whose(sitting, rater), _asked_context(request, sitting))
    return await run_in_threadpool(
        lambda: render(
            request, "parts/tried.html", seat=sitting, tried=trying.tried(sitting.study, found, request.query_params)
        )
    )


@router.get("/study/{name}/result/events")
def result_events(request: Request, sitting: ResultSitting, rater: str = "") -> Response:
    """Server-sent events until the result is there."""
    return server_sent_events.stream(
        request,
        server_of(request).begin_result(sitting.study, whose(sitting, rater), _asked_context(request, sitting)),
        explain,
    )


@router.get("/study/{name}/result/agreement")
async def result_agreement(request: Request, sitting: OwnerSitting) -> Response:
    """What suits all raters and where they differ, for the script of the page."""
    known = await people.known_agreement(request, sitting, _asked_context(request, sitting))
    return await run_in_threadpool(
        lambda: render(request, "parts/agreement.html", seat=sitting, query="", **people.shown(sitting.study, known))
    )


@router.get("/study/{name}/result/agreement/events")
def agreement_events(request: Request, sitting: OwnerSitting) -> Response:
    """Server-sent events until it is there."""
    begun = server_of(request).begin_agreement(sitting.study, _asked_context(request, sitting))
    return server_sent_events.stream(request, begun, explain)


@router.post("/study/{name}/result/name")
async def name_objective(sitting: OwnerSitting, form: Form) -> Response:
    """Give a hidden objective a name, or take it away."""
    number, name, rater = whole(form.get("number"), "The number"), text(form, "name"), text(form, "rater")
    await run_in_threadpool(sitting.study.name_objective, number, name, whose(sitting, rater))
    query = f"?{urlencode({'rater': rater})}" if rater else ""
    return see_other(f"{study_path(sitting.study.name, 'result')}{query}#objective-{number}")


@router.get("/study/{name}/download/{file}")
def download(request: Request, sitting: OwnerSitting, file: str, rater: str = "") -> Response:
    """The study as a file."""
    study, said = sitting.study, _asked_context(request, sitting)
    if file == "study.json":
        return _file(study, "study.json", study.export_json(), "application/json")
    if file == "report.html":
        return _file(study, "report.html", _report(study, whose(sitting, rater), said), "text/html; charset=utf-8")
    table = next((table for table in TABLES if file == f"{table}.csv"), None)
    if table is None:
        raise StudyNotFoundError(f"There is no download {file!r}.")
    content = study.export_csv(table, rater=whose(sitting, rater), context=said)  # type: ignore[arg-type]
    return _file(study, file, content, "text/csv; charset=utf-8")


_STYLE_VERSION = hashlib.sha256(charts.STYLE.encode()).hexdigest()[:12]


@router.get("/static/charts.css")
def chart_style() -> Response:
    """The style of the charts, which the report has inside."""
    return Response(
        charts.STYLE, media_type="text/css", headers={"Cache-Control": "public, max-age=31536000, immutable"}
    )


def chart_style_address() -> str:
    """Its address, which changes with its content."""
    return at(f"/static/charts.css?v={_STYLE_VERSION}")


def _asked_context(request: Request, sitting: Seat) -> dict[str, Any] | None:
    """The context in the address; None: that of the latest answer."""
    return sent_context(sitting.study.space, request.query_params)


async def _shown(request: Request, sitting: Seat, rater: str, template: str) -> Response:
    learned_from = whose(sitting, rater)
    answers = await run_in_threadpool(sitting.study.count_answers, learned_from)
    said = _asked_context(request, sitting)
    found = await known_result(request, sitting, learned_from, said) if answers else None
    if found is not None and found.posterior is None and people.is_of_others(sitting, learned_from):
        found = None
    compared = None
    if found is not None and not found.is_preliminary and people.compares(sitting, learned_from):
        compared = await people.known_agreement(request, sitting, said)
    return await run_in_threadpool(
        lambda: render(
            request,
            template,
            seat=sitting,
            **_known(request, sitting, learned_from, found, said),
            **people.shown(sitting.study, compared),
        )
    )


def _known(
    request: Request,
    sitting: Seat,
    learned_from: str | None,
    found: StudyResult | None,
    said: dict[str, Any] | None,
) -> dict[str, Any]:
    study, asked = sitting.study, people.asked(sitting, learned_from)
    given = context_pairs(study.space, said)
    here = said or (study.latest_context(learned_from) if found is None else found.context)
    context: dict[str, Any] = {
        "result": found,
        "whose": learned_from,
        "asked": asked,
        "query": query_of([*([] if asked is None else [("rater", asked)]), *given]),
        "given": given,
        "contexts": context_fields(study.space, here),
        "people": people.switch(sitting, learned_from),
        "chart_style": chart_style_address(),
    }
    if found is None:
        return context
    shown = worth_a_card(found.points)
    context |= {
        "cards": [(point, pictures.card(study, point.option, found.measured)) for point in shown],
        "more": max(len(found.best) - len(shown), 0),
        "parallel": charts.parallel(study.space, found.points, found.measured),
        "unseen": None
        if found.unseen is None
        else (found.unseen, pictures.card(study, found.unseen.option, found.measured)),
        "controls": trying.controls(study, found, request.query_params) if found.posterior and found.points else (),
        "tried": trying.tried(study, found, request.query_params) if trying.is_asked(request.query_params) else None,
        "maps": _maps(study, found),
        "effects": _effects(study, found),
    }
    return context | _compared(request, sitting, found)


def _maps(study: Study, found: StudyResult) -> list[charts.Chart]:
    if not found.points or found.posterior is None:
        return []
    titles = [objective.title for objective in found.objectives]
    titles = titles or [f"hidden objective {d + 1}" for d in range(len(found.points[0].mean))]
    size = pictures.drawing_size(study)
    pictured = functools.partial(pictures.picture_address, study) if study.show.kind != "bars" else None
    ratio = size[1] / size[0] if size else 0.75
    return charts.maps(study.space, found.points, titles, pictured, ratio, found.measured)


def _effects(study: Study, found: StudyResult) -> list[list[tuple[Any, Markup]]]:
    """For each objective its most relevant parameters, and a chart of each."""
    listed = []
    for objective in found.objectives:
        shown = objective.main_drivers[:_MOST_DRIVERS]
        span = charts.span_of(shown)
        listed.append(
            [(each, Markup(charts.effect(each, span, is_hue(study.show, each.parameter, each.unit)))) for each in shown]
        )
    return listed


def _compared(request: Request, sitting: Seat, found: StudyResult) -> dict[str, Any]:
    """The two options that the address names, side by side."""
    study = sitting.study
    keys = request.query_params.getlist("option")[:2]
    pair = [point for key in keys for point in found.points if point.key == key]
    comparison = (
        pictures.compared(study, [point.option for point in pair], measured=found.measured) if len(pair) == 2 else None
    )
    numbers = [found.points.index(point) + 1 for point in pair]
    return {"compared": comparison, "pair": pair, "numbers": numbers, "chosen": keys} | {
        "keeping": people.who_keeps(
            request, sitting, [point.option for point in pair], _asked_context(request, sitting)
        )
    }


def worth_a_card(points: Sequence[Point]) -> Sequence[Point]:
    """The best options, and beside few of them those close behind; ``points`` are sorted."""
    best = sum(point.optimal for point in points)
    close = sum(point.optimal or point.probability >= _CLOSE for point in points)
    return points[: min(max(best, min(close, _FEWEST_CARDS)), _MOST_CARDS)]


def _report(study: Study, rater: str | None, context: dict[str, Any] | None) -> str:
    from choicebo.presentation.report_page import report_page

    if not study.count_answers(rater):
        raise StudyNotFoundError("There are no answers yet, so there is nothing to report.")
    return report_page(study, rater, context=context)


def _file(study: Study, file: str, content: str, media_type: str) -> Response:
    stem = re.sub(r"[^\w-]+", "-", study.name, flags=re.ASCII).strip("-") or "study"
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{file}"'}
    return Response(content, media_type=media_type, headers=headers)
