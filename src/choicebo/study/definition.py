"""What a study asks, about which options, and how: one model for study files, the API, forms and the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import sqlalchemy as sa
from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from choicebo.choices.marks import QUESTIONS
from choicebo.errors import ChoiceboError, InvalidInputError, SpaceError, StorageError, StudyError
from choicebo.formatting import as_given
from choicebo.space import Catalogue, Option, Space, from_dict
from choicebo.space.context import first_context
from choicebo.space.table import UNSTORABLE
from choicebo.space.values import as_text, suggestion
from choicebo.study import checksum
from choicebo.study.objective_names import ObjectiveName
from choicebo.study.objective_names import from_record as names_from_record
from choicebo.study.tables import StudyRow

QUESTION = QUESTIONS["subset"]
ShowKind = Literal["bars", "svg", "image"]
_ARGUMENTS = ("name", "space", "question", "show", "folder", "baseline", "raters")
"""Keyword arguments of ``Study.create`` that are no settings of the optimiser."""
EDITABLE = ("name", "question", "show", "folder", "objective_names", "archived_at")
"""What can change later: nothing of it changes what the answers mean, or what the model learns from them."""
_STORED = "stored"
"""Context of a record from the database: its settings were complete when it was written."""


@dataclass(frozen=True)
class Show:
    """How options are shown: as bars, as a drawing from an SVG template, or as an image.

    In a template ``{name}`` stands for a value of the option. Images need one only if the options are not rows of a
    catalogue with an image column.

    Examples:
        >>> Show("image", template="photos/{flour}.jpg").kind
        'image'
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    kind: ShowKind = "bars"
    template: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in get_args(ShowKind):
            raise SpaceError(
                f"Options cannot be shown as {as_given(self.kind)}. {suggestion(self.kind, get_args(ShowKind))}"
            )
        if self.template is not None and (not isinstance(self.template, str) or not self.template.strip()):
            raise SpaceError(f"A template is {as_given(self.template)}: give a text that is not empty.")
        if self.kind == "bars" and self.template:
            raise SpaceError("Bars take no template: choose the kind 'svg' or 'image', or leave the template out.")
        if self.kind == "svg" and not self.template:
            raise SpaceError("The kind 'svg' needs a template, an SVG text with {name} for values: give one.")


LONGEST_NAME = 200
_SEEDS = 2**63
"""What a database keeps as a whole number."""


def _name(given: object, info: ValidationInfo) -> str:
    name = as_text(given, "The name of the study")
    if len(name) > LONGEST_NAME and info.context != _STORED:
        raise SpaceError(f"The name of the study has {len(name)} characters: give at most {LONGEST_NAME}.")
    return name


def _space(given: object) -> Space | Catalogue:
    space = from_dict(given) if isinstance(given, Mapping) else given
    if not isinstance(space, (Space, Catalogue)):
        raise InvalidInputError(f"space is a {type(space).__name__}: give a Space or a Catalogue.")
    if space.size < 2:
        raise InvalidInputError("The space holds a single option: a choice needs at least two.")
    return space


def _question(given: object) -> object:
    if not isinstance(given, str) or not given.strip():
        raise SpaceError(f"The question is {as_given(given)}: give a text that is not empty.")
    if UNSTORABLE.search(given):
        raise SpaceError(f"The question is {as_given(given)}: leave out characters that cannot be stored.")
    return given


