"""How a question comes into the history of a study, whoever else is asking and answering meanwhile."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING

from choicebo.errors import StudyError
from choicebo.history import Event, Question, State, rules
from choicebo.history.events import option_key
from choicebo.study.definition import StudyDefinition
from choicebo.study.event_store import EventStore, now
from choicebo.study.posterior_store import PosteriorStore

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.optimizer import Settings
    from choicebo.optimizer.computations import Computations
    from choicebo.optimizer.situation import Situation

_PATIENCE = 3
"""How often a question is computed anew because answers came in meanwhile, before it is asked as it is."""


class Asking:
    """Computes and asks the questions of one study; threads may share it."""

    def __init__(
        self, what: StudyDefinition, events: EventStore, posteriors: PosteriorStore, executor: Executor | None
    ) -> None:
        self._what = what
        self._events = events
        self._posteriors = posteriors
        self._executor = executor
        self._situations: dict[str | None, tuple[State, int, Situation]] = {}
        """Of everybody together and of single raters, each at a position of a history."""
        self._late: dict[str | None, tuple[int, Question]] = {}
        """The model's latest question, and what it was computed from, should it come too late to be asked in its turn."""

    @functools.cached_property
    def computations(self) -> Computations:
        """What computes; loading it takes half a second, which listing studies need not wait for."""
        from choicebo.optimizer.computations import Computations

        return Computations(self._executor, self._posteriors)

    @functools.cached_property
    def _settings(self) -> Settings:
        from choicebo.optimizer import Settings

        return Settings.from_dict(self._what.settings)

    def share(self, rater: str) -> str | None:
        """Whose answers the questions of a rater are computed from: their own, or everybody's."""
        return rater if self._what.raters_mode == "separate" else None

    def needs_model(self, state: State, rater: str) -> bool:
        """Whether the next question of a rater is computed with the model."""
        return self._settings.needs_model(state.n_answers(self.share(rater)), self._what.space.dim)

    def situation(self, state: State, rater: str | None) -> Situation:
        """What is known of everybody, or of one rater."""
        from choicebo.optimizer.situation import Situation

        history, position, known = self._situations.get(rater, (None, -1, None))
        if known is None or history is not state or position != state.last(rater):
            events = state.effective(rater)
            if (rater is not None) != (self._what.raters_mode == "separate"):
                # The questions were computed from other answers, and so were the latent dimensions found on the way.
                events = tuple(_without_looks(event) for event in events)
            known = Situation(self._what.space, self._settings, events)
            self._situations[rater] = state, state.last(rater), known
        return known

    def ask(
        self,
        rater: str | None = None,
        *,
        another: bool = False,
        stand_in: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Question:
        """The rater's open question, or a new one."""
        if stand_in and another:
            raise StudyError("Another question and a stand-in cannot be asked for together: leave out one of the two.")
        name = self._events.rater(rater)
        share, attempt = self.share(name), 0
        while True:
            with self._events.reading() as state:
                waiting = state.open_questions(name)
                if waiting and not another:
                    return waiting[0]
                situation, before, last = self.situation(state, share), state.position, state.last(share)
            if stand_in:
                question, known_until = self._at_once(situation, share, before)
            else:
                question, known_until = self.computations.question(situation, progress), before
            with self._events.writing() as writer:
                state = writer.state
                waiting = state.open_questions(name)
                if waiting and not another:
                    return waiting[0]
                # Answers that came in meanwhile make the question a little out of date. A question does more: asking the one
                # that was computed beside it could be asking the same twice.
                since = _since(state, before, share)
                patient = not stand_in and attempt < _PATIENCE
                if state.last(share) == last or (not patient and is_still_new(question, since)):
                    event = rules.ask(state, question, name, now(), known_until, self._what.settings["seed"])
                    writer.append(event)
                    situation = self.situation(state, share)
                    break
            attempt += 1
        self.computations.look_ahead(situation)
        assert event.question is not None
        return event.question

    def _at_once(self, situation: Situation, share: str | None, position: int) -> tuple[Question, int]:
        """A question without waiting for the model, and the position until which the history was known to it."""
        if self.computations.has_question(situation):
            return self.computations.question(situation), position
        known_until, late = self._late.get(share, (position, None))
        if late is not None and situation.needs_model and known_until < position:
            with self._events.reading() as state:
                since = _since(state, known_until, share)
            if is_still_new(late, since):
                # Of two looks at the number of latent dimensions the later one holds.
                looks = max(late.looks, situation.looks, key=lambda known: known[-1]["answers"] if known else 0)
                return replace(late, looks=looks), known_until
        return situation.stand_in(), position

    def prepare(self, rater: str | None, progress: ProgressCallback | None = None) -> None:
        """Compute the next question without asking it, so that :meth:`ask` returns at once."""
        name = self._events.rater(rater)
        share = self.share(name)
        with self._events.reading() as state:
            if state.open_questions(name):
                return
            situation, position = self.situation(state, share), state.position
        question = self.computations.question(situation, progress)
        if situation.needs_model:
            self._late[share] = position, question

    def forget(self) -> None:
        """Forget what was computed."""
        self.computations.forget()
        self._late.clear()


def is_still_new(question: Question, since: Iterable[Event]) -> bool:
    """Whether a question can be asked after further events: nothing was taken back, and nothing of it was shown."""
    mine = [option_key(option) for option in question.options]
    fresh = {key for key, is_new in zip(mine, question.new, strict=True) if is_new}
    for event in since:
        if event.kind not in ("question", "answer", "skip", "addition"):
            return False
        shown = {option_key(option) for option in event.options}
        if fresh & shown or set(mine) == shown:
            return False
    return True


def _since(state: State, position: int, rater: str | None) -> list[Event]:
    """What happened after a position, to everybody or to one rater."""
    events = (state.events[at] for at in range(position + 1, state.position + 1))
    return [event for event in events if rater in (None, event.rater)]


def _without_looks(event: Event) -> Event:
    return event if event.question is None else replace(event, question=replace(event.question, looks=()))
