"""What is known of a study, for people: the best options, what drives the hidden objectives, what to do next.

There is always something: the model of all answers, that of earlier ones while the newer are being learned, or mere counts.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from choicebo.formatting import counted, explained_by, known_names
from choicebo.history.events import option_key
from choicebo.history.measuring import Values
from choicebo.space import Option
from choicebo.space.context import checked_context, context_of
from choicebo.study.measured import measured_of
from choicebo.study.objective_names import names_of
from choicebo.study.option_counts import count_options
from choicebo.study.status import advise

if TYPE_CHECKING:
    from choicebo.insight import KnownObjective, Numbering, PeopleInsight, StopAdvice
    from choicebo.insight.drivers import Objective
    from choicebo.model.posterior import Posterior
    from choicebo.optimizer import ParetoOption
    from choicebo.study.study import Study

_THRESHOLD = 0.5


@dataclass(frozen=True)
class Point:
    """An option that was shown, and what is believed of it."""

    option: Option
    probability: float
    """That no other option shown beats it; from counts, the share of times that it was kept."""
    optimal: bool
    """Whether it counts as one of the best."""
    mean: tuple[float, ...] = ()
    """Its hidden objectives, in units of the noise of an answer; empty without a model."""
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    shown: int = 0
    """In how many answers it was shown, and in how many of them kept."""
    kept: int = 0

    @property
    def key(self) -> str:
        """Identifies it in an address."""
        return hashlib.sha256(option_key(self.option).encode()).hexdigest()[:12]


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """Everything that is known."""

    answers: int
    """Those that it was learned from."""
    latent_dim: int | None = None
    dimension: str = ""
    """Why the model has so many hidden objectives, in a sentence."""
    points: tuple[Point, ...] = ()
    """Most probable first."""
    objectives: tuple[Objective, ...] = ()
    known: tuple[KnownObjective, ...] = ()
    """What is known already, and how much it counts."""
    advice: StopAdvice | None = None
    diagnostics: tuple[str, ...] = ()
    """What is poor about the fit, for those who know samplers."""
    trust: str = ""
    """The same in a sentence for everybody, with what to do about it; empty if nothing is poor."""
    unseen: ParetoOption | None = None
    """The most promising option not shown yet."""
    waiting: int = 0
    """Answers that came since, or changed, and are being learned."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """The context in which the options are compared; empty where a space has none."""
    posterior: Posterior | None = None
    numbered: Numbering | None = None
    agreement: PeopleInsight | None = None
    """Where tastes are related, what suits all people and each of them."""
    measured: Values = dataclasses.field(default_factory=dict)
    """Of each option, by its key, the measured objectives by name; an `Estimate` where nothing was measured."""

    def __repr__(self) -> str:
        told = f"{counted(len(self.best), 'best option')} of {len(self.points)}"
        return f"StudyResult({self.stage}: {told}, latent_dim={self.latent_dim})"

    @property
    def explanation(self) -> str:
        """What the model explains the answers by; empty without a model."""
        return "" if self.latent_dim is None else explained_by(self.latent_dim, *known_names(self.known))

    @property
    def best(self) -> tuple[Point, ...]:
        """The estimated Pareto set."""
        return tuple(point for point in self.points if point.optimal)

    @property
    def is_preliminary(self) -> bool:
        """Whether a better one is under way."""
        return self.waiting > 0 or (self.posterior is None and bool(self.points))

    @property
    def stage(self) -> str:
        """What it rests on, in a few words.

        Examples:
            >>> StudyResult(12, waiting=2).stage
            'from counts of 12 answers; the model is being learned'
        """
        if self.posterior is None:
            return f"from counts of {counted(self.answers, 'answer')}; the model is being learned"
        learned = f"from the model of {counted(self.answers, 'answer')}"
        if not self.waiting:
            return learned
        return f"{learned}; {self.waiting} newer {'is' if self.waiting == 1 else 'are'} being learned"


def build_result(study: Study, rater: str | None = None, context: Mapping[str, Any] | None = None) -> StudyResult:
    """The result from the model of everybody's answers, or of one rater's; it is fitted only if it is not known.

    The options are compared in the ``context``, or in that of the latest answer.
    """
    given = context_for(study, rater, context)
    fitted = study.optimizer(rater, fit=True)
    posterior = fitted.known_posterior
    if posterior is None:
        return StudyResult(0, context=given)
    from choicebo.insight.drivers import drivers

    history = fitted.latent_dim_history
    found, unseen = _from_model(study, rater, posterior, given), fitted.best_unseen(context=given)
    return dataclasses.replace(
        found,
        answers=fitted.n_answers,
        dimension=str(history[-1]["reason"]) if history else "",
        objectives=tuple(drivers(posterior, study.space, context=given)),
        advice=advise(study, posterior, study.questions(rater=rater), rater, given),
        unseen=unseen,
        measured=found.measured | ({} if unseen is None else measured_of(study, [unseen.option], posterior)),
    )


def earlier_result(
    study: Study, rater: str | None = None, context: Mapping[str, Any] | None = None
) -> StudyResult | None:
    """The options from the latest model of the first answers, without a fit; None if there is none."""
    posterior = study.earlier_posterior(rater)
    if posterior is None:
        return None
    found = _from_model(study, rater, posterior, context_for(study, rater, context))
    return dataclasses.replace(found, waiting=max(study.count_answers(rater) - found.answers, 1))


def counted_result(study: Study, rater: str | None = None, context: Mapping[str, Any] | None = None) -> StudyResult:
    """The options by how often they were kept: no model, at once."""
    given = context_for(study, rater, context)
    found = [
        each for each in count_options(study, rater) if each.shown and context_of(study.space, each.option) == given
    ]
    found.sort(key=lambda each: (-(each.kept + 0.5) / (each.shown + 1), -each.kept))
    best = any(each.unbeaten for each in found)
    points = [
        Point(
            each.option,
            each.kept / each.shown,
            each.unbeaten or (not best and at == 0),
            (),
            (),
            (),
            each.shown,
            each.kept,
        )
        for at, each in enumerate(found)
    ]
    points.sort(key=lambda point: not point.optimal)
    measured = measured_of(study, [each.option for each in points])
    return StudyResult(study.count_answers(rater), points=tuple(points), context=given, measured=measured)


def context_for(study: Study, rater: str | None, context: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context of a result: the one that is asked for, or that of the latest answer."""
    return study.latest_context(rater) if context is None else checked_context(study.space, context)


