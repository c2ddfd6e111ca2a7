"""A study as a file that a person can write: what to ask, about which options, and how they are shown.

.. code-block:: toml

    constraints = ["temperature + 2*minutes <= 280"]
    objectives = ["minimise energy = 0.1*temperature*minutes"]

    [study]
    name = "bread"
    question = "Which loaves would you bake again?"

    [[parameter]]
    name = "temperature"
    kind = "real"
    low = 150
    high = 220
    unit = "°C"
    step = 5

    [[parameter]]
    name = "minutes"
    kind = "integer"
    low = 5
    high = 40

    [fixed]
    oven = "gas"

A real or an angle without a step gets one of about a hundredth of its range; ``step = 0`` offers any value. A parameter with
``context = true`` is given by the situation and not chosen.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Required

import tomli_w
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from choicebo.errors import InvalidInputError, SpaceError
from choicebo.formatting import as_given
from choicebo.space import Angle, Catalogue, Parameter, Real
from choicebo.space.serialisation import KINDS, VERSION, parameter_from_dict
from choicebo.space.values import Value, suggestion
from choicebo.study.definition import ShowKind, StudyDefinition


class StudySection(TypedDict, total=False):
    """[study]: what is asked, and how."""

    name: Required[str]
    question: str
    query_size: int
    new_per_query: int
    least_difference: float
    answer: Literal["subset", "best", "best-worst", "ranking", "pair"]
    likelihood: Literal["choice", "pseudo_rational", "batch_preference", "noticeable_difference"]
    threshold: float
    latent_dim: int | Literal["auto"]


class CatalogueSection(TypedDict, total=False):
    """[catalogue]: a finite list of options, in a CSV file beside the study file or as [[catalogue.rows]]."""

    file: str
    rows: list[dict[str, Value]]
    key: str
    label: str
    image: str
    features: list[str]


class ShowSection(TypedDict, total=False):
    """[show]: how options are shown; a template stands in the study file or in a file beside it."""

    kind: ShowKind
    template: str
    file: str


class StudyDocument(TypedDict, total=False):
    """A choicebo study: parameters with constraints, or a catalogue, what is known of them, and how to ask about them."""

    constraints: list[str]
    objectives: list[str]
    study: Required[StudySection]
    parameter: list[dict[str, Any]]
    fixed: dict[str, Value]
    catalogue: CatalogueSection
    baseline: dict[str, Value]
    show: ShowSection


_AT_THE_TOP = ("constraints", "objectives")
_SETTINGS = ("query_size", "new_per_query", "least_difference")
_UNUSUAL = {"answer": "subset", "likelihood": "choice", "threshold": 1.0, "latent_dim": "auto"}
"""Settings that a study file has where they are not these."""
_SECTIONS = {"study": StudySection, "catalogue": CatalogueSection, "show": ShowSection}
for _section in (StudyDocument, *_SECTIONS.values()):
    _section.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]


def read(path: str | Path) -> StudyDefinition:
    """The study in a TOML file; other files that it names are found beside it."""
    path = Path(path)
    try:
        return loads(_read_text(path), path.parent)
    except InvalidInputError as error:
        raise type(error)(f"{path}: {error}") from None


def loads(text: str, folder: str | Path = ".") -> StudyDefinition:
    """The study in a TOML text; other files that it names are found in ``folder``.

    Examples:
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
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, str(error)) from None
    _check_keys("The study file", document, StudyDocument.__annotations__)
    for name, section in _SECTIONS.items():
        _check_keys(f"[{name}]", document.get(name, {}), section.__annotations__)
    if "study" not in document:
        raise SpaceError("The study file lacks the section [study]: add it.")
    asked = document["study"]
    return StudyDefinition.of(
        {
            **{name: asked[name] for name in ("name", "question") if name in asked},
            "space": _space(document, Path(folder)),
            "show": _show(document.get("show", {}), Path(folder)),
            "baseline": document.get("baseline"),
            "settings": {name: asked[name] for name in (*_SETTINGS, *_UNUSUAL) if name in asked},
            "folder": Path(folder).absolute(),
        }
    )


