"""Idle connections are closed, so that no client can use up all of them."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 30.0
"""From the first sign of a request to the end of its headers."""

_Protocol: Any = AutoHTTPProtocol


class Connection(_Protocol):  # type: ignore[misc]
    """uvicorn's connection, which waits for headers without end otherwise; it limits only the time between requests."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Somebody has connected."""
        super().connection_made(transport)
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        """Something has come: a request, or a part of one."""
        super().data_received(data)
        if self._is_served():
            self._forget()
        elif self._limit is None:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._forget()
        super().connection_lost(exc)

    def _is_served(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_request(self) -> None:
        self._limit = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _forget(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _give_up(self) -> None:
        self._limit = None
        if not self._is_served():
            self.transport.close()
