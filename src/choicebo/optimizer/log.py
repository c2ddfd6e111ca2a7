"""What happened in a run, entry by entry: from it everything else follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from choicebo.errors import DataError
from choicebo.optimizer.query import Query
from choicebo.space import Option


@dataclass(frozen=True)
class Asked:
    """A question was asked."""

    query: Query


@dataclass(frozen=True)
class Told:
    """It was answered; nothing kept means that the baseline beats all that was shown."""

    query: int
    kept: tuple[int, ...]


@dataclass(frozen=True)
class Skipped:
    """It was left unanswered for good."""

    query: int


@dataclass(frozen=True)
class Added:
    """A choice from elsewhere."""

    shown: tuple[Option, ...]
    kept: tuple[int, ...]


Entry = Asked | Told | Skipped | Added


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    """A JSON-compatible record of one entry."""
    match entry:
        case Asked(query):
            return {"kind": "ask", "query": query.to_dict()}
        case Told(query_id, kept):
            return {"kind": "tell", "query": query_id, "kept": list(kept)}
        case Skipped(query_id):
            return {"kind": "skip", "query": query_id}
        case Added(shown, kept):
            return {"kind": "add", "shown": [dict(option) for option in shown], "kept": list(kept)}


def entry_from_dict(record: Mapping[str, Any]) -> Entry:
    """The entry that :func:`entry_to_dict` described."""
    try:
        match record["kind"]:
            case "ask":
                return Asked(Query.from_dict(record["query"]))
            case "tell":
                return Told(int(record["query"]), tuple(int(position) for position in record["kept"]))
            case "skip":
                return Skipped(int(record["query"]))
            case "add":
                shown = tuple(dict(option) for option in record["shown"])
                return Added(shown, tuple(int(position) for position in record["kept"]))
            case other:
                raise DataError(f"an entry of the log is of the unknown kind {other!r}; known are ask, tell, skip, add")
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"an entry of the log is malformed ({error!r}): {dict(record)!r}") from None


def check_positions(kept: Sequence[Any], shown: int) -> tuple[int, ...]:
    """Kept positions as plain numbers in order, or an error that says what is wrong."""
    try:
        positions = [int(position) for position in kept]
        whole = all(position == given for position, given in zip(positions, kept, strict=True))
    except (TypeError, ValueError):
        whole = False
    if isinstance(kept, str | bytes) or not whole or any(isinstance(position, bool) for position in kept):
        raise DataError(f"kept is {kept!r}; give a list of positions such as [0, 2]")
    for position in positions:
        if not 0 <= position < shown:
            raise DataError(
                f"kept holds the position {position}, but {shown} options were shown: give 0 to {shown - 1}"
            )
    if len(set(positions)) < len(positions):
        raise DataError(f"kept is {kept!r} and names a position twice; name each once")
    return tuple(sorted(positions))