def dumps(study: StudyDefinition) -> str:
    """The study as readable TOML, which ``loads`` reads back.

    Examples:
        >>> from choicebo.space import Integer, Space
        >>> space = Space([Integer("minutes", 5, 40)], constraints=["minutes <= 35"])
        >>> print(dumps(StudyDefinition.of({"name": "bread", "space": space})), end="")
        constraints = [
            "minutes <= 35",
        ]
        parameter = [
            { kind = "integer", name = "minutes", low = 5, high = 40 },
        ]
        <BLANKLINE>
        [study]
        name = "bread"
        question = "Which of these would you keep?"
        query_size = 5
        new_per_query = 2
        least_difference = 0.02
    """
    space = study.space
    # A study of an earlier version may lack a setting.
    settings = {name: study.settings[name] for name in _SETTINGS if name in study.settings}
    settings |= {name: found for name, usual in _UNUSUAL.items() if (found := study.settings.get(name, usual)) != usual}
    document: dict[str, Any] = {"study": {"name": study.name, "question": study.question, **settings}}
    if isinstance(space, Catalogue):
        record = space.to_dict()
        columns = {name: record[name] for name in ("key", "label", "image", "features")}
        document["catalogue"] = _filled(columns) | {"rows": [_filled(row) for row in record["rows"]]}
        known: Iterable[str] = [space.key]
    else:
        if space.constraints:
            document["constraints"] = [rule.text for rule in space.constraints]
        document["parameter"] = [_parameter_table(parameter) for parameter in space.parameters]
        if space.fixed:
            document["fixed"] = {held.name: held.value for held in space.fixed}
        known = [parameter.name for parameter in space.parameters]
    if space.objectives:
        document["objectives"] = [objective.text for objective in space.objectives]
    if study.baseline is not None:
        document["baseline"] = {name: study.baseline[name] for name in known}
    if study.show.kind != "bars":
        document["show"] = _filled({"kind": study.show.kind, "template": study.show.template})
    # A text of several lines would lose its carriage returns.
    return tomli_w.dumps(document, multiline_strings="\r" not in f"{study.question}{study.show.template}")


