"""``Study``: a persistent, multi-rater `ChoiceOptimizer`. What is acknowledged is stored; what is stored is never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from choicebo.choices.problems import Problems
from choicebo.errors import StudyError, StudyExistsError, StudyNotFoundError
from choicebo.formatting import as_given
from choicebo.history import OWNER, Answer, Event, Measurements, Question, State, Steering, measuring, rules, steering
from choicebo.history.events import Measured
from choicebo.space import Catalogue, Option, Space, known_of
from choicebo.space.context import checked_context, context_of, contexts_of, first_context, require_given
from choicebo.space.values import as_count, as_flag
from choicebo.study import definition, event_store, objective_names, raters, schema, study_json, transfer, wishes
from choicebo.study.asking import Asking
from choicebo.study.checksum import Chain
from choicebo.study.definition import Show, StudyDefinition
from choicebo.study.event_store import EventStore, now
from choicebo.study.posterior_store import PosteriorStore
from choicebo.study.records import Rater, Standing, StudyInfo
from choicebo.study.status import Status, describe
from choicebo.study.storage import Storage
from choicebo.study.study_file import read
from choicebo.study.tables import Base, LogRow, RaterRow, StudyRow

if TYPE_CHECKING:
    from choicebo.choices import ChoiceData
    from choicebo.choices.building import ReadChoices
    from choicebo.choices.tables import Progress
    from choicebo.insight import PeopleInsight
    from choicebo.interop.notebook import ChoiceWidget
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import ChoiceOptimizer, ParetoOption, ParetoOptions, Situation
    from choicebo.study.objective_names import ObjectiveName
    from choicebo.study.result import StudyResult

Address = str | Path | Storage


class Study:
    """A study in a database: the same loop as ``ChoiceOptimizer``, for weeks and for several people.

    Threads may share a Study, and processes may work on one study at the same time.

    Examples:
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
        edited_at: datetime | None = None,
    ) -> None:
        self._storage = storage
        self._owns = owns
        self._id = study_id
        self._events = EventStore(storage, study_id, what, edited_at)
        self._posteriors = PosteriorStore(storage, study_id, what.settings, known_of(what.space))
        self._warned = False
        self._asking = Asking(what, self._events, self._posteriors, executor)

    # ---- where studies live

    @classmethod
    def create(
        cls,
        url: Address,
        name: str,
        space: Space | Catalogue,
        *,
        question: str | None = None,
        show: Show | None = None,
        folder: str | Path | None = None,
        baseline: Option | None = None,
        raters: Literal["together", "related", "separate"] = "related",
        executor: Executor | None = None,
        **settings: Any,
    ) -> Study:
        """Create a study.

        Args:
            url: The path of an SQLite file, or the URL of a database.
            name: What the study is called; one database holds several.
            space: What can be offered.
            question: What the person is asked, in words.
            show: How options are shown: labels, pictures, a drawing.
            folder: Where the images of the options are.
            baseline: The option that people have today: "none of these" then means that it beats all that are shown.
            raters: How the answers of several people are modelled: ``"related"`` with a taste each that is partly
                everybody's, ``"together"`` as those of one, or ``"separate"``.
            executor: Where to compute; any ``concurrent.futures.Executor``.
            **settings: Keyword arguments of `ChoiceOptimizer`, such as ``answer="ranking"``.

        Returns:
            The study, open.

        Raises:
            StudyExistsError: The database has a study of that name.
            InvalidInputError: A setting cannot be used.

        Examples:
            >>> import pathlib
            >>> cb.Study.create(pathlib.Path(study.url.removeprefix("sqlite:///")), "rolls", space, query_size=4).name
            'rolls'
        """
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
        """Create the study that a study file describes.

        Args:
            url: The path of an SQLite file, or the URL of a database.
            study_file: The path of a TOML file, or what was read from one.
            name: Another name than the one in the file.
            executor: Where to compute; any ``concurrent.futures.Executor``.
            **overrides: Keyword arguments of `create` that replace what the file says.

        Returns:
            The study, open.

        Raises:
            StudyExistsError: The database has a study of that name.
            InvalidInputError: The file cannot be used; the message says where and why.

        Examples:
            >>> cb.Study.create_from_file(study.url, study.definition, name="rolls").space == study.space
            True
        """
        what = study_file if isinstance(study_file, StudyDefinition) else read(study_file)
        if name is not None or overrides:
            what = StudyDefinition.from_arguments(
                **what.arguments() | overrides | {"name": what.name if name is None else name}
            )
        return cls._create(url, what, executor)

    @classmethod
    def open(cls, url: Address, name: str | None = None, *, executor: Executor | None = None) -> Study:
        """Open a study that exists.

        Args:
            url: The path of an SQLite file, or the URL of a database.
            name: May be left out if the database holds only one study, or only one that is not archived.
            executor: Where to compute; any ``concurrent.futures.Executor``.

        Returns:
            The study.

        Raises:
            StudyNotFoundError: There is no such study, or the name is needed to tell several apart.
            SchemaVersionError: The database was made by an older or a newer choicebo.

        Examples:
            >>> cb.Study.open(study.url).n_answers
            2
        """
        storage, owns = _storage(url)
        storage.require_file()
        with storage.read() as connection:
            schema.check(storage, connection)
            rows = {row.name: row for row in connection.execute(sa.select(StudyRow.__table__).order_by(StudyRow.id))}
        if name is None:
            in_use = [row.name for row in rows.values() if row.archived_at is None]
            candidates = list(rows) if len(rows) == 1 else in_use
            if len(candidates) != 1:
                raise StudyNotFoundError(
                    f"{storage} holds {len(rows)} studies: give the name of one. {_there_are(rows)}"
                )
            name = candidates[0]
        if not isinstance(name, str) or name not in rows:
            raise StudyNotFoundError(f"There is no study {as_given(name)} in {storage}. {_there_are(rows)}")
        row = rows[name]
        return cls(storage, row.id, definition.load(row), executor=executor, owns=owns, edited_at=row.edited_at)

    @classmethod
    def list(cls, url: Address) -> tuple[StudyInfo, ...]:
        """List all studies of a database, oldest first.

        Args:
            url: The path of an SQLite file, or the URL of a database.

        Returns:
            Name, question, date, answers and raters of each.

        Raises:
            StudyNotFoundError: There is no such file.

        Examples:
            >>> [info.name for info in cb.Study.list(study.url)]
            ['bread']
        """
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
                    _count_answers(connection, row.id),
                    sum(removed_at is None for removed_at in raters.names(connection, row.id).values()),
                    row.archived_at,
                )
                for row in rows
            )
        if owns:
            storage.close()
        return found

    @classmethod
    def delete(cls, url: Address, name: str) -> None:
        """Delete a study with everything in it, for good.

        Args:
            url: The path of an SQLite file, or the URL of a database.
            name: Which.

        Raises:
            StudyNotFoundError: There is no such study, or no such database.

        Examples:
            >>> cb.Study.delete(study.url, "bread")
            >>> cb.Study.list(study.url)
            ()
        """
        with cls.open(url, name) as study, study._events.writing(even_archived=True) as writer:
            connection = writer.connection
            # From the leaves to the root: PostgreSQL does not look ahead when it cascades.
            for table in reversed(Base.metadata.sorted_tables):
                if "study_id" in table.columns:
                    connection.execute(sa.delete(table).where(table.c.study_id == study._id))
            connection.execute(sa.delete(StudyRow).where(StudyRow.id == study._id))

    @classmethod
    def import_json(
        cls, url: Address, source: str | Path, *, name: str | None = None, executor: Executor | None = None
    ) -> Study:
        """Create a study from what `export_json` wrote; all of it or nothing.

        It may come from somebody else: a folder of images that is not beside or below the database file is forgotten.

        Args:
            url: The path of an SQLite file, or the URL of a database.
            source: The text, or the path of the file.
            name: Another name than the one in the file.
            executor: Where to compute; any ``concurrent.futures.Executor``.

        Returns:
            The study, open.

        Raises:
            StudyExistsError: The database has a study of that name.
            StudyError: The file is not such an export, or was damaged.

        Examples:
            >>> cb.Study.import_json(study.url, study.export_json(), name="copy").n_answers
            2
        """
        what, people, events = study_json.loads(transfer.text_of(source))
        file = _storage(url)[0].file
        beside = file is not None and what.folder is not None and _is_inside(what.folder, file.absolute().parent)
        what = what if beside else what.model_copy(update={"folder": None})
        if name is not None:
            what = StudyDefinition.of({**what.to_dict(), "name": name})
        return cls._create(url, what, executor, people, events)

    @classmethod
    def of_token(cls, url: Address, token: str) -> tuple[str, str] | None:
        """Find the study and the rater that a token belongs to.

        Args:
            url: The path of an SQLite file, or the URL of a database.
            token: What `add_rater` or `new_token` returned.

        Returns:
            The names of the study and of the rater; None for a wrong or void token.

        Examples:
            >>> token = study.add_rater("Ann")
            >>> cb.Study.of_token(study.url, token)
            ('bread', 'Ann')
        """
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
        people: Mapping[str, datetime | None] | None = None,
        events: Sequence[Event] = (),
    ) -> Study:
        storage, owns = _storage(url)
        schema.create(storage)
        with storage.write() as connection:
            _refuse_taken(storage, connection, what.name)
            study_id = definition.insert(connection, what)
            for person, removed_at in (people or {OWNER: None}).items():
                raters.insert(connection, study_id, person, removed_at)
            event_store.append(connection, study_id, events, Chain())
            asked = {event.rater: event.question for event in events if event.question is not None}
            for person, question in asked.items():
                if question.wishes.later:
                    wishes.store(connection, study_id, person, question.wishes.later)
        return cls(storage, study_id, what, executor=executor, owns=owns)

    def close(self) -> None:
        """Close the database, if this study opened it.

        Examples:
            >>> study.close()
        """
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
        """The complete definition: question, space, settings, raters."""
        return self._events.what

    @property
    def name(self) -> str:
        """The name of the study."""
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
        """The folder of the images."""
        return self._what.folder

    @property
    def baseline(self) -> Option | None:
        """The option that people have today, if any."""
        return self._what.baseline

    @property
    def raters_mode(self) -> str:
        """``"together"``, ``"related"`` or ``"separate"``: how the answers of several raters are modelled."""
        return self._what.raters_mode

    @property
    def answer(self) -> str:
        """How questions are answered: ``"subset"``, ``"best"``, ``"best-worst"``, ``"ranking"`` or ``"pair"``."""
        return str(self._what.settings.get("answer", "subset"))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the optimiser."""
        return dict(self._what.settings)

    @property
    def created_at(self) -> datetime:
        """When it was created."""
        return self._what.created_at

    @property
    def archived_at(self) -> datetime | None:
        """When it was archived; None: it is in use."""
        return self._what.archived_at

    @property
    def url(self) -> str:
        """The address of the database, without a password."""
        return self._storage.url

    # ---- keeping it in order

    def edit(
        self,
        *,
        name: str | None = None,
        question: str | None = None,
        show: Show | None = None,
        folder: str | Path | None = None,
    ) -> None:
        """Change what leaves the meaning of the answers alone; what is not given stays as it is.

        Args:
            name: Another name of the study.
            question: What the person is asked, in words.
            show: How options are shown.
            folder: The folder of the images.

        Raises:
            StudyExistsError: There is another study of that name.
            ChoiceboError: Something cannot be used, and nothing was changed.

        Examples:
            >>> import tempfile
            >>> import choicebo as cb
            >>> folder = tempfile.TemporaryDirectory()
            >>> study = Study.create(f"{folder.name}/bread.db", "bread", cb.Space([cb.Integer("minutes", 5, 40)]))
            >>> study.edit(question="Which loaves would you bake again?")
            >>> study.question
            'Which loaves would you bake again?'
            >>> folder.cleanup()
        """
        changes = {
            "name": name,
            "question": question,
            "show": show,
            "folder": None if folder is None else Path(folder).absolute(),
        }
        self._edit(lambda _: {field: value for field, value in changes.items() if value is not None})

    def rename(self, name: str) -> None:
        """Rename the study. Links of raters stay valid, and people who have it open can go on.

        Args:
            name: The new name.

        Raises:
            StudyExistsError: There is another study of that name.

        Examples:
            >>> study.rename("sourdough")
            >>> study.name
            'sourdough'
        """
        self.edit(name=name)

    def archive(self) -> None:
        """Put the study away: everything stays and can be read, and nothing is asked or answered.

        Examples:
            >>> study.archive()
            >>> study.archived_at is None
            False
        """
        if self.archived_at is None:
            self._edit(lambda _: {"archived_at": now()})

    def unarchive(self) -> None:
        """Bring the study back from the archive.

        Examples:
            >>> study.archive()
            >>> study.unarchive()
            >>> study.archived_at is None
            True
        """
        self._edit(lambda _: {"archived_at": None})

    def _edit(self, changes: Callable[[StudyDefinition], Mapping[str, Any]]) -> None:
        """Store ``changes`` to the definition as it is now, which another process may have edited."""
        with self._events.writing(even_archived=True) as writer:
            what = self._what.edited(**changes(self._what))
            if what.name != self.name:
                _refuse_taken(self._storage, writer.connection, what.name)
            self._events.edit(writer, what)
        self._catch_up()

    def duplicate(self, name: str, *, answers: bool = False, executor: Executor | None = None) -> Study:
        """Create a study of the same definition in the same database.

        Args:
            name: That of the copy.
            answers: Whether the copy also has the raters and the whole history; their links lead to the original.
            executor: Where the copy computes, as in `open`.

        Returns:
            The copy, open.

        Raises:
            StudyExistsError: There is another study of that name.

        Examples:
            >>> study.duplicate("copy", answers=True).n_answers
            2
        """
        self._catch_up()
        what = self._what.model_copy(update={"created_at": now(), "archived_at": None})
        what = StudyDefinition.of({**dict(what), "name": name})
        if not as_flag(answers, "answers"):
            return type(self)._create(self._storage, what, executor)
        return type(self)._create(self._storage, what, executor, *self._record())

    def _record(self) -> tuple[dict[str, datetime | None], Sequence[Event]]:
        """Everybody, and everything that happened."""
        with self._events.reading() as state, self._storage.read() as connection:
            return raters.names(connection, self._id), list(state.events.values())

    def _catch_up(self) -> None:
        with self._events.reading():
            pass

    # ---- the loop

    def ask(
        self,
        rater: str | None = None,
        *,
        another: bool = False,
        stand_in: bool = False,
        context: Mapping[str, Any] | None = None,
        locked: Mapping[str, Any] | None = None,
        like: Any = None,
        include: Sequence[Any] | None = None,
        within: float | None = None,
        patience: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Question:
        """Return the rater's open question, the earliest if there are several, or a new one if there is none.

        Args:
            rater: Who is asked; None: the owner.
            another: Whether to ask a new question although one is open.
            stand_in: Whether to ask at once, without waiting for the model of all answers. If its question is not there,
                another one is asked: one that it computed for a moment ago, one by a model that lacks the last few answers
                and says so, or one that needs no model.
            context: Where the space has a `Context`: its value, as in ``{"season": "winter"}``; open questions of other contexts
                stay open. None: that of the rater's question before.
            locked: As in `steer`. An open question stays as it is; wishes are for the one after it.
            like: As in `steer`.
            include: As in `steer`.
            within: With ``stand_in``: seconds to wait for a model that lacks the last few answers.
            patience: Seconds to wait for the model of all answers, before ``stand_in``. None: as long as it takes.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            The question, which is stored.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.
            InvalidInputError: A wish cannot be met, or a context is missing.
            FitInterruptedError: ``progress`` returned ``False``.

        Examples:
            >>> question = study.ask()
            >>> len(question.options)
            3
            >>> study.ask() == question
            True
        """
        another, stand_in = as_flag(another, "another"), as_flag(stand_in, "stand_in")
        if not (context is None and locked is None and like is None and include is None):
            self.steer(rater, context=context, locked=locked, like=like, include=include)
        elif contexts_of(self.space):
            require_given(self.space, self.context(rater))
        return self._asking.ask(
            rater, another=another, stand_in=stand_in, within=within, patience=patience, progress=progress
        )

    def steer(
        self,
        rater: str | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        locked: Mapping[str, Any] | None = None,
        like: Any = None,
        include: Sequence[Any] | None = None,
        clear: bool = False,
    ) -> Steering:
        """Say what the rater's next question is to be like. What is not given stays as it was.

        Args:
            rater: Who wishes; None: the owner.
            context: A value for each `Context` of the space, until another is given.
            locked: Values that new options are to have, by name, until they are taken off; ``{}`` takes all locks off.
            like: An option to show more of: the new options of the next question resemble it.
            include: Options that the next question is to have as they are, such as one of the person's own.
            clear: Whether to forget earlier wishes; the context stays.

        Returns:
            All that they wish for now.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.
            InvalidInputError: A wish cannot be met.

        Examples:
            >>> study.steer(locked={"minutes": 20}).locked
            {'minutes': 20}
        """
        from choicebo.optimizer import wished_part

        name = self._events.rater(rater)
        with self._events.writing() as writer:
            self._events.check_may_answer(name)
            before = wishes.of_rater(writer.connection, self._id, name)
            before = Steering(context=before.context) if as_flag(clear, "clear") else before
            found = steering.checked(
                self.space,
                self.settings["query_size"],
                before.locked if locked is None else locked,
                before.like if like is None else like,
                before.include if include is None else include,
                before.context if context is None else checked_context(self.space, context),
            )
            require_given(self.space, found.context)
            offered = self.space.within(found.context) if isinstance(self.space, Space) else self.space
            wished_part(offered, found)  # refuses what leaves nothing to ask about
            wishes.store(writer.connection, self._id, name, found)
            return found

    def context(self, rater: str | None = None) -> dict[str, Any]:
        """Return the context that the rater's questions are asked in.

        Args:
            rater: Who; None: the owner.

        Returns:
            A value for each `Context` of the space, by name; empty until one is said.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.context()
            {}
        """
        name = self._events.rater(rater)
        with self._storage.read() as connection:
            return dict(wishes.of_rater(connection, self._id, name).context)

    def begin_context(self, rater: str | None = None) -> dict[str, Any]:
        """Let a rater begin in the first context, where they see it and can change it; one that was said stays.

        Args:
            rater: Who; None: the owner.

        Returns:
            Their context: the first value of each list and the middle of each range, or what was said; empty if the space has no
            context.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> study.begin_context()
            {}
        """
        if not contexts_of(self.space):
            return {}
        return self.context(rater) or dict(self.steer(rater, context=first_context(self.space)).context)

    def latest_context(self, rater: str | None = None) -> dict[str, Any]:
        """Return the context of the latest answer, which results are shown for unless another is asked for.

        Args:
            rater: Whose answer; None: anybody's.

        Returns:
            A value for each `Context` of the space, the first one before there is an answer; empty if the space has none.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.latest_context()
            {}
        """
        if not contexts_of(self.space):
            return {}
        latest = self.latest(rater)
        return context_of(self.space, latest[0].options[0]) if latest else first_context(self.space)

    def wishes(self, rater: str | None = None) -> Steering:
        """Return what the rater's next question is to be like.

        Args:
            rater: Who; None: the owner.

        Returns:
            Their wishes, as `steer` returned them.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> bool(study.wishes())
            False
        """
        return self._asking.wishes(self._events.rater(rater))

    def prepare(self, rater: str | None = None, *, progress: ProgressCallback | None = None) -> None:
        """Compute the next question without asking it, so that `ask` returns at once.

        Args:
            rater: Who is asked; None: the owner.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.prepare()
            >>> study.is_ready()
            True
        """
        self._asking.prepare(rater, progress)

    def learn(self, rater: str | None = None) -> None:
        """Fit the model of all answers, and no more, for ``ask(stand_in=True)`` to ask by; `prepare` does more.

        Args:
            rater: Who is asked; None: the owner.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.learn()
        """
        self._asking.learn(rater)

    def open_question(self, rater: str | None = None) -> Question | None:
        """Return what `ask` would return without computing anything.

        Args:
            rater: Who is asked; None: the owner.

        Returns:
            The earliest open question; None if there is none.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.open_question() is None
            True
        """
        return self.standing(rater).question

    def standing(self, rater: str | None = None) -> Standing:
        """Say where a rater stands, at one moment.

        Args:
            rater: Who; None: the owner.

        Returns:
            Their open ``question``, how many ``answers`` count, and the ``latest`` of them.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.standing().answers
            2
        """
        name = self._events.rater(rater)
        with self._events.reading() as state:
            latest = [state.answer(act) for act in state.latest_acts(name)]
            waiting = self._asking.waiting(state, name) if self._events.may_answer(name) else []
            return Standing(waiting[0] if waiting else None, state.n_answers(name), latest[0] if latest else None)

    def is_ready(self, rater: str | None = None) -> bool:
        """Say whether `ask` would return at once.

        Args:
            rater: Who is asked; None: the owner.

        Returns:
            True if a question is open or computed.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> question = study.ask()
            >>> study.is_ready()
            True
        """
        name = self._events.rater(rater)
        with self._events.reading() as state:
            if self._asking.waiting(state, name):
                return True
            situation = self._asking.situation_of(state, name, self._asking.wishes(name))
        return self._asking.computations.has_question(situation)

    def needs_model(self, rater: str | None = None) -> bool:
        """Say whether the next question is computed with the model; the first ones of a study are not.

        Args:
            rater: Who is asked; None: the owner.

        Returns:
            True or False.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.needs_model()
            False
        """
        name = self._events.rater(rater)
        with self._events.reading() as state:
            return self._asking.needs_model(state, name)

    def waits_for_model(self, rater: str | None = None) -> bool:
        """Say whether `ask` would now fit the model.

        Args:
            rater: Who is asked; None: the owner.

        Returns:
            False also if a question is open or computed already.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.waits_for_model()
            False
        """
        name = self._events.rater(rater)
        with self._events.reading() as state:
            if self._asking.waiting(state, name) or not self._asking.needs_model(state, name):
                return False
            situation = self._asking.situation_of(state, name, self._asking.wishes(name))
        return not self._asking.computations.has_question(situation)

    def has_recent_model(self, rater: str | None = None) -> bool:
        """Say whether ``ask(stand_in=True)`` could ask by a model that lacks at most the last few answers. Never computes.

        Args:
            rater: Who is asked; None: the owner.

        Returns:
            True or False.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.has_recent_model()
            False
        """
        return self._asking.has_recent_model(self._events.rater(rater))

    def tell(
        self,
        question: Question | int,
        kept: Iterable[int] | None = None,
        *,
        best: int | None = None,
        worst: int | None = None,
        ranking: Iterable[Any] | None = None,
        rater: str | None = None,
        seconds: float | None = None,
        correction: bool = False,
    ) -> Answer:
        """Store an answer. The same again changes nothing; another one is refused unless it is a ``correction``.

        Whichever way a study asks, each question may be answered in any of these ways.

        Args:
            question: What is answered.
            kept: The positions in ``question.options`` of those that no other one beats. An empty list means "none of these":
                with a baseline, that it beats them all; without one it is a skip.
            best: The position of the best one instead.
            worst: Beside ``best``, the position of the worst one.
            ranking: Positions instead, best first, all or the first few; a list instead of a position is a tie.
            rater: Who answers; None: whoever was asked.
            seconds: How long it took.
            correction: Whether it replaces the answer that is there.

        Returns:
            The answer as it is stored.

        Raises:
            StudyError: A position is not there, or nothing is answered.
            AlreadyAnsweredError: Another answer is stored, and this is no correction.
            StudyArchivedError: The study is archived.

        Examples:
            >>> answer = study.tell(study.ask(), kept=[1])
            >>> answer.kept
            (1,)
        """
        if kept is None and best is None and ranking is None:
            raise StudyError("kept is None: give a list of positions, best or ranking, or use skip().")
        said = {"best": best, "worst": worst, "ranking": ranking}
        correction = as_flag(correction, "correction")
        return self._act(question, kept, rater=rater, seconds=seconds, correction=correction, **said)

    def skip(self, question: Question | int, *, rater: str | None = None) -> Answer:
        """Leave a question unanswered for good.

        Args:
            question: The question, or its id.
            rater: Who skips; None: whoever was asked.

        Returns:
            The skip as it is stored.

        Raises:
            AlreadyAnsweredError: The question is answered already.
            StudyArchivedError: The study is archived.

        Examples:
            >>> study.skip(study.ask()).kind
            'skip'
        """
        return self._act(question, None, rater=rater)

    def _act(self, question: Question | int, kept: Iterable[int] | None, **how: Any) -> Answer:
        empty_is_skip = self._what.baseline is None
        how["likelihood"] = self.settings.get("likelihood", "choice")
        with self._events.writing() as writer:
            event = rules.answer(writer.state, question, kept, at=now(), empty_is_skip=empty_is_skip, **how)
            repeated = event.position <= writer.state.position
            if not repeated:
                writer.append(event)
            return writer.state.answer(event, repeated)

    def undo(self, n: int = 1, rater: str | None = None, *, latest: int | None = None) -> tuple[Answer, ...]:
        """Take back the rater's latest answers, skips, additions or imports; their questions are open again.

        Args:
            n: How many.
            rater: Who; None: the owner.
            latest: The id of the latest one as the caller knows it: if it is no longer the latest, nothing is taken back. So
                a request that is sent twice takes back one answer.

        Returns:
            What was taken back.

        Raises:
            StudyError: There are fewer than ``n``.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> len(study.undo())
            1
            >>> study.n_answers
            1
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise StudyError(f"n is {as_given(n)}: give a whole number of at least 1.")
        name = self._events.rater(rater)
        with self._events.writing() as writer:
            if latest is not None and latest != next((act.position for act in writer.state.latest_acts(name)), 0):
                return ()
            undone: list[int] = []
            for count in range(n):
                events = rules.undo(writer.state, name, now())
                if not events:
                    raise StudyError(f"{as_given(n)} cannot be taken back: {name!r} has {count or 'nothing'} to undo.")
                writer.append(*events)
                undone += [event.target or 0 for event in reversed(events)]
            return tuple(writer.state.answer(writer.state.events[position]) for position in undone)

    def retract(self, answer: Answer | int) -> None:
        """Hide an answer from the model; it stays in the history and can be restored.

        Args:
            answer: The answer, or its id.

        Raises:
            StudyNotFoundError: There is no such answer.
            StudyArchivedError: The study is archived.

        Examples:
            >>> study.retract(study.history()[0])
            >>> study.n_answers
            1
        """
        self._amend(answer, "retraction")

    def restore(self, answer: Answer | int) -> None:
        """Let a retracted answer count again.

        Args:
            answer: The answer, or its id.

        Raises:
            StudyNotFoundError: There is no such answer.
            StudyArchivedError: The study is archived.

        Examples:
            >>> study.retract(study.history()[0])
            >>> study.restore(study.history()[0])
            >>> study.n_answers
            2
        """
        self._amend(answer, "restoration")

    def _amend(self, answer: Answer | int, kind: Literal["retraction", "restoration"]) -> None:
        with self._events.writing() as writer:
            event = rules.amend(writer.state, answer.id if isinstance(answer, Answer) else answer, kind, now())
            if event is not None:
                writer.append(event)

    def add(
        self,
        shown: Sequence[Any],
        kept: Iterable[int] | None = None,
        *,
        best: int | None = None,
        worst: int | None = None,
        ranking: Iterable[Any] | None = None,
        rater: str | None = None,
    ) -> Answer:
        """Add an answer of any kind that was given elsewhere.

        How a ranking, or a best and a worst option, is read is explained at `ChoiceData.from_rankings` and
        `ChoiceData.from_best_worst`.

        Args:
            shown: The options.
            kept: The positions in ``shown`` of those kept.
            best: The position of the best one instead.
            worst: Beside ``best``, the position of the worst one.
            ranking: Positions instead, best first, all or the first few; a list instead of a position is a tie.
            rater: Whose answer it is; None: the owner's.

        Returns:
            The answer as it is stored.

        Raises:
            InvalidInputError: An option or a position cannot be used.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> loaves = [{"temperature": 180, "minutes": 20}, {"temperature": 200, "minutes": 30}]
            >>> study.add(loaves, kept=[0]).kept
            (0,)
        """
        added = rules.answer_made_elsewhere(self.space, shown, kept, best=best, worst=worst, ranking=ranking)
        name = self._events.rater(rater)
        with self._events.writing() as writer:
            (event,) = rules.add(writer.state, [added], name, now(), self.settings.get("likelihood", "choice"))
            writer.append(event)
            return writer.state.answer(event)

    def measure(
        self,
        option: Any,
        values: Mapping[str, float | None] | None = None,
        /,
        *,
        rater: str | None = None,
        **named: float | None,
    ) -> Measurements:
        """Enter what was measured of an option, which need not have been shown. Measuring again replaces.

        It counts for everybody, whoever enters it, and the next model learns from it.

        Args:
            option: A dict of values by name, or in a catalogue the key of a row.
            values: Numbers by the name of the objective, for names that are no words of Python; None withdraws one.
            rater: Who enters it; None: the owner.
            **named: The same as keyword arguments, as in ``measure(option, cost=12.5)``.

        Returns:
            All that is measured now, as `measurements` has it.

        Raises:
            InvalidInputError: There is no such measured objective, or a value is no number.
            SpaceError: It is not an option of the space.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> import pathlib
            >>> priced = cb.Space([cb.Integer("minutes", 5, 40)], objectives=["minimise cost = measured"])
            >>> rolls = cb.Study.create(pathlib.Path(study.url.removeprefix("sqlite:///")), "rolls", priced)
            >>> [each.value for each in rolls.measure({"minutes": 12}, cost=12.5)]
            [12.5]
            >>> list(rolls.measure({"minutes": 12}, cost=None))
            []
        """
        measured = measuring.read_measured(self.space, option, measuring.gathered(values, named))
        name = self._events.rater(rater)
        with self._events.writing() as writer:
            event = measuring.measure(writer.state, measured, name, now())
            if event is not None:
                writer.append(event)
            return measuring.listed(writer.state)

    def _import(self, read: ReadChoices, rater: str | None, progress: Progress | None) -> int:
        """Store choices that were read from somewhere: all in one transaction, or none."""
        choices, total = transfer.added(transfer.checked(read, self.space)), len(read.choices)
        raters = self._raters_of(read) if rater is None and read.raters else repeat(self._events.rater(rater))
        with self._events.writing() as writer:
            likelihood = self.settings.get("likelihood", "choice")
            events = rules.additions(writer.state, choices, raters, now(), likelihood)
            return writer.extend(events, lambda count: progress and progress("storing", count / total))

    def widget(
        self,
        rater: str | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        patience: float | None = None,
    ) -> ChoiceWidget:
        """The rater's questions in a cell of a notebook, one after the other, with the pictures of the study.

        Args:
            rater: Who answers; None: the owner.
            context: In which it asks, as in `ask`. None: the latest one, or the first.
            patience: Seconds to wait for the model; then a question is asked that needs none.

        Returns:
            A widget; the last expression of a cell shows it.

        Raises:
            MissingExtraError: anywidget is not installed (extra ``notebook``).

        Examples:
            >>> type(study.widget()).__name__
            'ChoiceWidget'
        """
        from choicebo.interop.notebook import ChoiceWidget, StudyLoop

        return ChoiceWidget(StudyLoop(self, rater, patience, context))

    def _raters_of(self, read: ReadChoices) -> tuple[str, ...]:
        """Who made each of the choices; one error names all unknown people."""
        known: dict[str | None, str] = {}
        problems = Problems(read.word, transfer.NOTHING)
        for number, name in zip(read.numbers, read.raters or (), strict=True):
            if name not in known and not problems.has(number):
                try:
                    known[name] = self._events.rater(name)
                except StudyError as error:
                    problems.add(number, f"{error} Add them with add_rater(), or give rater=... for all answers.")
        problems.check()
        return tuple(known[name] for name in read.raters or ())

    # ---- what happened

    @property
    def n_answers(self) -> int:
        """Answers and additions that count."""
        return self.count_answers()

    def count_answers(self, rater: str | None = None) -> int:
        """Count the answers and additions that count.

        Args:
            rater: Whose; None: everybody's.

        Returns:
            How many.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.count_answers("owner")
            2
        """
        name = self._share(rater)
        with self._events.reading() as state:
            return state.n_answers(name)

    @property
    def learned_until(self) -> int:
        """A number that changes whenever the answers to learn from do."""
        with self._events.reading() as state:
            return state.learned_until

    def questions(self, open_only: bool = False, rater: str | None = None) -> tuple[Question, ...]:
        """List the questions asked so far, in order.

        Args:
            open_only: Whether to list only those that wait for an answer.
            rater: Whose; None: everybody's.

        Returns:
            The questions.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> [question.id for question in study.questions()]
            [1, 2]
        """
        name = self._share(rater)
        with self._events.reading() as state:
            if as_flag(open_only, "open_only"):
                return tuple(state.open_questions(name))
            found = (state.question(id) for id in state.questions)
            return tuple(question for question in found if name in (None, question.rater))

    def get_question(self, id: int) -> Question:
        """Return the question of an id.

        Args:
            id: Its id, from 1.

        Returns:
            The question.

        Raises:
            StudyError: There is no such question.

        Examples:
            >>> study.get_question(1).state
            'answered'
        """
        with self._events.reading() as state:
            return state.question(rules.asked_id(state, id))

    def history(self, rater: str | None = None) -> tuple[Answer, ...]:
        """List every answer, skip and addition with its options as they were shown, oldest first.

        Args:
            rater: Whose; None: everybody's.

        Returns:
            The answers, also those undone or retracted.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> [answer.question for answer in study.history()]
            [1, 2]
        """
        name = self._share(rater)
        with self._events.reading() as state:
            return tuple(state.answer(act) for act in state.acts(name))

    def latest(self, rater: str | None = None, *, start: int = 0, stop: int | None = 1) -> tuple[Answer, ...]:
        """List some of the answers, skips and additions that were not undone, newest first.

        Args:
            rater: Whose; None: everybody's.
            start: How many to leave out at the beginning.
            stop: Where to stop; None: at the end.

        Returns:
            The answers.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> [answer.question for answer in study.latest(stop=None)]
            [2, 1]
        """
        name = self._share(rater)
        start, stop = as_count(start, "start"), None if stop is None else as_count(stop, "stop")
        with self._events.reading() as state:
            return tuple(state.answer(act) for act in state.latest_acts(name, start, stop))

    def count_latest(self, rater: str | None = None) -> int:
        """Count the answers, skips and additions that were not undone.

        Args:
            rater: Whose; None: everybody's.

        Returns:
            How many.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.count_latest()
            2
        """
        name = self._share(rater)
        with self._events.reading() as state:
            return state.n_acts(name)

    def measurements(self) -> Measurements:
        """List what was measured and neither replaced nor withdrawn, in the order in which it was entered.

        Returns:
            The option, the name of the objective, the value, and who entered it when; ``to_frame()`` makes a table of it.

        Examples:
            >>> len(study.measurements())
            0
        """
        with self._events.reading() as state:
            return measuring.listed(state)

    def get_answer(self, id: int) -> Answer:
        """Return the answer, skip or addition of an id.

        Args:
            id: Its id.

        Returns:
            The answer.

        Raises:
            StudyNotFoundError: There is no such answer.

        Examples:
            >>> study.get_answer(study.history()[0].id).question
            1
        """
        with self._events.reading() as state:
            act = state.events.get(id) if isinstance(id, int) else None
            if act is None or not act.is_act:
                raise StudyNotFoundError(f"There is no answer {as_given(id)} here: history() lists them.")
            return state.answer(act)

    # ---- what is known

    def optimizer(
        self, rater: str | None = None, *, fit: bool = False, progress: ProgressCallback | None = None
    ) -> ChoiceOptimizer:
        """Return a copy of the loop in memory; changing it changes nothing here.

        Args:
            rater: Whose answers it has; None: everybody's.
            fit: Whether its model is fitted if need be; without it the copy has one only if that is known.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            The optimiser, which asks the same next question.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.optimizer().n_answers
            2
        """
        from choicebo.optimizer import ChoiceOptimizer

        situation, computations = self._learned(rater), self._asking.computations
        if as_flag(fit, "fit") and situation.data is not None:
            situation = computations.looked(situation, progress)
            posterior = computations.posterior(situation, progress)
        else:
            posterior = computations.known(situation)
        situation = replace(situation, steering=Steering(context=self.latest_context(rater)))
        return ChoiceOptimizer.of(situation, None if posterior is None else situation.of_person(posterior))

    @property
    def data(self) -> ChoiceData | None:
        """Everybody's answers as data for a model; None while there are none. ``optimizer(rater).data`` has one rater's."""
        return self.optimizer().data

    def posterior(self, rater: str | None = None, *, progress: ProgressCallback | None = None) -> Posterior | None:
        """Return the model of the answers, fitted if need be, and stored.

        Args:
            rater: Whose answers the model learns from; None: everybody's.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            The posterior; None while there are no answers.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.
            FitInterruptedError: ``progress`` returned ``False``.

        Examples:
            >>> study.posterior().latent_dim
            2
        """
        found = self.optimizer(rater, fit=True, progress=progress).known_posterior
        if found is not None and found.diagnostics.problems and not self._warned:
            self._warned = True  # once is enough
            found.diagnostics.warn()
        return found

    def earlier_posteriors(self, rater: str | None = None, *, count: int = 2) -> tuple[Posterior, ...]:
        """Return the models without the last answer, without the last two, and so on; fitted if need be.

        Args:
            rater: Whose answers the model learns from; None: everybody's.
            count: How many models, as far as there are answers.

        Returns:
            The posteriors, that of the most answers first.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> [earlier.data.n_choices for earlier in study.earlier_posteriors(count=1)]
            [1]
        """
        count, situation = as_count(count, "count"), self._learned(rater)
        situation = self._asking.computations.looked(situation)
        lengths = range(situation.n_answers - 1, max(situation.n_answers - 1 - count, 0), -1)
        found = (self._asking.computations.earlier(situation, answers) for answers in lengths)
        return tuple(situation.of_person(each) for each in found)

    def has_posterior(self, rater: str | None = None) -> bool:
        """Say whether `posterior` would return at once.

        Args:
            rater: Whose answers the model learns from; None: everybody's.

        Returns:
            True or False.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.has_posterior()
            False
        """
        situation = self._learned(rater)
        return situation.data is None or self._asking.computations.is_known(situation)

    def pareto_set(
        self,
        threshold: float = 0.5,
        rater: str | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        progress: ProgressCallback | None = None,
    ) -> ParetoOptions:
        """List the options seen so far that are probably beaten by no other.

        Args:
            threshold: The least probability; where no option reaches it, the most probable one is listed.
            rater: Whose answers the model learns from; None: everybody's.
            context: Where the space has a `Context`: its value. Options seen in any context are compared as they are in this
                one. None: that of the latest answer.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            Pairs of ``option`` and ``probability``, the most probable first.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.
            InvalidInputError: A context is missing or unknown.

        Examples:
            >>> sorted(study.pareto_set()[0].option)
            ['minutes', 'temperature']
        """
        return self.optimizer(rater, fit=True, progress=progress).pareto_set(threshold, context=context)

    def predict(
        self, options: Sequence[Any], rater: str | None = None, *, progress: ProgressCallback | None = None
    ) -> tuple[ParetoOption, ...]:
        """Predict how probable it is that none of the options seen so far beats each of these, which need not have been shown.

        Args:
            options: The options; each is taken by itself.
            rater: Whose answers the model learns from; None: everybody's.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            Pairs of ``option`` and ``probability``, in the order given.

        Raises:
            InvalidInputError: Nothing was answered yet.
            SpaceError: One of them is not an option of the space.

        Examples:
            >>> (loaf,) = study.predict([{"temperature": 180, "minutes": 20}])
            >>> 0 <= loaf.probability <= 1
            True
        """
        return tuple(self.optimizer(rater, fit=True, progress=progress).predict(options))

    def best_unseen(
        self,
        rater: str | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        progress: ProgressCallback | None = None,
    ) -> ParetoOption | None:
        """Find the option not shown yet that is most probably beaten by none of those seen.

        Args:
            rater: Whose answers the model learns from; None: everybody's.
            context: As in `pareto_set`.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            A pair of ``option`` and ``probability``; None if there is nothing left to show, or no answer yet.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> sorted(study.best_unseen().option)
            ['minutes', 'temperature']
        """
        return self.optimizer(rater, fit=True, progress=progress).best_unseen(context=context)

    def earlier_posterior(self, rater: str | None = None) -> Posterior | None:
        """Return the latest known model of the first answers, while that of all of them is not known. Never computes.

        Args:
            rater: Whose answers the model learns from; None: everybody's.

        Returns:
            The posterior; None if no model is known.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.earlier_posterior() is None
            True
        """
        situation = self._learned(rater)
        found = None if situation.data is None else self._asking.computations.known_earlier(situation)
        return None if found is None else situation.of_person(found)

    def result(self, rater: str | None = None, *, context: Mapping[str, Any] | None = None) -> StudyResult:
        """Return everything that is known: the best options, what drives each hidden objective, whether to go on.

        Args:
            rater: Whose answers the model learns from; None: everybody's.
            context: As in `pareto_set`.

        Returns:
            The result, as the page and the report show it.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.result().answers
            2
        """
        from choicebo.study.result import build_result, with_names

        found = with_names(self, build_result(self, rater, context))
        return found if rater is not None else replace(found, agreement=self.agreement(context=context))

    def agreement(
        self, *, context: Mapping[str, Any] | None = None, progress: ProgressCallback | None = None
    ) -> PeopleInsight | None:
        """What suits all raters, what suits each of them, and where they differ.

        Args:
            context: As in `pareto_set`.
            progress: Called as ``progress(stage, fraction)`` while the model is fitted; returning ``False`` interrupts.

        Returns:
            None if tastes are not modelled as related, while fewer than two people have answered, or if no option seen so far may
            be offered in the context.

        Examples:
            >>> study.agreement() is None
            True
        """
        if self.raters_mode != "related":
            return None
        posterior = self.posterior(progress=progress)
        if posterior is None or posterior.people is None:
            return None
        from choicebo.insight import agreement
        from choicebo.optimizer.in_context import options_in

        given = self.latest_context() if context is None else checked_context(self.space, context)
        if not len(options_in(self.space, posterior.options, given)):
            return None
        return agreement(posterior, self.space, context=given)

    @property
    def objective_names(self) -> tuple[ObjectiveName, ...]:
        """The names that people gave to hidden objectives, as they are now, oldest first."""
        self._catch_up()
        return self._what.objective_names or ()

    def name_objective(self, number: int, name: str, rater: str | None = None) -> None:
        """Give a hidden objective a name, such as "contrast".

        The name follows the objective when later fits number it differently.

        Args:
            number: Its number in `result`, from 1.
            name: At most 60 characters; empty takes the name away.
            rater: Whose model it is an objective of; None: that of everybody's answers.

        Raises:
            StudyError: There is no such objective, or the name cannot be used.

        Examples:
            >>> study.name_objective(1, "crust")
            >>> [each.name for each in study.objective_names]
            ['crust']
        """
        from choicebo.insight import numbering

        posterior = self.posterior(rater)
        if posterior is None:
            raise StudyError("There are no answers yet, so there are no hidden objectives to name.")
        numbered = numbering(posterior, self.space)
        self._edit(
            lambda what: {
                "objective_names": objective_names.renamed(
                    what.objective_names or (), numbered, self.space, number, name
                )
            }
        )

    def status(
        self,
        *,
        rater: str | None = None,
        insight: bool = True,
        context: Mapping[str, Any] | None = None,
        progress: ProgressCallback | None = None,
    ) -> Status:
        """Say where the study stands.

        Args:
            rater: Whose answers the model learns from; None: everybody's.
            insight: Whether to fit the model and say what it knows; without it nothing is computed.
            context: As in `pareto_set`.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            Answers, skips, raters, and with ``insight`` the best options and advice.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.status(insight=False).answers
            2
        """
        fitted = self.optimizer(rater, fit=True, progress=progress) if as_flag(insight, "insight") else None
        return describe(self, rater, fitted, context)

    def drop_cache(self) -> None:
        """Throw away fitted models; they are computed again when needed.

        Examples:
            >>> study.drop_cache()
            >>> study.has_posterior()
            False
        """
        self._posteriors.clear()
        self._asking.forget()

    # ---- raters

    def add_rater(self, name: str) -> str:
        """Let somebody else answer.

        Args:
            name: What they are called in this study.

        Returns:
            Their token, which is part of their link; it is stored only as a hash, so it cannot be shown again.

        Raises:
            StudyError: There is a rater of that name already.
            StudyArchivedError: The study is archived.

        Examples:
            >>> token = study.add_rater("Ann")
            >>> [rater.name for rater in study.raters()]
            ['owner', 'Ann']
        """
        name = raters.check_name(name)
        with self._events.writing() as writer:
            known = raters.names(writer.connection, self._id)
            if known.get(name) is not None:
                raise StudyError(
                    f"The rater {name!r} was removed: restore them with restore_rater(), or give another name."
                )
            if name in known:
                raise StudyError(f"There is a rater {name!r} already: give another name, or make a new_token().")
            raters.insert(writer.connection, self._id, name)
            return raters.issue_token(writer.connection, self._id, name)

    def new_token(self, rater: str) -> str:
        """Give a rater another token; the earlier one is void.

        Args:
            rater: Who.

        Returns:
            The token.

        Raises:
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> first = study.add_rater("Ann")
            >>> study.rater_of(study.new_token("Ann")), study.rater_of(first)
            ('Ann', None)
        """
        name = self._events.rater(rater)
        with self._events.writing() as writer:
            self._events.check_may_answer(name)
            return raters.issue_token(writer.connection, self._id, name)

    def remove_rater(self, rater: str, *, answers: Literal["keep", "retract"] = "keep") -> None:
        """Let somebody answer no longer: their link is void. `restore_rater` brings them back.

        Args:
            rater: Who; the owner cannot be removed.
            answers: What becomes of their answers. ``"keep"``: they go on counting; ``"retract"``: they stay in the history,
                and the model no longer learns from them.

        Raises:
            StudyError: It is the owner, or ``answers`` is neither.
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> token = study.add_rater("Ann")
            >>> study.remove_rater("Ann", answers="retract")
            >>> study.rater_of(token) is None
            True
        """
        if answers not in ("keep", "retract"):
            raise StudyError(f"answers is {as_given(answers)}: give 'keep' or 'retract'.")
        name = self._events.rater(rater)
        if name == OWNER:
            raise StudyError("The owner of a study cannot be removed: archive or delete the study instead.")
        with self._events.writing(even_archived=True) as writer:
            if raters.names(writer.connection, self._id)[name] is not None:
                return
            at = now()
            raters.set_removed(writer.connection, self._id, name, at)
            self._events.touch(writer)
            if answers == "retract":
                counted = [act for act in writer.state.acts(name) if writer.state.answer(act).counts]
                writer.append(*rules.amend_all(writer.state, [act.position for act in counted], "retraction", at))
        self._catch_up()

    def restore_rater(self, rater: str) -> str:
        """Let somebody who was removed answer again; what was retracted with them counts again.

        Args:
            rater: Who.

        Returns:
            Their new token.

        Raises:
            StudyError: They were not removed.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> token = study.add_rater("Ann")
            >>> study.remove_rater("Ann")
            >>> study.rater_of(study.restore_rater("Ann"))
            'Ann'
        """
        name = self._events.rater(rater)
        with self._events.writing() as writer:
            removed_at = raters.names(writer.connection, self._id)[name]
            if removed_at is None:
                raise StudyError(f"The rater {name!r} was not removed: new_token() makes another link.")
            raters.set_removed(writer.connection, self._id, name, None)
            self._events.touch(writer)
            gone = [
                event.target or 0
                for event in writer.state.events.values()
                if event.kind == "retraction" and event.rater == name and event.at == removed_at
            ]
            writer.append(*rules.amend_all(writer.state, gone, "restoration", now()))
            token = raters.issue_token(writer.connection, self._id, name)
        self._catch_up()
        return token

    def rater_of(self, token: str) -> str | None:
        """Find the rater whose token this is.

        Args:
            token: What `add_rater` or `new_token` returned.

        Returns:
            Their name; None for a wrong or void token.

        Examples:
            >>> study.rater_of("guessed") is None
            True
        """
        with self._storage.read() as connection:
            found = raters.of_token(connection, token)
        return found[2] if found is not None and found[0] == self._id else None

    def raters(self) -> tuple[Rater, ...]:
        """List everybody who may answer, the owner first, and those who were removed.

        Returns:
            Name, answers, open questions and dates of each.

        Examples:
            >>> [(rater.name, rater.answers) for rater in study.raters()]
            [('owner', 2)]
        """
        with self._events.reading() as state, self._storage.read() as connection:
            return raters.describe(connection, self._id, state)

    # ---- import and export

    def export_json(self, path: str | Path | None = None) -> str:
        """Write the complete study as JSON, which `import_json` reads back.

        Args:
            path: A file to write as well.

        Returns:
            The text.

        Raises:
            StudyError: The file cannot be written.

        Examples:
            >>> "bread" in study.export_json()
            True
        """
        people, events = self._record()
        return transfer.written(study_json.dumps(self._what, people, events), path)

    def export_csv(
        self,
        table: Literal["options", "answers", "pareto", "probabilities", "measurements", "agreement", "consensus"],
        path: str | Path | None = None,
        *,
        rater: str | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> str:
        """Write a table as CSV.

        Args:
            table: ``options`` shown, ``answers``, the ``pareto`` set, the ``probabilities`` of all options to be in it, or
                ``measurements``; where tastes are related, ``agreement``, how alike any two people are, and ``consensus``, the
                options for all and each.
            path: A file to write as well.
            rater: Whose answers the model learns from; None: everybody's.
            context: Of all but ``options`` and ``answers``, as in `pareto_set`.

        Returns:
            The text.

        Raises:
            StudyError: There is no such table, or the file cannot be written.
            UnknownRaterError: Nobody of that name answers this study.

        Examples:
            >>> study.export_csv("answers").splitlines()[0].split(",")[:2]
            ['id', 'question']
        """
        return transfer.written(transfer.csv_table(self, table, rater, context), path)

    def import_pairs(
        self,
        source: str | Path | Iterable[tuple[Any, Any]] | Any,
        *,
        rater: str | None = None,
        columns: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Add comparisons of two options that were made elsewhere. If one is wrong, it is named and none is imported.

        Args:
            source: Pairs (winner, loser) of options, or a table as for `import_table`.
            rater: Whose answers they are; None: of those whom a column ``rater`` names, or the owner's.
            columns: Columns that are called otherwise than winner, loser and undecided.
            progress: Called as ``progress(stage, fraction)`` while much is read and stored.

        Returns:
            How many.

        Raises:
            DataError: Rows are wrong: they are named together.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> study.import_pairs([({"temperature": 180, "minutes": 20}, {"temperature": 200, "minutes": 30})])
            1
        """
        return self._import(
            transfer.read_pairs(self.space, source, columns=columns, progress=progress), rater, progress
        )

    def import_choices(
        self,
        data: ChoiceData | str | Path | Any,
        *,
        rater: str | None = None,
        columns: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Add choices that were made elsewhere. If one is wrong, it is named and none is imported.

        Args:
            data: Choices among points of the unit cube, as `ChoiceData` or a file of it; or a table of choices among options of
                this study, as for `import_table`.
            rater: Whose answers they are; None: of those whom a column ``rater`` names, or the owner's.
            columns: Columns of a table that are called otherwise than choice, option and kept.
            progress: Called as ``progress(stage, fraction)`` while much is read and stored.

        Returns:
            How many.

        Raises:
            DataError: Rows are wrong: they are named together.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> study.import_choices(data)
            8
        """
        return self._import(
            transfer.read_choices(self.space, data, columns=columns, progress=progress), rater, progress
        )

    def import_table(
        self,
        table: Any,
        kind: str = "choices",
        *,
        columns: Mapping[str, str] | None = None,
        options: Any = None,
        rater: str | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Add answers of any kind from a table. If rows are wrong, they are named and none is imported.

        Args:
            table: A data frame, a list of dicts, or the path or text of a CSV table, with the columns that
                `ChoiceData.from_frame` describes. Options are given by their parameters or, in a catalogue, by their key.
            kind: ``choices``, ``best``, ``best_worst``, ``rankings``, ``pairs``, ``ratings`` or ``approvals``, which compare with
                the baseline of the study.
            columns: Columns that are called otherwise, as ``{"choice": "question_id"}``.
            options: A table of the options, if the answers name them by a key and this is no study of a catalogue.
            rater: Whose answers they are; None: of those whom a column ``rater`` names, or the owner's.
            progress: Called as ``progress(stage, fraction)`` while much is read and stored.

        Returns:
            As how many choices they were read.

        Raises:
            DataError: Rows are wrong: they are named together.
            UnknownRaterError: Nobody of that name answers this study.
            StudyArchivedError: The study is archived.

        Examples:
            >>> rows = [
            ...     {"choice": 1, "kept": True, "temperature": 180, "minutes": 20},
            ...     {"choice": 1, "kept": False, "temperature": 200, "minutes": 30},
            ... ]
            >>> study.import_table(rows)
            1
        """
        read = transfer.read_table(
            self.space, table, kind, columns=columns, options=options, baseline=self.baseline, progress=progress
        )
        return self._import(read, rater, progress)

    # ---- inside

    @property
    def _what(self) -> StudyDefinition:
        return self._events.what

    def _learned(self, rater: str | None) -> Situation:
        """What is known of everybody, or of one rater; where tastes are related, of that rater from everybody's answers."""
        name = self._share(rater)
        with self._events.reading() as state:
            if name is None or self.raters_mode != "related":
                return self._asking.situation(state, name)
            return replace(self._asking.situation(state, None), person=name)

    def _share(self, rater: str | None) -> str | None:
        return None if rater is None else self._events.rater(rater)


def _count_answers(connection: sa.Connection, study_id: int) -> int:
    """How many answers of a study count; what was shown need not be read for that."""
    state, nothing = State(), Question(0, [], "", (), ())
    rows = sa.select(LogRow.position, LogRow.kind, LogRow.measured, LogRow.target, RaterRow.name).join(
        RaterRow, RaterRow.id == LogRow.rater_id
    )
    for row in connection.execute(rows.where(LogRow.study_id == study_id).order_by(LogRow.position)):
        question = replace(nothing, id=state.next_id) if row.kind == "question" else None
        kind, measured = event_store.kind_of(row), row.measured and Measured({}, {})
        state.apply(Event(row.position, kind, row.name, target=row.target, question=question, measured=measured))
    return state.n_answers()


def _refuse_taken(storage: Storage, connection: sa.Connection, name: str) -> None:
    if connection.execute(sa.select(StudyRow.id).where(StudyRow.name == name)).first() is not None:
        raise StudyExistsError(f"There is a study {name!r} in {storage} already: open it, or give another name.")


def _storage(url: Address) -> tuple[Storage, bool]:
    return (url, False) if isinstance(url, Storage) else (Storage(url), True)


def _is_inside(folder: Path, parent: Path) -> bool:
    return folder.is_absolute() and folder.resolve().is_relative_to(parent.resolve())


def _there_are(names: Iterable[str]) -> str:
    listed = ", ".join(map(repr, names))
    return f"There are: {listed}." if listed else "There are none."
