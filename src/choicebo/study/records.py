"""What a study hands out: questions, receipts of answers, the past as it looked, raters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from choicebo.space import Option

OWNER = "owner"
"""The rater who is meant when no name is given."""

ActKind = Literal["answer", "correction", "skip", "addition"]


@dataclass(frozen=True)
class Question:
    """Some options, in the order in which they are shown to one rater."""

    number: int
    """Counts the questions of the study from 1."""
    rater: str
    options: tuple[Option, ...]
    new: tuple[bool, ...]
    """Which of the options were never shown before."""
    reason: str
    """Why these, in one sentence."""
    strategy: str
    latent_dim: int | None
    asked_at: datetime
    seed: int
    model_version: str
    """The choicebo that computed the question."""
    state: Literal["open", "answered", "skipped", "retracted"] = "open"
    kept: tuple[int, ...] | None = None
    """The positions kept, if it is answered."""

    @property
    def is_open(self) -> bool:
        """Whether an answer is awaited."""
        return self.state == "open"


@dataclass(frozen=True)
class Answer:
    """The receipt of something that is stored."""

    id: int
    """Its position in the log of the study."""
    question: int | None
    """The number of the question; None for a choice made elsewhere."""
    kind: ActKind
    kept: tuple[int, ...]
    rater: str
    at: datetime
    seconds: float | None = None
    """How long the person took."""
    repeated: bool = False
    """Whether it had been stored before: the same answer sent twice is one answer."""


@dataclass(frozen=True)
class Past:
    """An answer, a skip or a choice made elsewhere, as it looked."""

    id: int
    question: int | None
    kind: ActKind
    options: tuple[Option, ...]
    """In the order shown."""
    kept: tuple[int, ...]
    rater: str
    at: datetime
    asked_at: datetime | None
    seconds: float | None
    reason: str | None
    strategy: str | None
    state: Literal["standing", "retracted", "corrected", "undone"]

    @property
    def counts(self) -> bool:
        """Whether the model learns from it."""
        return self.state == "standing" and self.kind != "skip"


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
