"""One question: the options in the order shown, the reason, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from choicebo.choices.marks import Marks
from choicebo.formatting import rounded
from choicebo.history.steering import Steering
from choicebo.notebook_html import options_table
from choicebo.space import Option

OWNER = "owner"
"""The rater who is meant when no name is given."""

Look = dict[str, Any]
"""A look at the number of latent dimensions: ``answers`` it learned from, ``latent_dim``, ``reason``, and the number of answers
``used_from`` which on it counts."""


@dataclass(frozen=True, repr=False)
class Question:
    """A question to a person.

    Examples:
        >>> question = Question(1, [{"x": 0.5}, {"x": 0.25}], "Two to begin with.", (True, True), ("sobol",))
        >>> question.strategy, question.is_open
        ('sobol', True)
    """

    id: int
    """Questions are counted from 1; everything random about a question follows from the seed of the loop and this."""
    options: list[Option]
    """The options in the shuffled order in which they are shown."""
    reason: str
    """Why these, in a sentence for the person who is asked."""
    new: tuple[bool, ...]
    """Which of them were never shown before."""
    found_by: tuple[str, ...]
    """What proposed the new options: one name for each in the order shown, or one for all: "sobol" before there is a model,
    "stand-in" instead of it."""
    latent_dim: int | None = None
    """Latent dimensions of the model behind the question; None before there is one."""
    looks: tuple[Look, ...] = ()
    """The looks at the number of latent dimensions that counted when it was asked."""
    rater: str = OWNER
    """Who is asked."""
    state: Literal["open", "answered", "skipped", "retracted"] = "open"
    kept: tuple[int, ...] | None = None
    """The positions kept, if it is answered."""
    marks: Marks | None = None
    """What else was said: the best, the best and the worst, or an order."""
    asked_at: datetime | None = field(default=None, compare=False)
    """When, if it is stored in a study."""
    seed: int = field(default=0, compare=False)
    model_version: str = field(default="", compare=False)
    """The choicebo that computed it."""
    known_until: int = field(default=0, compare=False)
    """The position up to which the history was known when it was computed."""
    wishes: Steering = field(default=Steering(), compare=False)
    """What the person asked of it."""

    def __repr__(self) -> str:
        options = ", ".join(map(rounded, self.options))
        return f"Question({self.id}, {self.state}, {self.strategy!r}, options=[{options}])"

    def _repr_html_(self) -> str:
        kept = [self.kept is not None and at in self.kept for at in range(len(self.options))]
        more: dict[str, list[Any]] = {"new": list(self.new)}
        if self.marks is not None:
            more["answer"] = [self.marks.of(at) for at in range(len(self.options))]
        elif self.kept is not None:
            more["kept"] = kept
        return options_table(f"Question {self.id}, {self.state}", self.options, more, marked=kept, below=[self.reason])

    @property
    def number(self) -> int:
        """The same as ``id``."""
        return self.id

    @property
    def strategy(self) -> str:
        """What proposed the new options, in one word, as in "ehvi+variation"."""
        return "+".join(self.found_by)

    @property
    def context(self) -> dict[str, Any]:
        """The context that all of its options have, by name; empty where a space has none."""
        return dict(self.wishes.context)

    @property
    def is_open(self) -> bool:
        """Whether an answer is awaited."""
        return self.state == "open"

    @property
    def new_options(self) -> list[tuple[Option, str]]:
        """Each option that was never shown before, and what found it."""
        options = [option for option, is_new in zip(self.options, self.new, strict=True) if is_new]
        finders = self.found_by * len(options) if len(self.found_by) == 1 else self.found_by
        return list(zip(options, finders, strict=False))
