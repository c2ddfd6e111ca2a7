"""Server-sent events: the page hears when what it waits for is there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

from choicebo.serving.waiting_room import WaitingRoom, done_within, stopping

BEAT = 1.0
"""Seconds between two signs of life."""


def event(name: str, **data: Any) -> str:
    r"""One event as it goes over the wire.

    >>> event("thinking", seconds=2)
    'event: thinking\ndata: {"seconds": 2}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def stream(
    request: Request, awaited: Future[Any], explain: Callable[[Request, BaseException], str]
) -> StreamingResponse:
    """Events until ``awaited`` is done: ``thinking`` at every beat, then ``ready``, or ``failed`` with a sentence.

    Somebody who waits with too many requests already gets one beat, and comes again by themselves as browsers do.
    """
    room: WaitingRoom = request.app.state.server.waiting

    async def events() -> AsyncIterator[str]:
        seconds = 0.0
        with room.place(request.state.person) as is_free:
            while not await request.is_disconnected():
                yield event("thinking", seconds=round(seconds))
                if await done_within(awaited, BEAT):
                    problem = stopping() if awaited.cancelled() else awaited.exception()
                    yield event("ready") if problem is None else event("failed", message=explain(request, problem))
                    return
                if not is_free:
                    return
                seconds += BEAT

    return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
