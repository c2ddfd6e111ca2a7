"""What a study asks, about which options: written once, when the study is created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from choicebo.errors import InvalidInput, StudyError
from choicebo.space import Catalogue, Space, from_dict
from choicebo.space.study_file import QUESTION, Show, StudyFile, read
from choicebo.study.event_store import now
from choicebo.study.tables import StudyRow

MODES = ("together", "separate")
"""How the answers of several raters are modelled."""


@dataclass(frozen=True)
class Definition:
    """Everything about a study that does not change."""

    name: str
    space: Space | Catalogue
    question: str
    show: Show
    folder: Path | None
    """Where images lie."""
    raters_mode: str
    settings: dict[str, Any]
    """All settings of the optimiser, JSON-compatible."""
    created_at: datetime

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise StudyError(f"The name of the study is {self.name!r}: give a text that is not empty.")
        if self.raters_mode not in MODES:
            raise StudyError(f"raters is {self.raters_mode!r}: give 'together' or 'separate'.")
        # What a study file may not say, a study may not either.
        StudyFile(
            self.name,
            self.space,
            self.question,
            query_size=min(self.settings["query_size"], self.space.size),
            baseline=self.settings["baseline"],
            show=self.show,
        )

    @property
    def baseline(self) -> dict[str, Any] | None:
        """The option that people have today."""
        found: dict[str, Any] | None = self.settings["baseline"]
        return None if found is None else dict(found)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible record that :func:`from_record` reads back."""
        return {
            "name": self.name,
            "question": self.question,
            "space": self.space.to_dict(),
            "settings": self.settings,
            "show": {"kind": self.show.kind, "template": self.show.template},
            "folder": None if self.folder is None else str(self.folder),
            "raters_mode": self.raters_mode,
            "created_at": self.created_at.isoformat(),
        }


def define(
    name: str,
    space: Space | Catalogue,
    *,
    question: str = QUESTION,
    show: Show | None = None,
    folder: str | Path | None = None,
    raters: str = "together",
    **settings: Any,
) -> Definition:
    """A new study; the settings are those of ``ChoiceOptimizer``."""
    from choicebo.optimizer import Settings

    if not isinstance(space, (Space, Catalogue)):
        raise InvalidInput(f"space is a {type(space).__name__}: give a Space or a Catalogue.")
    shown = show or Show()
    where = None if folder is None else Path(folder).absolute()
    if shown.file is not None:
        # The study stands on its own: the drawing comes along, and its file may go.
        shown = Show(shown.kind, template=shown.text(where or Path()))
    complete = Settings.from_dict(settings).checked(space).to_dict()
    return Definition(name, space, question, shown, where, raters, complete, now())


def define_from_file(study_file: StudyFile | str | Path, **overrides: Any) -> Definition:
    """The study that a study file describes; keyword arguments of :func:`define` go before what it says."""
    given = study_file if isinstance(study_file, StudyFile) else read(study_file)
    said: dict[str, Any] = {
        "name": given.name,
        "space": given.space,
        "question": given.question,
        "show": given.show,
        "folder": given.folder,
        "baseline": given.baseline,
        "query_size": given.query_size,
        "new_per_query": given.new_per_query,
    }
    return define(**{**said, **overrides})


def from_record(record: Mapping[str, Any]) -> Definition:
    """The definition that ``to_dict`` described."""
    from choicebo.optimizer import Settings

    return Definition(
        name=record["name"],
        space=from_dict(record["space"]),
        question=record["question"],
        show=Show(record["show"]["kind"], template=record["show"]["template"]),
        folder=None if record["folder"] is None else Path(record["folder"]),
        raters_mode=record["raters_mode"],
        settings=Settings.from_dict(record["settings"]).to_dict(),
        created_at=datetime.fromisoformat(record["created_at"]),
    )


def insert(connection: sa.Connection, definition: Definition) -> int:
    """Store a new study; its id."""
    record = {**definition.to_dict(), "created_at": definition.created_at}
    found = connection.execute(sa.insert(StudyRow).values(record).returning(StudyRow.id)).scalar()
    assert found is not None
    return found


def load(row: Any) -> Definition:
    """The definition in a row of the table of studies."""
    return Definition(
        name=row.name,
        space=from_dict(row.space),
        question=row.question,
        show=Show(row.show["kind"], template=row.show["template"]),
        folder=None if row.folder is None else Path(row.folder),
        raters_mode=row.raters_mode,
        settings=row.settings,
        created_at=row.created_at,
    )
