"""Waiting for what is computed in the background, without holding a thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Hashable, Iterator
from concurrent.futures import CancelledError, Future
from typing import TypeVar

from choicebo.errors import StorageError

T = TypeVar("T")

MOST_PER_PERSON = 8
"""How many requests of one person may wait at the same time; a page sends one."""


async def done_within(awaited: Future[T], seconds: float) -> bool:
    """Whether something is done within some seconds. Others may wait for the same thing: leaving does not cancel it."""
    if awaited.done() or seconds <= 0:
        return awaited.done()
    loop, bell = asyncio.get_running_loop(), asyncio.Event()

    def ring(_: Future[T]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(bell.set)

    awaited.add_done_callback(ring)
    try:
        await asyncio.wait_for(bell.wait(), seconds)
    except TimeoutError:
        return False
    return True


class WaitingRoom:
    """Requests that wait, counted by person. It belongs to one event loop."""

    def __init__(self, most: int = MOST_PER_PERSON) -> None:
        self._most = most
        self._waiting: Counter[Hashable] = Counter()

    async def within(self, seconds: float, awaited: Future[T], person: Hashable) -> T | None:
        """What is awaited if it is there within ``seconds``; else None, which somebody with too many requests hears at once.

        Raises:
            Exception: What went wrong in computing it.
        """
        with self.place(person) as is_free:
            if not await done_within(awaited, seconds if is_free else 0.0):
                return None
        try:
            return awaited.result()
        except CancelledError:
            raise stopping() from None

    @contextlib.contextmanager
    def place(self, person: Hashable) -> Iterator[bool]:
        """Wait in the block; whether this person has not too many other requests that wait."""
        is_free = self._waiting[person] < self._most
        self._waiting[person] += 1
        try:
            yield is_free
        finally:
            self._waiting[person] -= 1
            if not self._waiting[person]:
                del self._waiting[person]


def stopping() -> StorageError:
    """What everybody who waits hears when the server stops."""
    return StorageError("The server is being stopped: try again in a moment.")
