"""What may happen next: each function looks at a state and gives the events that follow it, or says what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import repeat
from typing import Any, Literal, NamedTuple

import choicebo
from choicebo.choices import ChoiceData
from choicebo.choices.marks import Marks, read_marks, require_learnable, require_one
from choicebo.choices.positions import kept_positions
from choicebo.errors import AlreadyAnsweredError, DataError, StudyError
from choicebo.formatting import as_given
from choicebo.history.events import Event, OptionKeys
from choicebo.history.question import Question
from choicebo.history.state import QuestionHistory, State
from choicebo.space import Option, Searchable
from choicebo.space.context import require_one_context


class Added(NamedTuple):
    """An answer given elsewhere."""

    shown: Sequence[Option]
    kept: tuple[int, ...]
    """Positions."""
    marks: Marks | None = None
    """What else was said."""


def seconds_taken(given: float | None) -> float | None:
    """How long an answer took."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < 1e300:
        raise DataError(f"seconds is {as_given(given)}: give the time that the answer took, 0 or more.")
    return float(given)


def choice_made_elsewhere(space: Searchable, shown: Sequence[Any], kept: Iterable[Any]) -> Added:
    """A choice among options of a space, checked."""
    if isinstance(shown, (str, bytes)) or not isinstance(shown, Sequence):
        raise DataError(f"shown is {as_given(shown)}: give a list of at least two options.")
    options = [space.validate(option) for option in shown]
    if len(options) < 2:
        raise DataError(f"{len(options)} options were shown: a choice needs at least two.")
    positions = kept_positions(kept, len(options))
    if not positions:
        raise DataError("Nothing was kept: a choice made elsewhere keeps at least one option.")
    require_one_context(space, options)
    # Refuses an option that was kept and rejected at once.
    ChoiceData.from_sets([space.encode(options)], [positions])
    return Added(options, positions)


def answer_made_elsewhere(
    space: Searchable,
    shown: Sequence[Any],
    kept: Iterable[Any] | None = None,
    *,
    best: Any = None,
    worst: Any = None,
    ranking: Iterable[Any] | None = None,
) -> Added:
    """An answer of any kind among options of a space, checked.

    Args:
        space: What the options belong to.
        shown: The options.
        kept: The positions kept.
        best: The position of the best option instead, also together with ``worst``.
        worst: The position of the worst option.
        ranking: Positions instead, best first; a list instead of a position is a tie.
    """
    require_one(kept, best, worst, ranking)
    if kept is not None:
        return choice_made_elsewhere(space, shown, kept)
    # Refuses what is no list of options; which of them are kept does not matter for that.
    options = choice_made_elsewhere(space, shown, range(len(shown)) if isinstance(shown, Sequence) else [0]).shown
    marks = read_marks(len(options), best=best, worst=worst, ranking=ranking)
    for among, chosen in marks.choices(len(options)):
        choice_made_elsewhere(space, [options[at] for at in among], [among.index(at) for at in chosen])
    return Added(options, marks.kept, marks)


def ask(state: State, question: Question, rater: str, at: datetime | None, known_until: int, seed: int) -> Event:
    """Ask a question that was computed when the history was known until there."""
    asked = replace(
        question,
        id=state.next_id,
        rater=rater,
        asked_at=at,
        seed=seed,
        model_version=f"choicebo {choicebo.__version__}",
        known_until=known_until,
    )
    return Event(state.position + 1, "question", rater, at, question=asked)


def asked(state: State, question: Question | int, rater: str | None = None) -> QuestionHistory:
    """The question of that id, which must have been asked, and to that rater."""
    number = question.id if isinstance(question, Question) else question
    found = state.questions.get(number) if isinstance(number, int) else None
    if found is None:
        there = f"questions 1 to {len(state.questions)} were asked" if state.questions else "none was asked yet"
        raise StudyError(f"There is no question {as_given(number)}: {there}.")
    if isinstance(question, Question) and question.options != list(found.asked.options):
        # It was asked of another history: perhaps a backup was put in its place.
        raise StudyError(f"Question {number} shows other options here: ask again, and answer what is asked.")
    if rater is not None and (not isinstance(rater, str) or rater != found.asked.rater):
        raise StudyError(
            f"Question {number} was asked to {found.asked.rater!r}, not to {as_given(rater)}: answer your own questions."
        )
    return found


def asked_id(state: State, question: Question | int) -> int:
    """The id of a question, which must have been asked."""
    found = asked(state, question).asked.question
    assert found is not None
    return found.id


