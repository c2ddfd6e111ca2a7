"""What could be computed again, kept in the database: fitted posteriors, questions prepared ahead, looks at the dimension."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from choicebo.study.storage import Storage
from choicebo.study.tables import CacheRow

POSTERIOR, PREPARED, LOOK = "posterior", "question", "look"
_KEEP = {POSTERIOR: 12, PREPARED: 60, LOOK: 12}


class Cache:
    """The cache of one study; each kind holds the latest few."""

    def __init__(self, storage: Storage, study_id: int) -> None:
        self._storage = storage
        self._study_id = study_id

    def has(self, kind: str, key: str) -> bool:
        """Whether it is there."""
        with self._storage.read() as connection:
            return connection.execute(self._find(sa.select(CacheRow.id), kind, key)).first() is not None

    def posterior(self, key: str) -> bytes | None:
        """A fitted posterior."""
        with self._storage.read() as connection:
            return connection.execute(self._find(sa.select(CacheRow.content), POSTERIOR, key)).scalar()

    def prepared(self, key: str) -> dict[str, Any] | None:
        """A question that was computed ahead."""
        return self._json(PREPARED, key)

    def look(self, key: str) -> dict[str, Any] | None:
        """A look at the number of latent dimensions."""
        return self._json(LOOK, key)

    def put(self, *items: tuple[str, str, bytes]) -> None:
        """Keep (kind, key, content); what is there already stays, the oldest go."""
        if not items:
            return
        with self._storage.write() as connection:
            insert: Any = sqlite.insert if self._storage.is_sqlite else postgresql.insert
            for kind, key, content in items:
                row = {"study_id": self._study_id, "kind": kind, "key": key, "content": content}
                connection.execute(insert(CacheRow).values(row).on_conflict_do_nothing())
            for kind in {kind for kind, _, _ in items}:
                mine = sa.and_(CacheRow.study_id == self._study_id, CacheRow.kind == kind)
                latest = sa.select(CacheRow.id).where(mine).order_by(CacheRow.id.desc()).limit(_KEEP[kind])
                connection.execute(sa.delete(CacheRow).where(mine, CacheRow.id.not_in(latest.scalar_subquery())))

    def drop(self) -> None:
        """Throw everything away."""
        with self._storage.write() as connection:
            connection.execute(sa.delete(CacheRow).where(CacheRow.study_id == self._study_id))

    def _json(self, kind: str, key: str) -> dict[str, Any] | None:
        with self._storage.read() as connection:
            content = connection.execute(self._find(sa.select(CacheRow.content), kind, key)).scalar()
        found: dict[str, Any] | None = None if content is None else json.loads(content)
        return found

    def _find(self, statement: sa.Select[Any], kind: str, key: str) -> sa.Select[Any]:
        return statement.where(CacheRow.study_id == self._study_id, CacheRow.kind == kind, CacheRow.key == key)
