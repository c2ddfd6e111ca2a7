"""The history of a study in its database: an append-only list of events, and the state that they add up to.

What was read once stays true, since no event that is stored ever changes: only new ones are read and applied. The definition
of the study and who may answer can change, and are read again whenever the study says so. Each block that writes is one
transaction in which nobody else writes to the study.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from choicebo.choices.marks import Marks
from choicebo.errors import StorageError, StudyArchivedError, StudyError, StudyNotFoundError
from choicebo.history import OWNER, Event, Question, State, Steering
from choicebo.history.events import Kind, Measured, OptionKeys
from choicebo.space import Option
from choicebo.study import checksum, definition, raters
from choicebo.study.checksum import Chain, DamageError
from choicebo.study.definition import StudyDefinition
from choicebo.study.storage import Storage
from choicebo.study.tables import ChecksumRow, LogRow, OptionRow, QuestionRow, RaterRow, ShownRow, StudyRow

_BATCH = 1000


class EventStore:
    """The history of one study, and its definition as it is now; threads may share it."""

    def __init__(
        self, storage: Storage, study_id: int, what: StudyDefinition, edited_at: datetime | None = None
    ) -> None:
        self.storage = storage
        self.study_id = study_id
        self.what = what
        self._edited_at = edited_at
        self._state, self._chain = State(), Chain()
        self._raters: dict[str, datetime | None] = {}
        """Everybody, with the time at which they were removed."""
        self._lock = threading.RLock()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """The state now; it must not be used after the block, nor held for long."""
        with self.storage.read() as connection, self._lock:
            self._catch_up(connection)
            yield self._state

    @contextmanager
    def writing(self, *, even_archived: bool = False) -> Iterator[Writer]:
        """A transaction in which nobody else writes to the study, and the state that it begins with."""
        locked, writer = False, None
        try:
            with self.storage.write() as connection:
                lock = sa.select(StudyRow.id).where(StudyRow.id == self.study_id).with_for_update()
                if connection.execute(lock).first() is None:
                    raise self._gone()
                # Held until the transaction has ended: nobody may see what may not last.
                locked = self._lock.acquire()
                self._catch_up(connection)
                if not even_archived:
                    self._refuse_archived()
                writer = Writer(connection, self.study_id, self._state, self._chain, self.check_may_answer)
                yield writer
        except BaseException:
            if writer is not None and writer.has_written:
                self._state, self._chain = State(), Chain()  # they are read again
            raise
        finally:
            if locked:
                self._lock.release()

    def rater(self, given: str | None) -> str:
        """The rater of that name, who must exist; the owner if none is given."""
        name = OWNER if given is None else given
        if not isinstance(name, str) or name not in self._raters:
            with self.storage.read() as connection:
                self._raters = raters.names(connection, self.study_id)
            if not self._raters:
                raise self._gone()
        return raters.resolve(name, self._raters)

    def may_answer(self, rater: str) -> bool:
        """Whether a rater may answer; as it was when last read."""
        return self.what.archived_at is None and self._raters.get(rater) is None

    def check_may_answer(self, rater: str) -> None:
        """Refuse a rater who was removed, and everybody if the study is archived; as it was when last read."""
        self._refuse_archived()
        if self._raters.get(rater) is not None:
            raise StudyError(
                f"{rater!r} was removed from the study {self.what.name!r} and can no longer answer: the owner can "
                "restore them."
            )

    def edit(self, writer: Writer, what: StudyDefinition) -> None:
        """Store another definition of the study, in the transaction of ``writer``."""
        definition.update(writer.connection, self.study_id, what)
        self.touch(writer)

    def touch(self, writer: Writer) -> None:
        """Tell every process, this one included, to read the definition and the raters again."""
        mine = StudyRow.id == self.study_id
        before = writer.connection.execute(sa.select(StudyRow.edited_at).where(mine)).scalar()
        # Later than before, whatever the clock says: two edits are never taken for one.
        at = now() if before is None else max(now(), before + timedelta(microseconds=1))
        writer.connection.execute(sa.update(StudyRow).where(mine).values(edited_at=at))

    def _refuse_archived(self) -> None:
        if self.what.archived_at is not None:
            raise StudyArchivedError(
                f"The study {self.what.name!r} is archived: nothing is asked or answered until its owner restores it."
            )

    def _catch_up(self, connection: sa.Connection) -> None:
        """Apply what is new, at the cost of one query if nothing is."""
        known = self._state.position
        mine = LogRow.study_id == self.study_id
        latest = sa.select(sa.func.max(LogRow.position)).where(mine).scalar_subquery()
        vouched = sa.select(sa.func.max(ChecksumRow.position)).where(ChecksumRow.study_id == self.study_id)
        at = sa.select(LogRow.at).where(mine, LogRow.position == known).scalar_subquery()
        found = connection.execute(
            sa.select(latest, at, StudyRow.edited_at, vouched.scalar_subquery().label("vouched")).where(
                # Names can change; another study of the same number, in another file, was not made in the same moment.
                StudyRow.id == self.study_id,
                StudyRow.created_at == self.what.created_at,
            )
        ).first()
        if found is None:
            raise self._gone()
        if found.edited_at != self._edited_at:
            row = connection.execute(sa.select(StudyRow.__table__).where(StudyRow.id == self.study_id)).one()
            self.what, self._raters, self._edited_at = definition.load(row), {}, found.edited_at
        if not self._raters:
            self._raters = raters.names(connection, self.study_id)
        if known and found[1] != self._state.events[known].at:
            # The database is not the one that was read: a copy of an earlier moment, perhaps, was put in its place.
            self._state, self._chain = State(), Chain()
            self._raters, known = raters.names(connection, self.study_id), 0
        if (found[0] or 0) != known or found.vouched != found[0]:
            try:
                self._read_on(connection, known)
                if not self._state.position == (found[0] or 0) == (found.vouched or 0):
                    raise DamageError("the end of the log has no checksum")
            except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
                # A damaged page can hold anything, and some of it looks like rows.
                self._state, self._chain = State(), Chain()
                raise StorageError(
                    f"The history of the study {self.what.name!r} in {self.storage} is damaged: restore it from a "
                    "backup or an exported JSON."
                ) from error

    def _read_on(self, connection: sa.Connection, known: int) -> None:
        """Apply the events after a position, and compare them with their checksums."""
        checksums = checksum.read_since(connection, self.study_id, known)
        for event in read_since(connection, self.study_id, known):
            self._state.apply(event)
            self._chain.add(event)
            self._chain.check(checksums.get(event.position, ""))

    def _gone(self) -> StudyNotFoundError:
        return StudyNotFoundError(f"The study {self.what.name!r} is no longer in {self.storage}.")


class Writer:
    """A transaction that may append to a history."""

    def __init__(
        self,
        connection: sa.Connection,
        study_id: int,
        state: State,
        chain: Chain,
        check_may_answer: Callable[[str], None],
    ) -> None:
        self.connection = connection
        self.state = state
        self.has_written = False
        self._study_id = study_id
        self._chain = chain
        self._check_may_answer = check_may_answer

    def append(self, *events: Event) -> None:
        """Store events that follow the state, and apply them to it."""
        self.extend(events)

    def extend(self, events: Iterable[Event], stored: Callable[[int], object] = lambda count: None) -> int:
        """The same for any number of events, which may be made while they are stored; how many.

        ``stored`` is called now and then with the number of events stored so far.
        """
        appender, count = Appender(self.connection, self._study_id, self._chain), 0
        for batch in _batches(events):
            for rater in {event.rater for event in batch if event.kind not in ("retraction", "restoration")}:
                self._check_may_answer(rater)
            self.has_written = True
            appender.append(batch)
            for event in batch:
                self.state.apply(event)
            count += len(batch)
            stored(count)
        return count


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def read_since(connection: sa.Connection, study_id: int, position: int) -> list[Event]:
    """The events after ``position``, in order."""
    rows = connection.execute(
        sa.select(LogRow.__table__, RaterRow.name)
        .join(RaterRow, RaterRow.id == LogRow.rater_id)
        .where(LogRow.study_id == study_id, LogRow.position > position)
        .order_by(LogRow.position)
    ).all()
    asked = {
        row.position: row
        for row in connection.execute(
            sa.select(QuestionRow.__table__).where(QuestionRow.study_id == study_id, QuestionRow.position > position)
        )
    }
    shown: dict[int, list[tuple[Option, bool]]] = {}
    for row in connection.execute(
        sa.select(ShownRow.position, ShownRow.is_new, OptionRow.option)
        .join(OptionRow, OptionRow.id == ShownRow.option_id)
        .where(ShownRow.study_id == study_id, ShownRow.position > position)
        .order_by(ShownRow.position, ShownRow.place)
    ):
        shown.setdefault(row.position, []).append((row.option, row.is_new))
    return [_event(row, asked.get(row.position), shown.get(row.position, [])) for row in rows]


def _event(row: sa.Row[Any], asked: sa.Row[Any] | None, shown: Sequence[tuple[Option, bool]]) -> Event:
    options, new = [option for option, _ in shown], tuple(is_new for _, is_new in shown)
    question = None
    if asked is not None:
        question = Question(
            id=asked.number,
            options=options,
            reason=asked.reason,
            new=new,
            found_by=tuple(asked.strategy.split("+")),
            latent_dim=asked.latent_dim,
            looks=tuple(asked.latent_dim_history),
            rater=row.name,
            asked_at=row.at,
            seed=asked.seed,
            model_version=asked.model_version,
            known_until=asked.known_until,
            wishes=Steering.from_dict(asked.wishes or {}),
        )
        options, new = [], ()
    return Event(
        position=row.position,
        kind=kind_of(row),
        rater=row.name,
        at=row.at,
        target=row.target,
        kept=None if row.kept is None or row.measured is not None else tuple(row.kept),
        seconds=row.seconds,
        question=question,
        added=tuple(options),
        added_new=new,
        marks=None if row.marks is None else Marks.from_dict(row.marks),
        measured=None if row.measured is None else Measured(row.measured["option"], row.measured["values"]),
    )


def kind_of(row: sa.Row[Any]) -> Kind:
    """What an entry of the log is."""
    kind: Kind = row.kind if row.measured is None else "measurement"
    return kind


def append(connection: sa.Connection, study_id: int, events: Iterable[Event], chain: Chain) -> None:
    """Store events at their positions, after those of the chain; the caller holds the lock of the study."""
    appender = Appender(connection, study_id, chain)
    for batch in _batches(events):
        appender.append(batch)


class Appender:
    """Stores events in a transaction, and remembers what it has found out about raters and options."""

    def __init__(self, connection: sa.Connection, study_id: int, chain: Chain) -> None:
        self._connection, self._study_id, self._chain = connection, study_id, chain
        self._key = OptionKeys()
        self._option_ids: dict[str, int] = {}
        rows = connection.execute(sa.select(RaterRow.id, RaterRow.name).where(RaterRow.study_id == study_id))
        self._rater_ids = {row.name: row.id for row in rows}

    def append(self, events: Sequence[Event]) -> None:
        """Store some events; there is at least one."""
        self._learn_options([option for event in events for option in event.options])
        study_id, rater_ids, option_ids = self._study_id, self._rater_ids, self._option_ids
        log = [
            {
                "study_id": study_id,
                "position": event.position,
                "kind": "addition" if event.kind == "measurement" else event.kind,
                "rater_id": rater_ids[raters.resolve(event.rater, rater_ids)],
                "at": event.at,
                "target": event.target,
                "kept": list(event.kept or ()) if event.kept is not None or event.kind == "measurement" else None,
                "seconds": event.seconds,
                "marks": None if event.marks is None else event.marks.to_dict(),
                "measured": None if event.measured is None else _plain(event.measured),
            }
            for event in events
        ]
        questions = [
            {
                "study_id": study_id,
                "position": event.position,
                "number": event.question.id,
                "reason": event.question.reason,
                "strategy": event.question.strategy,
                "latent_dim": event.question.latent_dim,
                "latent_dim_history": list(event.question.looks),
                "model_version": event.question.model_version,
                "seed": event.question.seed,
                "known_until": event.question.known_until,
                "wishes": event.question.wishes.to_dict() or None,
            }
            for event in events
            if event.question is not None
        ]
        shown = [
            {
                "study_id": study_id,
                "position": event.position,
                "place": place,
                "option_id": option_ids[self._key(option)],
                "is_new": is_new,
            }
            for event in events
            for place, (option, is_new) in enumerate(zip(event.options, event.new, strict=True))
        ]
        for table, rows in ((LogRow, log), (QuestionRow, questions), (ShownRow, shown)):
            if rows:
                self._connection.execute(sa.insert(table), rows)
        for event in events:
            self._chain.add(event)
        checksum.store(self._connection, study_id, events[-1].position, self._chain)

    def _learn_options(self, options: Iterable[Option]) -> None:
        """Find the id of each option; options not known yet are stored."""
        wanted = {key: option for option in options if (key := self._key(option)) not in self._option_ids}
        self._option_ids.update(_known(self._connection, self._study_id, list(wanted)))
        missing = [key for key in wanted if key not in self._option_ids]
        if missing:
            rows = [{"study_id": self._study_id, "fingerprint": key, "option": wanted[key]} for key in missing]
            self._connection.execute(sa.insert(OptionRow), rows)
            self._option_ids.update(_known(self._connection, self._study_id, missing))


def _plain(measured: Measured) -> dict[str, Any]:
    return {"option": dict(measured.option), "values": dict(measured.values)}


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    """A thousand events at a time: the rows of all of them need not be in memory together."""
    coming = iter(events)
    while batch := list(islice(coming, _BATCH)):
        yield batch


def _known(connection: sa.Connection, study_id: int, keys: Sequence[str]) -> dict[str, int]:
    known: dict[str, int] = {}
    for start in range(0, len(keys), 500):  # SQLite limits the number of parameters
        found = sa.select(OptionRow.fingerprint, OptionRow.id).where(
            OptionRow.study_id == study_id, OptionRow.fingerprint.in_(keys[start : start + 500])
        )
        known.update({row.fingerprint: row.id for row in connection.execute(found)})
    return known