def outdated(study: Study, known: StudyResult, rater: str | None = None) -> StudyResult:
    """A result from before the latest answers, which says so."""
    return dataclasses.replace(known, waiting=max(study.count_answers(rater) - known.answers, 1))


def with_names(study: Study, found: StudyResult) -> StudyResult:
    """The result with the names that people gave to its objectives, as they are now."""
    if found.numbered is None:
        return found
    return dataclasses.replace(found, objectives=named(study, found.objectives, found.numbered))


def named(study: Study, objectives: Sequence[Objective], numbered: Numbering) -> tuple[Objective, ...]:
    """Objectives with the names that people gave to them."""
    names = names_of(study.objective_names, numbered, study.space) if objectives else ()
    return tuple(dataclasses.replace(each, name=name) for each, name in zip(objectives, names, strict=True))


def _from_model(study: Study, rater: str | None, posterior: Posterior, context: Mapping[str, Any]) -> StudyResult:
    from choicebo.insight import known_objectives, numbering
    from choicebo.optimizer.in_context import posterior_in

    numbered = numbering(posterior, study.space)
    here = posterior_in(posterior, study.space, context)
    points = () if here is None else _points(study, rater, here, numbered)
    return StudyResult(
        answers=_answers_in(study, rater, posterior.data.n_choices),
        latent_dim=posterior.latent_dim,
        points=points,
        context=context,
        diagnostics=posterior.diagnostics.problems,
        trust=posterior.diagnostics.sentence,
        posterior=posterior,
        numbered=numbered,
        known=known_objectives(posterior, study.space),
        measured=measured_of(study, [point.option for point in points], posterior),
    )


def _answers_in(study: Study, rater: str | None, choices: int) -> int:
    """How many answers the first ``choices`` choices make up."""
    ends = accumulate(act.n_choices for act in study.history(rater) if act.counts)
    return sum(end <= choices for end in ends)


def _points(study: Study, rater: str | None, posterior: Posterior, numbered: Numbering) -> tuple[Point, ...]:
    import numpy as np

    X = posterior.answered
    probability = posterior.pareto_probability(X)
    latent = numbered.latent(X)
    mean = latent.mean(0)
    lower, upper = np.quantile(latent, [0.025, 0.975], axis=0)
    least = min(_THRESHOLD, float(probability.max()))
    counts = {option_key(each.option): each for each in count_options(study, rater)}
    found = []
    options = study.space.decode(X)
    for at in np.argsort(-probability, kind="stable"):
        times = counts.get(option_key(options[at]))
        found.append(
            Point(
                option=options[at],
                probability=float(probability[at]),
                optimal=bool(probability[at] >= least),
                mean=tuple(map(float, mean[at])),
                lower=tuple(map(float, lower[at])),
                upper=tuple(map(float, upper[at])),
                shown=times.shown if times else 0,
                kept=times.kept if times else 0,
            )
        )
    return tuple(found)
