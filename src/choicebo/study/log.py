"""The log of a study as it is kept: reading its new entries, and appending to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from choicebo.space import Option
from choicebo.study.tables import LogRow, OptionRow, QuestionRow, RaterRow, ShownRow, StudyRow


@dataclass(frozen=True)
class Asked:
    """What an entry that is a question has besides its options."""

    number: int
    reason: str
    strategy: str
    latent_dim: int | None
    latent_dim_history: list[dict[str, Any]]
    model_version: str
    seed: int
    known_until: int


@dataclass(frozen=True)
class Entry:
    """Something that happened, at its position in the log."""

    position: int
    kind: str
    rater: str
    at: datetime
    target: int | None = None
    """The position of the entry that this one is about."""
    kept: tuple[int, ...] | None = None
    seconds: float | None = None
    asked: Asked | None = None
    options: tuple[Option, ...] = ()
    new: tuple[bool, ...] = field(default=())


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def fingerprint(option: Mapping[str, Any]) -> str:
    """Tells options apart: 1 and 1.0 differ, the order of the names does not matter."""
    text = json.dumps(option, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def lock(connection: sa.Connection, study_id: int) -> bool:
    """Make other writers of the study wait until this transaction ends; False if the study is gone."""
    found = connection.execute(sa.select(StudyRow.id).where(StudyRow.id == study_id).with_for_update()).first()
    return found is not None


def last_position(connection: sa.Connection, study_id: int) -> int:
    """The position of the latest entry; 0 in an empty log."""
    latest = sa.select(sa.func.max(LogRow.position)).where(LogRow.study_id == study_id)
    return connection.execute(latest).scalar() or 0


def read_since(connection: sa.Connection, study_id: int, position: int) -> tuple[Entry, ...]:
    """The entries after ``position``, in order."""
    rows = connection.execute(
        sa.select(LogRow.__table__, RaterRow.name)
        .join(RaterRow, RaterRow.id == LogRow.rater_id)
        .where(LogRow.study_id == study_id, LogRow.position > position)
        .order_by(LogRow.position)
    ).all()
    if not rows:
        return ()
    asked = {
        row.position: Asked(
            row.number,
            row.reason,
            row.strategy,
            row.latent_dim,
            row.latent_dim_history,
            row.model_version,
            row.seed,
            row.known_until,
        )
        for row in connection.execute(
            sa.select(QuestionRow.__table__).where(QuestionRow.study_id == study_id, QuestionRow.position > position)
        )
    }
    shown: dict[int, list[tuple[Option, bool]]] = {}
    for row in connection.execute(
        sa.select(ShownRow.position, ShownRow.is_new, OptionRow.option)
        .join(OptionRow, OptionRow.id == ShownRow.option_id)
        .where(ShownRow.study_id == study_id, ShownRow.position > position)
        .order_by(ShownRow.position, ShownRow.place)
    ):
        shown.setdefault(row.position, []).append((row.option, row.is_new))
    return tuple(
        Entry(
            row.position,
            row.kind,
            row.name,
            row.at,
            row.target,
            None if row.kept is None else tuple(row.kept),
            row.seconds,
            asked.get(row.position),
            tuple(option for option, _ in shown.get(row.position, ())),
            tuple(is_new for _, is_new in shown.get(row.position, ())),
        )
        for row in rows
    )


def append(connection: sa.Connection, study_id: int, entries: Sequence[Entry]) -> None:
    """Store entries at their positions; the caller holds the lock of the study."""
    if not entries:
        return
    rater_ids = {
        row.name: row.id
        for row in connection.execute(sa.select(RaterRow.id, RaterRow.name).where(RaterRow.study_id == study_id))
    }
    option_ids = _option_ids(connection, study_id, [option for entry in entries for option in entry.options])
    connection.execute(
        sa.insert(LogRow),
        [
            {
                "study_id": study_id,
                "position": entry.position,
                "kind": entry.kind,
                "rater_id": rater_ids[entry.rater],
                "at": entry.at,
                "target": entry.target,
                "kept": None if entry.kept is None else list(entry.kept),
                "seconds": entry.seconds,
            }
            for entry in entries
        ],
    )
    questions = [
        {"study_id": study_id, "position": entry.position, **vars(entry.asked)}
        for entry in entries
        if entry.asked is not None
    ]
    if questions:
        connection.execute(sa.insert(QuestionRow), questions)
    shown = [
        {
            "study_id": study_id,
            "position": entry.position,
            "place": place,
            "option_id": option_ids[fingerprint(option)],
            "is_new": is_new,
        }
        for entry in entries
        for place, (option, is_new) in enumerate(zip(entry.options, entry.new, strict=True))
    ]
    if shown:
        connection.execute(sa.insert(ShownRow), shown)


def _option_ids(connection: sa.Connection, study_id: int, options: Sequence[Option]) -> dict[str, int]:
    """The id of each option by its fingerprint; options not known yet are stored."""
    wanted = {fingerprint(option): option for option in options}
    known = _known(connection, study_id, list(wanted))
    missing = [name for name in wanted if name not in known]
    if missing:
        rows = [{"study_id": study_id, "fingerprint": name, "option": wanted[name]} for name in missing]
        connection.execute(sa.insert(OptionRow), rows)
        known.update(_known(connection, study_id, missing))
    return known


def _known(connection: sa.Connection, study_id: int, fingerprints: Sequence[str]) -> dict[str, int]:
    known: dict[str, int] = {}
    for start in range(0, len(fingerprints), 500):  # SQLite limits the number of parameters
        part = fingerprints[start : start + 500]
        found = sa.select(OptionRow.fingerprint, OptionRow.id).where(
            OptionRow.study_id == study_id, OptionRow.fingerprint.in_(part)
        )
        known.update({row.fingerprint: row.id for row in connection.execute(found)})
    return known
