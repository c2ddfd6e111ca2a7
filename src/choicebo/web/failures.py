"""What the browser or client hears when something fails: a sentence and a status, never a stack trace."""

from __future__ import annotations

import logging
import reprlib
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from choicebo.errors import ChoiceboError, ComputationLostError, InvalidInputError
from choicebo.study import (
    AlreadyAnsweredError,
    ReadOnlyError,
    StorageError,
    StudyArchivedError,
    StudyExistsError,
    StudyNotFoundError,
    UnknownRaterError,
)
from choicebo.web.access import ForgedFormError, NotAllowedError, OwnerOnlyError, RenamedError, TooManyAttemptsError
from choicebo.web.addresses import at, name_of, study_path
from choicebo.web.context import access_of, render, see_other, server_of, wants_part
from choicebo.web.guard import HEADERS
from choicebo.web.server_log import route_of

log = logging.getLogger("choicebo.web")

API = "/api/"
_FORMS = ("/studies/new", "/studies/catalogue")
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (StudyNotFoundError, 404),
    (UnknownRaterError, 404),
    (StudyExistsError, 409),
    (StudyArchivedError, 423),
    (AlreadyAnsweredError, 409),
    (NotAllowedError, 401),
    (OwnerOnlyError, 403),
    (TooManyAttemptsError, 429),
    (ForgedFormError, 403),
    (InvalidInputError, 400),
    (ReadOnlyError, 423),
    (StorageError, 503),
    (ComputationLostError, 503),
)
_RETRY_AFTER = {429: "60", 503: "2"}
"""Seconds after which it is worth trying again."""
_NOT_NOW = (
    "The studies cannot be read or written at the moment. Every answer that was accepted is stored; try again in "
    "a moment."
)
_ONLY_READ = "The studies can only be read at the moment: nothing can be answered or changed."
_GONE = "There is no such study, or it was deleted."
_TOO_DEEP = "The request is nested too deeply: send a plain value."
_NO_TEXT = "The request holds half a character (a lone surrogate), which cannot be stored: leave it out."
_LONGEST = 1000
"""Characters of a sentence."""
_SORRY = "Something went wrong on the server. Your earlier answers are stored; try again."


def explain(request: Request, error: BaseException) -> str:
    """What to say about an error that came up in the background."""
    if isinstance(error, ChoiceboError):
        return _told(request, error)
    log.error("A computation failed.", exc_info=error)
    return _SORRY


def code_of(error: Exception) -> int:
    """The HTTP status of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 500)


def add_to(app: FastAPI) -> None:
    """Answer errors of the app."""
    app.add_exception_handler(ChoiceboError, _known)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(RecursionError, lambda request, _: answer(request, 400, _TOO_DEEP))
    app.add_exception_handler(UnicodeEncodeError, lambda request, _: answer(request, 400, _NO_TEXT))
    app.add_exception_handler(Exception, _unknown)


def _known(request: Request, error: Exception) -> Response:
    code = code_of(error)
    if isinstance(error, StudyNotFoundError) and "name" in request.path_params:
        server_of(request).forget(name_of(request.path_params["name"]))
    if isinstance(error, RenamedError) and request.method == "GET" and _is_page(request):
        return see_other(at(f"/join/{error.token}"))
    if isinstance(error, NotAllowedError) and request.method == "GET" and _is_page(request):
        return see_other(at(f"/enter?next={quote(request.url.path)}"))
    return answer(request, code, _told(request, error))


def _told(request: Request, error: Exception) -> str:
    """The sentence of an error; only the owner learns where the studies are stored."""
    if access_of(request).shows_owner(request):
        return str(error)
    if isinstance(error, ReadOnlyError):
        return _ONLY_READ
    if isinstance(error, StorageError):
        log.warning("%s", error)
        return _NOT_NOW
    return _GONE if str(server_of(request).storage) in str(error) else str(error)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = {404: "There is no such page.", 405: "This address does not accept that method."}
    return answer(request, error.status_code, told.get(error.status_code, str(error.detail)), error.headers)


def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return answer(request, 422, f"{reprlib.repr(place)[1:-1]}: {first['msg']}.")


def _unknown(request: Request, error: Exception) -> Response:
    log.error("%s %s failed.", request.method, route_of(request.scope), exc_info=error)
    response = answer(request, 500, _SORRY)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _is_page(request: Request) -> bool:
    return not request.url.path.startswith(API) and not wants_part(request)


def answer(request: Request, code: int, message: str, headers: object = None) -> Response:
    """A sentence and a status, as a page, as a part of one, or as JSON: whatever the request is for."""
    message = _short(message.encode(errors="replace").decode())
    if request.url.path.startswith(API):
        response: Response = JSONResponse({"error": message}, code)
        if code == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
    elif wants_part(request):
        response = render(request, "parts/failure.html", status=code, message=message)
    else:
        response = render(
            request, "failure.html", status=code, message=message, code=code, back=_way_back(request, code)
        )
    if code in _RETRY_AFTER:
        response.headers["Retry-After"] = _RETRY_AFTER[code]
    if isinstance(headers, dict):
        response.headers.update(headers)
    return response


def _short(message: str) -> str:
    """A sentence whose middle is left out if what was sent makes it too long to be read."""
    return message if len(message) <= _LONGEST else f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"


def _way_back(request: Request, code: int) -> tuple[str, str]:
    """Where to go from the page of an error: an address, and what to call it."""
    name = request.path_params.get("name") if code == 403 else None
    if name is not None:  # a rater's way back is the study: the start is for the owner
        return study_path(name_of(name)), "To the study"
    if request.method == "POST" and request.url.path in _FORMS:
        return at(request.url.path), "Back to the form"
    return at("/"), "To the start"
