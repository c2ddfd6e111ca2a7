"""What a study hands out besides questions and answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


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


@dataclass(frozen=True)
class StudyInfo:
    """A line in the list of studies."""

    name: str
    question: str
    created_at: datetime
    answers: int
    raters: int
