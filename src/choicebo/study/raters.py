"""Who answers: names, and tokens of which only the hash is stored."""

from __future__ import annotations

import difflib
import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from choicebo.errors import StudyError, UnknownRaterError
from choicebo.formatting import as_given
from choicebo.history import State, Steering
from choicebo.study.records import Rater
from choicebo.study.tables import RaterRow, StudyRow, TokenRow

_LONGEST = 200


def check_name(name: str) -> str:
    """A usable name without space around it."""
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or not name.isprintable():
        raise StudyError(
            f"The name of a rater is {as_given(name)}: give a text of 1 to {_LONGEST} printable characters."
        )
    return name.strip()


def names(connection: sa.Connection, study_id: int) -> dict[str, datetime | None]:
    """All raters in the order in which they came, with the time at which they were removed, or None."""
    mine = RaterRow.study_id == study_id
    rows = connection.execute(sa.select(RaterRow.name, RaterRow.removed_at).where(mine).order_by(RaterRow.id))
    return {row.name: row.removed_at for row in rows}


def resolve(name: str, known: Iterable[str]) -> str:
    """The rater of that name, who must be known."""
    if isinstance(name, str) and name in known:
        return name
    near = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    hint = f"did you mean {near[0]!r}?" if near else "add_rater() adds somebody."
    raise UnknownRaterError(f"There is no rater {as_given(name)} in this study: {hint}")


def insert(connection: sa.Connection, study_id: int, name: str, removed_at: datetime | None = None) -> int:
    """Store a rater; the id."""
    row = {"study_id": study_id, "name": name, "created_at": datetime.now(UTC), "removed_at": removed_at}
    found = connection.execute(sa.insert(RaterRow).values(row).returning(RaterRow.id)).scalar()
    assert found is not None
    return found


def set_removed(connection: sa.Connection, study_id: int, name: str, removed_at: datetime | None) -> None:
    """Remove a rater, or bring them back."""
    mine = (RaterRow.study_id == study_id, RaterRow.name == name)
    connection.execute(sa.update(RaterRow).where(*mine).values(removed_at=removed_at))


def issue_token(connection: sa.Connection, study_id: int, name: str) -> str:
    """A new token of a rater, which makes the earlier one void."""
    rater_id = connection.execute(
        sa.select(RaterRow.id).where(RaterRow.study_id == study_id, RaterRow.name == name)
    ).scalar_one()
    token = secrets.token_urlsafe(24)
    connection.execute(sa.insert(TokenRow).values(rater_id=rater_id, hash=_hash(token), created_at=datetime.now(UTC)))
    return token


def of_token(connection: sa.Connection, token: str) -> tuple[int, str, str] | None:
    """The id and name of the study and the name of the rater whose valid token this is."""
    if not isinstance(token, str) or not token:
        return None
    # Tokens are random and compared by their hash, so that the time this takes tells nothing about them.
    found = connection.execute(
        sa.select(
            TokenRow.id, TokenRow.rater_id, RaterRow.name, StudyRow.id.label("study_id"), StudyRow.name.label("study")
        )
        .join(RaterRow, RaterRow.id == TokenRow.rater_id)
        .join(StudyRow, StudyRow.id == RaterRow.study_id)
        .where(TokenRow.hash == _hash(token), RaterRow.removed_at.is_(None))
    ).first()
    if found is None:
        return None
    latest = connection.execute(sa.select(sa.func.max(TokenRow.id)).where(TokenRow.rater_id == found.rater_id)).scalar()
    return (found.study_id, found.study, found.name) if latest == found.id else None


def links(connection: sa.Connection, study_id: int) -> dict[str, str | None]:
    """The hash of each rater's valid token; None for those who have none."""
    found = connection.execute(
        sa.select(RaterRow.name, TokenRow.hash)
        .outerjoin(TokenRow, TokenRow.rater_id == RaterRow.id)
        .where(RaterRow.study_id == study_id)
        .order_by(RaterRow.id, TokenRow.id)
    )
    return {row.name: row.hash for row in found}  # the latest of each


def stored_wishes(connection: sa.Connection, study_id: int, name: str) -> dict[str, Any] | None:
    """What a rater wishes, as it is stored."""
    mine = sa.select(RaterRow.wishes).where(RaterRow.study_id == study_id, RaterRow.name == name)
    found: dict[str, Any] | None = connection.execute(mine).scalar()
    return found


def bring_link(
    connection: sa.Connection, study_id: int, name: str, known: str | None, wishes: dict[str, Any] | None
) -> None:
    """Let a rater's token of a backup be valid again, unless the original study is here too, and keep their wishes."""
    rater_id = connection.execute(
        sa.select(RaterRow.id).where(RaterRow.study_id == study_id, RaterRow.name == name)
    ).scalar()
    if rater_id is None:  # they came after the answers were read
        return
    if wishes:
        given = Steering.from_dict(wishes).to_dict() or None
        connection.execute(sa.update(RaterRow).where(RaterRow.id == rater_id).values(wishes=given))
    if known is not None and connection.execute(sa.select(TokenRow.id).where(TokenRow.hash == known)).first() is None:
        connection.execute(sa.insert(TokenRow).values(rater_id=rater_id, hash=known, created_at=datetime.now(UTC)))


def describe(connection: sa.Connection, study_id: int, state: State) -> tuple[Rater, ...]:
    """Everybody who may answer or could, in the order in which they came."""
    rows = connection.execute(
        sa.select(RaterRow.name, RaterRow.created_at, RaterRow.removed_at, sa.func.count(TokenRow.id).label("tokens"))
        .outerjoin(TokenRow, TokenRow.rater_id == RaterRow.id)
        .where(RaterRow.study_id == study_id)
        .group_by(RaterRow.id, RaterRow.name, RaterRow.created_at, RaterRow.removed_at)
        .order_by(RaterRow.id)
    )
    return tuple(
        Rater(
            name=row.name,
            created_at=row.created_at,
            answers=state.n_answers(row.name),
            open_questions=len(state.open_questions(row.name)),
            has_token=row.tokens > 0,
            last_seen=next((act.at for act in state.latest_acts(row.name)), None),
            removed_at=row.removed_at,
        )
        for row in rows
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
