"""The version of a database's tables: made new, checked when a study is opened, and upgraded only when asked."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from choicebo.errors import SchemaVersionError, StorageError
from choicebo.study.storage import Storage
from choicebo.study.tables import Base

VERSION_TABLE = "choicebo_version"
SCRIPTS = Path(__file__).parent / "migrations"
# Any number that other programs are unlikely to lock by.
_ADVISORY_LOCK = 0x63686F696365


def upgrade(url: str | Path | Storage) -> tuple[str, ...]:
    """Bring the tables of a database up to date; the names of the steps taken, none if they were.

    >>> import tempfile
    >>> from choicebo.study.storage import Storage
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     create(Storage(f"{folder}/bread.db"))
    ...     upgrade(f"{folder}/bread.db")
    ()
    """
    storage = url if isinstance(url, Storage) else Storage(url)
    storage.require_file()
    with storage.write() as connection:
        _lock(connection)
        found = _version(connection)
        if found is None:
            raise StorageError(_not_ours(storage, connection))
        _refuse_newer(storage, found)
        return _migrate(connection)


def create(storage: Storage) -> None:
    """Make the tables in an empty database; a database that has them is only checked."""
    with storage.read() as connection:
        if _version(connection) is not None:
            check(storage, connection)
            return
        if storage.is_sqlite and sa.inspect(connection).get_table_names():
            raise StorageError(_not_ours(storage, connection))
    _write_ahead(storage)
    with storage.write() as connection:
        _lock(connection)
        if _version(connection) is None:
            _migrate(connection)
    with storage.read() as connection:
        check(storage, connection)


def check(storage: Storage, connection: sa.Connection) -> None:
    """Refuse a database whose tables are not exactly those that this choicebo knows.

    A file that cannot be written cannot be upgraded either: it is read as if it had been.
    """
    found = _version(connection)
    if found is None:
        raise StorageError(_not_ours(storage, connection))
    newest = _scripts().get_current_head()
    if found == newest:
        return
    _refuse_newer(storage, found)
    if storage.is_read_only:
        views = list(_views(connection))
        storage.see_through(views)
        for view in views:
            connection.exec_driver_sql(view)
        return
    raise SchemaVersionError(
        f"{storage} was made by an older choicebo (tables {found}, this one needs {newest}): "
        f"make a copy, then run: choicebo upgrade {storage}"
    )


_IN_THE_PLACE_OF = {
    "choicebo_checksum": "SELECT study_id, MAX(position) AS position, '' AS digest FROM main.choicebo_log GROUP BY study_id"
}
"""What an upgrade would put into tables that older databases lack."""


def _views(connection: sa.Connection) -> Iterator[str]:
    """Temporary views that have the columns which older tables lack, empty; they stand before the tables of the same name."""
    inspector = sa.inspect(connection)
    tables = inspector.get_table_names(schema="main")
    for table in Base.metadata.sorted_tables:
        if table.name not in tables:
            yield f"CREATE TEMP VIEW IF NOT EXISTS {table.name} AS {_IN_THE_PLACE_OF[table.name]}"
            continue
        there = {column["name"] for column in inspector.get_columns(table.name, schema="main")}
        lacking = [column.name for column in table.columns if column.name not in there]
        if lacking:
            empty = ", ".join(f"NULL AS {name}" for name in lacking)
            yield f"CREATE TEMP VIEW IF NOT EXISTS {table.name} AS SELECT *, {empty} FROM main.{table.name}"


def is_empty(connection: sa.Connection) -> bool:
    """Whether nothing of choicebo is in the database yet."""
    return _version(connection) is None


def _refuse_newer(storage: Storage, found: str) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if found not in known:
        raise SchemaVersionError(
            f"{storage} was made by a newer choicebo (tables {found or 'without a version'}, this one knows up to "
            f"{_scripts().get_current_head()}): update with: pip install --upgrade choicebo"
        )


def _version(connection: sa.Connection) -> str | None:
    """The revision of the tables; empty if it is missing, None if there are no tables of choicebo."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() or ""


def _not_ours(storage: Storage, connection: sa.Connection) -> str:
    if sa.inspect(connection).get_table_names():
        return f"{storage} is a database, but not one of choicebo: give the file or URL of a study."
    return f"{storage} holds no study yet: create one with Study.create or: choicebo new {storage}"


def _lock(connection: sa.Connection) -> None:
    """Two processes that make the tables at once wait for each other; on SQLite the transaction itself does that."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))


def _write_ahead(storage: Storage) -> None:
    """Let readers and a writer of an SQLite file work at the same time; the file remembers it."""
    if not storage.is_sqlite:
        return
    for _ in range(50):
        try:
            with storage.autocommit() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                return
        except StorageError as error:
            # Another process changes the mode at this moment, and SQLite does not wait for that.
            if "locked" not in str(error):
                raise
            time.sleep(0.05)


def _scripts() -> Any:
    return _read_scripts(SCRIPTS)


@functools.cache
def _read_scripts(folder: Path) -> Any:
    """The migrations, read once: every request checks the version of the tables."""
    from alembic.script import ScriptDirectory

    return ScriptDirectory(str(folder))


def _migrate(connection: sa.Connection) -> tuple[str, ...]:
    """Apply what is missing, in the transaction of ``connection``."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext

    scripts: Any = _scripts()
    applied: list[str] = []

    def steps(current: Any, _context: Any) -> Any:
        missing = scripts._upgrade_revs("head", current)
        applied.extend(f"{step.revision.revision}: {step.revision.doc}" for step in missing)
        return missing

    with EnvironmentContext(Config(), scripts, fn=steps) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE, transactional_ddl=True)
        environment.run_migrations()
    return tuple(applied)
