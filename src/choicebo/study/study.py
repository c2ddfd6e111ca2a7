"""``Study``: the loop, kept. What is acknowledged is stored; what is stored is never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from choicebo.space import Catalogue, Option, Space
from choicebo.study import asking, checks, definition, log, raters, schema, study_json, transfer
from choicebo.study.cache import Cache
from choicebo.study.definition import QUESTION, Show, StudyDefinition
from choicebo.study.errors import StudyError, StudyExists, StudyNotFound
from choicebo.study.ledger import Ledger
from choicebo.study.log import Entry
from choicebo.study.planner import Planner
from choicebo.study.records import OWNER, Answer, Past, Question, Rater, StudyInfo
from choicebo.study.replay import replay
from choicebo.study.status import Status, describe
from choicebo.study.storage import Storage
from choicebo.study.study_file import read
from choicebo.study.tables import Base, StudyRow

if TYPE_CHECKING:
    from choicebo.choices import ChoiceData
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import ChoiceOptimizer, ParetoOption

Address = str | Path | Storage


class Study:
    """A study in a database: the same loop as ``ChoiceOptimizer``, for weeks and for several people.

    Threads may share a Study, and processes may work on one study at the same time.

    >>> import tempfile
    >>> import choicebo as cb
    >>> folder = tempfile.TemporaryDirectory()
    >>> study = Study.create(f"{folder.name}/bread.db", "bread", cb.Space([cb.Integer("minutes", 5, 40)]), query_size=3)
    >>> question = study.ask()
    >>> study.tell(question, kept=[0, 2]).question
    1
    >>> Study.open(f"{folder.name}/bread.db").n_answers
    1
    >>> folder.cleanup()
    """

    def __init__(
        self,
        storage: Storage,
        study_id: int,
        what: StudyDefinition,
        *,
        executor: Executor | None = None,
        owns: bool = True,
    ) -> None:
        self._storage = storage
        self._owns = owns
        self._id = study_id
        self._what = what
        self._ledger = Ledger(storage, study_id, what.name)
        self._cache = Cache(storage, study_id)
        self._planner = Planner(what, self._cache, executor)

    # ---- where studies live

    @classmethod
    def create(
        cls,
        url: Address,
        name: str,
        space: Space | Catalogue,
        *,
        question: str = QUESTION,
        show: Show | None = None,
        folder: str | Path | None = None,
        baseline: Option | None = None,
        raters: Literal["together", "separate"] = "together",
        executor: Executor | None = None,
        **settings: Any,
    ) -> Study:
        """A new study. ``settings`` are keyword arguments of ``ChoiceOptimizer``."""
        fields = {"name": name, "space": space, "question": question, "show": show, "folder": folder, "raters": raters}
        what = StudyDefinition.from_arguments(**fields, baseline=baseline, **settings)
        return cls._create(url, what, executor)

    @classmethod
    def create_from_file(
        cls,
        url: Address,
        study_file: StudyDefinition | str | Path,
        *,
        name: str | None = None,
        executor: Executor | None = None,
        **overrides: Any,
    ) -> Study:
        """A new study as a study file, or what was read from it, says; ``overrides`` are keyword arguments of :meth:`create`."""
        what = study_file if isinstance(study_file, StudyDefinition) else read(study_file)
        if name is not None or overrides:
            what = StudyDefinition.from_arguments(**what.arguments() | overrides | {"name": name or what.name})
        return cls._create(url, what, executor)

    @classmethod
    def open(cls, url: Address, name: str | None = None, *, executor: Executor | None = None) -> Study:
        """A study that exists; the name may be left out if the database holds only one."""
        storage, owns = _storage(url)
        storage.require_file()
        with storage.read() as connection:
            schema.check(storage, connection)
            rows = {row.name: row for row in connection.execute(sa.select(StudyRow.__table__).order_by(StudyRow.id))}
        if name is None:
            if len(rows) != 1:
                raise StudyNotFound(f"{storage} holds {len(rows)} studies: give the name of one. {_there_are(rows)}")
            name = next(iter(rows))
        if name not in rows:
            raise StudyNotFound(f"There is no study {name!r} in {storage}. {_there_are(rows)}")
        return cls(storage, rows[name].id, definition.load(rows[name]), executor=executor, owns=owns)

    @classmethod
    def list(cls, url: Address) -> tuple[StudyInfo, ...]:
        """All studies of a database, oldest first."""
        storage, owns = _storage(url)
        storage.require_file()
        with storage.read() as connection:
            if schema.is_empty(connection) and not sa.inspect(connection).get_table_names():
                return ()
            schema.check(storage, connection)
            rows = connection.execute(sa.select(StudyRow.__table__).order_by(StudyRow.id)).all()
            found = tuple(
                StudyInfo(
                    row.name,
                    row.question,
                    row.created_at,
                    len(replay(log.read_since(connection, row.id, 0)).counting()),
                    len(raters.names(connection, row.id)),
                )
                for row in rows
            )
        if owns:
            storage.close()
        return found

    @classmethod
    def delete(cls, url: Address, name: str) -> None:
        """Remove a study with everything in it, for good."""
        with cls.open(url, name) as study, study._storage.write() as connection:
            log.lock(connection, study._id)
            # From the leaves to the root: PostgreSQL does not look ahead when it cascades.
            for table in reversed(Base.metadata.sorted_tables):
                if "study_id" in table.columns:
                    connection.execute(sa.delete(table).where(table.c.study_id == study._id))
            connection.execute(sa.delete(StudyRow).where(StudyRow.id == study._id))

    @classmethod
    def import_json(
        cls, url: Address, source: str | Path, *, name: str | None = None, executor: Executor | None = None
    ) -> Study:
        """A new study from what :meth:`export_json` wrote, given as text or path; all of it or nothing."""
        what, people, entries = study_json.loads(transfer.text_of(source))
        if name is not None:
            what = StudyDefinition.of({**what.to_dict(), "name": name})
        return cls._create(url, what, executor, people, entries)

    @classmethod
    def of_token(cls, url: Address, token: str) -> tuple[str, str] | None:
        """The names of the study and of the rater whose token this is; None for a wrong or void one."""
        storage, _ = _storage(url)
        storage.require_file()
        with storage.read() as connection:
            schema.check(storage, connection)
            found = raters.of_token(connection, token)
        return None if found is None else found[1:]

    @classmethod
    def _create(
        cls,
        url: Address,
        what: StudyDefinition,
        executor: Executor | None,
        people: Iterable[str] = (OWNER,),
        entries: Sequence[Entry] = (),
    ) -> Study:
        storage, owns = _storage(url)
        schema.create(storage)
        with storage.write() as connection:
            if connection.execute(sa.select(StudyRow.id).where(StudyRow.name == what.name)).first() is not None:
                raise StudyExists(
                    f"There is a study {what.name!r} in {storage} already: open it, or give another name."
                )
            study_id = definition.insert(connection, what)
            for person in people:
                raters.insert(connection, study_id, person)
            log.append(connection, study_id, entries)
        return cls(storage, study_id, what, executor=executor, owns=owns)

    def close(self) -> None:
        """Close the database, if this study opened it."""
        if self._owns:
            self._storage.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({self.url!r}, {self.name!r})"

    # ---- what it is

    @property
    def definition(self) -> StudyDefinition:
        """Everything about it that does not change."""
        return self._what

    @property
    def name(self) -> str:
        """Its name."""
        return self._what.name

    @property
    def question(self) -> str:
        """What the person is asked, in words."""
        return self._what.question

    @property
    def space(self) -> Space | Catalogue:
        """What can be offered."""
        return self._what.space

    @property
    def show(self) -> Show:
        """How options are shown."""
        return self._what.show

    @property
    def folder(self) -> Path | None:
        """Where images lie."""
        return self._what.folder

    @property
    def baseline(self) -> Option | None:
        """The option that people have today."""
        return self._what.baseline

    @property
    def raters_mode(self) -> str:
        """``"together"`` or ``"separate"``: how the answers of several raters are modelled."""
        return self._what.raters_mode

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the optimiser."""
        return dict(self._what.settings)

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return self._what.created_at

    @property
    def url(self) -> str:
        """The address of the database, without a password."""
        return self._storage.url

    # ---- the loop

    def ask(
        self,
        rater: str | None = None,
        *,
        another: bool = False,
        stand_in: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Question:
        """The rater's open question, the earliest if there are several; a new one if there is none, or with ``another``.

        With ``stand_in`` nobody waits for the model: if its question is not there, one that it computed for a moment ago is
        asked, or one that needs no model.
        """
        name, seed = self._ledger.rater(rater), self.settings["seed"]
        if not stand_in:
            return asking.ask(self._ledger, self._planner, name, seed, another, progress)
        if another:
            raise StudyError("Another question and a stand-in cannot be asked for together: leave out one of the two.")
        return asking.ask_at_once(self._ledger, self._planner, name, seed)

    def open_question(self, rater: str | None = None) -> Question | None:
        """What :meth:`ask` returns if it need not compute a new question; else None."""
        state, name = self._ledger.read(), self._ledger.rater(rater)
        waiting = state.open_threads(name)
        return state.question(waiting[0]) if waiting else None

    def is_ready(self, rater: str | None = None) -> bool:
        """Whether :meth:`ask` would return at once."""
        state, name = self._ledger.read(), self._ledger.rater(rater)
        return bool(state.open_threads(name)) or self._planner.is_prepared(self._planner.asking_state(state, name))

    def needs_model(self, rater: str | None = None) -> bool:
        """Whether the next question is computed with the model; the first ones of a study are not."""
        return self._planner.needs_model(self._planner.asking_state(self._ledger.read(), self._ledger.rater(rater)))

    def tell(
        self,
        question: Question | int,
        kept: Iterable[int],
        *,
        rater: str | None = None,
        seconds: float | None = None,
        correction: bool = False,
    ) -> Answer:
        """Store an answer: the positions in ``question.options`` of those that no other one beats.

        An empty list means "none of these": with a baseline, that it beats them all; without one it is a skip. The same
        answer again changes nothing; another one is refused unless it is a ``correction``.
        """
        if kept is None:
            raise StudyError("kept is None: give a list of positions, or use skip().")
        no_baseline = self._what.baseline is None
        return self._ledger.act(
            question, rater, kept, seconds=seconds, correction=correction, empty_is_skip=no_baseline
        )

    def skip(self, question: Question | int, *, rater: str | None = None) -> Answer:
        """Leave a question unanswered for good."""
        return self._ledger.act(question, rater, None)

    def undo(self, n: int = 1, rater: str | None = None) -> tuple[Past, ...]:
        """Take back the rater's latest ``n`` answers, skips, additions or imports; their questions are open again."""
        return self._ledger.undo(n, self._ledger.rater(rater))

    def retract(self, answer: Answer | Past | int) -> None:
        """Hide an answer from the model; it stays in the history and can be restored."""
        self._ledger.amend(answer, "retraction")

    def restore(self, answer: Answer | Past | int) -> None:
        """Let a retracted answer count again."""
        self._ledger.amend(answer, "restoration")

    def add(self, shown: Sequence[Any], kept: Iterable[int], *, rater: str | None = None) -> Answer:
        """A choice made elsewhere: ``kept`` are positions in ``shown``."""
        choice = checks.addition(self.space, shown, kept)
        return self._ledger.add([choice], self._ledger.rater(rater))[0]

    def questions(self, open_only: bool = False, rater: str | None = None) -> tuple[Question, ...]:
        """The questions asked so far, in order."""
        state, name = self._ledger.read(), self._share(rater)
        found = (state.question(thread) for thread in state.by_number.values() if name in (None, thread.start.rater))
        return tuple(question for question in found if question.is_open or not open_only)

    def get_question(self, number: int) -> Question:
        """The question of that number."""
        state = self._ledger.read()
        return state.question(self._ledger.thread(state, number))

    # ---- what is known

    @property
    def n_answers(self) -> int:
        """Answers and additions that count."""
        return len(self._ledger.read().counting())

    def optimizer(
        self, rater: str | None = None, *, fit: bool = False, progress: ProgressCallback | None = None
    ) -> ChoiceOptimizer:
        """A copy of the loop in memory; changing it changes nothing here.

        Args:
            rater: Whose answers it has; None: everybody's.
            fit: Whether its model is fitted if need be; without it the copy has one only if that is kept.
            progress: Called as ``progress(stage, fraction)`` while the model is fitted; returning ``False`` interrupts.
        """
        state = self._planner.state(self._ledger.read(), self._share(rater))
        return self._planner.fitted(state, progress) if fit else self._planner.restored(state)

    def data(self, rater: str | None = None) -> ChoiceData | None:
        """The answers as data for a model, of one rater if named; None while there are none."""
        return self.optimizer(rater).data

    def posterior(self, rater: str | None = None, *, progress: ProgressCallback | None = None) -> Posterior | None:
        """The model of the answers, of one rater if named; fitted if need be, and kept."""
        return self.optimizer(rater, fit=True, progress=progress).posterior

    def has_posterior(self, rater: str | None = None) -> bool:
        """Whether :meth:`posterior` would return at once."""
        return self._planner.is_fitted(self._planner.state(self._ledger.read(), self._share(rater)))

    def pareto_set(
        self, threshold: float = 0.5, rater: str | None = None, *, progress: ProgressCallback | None = None
    ) -> tuple[ParetoOption, ...]:
        """The options seen so far that are probably beaten by no other, the most probable first."""
        return tuple(self.optimizer(rater, fit=True, progress=progress).pareto_set(threshold))

    def history(self, rater: str | None = None) -> tuple[Past, ...]:
        """Every answer, skip and addition as it looked, oldest first."""
        state = self._ledger.read()
        return tuple(state.past(act) for act in state.acts(self._share(rater)))

    def status(
        self, *, rater: str | None = None, insight: bool = True, progress: ProgressCallback | None = None
    ) -> Status:
        """Where the study stands; without ``insight`` nothing is fitted."""
        return describe(self, rater, self.optimizer(rater, fit=True, progress=progress) if insight else None)

    def drop_cache(self) -> None:
        """Throw away fitted models and questions prepared ahead; they are computed again when needed."""
        self._cache.drop()

    # ---- preparing ahead

    def prepare(self, rater: str | None = None, *, progress: ProgressCallback | None = None) -> None:
        """Compute the next question without asking it, so that :meth:`ask` returns at once."""
        state, name = self._ledger.read(), self._ledger.rater(rater)
        if not state.open_threads(name):
            self._planner.prepare(state, name, progress)

    def prepare_ahead(
        self, question: Question | int, answers: int = 2, *, stop: Callable[[], bool] = lambda: False
    ) -> int:
        """Compute what to ask after each of the most probable answers to an open question; how many were prepared.

        The look at the number of hidden objectives that the next question needs, if one is due, comes first.
        """
        state = self._ledger.read()
        thread = self._ledger.thread(state, question)
        return 0 if thread.top is not None or stop() else self._planner.prepare_ahead(state, thread, answers, stop)

    # ---- raters

    def add_rater(self, name: str) -> str:
        """Let somebody else answer; the token is shown once and stored only as a hash."""
        name = raters.check_name(name)
        with self._ledger.writing() as (connection, _):
            if name in raters.names(connection, self._id):
                raise StudyError(f"There is a rater {name!r} already: give another name, or make a new_token().")
            raters.insert(connection, self._id, name)
            return raters.issue_token(connection, self._id, name)

    def new_token(self, rater: str) -> str:
        """Another token for a rater; the earlier one is void."""
        name = self._ledger.rater(rater)
        with self._ledger.writing() as (connection, _):
            return raters.issue_token(connection, self._id, name)

    def rater_of(self, token: str) -> str | None:
        """The rater whose token this is; None for a wrong or void one."""
        with self._storage.read() as connection:
            found = raters.of_token(connection, token)
        return found[2] if found is not None and found[0] == self._id else None

    def raters(self) -> tuple[Rater, ...]:
        """Everybody who may answer, the owner first."""
        state = self._ledger.read()
        with self._storage.read() as connection:
            return raters.describe(connection, self._id, state)

    # ---- import and export

    def export_json(self, path: str | Path | None = None) -> str:
        """The complete study as JSON, which :meth:`import_json` reads back; also written to ``path``."""
        with self._storage.read() as connection:
            people = raters.names(connection, self._id)
        return transfer.written(study_json.dumps(self._what, people, self._ledger.read().entries), path)

    def export_csv(self, table: Literal["options", "answers", "pareto"], path: str | Path | None = None) -> str:
        """A table of options, answers or the Pareto set as CSV; also written to ``path``."""
        return transfer.written(transfer.csv_table(self, table), path)

    def import_pairs(self, source: str | Path | Iterable[tuple[Any, Any]], *, rater: str | None = None) -> int:
        """Comparisons made elsewhere, as (winner, loser); how many. A bad one is named, and then none is imported."""
        name = self._ledger.rater(rater)
        return len(self._ledger.add(transfer.read_pairs(self.space, source), name))

    def import_choices(self, data: ChoiceData | str | Path, *, rater: str | None = None) -> int:
        """Choices made elsewhere among points of the unit cube; how many."""
        name = self._ledger.rater(rater)
        return len(self._ledger.add(transfer.read_choices(self.space, data), name))

    # ---- inside

    def _share(self, rater: str | None) -> str | None:
        return None if rater is None else self._ledger.rater(rater)


def _storage(url: Address) -> tuple[Storage, bool]:
    return (url, False) if isinstance(url, Storage) else (Storage(url), True)


def _there_are(names: Iterable[str]) -> str:
    listed = ", ".join(map(repr, names))
    return f"There are: {listed}." if listed else "There are none."
