"""What every request must pass, and what every response carries: hosts, origins, sizes, headers."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from choicebo.web.server_settings import is_loopback

FORM_BYTES = 1 << 20
UPLOAD_BYTES = 32 << 20
UPLOAD_PATHS = ("/studies/catalogue",)
_READ_ON = 8
"""A body up to this many times too large is still read to its end, because browsers ignore a response that comes while they
send."""
_TOO_SLOW = "The request did not arrive in time: check the connection, and send it again."
_STOPPING = "The server is being stopped: try again in a moment."
_WAY_OUT = {"/studies/catalogue": "Make the images smaller, or leave some of them out."}
_HOST = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{0,5})?", re.ASCII)
"""A name or an address, and perhaps a port."""
_LENGTH = re.compile(r"[0-9]{1,15}")
_SAFE = ("GET", "HEAD", "OPTIONS")
_BODY_SECONDS = 30.0
"""Seconds that a short body may take; a long one has more time, at ``_SLOWEST`` bytes per second."""
_SLOWEST = 1 << 14

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class BadBodyError(Exception):
    """The request body is too large, or does not come."""


class Guard:
    """ASGI middleware: refuses foreign hosts and origins and oversized bodies, and sets the security headers.

    Without a token whoever reaches the server is its owner, so a page elsewhere must not reach it through the visitor's
    browser: neither under another name that resolves to this machine, nor from another origin. Starlette's
    ``TrustedHostMiddleware`` takes names and not networks such as 127.0.0.0/8, and does not say what to do.
    """

    def __init__(self, app: ASGIApp, *, loopback_only: bool, tell: Callable[[Request, int, str], Response]) -> None:
        self.app = app
        self.loopback_only = loopback_only
        self.tell = tell
        """How a visitor hears of a failure: a request, a status and a sentence become a response."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = UPLOAD_BYTES if scope["path"] in UPLOAD_PATHS else FORM_BYTES
        refusal = self._refusal(scope, headers)
        received = 0
        ended = started = False
        problem: tuple[int, str] | None = None
        began = time.monotonic()

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    given.setdefault(name, value)
            await send(message)

        async def receiving() -> Message:
            nonlocal received, ended, problem
            if ended:  # whoever listens on waits for the visitor to leave
                return await receive()
            try:
                left = began + _BODY_SECONDS + received / _SLOWEST - time.monotonic()
                message = await asyncio.wait_for(receive(), max(left, 0.0))
            except TimeoutError:
                problem = 408, _TOO_SLOW
                raise BadBodyError from None
            received += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if received > limit:
                problem = 413, _too_large(scope["path"], limit)
                raise BadBodyError
            return message

        async def unless_refused(message: Message) -> None:
            # Whoever read the body may have taken the exception for a fault of its own: what it says is dropped.
            if started or problem is None:
                await sending(message)

        if refusal is not None:
            await refusal(scope, receive, sending)
            return
        announced = headers.get("content-length", "0")
        length = int(announced) if _LENGTH.fullmatch(announced) else None
        if length is None or length > limit:
            problem = 413, _too_large(scope["path"], limit)
        else:
            try:
                with contextlib.suppress(BadBodyError):
                    await self.app(scope, receiving, unless_refused)
            except asyncio.CancelledError:  # the server stops, and has waited long enough
                problem = 503, _STOPPING
        if problem is not None and not started:
            code, told = problem
            if code == 413 and not ended and (length is None or length <= _READ_ON * limit):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(_discard(receive, _READ_ON * limit), _BODY_SECONDS)
            response = self.tell(Request(scope), code, told)
            if code == 408:
                response.headers["Connection"] = "close"  # the rest of the body is not waited for
            await response(scope, receive, sending)

    def _refusal(self, scope: Scope, headers: Headers) -> PlainTextResponse | None:
        host = headers.get("host", "")
        named = _HOST.fullmatch(host)
        if host and named is None:
            return PlainTextResponse("The Host header is not the name of a server.\n", 400)
        if self.loopback_only and not (named and is_loopback(named[1].lower())):
            return PlainTextResponse(f"This server answers only as 127.0.0.1 or localhost, not as {host!r}.\n", 421)
        if scope["method"] not in _SAFE:
            origin = headers.get("origin")
            if origin is not None and origin.partition("://")[2] != host:
                return PlainTextResponse(
                    "The request comes from another site and is refused: open this server's own page.\n", 403
                )
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return PlainTextResponse(
                    "The request comes from another site and is refused: open this server's own page.\n", 403
                )
        return None


def _too_large(path: str, limit: int) -> str:
    return f"The request is too large: at most {limit >> 20} MB are accepted at once. {_WAY_OUT.get(path, '')}".strip()


async def _discard(receive: Receive, most: int) -> None:
    """Read the rest of a body, within limits, and forget it."""
    while most > 0:
        message = await receive()
        most -= len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
