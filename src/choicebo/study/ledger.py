"""The rules by which the log of a study grows. Each method that writes is one transaction in which nobody else does.

What was read once stays true, since nothing in a log changes: only what is new is read again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import sqlalchemy as sa

from choicebo import __version__
from choicebo.space import Option
from choicebo.study import checks, log, raters
from choicebo.study.errors import AlreadyAnswered, StudyError, StudyNotFound
from choicebo.study.log import Asked, Entry
from choicebo.study.records import Answer, Past, Question
from choicebo.study.replay import Replay, Thread, replay
from choicebo.study.storage import Storage
from choicebo.study.tables import StudyRow


class Ledger:
    """The log of one study."""

    def __init__(self, storage: Storage, study_id: int, name: str) -> None:
        self.storage = storage
        self.study_id = study_id
        self.name = name
        self._entries: tuple[Entry, ...] = ()
        self._guard = threading.Lock()

    def read(self) -> Replay:
        """The state now."""
        with self.storage.read() as connection:
            return replay(self._read(connection))

    @contextmanager
    def writing(self) -> Iterator[tuple[sa.Connection, Replay]]:
        """A transaction in which nobody else writes to the study, and the state that it begins with."""
        with self.storage.write() as connection:
            if not log.lock(connection, self.study_id):
                raise self._gone()
            yield connection, replay(self._read(connection))

    def rater(self, given: str | None) -> str:
        """The rater of that name, who must exist; the owner if none is given."""
        with self.storage.read() as connection:
            known = raters.names(connection, self.study_id)
        if not known:
            raise self._gone()
        return raters.resolve(given, known)

    def thread(self, state: Replay, question: Question | int, rater: str | None = None) -> Thread:
        """The question of that number, which must have been asked, and to that rater."""
        number = question.number if isinstance(question, Question) else question
        thread = state.by_number.get(number) if isinstance(number, int) else None
        if thread is None:
            there = f"questions 1 to {len(state.by_number)} were asked" if state.by_number else "none was asked yet"
            raise StudyError(f"There is no question {number!r} in the study {self.name!r}: {there}.")
        if rater is not None and rater != thread.start.rater:
            raise StudyError(
                f"Question {number} was asked to {thread.start.rater!r}, not to {rater!r}: answer your own questions."
            )
        return thread

    def ask(
        self, connection: sa.Connection, state: Replay, rater: str, found: dict[str, Any], seed: int, known_until: int
    ) -> Question:
        """Open the question that was computed when the log was known until there."""
        query = found["query"]
        asked = Asked(
            number=state.next_number,
            reason=query["reason"],
            strategy=query["strategy"],
            latent_dim=query["latent_dim"],
            latent_dim_history=found["latent_dim_history"],
            model_version=f"choicebo {__version__}",
            seed=seed,
            known_until=known_until,
        )
        options, new = tuple(query["options"]), tuple(query["new"])
        entry = Entry(state.position + 1, "question", rater, log.now(), asked=asked, options=options, new=new)
        log.append(connection, self.study_id, [entry])
        return state.question(Thread(entry))

    def act(
        self,
        question: Question | int,
        rater: str | None,
        kept: Iterable[int] | None,
        *,
        seconds: float | None = None,
        correction: bool = False,
        empty_is_skip: bool = True,
    ) -> Answer:
        """Store an answer, or a skip if ``kept`` is None; the same again is not stored again."""
        took = checks.seconds(seconds)
        with self.writing() as (connection, state):
            thread = self.thread(state, question, rater)
            positions = None if kept is None else checks.positions(kept, len(thread.start.options))
            if positions == () and empty_is_skip:
                positions = None
            asked, top = thread.start.asked, thread.top
            assert asked is not None
            if top is not None:
                if top.kept == positions and not (correction and top.position in state.retracted):
                    return _receipt(top, asked.number, repeated=True)
                if not correction:
                    before = "skipped" if top.kept is None else f"answered with {list(top.kept)}"
                    raise AlreadyAnswered(
                        f"Question {asked.number} is {before} already: undo that, or send this as a correction.",
                        asked.number,
                        top.kept,
                    )
            kind = "skip" if positions is None else "answer" if top is None else "correction"
            entry = Entry(
                state.position + 1, kind, thread.start.rater, log.now(), thread.start.position, positions, took
            )
            log.append(connection, self.study_id, [entry])
            return _receipt(entry, asked.number)

    def undo(self, n: int, rater: str) -> tuple[Past, ...]:
        """Take back the rater's latest ``n`` acts."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise StudyError(f"n is {n!r}: give a whole number of at least 1.")
        with self.writing() as (connection, before):
            state = before
            undone: list[Entry] = []
            for count in range(n):
                groups = state.undoable(rater)
                if not groups:
                    raise StudyError(f"{n} cannot be taken back: {rater!r} has {count or 'nothing'} to undo.")
                taken = [
                    Entry(state.position + 1 + at, "undo", rater, log.now(), target=act.position)
                    for at, act in enumerate(groups[0])
                ]
                undone += reversed(groups[0])
                state = replay([*state.entries, *taken])
            log.append(connection, self.study_id, state.entries[len(before.entries) :])
        return tuple(state.past(act) for act in undone)

    def amend(self, answer: Answer | Past | int, kind: Literal["retraction", "restoration"]) -> None:
        """Hide an answer from the model, or let it count again."""
        position = answer if isinstance(answer, int) else answer.id
        with self.writing() as (connection, state):
            act = next((act for act in state.acts() if act.position == position), None)
            if act is None or act.kind == "skip":
                raise StudyError(f"There is no answer {position!r} in the study {self.name!r}: see its history.")
            if act.position in state.undone:
                raise StudyError(f"The answer {position} was undone: it can be neither retracted nor restored.")
            if (act.position in state.retracted) != (kind == "retraction"):
                entry = Entry(state.position + 1, kind, act.rater, log.now(), target=act.position)
                log.append(connection, self.study_id, [entry])

    def add(self, choices: Sequence[tuple[Sequence[Option], tuple[int, ...]]], rater: str) -> list[Answer]:
        """Store choices made elsewhere together; undo takes them back together."""
        with self.writing() as (connection, state):
            first, moment = state.position + 1, log.now()
            seen = {log.fingerprint(option) for entry in state.entries for option in entry.options}
            entries = []
            for at, (options, kept) in enumerate(choices):
                names = [log.fingerprint(option) for option in options]
                new = tuple(name not in seen for name in names)
                seen.update(names)
                target = first if at else None
                entry = Entry(first + at, "addition", rater, moment, target, kept, options=tuple(options), new=new)
                entries.append(entry)
            log.append(connection, self.study_id, entries)
        return [_receipt(entry, None) for entry in entries]

    def _read(self, connection: sa.Connection) -> tuple[Entry, ...]:
        with self._guard:
            known = self._entries
        entries = (*known, *log.read_since(connection, self.study_id, known[-1].position if known else 0))
        with self._guard:
            if len(entries) > len(self._entries):
                self._entries = entries
        if not entries and not connection.scalar(sa.select(sa.exists().where(StudyRow.id == self.study_id))):
            raise self._gone()
        return entries

    def _gone(self) -> StudyNotFound:
        return StudyNotFound(f"The study {self.name!r} is no longer in {self.storage}.")


def _receipt(entry: Entry, question: int | None, repeated: bool = False) -> Answer:
    return Answer(
        id=entry.position,
        question=question,
        kind=entry.kind,  # type: ignore[arg-type]
        kept=entry.kept or (),
        rater=entry.rater,
        at=entry.at,
        seconds=entry.seconds,
        repeated=repeated,
    )
