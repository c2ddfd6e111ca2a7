"""The entrance: tokens become cookies, and the first page is found."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.web.access import OWNER_COOKIE, NotAllowedError
from choicebo.web.addresses import at, name_of, study_path
from choicebo.web.context import Form, access_of, render, see_other, server_of, text

router = APIRouter()


@router.get("/")
def home(request: Request) -> Response:
    """The only study, or the list of them."""
    access_of(request).require_owner(request)
    studies = [info for info in server_of(request).list() if info.archived_at is None]
    return see_other(study_path(studies[0].name) if len(studies) == 1 else at("/studies"))


@router.get("/enter")
def enter_page(request: Request, token: str = "", next: str = "/") -> Response:
    """Ask for the token, or take the one in the address and hide it from there."""
    if token:
        return _enter(request, token, _inside(next))
    return render(request, "enter.html", next=_inside(next), wrong=False)


@router.post("/enter")
def enter(request: Request, form: Form) -> Response:
    """Let the owner in."""
    return _enter(request, text(form, "token").strip(), _inside(text(form, "next", "/")))


@router.get("/join/{token}")
def join(request: Request, token: str) -> Response:
    """A rater's link."""
    access = access_of(request)
    try:
        study = access.join(request, token)
    except NotAllowedError:
        told = "This link is not valid, or is no longer valid: ask the person who sent it for a new one."
        return render(request, "failure.html", status=401, code=401, message=told, back=(at("/"), "To the start"))
    response = see_other(study_path(study))
    access.remember_rater(request, response, study, token)
    return response


@router.post("/study/{name}/leave")
def leave(request: Request, name: str, form: Form) -> Response:
    """Forget a rater's link in this browser."""
    response = see_other(at("/"))
    access_of(request).forget_rater(response, name_of(name))
    return response


@router.post("/leave")
def leave_owner(request: Request, form: Form) -> Response:
    """Forget the owner's token in this browser."""
    response = see_other(at("/enter"))
    response.delete_cookie(OWNER_COOKIE, path=at("") or "/", httponly=True, samesite="lax")
    return response


def _enter(request: Request, token: str, address: str) -> Response:
    response = see_other(at(address))
    try:
        access_of(request).enter(request, response, token)
    except NotAllowedError:
        return render(request, "enter.html", status=401, next=address, wrong=True)
    return response


def _inside(address: str) -> str:
    """An address on this server: a link must not send people elsewhere."""
    safe = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if safe else "/"
