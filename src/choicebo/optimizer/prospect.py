"""From points and a model to the next question: what is left of a situation once the history is no longer needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import one_blas_thread
from choicebo.acquisition.maximise import ENUMERATE
from choicebo.acquisition.propose import DRAWS, Proposal, propose
from choicebo.acquisition.space_filling import random_options, spread_options
from choicebo.history import Look, Question, Steering
from choicebo.model.posterior import Posterior
from choicebo.optimizer.in_context import options_in, posterior_in
from choicebo.optimizer.recent import Recent
from choicebo.optimizer.settings import Settings
from choicebo.optimizer.stand_in import kept_points, stand_in_options
from choicebo.optimizer.steered import wished_part
from choicebo.space import Searchable, Space
from choicebo.space.context import are_in, require_given, taken_into
from choicebo.space.points import distinct, rows_in

Array = NDArray[np.float64]

_QUICK_DRAWS, _QUICK_OPTIONS = 96, 192
_sketches: Recent[Posterior] = Recent(most=64)
"""Of single people. A model asks each of them several times, and to reduce it takes as long as to ask."""

_NEWCOMER = "Options spread over everything that is possible, to learn what you like, next to one that others kept."


@dataclass(frozen=True)
class Prospect:
    """What the next question is made of, besides the model.

    It holds points in the place of events, and so takes little to send.
    """

    space: Searchable
    settings: Settings
    steering: Steering
    """What the person who is asked wishes for."""
    beginning: bool
    """Whether the person who is asked is new to a study of several."""
    person: str | None
    """Who is asked, where the model tells people apart."""
    number: int
    """Of the question."""
    answers: int
    """How many there are, ..."""
    learned: int
    """... and how many of them the model learned from."""
    needs_model: bool
    measures: bool
    """Whether an objective is known only where it was measured."""
    looks: tuple[Look, ...]
    seen: Array
    """(n, d): every option that appeared in a question or an answer, and the baseline; distinct."""
    pending: Array
    """(n, d): options of open questions, and of answers that the model did not learn from."""
    found: Mapping[str, Array]
    """(n, d): new options of all questions, by the acquisition that found them."""
    kept: tuple[tuple[Array, tuple[int, ...]], ...] = ()
    """What was shown in each choice, (k, d), and the positions kept; needed only where no model asks."""

    # ---- the context of the question

    @cached_property
    def here(self) -> Searchable:
        """What can be offered in the context of the question."""
        require_given(self.space, self.steering.context)
        return self.space.within(self.steering.context) if isinstance(self.space, Space) else self.space

    @cached_property
    def known_here(self) -> Array:
        """Every option that was seen in any context, as it is in this one: (n, d), distinct."""
        return self._taken_here(self.seen)

    @property
    def found_here(self) -> dict[str, Array]:
        """:attr:`found`, as it is in this context."""
        return {name: self._taken_here(points) for name, points in self.found.items()}

    def _of_this_context(self, points: Array) -> Array:
        """Those of ``points: (n, d)`` that were shown in this very context."""
        context = self.steering.context
        return points[are_in(self.space, points, context)] if context and isinstance(self.space, Space) else points

    def _taken_here(self, points: Array) -> Array:
        return options_in(self.space, points, self.steering.context)

    @property
    def _kept_here(self) -> list[tuple[Array, tuple[int, ...]]]:
        """The choices as points of this context; options that may not be offered in it are left out."""
        found = []
        for points, kept in self.kept:
            if self.steering.context and isinstance(self.space, Space):
                points = taken_into(self.space, points, self.steering.context)
                fits = self.space.feasible(points)
                kept = tuple(int(fits[:at].sum()) for at in kept if fits[at])
                points = points[fits]
            found.append((points, kept))
        return found

    # ---- the question

    def question(self, posterior: Posterior | None) -> Question:
        """The next question; ``posterior`` is the model of all answers, if :attr:`needs_model`."""
        if not self.needs_model:
            return self._without_model()
        assert posterior is not None
        return self._by(self._for_person(posterior))

    def quick_question(self, posterior: Posterior) -> Question:
        """The next question by what is left of a model, which may be behind; what was shown since is imagined, and not
        repeated."""
        return self._by(self._sketch(posterior))

    def _by(self, posterior: Posterior) -> Question:
        self.here  # noqa: B018  (refuses a context that is missing)
        here = posterior_in(posterior, self.space, self.steering.context)
        if here is None:  # nothing that is known may be offered in the context
            return self._without_model()
        proposal = self._steered(here) if self.steering.has_wishes else self._proposal(here)
        if self.learned < self.answers:
            behind = f"The model had learned from {self.learned} of {self.answers} answers when this was asked. "
            proposal = proposal._replace(reason=behind + proposal.reason)
        return self._asked(proposal, here.latent_dim)

    def _for_person(self, posterior: Posterior) -> Posterior:
        """One that was wished for is about the person's taste, others also about everybody's."""
        if self.person is None or posterior.people is None:
            return posterior
        return person_of(posterior, self.person) if self.steering.has_wishes else posterior.asked(self.person)

    def _sketch(self, posterior: Posterior) -> Posterior:
        """What is left of a model for a quick question to one person; the same if it is that already."""
        if posterior.people is None:
            return reduced(posterior)
        whitened = hashlib.sha256(posterior.people.whitened.tobytes()).digest()
        key = whitened, self.person, self.steering.has_wishes
        known = _sketches.get(key)
        if known is None:
            known = _sketches.put(key, reduced(self._for_person(posterior)))
        return known

    def _without_model(self) -> Question:
        if self.steering.has_wishes or self.beginning:
            return self._asked(self._steered(None), None)
        fill = random_options if self.settings.acquisitions == ("random",) else spread_options
        settings = self.settings
        proposal = fill(
            self.here, settings.query_size, self.known_here, settings.seed, self.number, settings.least_difference
        )
        return self._asked(proposal, None)

    def stand_in(self) -> Question:
        """A question that needs no model, for a person who should not wait for it."""
        if not self.needs_model:
            return self.question(None)
        if self.steering.has_wishes:
            return self._asked(self._steered(None), None)
        settings = self.settings
        baseline = settings.baseline
        aside = [] if baseline is None else [{**baseline, **self.steering.context}]
        proposal = stand_in_options(
            self.here,
            self._kept_here,
            size=settings.query_size,
            new_count=settings.new_per_query,
            seen=self.known_here,
            aside=self.space.encode(aside) + 0.0 if aside else self.seen[:0],
            seed=settings.seed,
            number=self.number,
            least_difference=settings.least_difference,
        )
        return self._asked(proposal, None)

    def _steered(self, posterior: Posterior | None) -> Proposal:
        """A question that follows the person's wishes: their own options, known options that fit, and new ones for the rest.

        A newcomer, too, is shown new options beside a single one that others kept.
        """
        wishes, size = self.steering, self.settings.query_size
        part = wished_part(self.here, wishes)
        own = self.space.encode(list(wishes.shown)) if wishes.shown else self.seen[:0]
        seen = distinct(np.concatenate([self.known_here, own]))[0]
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
            found = spread_options(part, count, seen, self.settings.seed, self.number, self.settings.least_difference)
        else:
            found = self._proposal(posterior, part, size=count, new_count=count, avoid=seen)
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
            probability = posterior.pareto_probability(posterior.answered)
            return posterior.answered[np.argsort(-probability, kind="stable")]
        kept = kept_points(self._kept_here, self.seen[:0])
        # A newcomer meets what has stood the most comparisons; others are shown what has stood the fewest.
        return np.array(kept[::-1] if self.beginning else kept).reshape(-1, self.space.dim)

    def _proposal(self, posterior: Posterior, part: Searchable | None = None, **changes: Any) -> Proposal:
        settings = self.settings
        with one_blas_thread():
            return propose(
                posterior.shortlisted(DRAWS),
                self.here if part is None else part,
                settings.acquisition_objects,
                **{
                    "size": settings.query_size,
                    "new_count": settings.new_per_query,
                    "companions": settings.companions,
                    "pending": self._of_this_context(self.pending),
                    "avoid": self.seen[:0] if settings.allow_repeats else self.known_here,
                    "seed": self._seed,
                    "found_by": self.found_here,
                    "least_difference": settings.least_difference,
                    "shown": posterior.answered if self.measures else None,
                    **changes,
                },
            )

    def _asked(self, proposal: Proposal, latent_dim: int | None) -> Question:
        order = np.random.default_rng(self._seed).permutation(len(proposal.points))
        finders = tuple(proposal.found_by[at] for at in order if at < len(proposal.found_by))
        return Question(
            id=self.number,
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
        """The seed of the question: the same whenever and wherever it is asked."""
        return int(np.random.SeedSequence([self.settings.seed, self.number]).generate_state(1)[0] % 2**31)


def reduced(posterior: Posterior) -> Posterior:
    """What is left of a model for questions that must not take long."""
    return posterior.sketch(_QUICK_DRAWS, _QUICK_OPTIONS)


def person_of(posterior: Posterior, person: str) -> Posterior:
    """What a model of several people says of one of them, or of somebody who has not answered yet."""
    return posterior.of(person) if person in posterior.raters else posterior.newcomer()


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
