"""The tables of a study: an append-only log, and a cache that may be thrown away.

Every entry of the log has a position, counted from 1 in its study. A position once written never changes, so that the
state of a study is the replay of its log, and two processes cannot both believe to be the next to write.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

KINDS = ("question", "answer", "correction", "skip", "addition", "undo", "retraction", "restoration")
"""What an entry of the log can be."""


class Moment(TypeDecorator[datetime]):
    """A point in time in UTC, with its zone on both sides of the database."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Into the database."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Out of it: SQLite forgets the zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """All tables; the prefix keeps them apart in a database that serves other programs too."""

    metadata = sa.MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
        }
    )


class StudyRow(Base):
    """What a study asks, about which options. Only what leaves the meaning of its answers alone is ever changed."""

    __tablename__ = "choicebo_study"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.Text, unique=True)
    question: Mapped[str] = mapped_column(sa.Text)
    space: Mapped[dict[str, Any]] = mapped_column(sa.JSON)
    settings: Mapped[dict[str, Any]] = mapped_column(sa.JSON)
    show: Mapped[dict[str, Any]] = mapped_column(sa.JSON)
    folder: Mapped[str | None] = mapped_column(sa.Text)
    raters_mode: Mapped[str] = mapped_column(sa.Text)
    created_at: Mapped[datetime] = mapped_column(Moment)
    archived_at: Mapped[datetime | None] = mapped_column(Moment)
    edited_at: Mapped[datetime | None] = mapped_column(Moment)
    """When this row was last changed: tells other processes to read it again."""
    objective_names: Mapped[list[dict[str, Any]] | None] = mapped_column(sa.JSON(none_as_null=True))
    checksum: Mapped[str | None] = mapped_column(sa.Text)
    """Of the definition in this row; None if an earlier release wrote it."""


class RaterRow(Base):
    """Somebody who answers."""

    __tablename__ = "choicebo_rater"
    __table_args__ = (sa.UniqueConstraint("study_id", "name"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_study.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(sa.Text)
    created_at: Mapped[datetime] = mapped_column(Moment)
    removed_at: Mapped[datetime | None] = mapped_column(Moment)
    """Since when they may no longer answer."""
    wishes: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    """For the questions to come, as :class:`choicebo.history.Steering` writes them."""


class TokenRow(Base):
    """The hash of a token of a rater; only the latest of each rater is valid."""

    __tablename__ = "choicebo_token"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    rater_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_rater.id", ondelete="CASCADE"), index=True)
    hash: Mapped[str] = mapped_column(sa.Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(Moment)


class OptionRow(Base):
    """An option that was shown, once for each study."""

    __tablename__ = "choicebo_option"
    __table_args__ = (sa.UniqueConstraint("study_id", "fingerprint"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_study.id", ondelete="CASCADE"))
    fingerprint: Mapped[str] = mapped_column(sa.Text)
    option: Mapped[dict[str, Any]] = mapped_column(sa.JSON)


class LogRow(Base):
    """Something that happened. ``target`` is the position of the entry that it is about."""

    __tablename__ = "choicebo_log"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["study_id", "target"], ["choicebo_log.study_id", "choicebo_log.position"], name="fk_choicebo_log_target"
        ),
        sa.CheckConstraint(f"kind IN ({', '.join(map(repr, KINDS))})", name="kind"),
        sa.CheckConstraint("target IS NULL OR target < position", name="target"),
        sa.CheckConstraint("(kind IN ('answer', 'correction', 'addition')) = (kept IS NOT NULL)", name="kept"),
        sa.CheckConstraint("kind IN ('question', 'addition') OR target IS NOT NULL", name="about"),
    )

    study_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_study.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str] = mapped_column(sa.Text)
    rater_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_rater.id"))
    at: Mapped[datetime] = mapped_column(Moment)
    target: Mapped[int | None] = mapped_column(sa.Integer)
    kept: Mapped[list[int] | None] = mapped_column(sa.JSON(none_as_null=True))
    seconds: Mapped[float | None] = mapped_column(sa.Float)
    marks: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    """What an answer says beyond what is kept, as :class:`choicebo.choices.marks.Marks` writes it."""
    measured: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    """The ``option`` and the ``values`` of a measurement. Its kind is stored as ``addition`` with nothing kept: a new kind would
    mean a new check of the table, and to change that SQLite copies the whole log."""


class QuestionRow(Base):
    """What belongs to an entry that is a question, besides the options shown."""

    __tablename__ = "choicebo_question"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["study_id", "position"],
            ["choicebo_log.study_id", "choicebo_log.position"],
            ondelete="CASCADE",
            name="fk_choicebo_question_log",
        ),
        sa.UniqueConstraint("study_id", "number"),
    )

    study_id: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int]
    reason: Mapped[str] = mapped_column(sa.Text)
    strategy: Mapped[str] = mapped_column(sa.Text)
    latent_dim: Mapped[int | None]
    latent_dim_history: Mapped[list[dict[str, Any]]] = mapped_column(sa.JSON)
    model_version: Mapped[str] = mapped_column(sa.Text)
    seed: Mapped[int] = mapped_column(sa.BigInteger)
    known_until: Mapped[int]
    """The position up to which the log was known when the question was computed."""
    wishes: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    """What the rater wished for when it was asked."""


class ShownRow(Base):
    """An option in its place in a question or an addition."""

    __tablename__ = "choicebo_shown"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["study_id", "position"],
            ["choicebo_log.study_id", "choicebo_log.position"],
            ondelete="CASCADE",
            name="fk_choicebo_shown_log",
        ),
    )

    study_id: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    option_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_option.id"))
    is_new: Mapped[bool]


class ChecksumRow(Base):
    """The checksum of the log from its beginning to an entry; there is one at the end of the log."""

    __tablename__ = "choicebo_checksum"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["study_id", "position"],
            ["choicebo_log.study_id", "choicebo_log.position"],
            ondelete="CASCADE",
            name="fk_choicebo_checksum_log",
        ),
    )

    study_id: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[str] = mapped_column(sa.Text)


class CacheRow(Base):
    """Something that could be computed again: a fitted posterior, a question prepared ahead, a look at the dimension."""

    __tablename__ = "choicebo_cache"
    __table_args__ = (sa.UniqueConstraint("study_id", "kind", "key"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(sa.ForeignKey("choicebo_study.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(sa.Text)
    key: Mapped[str] = mapped_column(sa.Text)
    content: Mapped[bytes] = mapped_column(sa.LargeBinary)
