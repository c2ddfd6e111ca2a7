"""Run as a program: answers a study through ``choicebo pick`` in a terminal, or through a server, each killed again and again.

One line "NUMBER KEPT" for each answer whose receipt was seen: "Kept 2." on the screen, or the response of the server.
One process that has imported everything forks the commands, so that many can be killed in little time.

    command_crasher.py URL terminal ROUNDS SEED
    command_crasher.py URL server ROUNDS SEED      what had no receipt is sent again to the next server, as the page does
"""

from __future__ import annotations

import contextlib
import os
import pty
import random
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import httpx
import typer
import uvicorn

from choicebo.__main__ import build_app
from choicebo.model import compiling
from choicebo.serving.pool import load_numerics
from choicebo.study import Study
from choicebo.web.app import create_app
from choicebo.web.serve_command import listening
from choicebo.web.server_settings import ServerSettings

LONGEST_LIFE = 0.4
"""Seconds from the first receipt to the kill, at most."""
PATIENCE = 60
"""Seconds for a first receipt."""


def say(number: int, kept: int) -> None:
    print(number, kept, flush=True)  # noqa: T201


@contextlib.contextmanager
def doomed(child: int, rng: random.Random) -> Iterator[Callable[[], None]]:
    """A process that is killed some time after the first call of what is yielded, and is gone when the block ends."""
    life = rng.uniform(0.0, LONGEST_LIFE)
    kill = threading.Timer(life, os.kill, (child, signal.SIGKILL))
    limit = threading.Timer(PATIENCE, os.kill, (child, signal.SIGKILL))
    limit.start()

    def begin() -> None:
        limit.cancel()
        if kill.ident is None:
            kill.start()

    try:
        yield begin
    finally:
        limit.cancel()
        if kill.ident is not None:
            kill.join()
        else:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


# ---- the terminal


def terminal(url: str, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    os.environ |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    compiling.prepare()  # or each command would begin to compile
    command = build_app()
    for _ in range(rounds):
        child, screen = pty.fork()
        if not child:
            run_pick(command, url)
        with doomed(child, rng) as begin:
            answer_on_screen(screen, begin)
        os.close(screen)


def run_pick(command: typer.Typer, url: str) -> NoReturn:
    try:
        command(["pick", url])
    finally:
        os._exit(1)


def answer_on_screen(screen: int, begin: Callable[[], None]) -> None:
    """Type an answer to each question shown, until the terminal is gone."""
    seen, number = "", 0
    while True:
        try:
            seen += os.read(screen, 65536).decode(errors="replace")
        except OSError:  # the other end was killed
            return
        stored = re.search(r"Kept (\d)\.", seen)
        if stored:
            say(number, int(stored[1]) - 1)
            begin()
            seen = seen[stored.end() :]
        shown = re.search(r"Question (\d+).*q stop", seen, re.DOTALL)
        if shown:
            number, seen = int(shown[1]), seen[shown.end() :]
            with contextlib.suppress(OSError):
                os.write(screen, f"{number % 3 + 1}\r".encode())


# ---- the server


def server(url: str, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    pending: list[int] = []
    for _ in range(rounds):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        child = os.fork()
        if not child:
            run_server(url, port, listener)
        listener.close()
        study = f"http://127.0.0.1:{port}/api/v1/studies/bread"
        broken = contextlib.suppress(httpx.TransportError)
        with doomed(child, rng) as begin, httpx.Client(timeout=PATIENCE) as client, broken:
            answer_over_http(client, study, pending, begin)


def run_server(url: str, port: int, listener: socket.socket) -> NoReturn:
    try:
        settings = ServerSettings(url, port=port)
        # What computes has processes of its own, which hold no answers.
        app = create_app(settings, ThreadPoolExecutor(1))
        uvicorn.Server(listening(app, settings)).run(sockets=[listener])
    finally:
        os._exit(1)


def answer_over_http(client: httpx.Client, study: str, pending: list[int], begin: Callable[[], None]) -> None:
    """Answer questions until the connection breaks; ``pending`` is the number whose receipt has not come."""
    while True:
        if not pending:
            asked = client.get(f"{study}/question", params={"wait": PATIENCE})
            asked.raise_for_status()
            pending.append(asked.json()["number"])
        number = pending[0]
        stored = client.post(f"{study}/questions/{number}/answer", json={"kept": [number % 3], "seconds": 1.5})
        stored.raise_for_status()
        pending.clear()
        say(number, stored.json()["kept"][0])
        begin()


if __name__ == "__main__":
    _, url, mode, rounds, seed = sys.argv
    load_numerics()
    with Study.open(url) as study:
        study.ask()  # what this imports is there when the processes part
    {"terminal": terminal, "server": server}[mode](url, int(rounds), int(seed))
