"""A study as a file that a person can write: what to ask, about which options, and how they are shown.

.. code-block:: toml

    constraints = ["temperature + 2*minutes <= 280"]

    [study]
    name = "bread"
    question = "Which loaves would you bake again?"

    [[parameter]]
    name = "temperature"
    kind = "real"
    low = 150
    high = 220
    unit = "°C"

    [[parameter]]
    name = "minutes"
    kind = "integer"
    low = 5
    high = 40

    [fixed]
    oven = "gas"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from choicebo.errors import SpaceError
from choicebo.space import toml, values
from choicebo.space.catalogue import Catalogue
from choicebo.space.searchable import Option
from choicebo.space.serialisation import parameter_from_dict
from choicebo.space.space import Space

if TYPE_CHECKING:
    from choicebo.space.schema import StudyDocument

QUESTION = "Which of these would you keep?"
_SHOWN = ("bars", "svg", "image")


@dataclass(frozen=True)
class Show:
    """How options are shown: as bars, as a drawing from an SVG template, or as an image.

    In a template ``{name}`` stands for a value of the option. It is given as text, or in a file beside the
    study file.

    >>> Show("image", template="photos/{flour}.jpg").kind
    'image'
    """

    kind: Literal["bars", "svg", "image"] = "bars"
    template: str | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in _SHOWN:
            raise SpaceError(f"Options are shown as {self.kind!r}. {values.suggestion(str(self.kind), _SHOWN)}")
        for given in (self.template, self.file):
            if given is not None and (not isinstance(given, str) or not given.strip()):
                raise SpaceError(f"A template is {given!r}: give a text that is not empty.")
        if self.kind == "bars" and (self.template or self.file):
            raise SpaceError("Bars take no template: choose the kind 'svg' or 'image', or leave the template out.")
        if self.kind == "svg" and (self.template is None) == (self.file is None):
            raise SpaceError("The kind 'svg' needs either a template or a file with it: give one of the two.")
        if self.kind == "image" and self.file:
            raise SpaceError("The kind 'image' takes a template such as 'photos/{flour}.jpg', not a file.")

    def text(self, folder: Path) -> str | None:
        """The template, read from its file in ``folder`` if need be; None if there is none."""
        return self.template if self.file is None else _read_text(_inside(folder, self.file, "The template"))


@dataclass(frozen=True)
class StudyFile:
    """What a study asks, about which options, and how they are shown.

    >>> from choicebo.space import Real
    >>> StudyFile("bread", Space([Real("temperature", 150, 220)])).query_size
    5
    """

    name: str
    space: Space | Catalogue
    question: str = QUESTION
    query_size: int = 5
    """How many options are shown at once."""
    new_per_query: int = 2
    """How many of them have not been shown before."""
    baseline: Option | None = None
    """The option that people know today."""
    show: Show = Show()
    catalogue_file: str | None = None
    """The CSV file of the catalogue, relative to the study file; None: its rows stand in the study file."""
    folder: Path = field(default=Path(), compare=False)
    """Where the study file lies; other files are found from there."""

    def __post_init__(self) -> None:
        values.as_text(self.name, "The name of a study")
        if not isinstance(self.question, str) or not self.question.strip():
            raise SpaceError(f"The question is {self.question!r}: give a text that is not empty.")
        if not isinstance(self.space, (Space, Catalogue)):
            raise SpaceError(f"The space is {self.space!r}: give a Space or a Catalogue.")
        if self.catalogue_file is not None and not isinstance(self.space, Catalogue):
            raise SpaceError("A catalogue file is named, but the study has a Space: leave one of them out.")
        self._check_sizes()
        if self.baseline is not None:
            object.__setattr__(self, "baseline", self._check_baseline(self.baseline))
        pictured = isinstance(self.space, Catalogue) and self.space.image
        if self.show.kind == "image" and not (self.show.template or pictured):
            raise SpaceError("Options are shown as images: give a catalogue with an image column, or a template.")

    def __hash__(self) -> int:
        return hash((self.name, self.space, self.question, self.query_size, self.new_per_query, self.show))

    def _check_sizes(self) -> None:
        query_size = values.as_whole(self.query_size, "query_size")
        new = values.as_whole(self.new_per_query, "new_per_query")
        if not 2 <= query_size <= self.space.size:
            raise SpaceError(f"query_size is {query_size}: accepted is 2 to the number of options, {self.space.size}.")
        if not 1 <= new <= query_size:
            raise SpaceError(f"new_per_query is {new}: accepted is 1 to query_size, {query_size}.")

    def _check_baseline(self, option: Option) -> Option:
        baseline = self.space.validate(option)
        broken = self.space.violated(baseline) if isinstance(self.space, Space) else ()
        if broken:
            raise SpaceError(f"The baseline breaks the constraint {broken[0]!r}: change one of the two.")
        return baseline


def read(path: str | Path) -> StudyFile:
    """The study in a TOML file; other files that it names are found beside it."""
    path = Path(path)
    try:
        return loads(_read_text(path), path.parent)
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from None


def loads(text: str, folder: str | Path = ".") -> StudyFile:
    """The study in a TOML text; other files that it names are found in ``folder``.

    >>> loads('''
    ... [study]
    ... name = "bread"
    ... [[parameter]]
    ... kind = "integer"
    ... name = "minutes"
    ... low = 5
    ... high = 40
    ... ''').space
    Space(minutes)
    """
    from choicebo.space.schema import check_document

    try:
        document = check_document(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, str(error)) from None
    study, shown = document.study, document.show
    study_file = StudyFile(
        name=study.name,
        space=_space(document, Path(folder)),
        question=QUESTION if study.question is None else study.question,
        query_size=study.query_size,
        new_per_query=study.new_per_query,
        baseline=document.baseline,
        show=Show(shown.kind, shown.template, shown.file),
        catalogue_file=document.catalogue.file if document.catalogue else None,
        folder=Path(folder),
    )
    study_file.show.text(study_file.folder)  # a template that cannot be read must fail now, not before a person
    return study_file


def dumps(study_file: StudyFile) -> str:
    """The study as readable TOML, which ``loads`` reads back.

    >>> from choicebo.space import Integer
    >>> print(dumps(StudyFile("bread", Space([Integer("minutes", 5, 40)]))), end="")
    [study]
    name = "bread"
    question = "Which of these would you keep?"
    query_size = 5
    new_per_query = 2
    <BLANKLINE>
    [[parameter]]
    kind = "integer"
    name = "minutes"
    low = 5
    high = 40
    """
    space, show = study_file.space, study_file.show
    fields = ("name", "question", "query_size", "new_per_query")
    parts = ["[study]\n" + toml.entries({name: getattr(study_file, name) for name in fields})]
    if isinstance(space, Catalogue):
        parts += _catalogue_parts(space, study_file.catalogue_file)
    else:
        if space.constraints:
            parts.insert(0, toml.entries({"constraints": [rule.text for rule in space.constraints]}))
        for parameter in space.parameters:
            # Defaults are left out: a file of few lines is read with more care.
            record = parameter.to_dict()
            record = {name: value for name, value in record.items() if value is not False and value != ""}
            parts.append("[[parameter]]\n" + toml.entries(record))
        if space.fixed:
            parts.append("[fixed]\n" + toml.entries({held.name: held.value for held in space.fixed}))
    if study_file.baseline is not None:
        known = (space.key,) if isinstance(space, Catalogue) else [parameter.name for parameter in space.parameters]
        parts.append("[baseline]\n" + toml.entries({name: study_file.baseline[name] for name in known}))
    if show != Show():
        parts.append("[show]\n" + toml.entries({"kind": show.kind, "template": show.template, "file": show.file}))
    return "\n".join(parts)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a study file, for editors that complete and check TOML.

    >>> sorted(json_schema()["required"])
    ['study']
    """
    from choicebo.space import schema

    return schema.json_schema()


