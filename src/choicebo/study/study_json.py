"""A complete study as JSON: its definition, its raters and its log, checked entry by entry when it is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from choicebo.errors import ChoiceboError, DataError
from choicebo.space import Option
from choicebo.study import checks, compute
from choicebo.study.definition import StudyDefinition
from choicebo.study.log import Asked, Entry, fingerprint
from choicebo.study.replay import optimizer_state, replay

FORMAT, VERSION = "choicebo-study", 1
# What each kind of entry may be about.
_ABOUT = {
    "answer": ("question",),
    "correction": ("question",),
    "skip": ("question",),
    "addition": ("addition",),
    "undo": ("answer", "correction", "skip", "addition"),
    "retraction": ("answer", "correction", "addition"),
    "restoration": ("answer", "correction", "addition"),
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AskedRecord(_Strict):
    """What an entry that is a question has besides its options."""

    number: int = Field(ge=1)
    reason: str
    strategy: str
    latent_dim: int | None
    latent_dim_history: list[dict[str, Any]]
    model_version: str
    seed: int
    known_until: int = Field(ge=0)


class EntryRecord(_Strict):
    """An entry of the log; options are numbers in the list of options."""

    position: int = Field(ge=1)
    kind: Literal["question", "answer", "correction", "skip", "addition", "undo", "retraction", "restoration"]
    rater: str
    at: str
    target: int | None = None
    kept: list[int] | None = None
    seconds: float | None = None
    asked: AskedRecord | None = None
    options: list[int] = []
    new: list[bool] = []


class StudyRecord(_Strict):
    """The document."""

    format: Literal["choicebo-study"]
    version: int
    study: dict[str, Any]
    raters: list[str] = Field(min_length=1)
    options: list[dict[str, Any]]
    log: list[EntryRecord]


def dumps(what: StudyDefinition, raters: Sequence[str], entries: Sequence[Entry]) -> str:
    """The study as a JSON text, an entry on each line."""
    options: dict[str, tuple[int, Option]] = {}
    for entry in entries:
        for option in entry.options:
            options.setdefault(fingerprint(option), (len(options), option))
    lines = [json.dumps(_plain(entry, options), ensure_ascii=False) for entry in entries]
    head = {"format": FORMAT, "version": VERSION, "study": what.to_dict(), "raters": list(raters)}
    parts = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    listed = [json.dumps(option, ensure_ascii=False) for _, option in options.values()]
    parts += [f'"options": {_listed(listed)}', f'"log": {_listed(lines)}']
    return "{\n" + ",\n".join(parts) + "\n}\n"


def loads(text: str) -> tuple[StudyDefinition, list[str], list[Entry]]:
    """The definition, the raters and the log in a JSON text, or an error that says what is wrong where."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"Line {error.lineno}, column {error.colno} is not JSON: {error.msg}.") from None
    except RecursionError:
        raise DataError("The JSON is nested too deeply to be a study.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f'This is not an exported study: its "format" must be {FORMAT!r}.')
    if document.get("version") != VERSION:
        raise DataError(
            f"The study was exported in version {document.get('version')!r} of the format; this choicebo reads {VERSION}: "
            "update choicebo."
        )
    try:
        record = StudyRecord.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        raise DataError(f"{where}: {first['msg']}.") from None
    try:
        what = StudyDefinition.of(record.study)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ChoiceboError):
            raise
        raise DataError(f"study: its record is incomplete or malformed ({error!r}).") from None
    return what, record.raters, _entries(what, record)


def _plain(entry: Entry, options: dict[str, tuple[int, Option]]) -> dict[str, Any]:
    record = EntryRecord(
        position=entry.position,
        kind=entry.kind,  # type: ignore[arg-type]
        rater=entry.rater,
        at=entry.at.isoformat(),
        target=entry.target,
        kept=None if entry.kept is None else list(entry.kept),
        seconds=entry.seconds,
        asked=None if entry.asked is None else AskedRecord(**vars(entry.asked)),
        options=[options[fingerprint(option)][0] for option in entry.options],
        new=list(entry.new),
    )
    return record.model_dump(exclude_defaults=True)


def _listed(lines: Sequence[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def _entries(what: StudyDefinition, record: StudyRecord) -> list[Entry]:
    if len(set(record.raters)) < len(record.raters):
        raise DataError(f"raters: {record.raters} names somebody twice.")
    options = []
    for at, option in enumerate(record.options):
        try:
            options.append(what.space.validate(option))
        except ChoiceboError as error:
            raise DataError(f"options[{at}]: {error}") from None
    entries: list[Entry] = []
    for at, line in enumerate(record.log):
        try:
            entries.append(_entry(line, at, entries, options, record.raters))
        except ChoiceboError as error:
            raise DataError(f"log[{at}]: {error}") from None
    _check_replay(what, entries)
    return entries


def _entry(
    line: EntryRecord, at: int, before: Sequence[Entry], options: Sequence[Option], raters: Sequence[str]
) -> Entry:
    if line.position != at + 1:
        raise DataError(f"its position is {line.position}; entries are numbered from 1 without gaps.")
    if line.rater not in raters:
        raise DataError(f"its rater {line.rater!r} is not among the raters.")
    if (line.kind == "question") != (line.asked is not None):
        raise DataError('a question has "asked", and nothing else has.')
    if (line.kind in ("question", "addition")) != bool(line.options) or len(line.options) != len(line.new):
        raise DataError('a question and an addition have "options" and as many "new", and nothing else has.')
    if any(not 0 <= number < len(options) for number in line.options):
        raise DataError(f"its options are {line.options}, but there are {len(options)}.")
    if line.target is None and line.kind not in ("question", "addition"):
        raise DataError(f'a {line.kind} has a "target": the position of what it is about.')
    if line.target is not None:
        target = before[line.target - 1] if 1 <= line.target <= len(before) else None
        if target is None or target.kind not in _ABOUT.get(line.kind, ()):
            raise DataError(f"its target {line.target} is not an earlier {' or '.join(_ABOUT.get(line.kind, ()))}.")
    shown = [options[number] for number in line.options]
    kept = None if line.kept is None else tuple(line.kept)
    if (line.kind in ("answer", "correction", "addition")) != (kept is not None):
        raise DataError('an answer, a correction and an addition have "kept", and nothing else has.')
    if kept is not None:
        length = len(shown) if line.kind == "addition" else len(before[(line.target or 0) - 1].options)
        kept = checks.positions(kept, length)
    return Entry(
        line.position,
        line.kind,
        line.rater,
        _moment(line.at),
        line.target,
        kept,
        checks.seconds(line.seconds),
        None if line.asked is None else Asked(**line.asked.model_dump()),
        tuple(shown),
        tuple(line.new),
    )


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise DataError(f"its time is {text!r}; give it like 2026-01-31T12:00:00+00:00.") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _check_replay(what: StudyDefinition, entries: Sequence[Entry]) -> None:
    """What is imported must be usable: the loop is rebuilt from it once."""
    state = replay(entries)
    numbers = [entry.asked.number for entry in entries if entry.asked is not None]
    if numbers != list(range(1, len(numbers) + 1)):
        raise DataError(f"log: the questions are numbered {numbers[:10]}; number them from 1 without gaps.")
    compute.restore(optimizer_state(what.space.to_dict(), what.settings, state, asked_so=False))
