"""Raters can lock properties, and questions know what was wished for."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns that may be empty."""
    op.add_column("choicebo_rater", sa.Column("wishes", sa.JSON))
    op.add_column("choicebo_question", sa.Column("wishes", sa.JSON))
