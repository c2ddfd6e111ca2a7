"""The addresses of pages: names of studies in paths, and the path under which a reverse proxy offers the server."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_ROOT: ContextVar[str] = ContextVar("choicebo_root", default="")
"""Of the request that is being served."""
_PATH = re.compile(r"(/[\w.~-]+)*", re.ASCII)


class RootPath:
    """ASGI middleware: everything is below a path, whether the proxy takes it off before it hands a request on or not."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app = app
        self.root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        _ROOT.set(self.root)
        if scope["type"] == "http" and self.root and f"{scope['path']}/".startswith(f"{self.root}/"):
            inner: dict[str, Any] = {"path": scope["path"][len(self.root) :] or "/"}
            if scope.get("raw_path", b"").startswith(self.root.encode()):
                inner["raw_path"] = scope["raw_path"][len(self.root) :] or b"/"
            scope = {**scope, **inner}
        await self.app(scope, receive, send)


def is_root_path(given: str) -> bool:
    """Whether a server can be offered below it.

    >>> [is_root_path(path) for path in ("", "/choose", "/teams/a", "choose", "/choose/", "/a?b")]
    [True, True, True, False, False, False]
    """
    return _PATH.fullmatch(given) is not None


def at(path: str) -> str:
    """The address of a path of this server, as a browser must ask for it.

    >>> at("/studies")
    '/studies'
    """
    return _ROOT.get() + path


def slug(name: str) -> str:
    """A study's name as one segment of a path.

    Servers decode a path once and browsers take ``..`` out of it, so what could end a segment is escaped twice.

    >>> slug("rye/wheat 50%")
    'rye%252Fwheat%2050%2525'
    >>> name_of("rye%2Fwheat 50%25")
    'rye/wheat 50%'
    """
    inner = name.replace("%", "%25").replace("/", "%2F").replace("\\", "%5C")
    if set(inner) == {"."}:
        inner = inner.replace(".", "%2E")
    return quote(inner, safe="")


def name_of(segment: str) -> str:
    """The name of a study from the segment that the server has decoded once."""
    return unquote(segment)


def study_path(name: str, page: str = "") -> str:
    """The address of a study's page.

    >>> study_path("bread", "history")
    '/study/bread/history'
    """
    return at(f"/study/{slug(name)}" + (f"/{page}" if page else ""))
