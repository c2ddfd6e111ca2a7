"""Where a study stands, in one record: the only place of this room that knows ``choicebo.insight``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from choicebo.formatting import explained_by, known_names
from choicebo.frames import to_frame
from choicebo.history import Answer, Question
from choicebo.history.measuring import Values
from choicebo.space import Option, Space
from choicebo.space.context import checked_context, context_of
from choicebo.study.measured import measured_of, told
from choicebo.study.records import Rater

if TYPE_CHECKING:
    from choicebo.insight import Objective, StopAdvice
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import ChoiceOptimizer, ParetoOption
    from choicebo.study.study import Study

_CANDIDATES = 128
"""How many options are evaluated to tell whether there is something left to find."""


@dataclass(frozen=True)
class Surprise:
    """An answer that is unlike the others."""

    past: Answer
    probability: float
    """How probable it was, given all other answers."""
    expected: tuple[int, ...]
    """The positions that were expected to be kept."""
    position: int
    """That of the option which makes the answer surprising."""
    sentence: str
    against: Answer | None = None
    """The answer that it clashes with most."""

    @property
    def disputed(self) -> tuple[Option, ...]:
        """Options that one of the two answers kept and the other did not."""
        if self.against is None:
            return ()
        kept = [[answer.options[at] for at in answer.kept] for answer in (self.past, self.against)]
        both = (option for option in self.past.options if option in self.against.options)
        return tuple(option for option in both if (option in kept[0]) != (option in kept[1]))


@dataclass(frozen=True)
class Status:
    """Where a study stands."""

    name: str
    question: str
    answers: int
    """Those that count, choices made elsewhere included."""
    skips: int
    retracted: int
    open_questions: int
    raters: tuple[Rater, ...]
    options_shown: int
    prepared: bool
    """Whether the next question can be asked at once."""
    latent_dim: int | None = None
    """Hidden objectives of the model; None if there is none, or if it was not asked for."""
    latent_dim_history: tuple[dict[str, Any], ...] = ()
    objectives: tuple[str, ...] = ()
    """What drives each hidden objective, in a sentence; by its name, if it has one."""
    known: tuple[str, ...] = ()
    """How much each known objective counts, in a sentence."""
    explanation: str = ""
    """What the model explains the answers by; empty if there is none."""
    diagnostics: tuple[str, ...] = ()
    """What is poor about the fit, in sentences."""
    trust: str = ""
    """The same in a sentence for everybody, with what to do about it; empty if nothing is poor."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """The context in which options are compared; empty where a space has none."""
    pareto_set: tuple[ParetoOption, ...] = ()
    advice: StopAdvice | None = None
    """Whether to go on, and why."""
    surprising: tuple[Surprise, ...] = ()
    agreement: tuple[str, ...] = ()
    """Where tastes are related, what people agree and differ about, in sentences."""
    measurements: int = 0
    """How many values of measured objectives were entered."""
    measured: Values = dataclasses.field(default_factory=dict)
    """Of each of the best options, by its key, the measured objectives by name; an `Estimate` where nothing was measured."""

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-compatible data."""
        found: dict[str, Any] = _plain(
            {
                field.name: getattr(self, field.name)
                for field in dataclasses.fields(self)
                if field.name not in ("pareto_set", "measured")
            }
        )
        found["pareto_set"] = [
            {"option": o.option, "probability": o.probability, **told(self.measured, o.option)} for o in self.pareto_set
        ]
        return found

    def to_frame(self, library: str | None = None) -> Any:
        """A data frame with one row, so that those of several studies can stand below each other.

        Args:
            library: ``"pandas"`` or ``"polars"``; None: whichever is in use or installed.

        Raises:
            MissingExtraError: Neither is installed.
        """
        names = ("name", "question", "answers", "skips", "retracted", "open_questions", "options_shown", "latent_dim")
        columns: dict[str, list[Any]] = {name: [getattr(self, name)] for name in names}
        columns["raters"] = [len(self.raters)]
        columns["best_options"] = [len(self.pareto_set)]
        columns["surprising"] = [len(self.surprising)]
        columns["advice"] = [None if self.advice is None else self.advice.sentence]
        return to_frame(columns, library)


