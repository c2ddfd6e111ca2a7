"""An answer as it is shown again, and as the receipt of what was stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from choicebo.history.events import ActKind
from choicebo.space import Option


@dataclass(frozen=True)
class Answer:
    """An answer, a skip or a choice made elsewhere, as it looked."""

    id: int
    """Its position in the history."""
    question: int | None
    """The id of the question; None for a choice made elsewhere."""
    kind: ActKind
    options: list[Option]
    """In the order shown."""
    kept: tuple[int, ...]
    rater: str
    at: datetime | None
    asked_at: datetime | None
    seconds: float | None
    """How long the person took."""
    reason: str | None
    """Why the question was asked."""
    strategy: str | None
    state: Literal["standing", "retracted", "corrected", "undone"]
    repeated: bool = False
    """Whether it had been stored before: the same answer sent twice is one answer."""

    @property
    def counts(self) -> bool:
        """Whether the model learns from it."""
        return self.state == "standing" and self.kind != "skip"
