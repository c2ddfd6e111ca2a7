"""Values of measured objectives can be entered for an option."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that may be empty."""
    op.add_column("choicebo_log", sa.Column("measured", sa.JSON))
