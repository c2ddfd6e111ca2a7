"""A complete study as JSON: its definition, its raters and its log, checked entry by entry when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field

from choicebo.errors import DataError
from choicebo.formatting import as_given
from choicebo.history import OWNER, Event
from choicebo.history.event_json import EventRecord, Strict, checked_state, from_record, to_record, validated
from choicebo.study.definition import StudyDefinition
from choicebo.study.raters import check_name

FORMAT, VERSION = "choicebo-study", 1


class StudyRecord(Strict):
    """The document."""

    format: Literal["choicebo-study"]
    version: int
    study: dict[str, Any]
    raters: list[str] = Field(min_length=1)
    removed: dict[str, str] = Field(default_factory=dict)
    """Raters who may no longer answer, and since when."""
    options: list[dict[str, Any]]
    log: list[EventRecord]


def dumps(what: StudyDefinition, raters: Mapping[str, datetime | None], events: Sequence[Event]) -> str:
    """The study as a JSON text, an event on each line."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "study": what.to_dict(), "raters": list(raters)}
    removed = {name: at.isoformat() for name, at in raters.items() if at is not None}
    if removed:  # left out where empty, so that an earlier release can read what it knows of
        head["removed"] = removed
    parts = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    for key, lines in to_record(events).items():
        listed = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        parts.append(f"{json.dumps(key)}: " + (f"[\n{listed}\n]" if listed else "[]"))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def loads(text: str) -> tuple[StudyDefinition, dict[str, datetime | None], list[Event]]:
    """The definition, the raters and the log in a JSON text, or an error that says what is wrong where."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"Line {error.lineno}, column {error.colno} is not JSON: {error.msg}.") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise DataError(
            "The JSON holds a number that is too long for a study: check that this is the file you meant."
        ) from None
    except RecursionError:
        raise DataError("The JSON is nested too deeply to be a study.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f'This is not an exported study: its "format" must be {FORMAT!r}.')
    if document.get("version") != VERSION:
        raise DataError(
            f"The study was exported in version {as_given(document.get('version'))} of the format; "
            f"this choicebo reads {VERSION}: update choicebo."
        )
    record = validated(StudyRecord, document)
    what = StudyDefinition.of(record.study)
    if len(set(record.raters)) < len(record.raters):
        raise DataError(f"raters: {record.raters} names somebody twice; name each rater once.")
    events = from_record(document, what.space, record.raters, has_baseline=what.baseline is not None)
    checked_state(events)
    for person in record.raters:
        if check_name(person) != person:
            raise DataError(f"raters: {person!r} has spaces around it.")
    if OWNER not in record.raters:
        raise DataError(f"raters: {OWNER!r} is not among them.")
    if strangers := set(record.removed) - set(record.raters) | ({OWNER} & set(record.removed)):
        raise DataError(f"removed: {min(strangers)!r} is the owner, or is not among the raters.")
    return what, {person: _moment(record.removed.get(person)) for person in record.raters}, events


def _moment(given: str | None) -> datetime | None:
    try:
        at = None if given is None else datetime.fromisoformat(given)
        return at if at is None else at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise DataError(f"removed: {as_given(given)} is not a time: write it as 2026-05-01T12:00:00+00:00.") from None
