"""JSON-compatible records: what each of them holds, and the way back to what they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from choicebo.errors import SpaceError
from choicebo.space.checks import suggestion
from choicebo.space.listed import Categorical, Ordinal
from choicebo.space.numeric import Integer, Real
from choicebo.space.parameters import Parameter

if TYPE_CHECKING:
    from choicebo.space.catalogue import Catalogue
    from choicebo.space.space import Space

VERSION = 1
KINDS: dict[str, type[Parameter]] = {kind.kind: kind for kind in (Real, Integer, Ordinal, Categorical)}


def check_record(record: Mapping[str, Any], kind: str, fields: Sequence[str]) -> None:
    """Refuse a record of another kind or version, and one that lacks a field."""
    if not isinstance(record, Mapping) or record.get("kind") != kind:
        raise SpaceError(f"The record is not a {kind}: give what to_dict() returned.")
    if record.get("version") != VERSION:
        raise SpaceError(f"The record has version {record.get('version')!r}; accepted is {VERSION}: update choicebo.")
    for field in fields:
        if field not in record:
            raise SpaceError(f"The record of a {kind} lacks {field!r}: give what to_dict() returned.")


def parameter_from_dict(record: Mapping[str, Any]) -> Parameter:
    """The parameter that its ``to_dict`` described.

    >>> parameter_from_dict({"kind": "integer", "name": "minutes", "low": 5, "high": 40})
    Integer('minutes', 5, 40)
    """
    fields = dict(record)
    kind = str(fields.pop("kind", None))
    if kind not in KINDS:
        raise SpaceError(f"A parameter has the kind {kind!r}. {suggestion(kind, KINDS)}")
    try:
        return KINDS[kind](**fields)
    except TypeError:
        raise SpaceError(f"The record of a {kind} parameter has the wrong fields: {sorted(fields)}.") from None


def from_dict(record: Mapping[str, Any]) -> Space | Catalogue:
    """The Space or Catalogue that its ``to_dict`` described.

    >>> from choicebo.space import Real, Space
    >>> from_dict(Space([Real("a", 0, 1)]).to_dict())
    Space(a)
    """
    from choicebo.space.catalogue import Catalogue
    from choicebo.space.space import Space

    kind = record.get("kind") if isinstance(record, Mapping) else None
    if kind not in ("space", "catalogue"):
        raise SpaceError(f"The record has the kind {kind!r}: accepted are 'space' and 'catalogue'.")
    return Space.from_dict(record) if kind == "space" else Catalogue.from_dict(record)