class StudyDefinition(BaseModel):
    """What a study asks, about which options, and how; only what leaves the meaning of its answers alone can be edited later.

    `of` makes one of whatever describes a study, and says in a sentence what is wrong with it.

    Examples:
        >>> from choicebo.space import Integer
        >>> bread = StudyDefinition.of({"name": "bread", "space": Space([Integer("minutes", 5, 40)])})
        >>> bread.question, bread.settings["query_size"]
        ('Which of these would you keep?', 5)
        >>> StudyDefinition.of(bread.to_dict()) == bread
        True
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, BeforeValidator(_name)]
    space: Annotated[Space | Catalogue, PlainValidator(_space), PlainSerializer(lambda space: space.to_dict())]
    """A Space or a Catalogue, or the record of one."""
    question: Annotated[str, BeforeValidator(_question)] = QUESTION
    """What the person is asked above the options."""
    show: Show = Show()
    baseline: Option | None = None
    """The option that people have today, if any."""
    raters_mode: Literal["together", "related", "separate"] = Field(
        default="related", validation_alias=AliasChoices("raters", "raters_mode")
    )
    """How the answers of several raters are modelled: as those of one person; with a taste each, which is partly everybody's and
    partly their own; or each alone."""
    settings: dict[str, Any] = Field(default_factory=dict, validate_default=True)
    """All settings of the optimiser, the baseline among them."""
    folder: Annotated[Path, PlainSerializer(str)] | None = None
    """The folder of the images."""
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    archived_at: datetime | None = None
    """Since when it is out of the way; None: it is not."""
    objective_names: Annotated[tuple[ObjectiveName, ...] | None, BeforeValidator(names_from_record)] = None
    """What people call the hidden objectives."""

    @model_validator(mode="after")
    def _can_be_stored(self, info: ValidationInfo) -> StudyDefinition:
        """Refuse what no database would take, and what no file could hold when it is exported."""
        if info.context == _STORED:
            return self
        for what, text in (("question", self.question), ("template", self.show.template), ("folder", str(self.folder))):
            if "\0" in (text or ""):
                raise StudyError(f"The {what} of the study holds the character NUL: leave it out.")
        try:
            json.dumps(self.to_dict(), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise StudyError("The study holds half of a character (a lone surrogate): write that text again.") from None
        return self

    @field_validator("created_at", "archived_at")
    @classmethod
    def _in_utc(cls, moment: datetime | None, info: ValidationInfo) -> datetime | None:
        if moment is None:
            return None
        try:
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except OverflowError:
            verb = str(info.field_name).removesuffix("_at")
            raise StudyError(
                f"The study was {verb} before the year 1 or after 9999: correct {info.field_name!r}."
            ) from None

    @classmethod
    def of(cls, given: Mapping[str, Any], *, stored: bool = False) -> StudyDefinition:
        """The definition that a mapping of its fields describes, be it of objects or of JSON.

        Args:
            given: Fields by name; what is missing takes its default.
            stored: Whether they come from the database, where settings are complete.

        Raises:
            ChoiceboError: A field is missing, unknown or cannot be used.
        """
        try:
            return cls.model_validate(given, context=_STORED if stored else None)
        except ValidationError as error:
            raise _explained(error) from None

    @classmethod
    def from_arguments(cls, **arguments: Any) -> StudyDefinition:
        """The definition that keyword arguments of ``Study.create`` describe: settings of the optimiser among its fields."""
        fields = {name: value for name, value in arguments.items() if name in _ARGUMENTS and value is not None}
        if "folder" in fields:
            fields["folder"] = Path(fields["folder"]).absolute()
        return cls.of({**fields, "settings": {name: arguments[name] for name in arguments if name not in _ARGUMENTS}})

    def edited(self, **changes: Any) -> StudyDefinition:
        """The same study with other values of what can be edited.

        Examples:
            >>> from choicebo.space import Integer
            >>> bread = StudyDefinition.of({"name": "bread", "space": Space([Integer("minutes", 5, 40)])})
            >>> bread.edited(name="loaf").name
            'loaf'
            >>> bread.edited(settings={})
            Traceback (most recent call last):
                ...
            choicebo.errors.StudyError: 'settings' of a study cannot be edited, because it changes what the answers mean. ...
        """
        for field in changes:
            if field not in EDITABLE:
                raise StudyError(
                    f"{field!r} of a study cannot be edited, because it changes what the answers mean. Duplicate "
                    "the study, or create another."
                )
        return type(self).of({**dict(self), **changes})

    def arguments(self) -> dict[str, Any]:
        """What `from_arguments` makes the same study of."""
        fields = {name: getattr(self, name) for name in _ARGUMENTS if name != "raters"}
        return {**self.settings, **fields, "raters": self.raters_mode}

    def to_row(self) -> dict[str, Any]:
        """The columns of the table of studies."""
        return self.model_dump(exclude={"baseline"})

    def to_dict(self) -> dict[str, Any]:
        """A JSON-compatible record that `of` reads back."""
        found = {**self.to_row(), "created_at": self.created_at.isoformat()}
        names, archived = found.pop("objective_names"), found.pop("archived_at")
        # Left out where empty, so that an earlier release can read what it knows of.
        if names is not None:
            found["objective_names"] = list(names)
        if archived is not None:
            found["archived_at"] = archived.isoformat()
        return found

    @model_validator(mode="wrap")
    @classmethod
    def _with_one_baseline(cls, given: Any, build: Callable[[Any], StudyDefinition]) -> StudyDefinition:
        """A record has the baseline among the settings, everybody else beside them."""
        try:
            if isinstance(given, Mapping):
                beside = given.get("baseline")
                among = given.get("settings", {}).get("baseline")
                given = {**given, "baseline": among if beside is None else beside}
                if given.get("question", QUESTION) == QUESTION:
                    given["question"] = QUESTIONS.get(given.get("settings", {}).get("answer", "subset"), QUESTION)
            return build(given)
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            raise StudyError(f"The study cannot be created: {error}.") from None

    @field_validator("show")
    @classmethod
    def _has_pictures(cls, show: Show, info: ValidationInfo) -> Show:
        pictured = getattr(info.data.get("space"), "image", None)
        if show.kind == "image" and not (show.template or pictured):
            raise SpaceError("Options are shown as images: give a catalogue with an image column, or a template.")
        return show

    @field_validator("baseline", mode="before")
    @classmethod
    def _can_be_offered(cls, baseline: Any, info: ValidationInfo) -> Any:
        space = info.data.get("space")
        if baseline is None or space is None:
            return None
        # It is compared in the context of each question; that may be left out of it.
        given = {**first_context(space), **baseline} if isinstance(baseline, Mapping) else baseline
        option = space.validate(given)
        broken = space.violated(option) if isinstance(space, Space) else ()
        if broken:
            raise SpaceError(f"The baseline breaks the constraint {broken[0]!r}: change one of the two.")
        return option

    @field_validator("settings")
    @classmethod
    def _complete(cls, settings: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        given = {**settings, "baseline": info.data.get("baseline")}
        if info.context == _STORED:  # the optimiser takes half a second to load
            return given
        from choicebo.optimizer import Settings

        complete = Settings.from_dict(given).to_dict()
        if complete["seed"] >= _SEEDS:
            raise InvalidInputError("seed is too large: give a whole number below 2**63.")
        return complete


def _explained(error: ValidationError) -> ChoiceboError:
    """What was raised by a check, or a sentence about a field of the wrong type."""
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ChoiceboError):
        return cause
    place = ".".join(map(str, first["loc"]))
    match first["type"]:
        case "missing":
            return StudyError(f"The study lacks {place!r}: add it.")
        case "extra_forbidden" | "unexpected_keyword_argument":
            known = Show.__dataclass_fields__ if place.startswith("show.") else StudyDefinition.model_fields
            return StudyError(f"The study has the unknown key {place!r}. {suggestion(str(first['loc'][-1]), known)}")
    return StudyError(
        f"{place!r} of the study is {as_given(first['input'])}: {first['msg'].replace('Input should be', 'give')}."
    )


def insert(connection: sa.Connection, definition: StudyDefinition) -> int:
    """Store a new study; its id."""
    row = definition.to_row()
    values = {**row, "checksum": checksum.of_row(row)}
    found = connection.execute(sa.insert(StudyRow).values(values).returning(StudyRow.id)).scalar()
    assert found is not None
    return found


def update(connection: sa.Connection, study_id: int, definition: StudyDefinition) -> None:
    """Store what may be edited of a study."""
    row = definition.to_row()
    edited = {column: row[column] for column in EDITABLE}
    edited["checksum"] = checksum.of_row(row)
    connection.execute(sa.update(StudyRow).where(StudyRow.id == study_id).values(edited))


def load(row: sa.Row[Any]) -> StudyDefinition:
    """The definition in a row of the table of studies."""
    columns = StudyDefinition.model_fields.keys() - {"baseline"}
    found = {name: row._mapping[name] for name in columns}
    try:
        if row.checksum not in (None, checksum.of_row(found)):
            raise checksum.DamageError("its checksum does not match. Restore it from a backup or an exported JSON.")
        return StudyDefinition.of(found, stored=True)
    except (InvalidInputError, checksum.DamageError, TypeError) as error:
        raise StorageError(f"The study {row.name!r} is damaged in its database: {error}") from error
