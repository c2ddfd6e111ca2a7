"""Who is asking: the owner, or a rater with a link; and forms that only our own pages can send."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from choicebo.errors import ChoiceboError
from choicebo.study import OWNER, Study
from choicebo.web.addresses import at, study_path
from choicebo.web.limiter import Limiter

if TYPE_CHECKING:
    from choicebo.web.server import Server

OWNER_COOKIE = "choicebo_owner"
RATER_COOKIE = "choicebo_rater"
FORM_COOKIE = "choicebo_form"
_LONGEST_PATH = 1024
"""Bytes; browsers ignore a cookie whose path is longer."""
_MONTH = 30 * 24 * 3600


class NotAllowedError(ChoiceboError):
    """The visitor has not shown who they are, or may not see this."""


class RenamedError(NotAllowedError):
    """A rater comes to a study by a name that it no longer has."""

    def __init__(self, message: str, token: str) -> None:
        super().__init__(message)
        self.token = token
        """That of the rater, which leads to the study."""


class OwnerOnlyError(ChoiceboError):
    """A rater looks at what is for the owner."""


class TooManyAttemptsError(ChoiceboError):
    """Wrong tokens came too often."""


class ForgedFormError(ChoiceboError):
    """A form that was not sent from one of our pages, or from one that is too old."""


@dataclass(frozen=True)
class Visitor:
    """Somebody who may see a study."""

    rater: str
    """Under which name they answer."""
    is_owner: bool


class Access:
    """Checks tokens, cookies and forms."""

    def __init__(self, server: Server, token: str | None) -> None:
        self._server = server
        self._token = token
        self.limiter = Limiter()
        # Whoever tries tokens by way of the cookie pays for each guess.
        key = b"" if token is None else hashlib.scrypt(token.encode(), salt=b"choicebo owner", n=2**14, r=8, p=1)
        self._owner_cookie = hmac.new(key, b"cookie", "sha256").hexdigest()

    @property
    def has_token(self) -> bool:
        """Whether the owner had to show one."""
        return self._token is not None

    # ---- pages

    def is_owner(self, request: Request) -> bool:
        """Whether the owner is asking; without a token everybody on this machine is."""
        if self._token is None:
            return True
        given = request.cookies.get(OWNER_COOKIE, "")
        return hmac.compare_digest(given.encode(), self._owner_cookie.encode())

    def shows_owner(self, request: Request) -> bool:
        """Whether the owner is asking, be it a page or the API; nothing is looked up for that."""
        given = request.headers.get("authorization", "").partition(" ")[2]
        return self.is_owner(request) or (self._token is not None and _same(given, self._token))

    def visitor(self, request: Request, study: str) -> Visitor:
        """Who looks at a page of a study; a rater's link goes before being the owner."""
        found = self.rater(request, study)
        if found is not None and found[0] == study:
            return Visitor(found[1], is_owner=False)
        if self.is_owner(request):
            return Visitor(OWNER, is_owner=True)
        if found is not None:
            raise RenamedError(
                f"The study has another name now: {found[0]!r}. Open your link again.", self._cookie(request, study)
            )
        raise NotAllowedError("Open the link that you were given, or enter your token.")

    def rater(self, request: Request, study: str) -> tuple[str, str] | None:
        """The study and name of the rater whose link was opened in this browser."""
        token = self._cookie(request, study)
        return Study.of_token(self._server.storage, token) if token else None

    def _cookie(self, request: Request, study: str) -> str:
        return request.cookies.get(_rater_cookie(study)[0], "")

    def require_owner(self, request: Request) -> None:
        """Refuse anybody but the owner."""
        if not self.is_owner(request):
            raise NotAllowedError("Only the owner of the studies may see this: enter the owner's token.")

    def enter(self, request: Request, response: Response, token: str) -> None:
        """Let the owner in: set the cookie if the token is right."""
        self._attempt(request, self._token is None or _same(token, self._token))
        _set_cookie(request, response, OWNER_COOKIE, self._owner_cookie, at("") or "/")

    def join(self, request: Request, token: str) -> str:
        """The study of a rater's token."""
        found = Study.of_token(self._server.storage, token)
        self._attempt(request, found is not None)
        assert found is not None
        return found[0]

    def remember_rater(self, request: Request, response: Response, study: str, token: str) -> None:
        """Set the cookie of a rater, for the pages of this study only."""
        name, path = _rater_cookie(study)
        _set_cookie(request, response, name, token, path)

    def forget_rater(self, response: Response, study: str) -> None:
        """Delete that cookie."""
        name, path = _rater_cookie(study)
        response.delete_cookie(name, path=path, httponly=True, samesite="lax")

    # ---- the API

    def bearer(self, request: Request, study: str | None) -> Visitor:
        """Who calls the API: by the header ``Authorization: Bearer TOKEN`` and never by cookie."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            if self._token is None:
                return Visitor(OWNER, is_owner=True)
            raise NotAllowedError("Send the header 'Authorization: Bearer TOKEN'.")
        if self._token is not None and _same(token, self._token):
            return Visitor(OWNER, is_owner=True)
        found = Study.of_token(self._server.storage, token)
        self._attempt(request, found is not None)
        if found is None or found[0] != study:
            raise NotAllowedError("This token does not allow that: send the token of the study or of its owner.")
        return Visitor(found[1], is_owner=False)

    # ---- forms

    def form_token(self, request: Request) -> tuple[str, str]:
        """The cookie that ties forms to a browser, and the value that its forms must carry."""
        secret = request.cookies.get(FORM_COOKIE, "")
        if not re.fullmatch(r"[\w-]{43}", secret):
            secret = request.scope.setdefault("choicebo_form", secrets.token_urlsafe(32))
        return secret, hmac.new(secret.encode(), b"form", "sha256").hexdigest()

    def check_form(self, request: Request, given: object) -> None:
        """Refuse a form that does not carry the value of this browser."""
        if FORM_COOKIE not in request.cookies or not _same(str(given), self.form_token(request)[1]):
            raise ForgedFormError("This page was open for too long, or cookies are off: load it again and repeat.")

    def tie_form(self, request: Request, response: Response) -> None:
        """Set the cookie that forms are tied to."""
        secret = self.form_token(request)[0]
        if request.cookies.get(FORM_COOKIE) != secret:
            _set_cookie(request, response, FORM_COOKIE, secret, at("") or "/")

    def _attempt(self, request: Request, right: bool) -> None:
        """Refuse a wrong token. A right one is never refused: many people may share one address."""
        if right:
            return
        client = request.client.host if request.client else ""
        if self.limiter.is_blocked(client):
            raise TooManyAttemptsError("Too many wrong tokens: wait a minute.")
        self.limiter.failed(client)
        raise NotAllowedError("This token is not valid: check that the link or the token is complete.")


def _rater_cookie(study: str) -> tuple[str, str]:
    """Name and path of the cookie that holds a rater's token, for the pages of one study only."""
    path = study_path(study)
    if len(path) <= _LONGEST_PATH:
        return RATER_COOKIE, path
    return f"{RATER_COOKIE}_{hashlib.sha256(study.encode()).hexdigest()[:32]}", at("/study")


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _set_cookie(request: Request, response: Response, name: str, value: str, path: str) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=_MONTH, path=path, httponly=True, samesite="lax", secure=secure)
