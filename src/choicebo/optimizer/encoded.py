"""Cube points of options, each computed once for all situations of a loop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.space import Option, Searchable

Array = NDArray[np.float64]

_MOST = 100_000
"""Options whose key is remembered. Then all are forgotten: those of a history that was left behind would stay otherwise."""


class EncodedOptions:
    """Points by the content of options. Threads may share it."""

    def __init__(self) -> None:
        self._points: dict[str, Array] = {}
        self._keys: dict[int, tuple[Option, str]] = {}
        """By the identity of an option, which is held so that no other one can take it. A history shares its options with the
        next one, so that their text is made once."""

    def key(self, option: Option) -> str:
        """A text that equal options have in common."""
        found = self._keys.get(id(option))
        if found is None:
            if len(self._keys) >= _MOST:
                self._keys.clear()
            found = self._keys[id(option)] = option, key_of(option)
        return found[1]

    def points(self, space: Searchable, options: Mapping[str, Option]) -> dict[str, Array]:
        """The point of each option, given by their keys."""
        missing = {key: option for key, option in options.items() if key not in self._points}
        if missing:
            self._points.update(zip(missing, space.encode(list(missing.values())) + 0.0, strict=True))
        return {key: self._points[key] for key in options}


def key_of(option: Any) -> str:
    """A text that equal options have in common.

    >>> key_of({"b": 1, "a": "x"}) == key_of({"a": "x", "b": 1})
    True
    """
    return json.dumps(option, sort_keys=True, default=str)
