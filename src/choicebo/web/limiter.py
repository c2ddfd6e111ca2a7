"""How often a wrong token may be tried."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Limiter:
    """Counts failures per client; after too many in a while, the client must wait.

    >>> limiter = Limiter(failures=2, seconds=60, clock=lambda: 0.0)
    >>> limiter.failed("ann"); limiter.failed("ann")
    >>> limiter.is_blocked("ann"), limiter.is_blocked("bob")
    (True, False)
    """

    def __init__(self, failures: int = 10, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._failures, self._seconds, self._clock = failures, seconds, clock
        self._seen: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def failed(self, client: str) -> None:
        """Note a failure."""
        with self._lock:
            self._seen.setdefault(client, []).append(self._clock())

    def is_blocked(self, client: str) -> bool:
        """Whether the client has to wait."""
        old = self._clock() - self._seconds
        with self._lock:
            recent = {each: [at for at in times if at > old] for each, times in self._seen.items()}
            self._seen = {each: times for each, times in recent.items() if times}
            return len(self._seen.get(client, ())) >= self._failures
