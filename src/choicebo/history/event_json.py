"""Events as JSON-compatible data, checked one by one when they are read. A saved loop and an exported study share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import numpy as np

from choicebo.choices import ChoiceData
from choicebo.choices.marks import Marks, read_marks, require_one
from choicebo.choices.positions import kept_positions
from choicebo.errors import ChoiceboError, DataError
from choicebo.extras import needs
from choicebo.formatting import as_given
from choicebo.history import steering
from choicebo.history.events import Event, Kind, Measured, option_key
from choicebo.history.measuring import read_measured
from choicebo.history.question import OWNER, Question
from choicebo.history.rules import seconds_taken
from choicebo.history.state import State
from choicebo.history.steering import Steering
from choicebo.space import Option, Searchable
from choicebo.space.context import contexts_of, require_one_context
from choicebo.space.points import distinct

with needs("study", "A saved loop"):
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

# What each kind of event may be about.
_ABOUT = {
    "answer": ("question",),
    "correction": ("question",),
    "skip": ("question",),
    "addition": ("addition",),
    "undo": ("answer", "correction", "skip", "addition"),
    "retraction": ("answer", "correction", "addition"),
    "restoration": ("answer", "correction", "addition"),
}


class Strict(BaseModel):
    """A part of a document that holds nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _storable(text: str) -> str:
    """A text that every database and file can store."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it holds NUL or half of a character: leave that out")
    return text


Text = Annotated[str, AfterValidator(_storable)]
Dimension = Annotated[int, Field(ge=1, le=1000)]


class LookRecord(BaseModel):
    """A look at the number of latent dimensions."""

    model_config = ConfigDict(extra="allow", strict=True)

    answers: int = Field(ge=0, le=2**31)
    latent_dim: Dimension
    used_from: int = Field(default=0, ge=0, le=2**31)


class WishesRecord(Strict):
    """What a person asked of a question."""

    locked: dict[str, Any] = {}
    like: dict[str, Any] | None = None
    include: list[dict[str, Any]] = []
    context: dict[str, Any] = {}


class AskedRecord(Strict):
    """What an event that asks a question has besides its options."""

    number: int = Field(ge=1, lt=2**31)
    reason: Text
    strategy: Text
    latent_dim: Dimension | None
    latent_dim_history: list[LookRecord]
    model_version: Text
    seed: int = Field(ge=0, lt=2**63)
    known_until: int = Field(ge=0, lt=2**31)
    wishes: WishesRecord | None = None


class MeasuredRecord(Strict):
    """Values that were entered for an option; null withdraws one."""

    option: dict[str, Any]
    values: dict[str, float | None] = Field(min_length=1)


class EventRecord(Strict):
    """An event; options are numbers in the list of options."""

    position: int = Field(ge=1, lt=2**63)
    kind: Kind
    rater: str = ""
    at: str = ""
    target: int | None = Field(default=None, ge=1, lt=2**63)
    kept: list[int] | None = None
    best: int | None = None
    worst: int | None = None
    ranking: list[int | list[int]] | None = None
    seconds: float | None = None
    asked: AskedRecord | None = None
    options: list[int] = []
    new: list[bool] = []
    measured: MeasuredRecord | None = None


class EventsRecord(BaseModel):
    """The part of a document that holds events."""

    options: list[dict[str, Any]]
    log: list[EventRecord]


def to_record(events: Sequence[Event]) -> dict[str, Any]:
    """``options``, each once, and the ``log``, an event in each line."""
    options: dict[str, tuple[int, Option]] = {}
    for event in events:
        for option in event.options:
            options.setdefault(option_key(option), (len(options), option))
    return {"options": [option for _, option in options.values()], "log": [_line(event, options) for event in events]}


def from_record(
    document: Mapping[str, Any], space: Searchable, raters: Sequence[str] | None = None, *, has_baseline: bool = True
) -> list[Event]:
    """The events that :func:`to_record` described, or an error that says what is wrong where.

    Args:
        document: The record; it may hold other things, too.
        space: What its options must belong to.
        raters: The names that events may have; None: events have neither rater nor time.
        has_baseline: Whether an answer may keep nothing.
    """
    record = validated(EventsRecord, {name: document.get(name) for name in ("options", "log")})
    options = []
    for at, option in enumerate(record.options):
        try:
            options.append(space.validate(option))
        except ChoiceboError as error:
            raise DataError(f"options[{at}]: {error}") from None
    points = space.encode(options) if options else np.empty((0, space.dim))
    events: list[Event] = []
    for at, line in enumerate(record.log):
        try:
            events.append(_event(line, at, events, options, raters, space))
            _check_choice(line, events[-1], record.log, points, has_baseline)
            if events[-1].options and contexts_of(space):
                require_one_context(space, events[-1].options)
            if line.asked is not None and line.asked.wishes is not None:
                wishes = line.asked.wishes
                own = (wishes.locked, wishes.like, wishes.include, wishes.context)
                steering.checked(space, len(line.options) + 1, *own)
        except ChoiceboError as error:
            raise DataError(f"log[{at}]: {error}") from None
    ids = [event.question.id for event in events if event.question is not None]
    if ids != list(range(1, len(ids) + 1)):
        raise DataError(f"log: the questions are numbered {ids[:10]}; number them from 1 without gaps.")
    return events


def validated(model: type[BaseModel], document: Any) -> Any:
    """A document as a pydantic model; an error names the first place that is wrong."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        raise DataError(f"{where}: {first['msg']}.") from None


