"""The latest few of something."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

REMEMBERED = 8
"""Models, checks and questions of this many situations are cached: of several raters, or of the last answers."""

_MOST_BYTES = 1 << 23
"""Fewer are cached if they would take more memory; the latest always is."""


class Recent(Generic[T]):
    """The latest few of something; threads may share it."""

    def __init__(
        self,
        dropped: Callable[[T], object] = lambda _: None,
        most: int = REMEMBERED,
        size: Callable[[T], int] = lambda _: 0,
    ) -> None:
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self._dropped, self._most, self._size = dropped, most, size
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """What is remembered under a key."""
        with self._lock:
            return self._items.get(key)

    def put(self, key: Hashable, item: T) -> T:
        """Remember something, unless there is something already; what is remembered."""
        with self._lock:
            item = self._items.setdefault(key, item)
            self._items.move_to_end(key)
            gone = []
            while len(self._items) > self._most or (len(self._items) > 1 and self._bytes() > _MOST_BYTES):
                gone.append(self._items.popitem(last=False)[1])
        for each in gone:
            self._dropped(each)
        return item

    def _bytes(self) -> int:
        return sum(map(self._size, self._items.values()))

    def drop(self, key: Hashable) -> None:
        """Forget one."""
        with self._lock:
            self._items.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._items.clear()
