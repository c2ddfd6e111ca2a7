"""What a person said of the options shown, where it is more than which of them they keep: the best, the worst, an order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from choicebo.choices import readings
from choicebo.choices.positions import kept_positions
from choicebo.choices.readings import Plain
from choicebo.errors import DataError

ANSWERS = ("subset", "best", "best-worst", "ranking", "pair")
"""Ways to answer a question."""
QUESTIONS = {
    "subset": "Which of these would you keep?",
    "best": "Which of these is the best?",
    "best-worst": "Which of these is the best, and which the worst?",
    "ranking": "Which of these is the best, which the next?",
    "pair": "Which of these two is better?",
}
"""The default question for each way of answering."""
ONE_OBJECTIVE = ("batch_preference", "noticeable_difference")
"""Likelihoods of one hidden objective, in which there is one winner or, of two options, no difference."""


@dataclass(frozen=True)
class Marks:
    """The best option, the best and the worst, or options in order; each by its position among those shown.

    >>> Marks(best=1, worst=0).choices(3)
    [((0, 1, 2), (1,)), ((2, 0), (2,))]
    >>> Marks(ranking=((2,), (0,))).words()
    'in order: 3, 1'
    """

    best: int | None = None
    worst: int | None = None
    ranking: tuple[tuple[int, ...], ...] = ()
    """Places, best first; several options at one place are a tie."""

    @property
    def kind(self) -> str:
        """Which of :data:`ANSWERS` it is."""
        return "ranking" if self.ranking else "best" if self.worst is None else "best-worst"

    @property
    def kept(self) -> tuple[int, ...]:
        """What was kept of all options: the best, or what is at the first place."""
        return tuple(sorted(self.ranking[0])) if self.best is None else (self.best,)

    def choices(self, shown: int) -> list[Plain]:
        """The choices that it is read as, among positions of so many options."""
        positions = range(shown)
        if self.best is None:
            return readings.ranking(self.ranking, positions)
        if self.worst is None:
            return [readings.best(positions, self.best)]
        return readings.best_worst(positions, self.best, self.worst)

    def words(self, name: Callable[[int], str] = lambda position: str(position + 1)) -> str:
        """In the person's words, with a name for each position."""
        if self.best is None:
            return f"in order: {', '.join(' = '.join(map(name, place)) for place in self.ranking)}"
        return f"best: {name(self.best)}" + ("" if self.worst is None else f", worst: {name(self.worst)}")

    def of(self, position: int) -> str:
        """What was said of one option, in a word; empty if nothing was.

        >>> [Marks(best=1, worst=0).of(position) for position in range(3)]
        ['worst', 'best', '']
        """
        if self.best is None:
            return next((str(at) for at, place in enumerate(self.ranking, start=1) if position in place), "")
        return "best" if position == self.best else "worst" if position == self.worst else ""

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-compatible data, without what is empty; arguments of :func:`read_marks`."""
        ranking = [place[0] if len(place) == 1 else list(place) for place in self.ranking]
        found = {"best": self.best, "worst": self.worst, "ranking": ranking or None}
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Marks:
        """What :meth:`to_dict` described, from where it was checked before."""
        ranking = [tuple(place) if isinstance(place, Sequence) else (place,) for place in record.get("ranking", ())]
        return cls(record.get("best"), record.get("worst"), tuple(ranking))


def read_marks(shown: int, *, best: Any = None, worst: Any = None, ranking: Iterable[Any] | None = None) -> Marks:
    """The marks that a person gave, checked.

    Args:
        shown: How many options there are.
        best: The position of the best one.
        worst: Beside it, the position of the worst one.
        ranking: Positions instead, best first, all or the first few; a list instead of a position is a tie.

    Raises:
        DataError: A position is not that of an option, or the marks do not go together.
    """
    if ranking is not None:
        places = readings.places_of(ranking)
        kept_positions(list(chain.from_iterable(places)), shown, "ranking")
        return Marks(ranking=tuple(places))
    (top,) = kept_positions([best], shown, "best")
    if worst is None:
        return Marks(top)
    (bottom,) = kept_positions([worst], shown, "worst")
    if top == bottom:
        raise DataError(f"option {top} is both best and worst; name two different options.")
    return Marks(top, bottom)


def require_one(kept: Any, best: Any, worst: Any, ranking: Any) -> None:
    """Refuse an answer that says nothing, or the same thing in two ways."""
    given = [name for name, value in (("kept", kept), ("best", best), ("ranking", ranking)) if value is not None]
    if len(given) != 1 or (worst is not None and best is None):
        told = " and ".join([*given, *(["worst"] if worst is not None else [])]) or "nothing"
        raise DataError(f"{told} was given: give kept, or best, or best and worst, or ranking.")


def require_learnable(likelihood: str, choices: Iterable[tuple[Sequence[Any], Sequence[int]]]) -> None:
    """Refuse an answer that a likelihood cannot learn from; it is given as the choices that it is read as.

    >>> require_learnable("batch_preference", [((0, 1, 2), (0,))])
    """
    if likelihood not in ONE_OBJECTIVE:
        return
    for shown, kept in choices:
        pair = likelihood == "noticeable_difference" and len(shown) == 2
        if len(kept) != 1 and not pair:
            also = ", or of two options both" if likelihood == "noticeable_difference" else ""
            raise DataError(
                f"likelihood={likelihood!r} learns from one winner{also}, but {len(kept)} of {len(shown)} options are kept: "
                "name one, or skip."
            )