def _line(event: Event, options: Mapping[str, tuple[int, Option]]) -> dict[str, Any]:
    question = event.question
    record = EventRecord(
        position=event.position,
        kind=event.kind,
        rater="" if event.at is None else event.rater,
        at="" if event.at is None else event.at.isoformat(),
        target=event.target,
        kept=None if event.kept is None else list(event.kept),
        **({} if event.marks is None else event.marks.to_dict()),
        seconds=event.seconds,
        asked=None
        if question is None
        else AskedRecord(
            number=question.id,
            reason=question.reason,
            strategy=question.strategy,
            latent_dim=question.latent_dim,
            latent_dim_history=[LookRecord(**look) for look in question.looks],
            model_version=question.model_version,
            seed=question.seed,
            known_until=question.known_until,
            wishes=WishesRecord(**question.wishes.to_dict()) if question.wishes else None,
        ),
        options=[options[option_key(option)][0] for option in event.options],
        new=list(event.new),
        measured=None
        if event.measured is None
        else MeasuredRecord(option=event.measured.option, values=dict(event.measured.values)),
    )
    line = record.model_dump(exclude_defaults=True)
    if question is not None:
        line["asked"]["latent_dim_history"] = list(question.looks)
    return line


def _event(
    line: EventRecord,
    at: int,
    before: Sequence[Event],
    options: Sequence[Option],
    raters: Sequence[str] | None,
    space: Searchable,
) -> Event:
    if line.position != at + 1:
        raise DataError(f"its position is {line.position}; entries are numbered from 1 without gaps.")
    if raters is not None and line.rater not in raters:
        raise DataError(f"its rater {line.rater!r} is not among the raters.")
    if (line.kind == "question") != (line.asked is not None):
        raise DataError('a question has "asked", and nothing else has.')
    if (line.kind in ("question", "addition")) != bool(line.options) or len(line.options) != len(line.new):
        raise DataError('a question and an addition have "options" and as many "new", and nothing else has.')
    if any(not 0 <= number < len(options) for number in line.options):
        raise DataError(f"its options are {as_given(line.options)}, but there are {len(options)}.")
    if (line.kind == "measurement") != (line.measured is not None):
        raise DataError('a measurement has "measured", and nothing else has.')
    if line.target is None and line.kind not in ("question", "addition", "measurement"):
        raise DataError(f'a {line.kind} has a "target": the position of what it is about.')
    if line.target is not None:
        target = before[line.target - 1] if 1 <= line.target <= len(before) else None
        if target is None or target.kind not in _ABOUT.get(line.kind, ()):
            raise DataError(f"its target {line.target} is not an earlier {' or '.join(_ABOUT.get(line.kind, ()))}.")
    shown = [options[number] for number in line.options]
    kept = None if line.kept is None else tuple(line.kept)
    if (line.kind in ("answer", "correction", "addition")) != (kept is not None):
        raise DataError('an answer, a correction and an addition have "kept", and nothing else has.')
    length = 0
    if kept is not None:
        length = len(shown) if line.kind == "addition" else len(before[(line.target or 0) - 1].options)
        kept = kept_positions(kept, length)
    marks = _marks(line, kept, length)
    rater, moment = (OWNER, None) if raters is None else (line.rater, _moment(line.at))
    is_addition = line.kind == "addition"
    return Event(
        line.position,
        line.kind,
        rater,
        moment,
        line.target,
        kept,
        seconds_taken(line.seconds),
        None if line.asked is None else _question(line.asked, rater, moment, shown, line.new),
        tuple(shown) if is_addition else (),
        tuple(line.new) if is_addition else (),
        marks,
        _measured(line.measured, space),
    )


