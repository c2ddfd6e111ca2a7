"""``choicebo serve``: the loop in a browser."""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import re
import sys
import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from choicebo.extras import needs
from choicebo.presentation import output
from choicebo.web.listening import DEFAULT_PORT, listen, port_of

if TYPE_CHECKING:
    import socket

    import uvicorn
    from starlette.types import ASGIApp

    from choicebo.web.server_settings import ServerSettings

_KEEP_ALIVE = 75
"""Seconds for which an idle connection is kept: people think, and one that is closed while they answer costs a second try."""

_LONGEST_NAME = 200
"""Bytes of a file's name; SQLite and exports add to it."""


class Log(enum.StrEnum):
    """What is written about the server's work."""

    warnings = "warnings"
    text = "text"
    json = "json"


def add_to(app: typer.Typer) -> None:
    """Add the command to the app of the command line."""
    app.command("serve")(serve)


def serve(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="File of the study (SQLite) or URL of a database; or a study file (TOML), from which NAME.db is made.",
            show_default=False,
        ),
    ],
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address to listen on; any that other machines can reach needs a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port to listen on; 0: any that is free.",
            show_default=f"{DEFAULT_PORT}, or the next that is free",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CHOICEBO_TOKEN",
            show_envvar=True,
            help="Secret with which the owner signs in, 16 characters or more.",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Number of processes that compute; 0: one for each core, at least two.")
    ] = 0,
    share_result: Annotated[
        bool, typer.Option("--share-result", help="Let raters see the result too, but not each other's answers.")
    ] = False,
    images: Annotated[
        Path | None, typer.Option(file_okay=False, help="Where to store images uploaded in the browser.")
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long to wait for the model before asking a question without it; 0: as long as it takes.",
        ),
    ] = 4.0,
    most_seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="How long one computation may take before its process is replaced; 0: five minutes.",
        ),
    ] = 0.0,
    most_memory: Annotated[
        int,
        typer.Option(
            metavar="MB",
            min=0,
            help="How large a process that computes may grow before it is replaced; 0: half of the memory for all together.",
        ),
    ] = 0,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Compute on the workers of this Dask scheduler, tcp://host:port."),
    ] = None,
    proxy: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address of a reverse proxy, the only one whose X-Forwarded-For and X-Forwarded-Proto are trusted.",
            show_default=False,
        ),
    ] = "",
    root_path: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="Path under which a reverse proxy serves choicebo, such as /choose.",
            show_default=False,
        ),
    ] = "",
    log: Annotated[
        Log,
        typer.Option(
            help="What to write to stderr: only warnings, or also a line for each request, without tokens or answers."
        ),
    ] = Log.warnings,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")
    ] = True,
) -> None:
    """Answer questions in a browser: choose, see the result and the history, set up studies, invite others.

    A database that does not exist yet is made when the first study is set up in the browser, or one of the examples there
    is tried. Ctrl-C stops the server.

    \b
    Examples:
      choicebo serve bread.db
      choicebo serve palette.toml                       creates palette.db first
      choicebo serve bread.db --host 0.0.0.0 --token "$(openssl rand -hex 16)"
    """
    with needs("web", "The web app"):
        import uvicorn  # noqa: F401

        from choicebo.web import server_log
        from choicebo.web.app import create_app
        from choicebo.web.server_settings import ServerSettings
    from choicebo.model import compiling

    settings = ServerSettings(
        study,
        host,
        port or 0,
        token,
        workers,
        share_result,
        images,
        patience,
        proxy,
        most_seconds,
        most_memory,
        root_path,
    )
    bound = listen(host, port)
    compiling.start()  # the first questions need no model, so that nobody waits for it
    pool = None
    if cluster is not None:
        from choicebo.serving.cluster import Cluster

        pool = Cluster(cluster, settings.caps, keeps_one_free=True)
        if not pool.workers:
            output.warn(f"The cluster at {cluster} has no workers yet: until it has, questions come without the model.")
    app = create_app(replace(settings, url=_address(study)), pool)
    app.state.server.list()  # a database that cannot be read is an error now, not in the browser
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    if log is not Log.warnings:
        server_log.start(log.value)
    if port is None and port_of(bound) != DEFAULT_PORT:
        output.note(f"Port {DEFAULT_PORT} is in use, so another one is used.")
    _run(listening(app, settings), bound, token, root_path, browser and _has_desktop())


def listening(app: ASGIApp, settings: ServerSettings) -> uvicorn.Config:
    """How the server listens."""
    import uvicorn

    from choicebo.web.connections import Connection

    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Connection,
        log_level="warning",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=_KEEP_ALIVE,
        server_header=False,
        # Whoever is believed about the sender's address can go round every limit by address.
        proxy_headers=bool(settings.proxy),
        forwarded_allow_ips=settings.proxy,
    )


def _address(given: str) -> str:
    """The database that is meant; a study file is made into one."""
    if not given.endswith(".toml") or "://" in given:
        return given
    from choicebo.presentation.templates import check_show
    from choicebo.study import Study
    from choicebo.study.study_file import read

    described = check_show(read(given))
    path = Path(file_name(described.name))
    if not path.exists():
        Study.create_from_file(path, described).close()
    return str(path)


def file_name(study: str) -> str:
    """The file in this folder that a study is stored in, whatever its name.

    >>> file_name("bread"), file_name("../../rye?"), file_name("..")
    ('bread.db', '-..-rye-.db', 'study.db')
    """
    safe = re.sub(r"[\x00-\x1f\x7f/\\\\:*?\"<>|%#]", "-", study).lstrip(". ")
    return f"{safe.encode()[:_LONGEST_NAME].decode(errors='ignore') or 'study'}.db"


def _run(config: uvicorn.Config, bound: list[socket.socket], token: str | None, root: str, browser: bool) -> None:
    """Serve until Ctrl-C; the address is printed when the server listens."""
    import uvicorn

    shown = f"[{config.host}]" if ":" in config.host else config.host
    address = f"http://{shown}:{port_of(bound)}{root}"

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                output.say(f"choicebo is at {address}" + ("" if token is None else f"/enter?token={quote(token)}"))
                output.note("Ctrl-C stops it; every answer is stored.")
                # Other programs see what a browser is started with, so that a token is no part of it.
                if browser and token is None:
                    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with contextlib.suppress(KeyboardInterrupt):  # the way to stop it
        Announced(config).run(bound)


def _has_desktop() -> bool:
    """Whether somebody sits in front of this machine, with a screen on which a browser can be opened."""
    if not sys.stdout.isatty() or {"CI", "SSH_CONNECTION"} & os.environ.keys():
        return False
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
