"""Choices as a JSON document."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from choicebo.errors import DataError
from choicebo.formatting import as_given

FORMAT = "choicebo-choices"
VERSION = 1


class PlainChoices(NamedTuple):
    """Options and choices as the lists that both formats hold."""

    options: list[list[float]]
    """One list of inputs per option: m lists of d numbers."""
    choices: list[tuple[list[int], list[int], float]]
    """For each choice the option indices shown and kept, and its weight."""


def write_json(plain: PlainChoices) -> str:
    """Return the JSON document; `repr` of a float is its shortest exact form, so nothing is lost.

    >>> write_json(PlainChoices([[0.0], [0.5]], []))
    '{"format": "choicebo-choices", "version": 1, "options": [[0.0], [0.5]], "choices": []}'
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "options": plain.options,
        "choices": [
            {"shown": shown, "kept": kept, **({} if weight == 1.0 else {"weight": weight})}
            for shown, kept, weight in plain.choices
        ],
    }
    return json.dumps(document, allow_nan=False)


def read_json(text: str) -> PlainChoices:
    """Read the JSON document, or raise `DataError` saying where it departs from the format.

    >>> plain = PlainChoices([[0.0], [0.5]], [([0, 1], [1], 1.0)])
    >>> read_json(write_json(plain)) == plain
    True
    """
    document = _json_document(text)
    if document.get("format") != FORMAT:
        raise DataError(
            f'the JSON has "format": {as_given(document.get("format"))}, but choices have "format": "{FORMAT}"; '
            "check that this is the file you meant"
        )
    if document.get("version") != VERSION:
        raise DataError(
            f'the JSON has "version": {as_given(document.get("version"))}, but only version {VERSION} can be read; '
            "a newer file needs a newer choicebo"
        )
    options = [_json_option(row, number) for number, row in enumerate(_json_list(document, "options", "the JSON"))]
    choices = []
    for number, choice in enumerate(_json_list(document, "choices", "the JSON")):
        where = f"choices[{number}]"
        if not isinstance(choice, dict):
            raise DataError(f'{where} is {as_given(choice)}, but must be an object {{"shown": [...], "kept": [...]}}')
        weight = choice.get("weight", 1.0)
        choices.append((_json_list(choice, "shown", where), _json_list(choice, "kept", where), weight))
    return PlainChoices(options, choices)


def _json_document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}; "
            "give the text that to_json() wrote, or use load to read a file"
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"not readable as JSON ({error}); give the text that to_json() wrote, or use load") from error
    if not isinstance(document, dict):
        raise DataError(
            f'the JSON holds a {type(document).__name__}, but must hold an object with "format", "version", '
            '"options" and "choices"'
        )
    return document


def _json_list(mapping: dict[str, Any], key: str, where: str) -> list[Any]:
    if key not in mapping:
        raise DataError(f'{where} has no key "{key}"; add "{key}": [...]')
    value = mapping[key]
    if not isinstance(value, list):
        raise DataError(f'"{key}" of {where} is {as_given(value)}, but must be a list')
    return value


def _json_option(row: Any, number: int) -> list[float]:
    if not isinstance(row, list):
        raise DataError(f"options[{number}] is {as_given(row)}, but must be a list of numbers")
    for position, value in enumerate(row):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(f"options[{number}][{position}] is {as_given(value)}, but must be a number")
    try:
        return [float(value) for value in row]
    except OverflowError as error:
        raise DataError(f"options[{number}] holds a number too large; inputs lie between 0 and 1") from error