def _measured(given: MeasuredRecord | None, space: Searchable) -> Measured | None:
    return None if given is None else read_measured(space, given.option, given.values)


def _marks(line: EventRecord, kept: tuple[int, ...] | None, shown: int) -> Marks | None:
    """What an answer says beyond what is kept, which must agree with that."""
    if line.best is None and line.worst is None and line.ranking is None:
        return None
    require_one(None, line.best, line.worst, line.ranking)
    marks = read_marks(shown, best=line.best, worst=line.worst, ranking=line.ranking) if kept is not None else None
    if marks is None or marks.kept != kept:
        raise DataError(f"its best option or ranking does not agree with what is kept, {as_given(kept)}.")
    return marks


def _check_choice(line: EventRecord, event: Event, log: Sequence[EventRecord], points: Any, has_baseline: bool) -> None:
    """Refuse what could be shown but not learned from."""
    shown = points[line.options if line.target is None or line.kind == "addition" else log[line.target - 1].options]
    if line.kind == "question" and len(distinct(shown)[0]) < len(shown):
        raise DataError("it shows the same option twice.")
    if line.asked is not None and line.asked.known_until >= line.position:
        raise DataError(f'its "known_until" is {line.asked.known_until}; a question knows only what came before it.')
    if line.kept is None:
        return
    if event.marks is not None:
        for among, kept in event.marks.choices(len(shown)):
            ChoiceData.from_sets([shown[list(among)]], [[among.index(at) for at in kept]])
    elif line.kept or line.kind == "addition":
        ChoiceData.from_sets([shown], [line.kept])
    elif not has_baseline:
        raise DataError("nothing was kept, and there is no baseline that could beat everything: make it a skip.")


def _question(
    asked: AskedRecord, rater: str, at: datetime | None, shown: list[Option], new: Sequence[bool]
) -> Question:
    return Question(
        id=asked.number,
        options=shown,
        reason=asked.reason,
        new=tuple(new),
        found_by=tuple(asked.strategy.split("+")),
        latent_dim=asked.latent_dim,
        looks=tuple(look.model_dump(exclude_unset=True) for look in asked.latent_dim_history),
        rater=rater,
        asked_at=at,
        seed=asked.seed,
        model_version=asked.model_version,
        known_until=asked.known_until,
        wishes=Steering() if asked.wishes is None else Steering.from_dict(asked.wishes.model_dump()),
    )


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise DataError(f"its time is {text!r}; give it like 2026-01-31T12:00:00+00:00.") from None


def checked_state(events: Sequence[Event]) -> State:
    """The state that events lead to; an error where one cannot follow the others."""
    state = State()
    for at, event in enumerate(events):
        if event.kind in ("answer", "skip") and event.target is not None:
            top = state.questions[_id(events[event.target - 1])].top
            if top is not None:
                raise DataError(f"log[{at}]: question {_id(events[event.target - 1])} is answered already.")
        state.apply(event)
    return state


def _id(event: Event) -> int:
    assert event.question is not None
    return event.question.id
