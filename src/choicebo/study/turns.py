"""A lock that threads get in the order in which they asked for it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary


class Turns:
    """One thread at a time, first come, first served. Not to be taken twice by the same thread.

    >>> turns = Turns()
    >>> with turns.take():
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()
        """Whose turn it is, followed by those who wait."""

    @contextmanager
    def take(self, seconds: float | None = None) -> Iterator[None]:
        """Wait for the turn, and end it with the block.

        Raises:
            TimeoutError: It did not come within ``seconds``.
        """
        mine = threading.Event()
        with self._lock:
            self._queue.append(mine)
            if self._queue[0] is mine:
                mine.set()
        try:
            if not mine.wait(seconds):
                raise TimeoutError
            yield
        finally:
            with self._lock:
                self._queue.remove(mine)
                if self._queue:
                    self._queue[0].set()


_shared: WeakValueDictionary[str, Turns] = WeakValueDictionary()
_shared_lock = threading.Lock()


def shared_turns(name: str) -> Turns:
    """The same turns for everybody in this process who gives that name."""
    with _shared_lock:
        found = _shared.get(name)
        if found is None:
            found = _shared[name] = Turns()
        return found
