"""How to answer, in words: one text for page, terminal and notebook, by the way of answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from choicebo.history import Answer

Said = dict[str, Any]
"""An answer as arguments of ``Study.tell``."""


@dataclass(frozen=True)
class Answering:
    """Instructions for a way of answering."""

    rule: str
    """Below the question."""
    empty: str
    """Where too little is marked to be an answer."""
    button: str
    """What sends the answer."""


ANSWERING = {
    "subset": Answering(
        "Keep every one that no other beats; several may stay.",
        "Nothing is marked yet: mark every one that no other beats, or skip.",
        "Keep these",
    ),
    "best": Answering(
        "Mark the one that you like best.", "Nothing is marked yet: mark the best one, or skip.", "Choose it"
    ),
    "best-worst": Answering(
        "Mark the best one and the worst one.",
        "Mark two different ones, the best and the worst, or skip.",
        "Best and worst",
    ),
    "ranking": Answering(
        "Mark them in order, the best first. You may stop after the first few.",
        "Nothing is marked yet: mark them in order, the best first, or skip.",
        "Rank these",
    ),
    "pair": Answering(
        "Mark the better one, or say that you cannot decide.",
        "Nothing is marked yet: mark the better one, say that you cannot decide, or skip.",
        "Choose it",
    ),
}


def said(way: str, places: Sequence[int]) -> Said | None:
    """The answer that marks in their order stand for; None if they are none.

    >>> said("best-worst", [1, 3]), said("ranking", [2, 0]), said("best", [0, 1])
    ({'best': 1, 'worst': 3}, {'ranking': [2, 0]}, None)
    """
    if not places or len(set(places)) < len(places):
        return None
    if way == "subset":
        return {"kept": sorted(places)}
    if way == "ranking":
        return {"ranking": list(places)}
    if way == "best-worst":
        return {"best": places[0], "worst": places[1]} if len(places) == 2 else None
    return {"best": places[0]} if len(places) == 1 else None


def in_order(
    kept: Sequence[int] = (), best: int | None = None, worst: int | None = None, ranking: Sequence[Any] = ()
) -> tuple[int, ...]:
    """The positions of an answer in the order in which they are marked.

    >>> in_order(best=1, worst=3), in_order(ranking=[2, [0, 1]])
    ((1, 3), (2, 0, 1))
    """
    ends = [each for each in (best, worst) if each is not None]
    places = [at for place in ranking for at in (place if isinstance(place, Sequence) else [place])]
    return (*kept, *ends, *places)


def words(answer: Answer) -> str:
    """What a person answered, in their words.

    Positions are counted from 1, as on the cards.
    """
    if answer.kind == "skip":
        return "skipped"
    if answer.marks is not None:
        return answer.marks.words()
    if not answer.kept:
        return "none of these"
    return f"kept: {', '.join(str(at + 1) for at in answer.kept)}"


def said_of(answer: Answer, position: int) -> str:
    """What was said of one option: "kept", "best", "worst", its place in an order, or nothing."""
    if answer.marks is None:
        return "kept" if position in answer.kept else ""
    found = answer.marks.of(position)
    return f"place {found}" if found.isdigit() else found


def marked_before(answer: Answer | None) -> dict[str, Any]:
    """Marks of an earlier answer, as far as another way of answering can say them.

    ``kept`` and ``order`` are positions, ``best`` and ``worst`` a position each, or None.
    """
    if answer is None or not answer.kept:
        return {"kept": (), "best": None, "worst": None, "order": ()}
    marks = answer.marks
    alone = answer.kept[0] if len(answer.kept) == 1 else None
    order = [at for place in marks.ranking for at in place] if marks is not None and marks.ranking else []
    return {
        "kept": answer.kept,
        "best": alone,
        "worst": None if marks is None else marks.worst,
        "order": tuple(order) or (() if alone is None else (alone,)),
    }