def answer(
    state: State,
    question: Question | int,
    kept: Iterable[int] | None,
    *,
    best: Any = None,
    worst: Any = None,
    ranking: Iterable[Any] | None = None,
    at: datetime | None,
    rater: str | None = None,
    seconds: float | None = None,
    correction: bool = False,
    empty_is_skip: bool = True,
    likelihood: str = "choice",
) -> Event:
    """An answer as :func:`answer_made_elsewhere` takes it, or a skip if it says nothing at all.

    It is the event that is there already if it is the same again. What a ``likelihood`` cannot learn from is refused.
    """
    took = seconds_taken(seconds)
    found = asked(state, question, rater)
    id, top = asked_id(state, question), found.top
    positions, marks = None if kept is None else kept_positions(kept, len(found.asked.options)), None
    if any(given is not None for given in (kept, best, worst, ranking)):
        require_one(kept, best, worst, ranking)
    if best is not None or ranking is not None:
        marks = read_marks(len(found.asked.options), best=best, worst=worst, ranking=ranking)
        positions = marks.kept
    if positions == () and empty_is_skip:
        positions = None
    if top is not None:
        if (top.kept, top.marks) == (positions, marks) and not (correction and top.position in state.retracted):
            return top
        if not correction:
            before = "skipped" if top.kept is None else f"answered with {_told(top)}"
            raise AlreadyAnsweredError(
                f"Question {id} is {before} already: undo that, or send this as a correction.",
                id,
                top.kept,
            )
    kind: Literal["skip", "answer", "correction"] = (
        "skip" if positions is None else "answer" if top is None else "correction"
    )
    event = Event(state.position + 1, kind, found.asked.rater, at, found.asked.position, positions, took, marks=marks)
    if positions:
        require_learnable(likelihood, event.choices(found.asked.options))
    return event


def _told(act: Event) -> str:
    return str(list(act.kept or ())) if act.marks is None else str(act.marks.to_dict())


def undo(state: State, rater: str, at: datetime | None) -> list[Event]:
    """Take back the rater's latest act, or all choices that were added together; nothing if there is none."""
    return [
        Event(state.position + number, "undo", rater, at, act.position)
        for number, act in enumerate(state.undoable(rater), start=1)
    ]


def amend(state: State, position: int, kind: Literal["retraction", "restoration"], at: datetime | None) -> Event | None:
    """Hide an answer from the model, or let it count again; None if that is so already."""
    act = state.events.get(position) if isinstance(position, int) else None
    if act is None or not act.is_act or act.kind == "skip":
        raise StudyError(f"There is no answer {as_given(position)}: see the history.")
    if position in state.undone:
        raise StudyError(f"The answer {position} was undone: it can be neither retracted nor restored.")
    if (position in state.retracted) == (kind == "retraction"):
        return None
    return Event(state.position + 1, kind, act.rater, at, position)


def amend_all(
    state: State, positions: Iterable[int], kind: Literal["retraction", "restoration"], at: datetime | None
) -> list[Event]:
    """The same for several answers; those that were undone or corrected meanwhile, or are so already, are passed over."""
    there = [state.events[position] for position in positions if position not in state.undone]
    found = (amend(state, act.position, kind, at) for act in there)
    return [
        replace(event, position=state.position + number)
        for number, event in enumerate((event for event in found if event is not None), start=1)
    ]


def add(
    state: State, choices: Iterable[Added], rater: str, at: datetime | None, likelihood: str = "choice"
) -> list[Event]:
    """Choices made elsewhere, together; undo takes them back together."""
    return list(additions(state, choices, repeat(rater), at, likelihood))


def additions(
    state: State,
    choices: Iterable[Added],
    raters: Iterable[str],
    at: datetime | None,
    likelihood: str = "choice",
) -> Iterator[Event]:
    """The same one by one, for more choices than should be in memory at once, each with its rater.

    The state may follow meanwhile. Undo takes back what was added together by a rater.
    """
    position, key = state.position, OptionKeys()
    first: dict[str, int] = {}
    seen = {key(option) for event in state.events.values() for option in event.options}
    for (options, kept, marks), rater in zip(choices, raters, strict=False):
        position += 1
        keys = [key(option) for option in options]
        new = tuple([each not in seen for each in keys])
        seen.update(keys)
        target = first.get(rater)
        first.setdefault(rater, position)
        event = Event(position, "addition", rater, at, target, kept, None, None, tuple(options), new, marks)
        require_learnable(likelihood, event.choices(event.added))
        yield event
