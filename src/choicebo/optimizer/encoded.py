"""What the situations of one loop share: each option is encoded once, and each beginning of the history told apart once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from choicebo.history import Event
from choicebo.space import Option, Searchable

Array = NDArray[np.float64]
T = TypeVar("T")

_MOST_BEGINNINGS = 64
_MOST = 100_000
"""Options and events whose text is remembered. Then all are forgotten: those of a history left behind would stay otherwise."""


class Beginning(NamedTuple):
    """The first answers of a history."""

    last: Event
    """A history only grows, or is made anew: its last event tells a beginning apart, as long as somebody holds it."""
    people: bool
    measured: str
    fingerprint: str


class EncodedOptions:
    """Points by the content of options. Threads may share it."""

    def __init__(self) -> None:
        self._points: dict[str, Array] = {}
        self._keys: dict[int, tuple[Option, str]] = {}
        """By the identity of an option, which is held so that no other one can take it. A history shares its options with the
        next one, so that their text is made once."""

        self._contents: dict[int, tuple[Event, str]] = {}
        """Of events, in the same way."""

        self._beginnings: dict[int, Beginning] = {}
        """By the number of answers."""

    def fingerprint(self, answers: int, last: Event, people: bool, measured: str, make: Callable[[], str]) -> str:
        """What tells the first so many answers apart, made once."""
        found = self._beginnings.get(answers)
        if found is None or found.last is not last or (found.people, found.measured) != (people, measured):
            if len(self._beginnings) >= _MOST_BEGINNINGS:
                self._beginnings.clear()
            found = self._beginnings[answers] = Beginning(last, people, measured, make())
        return found.fingerprint

    def key(self, option: Option) -> str:
        """A text that equal options have in common."""
        return _once(self._keys, option, key_of)

    def content(self, event: Event) -> str:
        """What events have in common after which the same question follows."""
        return _once(self._contents, event, content_of)

    def points(self, space: Searchable, options: Mapping[str, Option]) -> dict[str, Array]:
        """The point of each option, given by their keys."""
        missing = {key: option for key, option in options.items() if key not in self._points}
        if missing:
            self._points.update(zip(missing, space.encode(list(missing.values())) + 0.0, strict=True))
        return {key: self._points[key] for key in options}


def _once(known: dict[int, tuple[T, str]], item: T, make: Callable[[T], str]) -> str:
    """The text of an item, made once for each object."""
    found = known.get(id(item))
    if found is None:
        if len(known) >= _MOST:
            known.clear()
        found = known[id(item)] = item, make(item)
    return found[1]


def content_of(event: Event) -> str:
    """A digest of what the next question depends on, of one event; who did it is left out."""
    found_by = event.question and event.question.found_by
    marks = event.marks and event.marks.to_dict()
    content = [event.kind, event.target, event.kept, event.options, event.new, found_by, marks]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def key_of(option: Any) -> str:
    """A text that equal options have in common.

    >>> key_of({"b": 1, "a": "x"}) == key_of({"a": "x", "b": 1})
    True
    """
    return json.dumps(option, sort_keys=True, default=str)
