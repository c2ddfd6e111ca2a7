"""Choose: the question, the answer, and the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from choicebo.errors import InvalidInputError
from choicebo.formatting import explained_by, known_names
from choicebo.presentation.answering import ANSWERING, marked_before
from choicebo.presentation.cards import Comparison
from choicebo.serving.scheduler import BEFORE_THINKING
from choicebo.space import Option
from choicebo.space.context import in_first_context
from choicebo.study import AlreadyAnsweredError, Answer, Question, Standing, Study, StudyError, StudyNotFoundError
from choicebo.web import pictures, server_sent_events
from choicebo.web.addresses import at, study_path
from choicebo.web.context import (
    Form,
    Seat,
    Sitting,
    render,
    see_other,
    sees_result,
    server_of,
    text,
    wants_part,
    whole,
    whose,
    within,
)
from choicebo.web.context_fields import context_fields
from choicebo.web.failures import explain
from choicebo.web.study_progress import Progress

router = APIRouter()

NOTICES = {
    "undone": "Taken back. You can answer this one again.",
    "nothing": "There is nothing to take back.",
    "answered": "This question was answered already, perhaps in another window. That answer stands; here is what is next.",
}
_BEFORE_PROGRESS = 5.0
"""Seconds to wait for how far the study has come before showing the page without it."""
COACHED = "choicebo_coached"
"""Cookie of those who have seen how to choose."""
_YEAR = 365 * 24 * 3600


@router.get("/study/{name}")
async def choose(request: Request, sitting: Sitting, notice: str = "", how: bool = False) -> Response:
    """The page with the question; before the first one, and with ``how``, an example of how to choose."""
    if sitting.study.archived_at is not None:
        return render(request, "archived.html", seat=sitting)
    return await _stage(request, sitting, "choose.html", notice, how=how)


@router.get("/study/{name}/stage")
async def stage(request: Request, sitting: Sitting) -> Response:
    """The question alone, for the script of the page."""
    return await _stage(request, sitting, "parts/stage.html")


@router.post("/study/{name}/answer")
async def answer(request: Request, sitting: Sitting, form: Form) -> Response:
    """Store an answer or a skip, and show what is next."""
    return await _next(request, sitting, await run_in_threadpool(_store, sitting, form))


def _store(sitting: Seat, form: FormData) -> str:
    """Store an answer or a skip; what to tell about it."""
    number = whole(form.get("question"), "The number of the question")
    try:
        if text(form, "act") == "skip":
            sitting.skip(number)
        else:
            said: dict[str, Any] | None = {"kept": []} if text(form, "act") == "none" else marked(sitting.study, form)
            if said is None:
                return "empty"
            if said == {"kept": []} and sitting.study.baseline is None:
                raise StudyError("Nothing is marked: mark at least one option, or skip.")
            sitting.tell(number, **said, seconds=_seconds(form))
    except AlreadyAnsweredError:
        return "answered"
    return ""


@router.post("/study/{name}/undo")
async def undo(request: Request, sitting: Sitting, form: Form) -> Response:
    """Take back the latest answer or skip; its question comes back as it was answered.

    The form names what it takes back, so that a form that is sent twice takes back one.
    """
    latest = whole(text(form, "latest"), "latest")
    try:
        taken = await run_in_threadpool(sitting.study.undo, rater=sitting.rater, latest=latest)
    except StudyError:
        return await _next(request, sitting, "nothing")
    return await (_next(request, sitting, "undone", taken[0]) if taken else _next(request, sitting, ""))


@router.get("/study/{name}/events")
def question_events(request: Request, sitting: Sitting) -> Response:
    """Server-sent events until the question is there."""
    return server_sent_events.stream(
        request, server_of(request).scheduler.begin_question(sitting.study, sitting.rater), explain
    )


@router.get("/study/{name}/progress")
async def progress(request: Request, sitting: Sitting) -> Response:
    """What the model knows by now, for the script of the page."""
    begun = await run_in_threadpool(_begin_progress, request, sitting)
    if begun is not None:
        await within(request, sitting, _BEFORE_PROGRESS, begun)
    late = begun is not None and not begun.done()
    return await run_in_threadpool(
        lambda: render(request, "parts/progress.html", seat=sitting, **_progress(request, sitting, True, late))
    )


def _begin_progress(request: Request, sitting: Seat) -> Future[Progress | None] | None:
    """Only where the model is there: nothing is fitted for it, and no question waits for it."""
    learned_from = whose(sitting)
    if not sees_result(request, sitting) or not sitting.study.count_answers(learned_from):
        return None
    if not sitting.study.has_posterior(learned_from):
        return None
    return server_of(request).begin_progress(sitting.study, learned_from)


def _progress(request: Request, sitting: Seat, shown: bool = False, late: bool = False) -> dict[str, Any]:
    """How far the study has come, as far as it is known at once.

    ``shown``: whether the page has looked since the answer; ``late``: whether what it looked for is still being computed.
    """
    study, server, learned_from = sitting.study, server_of(request), whose(sitting)
    sees = sees_result(request, sitting)
    is_thinking = sees and server.scheduler.is_thinking(study, sitting.rater)
    answers = study.count_answers(learned_from) if sees else study.count_answers(sitting.rater)
    known = server.last_progress(study, learned_from) if sees else None
    learns_from = _learns_from(study) if sees else 0
    # A question may come from an older model; that of the latest answers follows when there is time for it.
    is_behind = 0 < learns_from <= answers and (known is None or known.learned < answers)
    soon = "500ms" if sees and not shown else "3s" if is_thinking or late else "10s" if is_behind else ""
    return {
        "answers": answers,
        "own": study.count_answers(sitting.rater),
        "progress": known,
        "is_thinking": is_thinking,
        "learns_from": learns_from,
        # Beside the question, which never waits for it; and again while there is something to wait for.
        "refresh": soon,
    }


def _learns_from(study: Study) -> int:
    """How many answers there are before the first question of the model; 0 if there never is one."""
    from choicebo.optimizer import Settings  # a second of imports, for which the start of the server does not wait

    settings = Settings.from_dict(study.settings)
    first = settings.first_queries(study.space.dim)
    return first if settings.needs_model(first, study.space.dim) else 0


@router.post("/study/{name}/coached")
def coached(request: Request, sitting: Sitting, form: Form) -> Response:
    """Remember in this browser that its user knows how to choose."""
    response = see_other(study_path(sitting.study.name))
    secure = request.url.scheme == "https"
    response.set_cookie(COACHED, "1", max_age=_YEAR, path=at("") or "/", httponly=True, samesite="lax", secure=secure)
    return response


@router.get("/study/{name}/drawing.svg")
def drawing(sitting: Sitting, option: str) -> Response:
    """The drawing of an option."""
    try:
        known = json.loads(option)
    except (ValueError, RecursionError):
        raise StudyError("The option is not valid JSON: load the page again.") from None
    return Response(pictures.drawing(sitting.study, known), media_type="image/svg+xml", headers=_PICTURE_HEADERS)


@router.get("/study/{name}/image/{path:path}")
def image(sitting: Sitting, path: str) -> Response:
    """The image of an option, from the study's folder."""
    if not pictures.names_image(sitting.study, path):
        raise StudyNotFoundError("No option of the study has this image.")
    file = pictures.image_file(sitting.study.folder, path)
    return FileResponse(file, media_type=pictures.MEDIA_TYPES[file.suffix.lower()], headers=_PICTURE_HEADERS)


