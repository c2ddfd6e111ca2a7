"""A model that costs nothing, so that what happens around its questions can be tested."""

from __future__ import annotations

from typing import Any

from choicebo.history import Question
from choicebo.optimizer.situation import Situation

NAME = "fake model"


def next_question(situation: Situation, *_: Any, **__: Any) -> tuple[Question, None]:
    """In the place of the real one: new options that depend on everything that was recorded, and on nothing else."""
    if not situation.needs_model:
        return situation.stand_in(), None
    space = situation.space
    points = space.sample(situation.settings.query_size, seed=int(situation.key[:8], 16))
    options, new = space.decode(points), (True,) * len(points)
    return Question(situation.next_id, options, "The model wants to know.", new, (NAME,), 2, situation.looks), None
