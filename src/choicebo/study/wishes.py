"""What raters wish for their next questions, kept until it is fulfilled or taken back."""

from __future__ import annotations

import sqlalchemy as sa

from choicebo.history import Steering
from choicebo.study.tables import RaterRow


def of_rater(connection: sa.Connection, study_id: int, rater: str) -> Steering:
    """The wishes of one rater."""
    mine = sa.select(RaterRow.wishes).where(RaterRow.study_id == study_id, RaterRow.name == rater)
    return Steering.from_dict(connection.execute(mine).scalar() or {})


def store(connection: sa.Connection, study_id: int, rater: str, wishes: Steering) -> None:
    """Store a rater's wishes, which replace the earlier ones."""
    mine = sa.update(RaterRow).where(RaterRow.study_id == study_id, RaterRow.name == rater)
    connection.execute(mine.values(wishes=wishes.to_dict() or None))
