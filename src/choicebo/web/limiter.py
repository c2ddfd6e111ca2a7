"""How often a wrong token may be tried."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable


class Limiter:
    """Counts failures per client; after too many in a while, its further attempts are not looked at.

    >>> limiter = Limiter(failures=2, seconds=60, clock=lambda: 0.0)
    >>> limiter.failed("ann"); limiter.failed("ann")
    >>> limiter.is_blocked("ann"), limiter.is_blocked("bob")
    (True, False)
    """

    def __init__(self, failures: int = 10, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures = failures
        self.seconds = seconds
        self._clock = clock
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def failed(self, client: str) -> None:
        """Note a failure."""
        with self._lock:
            self._forget()
            self._seen.setdefault(client, deque(maxlen=self.failures)).append(self._clock())

    def is_blocked(self, client: str) -> bool:
        """Whether the client has to wait."""
        with self._lock:
            self._forget()
            return len(self._seen.get(client, ())) >= self.failures

    def _forget(self) -> None:
        old = self._clock() - self.seconds
        for client in list(self._seen):
            times = self._seen[client]
            while times and times[0] <= old:
                times.popleft()
            if not times:
                del self._seen[client]
