"""One server: its database, the studies that are open, and who computes for them."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from choicebo.errors import StudyNotFoundError
from choicebo.presentation.templates import check_show
from choicebo.serving.computing import executor_for
from choicebo.serving.pool import LocalPool
from choicebo.serving.scheduler import Scheduler
from choicebo.serving.waiting_room import WaitingRoom
from choicebo.study import Status, Storage, Study, StudyInfo
from choicebo.study.definition import StudyDefinition
from choicebo.study.result import StudyResult, build_result, earlier_result
from choicebo.web.server_settings import ServerSettings
from choicebo.web.study_progress import Progress, build_progress

if TYPE_CHECKING:
    from choicebo.insight import PeopleInsight


Context = Mapping[str, Any] | None


def _key(context: Context) -> tuple[tuple[tuple[str, Any], ...], ...]:
    """Tells apart results of several contexts; empty for that of the latest answer."""
    return (tuple(sorted(context.items())),) if context else ()


class Server:
    """Opens studies and shares them between threads."""

    def __init__(self, settings: ServerSettings, pool: Executor | None = None) -> None:
        self.settings = settings
        self.storage = Storage(settings.url)
        self.scheduler = Scheduler(
            LocalPool(settings.processes, settings.caps) if pool is None else pool, settings.patience
        )
        self.waiting = WaitingRoom()
        self._lock = threading.Lock()
        self._studies: dict[str, Study] = {}

    def close(self) -> None:
        """Stop everything. Nothing that was acknowledged is lost, it is stored."""
        self.scheduler.close()
        self.storage.close()

    def reach(self) -> None:
        """Reach the database, if there is one yet.

        Raises:
            StorageError: It cannot be reached.
        """
        if self.storage.file is None or self.storage.file.exists():
            with self.storage.read() as connection:
                connection.execute(sa.select(1))

    def list(self) -> tuple[StudyInfo, ...]:
        """All studies of the database; none if there is no database yet."""
        file = self.storage.file
        return () if file is not None and not file.exists() else Study.list(self.storage)

    def study(self, name: str) -> Study:
        """The study of that name."""
        with self._lock:
            known = self._studies.get(name)
        if known is not None and known.name == name:
            return known
        if known is not None:  # it was renamed, perhaps by another process
            self.forget(name)
        if self.storage.file is not None and not self.storage.file.exists():
            raise StudyNotFoundError(f"There is no study {name!r}.")
        return self._keep(Study.open(self.storage, name, executor=executor_for(self.scheduler.pool, name)))

    def create(self, definition: StudyDefinition) -> Study:
        """A new study."""
        check_show(definition)
        executor = executor_for(self.scheduler.pool, definition.name)
        return self._keep(Study.create_from_file(self.storage, definition, executor=executor))

    def _keep(self, study: Study) -> Study:
        """Keep a study that was just opened or created; the first of its name stays, so that threads share it."""
        with self._lock:
            return self._studies.setdefault(study.name, study)

    def delete(self, name: str) -> None:
        """Remove a study for good, with the images that were uploaded for it."""
        folder = self.study(name).folder
        Study.delete(self.storage, name)
        self.forget(name)
        uploaded = folder is not None and folder.parent == self.settings.image_folder.absolute()
        if uploaded and not any(Study.open(self.storage, info.name).folder == folder for info in self.list()):
            shutil.rmtree(folder, ignore_errors=True)  # type: ignore[arg-type]

    def forget(self, name: str) -> None:
        """Drop what is known of a study, which may have gone."""
        with self._lock:
            self._studies.pop(name, None)
        self.scheduler.forget(name)

    # ``rater`` is whose answers something is known from; None: everybody's.

    # ``context``: None: that of the latest answer.

    def begin_result(self, study: Study, rater: str | None = None, context: Context = None) -> Future[StudyResult]:
        """Compute everything that is known in the background."""
        key = ("result", rater, *_key(context))
        return self.scheduler.begin(study, key, lambda: build_result(study, rater, context))

    def begin_earlier_result(
        self, study: Study, rater: str | None = None, context: Context = None
    ) -> Future[StudyResult | None]:
        """What a stored model of earlier answers says, in the background."""
        key = ("earlier", rater, *_key(context))
        return self.scheduler.begin(study, key, lambda: earlier_result(study, rater, context))

    def latest_result(self, study: Study, rater: str | None = None, context: Context = None) -> StudyResult | None:
        """The result that was computed last, be it for these answers or for earlier ones."""
        found: StudyResult | None = self.scheduler.last(study, ("result", rater, *_key(context)))
        return found

    def begin_agreement(self, study: Study, context: Context = None) -> Future[PeopleInsight | None]:
        """Compute what suits all raters and where they differ, in the background; it takes seconds."""
        key = ("agreement", None, *_key(context))
        return self.scheduler.begin(
            study, key, lambda: study.agreement(context=context) if context else study.agreement()
        )

    def latest_agreement(self, study: Study, context: Context = None) -> PeopleInsight | None:
        """What was computed last of it, be it for these answers or for earlier ones."""
        found: PeopleInsight | None = self.scheduler.last(study, ("agreement", None, *_key(context)))
        return found

    def begin_status(self, study: Study, rater: str | None = None) -> Future[Status]:
        """Compute the status with what the model says in the background."""
        return self.scheduler.begin(study, ("status", rater), lambda: study.status(rater=rater))

    def begin_progress(self, study: Study, rater: str | None = None) -> Future[Progress | None]:
        """Compute how far the study has come, from a model that is there."""
        last = self.last_progress(study, rater)
        return self.scheduler.begin(study, ("progress", rater), lambda: build_progress(study, rater, last))

    def last_progress(self, study: Study, rater: str | None = None) -> Progress | None:
        """How far the study had come when that was last computed."""
        found: Progress | None = self.scheduler.last(study, ("progress", rater))
        return found
