"""Choices as a JSON document."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from choicebo.choices import building
from choicebo.choices.building import ReadChoices
from choicebo.choices.choice import Choice
from choicebo.choices.options import in_unit_cube
from choicebo.choices.problems import Problems
from choicebo.errors import DataError
from choicebo.formatting import as_given

FORMAT = "choicebo-choices"
VERSION = 1


class PlainChoices(NamedTuple):
    """Options and choices as the lists that both formats hold."""

    options: list[list[float]]
    """One list of inputs per option: m lists of d numbers."""
    choices: list[tuple[list[int], list[int], float, str | None]]
    """For each choice the option indices shown and kept, its weight, and who made it."""


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
            {"shown": shown, "kept": kept}
            | ({} if weight == 1.0 else {"weight": weight})
            | ({} if rater is None else {"rater": rater})
            for shown, kept, weight, rater in plain.choices
        ],
    }
    return json.dumps(document, allow_nan=False)


def read_json(text: str) -> ReadChoices:
    """Read the JSON document, or raise `DataError` saying where it departs from the format.

    >>> read_json(write_json(PlainChoices([[0.0], [0.5]], [([0, 1], [1], 2.0, None)]))).choices
    [Choice(shown=(0, 1), kept=(1,), weight=2)]
    """
    document = _json_document(text)
    if document.get("format") != FORMAT:
        raise DataError(
            f'The JSON has "format": {as_given(document.get("format"))}, but choices have "format": "{FORMAT}"; '
            "check that this is the file you meant."
        )
    if document.get("version") != VERSION:
        raise DataError(
            f'The JSON has "version": {as_given(document.get("version"))}, but only version {VERSION} can be read; '
            "a newer file needs a newer choicebo."
        )
    options = _json_list(document, "options", "the JSON")
    wrong_options = Problems("option")
    for number, row in enumerate(options):
        if type(row) is not list or not set(map(type, row)) <= {float}:
            try:
                options[number] = _option(row)
            except DataError as error:
                wrong_options.add(number, str(error))
    wrong_options.check()
    X = in_unit_cube(options, "X")
    choices = _json_list(document, "choices", "the JSON")
    document.clear()
    wrong_choices = Problems("choice")
    for number, given in enumerate(choices):
        if type(given) is not Choice:
            try:
                choices[number] = _choice(given)
            except DataError as error:
                wrong_choices.add(number, str(error))
    wrong_choices.check()
    return ReadChoices(X, building.as_choices(choices, len(X)), range(len(choices)), "choice")


def _json_document(text: str) -> dict[str, Any]:
    known: dict[int, int] = {}

    def as_choice(found: dict[str, Any]) -> Any:
        """A choice as soon as its object has been read: a dict with its lists needs several times the memory."""
        if len(found) != 2 or "shown" not in found or "kept" not in found:
            return found
        choice = building.quick_choice(found["shown"], found["kept"])
        return found if choice is None else building.sharing(choice, known)

    try:
        document = json.loads(text, object_hook=as_choice)
    except json.JSONDecodeError as error:
        raise DataError(
            f"Malformed JSON at line {error.lineno}, column {error.colno}: {error.msg}; "
            "give the text that to_json() wrote, or use load to read a file."
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"The text cannot be read as JSON ({error}); give the text that to_json() wrote, or use load."
        ) from error
    if not isinstance(document, dict):
        raise DataError(
            f'The JSON holds a {type(document).__name__}, but must hold an object with "format", "version", '
            '"options" and "choices".'
        )
    return document


def _json_list(mapping: dict[str, Any], key: str, where: str) -> list[Any]:
    if key not in mapping:
        raise DataError(f'{where} has no key "{key}"; add "{key}": [...].')
    value = mapping[key]
    if not isinstance(value, list):
        raise DataError(f'"{key}" of {where} is {as_given(value)}, but must be a list.')
    return value


def _choice(given: Any) -> Choice:
    if not isinstance(given, dict):
        raise DataError(f'{as_given(given)} must be an object {{"shown": [...], "kept": [...]}}.')
    shown, kept = (_json_list(given, key, "it") for key in ("shown", "kept"))
    return Choice(shown, kept, given.get("weight", 1.0), given.get("rater"))


def _option(row: Any) -> list[float]:
    if not isinstance(row, list):
        raise DataError(f"it is {as_given(row)}, but must be a list of numbers.")
    for position, value in enumerate(row):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DataError(f"its input {position} is {as_given(value)}, but must be a number.")
    try:
        return [float(value) for value in row]
    except OverflowError as error:
        raise DataError("it holds a number that is too large; inputs lie between 0 and 1.") from error
