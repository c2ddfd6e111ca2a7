"""What a study hands out besides questions and answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from choicebo.history import Answer, Question


class Standing(NamedTuple):
    """Where a rater stands."""

    question: Question | None
    """The earliest one that is open to them."""
    answers: int
    """How many of theirs count."""
    latest: Answer | None
    """What undo would take back."""


@dataclass(frozen=True)
class Rater:
    """Somebody who answers."""

    name: str
    created_at: datetime
    answers: int
    """Those that count."""
    open_questions: int
    has_token: bool
    last_seen: datetime | None
    """When they last answered or skipped."""
    removed_at: datetime | None = None
    """Since when they may no longer answer; None: they may."""


@dataclass(frozen=True)
class StudyInfo:
    """A line in the list of studies."""

    name: str
    question: str
    created_at: datetime
    answers: int
    raters: int
    """Those who may answer."""
    archived_at: datetime | None = None
    """When it was archived; None: it is in use."""
