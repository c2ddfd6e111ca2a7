"""An answer can name the best option, the best and the worst, or an order."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that may be empty."""
    op.add_column("choicebo_log", sa.Column("marks", sa.JSON))