_PICTURE_HEADERS = {
    "Content-Security-Policy": pictures.PICTURE_POLICY,
    "Cache-Control": "private, max-age=86400",
}


async def _next(request: Request, sitting: Seat, notice: str, before: Answer | None = None) -> Response:
    if wants_part(request):
        return await _stage(request, sitting, "parts/stage.html", notice, before)
    return see_other(study_path(sitting.study.name) + (f"?notice={notice}" if notice else ""))


async def _stage(
    request: Request, sitting: Seat, template: str, notice: str = "", before: Answer | None = None, how: bool = False
) -> Response:
    """The question if it is there at once, or that it is being computed; marked as ``before``, if it was answered."""
    answering = ANSWERING[sitting.study.answer]
    standing = await run_in_threadpool(sitting.study.standing, sitting.rater)
    found = standing.question
    if found is None:
        begun = server_of(request).scheduler.begin_question(sitting.study, sitting.rater)
        found = await within(request, sitting, BEFORE_THINKING, begun)
    shown: dict[str, Any] = {
        "notice": answering.empty if notice == "empty" else NOTICES.get(notice, ""),
        "answering": answering,
        "marked": marked_before(before),
        # Its example is one of keeping several.
        "coach": how
        or (sitting.study.answer == "subset" and standing.latest is None and COACHED not in request.cookies),
    }
    return await run_in_threadpool(
        lambda: render(request, template, seat=sitting, **_shown(request, sitting, standing, found), **shown)
    )


