"""From what happened to the next question: a pure function, wherever and whenever it is computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import one_blas_thread
from choicebo.acquisition.maximise import ENUMERATE
from choicebo.acquisition.propose import DRAWS, Proposal, propose
from choicebo.acquisition.space_filling import random_options, spread_options
from choicebo.choices import Choice, ChoiceData
from choicebo.history import Event, Look, Question, Steering
from choicebo.model.dimension import FIRST_DIM
from choicebo.model.engines.base import ProgressCallback
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior
from choicebo.optimizer import looks
from choicebo.optimizer.settings import Settings
from choicebo.optimizer.stand_in import kept_points, stand_in_options
from choicebo.optimizer.steered import wished_part
from choicebo.space import Option, Searchable, known_of
from choicebo.space.points import distinct, rows_in

Array = NDArray[np.float64]
Shown = tuple[Sequence[Option], tuple[int, ...]]
"""What was shown, and the positions kept."""

QUICK_DRAWS, QUICK_OPTIONS = 96, 192
"""What a model is reduced to for questions that must not take long."""

_NEWCOMER = (
    "Options spread over everything that is possible, to get to know what you like, beside one that others kept."
)


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
    encoded: dict[str, Array] = field(default_factory=dict, compare=False, repr=False)
    """Cube points of options; situations of one loop may share it, so that each option is encoded once."""

    def __reduce__(self) -> tuple[Any, ...]:
        # What follows from the fields is computed again where it is needed, instead of being sent along.
        fields = (self.space, self.settings, self.events, self.found, self.steering, self.beginning)
        return Situation, (*fields, self.people, self.person)

    # ---- what happened

    @cached_property
    def key(self) -> str:
        """Cache key of the next question, given the space and the settings."""
        content = [
            [event.kind, event.target, event.kept, event.options, event.new, event.question and event.question.found_by]
            for event in self.events
        ]
        said = [[event.position, event.marks.to_dict()] for event in self.events if event.marks is not None]
        own: list[Any] = [*said, *([self.for_one] if self.for_one else [])]
        if self.people:
            own.append([event.rater for event in self.events])
        text = json.dumps([content, self.looks, *own], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

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
        assert self.settings.baseline is not None
        listed = list(options)
        if self.settings.baseline not in listed:
            listed.append(self.settings.baseline)
        return listed, (listed.index(self.settings.baseline),)

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
        if self.data is not None and answers == self.n_answers:
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
        if not self.people:
            return data
        acts = [event for event in self.events if event.kind in ("answer", "addition")]
        raters = [act.rater for act, answer in zip(acts, self.answers[:answers], strict=False) for _ in answer]
        named = [Choice(each.shown, each.kept, rater=rater) for each, rater in zip(data.choices, raters, strict=True)]
        return ChoiceData(data.X, named)

    def of_person(self, posterior: Posterior) -> Posterior:
        """The posterior of the person who is asked, or of everybody if the model does not tell people apart."""
        if self.person is None or posterior.people is None:
            return posterior
        return posterior.of(self.person) if self.person in posterior.raters else posterior.newcomer()

    @cached_property
    def _points(self) -> dict[str, Array]:
        options = {_key(option): option for event in self.events for option in event.options}
        if self.settings.baseline is not None:
            options[_key(self.settings.baseline)] = self.settings.baseline
        missing = {key: option for key, option in options.items() if key not in self.encoded}
        if missing:
            self.encoded.update(zip(missing, self.space.encode(list(missing.values())) + 0.0, strict=True))
        return {key: self.encoded[key] for key in options}

    def points(self, options: Sequence[Option]) -> Array:
        """Cube points (n, d) of options that were shown."""
        return np.array([self._points[_key(option)] for option in options]).reshape(len(options), self.space.dim)

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
        known = known_of(self.space)
        return FIRST_DIM if known is None else max(1, FIRST_DIM - len(known))

    def missing_look(self, more: int = 0) -> int | None:
        """The look that counts ``more`` answers on and that is not known: how many answers it learns from; None if all are."""
        return looks.missing(self.n_answers + more, self.looks) if self.settings.latent_dim == "auto" else None

    def with_look(self, look: Look) -> Situation:
        """The same with one more look that is known."""
        return replace(self, found=(*self.found, look))

    def look_key(self, answers: int) -> tuple[str, int]:
        """Tells apart looks that may find different things."""
        return self.first(answers).fingerprint, self.latent_dim

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
        return self.settings.model(self.latent_dim, known_of(self.space))

    @property
    def model_key(self) -> tuple[str, int]:
        """Tells apart models that differ, given the space and the settings."""
        return ("" if self.data is None else self.data.fingerprint), self.latent_dim

    def fit(self, progress: ProgressCallback | None = None) -> Posterior:
        """The model of all answers, of which there must be some."""
        assert self.data is not None
        return self.model.fit_silently(self.data, self.settings.seed, progress=progress)

    def earlier_key(self, answers: int) -> tuple[str, int]:
        """Tells apart models of the first so many answers."""
        return self.first(answers).fingerprint, self.latent_dim

    def fit_earlier(self, answers: int) -> Posterior:
        """The model of the first so many answers, with as many latent dimensions as now."""
        return self.model.fit_silently(self.first(answers), self.settings.seed)

    # ---- the next question

    def _for_question(self, posterior: Posterior) -> Posterior:
        """The posterior for the next question: one that was wished for is about the person's taste, others also about all."""
        if self.person is None or self.steering or posterior.people is None:
            return self.of_person(posterior)
        return posterior.asked(self.person)

    def question(self, posterior: Posterior | None) -> Question:
        """The next question; ``posterior`` is the model of the answers, if :attr:`needs_model`."""
        if self.needs_model:
            assert posterior is not None
            posterior = self._for_question(posterior)
            proposal = self._steered(posterior) if self.steering else self._proposal(posterior)
            return self._asked(proposal, posterior.latent_dim)
        return self._without_model()

    def question_from(self, posterior: Posterior, learned: int) -> Question:
        """The next question by a model of the first ``learned`` answers; what was shown since is imagined, and not repeated."""
        posterior = self._for_question(posterior).sketch(QUICK_DRAWS, QUICK_OPTIONS)  # the same if it is one already
        proposal = self._steered(posterior, learned) if self.steering else self._proposal(posterior, learned=learned)
        if learned < self.n_answers:
            behind = f"The model had learned from {learned} of {self.n_answers} answers when this was asked. "
            proposal = proposal._replace(reason=behind + proposal.reason)
        return self._asked(proposal, posterior.latent_dim)

    def _without_model(self) -> Question:
        if self.steering or self.beginning:
            return self._asked(self._steered(None), None)
        fill = random_options if self.settings.acquisitions == ("random",) else spread_options
        settings = self.settings
        proposal = fill(
            self.space, settings.query_size, self.seen, settings.seed, self.next_id, settings.least_difference
        )
        return self._asked(proposal, None)

    def stand_in(self) -> Question:
        """A question that needs no model, for a person who should not wait for it."""
        if not self.needs_model:
            return self.question(None)
        if self.steering:
            return self._asked(self._steered(None), None)
        settings = self.settings
        proposal = stand_in_options(
            self.space,
            [(self.points(shown), kept) for shown, kept in self.choices],
            size=settings.query_size,
            new_count=settings.new_per_query,
            seen=self.seen,
            aside=self.points([] if settings.baseline is None else [settings.baseline]),
            seed=settings.seed,
            number=self.next_id,
            least_difference=settings.least_difference,
        )
        return self._asked(proposal, None)

    def _steered(self, posterior: Posterior | None, learned: int | None = None) -> Proposal:
        """A question that follows the person's wishes: their own options, known options that fit, and new ones for the rest.

        ``learned`` is how many answers the model has learned from, if not from all of them. A newcomer, too, is shown new options
        beside a single one that others kept.
        """
        wishes, size = self.steering, self.settings.query_size
        part = wished_part(self.space, wishes)
        own = self.space.encode(list(wishes.shown)) if wishes.shown else self.seen[:0]
        seen = distinct(np.concatenate([self.seen, own]))[0]
        room = size - len(own)
        fitting = self._known_best(posterior)
        fitting = fitting[(rows_in(own, fitting) < 0) & part.feasible(fitting)]
        few = 1 if self.beginning else 0
        known = fitting[: max(room - self.settings.new_per_query, 0) if self.needs_model else few]
        unseen = int((rows_in(seen, part.enumerate()) < 0).sum()) if part.size <= ENUMERATE else room
        count = min(room - len(known), unseen)
        known = fitting[: room - count]
        if count == 0:
            found = Proposal(seen[:0], np.zeros(0, dtype=np.bool_), "known", "Everything that fits was shown before.")
        elif posterior is None:
            found = spread_options(part, count, seen, self.settings.seed, self.next_id, self.settings.least_difference)
        else:
            found = self._proposal(posterior, part, learned=learned, size=count, new_count=count, avoid=seen)
        is_new = rows_in(self.seen, own) < 0
        finders = (*["own"] * int(is_new.sum()), *(found.found_by or [found.strategy] * int(found.new.sum())))
        alone = len(set(finders)) == 1
        points = np.concatenate([own[is_new], found.points[found.new], own[~is_new], found.points[~found.new], known])
        new = np.arange(len(points)) < len(finders)
        reason = f"{_wish(wishes)}{_NEWCOMER if self.beginning else found.reason}"
        return Proposal(points, new, finders[0] if alone else found.strategy, reason, () if alone else finders)

    def _known_best(self, posterior: Posterior | None) -> Array:
        """Options that were answered about, the best first: by the model, or those that were kept."""
        if posterior is not None:
            probability = posterior.pareto_probability(posterior.options)
            return posterior.options[np.argsort(-probability, kind="stable")]
        answers = [(self.points(shown), kept) for shown, kept in self.choices]
        kept = kept_points(answers, self.seen[:0])
        # A newcomer meets what has stood the most comparisons; others are shown what has stood the fewest.
        return np.array(kept[::-1] if self.beginning else kept).reshape(-1, self.space.dim)

    def _proposal(
        self, posterior: Posterior, part: Searchable | None = None, learned: int | None = None, **changes: Any
    ) -> Proposal:
        settings = self.settings
        acquisitions = settings.acquisition_objects
        pending = [option for question in self.open_questions for option in question.options]
        if learned is not None:
            pending += [option for answer in self.answers[learned:] for shown, _ in answer for option in shown]
        with one_blas_thread():
            return propose(
                posterior.shortlisted(DRAWS),
                self.space if part is None else part,
                acquisitions,
                **{
                    "size": settings.query_size,
                    "new_count": settings.new_per_query,
                    "companions": settings.companions,
                    "pending": self.points(pending),
                    "avoid": self.seen[:0] if settings.allow_repeats else self.seen,
                    "seed": self._seed,
                    "found_by": self.found_by([acquisition.name for acquisition in acquisitions]),
                    "least_difference": settings.least_difference,
                    **changes,
                },
            )

    def found_by(self, names: Sequence[str]) -> dict[str, Array]:
        """The new options of all questions by the acquisition that found them."""
        new = [each for question in self.questions for each in question.new_options]
        return {name: self.points([option for option, finder in new if finder == name]) for name in names}

    def _asked(self, proposal: Proposal, latent_dim: int | None) -> Question:
        order = np.random.default_rng(self._seed).permutation(len(proposal.points))
        finders = tuple(proposal.found_by[at] for at in order if at < len(proposal.found_by))
        return Question(
            id=self.next_id,
            options=self.space.decode(proposal.points[order]),
            reason=proposal.reason,
            new=tuple(bool(flag) for flag in proposal.new[order]),
            found_by=finders or (proposal.strategy,),
            latent_dim=latent_dim,
            looks=self.looks,
            wishes=self.steering,
        )

    @property
    def _seed(self) -> int:
        """The seed of the next question: the same whenever and wherever it is asked."""
        return int(np.random.SeedSequence([self.settings.seed, self.next_id]).generate_state(1)[0] % 2**31)


