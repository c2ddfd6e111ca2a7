"""From what happened to the next question: a pure function, wherever and whenever it is computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice, ChoiceData
from choicebo.history import Event, Look, Question, Steering
from choicebo.history.events import Measured
from choicebo.history.measuring import known_with
from choicebo.model.dimension import FIRST_DIM
from choicebo.model.engines.base import ProgressCallback
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior
from choicebo.optimizer import looks
from choicebo.optimizer.encoded import EncodedOptions, key_of
from choicebo.optimizer.prospect import Prospect, person_of, reduced
from choicebo.optimizer.settings import Settings
from choicebo.space import KnownObjectives, Option, Searchable, known_of
from choicebo.space.context import context_of, contexts_of
from choicebo.space.points import rows_in

Array = NDArray[np.float64]
Shown = tuple[Sequence[Option], tuple[int, ...]]
"""What was shown, and the positions kept."""

MOST_MEASURED = 256
"""Of so many options that were measured but not shown the model learns: more would make it slow."""


@dataclass(frozen=True)
class Situation:
    """Everything that the next question depends on."""

    space: Searchable
    settings: Settings
    events: tuple[Event, ...]
    """What happened, as :meth:`choicebo.history.State.effective` has it."""
    found: tuple[Look, ...] = ()
    """Looks at the number of latent dimensions that were found since the last question."""
    steering: Steering = Steering()
    """What the person who is asked wishes for."""
    beginning: bool = False
    """Whether the person who is asked is new to a study of several: the model knows the others, and not them."""
    people: bool = False
    """Whether the model tells those who answered apart."""
    person: str | None = None
    """Who is asked, where the model tells people apart."""
    encoded: EncodedOptions = field(default_factory=EncodedOptions, compare=False, repr=False)
    """Cube points of options; situations of one loop may share it, so that each option is encoded once."""

    def __reduce__(self) -> tuple[Any, ...]:
        # What follows from the fields is computed again where it is needed, instead of being sent along.
        fields = (self.space, self.settings, self.events, self.found, self.steering, self.beginning)
        return Situation, (*fields, self.people, self.person)

    # ---- what happened

    @cached_property
    def key(self) -> str:
        """Cache key of the next question, given the space and the settings."""
        raters = [event.rater for event in self.events] if self.people else []
        own = json.dumps([self.looks, self.for_one, self.measured, raters], sort_keys=True, default=str)
        text = "\n".join([*map(self.encoded.content, self.events), own])
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _measurements(self) -> list[Measured]:
        """What was measured of each option, in an order that does not depend on when it was entered."""
        found: dict[str, tuple[Option, dict[str, float | None]]] = {}
        for event in self.events:
            if event.measured is not None:
                option, values = event.measured
                found.setdefault(key_of(option), (option, {}))[1].update(values)
        return [Measured(*found[key]) for key in sorted(found)]

    @cached_property
    def measured(self) -> str:
        """Tells apart what was measured; empty where nothing was."""
        found = self._measurements
        text = json.dumps(found, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest() if found else ""

    @cached_property
    def known(self) -> KnownObjectives | None:
        """The known objectives of the space, with what was measured."""
        known = known_of(self.space)
        return None if known is None else known_with(known, self.space, self._measurements)

    def fingerprint(self, answers: int) -> str:
        """Tells apart what a model of the first so many answers learns from; what was measured is known to all of them."""
        made = self.encoded.fingerprint(
            answers,
            self._acts[answers - 1],
            self.people,
            self.measured,
            lambda: self.first(answers).fingerprint,
        )
        return "+".join([made, *([self.measured] if self.measured else [])])

    @cached_property
    def _acts(self) -> list[Event]:
        """The events of the answers."""
        return [event for event in self.events if event.kind in ("answer", "addition")]

    @cached_property
    def for_one(self) -> str:
        """The part of the key that is not shared by all who are learned from together; empty if all is shared."""
        own = [self.steering.to_dict(), self.beginning, *([self.person] if self.people else [])]
        alike = not (self.steering or self.beginning or self.people)
        return "" if alike else json.dumps(own, sort_keys=True, default=str)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All questions asked."""
        return tuple(event.question for event in self.events if event.question is not None)

    @cached_property
    def open_questions(self) -> tuple[Question, ...]:
        """Questions without an answer."""
        closed = {event.target for event in self.events if event.kind != "addition"}
        return tuple(
            event.question for event in self.events if event.question is not None and event.position not in closed
        )

    @cached_property
    def answers(self) -> tuple[tuple[Shown, ...], ...]:
        """All answers, each as the choices that it is read as. Where nothing was kept, the baseline was."""
        found: list[tuple[Shown, ...]] = []
        for event in self.events:
            if event.kind == "answer":
                assert event.target is not None
                options = self.events[event.target - 1].options
                found.append(tuple(event.choices(options)) if event.kept else (self._baseline_kept(options),))
            elif event.kind == "addition":
                found.append(tuple(event.choices(event.options)))
        return tuple(found)

    @property
    def choices(self) -> tuple[Shown, ...]:
        """The choices of all answers."""
        return self._choices(self.n_answers)

    def _choices(self, answers: int) -> tuple[Shown, ...]:
        """Those of the first so many."""
        return tuple(chain.from_iterable(self.answers[:answers]))

    def _baseline_kept(self, options: Sequence[Option]) -> Shown:
        listed = list(options)
        baseline = self._baseline(context_of(self.space, listed[0]))
        if baseline not in listed:
            listed.append(baseline)
        return listed, (listed.index(baseline),)

    def _baseline(self, context: Mapping[str, Any]) -> Option:
        """What the person has today, in a context."""
        assert self.settings.baseline is not None
        return {**self.settings.baseline, **context}

    def answers_in(self, choices: int) -> int:
        """How many of the answers the first so many choices are."""
        ends = accumulate(len(answer) for answer in self.answers)
        return sum(end <= choices for end in ends)

    @cached_property
    def n_answers(self) -> int:
        """How many answers there are to learn from."""
        return len(self.answers)

    @property
    def next_id(self) -> int:
        """The number of the next question."""
        return len(self.questions) + 1

    @property
    def needs_model(self) -> bool:
        """Whether the next question is computed with the model."""
        return not self.beginning and self.settings.needs_model(self.n_answers, self.space.dim)

    @cached_property
    def data(self) -> ChoiceData | None:
        """All answers as data for a model; None while there are none."""
        return self._gathered(self.n_answers) if self.answers else None

    def first(self, answers: int) -> ChoiceData:
        """The first so many answers as data for a model."""
        if answers == self.n_answers and self.data is not None:
            return self.data
        if answers not in self._beginnings:
            self._beginnings[answers] = self._gathered(answers)
        return self._beginnings[answers]

    @cached_property
    def _beginnings(self) -> dict[int, ChoiceData]:
        return {}

    def _gathered(self, answers: int) -> ChoiceData:
        chosen = self._choices(answers)
        data = ChoiceData.from_sets([self.points(shown) for shown, _ in chosen], [kept for _, kept in chosen])
        more = self._measured_elsewhere(data.X)
        if len(more):
            data = ChoiceData(np.concatenate([data.X, more]), data.choices)
        if not self.people:
            return data
        raters = [act.rater for act, answer in zip(self._acts, self.answers[:answers], strict=False) for _ in answer]
        named = [Choice(each.shown, each.kept, rater=rater) for each, rater in zip(data.choices, raters, strict=True)]
        return ChoiceData(data.X, named)

    def _measured_elsewhere(self, X: Array) -> Array:
        """Options that were measured and are not among ``X: (m, d)``, for the model to learn from as well: (n, d)."""
        if self.known is None or not len(self.known.measured_points):
            return X[:0]
        more = self.known.measured_points
        more = more[rows_in(X, more) < 0]
        if len(more) > MOST_MEASURED:
            more = more[np.linspace(0, len(more) - 1, MOST_MEASURED).round().astype(int)]
        return more

    def of_person(self, posterior: Posterior) -> Posterior:
        """The posterior of the person who is asked, or of everybody if the model does not tell people apart."""
        return posterior if self.person is None or posterior.people is None else person_of(posterior, self.person)

    @cached_property
    def _points(self) -> dict[str, Array]:
        key = self.encoded.key
        options = {key(option): option for event in self.events for option in event.options}
        if self.settings.baseline is not None:
            asked = [event.options[0] for event in self.events if event.options] if contexts_of(self.space) else []
            for context in [self.steering.context, *(context_of(self.space, option) for option in asked)]:
                baseline = self._baseline(context)
                options[key_of(baseline)] = baseline
        return self.encoded.points(self.space, options)

    def points(self, options: Sequence[Option]) -> Array:
        """Cube points (n, d) of options that were shown."""
        points, key = self._points, self.encoded.key
        return np.array([points[key(option)] for option in options]).reshape(len(options), self.space.dim)

    @cached_property
    def seen(self) -> Array:
        """Every option that appeared in a question or an answer, and the baseline: (n, d), distinct."""
        points = np.array(list(self._points.values())).reshape(-1, self.space.dim)
        return np.unique(points, axis=0) if len(points) else points

    # ---- the number of latent dimensions

    @cached_property
    def looks(self) -> tuple[Look, ...]:
        """The looks at the number of latent dimensions that count now."""
        known = [*(self.questions[-1].looks if self.questions else ()), *self.found]
        return tuple(looks.in_use(known, self.n_answers))

    @property
    def latent_dim(self) -> int:
        """Latent dimensions of the model."""
        if self.settings.latent_dim != "auto":
            return int(self.settings.latent_dim)
        if self.looks:
            return int(self.looks[-1]["latent_dim"])
        known = self.known
        return FIRST_DIM if known is None else max(1, FIRST_DIM - len(known))

    def missing_look(self, more: int = 0) -> int | None:
        """The look that counts ``more`` answers on and that is not known: how many answers it learns from; None if all are."""
        return looks.missing(self.n_answers + more, self.looks) if self.settings.latent_dim == "auto" else None

    def with_look(self, look: Look) -> Situation:
        """The same with one more look that is known."""
        return replace(self, found=(*self.found, look))

    def look_key(self, answers: int) -> tuple[str, int]:
        """Cache key of a check of the number of latent dimensions."""
        return self.fingerprint(answers), self.latent_dim

    def look(self, answers: int, known: Posterior | None = None, progress: ProgressCallback | None = None) -> Look:
        """What the first ``answers`` answers say about the number of latent dimensions; ``known`` may be their model."""
        data = self.first(answers)
        same = known is not None and (known.data.fingerprint, known.latent_dim) == (data.fingerprint, self.latent_dim)
        return looks.look(
            data, answers, self.latent_dim, self.model, self.settings.seed, known if same else None, progress=progress
        )

    # ---- the model

    @property
    def model(self) -> ChoiceGP:
        """The settings of the model."""
        return self.settings.model(self.latent_dim, self.known)

    @property
    def model_key(self) -> tuple[str, int]:
        """Cache key of the model, given the space and the settings."""
        return (self.fingerprint(self.n_answers) if self.answers else ""), self.latent_dim

    def fit(self, progress: ProgressCallback | None = None) -> Posterior:
        """The model of all answers, of which there must be some."""
        assert self.data is not None
        return self.model.fit_silently(self.data, self.settings.seed, progress=progress)

    def earlier_key(self, answers: int) -> tuple[str, int]:
        """Cache key of the model of the first so many answers."""
        return self.fingerprint(answers), self.latent_dim

    def fit_earlier(self, answers: int) -> Posterior:
        """The model of the first so many answers, with as many latent dimensions as now."""
        return self.model.fit_silently(self.first(answers), self.settings.seed)

    # ---- the next question

    def prospect(self, learned: int | None = None, *, without_model: bool = True) -> Prospect:
        """What the next question is made of, besides a model of the first ``learned`` answers, or of all of them.

        Args:
            learned: How many; None: all.
            without_model: Whether it may have to be asked without the model.
        """
        learned = self.n_answers if learned is None else learned
        since = [option for answer in self.answers[learned:] for shown, _ in answer for option in shown]
        pending = [option for question in self.open_questions for option in question.options] + since
        found: dict[str, list[Option]] = {name: [] for name in self.settings.acquisitions}
        for question in self.questions:
            for option, finder in question.new_options:
                if finder in found:
                    found[finder].append(option)
        return Prospect(
            space=self.space,
            settings=self.settings,
            steering=self.steering,
            beginning=self.beginning,
            person=self.person,
            number=self.next_id,
            answers=self.n_answers,
            learned=learned,
            needs_model=self.needs_model,
            measures=self.known is not None and any(self.known.measured),
            looks=self.looks,
            seen=self.seen,
            pending=self.points(pending),
            found={name: self.points(options) for name, options in found.items()},
            kept=tuple((self.points(shown), kept) for shown, kept in self.choices) if without_model else (),
        )

    def question(self, posterior: Posterior | None) -> Question:
        """The next question; ``posterior`` is the model of the answers, if :attr:`needs_model`."""
        return self.prospect().question(posterior)

    def quick_prospect(self, learned: int) -> Prospect:
        """What a quick question is made of, besides a model of the first ``learned`` answers."""
        # Only another context may leave a model nothing to ask about.
        return self.prospect(learned, without_model=bool(self.steering.context))

    def stand_in(self) -> Question:
        """A question that needs no model, for a person who should not wait for it."""
        return self.prospect().stand_in()


