"""For those who run the server: whether it is in order, and what it does."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from choicebo.errors import StorageError
from choicebo.serving.metrics import computing_lines, process_lines, text_of
from choicebo.web.access import NotAllowedError
from choicebo.web.context import access_of, server_of

router = APIRouter()

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.api_route("/healthz", methods=["GET", "HEAD"])
def health(request: Request) -> Response:
    """Whether the server can answer and its database can be reached. Anybody may ask, and learns nothing else."""
    try:
        server_of(request).reach()
    except StorageError:
        return JSONResponse({"status": "The database cannot be reached."}, 503)
    return JSONResponse({"status": "ok"})


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Counters for Prometheus. Where the server has a token, it must be sent as ``Authorization: Bearer``."""
    access = access_of(request)
    try:
        if access.has_token and not access.is_owner(request):
            access.bearer(request, None)
    except NotAllowedError as error:
        return PlainTextResponse(f"{error}\n", 401, {"WWW-Authenticate": "Bearer"})
    server = server_of(request)
    scheduler = server.scheduler
    lines = [*scheduler.metrics.lines(), *computing_lines(scheduler.pool, scheduler.models_waiting), *process_lines()]
    return PlainTextResponse(text_of(lines), media_type=_TEXT)
