"""The tables of version 0.1: studies, raters, options, the log, and the cache."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)
_KINDS = "'question', 'answer', 'correction', 'skip', 'addition', 'undo', 'retraction', 'restoration'"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "choicebo_study",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("space", sa.JSON, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("show", sa.JSON, nullable=False),
        sa.Column("folder", sa.Text),
        sa.Column("raters_mode", sa.Text, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_choicebo_study"),
        sa.UniqueConstraint("name", name="uq_choicebo_study_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "choicebo_rater",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_choicebo_rater"),
        sa.UniqueConstraint("study_id", "name", name="uq_choicebo_rater_study_id"),
        _in_study("rater"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "choicebo_token",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("rater_id", sa.Integer, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_choicebo_token"),
        sa.UniqueConstraint("hash", name="uq_choicebo_token_hash"),
        sa.ForeignKeyConstraint(
            ["rater_id"], ["choicebo_rater.id"], name="fk_choicebo_token_rater_id", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_choicebo_token_rater_id", "choicebo_token", ["rater_id"])
    op.create_table(
        "choicebo_option",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("option", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_choicebo_option"),
        sa.UniqueConstraint("study_id", "fingerprint", name="uq_choicebo_option_study_id"),
        _in_study("option"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "choicebo_log",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("rater_id", sa.Integer, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("target", sa.Integer),
        sa.Column("kept", sa.JSON),
        sa.Column("seconds", sa.Float),
        sa.PrimaryKeyConstraint("study_id", "position", name="pk_choicebo_log"),
        _in_study("log"),
        sa.ForeignKeyConstraint(["rater_id"], ["choicebo_rater.id"], name="fk_choicebo_log_rater_id"),
        sa.ForeignKeyConstraint(
            ["study_id", "target"], ["choicebo_log.study_id", "choicebo_log.position"], name="fk_choicebo_log_target"
        ),
        sa.CheckConstraint(f"kind IN ({_KINDS})", name="ck_choicebo_log_kind"),
        sa.CheckConstraint("target IS NULL OR target < position", name="ck_choicebo_log_target"),
        sa.CheckConstraint(
            "(kind IN ('answer', 'correction', 'addition')) = (kept IS NOT NULL)", name="ck_choicebo_log_kept"
        ),
        sa.CheckConstraint("kind IN ('question', 'addition') OR target IS NOT NULL", name="ck_choicebo_log_about"),
    )
    op.create_table(
        "choicebo_question",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("strategy", sa.Text, nullable=False),
        sa.Column("latent_dim", sa.Integer),
        sa.Column("latent_dim_history", sa.JSON, nullable=False),
        sa.Column("model_version", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("known_until", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "position", name="pk_choicebo_question"),
        sa.UniqueConstraint("study_id", "number", name="uq_choicebo_question_study_id"),
        _in_log("question"),
    )
    op.create_table(
        "choicebo_shown",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("option_id", sa.Integer, nullable=False),
        sa.Column("is_new", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "position", "place", name="pk_choicebo_shown"),
        sa.ForeignKeyConstraint(["option_id"], ["choicebo_option.id"], name="fk_choicebo_shown_option_id"),
        _in_log("shown"),
    )
    op.create_table(
        "choicebo_cache",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_choicebo_cache"),
        sa.UniqueConstraint("study_id", "kind", "key", name="uq_choicebo_cache_study_id"),
        _in_study("cache"),
        sqlite_autoincrement=True,
    )


def _in_study(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_choicebo_{table}_study_id"
    return sa.ForeignKeyConstraint(["study_id"], ["choicebo_study.id"], name=name, ondelete="CASCADE")


def _in_log(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["study_id", "position"],
        ["choicebo_log.study_id", "choicebo_log.position"],
        name=f"fk_choicebo_{table}_log",
        ondelete="CASCADE",
    )
