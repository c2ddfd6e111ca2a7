"""Raters: who answers, what they have answered, and their links."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.errors import InvalidInputError
from choicebo.study import OWNER
from choicebo.web.addresses import study_path
from choicebo.web.context import Form, OwnerSitting, Seat, render, see_other, server_of, text
from choicebo.web.rater_link import rater_link
from choicebo.web.server_settings import SHORTEST_TOKEN

router = APIRouter()


@router.get("/study/{name}/raters")
def raters(request: Request, sitting: OwnerSitting, remove: str = "") -> Response:
    """The page; with ``remove`` it asks what to do with a rater's answers."""
    return _page(request, sitting, leaving=remove)


@router.post("/study/{name}/raters")
def change(request: Request, sitting: OwnerSitting, form: Form) -> Response:
    """Invite somebody, whose link is shown once; make another link; remove somebody, or bring them back."""
    name, act, study = text(form, "rater").strip(), text(form, "act"), sitting.study
    try:
        match act:
            case "remove":
                study.remove_rater(name, answers=text(form, "answers", "keep"))  # type: ignore[arg-type]
                return see_other(study_path(study.name, "raters"))
            case "renew":
                token = study.new_token(name)
            case "restore":
                token = study.restore_rater(name)
            case _:
                token = _add(sitting, name)
    except InvalidInputError as error:
        return _page(request, sitting, problem=str(error), status=400)
    return _page(request, sitting, invited=name, token=token)


def _add(sitting: Seat, name: str) -> str:
    known = {rater.name: rater.removed_at for rater in sitting.study.raters()}
    if name in known:
        way = "bring them back" if known[name] is not None else "make a new link"
        raise InvalidInputError(f"There is a rater {name!r} already: give another name, or {way} in the table.")
    return sitting.study.add_rater(name)


def _page(
    request: Request,
    sitting: Seat,
    *,
    invited: str = "",
    token: str = "",
    problem: str = "",
    leaving: str = "",
    status: int = 200,
) -> Response:
    settings, people = server_of(request).settings, sitting.study.raters()
    shown: dict[str, Any] = {
        "raters": [rater for rater in people if rater.removed_at is None],
        "removed": [rater for rater in people if rater.removed_at is not None],
        "leaving": next((r for r in people if r.name == leaving and r.removed_at is None and r.name != OWNER), None),
        "invited": invited,
        "link": rater_link(request, settings, token) if token else None,
        "command": f"choicebo serve {settings.url} --host 0.0.0.0 --token {secrets.token_urlsafe(SHORTEST_TOKEN)}",
        "only_here": rater_link(request, settings, "").only_here,
        "problem": problem,
        "owner": OWNER,
        "shared": settings.share_result,
    }
    return render(request, "raters.html", status=status, seat=sitting, **shown)
