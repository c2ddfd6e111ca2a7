"""``ChoiceOptimizer``: asks a person the next question and learns from the answer."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from choicebo.choices import ChoiceData
from choicebo.choices.positions import items
from choicebo.errors import AlreadyAnsweredError, InvalidInputError
from choicebo.formatting import as_given, counted, percent, rounded
from choicebo.frames import of_options, to_frame
from choicebo.history import Event, Look, Measurements, Question, State, Steering, measuring, rules, steering
from choicebo.history.question import OWNER
from choicebo.model.engines.base import ProgressCallback
from choicebo.model.likelihood import is_number
from choicebo.model.posterior import Posterior
from choicebo.notebook_html import options_table
from choicebo.optimizer import record
from choicebo.optimizer.computations import Computations
from choicebo.optimizer.in_context import posterior_in
from choicebo.optimizer.patience import Patience
from choicebo.optimizer.settings import LEAST_DIFFERENCE, NEW_PER_QUERY, Settings
from choicebo.optimizer.situation import Situation
from choicebo.optimizer.steered import wished_part
from choicebo.optimizer.unseen import best_unseen, unbeaten_probability
from choicebo.space import Option, Searchable
from choicebo.space.context import checked_context, context_of, distinct_contexts
from choicebo.space.values import as_executor, as_flag

if TYPE_CHECKING:
    from choicebo.acquisition import Acquisition
    from choicebo.interop.notebook import ChoiceWidget
    from choicebo.model.covariance import Kernel
    from choicebo.model.engines import Engine


class ParetoOption(NamedTuple):
    """An option, and how probable it is that none of the others seen beats it."""

    option: Option
    probability: float

    def __repr__(self) -> str:
        return f"ParetoOption({rounded(self.option)}, probability={rounded(self.probability)})"

    def _repr_html_(self) -> str:
        return ParetoOptions([self])._repr_html_()


class ParetoOptions(list[ParetoOption]):
    """Options with their probabilities, the most probable first; equal to any list or tuple of the same."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, list | tuple) else NotImplemented

    def to_frame(self, library: str | None = None) -> Any:
        """A data frame with an option in each row, and its ``probability``.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Raises:
            MissingExtraError: Neither is installed.

        Examples:
            >>> ParetoOptions([ParetoOption({"minutes": 12}, 0.9)]).to_frame()["probability"].tolist()
            [0.9]
        """
        columns = of_options([each.option for each in self], probability=[each.probability for each in self])
        return to_frame(columns, library)

    def _repr_html_(self) -> str:
        chances = {"probability": [percent(each.probability) for each in self]}
        caption = f"{counted(len(self), 'option')} that no other beats, with the probability of that"
        return options_table(caption, [each.option for each in self], chances)


