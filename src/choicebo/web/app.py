"""The web app, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from choicebo import __version__
from choicebo.web import failures
from choicebo.web.access import Access
from choicebo.web.addresses import RootPath
from choicebo.web.api import manage_routes
from choicebo.web.api import routes as api
from choicebo.web.context import STATIC
from choicebo.web.guard import Guard
from choicebo.web.pages import (
    choose,
    entrance,
    history,
    manage,
    measurements,
    operations,
    raters,
    result,
    setup,
    steering,
    studies,
)
from choicebo.web.server import Server
from choicebo.web.server_log import RequestLog
from choicebo.web.server_settings import ServerSettings, is_loopback

_THREADS = 100
_YEAR = "public, max-age=31536000, immutable"


def create_app(settings: ServerSettings, pool: Executor | None = None) -> FastAPI:
    """The app of one server process; it computes in processes of its own unless a ``pool`` is given."""
    server = Server(settings, pool)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        server.scheduler.warm()
        yield
        server.close()

    app = FastAPI(
        title="choicebo",
        version=__version__,
        description=api.DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    app.state.server = server
    app.state.access = Access(server, settings.token)
    for page in (operations, entrance, studies, setup, choose, steering, result, measurements, history, raters, manage):
        app.include_router(page.router, include_in_schema=False)
    app.include_router(api.router)
    app.include_router(manage_routes.router)
    # Pages are left as they are: beside what a visitor can send, compression would tell of the form's secret value.
    app.mount("/static", GZipMiddleware(_Static(directory=str(STATIC))))
    only_here = settings.token is None and is_loopback(settings.host)
    app.add_middleware(Guard, loopback_only=only_here, tell=failures.answer)
    app.add_middleware(RequestLog, metrics=server.scheduler.metrics)
    app.add_middleware(RootPath, root=settings.root_path)
    failures.add_to(app)
    return app


class _Static(StaticFiles):
    """Files whose address changes with their content."""

    async def get_response(self, path: str, scope: dict) -> Response:  # type: ignore[type-arg,override]
        response = await super().get_response(path, scope)
        if Request(scope).query_params.get("v"):
            response.headers["Cache-Control"] = _YEAR
        return response