def describe(
    study: Study, rater: str | None, fitted: ChoiceOptimizer | None, context: Mapping[str, Any] | None = None
) -> Status:
    """The status of a study, with what its model says if one is given."""
    given = study.latest_context(rater) if context is None else checked_context(study.space, context)
    past, questions = study.history(rater), study.questions(rater=rater)
    shown = {str(option) for options in _shown(past, questions) for option in options}
    plain = Status(
        name=study.name,
        question=study.question,
        answers=sum(act.counts for act in past),
        skips=sum(act.kind == "skip" and act.state == "standing" for act in past),
        retracted=sum(act.state == "retracted" for act in past),
        open_questions=sum(question.is_open for question in questions),
        raters=study.raters(),
        options_shown=len(shown),
        prepared=study.is_ready(rater),
        measurements=len(study.measurements()),
        context=given,
    )

    posterior = None if fitted is None else fitted.known_posterior
    if fitted is None or posterior is None:
        return plain
    from choicebo.insight import known_objectives

    known, best = known_objectives(posterior, study.space), fitted.pareto_set(context=given)
    people = study.agreement(context=given) if rater is None else None
    return dataclasses.replace(
        plain,
        latent_dim=posterior.latent_dim,
        latent_dim_history=fitted.latent_dim_history,
        objectives=tuple(each.sentence for each in _objectives(study, posterior, given)),
        known=tuple(each.sentence for each in known),
        explanation=explained_by(posterior.latent_dim, *known_names(known)),
        diagnostics=posterior.diagnostics.problems,
        trust=posterior.diagnostics.sentence,
        pareto_set=tuple(best),
        measured=measured_of(study, [each.option for each in best], posterior),
        advice=advise(study, posterior, questions, rater, given),
        surprising=_surprising(posterior, [act for act in past if act.counts]),
        agreement=() if people is None else people.sentences,
    )


def advise(
    study: Study,
    posterior: Posterior,
    questions: tuple[Question, ...],
    rater: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> StopAdvice | None:
    """Whether to go on, judged by the model, the models of earlier answers, and the earliest open question.

    Of a space with contexts, in one of them; None if nothing that is known may be offered in it.
    """
    from choicebo.insight import stop_advice
    from choicebo.insight.stopping import LOOKS, MIN_ANSWERS
    from choicebo.optimizer.in_context import is_asked_in, posterior_in

    given = {} if context is None else context
    space = study.space.within(given) if isinstance(study.space, Space) and given else study.space
    questions = tuple(each for each in questions if context_of(study.space, each.options[0]) == given)
    candidates = space.sobol(int(min(_CANDIDATES, space.size)), seed=0)
    asked = next((space.encode(question.options) for question in questions if question.is_open), None)
    # Too few answers are advised to go on in any case.
    answers = study.count_answers(rater)
    before = study.earlier_posteriors(rater, count=LOOKS - 1) if answers >= MIN_ANSWERS else ()
    # Where tastes are related, the last answers may all have been somebody else's.
    before = tuple(each for each in before if each.data.n_choices < posterior.data.n_choices)
    # What was asked in another context says little about this one.
    before = tuple(each for each in before if is_asked_in(posterior, each.data.n_choices, study.space, given))
    here = posterior_in(posterior, study.space, given)
    if here is None:
        return None
    seen = [found for each in before if (found := posterior_in(each, study.space, given)) is not None]
    return stop_advice(here, candidates, question=asked, before=seen, answers=answers)


def _objectives(study: Study, posterior: Posterior, context: Mapping[str, Any]) -> tuple[Objective, ...]:
    from choicebo.insight import drivers, numbering
    from choicebo.study.result import named

    return named(study, drivers(posterior, study.space, context=context), numbering(posterior, study.space))


def _surprising(posterior: Posterior, answers: list[Answer]) -> tuple[Surprise, ...]:
    """The answers worth a second look; ``answers`` are those of the model, in its order. Each is named once."""
    from choicebo.insight import surprises

    # Of each choice of the model: which answer it belongs to, and the positions of its options in that answer.
    of_choice = [(number, among) for number, act in enumerate(answers) for among in act.shown_in_choices]
    numbers = [number for number, _ in of_choice]
    found: dict[int, Surprise] = {}
    for each in surprises(posterior, answers=numbers):
        number, among = of_choice[each.choice]
        against = None if each.against is None else numbers[each.against]
        if each.noteworthy and number not in found:
            found[number] = Surprise(
                answers[number],
                each.probability,
                tuple(among[at] for at in each.expected),
                among[each.position],
                each.sentence,
                None if against in (None, number) else answers[against],
            )
    return tuple(found.values())


def _shown(past: tuple[Answer, ...], questions: tuple[Question, ...]) -> list[list[Option]]:
    return [act.options for act in past] + [question.options for question in questions]


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value
