"""History: every answer as it was given, newest first; retract and restore."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from choicebo.presentation.answering import ANSWERING, marked_before
from choicebo.study import Answer, Status, StudyNotFoundError, Surprise
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, Seat, Sitting, render, see_other, server_of, text, wants_part, whole, within
from choicebo.web.pages.choose import marked
from choicebo.web.pictures import compared

router = APIRouter()

_PER_PAGE = 15
_BEFORE_SURPRISES = 2.0
"""Seconds for which the page waits to know which answers are surprising."""


@router.get("/study/{name}/history")
async def history(request: Request, sitting: Sitting, page: int = 1) -> Response:
    """The page; a rater sees only what they answered themselves."""
    begun = await run_in_threadpool(_begin_statuses, request, sitting)
    found: list[Surprise] = []
    for each in begun:
        status = await within(request, sitting, _BEFORE_SURPRISES / len(begun), each)
        found += () if status is None else status.surprising
    return await run_in_threadpool(_page, request, sitting, page, found)


def _page(request: Request, sitting: Seat, page: int, found: list[Surprise]) -> Response:
    own, surprising = sitting.sees, {each.past.id: each.probability for each in found}
    total = sitting.study.count_latest(own)
    pages = max(1, -(-total // _PER_PAGE))
    at = min(max(page, 1), pages)
    entries = [
        _entry(sitting, act) for act in sitting.study.latest(own, start=(at - 1) * _PER_PAGE, stop=at * _PER_PAGE)
    ]
    shown: dict[str, Any] = {
        "entries": entries,
        "total": total,
        "at": at,
        "pages": pages,
        "surprising": surprising,
        "several": own is None and _several(sitting),
        "clashes": [_clash(sitting, each) for each in found if each.against is not None],
    }
    return render(request, "history.html", seat=sitting, **shown)


def _clash(sitting: Seat, found: Surprise) -> dict[str, Any]:
    """Two answers side by side."""
    sides = [_entry(sitting, past) for past in (found.past, found.against) if past is not None]
    for side in sides:
        options = side["past"].options
        side["disputed"] = {at for at, option in enumerate(options) if option in found.disputed}
        side["own"] = side["past"].question is not None and side["past"].rater == sitting.rater
    return {"surprise": found, "sides": sides}


@router.get("/study/{name}/answers/{answer}/change")
def change(request: Request, sitting: Sitting, answer: int, notice: str = "") -> Response:
    """A question with its answer, to be answered again."""
    past = _own_answer(sitting, answer)
    return render(
        request,
        "change.html",
        seat=sitting,
        past=past,
        cards=compared(sitting.study, past.options).cards,
        notice=notice,
        answering=ANSWERING[sitting.study.answer],
        marked=marked_before(past),
    )


@router.post("/study/{name}/answers/{answer}/change")
def correct(request: Request, sitting: Sitting, answer: int, form: Form) -> Response:
    """Replace an answer by another one."""
    past = _own_answer(sitting, answer)
    said = marked(sitting.study, form)
    if said is None and sitting.study.answer == "subset" and sitting.study.baseline is not None:
        said = {"kept": []}
    if said is None:
        return see_other(study_path(sitting.study.name, f"answers/{answer}/change?notice=empty"))
    assert past.question is not None
    told = sitting.tell(past.question, **said, correction=True)
    return see_other(study_path(sitting.study.name, f"history#answer-{told.id}"))


def _own_answer(sitting: Seat, answer: int) -> Answer:
    past = sitting.past(answer)
    if past.question is None or past.rater != sitting.rater or past.state not in ("standing", "retracted"):
        raise StudyNotFoundError("Only your own answers can be changed, and only while they count.")
    return past


@router.post("/study/{name}/answers/{answer}/{act}")
def amend(request: Request, sitting: Sitting, answer: int, act: str, form: Form) -> Response:
    """Retract an answer, or let it count again."""
    past = sitting.past(answer)
    if act == "retract":
        sitting.study.retract(past)
    elif act == "restore":
        sitting.study.restore(past)
    else:
        raise StudyNotFoundError("An answer can only be retracted or restored: go back to the history.")
    if wants_part(request):
        entry = _entry(sitting, sitting.past(answer))
        several = sitting.visitor.is_owner and _several(sitting)
        # What is surprising may have changed with it; the page says so when it is loaded again.
        return render(request, "parts/past.html", seat=sitting, entry=entry, surprising={}, several=several)
    page = whole(text(form, "page", "1"), "page")
    return see_other(study_path(sitting.study.name, f"history?page={page}#answer-{answer}"))


def _several(sitting: Seat) -> bool:
    """Whether more than one person answered."""
    return sum(rater.last_seen is not None for rater in sitting.study.raters()) > 1


def _begin_statuses(request: Request, sitting: Seat) -> list[Future[Status]]:
    """What says which answers are surprising, for everybody whose answers are learned from."""
    study = sitting.study
    if not sitting.visitor.is_owner and study.raters_mode != "separate":
        return []  # what is expected of them follows from the answers of others
    own = None if study.raters_mode != "separate" else sitting.rater
    people = [rater.name for rater in study.raters()] if own is not None and sitting.visitor.is_owner else [own]
    return [server_of(request).begin_status(study, person) for person in people if study.has_posterior(person)]


def _entry(sitting: Seat, past: Answer) -> dict[str, Any]:
    changeable = past.kind != "skip" and past.state in ("standing", "retracted")
    return {"past": past, "cards": compared(sitting.study, past.options).cards, "changeable": changeable}