def _shown(request: Request, sitting: Seat, standing: Standing, found: Question | None) -> dict[str, Any]:
    study = sitting.study
    context = study.wishes(sitting.rater).context
    options, new = (_outline(study, standing), ()) if found is None else (found.options, found.new)
    compared = pictures.compared(study, options, new)
    return {
        **_progress(request, sitting),
        "question": found,
        "comparison": _without(context, compared),
        "baseline": None if study.baseline is None else pictures.card(study, {**study.baseline, **context}),
        "contexts": context_fields(study.space, context),
        "wide": pictures.are_wide(study),
        "latest": 0 if standing.latest is None else standing.latest.id,
        "why": ["It is being computed from all answers so far."] if found is None else why(study, found),
    }


def _without(context: Mapping[str, Any], compared: Comparison) -> Comparison:
    """Options without their context, which stands above them."""
    shared = [line for line in compared.shared if line.field.name not in context]
    return replace(compared, shared=tuple(shared)) if context else compared


def _outline(study: Study, standing: Standing) -> Sequence[Option]:
    """Options like those to come, so that the page has room for them while they are computed."""
    if standing.latest is not None:
        return standing.latest.options
    space = in_first_context(study.space)
    return space.decode(space.sample(int(min(study.settings["query_size"], space.size)), seed=0))


def why(study: Study, question: Question) -> list[str]:
    """Why these options, in sentences."""
    found = [question.reason]
    new = [str(at + 1) for at, is_new in enumerate(question.new) if is_new]
    if new and len(new) < len(question.new):
        found.append(f"Never shown before: {', '.join(new)}. The others you have seen.")
    if question.latent_dim is not None:
        objectives = explained_by(question.latent_dim, *known_names(study.space.objectives))
        named = ", ".join(each.name for each in study.objective_names)
        found.append(
            f"The model behind it explains your answers so far by {objectives}{f' (named: {named})' if named else ''}."
        )
    found.append("The order is random and means nothing.")
    return found


def marked(study: Study, form: FormData) -> dict[str, Any] | None:
    """The answer in a form as arguments of ``Study.tell``; None if too little is marked."""
    if study.answer == "subset":
        kept = [whole(at, "A position") for at in form.getlist("kept")]
        return {"kept": kept} if kept else None
    if study.answer == "ranking":
        order = [whole(at, "A position") for at in text(form, "order").split(",") if at] or _order(form)
        return {"ranking": order} if order else None
    if study.answer == "pair" and text(form, "act") == "both":
        return {"kept": [0, 1]}
    given = {mark: whole(form[mark], "A position") for mark in ("best", "worst") if form.get(mark)}
    needed = ("best", "worst") if study.answer == "best-worst" else ("best",)
    if any(mark not in given for mark in needed) or given["best"] == given.get("worst"):
        return None
    return given


def _order(form: FormData) -> list[list[int]]:
    """The order in which lists of places put the options, where there is no script; the same place twice is a tie."""
    places: dict[int, list[int]] = {}
    for position, place in enumerate(form.getlist("place")):
        if place:
            places.setdefault(whole(place, "A place"), []).append(position)
    return [places[place] for place in sorted(places)]


def _seconds(form: FormData) -> float | None:
    given = text(form, "seconds")
    if not given:
        return None
    try:
        return min(max(float(given), 0.0), 86400.0)
    except ValueError:
        raise InvalidInputError(f"seconds is {given!r}: give a number.") from None
