"""How a question enters the history of a study while others are asking and answering.

Questions are computed outside of transactions, and a question that was asked meanwhile may show the same options. So those of one
process who would compute the next question take turns: nothing is computed twice. Only other processes can come between,
and after one such collision a question that needs no model is computed in the transaction that stores it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from choicebo.errors import StudyError
from choicebo.history import Event, Question, State, Steering, rules
from choicebo.history.events import option_key
from choicebo.space.context import context_of, contexts_of, first_context
from choicebo.study import wishes as stored_wishes
from choicebo.study.definition import StudyDefinition
from choicebo.study.event_store import EventStore, now
from choicebo.study.posterior_store import PosteriorStore
from choicebo.study.turns import Turns

if TYPE_CHECKING:
    from choicebo.model.engines.base import ProgressCallback
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import EncodedOptions, Settings
    from choicebo.optimizer.computations import Computations
    from choicebo.optimizer.patience import Patience
    from choicebo.optimizer.situation import Situation


_HARMLESS = ("question", "answer", "skip", "addition")
"""Events after which what was learned before is still true. A measurement may correct one that was learned from."""


class RecentModel(NamedTuple):
    """A model of the first answers."""

    state: State
    position: int
    """Until which the history was known to it."""
    learned: int
    """How many answers there were."""
    posterior: Posterior


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
        self._late: dict[tuple[str | None, str], tuple[State, int, Question]] = {}
        """The model's latest question, and what it was computed from, should it come too late to be asked in its turn."""
        self._models: dict[str | None, RecentModel] = {}
        """The latest model of everybody together, or of single raters: the next question can do without the last few answers."""
        self._patience: dict[str, Patience] = {}
        """Of each rater who asks with patience."""
        self._turns: dict[tuple[str | None, bool], Turns] = {}
        """Of those who ask from the same answers: with the model, and at once."""

    @functools.cached_property
    def computations(self) -> Computations:
        """What computes; loading it takes half a second, which listing studies need not wait for."""
        from choicebo.optimizer import Computations

        return Computations(self._executor, self._posteriors)

    @functools.cached_property
    def _encoded(self) -> EncodedOptions:
        from choicebo.optimizer import EncodedOptions

        return EncodedOptions()

    @functools.cached_property
    def _settings(self) -> Settings:
        from choicebo.optimizer import Settings

        return Settings.from_dict(self._what.settings)

    def share(self, rater: str) -> str | None:
        """Whose answers the questions of a rater are computed from: their own, or everybody's."""
        return rater if self._what.raters_mode == "separate" else None

    def needs_model(self, state: State, rater: str) -> bool:
        """Whether the next question of a rater is computed with the model."""
        return self._model_is_ready(state, rater) and not self._is_newcomer(state, rater)

    def _model_is_ready(self, state: State, rater: str) -> bool:
        return self._settings.needs_model(state.n_answers(self.share(rater)), self._what.space.dim)

    def _is_newcomer(self, state: State, rater: str) -> bool:
        """Whether the model knows others, and not yet this rater, whom it learns from together with them."""
        own, together = state.n_answers(rater), self._what.raters_mode == "together"
        newcomer = own < self._settings.newcomer_queries(self._what.space.dim) and own < state.n_answers()
        return together and newcomer and self._model_is_ready(state, rater)

    def situation_of(self, state: State, rater: str, wishes: Steering) -> Situation:
        """What the next question of a rater depends on: what is known, and what is theirs alone."""
        situation, beginning = self.situation(state, self.share(rater)), self._is_newcomer(state, rater)
        if situation.people:
            situation = replace(situation, person=rater)
        return replace(situation, steering=wishes, beginning=beginning) if wishes or beginning else situation

    def situation(self, state: State, rater: str | None) -> Situation:
        """What is known of everybody, or of one rater."""
        from choicebo.optimizer import Situation

        history, position, known = self._situations.get(rater, (None, -1, None))
        if known is None or history is not state or position != state.last(rater):
            related = rater is None and self._what.raters_mode == "related" and state.n_raters() > 1
            events = state.effective(rater, named=related)
            if (rater is not None) != (self._what.raters_mode == "separate"):
                # The questions were computed from other answers, and so were the latent dimensions found on the way.
                events = tuple(_without_looks(event) for event in events)
            known = Situation(self._what.space, self._settings, events, people=related, encoded=self._encoded)
            self._situations[rater] = state, state.last(rater), known
        return known

    def wishes(self, rater: str) -> Steering:
        """What a rater wishes for their next question."""
        with self._events.storage.read() as connection:
            return self._wishes_in(connection, rater)

    def _wishes_in(self, connection: sa.Connection, rater: str) -> Steering:
        """The same; a rater for whom no context was said yet is in the first one."""
        found = stored_wishes.of_rater(connection, self._events.study_id, rater)
        return found if found.context else replace(found, context=first_context(self._what.space))

    def waiting(self, state: State, rater: str, wishes: Steering | None = None) -> list[Question]:
        """The open questions of a rater, earliest first; those of another context wait until that is the rater's again."""
        found = state.open_questions(rater)
        if not found or not contexts_of(self._what.space):
            return found
        here = (self.wishes(rater) if wishes is None else wishes).context
        return [question for question in found if context_of(self._what.space, question.options[0]) == here]

    def ask(
        self,
        rater: str | None = None,
        *,
        another: bool = False,
        stand_in: bool = False,
        within: float | None = None,
        patience: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Question:
        """The rater's open question, or a new one; ``within`` limits the seconds of a question by a model of earlier answers."""
        if stand_in and another:
            raise StudyError("another and stand_in cannot be combined: leave out one of the two.")
        name = self._events.rater(rater)
        share = self.share(name)
        with self._events.reading() as state:
            self._events.check_may_answer(name)
            waiting = self.waiting(state, name)
            if waiting and not another:
                return waiting[0]
            needs_model = self.needs_model(state, name)
        if patience is not None and needs_model and not another:
            from choicebo.optimizer import Patience

            mine = self._patience.setdefault(name, Patience())
            # With the model's question at hand, nothing stands in for it.
            stand_in = True
            mine.is_done(lambda: self.prepare(name, progress), patience)
        at_once = stand_in or not needs_model
        with self._turns.setdefault((share, at_once), Turns()).take():
            question, situation = self._next(name, share, another, stand_in, within, progress)
        if situation is not None:
            self.computations.look_ahead(situation)
        return question

    def _next(
        self,
        name: str,
        share: str | None,
        another: bool,
        stand_in: bool,
        within: float | None,
        progress: ProgressCallback | None,
    ) -> tuple[Question, Situation | None]:
        """The rater's open question; or a new one, and what is known after it if the number of latent dimensions may be due."""
        collided = False
        while True:
            with self._events.reading() as state:
                waiting = self.waiting(state, name)
                if waiting and not another:
                    return waiting[0], None
                wishes = self.wishes(name)
                situation, before = self.situation_of(state, name, wishes), state.position
            if stand_in:
                question, known_until = self._at_once(situation, share, state, before, within)
            else:
                question, known_until = self.computations.question(situation, progress), before
                self._keep_model(self.computations.at_hand(situation), situation, share, state, before)
            with self._events.writing() as writer:
                latest = self._wishes_in(writer.connection, name)
                if latest != wishes:
                    continue
                waiting = self.waiting(writer.state, name, wishes)
                if waiting and not another:
                    return waiting[0], None
                # Answers that came in meanwhile make a question a little out of date, and its event says so. A question does
                # more: asking the one that was computed beside it could be asking the same twice.
                since = _since(writer.state, before, share)
                if writer.state is not state or not is_still_new(question, since):
                    situation = self.situation_of(writer.state, name, wishes)
                    if not collided or (situation.needs_model and not stand_in):
                        collided = True
                        continue
                    question, known_until = situation.stand_in(), writer.state.position
                elif since:
                    question = _with_latest_look(question, self.situation(writer.state, share))
                event = rules.ask(writer.state, question, name, now(), known_until, self._what.settings["seed"])
                writer.append(event)
                if wishes != wishes.later:
                    stored_wishes.store(writer.connection, self._events.study_id, name, wishes.later)
                assert event.question is not None
                soon = self._settings.needs_model(writer.state.n_answers(share) + 1, self._what.space.dim)
                looks = soon and self._settings.latent_dim == "auto"
                return event.question, self.situation(writer.state, share) if looks else None

    def _at_once(
        self, situation: Situation, share: str | None, state: State, position: int, within: float | None
    ) -> tuple[Question, int]:
        """A question without waiting for the model of all answers, and the position until which the history was known to it."""
        if self.computations.has_question(situation):
            return self.computations.question(situation), position
        history, known_until, late = self._late.get((share, situation.for_one), (None, position, None))
        if late is not None and history is state and situation.needs_model and known_until < position:
            with self._events.reading() as now_known:
                since = _since(now_known, known_until, share)
            if is_still_new(late, since):
                return _with_latest_look(late, situation), known_until
        model = self._recent(state, share) if situation.needs_model else None
        if model is not None:
            from choicebo.optimizer.prospect import reduced

            small = reduced(model.posterior)
            if self._models.get(share) is model:
                self._models[share] = model._replace(posterior=small)  # it is reduced once, and only if it is used
            asked = self.computations.question_from(situation, small, model.learned, within)
            if asked is not None:
                return asked, model.position
        return situation.stand_in(), position

    def has_recent_model(self, rater: str) -> bool:
        """Whether there is a model of most of the answers, so that nothing need stand in for that of all of them."""
        with self._events.reading() as state:
            return self._recent(state, self.share(rater)) is not None

    def _recent(self, state: State, share: str | None) -> RecentModel | None:
        """The latest model, if nothing that it learned from was taken back and it knows at least a quarter of the answers."""
        found = self._models.get(share)
        if found is None or found.state is not state or 4 * found.learned < state.n_answers(share):
            return None
        since = _since(state, found.position, share)
        return found if all(event.kind in _HARMLESS for event in since) else None

    def learn(self, rater: str | None) -> None:
        """Fit the model of all answers for :meth:`ask` to ask by. The number of latent dimensions is checked elsewhere."""
        name = self._events.rater(rater)
        share = self.share(name)
        with self._events.reading() as state:
            situation, position = self.situation(state, share), state.position
        if self._model_is_ready(state, name):
            self._recall(situation, share, state)
            self._keep_model(self.computations.sketched(situation), situation, share, state, position)

    def _recall(self, situation: Situation, share: str | None, state: State) -> None:
        """Until there is a model, as after a restart, ask by the latest that was stored, should a fit take long."""
        if share in self._models:
            return
        found = self.computations.known_earlier(situation)
        with self._events.reading() as now_known:
            acts = [act.position for act in now_known.acts(share) if now_known.answer(act).counts]
            learned = 0 if found is None else situation.answers_in(found.data.n_choices)
            if found is not None and now_known is state and 0 < learned <= len(acts):
                self._models[share] = RecentModel(state, sorted(acts)[learned - 1], learned, found)

    def _keep_model(
        self, posterior: Posterior | None, situation: Situation, share: str | None, state: State, position: int
    ) -> None:
        """Keep a model of all answers in a situation, to ask the next questions by."""
        known = self._models.get(share)
        is_newer = known is None or known.state is not state or known.position < position
        if posterior is not None and is_newer:
            self._models[share] = RecentModel(state, position, situation.n_answers, posterior)

    def prepare(self, rater: str | None, progress: ProgressCallback | None = None) -> None:
        """Compute the next question without asking it, so that :meth:`ask` returns at once."""
        name = self._events.rater(rater)
        share = self.share(name)
        with self._events.reading() as state:
            if self.waiting(state, name):
                return
            situation, position = self.situation_of(state, name, self.wishes(name)), state.position
        if situation.needs_model:
            self._recall(situation, share, state)
        question = self.computations.question(situation, progress)
        if situation.needs_model:
            self._late[share, situation.for_one] = state, position, question
            self._keep_model(self.computations.at_hand(situation), situation, share, state, position)

    def forget(self) -> None:
        """Forget what was computed."""
        self.computations.forget()
        self._late.clear()
        self._models.clear()


def is_still_new(question: Question, since: Iterable[Event]) -> bool:
    """Whether a question can be asked after further events: nothing was taken back, and nothing of it was shown."""
    mine = [option_key(option) for option in question.options]
    fresh = {key for key, is_new in zip(mine, question.new, strict=True) if is_new}
    for event in since:
        if event.kind not in _HARMLESS:
            return False
        shown = {option_key(option) for option in event.options}
        if fresh & shown or set(mine) == shown:
            return False
    return True


def _with_latest_look(question: Question, situation: Situation) -> Question:
    """A question that is asked late: of two looks at the number of latent dimensions the later one holds."""
    looks = max(question.looks, situation.looks, key=lambda known: known[-1]["answers"] if known else 0)
    return replace(question, looks=looks)


def _since(state: State, position: int, rater: str | None) -> list[Event]:
    """What happened after a position, to everybody or to one rater."""
    events = (state.events[at] for at in range(position + 1, state.position + 1))
    return [event for event in events if rater in (None, event.rater) or event.measured is not None]


def _without_looks(event: Event) -> Event:
    return event if event.question is None else replace(event, question=replace(event.question, looks=()))
