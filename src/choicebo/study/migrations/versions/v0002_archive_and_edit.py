"""Studies can be archived and edited, their objectives named, and raters removed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add columns that may be empty."""
    op.add_column("choicebo_study", sa.Column("archived_at", _MOMENT))
    op.add_column("choicebo_study", sa.Column("edited_at", _MOMENT))
    op.add_column("choicebo_study", sa.Column("objective_names", sa.JSON))
    op.add_column("choicebo_rater", sa.Column("removed_at", _MOMENT))
