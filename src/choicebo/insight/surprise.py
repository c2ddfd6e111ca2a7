"""Answers that are unlike a person's others, and the option that makes them so."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.insight.held_out import Expectation, expectations, require_posterior
from choicebo.model.posterior import Posterior

MIN_ANSWERS = 6
"""With fewer answers none can be told from the others."""
NOTEWORTHY = 3.0
"""The answer to be expected was twenty times as likely as the one given (in logarithms)."""


@dataclasses.dataclass(frozen=True)
class Surprise:
    """How far one answer is from what the others let expect."""

    choice: int
    """Number of the choice in the data."""
    surprise: float
    """Log of how many times likelier the expected answer was; 0 if the answer was the expected one."""
    probability: float
    """Of the answer given, as the other answers see it."""
    position: int
    """Of the option that causes it, among those shown."""
    option: int
    """The same option as a row of ``data.X``."""
    expected: tuple[int, ...]
    """Positions that were to be expected to be kept."""
    sentence: str

    @property
    def noteworthy(self) -> bool:
        """Whether to mention it to the person."""
        return self.surprise >= NOTEWORTHY

    def retract(self, data: ChoiceData) -> ChoiceData:
        """The data without this answer."""
        return data.without(self.choice)


def surprises(posterior: Posterior, labels: Sequence[str] | None = None) -> list[Surprise]:
    """All answers, the most surprising first; ``noteworthy`` says which deserve a second look.

    Each is judged by the other answers alone. ``labels`` names the rows of ``data.X`` in the sentences. Too few answers give
    an empty list.
    """
    require_posterior(posterior)
    data = posterior.data
    if labels is not None and len(labels) != data.n_options:
        raise InvalidInputError(f"labels must name the {data.n_options} options of the data, got {len(labels)} names")
    if data.n_choices < MIN_ANSWERS:
        return []
    found = [_surprise(each, data, labels) for each in expectations(posterior)]
    return sorted(found, key=lambda each: (-each.surprise, each.choice))


def _surprise(expectation: Expectation, data: ChoiceData, labels: Sequence[str] | None) -> Surprise:
    shown = data.choices[expectation.choice].shown
    kept, inclusion = expectation.kept, expectation.inclusion
    position = int(np.argmin(np.where(kept, inclusion, 1.0 - inclusion)))
    option = shown[position]
    surprise = float(np.log(expectation.probabilities.max() / expectation.probability))
    name = labels[option] if labels is not None else f"option {position + 1} of {len(shown)}"
    return Surprise(
        choice=expectation.choice,
        surprise=surprise,
        probability=expectation.probability,
        position=position,
        option=option,
        expected=expectation.likeliest,
        sentence=_sentence(expectation.choice, surprise, name, bool(kept[position]), float(inclusion[position])),
    )


def _sentence(choice: int, surprise: float, name: str, kept: bool, inclusion: float) -> str:
    if surprise < NOTEWORTHY:
        return f"Answer {choice + 1} agrees with your others."
    deed, other = ("kept", "leave it out") if kept else ("left out", "keep it")
    chance = 1.0 - inclusion if kept else inclusion
    return (
        f"Answer {choice + 1} is unlike your others: you {deed} {name}, and going by them you would {other} "
        f"({chance:.0%} likely). If you meant it, all is well; if it was a slip, you can take the answer back."
    )