class ChoiceOptimizer:
    """Learns from "I keep these" and asks the next question.

    The next question is a pure function of the settings and of what happened: saved and restored, or rebuilt elsewhere from the
    same events, an optimiser asks the same question.

    Args:
        space: What can be offered: a `Space` or a `Catalogue`.
        settings: All settings as one object, instead of the keyword arguments that follow.
        latent_dim: Number of hidden objectives, or "auto": chosen by leave-one-out accuracy as answers come in.
        acquisition: "default", "ucb", "ehvi", "thompson", "scalarised_thompson", "variation", "information", "random" or "sobol";
            several, joined by "+", share the new options. Or an acquisition of your own.
        query_size: How many options are shown at once.
        seed: A whole number from which everything random follows.
        new_per_query: How many of the options were never shown before: 1 where an option costs money to make, more where it is a
            picture.
        initial_queries: Space-filling questions before the model takes over; None: three, and one more for every two inputs, at
            most six.
        baseline: An option that the person has today: "none of these" then means that it beats all that are shown.
        companions: How known options are chosen: "dominated" (most probably beaten by the new ones), "doubted" (the same, but one
            of three or more may wrongly be taken for beaten) or "informative".
        kernel: As in `ChoiceGP`.
        engine: As in `ChoiceGP`, with limits that suit a question.
        lapse: Probability that an answer is a slip.
        correlated: Whether hidden objectives may be correlated. That predicts better with a hundred answers and more; with fewer,
            correlations are learned that are not there.
        allow_repeats: Whether an option shown before may be proposed as new: where answers are noisy, repetition averages.
        least_difference: Two options of one question differ by at least this fraction of some parameter's range.
        answer: How a question is answered: "subset", "best", "best-worst", "ranking" or "pair".
        likelihood: What an answer says about the hidden objectives, as in `ChoiceGP`.
        threshold: With ``likelihood="noticeable_difference"``: the least difference that is noticed, in units of the noise.
        executor: Where to compute, any ``concurrent.futures.Executor``; it changes nothing about what is asked.
        **unknown: Refused, with the names that are known.

    Raises:
        InvalidInputError: A setting cannot be used; the message says what can.

    Examples:
        >>> import choicebo as cb
        >>> optimizer = cb.ChoiceOptimizer(cb.Space([cb.Real("temperature", 150, 220)]), seed=1)
        >>> query = optimizer.ask()
        >>> len(query.options), query.strategy
        (5, 'sobol')
        >>> optimizer.tell(query, kept=[0, 2])
        >>> optimizer.n_answers
        1
    """

    def __init__(
        self,
        space: Searchable,
        settings: Settings | None = None,
        *,
        latent_dim: int | str = "auto",
        acquisition: str | Acquisition = "default",
        query_size: int = 5,
        seed: int = 0,
        new_per_query: int = NEW_PER_QUERY,
        initial_queries: int | None = None,
        baseline: Option | None = None,
        companions: str = "doubted",
        kernel: str | Kernel = "matern32",
        engine: str | Engine = "hmc",
        lapse: float = 0.01,
        correlated: bool = False,
        allow_repeats: bool = False,
        least_difference: float = LEAST_DIFFERENCE,
        answer: str = "subset",
        likelihood: str = "choice",
        threshold: float = 1.0,
        executor: Executor | None = None,
        **unknown: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in Settings.__dataclass_fields__}
        if settings is not None and not isinstance(settings, Settings):
            raise InvalidInputError(f"settings is {as_given(settings)}; give Settings, or keyword arguments.")
        if settings is None:
            settings = Settings.from_dict({**given, **unknown})  # which says what it does not know
        elif unknown or any(
            type(value) is not type(default := getattr(Settings, name)) or value != default
            for name, value in given.items()
        ):
            raise InvalidInputError("Give either Settings or keyword arguments, not both.")
        self._situation = Situation(space, settings.checked(space), ())
        self._position = 0
        self._state = State()
        self._locked: Mapping[str, Any] = {}
        self._context: Mapping[str, Any] = {}
        self._computations = Computations(as_executor(executor), looks_at_once=1)
        self._patience = Patience()
        self._warned = False

    @classmethod
    def of(
        cls, situation: Situation, posterior: Posterior | None = None, *, executor: Executor | None = None
    ) -> ChoiceOptimizer:
        """Build the optimiser that has come to a situation.

        Args:
            situation: Space, settings and what happened.
            posterior: The model of its answers, if known.
            executor: Where to compute; any ``concurrent.futures.Executor``.

        Returns:
            An optimiser that asks the same next question.

        Examples:
            >>> cb.ChoiceOptimizer.of(optimizer.situation).n_answers
            2
        """
        loop = cls(situation.space, situation.settings, executor=executor)
        for event in situation.events:
            loop._state.apply(event)
        loop._situation, loop._position = replace(situation, steering=Steering()), loop._state.position
        loop._locked, loop._context = situation.steering.locked, situation.steering.context
        if posterior is not None:
            loop._computations.remember(situation, posterior)
            loop._warned = True  # who fitted it has seen its diagnostics
        return loop

    def __repr__(self) -> str:
        told = f"{counted(self.n_answers, 'answer')}, {counted(len(self.open_queries), 'open question')}"
        return f"ChoiceOptimizer({self.space!r}, {told}, latent_dim={self.latent_dim})"

    @property
    def space(self) -> Searchable:
        """What can be offered."""
        return self._situation.space

    @property
    def settings(self) -> Settings:
        """The settings of the optimiser."""
        return self._situation.settings

    # ---- the loop

    @property
    def locked(self) -> dict[str, Any]:
        """Values that the new options of every question have, by name."""
        return dict(self._locked)

    @property
    def context(self) -> dict[str, Any]:
        """The context of the latest question, by name; empty before the first, and where a space has none."""
        return dict(self._context)

    def ask(
        self,
        *,
        context: Mapping[str, Any] | None = None,
        locked: Mapping[str, Any] | None = None,
        like: Any = None,
        include: Sequence[Any] = (),
        patience: float | None = None,
        look_beside: bool = True,
        progress: ProgressCallback | None = None,
    ) -> Question:
        """Ask another question. Questions already open stay open, and nothing similar to their new options is proposed.

        Args:
            context: Where the space has a `Context`: its value, which all options have, as in ``{"season": "winter"}``.
                None: that of the question before.
            locked: Values that new options are to have, by name, in this and all further questions; ``{}`` takes all locks off.
            like: An option to show more of: the new options of this question resemble it, and it is shown beside them.
            include: Options that this question is to have as they are, such as one of the person's own.
            patience: Seconds to wait for the model; then a question is asked that needs none, and the model goes on learning in
                the background. None: as long as it takes.
            look_beside: With ``latent_dim="auto"``: begin the look at the number of hidden objectives that the question after the
                next answer needs, in a thread of its own. Without it, that question computes it.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            The question: ``options``, a list of dicts; ``reason``, a sentence; ``id``.

        Raises:
            InvalidInputError: A wish cannot be met, or a context is missing.
            FitInterruptedError: ``progress`` returned ``False``.

        Examples:
            >>> question = optimizer.ask(locked={"minutes": 20})
            >>> len(question.options), {option["minutes"] for option in question.new_options[0][:1]}
            (3, {20})
        """
        look_beside = as_flag(look_beside, "look_beside")
        locked = self._locked if locked is None else locked
        given = self._given(context)
        wishes = steering.checked(self.space, self.settings.query_size, locked, like, include, given)
        situation = replace(self.situation, steering=wishes) if wishes else self.situation
        wished_part(situation.prospect().here, wishes)  # refuses what leaves nothing to ask about
        self._locked, self._context = wishes.locked, wishes.context
        if patience is None or not situation.needs_model:
            question = self._computations.question(situation, progress)
        else:
            compute = functools.partial(self._computations.question, situation, progress)
            is_there = self._patience.is_done(compute, patience) or self._computations.has_question(situation)
            question = compute() if is_there else situation.stand_in()
        self._state.apply(rules.ask(self._state, question, OWNER, None, self._state.position, self.settings.seed))
        if look_beside:
            self._computations.look_ahead(self.situation)
        return question

    def _given(self, context: Mapping[str, Any] | None) -> dict[str, Any]:
        """A context that was said, or that of the latest question."""
        return checked_context(self.space, self._context if context is None else context)

    def tell(
        self,
        question: Question | int,
        kept: Sequence[int] | None = None,
        *,
        best: int | None = None,
        worst: int | None = None,
        ranking: Sequence[Any] | None = None,
    ) -> None:
        """Answer a question in any of these ways, whichever it asks for.

        Args:
            question: The question, or its id.
            kept: Positions in ``question.options``, from 0, of those that no other one beats. An empty list means "none of
                these": with a baseline, that it beats all of them; without one, it is a skip.
            best: The position of the best one instead.
            worst: Beside ``best``, the position of the worst one.
            ranking: Positions instead, best first, all or the first few; a list instead of a position is a tie.

        Raises:
            InvalidInputError: A position is not there, or nothing is answered.
            AlreadyAnsweredError: The question is answered already; `undo` takes an answer back.

        Examples:
            >>> optimizer.tell(optimizer.ask(), kept=[0, 2])
            >>> optimizer.n_answers
            3
        """
        if kept is None and best is None and ranking is None:
            raise InvalidInputError("kept is None: give a list of positions, best or ranking, or use skip().")
        self._answer(question, kept, best=best, worst=worst, ranking=ranking)

    def skip(self, question: Question | int) -> None:
        """Leave a question unanswered.

        Args:
            question: The question, or its id.

        Raises:
            AlreadyAnsweredError: The question is answered already.

        Examples:
            >>> optimizer.skip(optimizer.ask())
            >>> optimizer.n_answers
            2
        """
        self._answer(question, None)

    def _answer(self, question: Question | int, kept: Sequence[int] | None, **said: Any) -> None:
        before = rules.asked(self._state, question).top
        if before is not None:
            done, number = "skipped" if before.kind == "skip" else "answered", rules.asked_id(self._state, question)
            raise AlreadyAnsweredError(
                f"Question {number} is {done} already; undo() takes an answer back.", number, before.kept
            )
        how: dict[str, Any] = {"empty_is_skip": self.settings.baseline is None, "likelihood": self.settings.likelihood}
        self._state.apply(rules.answer(self._state, question, kept, at=None, **how, **said))

    def undo(self, n: int = 1) -> int:
        """Take back the latest answers, skips and additions; a question so reopened can be answered again.

        Args:
            n: How many.

        Returns:
            How many were taken back.

        Raises:
            InvalidInputError: There are fewer than ``n``.

        Examples:
            >>> optimizer.undo()
            1
            >>> len(optimizer.open_queries)
            1
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InvalidInputError(f"n is {as_given(n)}; give a whole number of at least 1.")
        there = self._state.n_acts()
        if there < n:
            raise InvalidInputError(
                f"There are {there} answers, skips and additions; {as_given(n)} cannot be taken back: give a smaller n."
            )
        for _ in range(n):
            for event in rules.undo(self._state, OWNER, None):
                self._state.apply(event)
        return n

    def add(
        self,
        shown: Sequence[Any],
        kept: Sequence[int] | None = None,
        *,
        best: int | None = None,
        worst: int | None = None,
        ranking: Sequence[Any] | None = None,
    ) -> None:
        """Add an answer that was given elsewhere. Pairs, the best of several and subsets of any size will do.

        Args:
            shown: The options.
            kept: Positions in ``shown``, from 0; the rest as in `tell`.
            best: The position of the best one instead.
            worst: Beside ``best``, the position of the worst one.
            ranking: Positions instead, best first.

        Raises:
            InvalidInputError: An option or a position cannot be used.

        Examples:
            >>> optimizer.add([{"temperature": 180, "minutes": 20}, {"temperature": 200, "minutes": 30}], kept=[0])
            >>> optimizer.n_answers
            3
        """
        added = rules.answer_made_elsewhere(self.space, shown, kept, best=best, worst=worst, ranking=ranking)
        for event in rules.add(self._state, [added], OWNER, None, self.settings.likelihood):
            self._state.apply(event)

    def measure(self, option: Any, values: Mapping[str, float | None] | None = None, /, **named: float | None) -> None:
        """Enter what was measured of an option, which need not have been shown. Measuring again replaces.

        Args:
            option: A dict of values by name, or in a catalogue the key of a row.
            values: Numbers by the name of the objective, for names that are no words of Python; None withdraws one.
            **named: The same as keyword arguments, as in ``measure(option, cost=12.5)``.

        Raises:
            InvalidInputError: There is no such measured objective, or a value is no number.
            SpaceError: It is not an option of the space.

        Examples:
            >>> priced = cb.Space([cb.Integer("minutes", 5, 40)], objectives=["minimise cost = measured"])
            >>> optimizer = cb.ChoiceOptimizer(priced)
            >>> optimizer.measure({"minutes": 12}, cost=12.5)
            >>> [(each.name, each.value) for each in optimizer.measurements]
            [('cost', 12.5)]
        """
        measured = measuring.read_measured(self.space, option, measuring.gathered(values, named))
        event = measuring.measure(self._state, measured, OWNER, None)
        if event is not None:
            self._state.apply(event)

    # ---- what is known

    @property
    def measurements(self) -> Measurements:
        """What was measured and neither replaced nor withdrawn."""
        return measuring.listed(self._state)

    @property
    def situation(self) -> Situation:
        """Everything that the next question depends on."""
        if self._position != self._state.position:
            self._situation = Situation(
                self.space, self.settings, self._state.effective(), encoded=self._situation.encoded
            )
            self._position = self._state.position
        return self._situation

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened, in order."""
        return tuple(self._state.events.values())

    @property
    def queries(self) -> tuple[Question, ...]:
        """All questions asked."""
        return self.situation.questions

    @property
    def open_queries(self) -> tuple[Question, ...]:
        """Questions that were asked and neither answered nor skipped."""
        return tuple(self._state.open_questions())

    @property
    def n_answers(self) -> int:
        """The number of choices, those from elsewhere included."""
        return self._state.n_answers()

    @property
    def needs_model(self) -> bool:
        """Whether the next question is computed with the model; the first ones are not, and those of a baseline."""
        return self.settings.needs_model(self.n_answers, self.space.dim)

    @property
    def data(self) -> ChoiceData | None:
        """All answers as data for a model, or those of the person whom the loop is of; None while there are none."""
        data, person = self.situation.data, self.situation.person
        if data is None or person is None or not self.situation.people:
            return data
        return data.of_rater(person) if person in data.raters else None

    @property
    def latent_dim(self) -> int:
        """Latent dimensions of the model in use."""
        return self.situation.latent_dim

    @property
    def latent_dim_history(self) -> tuple[Look, ...]:
        """With ``latent_dim="auto"``: each look at it that counts now.

        Each says the number of ``answers`` it learned from, the ``latent_dim`` found, the ``reason`` in a sentence, and the
        number of answers ``used_from`` which on it counts.
        """
        return tuple(dict(look) for look in self.situation.looks)

    def posterior(self, *, progress: ProgressCallback | None = None) -> Posterior | None:
        """Return the model of all answers, fitted only if something changed.

        Draws that fall short of the engine's limits issue a `ConvergenceWarning`, once.

        Args:
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            The posterior; None while there are no answers.

        Raises:
            FitInterruptedError: ``progress`` returned ``False``.

        Examples:
            >>> optimizer.posterior().latent_dim
            2
        """
        if self.situation.data is None:
            return None
        self._situation = self._computations.looked(self.situation, progress)
        found = self._computations.posterior(self._situation, progress)
        if found is not None and not self._warned and found.diagnostics.problems:
            self._warned = True  # once is enough: the questions to come are asked in any case
            found.diagnostics.warn()
        return found

    def posterior_in(
        self, context: Mapping[str, Any] | None = None, *, progress: ProgressCallback | None = None
    ) -> Posterior | None:
        """Return the model of all answers, seen from one context: its options are those seen in any, taken into this one.

        What compares the options of a posterior, such as ``plots.trade_offs`` or ``insight.stop_advice``, then does so within
        one context.

        Args:
            context: A value for each `Context` of the space. None: that of the latest question.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            The posterior; None while there are no answers, or if no option seen so far may be offered in this context. Without
            contexts in the space it is that of `posterior`.

        Raises:
            InvalidInputError: A context is missing or unknown.

        Examples:
            >>> drinks = cb.Space([cb.Real("sugar", 0, 10), cb.Context("season", ["summer", "winter"])])
            >>> optimizer = cb.ChoiceOptimizer(drinks, latent_dim=1, engine="laplace")
            >>> optimizer.tell(optimizer.ask(context={"season": "summer"}), kept=[0])
            >>> optimizer.space.decode(optimizer.posterior_in({"season": "winter"}).options)[0]["season"]
            'winter'
        """
        given = self._given(context)
        found = self.posterior(progress=progress)
        return None if found is None else posterior_in(found, self.space, given)

    @property
    def known_posterior(self) -> Posterior | None:
        """The model of all answers if it was fitted already. Never computes."""
        return self._computations.known(self.situation)

    def pareto_set(
        self,
        threshold: float = 0.5,
        *,
        context: Mapping[str, Any] | None = None,
        progress: ProgressCallback | None = None,
    ) -> ParetoOptions:
        """List the options seen so far that are probably beaten by no other.

        Args:
            threshold: The least probability; where no option reaches it, the most probable one is listed.
            context: Where the space has a `Context`: its value. Options seen in any context are compared as they are in this
                one. None: that of the latest question.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            Pairs of ``option`` and ``probability``, the most probable first; empty only before the first answer.

        Raises:
            InvalidInputError: The threshold is no number, or a context is missing.

        Examples:
            >>> best = optimizer.pareto_set()[0]
            >>> sorted(best.option), 0 < best.probability <= 1
            (['minutes', 'temperature'], True)
        """
        if not is_number(threshold):
            raise InvalidInputError(f"threshold is {as_given(threshold)}; give a probability from 0 to 1.")
        posterior = self.posterior_in(context, progress=progress)
        if posterior is None:
            return ParetoOptions()
        probability = posterior.pareto_probability(posterior.answered)
        order = np.argsort(-probability, kind="stable")
        best = [row for row in order if probability[row] >= min(threshold, probability.max())]
        options = self.space.decode(posterior.answered[best])
        return ParetoOptions(ParetoOption(o, float(p)) for o, p in zip(options, probability[best], strict=True))

    def predict(self, options: Sequence[Any], *, progress: ProgressCallback | None = None) -> list[ParetoOption]:
        """Predict how probable it is that none of the options seen so far beats each of these, which need not have been shown.

        Args:
            options: The options; each is taken by itself. Where the space has a `Context`, it is compared with the options seen
                so far as they are in its own context.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            Pairs of ``option`` and ``probability``, in the order given.

        Raises:
            InvalidInputError: Nothing was answered yet.
            SpaceError: One of them is not an option of the space.

        Examples:
            >>> (loaf,) = optimizer.predict([{"temperature": 180, "minutes": 20}])
            >>> 0 <= loaf.probability <= 1
            True
        """
        posterior = self.posterior(progress=progress)
        if posterior is None:
            raise InvalidInputError(
                "There are no answers yet, so there is nothing to predict from: answer a question first."
            )
        return predict(posterior, self.space, options)

    def best_unseen(
        self, *, context: Mapping[str, Any] | None = None, progress: ProgressCallback | None = None
    ) -> ParetoOption | None:
        """Find the option not shown yet that is most probably beaten by none of those seen.

        Args:
            context: As in `pareto_set`.
            progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

        Returns:
            A pair of ``option`` and ``probability``; None if there is nothing left to show, or no answer yet.

        Examples:
            >>> sorted(optimizer.best_unseen().option)
            ['minutes', 'temperature']
        """
        posterior = self.posterior_in(context, progress=progress)
        prospect = replace(self.situation, steering=Steering(context=self._given(context))).prospect()
        found = None if posterior is None else best_unseen(posterior, prospect.here, prospect.known_here)
        return None if found is None else ParetoOption(self.space.decode(found[0][None])[0], found[1])

    def widget(
        self,
        *,
        question: str | None = None,
        context: Mapping[str, Any] | None = None,
        patience: float | None = None,
    ) -> ChoiceWidget:
        """The questions in a cell of a notebook, one after the other, answered by mouse or keyboard.

        Args:
            question: What the person is asked, in words; None: "Which of these would you keep?".
            context: In which it asks, as in `ask`.
            patience: Seconds to wait for the model, as in `ask`.

        Returns:
            A widget; the last expression of a cell shows it.

        Raises:
            MissingExtraError: anywidget is not installed (extra ``notebook``).

        Examples:
            >>> type(optimizer.widget(question="Which loaves would you bake again?")).__name__
            'ChoiceWidget'
        """
        from choicebo.interop.notebook import ChoiceWidget, OptimizerLoop

        return ChoiceWidget(OptimizerLoop(self, question, patience, context))

    # ---- saved and restored

    def to_dict(self) -> dict[str, Any]:
        """Describe the optimiser in JSON-compatible terms.

        Returns:
            A record from which `from_dict` goes on exactly.

        Raises:
            InvalidInputError: A setting is an object without a name to store.

        Examples:
            >>> sorted(optimizer.to_dict())[:2]
            ['format', 'log']
        """
        return record.to_dict(replace(self.situation, steering=Steering(self._locked, context=self._context)))

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, executor: Executor | None = None) -> ChoiceOptimizer:
        """Build the optimiser that `to_dict` described; it asks the same next question.

        Args:
            given: What `to_dict` returned.
            executor: Where to compute; any ``concurrent.futures.Executor``.

        Returns:
            An equal optimiser.

        Raises:
            InvalidInputError: The record is not one of an optimiser.

        Examples:
            >>> again = cb.ChoiceOptimizer.from_dict(optimizer.to_dict())
            >>> again.ask().options == optimizer.ask().options
            True
        """
        return cls.of(record.from_dict(given), executor=executor)


def predict(posterior: Posterior, space: Searchable, options: Sequence[Any]) -> list[ParetoOption]:
    """How probable it is that none of the options answered about beats each of these, taken by itself."""
    known = [space.validate(option) for option in items(options, "options", "a list of options")]
    if not known:
        return []
    probability = np.empty(len(known))
    contexts = [context_of(space, option) for option in known]
    for context in distinct_contexts(contexts):
        mine = [at for at, other in enumerate(contexts) if other == context]
        here = posterior_in(posterior, space, context)
        points = space.encode([known[at] for at in mine])
        probability[mine] = 1.0 if here is None else unbeaten_probability(here, points)
    return [ParetoOption(option, float(share)) for option, share in zip(known, probability, strict=True)]
