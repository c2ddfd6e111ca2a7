"""JSON-compatible records: what each of them holds, and the way back to what they describe."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.discrete import Categorical, Ordinal
from choicebo.space.numeric import Angle, Integer, Real
from choicebo.space.parameters import Parameter
from choicebo.space.values import suggestion

if TYPE_CHECKING:
    from choicebo.space.catalogue import Catalogue
    from choicebo.space.space import Space

VERSION = 1
KINDS: dict[str, type[Parameter]] = {kind.kind: kind for kind in (Real, Integer, Angle, Ordinal, Categorical)}


def check_record(record: Mapping[str, Any], kind: str, fields: Sequence[str]) -> None:
    """Refuse a record of another kind or version, and one that lacks a field."""
    if not isinstance(record, Mapping) or record.get("kind") != kind:
        raise SpaceError(f"The record is not a {kind}: give what to_dict() returned.")
    if record.get("version") != VERSION:
        raise SpaceError(
            f"The record has version {as_given(record.get('version'))}; accepted is {VERSION}: update choicebo."
        )
    for field in fields:
        if field not in record:
            raise SpaceError(f"The record of a {kind} lacks {field!r}: give what to_dict() returned.")


def parameter_from_dict(record: Mapping[str, Any]) -> Parameter:
    """The parameter that its ``to_dict`` described.

    Examples:
        >>> parameter_from_dict({"kind": "integer", "name": "minutes", "low": 5, "high": 40})
        Integer('minutes', 5, 40)
    """
    if not isinstance(record, Mapping):
        raise SpaceError(f"A parameter is {as_given(record)}: give a kind, a name, and the range or the values.")
    given = dict(record)
    called = as_given(given["name"]) if "name" in given else "A parameter"
    if "kind" not in given:
        raise SpaceError(f"{called} lacks the key 'kind': accepted are {', '.join(map(repr, KINDS))}.")
    kind = given.pop("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SpaceError(f"{called} has the kind {as_given(kind)}. {suggestion(kind, KINDS)}")
    fields = {field.name: field for field in dataclasses.fields(KINDS[kind]) if field.init}  # type: ignore[arg-type]
    for key in given:
        if key not in fields:
            raise SpaceError(f"{called} has the unknown key {as_given(key)}. {suggestion(key, fields)}")
    for key, field in fields.items():
        if key not in given and field.default is dataclasses.MISSING:
            raise SpaceError(f"{called} lacks the key {as_given(key)}, which the kind {as_given(kind)} needs: add it.")
    return KINDS[kind](**given)


def parameters_from_list(records: object) -> list[Parameter]:
    """The parameters that their ``to_dict`` described; an error names the place in the list."""
    if not isinstance(records, Sequence) or isinstance(records, str):
        raise SpaceError(f"The parameters are {as_given(records)}: give a list of them.")
    found = []
    for number, record in enumerate(records, start=1):
        try:
            found.append(parameter_from_dict(record))
        except SpaceError as error:
            raise SpaceError(f"Parameter {number}: {error}") from None
    return found


def from_dict(record: Mapping[str, Any]) -> Space | Catalogue:
    """The Space or Catalogue that its ``to_dict`` described.

    Examples:
        >>> from choicebo.space import Real, Space
        >>> from_dict(Space([Real("a", 0, 1)]).to_dict())
        Space(a)
    """
    from choicebo.space.catalogue import Catalogue
    from choicebo.space.space import Space

    kind = record.get("kind") if isinstance(record, Mapping) else None
    if not isinstance(kind, str) or kind not in ("space", "catalogue"):
        raise SpaceError(f"The record has the kind {as_given(kind)}: accepted are 'space' and 'catalogue'.")
    return Space.from_dict(record) if kind == "space" else Catalogue.from_dict(record)
