"""How to answer, in words: one text for page, terminal and notebook, by the way of answering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choicebo.history import Answer


@dataclass(frozen=True)
class Answering:
    """What a person is told about a way of answering."""

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
