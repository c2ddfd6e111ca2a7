"""The list of studies."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from choicebo.web.context import access_of, render, server_of

router = APIRouter()


@router.get("/studies")
def studies(request: Request) -> Response:
    """All studies of the database, newest first."""
    access_of(request).require_owner(request)
    return render(
        request, "studies.html", studies=server_of(request).list()[::-1], where=str(server_of(request).storage)
    )
