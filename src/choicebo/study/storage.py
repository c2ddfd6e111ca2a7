"""One database, addressed by a URL: its engine, its transactions, and plain words for what goes wrong in it.

A write transaction on SQLite takes the write lock at its beginning, so that what it reads stays true until it commits;
on PostgreSQL the caller locks the row of the study. Reading happens in one snapshot on both.

SQLite lets a process that asks at the right moment write first, and a process of many threads could starve some of them. So the
threads of one process queue for each file and write in the order in which they came.

A file that cannot be written can be read. SQLite wants to write beside a file even to read it, unless it is told that nobody
changes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool

from choicebo.errors import BusyError, ReadOnlyError, StorageError, StudyError
from choicebo.formatting import as_given, without_password
from choicebo.space.table import UNSTORABLE
from choicebo.study.turns import shared_turns

BUSY_SECONDS = 60
"""How long a transaction waits for others that are writing."""
_POOL_SECONDS = 15
"""How long it waits for one of the connections to a server, all of which are in use."""

_ACCEPTED = (
    "give a file such as 'bread.db', or a URL such as 'sqlite:///bread.db' or 'postgresql+psycopg://user@host/name'"
)


def parse_url(given: str | Path) -> URL:
    """The URL of a study's database; a plain path is an SQLite file.

    >>> parse_url("postgresql://ann@localhost/studies").drivername
    'postgresql+psycopg'
    >>> parse_url("/data/bread.db").database
    '/data/bread.db'
    """
    if not isinstance(given, (str, Path)):
        raise StudyError(f"The address of the study is {as_given(given)}: {_ACCEPTED}.")
    text = str(given)
    if UNSTORABLE.search(text):
        raise StudyError(f"The address of the study is {as_given(text)}: leave out characters that cannot be stored.")
    if not text.strip():
        raise StudyError(f"The address of the study is empty: {_ACCEPTED}.")
    if isinstance(given, Path) or "://" not in text:
        return URL.create("sqlite", database=str(Path(text).expanduser().absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StudyError(f"{without_password(text)!r} is not the URL of a database: {_ACCEPTED}.") from None
    backend = url.get_backend_name()
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StudyError(f"Studies cannot be stored in {backend!r}: {_ACCEPTED}.")
    if url.database in (None, "", ":memory:"):
        raise StudyError(
            f"A study cannot be kept in memory: {_ACCEPTED}, or use ChoiceOptimizer, which needs no storage."
        )
    return url


class Storage:
    """A database that holds studies. Nothing is opened before it is needed; threads may share it.

    >>> str(Storage("postgresql://ann:secret@localhost/studies"))
    'postgresql+psycopg://ann:***@localhost/studies'
    """

    def __init__(self, url: str | Path) -> None:
        self._url = parse_url(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self._engine: sa.Engine | None = None
        self._was_there = False
        self._turns = shared_turns(os.path.realpath(self.file)) if self.file is not None else None
        self._views: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self._url.database) if self.is_sqlite else self._shown()

    @property
    def url(self) -> str:
        """The address without the password."""
        text = self._shown()
        # Some names of files, such as those with a question mark, mean something else in a URL.
        return str(self) if self.is_sqlite and make_url(text).database != self._url.database else text

    def _shown(self) -> str:
        return without_password(self._url.render_as_string(hide_password=True))

    @property
    def file(self) -> Path | None:
        """The SQLite file; None for a server."""
        if not self.is_sqlite:
            return None
        database = self._url.database or ""
        if not database.startswith("file:"):
            return Path(database)
        return Path(unquote(database.removeprefix("file:").partition("?")[0]))

    @property
    def is_read_only(self) -> bool:
        """Whether it is an SQLite file that cannot be written, by its rights, those of its folder, or its URL."""
        if self.file is None or not os.path.exists(self.file):  # noqa: PTH110  (false for names that are too long)
            return False
        return (
            self._url.query.get("mode") == "ro"
            or self._url.query.get("immutable") == "1"
            or not os.access(self.file, os.W_OK)
            or not os.access(self.file.absolute().parent, os.W_OK)
        )

    def see_through(self, views: Iterable[str]) -> None:
        """Look at the tables of an SQLite file through temporary views, which every later connection makes."""
        self._views = tuple(views)

    def require_file(self) -> None:
        """Refuse a file that is not there: SQLite would silently make an empty one."""
        if self.file is not None and not self._is_there():
            raise StorageError(f"There is no file {str(self.file)!r}: check the path, or create a study there first.")

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A snapshot to read from."""
        with self._translated(), self._connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: stored for good when the block ends, forgotten if it raises."""
        if self.is_read_only:
            raise ReadOnlyError(_SQLITE_SENTENCES["readonly"].format(file=str(self.file)))
        with self._translated(), self._turn(), self._connect() as connection:
            connection = connection.execution_options(choicebo_writes=True)
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def autocommit(self) -> Iterator[sa.Connection]:
        """A connection without a transaction, for what SQLite cannot do inside one."""
        with self._translated(), self._connect() as connection:
            yield connection.execution_options(choicebo_begins=False)

    def damage(self) -> str:
        """The first damage that SQLite finds in its file, in its words; empty if there is none. A server looks after itself."""
        if not self.is_sqlite:
            return ""
        with self.read() as connection:
            found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
        return "" if found == "ok" else found

    def close(self) -> None:
        """Close all connections; they are opened again when needed."""
        if self._engine is not None:
            self._engine.dispose()

    def __enter__(self) -> Storage:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self._turns is not None:
                try:
                    stack.enter_context(self._turns.take(BUSY_SECONDS))
                except TimeoutError:
                    raise BusyError(self._too_many()) from None
            yield

    def _too_many(self) -> str:
        return f"Too many people are using {self} at the moment: try again in a few seconds."

    def _connect(self) -> sa.Connection:
        file = self.file
        if file is not None:
            there = self._is_there()
            if self._was_there and not there:
                raise StorageError(
                    f"The file {str(file)!r} is gone: it was moved or deleted while it was in use. Put it back; "
                    "nothing is written until then."
                )
            self._was_there = there
        return self._open().connect()

    def _is_there(self) -> bool:
        return self.file is not None and os.path.exists(self.file)  # noqa: PTH110  (false for names that are too long)

    def _open(self) -> sa.Engine:
        if self._engine is None:
            self._engine = self._make_engine()
        return self._engine

    def _make_engine(self) -> sa.Engine:
        try:
            if self.is_sqlite:
                # A connection per transaction costs little, and leaves no handle behind when the file is moved.
                engine = sa.create_engine(
                    # Parameters are what people answered: no error, and so no log, is to show them.
                    self._url,
                    poolclass=NullPool,
                    connect_args={"timeout": BUSY_SECONDS},
                    hide_parameters=True,
                )
                event.listen(engine, "do_connect", self._connect_to_read)
                event.listen(engine, "connect", self._prepare_sqlite)
                event.listen(engine, "begin", _begin_sqlite)
                return engine
            engine = sa.create_engine(
                self._url,
                pool_pre_ping=True,
                pool_size=5,
                max_overflow=20,
                pool_timeout=_POOL_SECONDS,
                hide_parameters=True,
            )
            event.listen(engine, "connect", _prepare_postgres)
            return engine
        except (ModuleNotFoundError, NoSuchModuleError):
            raise StorageError("PostgreSQL needs the driver psycopg: pip install 'choicebo[postgres]'.") from None

    def _connect_to_read(self, dialect: sa.Dialect, _record: object, arguments: Any, options: Any) -> Any:
        """A connection to a file that cannot be written; None for others, to which everybody can connect."""
        if self.file is None or not self.is_read_only:
            return None
        try:
            connection: Any = dialect.connect(*arguments, **options)
            connection.execute("PRAGMA schema_version")
            return connection
        except sqlite3.OperationalError:
            file = self.file.absolute()
            unfinished = Path(f"{file}-wal")
            if unfinished.exists() and unfinished.stat().st_size:
                raise StorageError(
                    f"The file {str(file)!r} cannot be read, because its folder cannot be written to and its "
                    f"latest answers are still in {unfinished.name!r}. Copy both files to a folder that you can "
                    "write to."
                ) from None
            return sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)

    def _prepare_sqlite(self, connection: sqlite3.Connection, record: object) -> None:
        _prepare_sqlite(connection, record)
        for view in self._views:
            connection.execute(view)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except PoolTimeoutError as error:
            raise BusyError(self._too_many()) from error
        except DBAPIError as error:
            kind = BusyError if _is_busy(error) else ReadOnlyError if _is_read_only(error) else StorageError
            raise kind(self._sentence(error)) from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:  # of a column, or of SQLite's own message
            raise StorageError(_SQLITE_SENTENCES["malformed"].format(file=str(self))) from error

    def _sentence(self, error: DBAPIError) -> str:
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        if not self.is_sqlite and _is_read_only(error):
            return f"The database {self} may only be read by this user ({reason}): connect as one who may write."
        if not self.is_sqlite:
            return f"The database {self} reports: {reason}. Check that the server runs and that the URL is right."
        lower = reason.lower()
        for part, sentence in _SQLITE_SENTENCES.items():
            if part in lower:
                return sentence.format(file=str(self))
        return f"The file {str(self)!r} reports: {reason}."


_SQLITE_SENTENCES = {
    "readonly": "The file {file!r} cannot be written: it or its folder is read-only. Change that, or copy it elsewhere.",
    "not a database": "The file {file!r} is not a database of choicebo: give the file of a study.",
    "malformed": "The file {file!r} is damaged: restore it from a backup or an exported JSON.",
    "disk i/o": "The file {file!r} cannot be read or written (disk error): make room on the disk, or restore it from a backup.",
    "unable to open": "The file {file!r} cannot be opened: check that its folder exists and may be read and written.",
    "decode to utf-8": "The file {file!r} is damaged: restore it from a backup or an exported JSON.",
    "locked": "The file {file!r} has been locked by another program for more than a minute: close that program.",
    "full": "The disk with {file!r} is full: make room. Every answer that was accepted is stored.",
}


def _is_busy(error: DBAPIError) -> bool:
    """Whether the same may succeed in a while: somebody holds a lock, or there are too many connections."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None) or ""
    said = str(error.orig)
    return code in _BUSY_CODES or "too many clients" in said or "remaining connection slots" in said


def _is_read_only(error: DBAPIError) -> bool:
    """Whether something would have been written that may only be read."""
    code = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None) or ""
    return code in ("25006", "42501") or code.startswith("SQLITE_READONLY")


_BUSY_CODES = ("SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED", "40001", "40P01", "53300", "55P03")


def _prepare_postgres(connection: Any, _record: object) -> None:
    connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
    connection.commit()


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # Without this the driver opens transactions by itself, later than they must begin.
    connection.isolation_level = None
    for pragma in (f"busy_timeout = {BUSY_SECONDS * 1000}", "foreign_keys = ON", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    options: Any = connection.get_execution_options()
    if not options.get("choicebo_begins", True):
        return
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("choicebo_writes") else "BEGIN")