def _catalogue_parts(catalogue: Catalogue, file: str | None) -> list[str]:
    columns: Mapping[str, object] = {
        "key": catalogue.key,
        "label": catalogue.label,
        "image": catalogue.image,
        "features": catalogue.features,
    }
    head = "[catalogue]\n" + toml.entries({"file": file, **columns})
    rows = catalogue.rows if file is None else ()
    return [head, *("[[catalogue.rows]]\n" + toml.entries(row) for row in rows)]


def _space(document: StudyDocument, folder: Path) -> Space | Catalogue:
    table = document.catalogue
    if table is None:
        if not document.parameter:
            raise SpaceError("The study file has neither a [[parameter]] nor a [catalogue]: add one of them.")
        parameters = [parameter_from_dict(entry.model_dump()) for entry in document.parameter]
        return Space(parameters, document.constraints, document.fixed)
    if document.parameter or document.constraints or document.fixed:
        raise SpaceError("The study file has a [catalogue]: leave out [[parameter]], constraints and [fixed].")
    if (table.file is None) == (table.rows is None):
        raise SpaceError("[catalogue] needs either a file or [[catalogue.rows]]: give one of the two.")
    rows = table.rows if table.file is None else _inside(folder, table.file, "The catalogue")
    return Catalogue(rows, table.key, table.label, table.image, table.features)


def _inside(folder: Path, given: str, what: str) -> Path:
    """A file of the study: a study file that somebody else wrote must not reach the rest of the disk."""
    path = folder / PurePosixPath(given)
    if Path(given).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise SpaceError(f"{what} is {given!r}: give a path inside the folder of the study file.")
    return path


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpaceError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise SpaceError(f"{str(path)!r} is not UTF-8 text: save it as UTF-8.") from None


def _syntax_error(text: str, message: str) -> SpaceError:
    found = re.search(r"\(at line (\d+), column (\d+)\)", message)
    if not found:
        return SpaceError(f"The text is not TOML: {message}.")
    number, column = int(found[1]), int(found[2])
    line = text.splitlines()[number - 1] if number <= len(text.splitlines()) else ""
    problem = message.partition(" (at")[0]
    return SpaceError(f"Line {number} is not TOML: {problem}.\n    {line}\n    {' ' * (column - 1)}^")
