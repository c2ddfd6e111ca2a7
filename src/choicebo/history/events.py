"""One kind of event: everything that is known of a loop follows from a list of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from choicebo.choices.marks import Marks
from choicebo.history.question import OWNER, Question
from choicebo.space import Option

ActKind = Literal["answer", "correction", "skip", "addition"]
Kind = Literal[
    "question", "answer", "correction", "skip", "addition", "undo", "retraction", "restoration", "measurement"
]


class Measured(NamedTuple):
    """Values of measured objectives that were entered for an option."""

    option: Option
    values: Mapping[str, float | None]
    """By the name of the objective, in its own units; None withdraws what was entered before."""


@dataclass(frozen=True)
class Event:
    """Something that happened.

    A question is asked, answered, skipped; its answer is corrected, retracted, restored; a choice made elsewhere is added; any of
    these acts is undone. An option is measured.
    """

    position: int
    """Counted from 1 in its history."""
    kind: Kind
    rater: str = OWNER
    at: datetime | None = None
    target: int | None = None
    """The position of what it is about: the question of an answer or skip, the act that is undone, retracted or restored, the
    first of choices that were added together."""
    kept: tuple[int, ...] | None = None
    """Of an answer, a correction or an addition. Nothing kept means that the baseline beats all that was shown."""
    seconds: float | None = None
    """How long an answer took."""
    question: Question | None = None
    """What is asked."""
    added: tuple[Option, ...] = ()
    """What was shown elsewhere."""
    added_new: tuple[bool, ...] = ()
    """Which of it had never been shown before."""
    marks: Marks | None = None
    """Of an answer that says more than what is kept: the best, the best and the worst, or an order."""
    measured: Measured | None = None
    """Of a measurement: the option, which need not have been shown, and its values."""

    @property
    def options(self) -> tuple[Option, ...]:
        """What is shown, of a question or an addition."""
        return self.added if self.question is None else tuple(self.question.options)

    @property
    def new(self) -> tuple[bool, ...]:
        """Which of the options were never shown before."""
        return self.added_new if self.question is None else self.question.new

    def choices(self, options: Sequence[Option]) -> list[tuple[Sequence[Option], tuple[int, ...]]]:
        """The choices that an answer about some options is read as: what was shown, and the positions kept."""
        if self.marks is None:
            return [(options, self.kept or ())]
        return [
            ([options[at] for at in shown], tuple(place for place, at in enumerate(shown) if at in kept))
            for shown, kept in self.marks.choices(len(options))
        ]

    @property
    def is_act(self) -> bool:
        """Whether somebody answered, skipped or added something."""
        return self.kind in ("answer", "correction", "skip", "addition")


class OptionKeys:
    """Keys of options that come again and again as the same object: each is computed once.

    >>> keys, rye = OptionKeys(), {"flour": "rye"}
    >>> keys(rye) == keys(rye) == option_key(rye)
    True
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Mapping[str, Any], str]] = {}

    def __call__(self, option: Mapping[str, Any]) -> str:
        """As :func:`option_key`."""
        found = self._known.get(id(option))
        if found is None:
            # The option is held, so that no other object gets its identity.
            found = self._known[id(option)] = option, option_key(option)
        return found[1]


def option_key(option: Mapping[str, Any]) -> str:
    """Key of an option: 1 and 1.0 differ, the order of the names does not matter."""
    text = json.dumps(option, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
