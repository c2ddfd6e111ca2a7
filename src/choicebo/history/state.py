"""The state of a history: which questions are open, which answers count. Events are applied one by one.

Each question has a stack of acts: an answer, a skip, or a correction on top of them. Undo takes the top act off; with none
left the question is open again. Retracting leaves the act where it is and hides it from the model.

What pages and commands ask for again and again costs the same however long the history is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from choicebo.history.answer import Answer
from choicebo.history.events import ActKind, Event, Measured, option_key
from choicebo.history.question import OWNER, Question

EVERYBODY = None
"""Used instead of a rater's name."""


@dataclass
class QuestionHistory:
    """A question that was asked, and the acts that stand on it."""

    asked: Event
    acts: list[Event] = field(default_factory=list)

    @property
    def top(self) -> Event | None:
        """The act that holds; None if the question is open."""
        return self.acts[-1] if self.acts else None


@dataclass
class _Effective:
    """The shortest history up to a position; more events can be appended to it."""

    until: int = 0
    """The position of the latest event considered."""
    events: list[Event] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)
    """Positions in it, by position in the history."""
    questions: int = 0
    named: bool = False
    """Whether it says who answered."""


class State:
    """What events add up to.

    >>> state = State()
    >>> question = Question(1, [{"x": 1}, {"x": 2}], "To begin.", (True, True), ("sobol",))
    >>> state.apply(Event(1, "question", question=question))
    >>> state.apply(Event(2, "answer", target=1, kept=(0,)))
    >>> state.n_answers(), state.question(1).state
    (1, 'answered')
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: dict[int, Event] = {}
        """By position, in order."""
        self.questions: dict[int, QuestionHistory] = {}
        """By the id of the question."""
        self.undone: set[int] = set()
        self.retracted: set[int] = set()
        self.learned_until = 0
        """The position of the latest event that changed what there is to learn from."""
        self._of: dict[int, QuestionHistory] = {}
        """The question of each of its events, by position."""
        self._open: dict[str, dict[int, QuestionHistory]] = defaultdict(dict)
        self._acts: dict[str | None, dict[int, Event]] = defaultdict(dict)
        """Those not undone, in order: everybody's, and each rater's."""
        self._counting: dict[str | None, set[int]] = defaultdict(set)
        self._last: dict[str | None, int] = defaultdict(int)
        self._measured: dict[str, dict[str, Event]] = {}
        """The latest measurement of each objective by name, of each option by key."""
        self._measured_until = 0
        self._effective: dict[tuple[str | None, bool], _Effective] = {}
        for event in events:
            self.apply(event)

    # ---- events

    def apply(self, event: Event) -> None:
        """Apply one more event."""
        self.events[event.position] = event
        self._last[EVERYBODY] = self._last[event.rater] = event.position
        if event.kind not in ("question", "answer", "skip", "addition"):
            self._effective.clear()  # what came before looks different now
        if event.question is not None:
            self._ask(event, event.question)
        elif event.is_act:
            self._act(event)
        elif event.measured is not None:
            self._measure(event, event.measured)
        else:
            assert event.target is not None
            target = self.events[event.target]
            if event.kind == "undo":
                self._undo(target)
            elif event.kind == "retraction":
                self.retracted.add(target.position)
                self._count(target, False)
            else:
                self.retracted.discard(target.position)
                self._count(target, self._holds(target))

    def _ask(self, event: Event, question: Question) -> None:
        asked = QuestionHistory(event)
        self.questions[question.id] = self._of[event.position] = self._open[event.rater][question.id] = asked

    def _act(self, event: Event) -> None:
        if event.kind != "addition":
            assert event.target is not None
            asked = self._of[event.position] = self._of[event.target]
            if asked.top is not None:
                self._count(asked.top, False)
            asked.acts.append(event)
            self._open[asked.asked.rater].pop(_id(asked), None)
        for rater in (EVERYBODY, event.rater):
            self._acts[rater][event.position] = event
        self._count(event, event.kind != "skip")

    def _measure(self, event: Event, measured: Measured) -> None:
        known = self._measured.setdefault(option_key(measured.option), {})
        known.update(dict.fromkeys(measured.values, event))
        self.learned_until = self._measured_until = event.position

    def _undo(self, act: Event) -> None:
        self.undone.add(act.position)
        for rater in (EVERYBODY, act.rater):
            self._acts[rater].pop(act.position, None)
        self._count(act, False)
        asked = self._of.get(act.position)
        if asked is None:
            return
        asked.acts = [each for each in asked.acts if each.position != act.position]
        if asked.top is None:
            self._open[asked.asked.rater][_id(asked)] = asked
        else:
            self._count(asked.top, self._holds(asked.top))

    def _count(self, act: Event, counts: bool) -> None:
        """Let the model learn from an act, or no longer."""
        if counts == (act.position in self._counting[EVERYBODY]):
            return
        self.learned_until = self.position
        for rater in (EVERYBODY, act.rater):
            (self._counting[rater].add if counts else self._counting[rater].discard)(act.position)

    def _holds(self, act: Event) -> bool:
        """Whether an act is there to be learned from, unless it is a skip or hidden."""
        hidden = act.kind == "skip" or act.position in self.undone or act.position in self.retracted
        return not hidden and (act.kind == "addition" or self._of[act.position].top is act)

    # ---- questions

    @property
    def position(self) -> int:
        """The position of the latest event."""
        return self._last[EVERYBODY]

    def last(self, rater: str | None = EVERYBODY) -> int:
        """The position of the latest event of a rater, or of the latest measurement, which is everybody's."""
        return max(self._last.get(rater, 0), self._measured_until)

    @property
    def next_id(self) -> int:
        """The id of the next question."""
        return len(self.questions) + 1

    def question(self, id: int) -> Question:
        """A question with its answer, if it has one."""
        asked = self.questions[id]
        question, top = asked.asked.question, asked.top
        assert question is not None
        if top is None:
            return question
        answered: Literal["answered", "retracted"] = "retracted" if top.position in self.retracted else "answered"
        return replace(question, state="skipped" if top.kind == "skip" else answered, kept=top.kept, marks=top.marks)

    def open_questions(self, rater: str | None = EVERYBODY) -> list[Question]:
        """Questions without an answer, earliest first."""
        raters = list(self._open) if rater is EVERYBODY else [rater]
        return [self.question(id) for id in sorted(id for name in raters for id in self._open.get(name, ()))]

    # ---- answers

    def n_answers(self, rater: str | None = EVERYBODY) -> int:
        """How many answers and additions the model learns from."""
        return len(self._counting.get(rater, ()))

    def n_raters(self) -> int:
        """How many people the model learns from."""
        return sum(bool(acts) for rater, acts in self._counting.items() if rater is not EVERYBODY)

    def n_acts(self, rater: str | None = EVERYBODY) -> int:
        """How many answers, skips and additions were not undone."""
        return len(self._acts.get(rater, ()))

    def acts(self, rater: str | None = EVERYBODY) -> list[Event]:
        """All answers, corrections, skips and additions, in order; those undone, too."""
        return [event for event in self.events.values() if event.is_act and rater in (EVERYBODY, event.rater)]

    def latest_acts(self, rater: str | None = EVERYBODY, start: int = 0, stop: int | None = 1) -> list[Event]:
        """Some of the acts that were not undone, newest first."""
        return list(islice(reversed(self._acts.get(rater, {}).values()), start, stop))

    def undoable(self, rater: str) -> list[Event]:
        """What undo takes back next, in order: the latest act, or all choices that were added with it."""
        found: list[Event] = []
        for act in reversed(self._acts.get(rater, {}).values()):
            if found and not (act.kind == "addition" and _group(act) == _group(found[0])):
                break
            found.append(act)
            if act.kind != "addition":
                break
        return found[::-1]

    def answer(self, act: Event, repeated: bool = False) -> Answer:
        """An act as it looked."""
        asked = self._of.get(act.position)
        start = act if asked is None else asked.asked
        question = start.question
        kind: ActKind = act.kind  # type: ignore[assignment]
        return Answer(
            id=act.position,
            question=None if question is None else question.id,
            kind=kind,
            options=[dict(option) for option in start.options],
            kept=act.kept or (),
            rater=act.rater,
            at=act.at,
            asked_at=None if question is None else question.asked_at,
            seconds=act.seconds,
            reason=None if question is None else question.reason,
            strategy=None if question is None else question.strategy,
            state=self._state_of(act),
            repeated=repeated,
            marks=act.marks,
        )

    def _state_of(self, act: Event) -> Literal["standing", "retracted", "corrected", "undone"]:
        if act.position in self.undone:
            return "undone"
        if act.kind != "addition" and self._of[act.position].top is not act:
            return "corrected"
        return "retracted" if act.position in self.retracted else "standing"

    # ---- measurements

    def measurements(self) -> list[Event]:
        """What was measured and neither replaced nor withdrawn, in the order in which it was entered."""
        latest = {event.position: event for known in self._measured.values() for event in known.values()}
        holding = (self._holding(latest[position]) for position in sorted(latest))
        return [event for event in holding if event.measured is not None and event.measured.values]

    def _holding(self, event: Event) -> Event:
        """A measurement with those of its values that were neither replaced nor withdrawn."""
        assert event.measured is not None
        option, values = event.measured
        latest = self._measured[option_key(option)]
        holds = {name: value for name, value in values.items() if value is not None and latest[name] is event}
        return replace(event, measured=Measured(option, holds))

    # ---- what a question is computed from

    def effective(self, rater: str | None = EVERYBODY, *, named: bool = False) -> tuple[Event, ...]:
        """The shortest history that leads to the same question: nothing in it is undone, corrected or retracted.

        With a rater, it is theirs alone, as if nobody else took part; what was measured is a fact, whoever entered it. When
        something was answered is left out, which teaches nothing, and who answered, unless it is to be ``named``.
        """
        known = self._effective.setdefault((rater, named), _Effective(named=named))
        for position in range(known.until + 1, self.position + 1):
            event = self.events.get(position)
            if event is not None and (rater in (EVERYBODY, event.rater) or event.measured is not None):
                self._extend(known, event)
        known.until = self.position
        return tuple(known.events)

    def _extend(self, known: _Effective, event: Event) -> None:
        found = known.events
        rater = event.rater if known.named and event.measured is None else OWNER
        plain = replace(event, position=len(found) + 1, rater=rater, at=None, seconds=None, target=None)
        if event.question is not None:
            known.questions += 1
            found.append(
                replace(plain, question=replace(event.question, id=known.questions, rater=rater, known_until=0))
            )
        elif event.measured is not None:
            holding = self._holding(event).measured
            if holding is None or not holding.values:
                return
            found.append(replace(plain, measured=holding))
        elif self._is_top(event):
            hidden = event.position in self.retracted
            if event.kind == "addition":
                if hidden:
                    return
                found.append(plain)
            else:
                asked = known.moved[self._of[event.position].asked.position]
                is_skip = hidden or event.kind == "skip"
                kept, marks = (None, None) if is_skip else (event.kept, event.marks)
                kind: Literal["skip", "answer"] = "skip" if is_skip else "answer"
                found.append(replace(plain, kind=kind, target=asked, kept=kept, marks=marks))
        else:
            return
        known.moved[event.position] = len(found)

    def _is_top(self, event: Event) -> bool:
        if not event.is_act or event.position in self.undone:
            return False
        return event.kind == "addition" or self._of[event.position].top is event


def _id(asked: QuestionHistory) -> int:
    assert asked.asked.question is not None
    return asked.asked.question.id


def _group(addition: Event) -> int:
    return addition.target or addition.position
