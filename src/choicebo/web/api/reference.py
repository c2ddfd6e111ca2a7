"""The OpenAPI schema as rows of a page: for each operation its parameters, the fields of its body, and an example."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One parameter, or one field of a body."""

    name: str
    sort: str
    required: bool
    description: str


@dataclass(frozen=True)
class Operation:
    """One thing that the API does."""

    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Row, ...]
    """Those after the question mark; the others stand in the path."""
    body: tuple[Row, ...]
    answer: tuple[Row, ...]
    example: str
    """A body that is taken, as JSON; empty where there is none."""


def operations(schema: dict[str, Any]) -> list[Operation]:
    """Everything that the API does, in the order of the schema."""
    return [
        _operation(schema, path, method, found)
        for path, methods in schema["paths"].items()
        for method, found in methods.items()
    ]


def _operation(schema: dict[str, Any], path: str, method: str, found: dict[str, Any]) -> Operation:
    body = _content(schema, found.get("requestBody", {}))
    done = next(code for code in ("200", "201") if code in found["responses"])
    answer = _content(schema, found["responses"][done])
    return Operation(
        method=method.upper(),
        path=path,
        summary=found["summary"],
        description=found.get("description", ""),
        parameters=tuple(
            Row(each["name"], _sort(each["schema"]), each.get("required", False), each.get("description", ""))
            for each in found.get("parameters", ())
            if each["in"] == "query"
        ),
        body=_fields(schema, body),
        answer=_fields(schema, _resolved(schema, answer.get("items", answer))),
        example=json.dumps(body["examples"][0]) if body.get("examples") else "",
    )


def _content(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    return _resolved(schema, part.get("content", {}).get("application/json", {}).get("schema", {}))


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["components"]["schemas"][part["$ref"].split("/")[-1]] if "$ref" in part else part
    return found


def _fields(schema: dict[str, Any], part: dict[str, Any]) -> tuple[Row, ...]:
    required = part.get("required", ())
    return tuple(
        Row(name, _sort(_resolved(schema, each)), name in required, each.get("description", ""))
        for name, each in part.get("properties", {}).items()
    )


def _sort(part: dict[str, Any]) -> str:
    """The type of a value in a few words.

    >>> _sort({"type": "array", "items": {"type": "integer"}})
    'array of integer'
    >>> _sort({"anyOf": [{"type": "number"}, {"type": "null"}]})
    'number or null'
    """
    if "anyOf" in part:
        return " or ".join(_sort(each) for each in part["anyOf"])
    if "enum" in part:
        return " or ".join(map(json.dumps, part["enum"]))
    if part.get("type") == "array":
        return f"array of {_sort(part.get('items', {}))}"
    return str(part.get("format") or part.get("type") or "object")