def json_schema() -> dict[str, Any]:
    """The JSON schema of a study file, for editors that complete and check TOML.

    Examples:
        >>> sorted(json_schema()["required"])
        ['study']
    """
    schema = TypeAdapter(StudyDocument).json_schema()
    kinds = [_parameter_schema(kind) for kind in KINDS.values()]
    schema["properties"]["parameter"]["items"] = {"oneOf": kinds, "discriminator": {"propertyName": "kind"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "choicebo study"}


def _parameter_schema(kind: type[Parameter]) -> dict[str, Any]:
    schema = TypeAdapter(kind).json_schema()
    given = {field.name for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    described = {name: about for name, about in schema["properties"].items() if name in given}
    properties = {"kind": {"const": kind.kind}, **described}
    required = ["kind", *schema["required"]]
    return {**schema, "properties": properties, "required": required, "additionalProperties": False}


def _parameter_table(parameter: Parameter) -> dict[str, Any]:
    """A [[parameter]] without what ``loads`` adds by itself: a file of few lines is read with more care."""
    table = {name: value for name, value in parameter.to_dict().items() if value is not False and value != ""}
    if isinstance(parameter, Real):
        table["step"] = 0 if parameter.step is None else parameter.step
        plain = dataclasses.replace(parameter, step=None)
        if (plain if parameter.context else plain.stepped()) == parameter:
            del table["step"]
    if isinstance(parameter, Angle):
        table["unit"] = parameter.unit
    return table


def _with_step(entry: Any) -> Any:
    """A [[parameter]] with the step that it gets where it names none; errors in it are reported later."""
    if not isinstance(entry, dict) or "step" in entry:
        return entry
    try:
        parameter = parameter_from_dict(entry)
    except SpaceError:
        return entry
    # A context is given and not offered.
    offered = isinstance(parameter, Real) and not parameter.context
    return {**entry, "step": parameter.stepped().step} if offered else entry  # type: ignore[attr-defined]


def _filled(table: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if value is not None}


def _check_keys(where: str, given: object, known: Iterable[str]) -> None:
    if not isinstance(given, dict):
        raise SpaceError(f"{where} is {given!r}: give a section with a line for each of {', '.join(known)}.")
    for key in given:
        if key in _AT_THE_TOP and key not in known:
            raise SpaceError(f"{where} has the key {key!r}: move it to the top, above the first [section].")
        if key not in known:
            raise SpaceError(f"{where} has the unknown key {key!r}. {suggestion(key, known)}")


def _space(document: dict[str, Any], folder: Path) -> Catalogue | dict[str, Any]:
    """A catalogue, or the record of a space."""
    objectives = document.get("objectives", [])
    table = document.get("catalogue")
    if table is None:
        if not document.get("parameter"):
            raise SpaceError("The study file has neither a [[parameter]] nor a [catalogue]: add one of them.")
        if isinstance(document["parameter"], dict):
            raise SpaceError("The study file has [parameter]: write [[parameter]] above each one, in double brackets.")
        for entry in document["parameter"]:
            if isinstance(entry, dict):
                _check_keys("A [[parameter]]", entry, entry.keys() - set(_AT_THE_TOP))
        rules, fixed = document.get("constraints", []), document.get("fixed", {})
        parameters = document["parameter"]
        if isinstance(parameters, list):
            parameters = [_with_step(entry) for entry in parameters]
        record = {"parameters": parameters, "constraints": rules, "fixed": fixed, "objectives": objectives}
        return {"version": VERSION, "kind": "space", **record}
    if document.keys() & {"parameter", "constraints", "fixed"}:
        raise SpaceError("The study file has a [catalogue]: leave out [[parameter]], constraints and [fixed].")
    if ("file" in table) == ("rows" in table):
        raise SpaceError("[catalogue] needs either a file or [[catalogue.rows]]: give one of the two.")
    rows = table["rows"] if "rows" in table else _inside(folder, table["file"], "The catalogue")
    columns = {name: value for name, value in table.items() if name not in ("file", "rows")}
    return Catalogue(rows, **columns, objectives=objectives)


def _show(section: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The section with the drawing itself instead of its file, which is then no longer needed."""
    shown = dict(section)
    file = shown.pop("file", None)
    if file is None:
        return shown
    if shown.get("kind") != "svg" or "template" in shown:
        raise SpaceError(
            "[show] has a file, which is only for the kind 'svg' and replaces the template: leave one of them out."
        )
    return {**shown, "template": _read_text(_inside(folder, file, "The template"))}


def _inside(folder: Path, given: object, what: str) -> Path:
    """A file of the study: a study file that somebody else wrote must not reach the rest of the disk."""
    path = folder / PurePosixPath(str(given))
    if Path(str(given)).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise SpaceError(f"{what} is {given!r}: give a path inside the folder of the study file.")
    return path


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpaceError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise SpaceError(f"{str(path)!r} is not UTF-8 text: save it as UTF-8.") from None
    except ValueError:
        raise SpaceError(f"{as_given(str(path))} is not the path of a file.") from None


def _syntax_error(text: str, message: str) -> SpaceError:
    found = re.search(r"\(at line (\d+), column (\d+)\)", message)
    if not found:
        return SpaceError(f"The text is not TOML: {message}.")
    number, column = int(found[1]), int(found[2])
    line = text.splitlines()[number - 1] if number <= len(text.splitlines()) else ""
    problem = message.partition(" (at")[0]
    return SpaceError(f"Line {number} is not TOML: {problem}.\n    {line}\n    {' ' * (column - 1)}^")