def next_question(
    situation: Situation, known: Posterior | None = None, progress: ProgressCallback | None = None
) -> tuple[Question, Posterior | None]:
    """The question that follows, and the model behind it; ``known`` is that model if it was fitted already.

    The look at the number of latent dimensions that counts now is part of the situation.
    """
    if not situation.needs_model:
        return situation.question(None), None
    posterior = situation.fit(progress) if known is None else known
    return situation.question(posterior), posterior


def question_from(prospect: Prospect, known: Posterior, progress: ProgressCallback | None = None) -> Question:
    """The next question by a model of the first answers, for a person who should not wait for that of all."""
    return prospect.quick_question(known)


def fit(situation: Situation, progress: ProgressCallback | None = None) -> Posterior:
    """The model of all answers."""
    return situation.fit(progress)


def fit_sketch(situation: Situation, progress: ProgressCallback | None = None) -> Posterior:
    """The model of all answers, reduced to what quick questions need: less to send."""
    return reduced(situation.fit(progress))


def fit_earlier(situation: Situation, answers: int, progress: ProgressCallback | None = None) -> Posterior:
    """The model of the first answers."""
    return situation.fit_earlier(answers)


def look(
    situation: Situation, answers: int, known: Posterior | None = None, progress: ProgressCallback | None = None
) -> Look:
    """What the first ``answers`` answers say about the number of latent dimensions."""
    return situation.look(answers, known, progress)
