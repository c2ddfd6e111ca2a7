"""Raters: who answers, what they have answered, and their links."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.study import OWNER, StudyError
from choicebo.web.context import Form, OwnerSitting, Seat, render, server_of, text

router = APIRouter()


@router.get("/study/{name}/raters")
def raters(request: Request, sitting: OwnerSitting) -> Response:
    """The page."""
    return _page(request, sitting)


@router.post("/study/{name}/raters")
def add(request: Request, sitting: OwnerSitting, form: Form) -> Response:
    """Invite somebody; their link is shown once."""
    name = text(form, "rater").strip()
    if text(form, "act") != "renew" and name in {rater.name for rater in sitting.study.raters()}:
        told = f"There is a rater {name!r} already: give another name, or make a new link in the table."
        return _page(request, sitting, problem=told, status=400)
    try:
        token = sitting.study.new_token(name) if text(form, "act") == "renew" else sitting.study.add_rater(name)
    except StudyError as error:
        return _page(request, sitting, problem=str(error), status=400)
    return _page(request, sitting, invited=name, link=f"{str(request.base_url).rstrip('/')}/join/{token}")


def _page(
    request: Request, sitting: Seat, *, invited: str = "", link: str = "", problem: str = "", status: int = 200
) -> Response:
    shown: dict[str, Any] = {
        "raters": sitting.study.raters(),
        "invited": invited,
        "link": link,
        "problem": problem,
        "owner": OWNER,
        "shared": server_of(request).settings.share_result,
    }
    return render(request, "raters.html", status=status, seat=sitting, **shown)
