"""The shape of a study file, as pydantic models: what keys there are, and the JSON schema for editors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from choicebo.errors import SpaceError
from choicebo.space.values import suggestion

Scalar = bool | int | float | str


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class StudyTable(_Table):
    """[study]: what is asked, and how."""

    name: str = Field(description="The name of the study.")
    question: str | None = Field(default=None, description="What the person is asked above the options.")
    query_size: int = Field(default=5, description="How many options are shown at once.", ge=2)
    new_per_query: int = Field(default=2, description="How many of them have not been shown before.", ge=1)


class RealTable(_Table):
    """[[parameter]] of kind real: any number in a range."""

    kind: Literal["real"]
    name: str
    low: float
    high: float
    log: bool = Field(default=False, description="Equal ratios are equal distances.")
    unit: str = ""


class IntegerTable(_Table):
    """[[parameter]] of kind integer: any whole number in a range."""

    kind: Literal["integer"]
    name: str
    low: int
    high: int
    log: bool = Field(default=False, description="Equal ratios are equal distances.")
    unit: str = ""


class OrdinalTable(_Table):
    """[[parameter]] of kind ordinal: one of a few values in an order."""

    kind: Literal["ordinal"]
    name: str
    values: list[int | float | str] = Field(description="The values in order.", min_length=2)


class CategoricalTable(_Table):
    """[[parameter]] of kind categorical: one of a few values without an order."""

    kind: Literal["categorical"]
    name: str
    values: list[Scalar] = Field(min_length=2)


class CatalogueTable(_Table):
    """[catalogue]: a finite list of options, in a CSV file or as [[catalogue.rows]]."""

    file: str | None = Field(default=None, description="A CSV file, relative to this file.")
    rows: list[dict[str, Scalar]] | None = None
    key: str = Field(default="sku", description="The column that identifies a row.")
    label: str | None = Field(default=None, description="The column with the name that people see.")
    image: str | None = Field(default=None, description="The column with the picture of a row.")
    features: list[str] | None = Field(None, description="The columns that describe a row; default: all others.")


class ShowTable(_Table):
    """[show]: how options are shown."""

    kind: Literal["bars", "svg", "image"] = "bars"
    template: str | None = Field(
        default=None, description="An SVG text, or the path of an image, with {name} for values."
    )
    file: str | None = Field(default=None, description="A file with the template, relative to this file.")


class StudyDocument(_Table):
    """A choicebo study: parameters with constraints, or a catalogue, and how to ask about them."""

    constraints: list[str] = Field(default=[], description="Such as 'temperature + 2*minutes <= 280'.")
    study: StudyTable
    parameter: list[
        Annotated[RealTable | IntegerTable | OrdinalTable | CategoricalTable, Field(discriminator="kind")]
    ] = []
    fixed: dict[str, Scalar] = Field(default={}, description="Parameters that do not vary.")
    catalogue: CatalogueTable | None = None
    baseline: dict[str, Scalar] | None = Field(default=None, description="The option that people know today.")
    show: ShowTable = ShowTable()


_PARAMETERS: dict[str, type[_Table]] = {
    "real": RealTable,
    "integer": IntegerTable,
    "ordinal": OrdinalTable,
    "categorical": CategoricalTable,
}
_TABLES: dict[str, type[_Table]] = {"study": StudyTable, "catalogue": CatalogueTable, "show": ShowTable}


def check_document(document: dict[str, Any]) -> StudyDocument:
    """The document with all types checked, or an error that names the place.

    >>> check_document({"study": {"name": "bread"}}).study.query_size
    5
    """
    try:
        return StudyDocument.model_validate(document)
    except ValidationError as error:
        raise SpaceError(_explain(error.errors()[0], document)) from None


def json_schema() -> dict[str, Any]:
    """The JSON schema of a study file, for editors that complete and check TOML.

    >>> json_schema()["title"]
    'choicebo study'
    """
    schema = StudyDocument.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "choicebo study"}


def _explain(error: ErrorDetails, document: dict[str, Any]) -> str:
    place = error["loc"]
    where, model = _table(place, document)
    last = str(place[-1]) if place else ""
    match error["type"]:
        case "extra_forbidden" if last == "constraints":
            return f"{where} has the key 'constraints': move it to the top, above the first [section]."
        case "extra_forbidden":
            return f"{where} has the unknown key {last!r}. {suggestion(last, model.model_fields)}"
        case "missing":
            what = f"section [{last}]" if last in _TABLES and len(place) == 1 else f"key {last!r}"
            return f"{where} lacks the {what}: add it."
        case "union_tag_invalid":
            given = str(error["ctx"]["tag"])
            return f"{where} has the kind {given!r}. {suggestion(given, _PARAMETERS)}"
        case "union_tag_not_found":
            return f"{where} lacks the key 'kind': accepted are {', '.join(map(repr, _PARAMETERS))}."
    depth = 3 if place[0] == "parameter" else 1
    key = place[depth] if len(place) > depth and isinstance(place[depth], str) else place[0]
    return f"{where} has {error['input']!r} for {key!r}: {error['msg'].lower()}."


def _table(place: tuple[int | str, ...], document: dict[str, Any]) -> tuple[str, type[_Table]]:
    """What a person calls the section at ``place``, and the model of its keys."""
    match place:
        case ("parameter", int(number), *rest):
            entry = document["parameter"][number]
            name = entry.get("name") if isinstance(entry, dict) else None
            called = f" ({name!r})" if name else ""
            model = _PARAMETERS[str(rest[0])] if rest and rest[0] in _PARAMETERS else RealTable
            return f"[[parameter]] number {number + 1}{called}", model
        case (str(section), str(), *_):
            return f"[{section}]", _TABLES.get(section, StudyDocument)
    return "The study file", StudyDocument