def _wish(steering: Steering) -> str:
    """What the person wished for, in a sentence that goes before the reason."""
    wishes = []
    if steering.include:
        wishes.append("with your own option" if len(steering.include) == 1 else "with your own options")
    if steering.like is not None:
        wishes.append("more like the one you named")
    if steering.locked:
        wishes.append("only " + " and ".join(f"{name} {value}" for name, value in steering.locked.items()))
    return f"As you wished: {', '.join(wishes)}. " if wishes else ""


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


def question_from(
    situation: Situation, known: Posterior, learned: int, progress: ProgressCallback | None = None
) -> Question:
    """The next question by a model of the first ``learned`` answers, for a person who should not wait for that of all."""
    return situation.question_from(known, learned)


def fit(situation: Situation, progress: ProgressCallback | None = None) -> Posterior:
    """The model of all answers."""
    return situation.fit(progress)


def fit_sketch(situation: Situation, progress: ProgressCallback | None = None) -> Posterior:
    """The model of all answers, reduced to what quick questions need: less to send."""
    return situation.fit(progress).sketch(QUICK_DRAWS, QUICK_OPTIONS)


def fit_earlier(situation: Situation, answers: int, progress: ProgressCallback | None = None) -> Posterior:
    """The model of the first answers."""
    return situation.fit_earlier(answers)


def look(
    situation: Situation, answers: int, known: Posterior | None = None, progress: ProgressCallback | None = None
) -> Look:
    """What the first ``answers`` answers say about the number of latent dimensions."""
    return situation.look(answers, known, progress)


def _key(option: Any) -> str:
    return json.dumps(option, sort_keys=True, default=str)
