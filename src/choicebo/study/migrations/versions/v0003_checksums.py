"""Checksums of the definition and the history of a study."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; what is there already has no checksum, which is an empty one at its end."""
    op.add_column("choicebo_study", sa.Column("checksum", sa.Text))
    op.create_table(
        "choicebo_checksum",
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "position", name="pk_choicebo_checksum"),
        sa.ForeignKeyConstraint(
            ["study_id", "position"],
            ["choicebo_log.study_id", "choicebo_log.position"],
            ondelete="CASCADE",
            name="fk_choicebo_checksum_log",
        ),
    )
    op.execute(
        "INSERT INTO choicebo_checksum (study_id, position, digest) "
        "SELECT study_id, MAX(position), '' FROM choicebo_log GROUP BY study_id"
    )
