"""What the server writes about its work: a line for each request, without tokens, names or what was answered."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from datetime import UTC, datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from choicebo.serving.metrics import Metrics

log = logging.getLogger("choicebo.requests")

_SECRET = re.compile(r"(/join/|token=|Bearer\s+)[^\s\"'&]+")
_OWN = ("method", "route", "status", "milliseconds")


class JsonLines(logging.Formatter):
    """One JSON object on each line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
        }
        told.update({name: getattr(record, name) for name in _OWN if hasattr(record, name)})
        if record.exc_info:
            told["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(told, ensure_ascii=False)


class PlainLines(logging.Formatter):
    """One line of text for each record, for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        return without_secrets(super().format(record))


def start(form: str) -> None:
    """Write what happens to standard error, as ``json`` or ``text``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else PlainLines())
    for name in ("choicebo", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("choicebo").setLevel(logging.INFO)


def without_secrets(text: str) -> str:
    """A text without what could be a token.

    >>> without_secrets("GET /join/abc123 and /enter?token=xyz")
    'GET /join/... and /enter?token=...'
    """
    return _SECRET.sub(r"\1...", text)


class RequestLog:
    """ASGI middleware: counts requests, and writes a line about each, with the pattern of its path in place of the path."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            self.metrics.count("requests", str(status))
            route = route_of(scope)
            if route not in ("/healthz", "/metrics"):  # asked for every few seconds
                took = round(1000 * (time.perf_counter() - began), 1)
                fields = {"method": scope["method"], "route": route, "status": status, "milliseconds": took}
                log.info("%s %s %s in %.1f ms", scope["method"], route, status, took, extra=fields)


def route_of(scope: Scope) -> str:
    """The pattern of a request's path, which holds no names and no tokens.

    >>> route_of({"path": "/join/abc"})
    'unknown'
    """
    pattern = getattr(scope.get("route"), "path", None)
    if pattern is None and scope["path"].startswith("/static/"):
        return "/static"
    return "unknown" if pattern is None else str(pattern)
