"""An answer as it is shown again, and as the receipt of what was stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from choicebo.choices.marks import Marks
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
    marks: Marks | None = None
    """What was said beyond what is kept: the best, the best and the worst, or an order."""

    @property
    def shown_in_choices(self) -> list[tuple[int, ...]]:
        """The positions of the options in each of the choices that the model reads it as."""
        if self.marks is None:
            baseline = 0 if self.kept else 1  # where nothing was kept, it stands after the options
            return [tuple(range(len(self.options) + baseline))]
        return [shown for shown, _ in self.marks.choices(len(self.options))]

    @property
    def n_choices(self) -> int:
        """How many choices the model reads it as."""
        return len(self.shown_in_choices)

    @property
    def counts(self) -> bool:
        """Whether the model learns from it."""
        return self.state == "standing" and self.kind != "skip"
