"""Visitors who hold connections: on a real server, over real sockets."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from choicebo.serving.waiting_room import MOST_PER_PERSON
from choicebo.study import Study
from choicebo.web import connections, guard
from choicebo.web.app import create_app
from choicebo.web.serve_command import listening
from choicebo.web.server_settings import ServerSettings

from .web_helpers import bread

SOON = 20.0
"""Seconds after which a test gives up."""


@pytest.fixture
def app(tmp_path: Path) -> Any:
    url = str(tmp_path / "studies.db")
    Study.create(url, **bread()).close()
    return create_app(ServerSettings(url), ThreadPoolExecutor(1))


@pytest.fixture
def port(app: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server that has little patience."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(guard, "_BODY_SECONDS", 0.3)
    listener = socket.create_server(("127.0.0.1", 0))
    number = listener.getsockname()[1]
    server = uvicorn.Server(listening(app, ServerSettings(app.state.server.settings.url, port=number)))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    yield number
    server.should_exit = True
    thread.join()


def until_closed(port: int, *sent: str) -> bytes:
    """Send something, and read until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as connection:
        for part in sent:
            connection.sendall(part.format(port=port).encode())
        found = b""
        while part := connection.recv(65536):
            found += part
        return found


@pytest.mark.parametrize("sent", ["", "GET / HT", "GET /enter HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Slow: "])
def test_a_connection_without_a_request_is_closed(port: int, sent: str) -> None:
    assert until_closed(port, sent) == b""


def test_a_second_request_that_does_not_come_to_an_end_is_given_up(port: int) -> None:
    whole = f"GET /enter HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", port), timeout=SOON) as connection:
        connection.sendall(whole)
        found = b""
        while b"</html>" not in found:
            found += connection.recv(65536)
        time.sleep(0.1)  # the response has ended on the other side, too
        connection.sendall(whole[:30])
        while part := connection.recv(65536):
            found += part
    assert found.count(b"200 OK") == 1


@pytest.mark.parametrize("path", ["/enter", "/api/v1/studies", "/studies/catalogue"])
def test_a_body_that_does_not_come_is_given_up(port: int, path: str) -> None:
    kind = "application/json" if "api" in path else "application/x-www-form-urlencoded"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: {kind}\r\nContent-Length: 100\r\n\r\n"
    found = until_closed(port, head, "form_token=a")
    assert found.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive in time" in found


def test_idle_connections_between_requests_stay_open(port: int) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        network = client.get("/enter").extensions["network_stream"]
        time.sleep(0.5)
        assert client.get("/enter").extensions["network_stream"] is network


def test_who_listens_with_many_requests_is_sent_away_with_the_rest(app: Any, port: int) -> None:
    never: Future[Any] = Future()
    app.state.server.scheduler.begin_question = lambda study, rater: never
    request = f"GET /study/bread/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    listening_on = [socket.create_connection(("127.0.0.1", port), timeout=SOON) for _ in range(MOST_PER_PERSON)]
    try:
        for each in listening_on:
            each.sendall(request)
            assert b"200 OK" in each.recv(65536)
        with httpx.stream("GET", f"http://127.0.0.1:{port}/study/bread/events", timeout=SOON) as events:
            found = list(itertools.islice(events.iter_lines(), 8))  # it comes to an end by itself
        assert found.count("event: thinking") == 1
    finally:
        never.set_result(None)
        for each in listening_on:
            each.close()
