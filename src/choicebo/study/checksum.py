"""Checksums of what is stored, so that damage to a file or disk is noticed.

The events of a study form a chain: the checksum of each is that of the event and of the checksum before it. So the one at
the end of the log vouches for all of it, for its length and its order. Those of earlier releases have none; the first event
that follows them vouches for them as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from choicebo.history import Event
from choicebo.study.tables import ChecksumRow


class DamageError(ValueError):
    """What was read is not what was written."""


class Chain:
    """The checksum of the events so far."""

    def __init__(self) -> None:
        self.digest = ""

    def add(self, event: Event) -> None:
        """Let an event follow."""
        self.digest = of([self.digest, _content(event)])

    def check(self, stored: str) -> None:
        """Refuse another checksum than that of the events so far; an empty one was never computed."""
        if stored not in ("", self.digest):
            raise DamageError("the checksum of the history does not match")


def of(content: object) -> str:
    """The checksum of values as a database returns them.

    >>> of({"a": 1.0}) == of({"a": 1.0}), of({"a": 1.0}) == of({"a": 1.5})
    (True, False)
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def of_row(row: Mapping[str, Any]) -> str:
    """The checksum of the columns of a study."""
    return of(dict(row))


def store(connection: sa.Connection, study_id: int, position: int, chain: Chain) -> None:
    """Store the checksum of a history that ends at a position."""
    row = {"study_id": study_id, "position": position, "digest": chain.digest}
    connection.execute(sa.insert(ChecksumRow).values(row))


def read_since(connection: sa.Connection, study_id: int, position: int) -> dict[int, str]:
    """The checksums after a position."""
    after = (ChecksumRow.study_id == study_id, ChecksumRow.position > position)
    rows = connection.execute(sa.select(ChecksumRow.position, ChecksumRow.digest).where(*after))
    return {row.position: row.digest for row in rows}


def _content(event: Event) -> list[Any]:
    question = event.question
    asked = question and [
        question.id,
        question.reason,
        question.strategy,
        question.latent_dim,
        question.looks,
        question.model_version,
        question.seed,
        question.known_until,
        question.wishes.to_dict(),
    ]
    seconds = None if event.seconds is None else float(event.seconds)
    what = [event.position, event.kind, event.rater, event.at, event.target, event.kept, seconds]
    # Where there are none, the checksum is that of earlier releases.
    marks = [] if event.marks is None else [event.marks.to_dict()]
    measured = [] if event.measured is None else [event.measured.option, event.measured.values]
    return [*what, asked, event.options, event.new, *marks, *measured]


def _plain(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} is not stored in a study")
    return value.astimezone(UTC).isoformat()
