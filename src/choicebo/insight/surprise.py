"""Answers that are unlike a person's others, the option that makes them so, and the answer that they clash with.

An answer is judged by the others alone. Importance weights of the draws approximate what those predict; the few answers
that look suspicious are judged exactly, by a fit without them, because an answer that the model has learned from has made
room for itself. How unlikely an answer may be depends on the person: somebody who always answers as expected is suspected
of a slip sooner than somebody who often surprises.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.formatting import percent
from choicebo.insight.held_out import Expectation, expectations, expectations_of, require_posterior
from choicebo.model.engines import ENGINES, question_engine
from choicebo.model.engines.base import ProgressCallback, Reporter
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior
from choicebo.space.values import as_count

Array = NDArray[np.float64]

MIN_ANSWERS = 6
"""With fewer answers, none can be called unlike the others."""
NOTEWORTHY = 7.5
"""An answer is reported if it is this many times as surprising as the person's others. ``benchmarks/clashes.py`` counts the slips
that are found and the false alarms."""
USUAL_ANSWERS = 10
"""Imaginary answers, exactly as predictable as the model thinks, that are added to those given: with few answers, no person
is taken to be more consistent than that."""
REFITS = 3
"""At most so many answers are judged by a fit without them, ..."""
SUSPICIOUS = 0.5
"""... those for which the weights give a rarity of no more than this."""


@dataclasses.dataclass(frozen=True)
class Surprise:
    """How far one answer is from what the others suggest."""

    choice: int
    """Number of the choice in the data."""
    surprise: float
    """Minus the log of `rarity`, in units of its mean over the person's other answers; 0 if the likeliest was given."""
    rarity: float
    """Probability, as the other answers see it, of an answer that is no likelier than the one given."""
    probability: float
    """Of the answer given, as the other answers see it."""
    position: int
    """Of the option that causes it, among those shown."""
    option: int
    """The same option as a row of ``data.X``."""
    expected: tuple[int, ...]
    """Positions that the other answers suggest to keep."""
    sentence: str
    against: int | None = None
    """Number of the choice that it clashes with most; None if it was not judged by a fit of its own, or clashes with none."""
    disputed: tuple[int, ...] = ()
    """Rows of ``data.X`` that one of the two kept and the other did not."""

    @property
    def noteworthy(self) -> bool:
        """Whether to mention it to the person."""
        return self.surprise >= NOTEWORTHY

    def retract(self, data: ChoiceData) -> ChoiceData:
        """The data without this answer."""
        return data.without(self.choice)


def surprises(
    posterior: Posterior,
    labels: Sequence[str] | None = None,
    *,
    refits: int = REFITS,
    answers: Sequence[int] | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> list[Surprise]:
    """List all answers, the most surprising first; ``noteworthy`` says which deserve a second look.

    Each is judged by the other answers alone.

    Args:
        posterior: What was learned from all answers.
        labels: Names of the rows of ``data.X``, for the sentences.
        refits: How many of the most suspicious answers are judged by a fit without them; with 0 nothing is fitted.
        answers: Of each choice, the number of the answer that it belongs to, for the sentences. None: each is an answer.
        seed: Of these fits.
        progress: Called as ``progress(stage, fraction)``; returning ``False`` interrupts.

    Returns:
        One `Surprise` for each answer; an empty list if there are too few answers.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo.insight import surprises
        >>> sorted(each.choice for each in surprises(posterior, refits=0))
        [0, 1, 2, 3, 4, 5, 6, 7]
    """
    require_posterior(posterior)
    refits = as_count(refits, "refits")
    data = posterior.data
    if labels is not None and len(labels) != data.n_options:
        raise InvalidInputError(f"labels must name the {data.n_options} options of the data, got {len(labels)} names.")
    if data.n_choices < MIN_ANSWERS:
        return []
    judged = {each.choice: (each, _Clash(None, ())) for each in expectations(posterior)}
    rough = {number: _rarity(each) for number, (each, _) in judged.items()}
    if posterior.people is not None or posterior.rater is not None:
        refits = 0  # of several people, a fit without one answer takes long, and weights do as well
    suspects = sorted((rarity, number) for number, rarity in rough.items() if rarity <= SUSPICIOUS)[:refits]
    report = Reporter(progress)
    for done, (_, number) in enumerate(suspects):
        report(f"judging answer {number + 1} by the others", done / len(suspects))
        rest = _fit_without(posterior, number, seed)
        expectation = expectations_of(rest, data.subset([number]), seed)[0]
        judged[number] = dataclasses.replace(expectation, choice=number), _clash(posterior, rest, number)
    numbers = range(data.n_choices) if answers is None else answers
    total, count = -float(np.log(list(rough.values())).sum()), len(rough) + USUAL_ANSWERS
    found = [
        _surprise(
            expectation, clash, (total + np.log(rough[number]) + USUAL_ANSWERS) / (count - 1), data, labels, numbers
        )
        for number, (expectation, clash) in judged.items()
    ]
    return sorted(found, key=lambda each: (-each.surprise, each.choice))


def _rarity(expectation: Expectation) -> float:
    """Probability of an answer that is no likelier than the one given."""
    probabilities = expectation.probabilities
    return float(min(1.0, probabilities[probabilities <= expectation.probability * (1.0 + 1e-9)].sum()))


def _fit_without(posterior: Posterior, number: int, seed: int) -> Posterior:
    spec, engine = posterior.spec, posterior.diagnostics.engine
    model = ChoiceGP(
        spec.latent_dim,
        kernel=spec.kernel,
        engine=question_engine(engine if engine in ENGINES else "hmc"),
        likelihood=posterior.likelihood,
        lapse=spec.lapse,
        nugget=spec.nugget,
        prior=spec.prior,
        correlated=spec.correlated,
        inducing=spec.inducing,
        known=None if spec.known is None else spec.known.function,
        threshold=spec.threshold,
    )
    return model.fit_silently(posterior.data.without(number), seed)


class _Clash(NamedTuple):
    """The answer that one clashes with most, and the options on which they differ."""

    against: int | None
    disputed: tuple[int, ...]


def _clash(posterior: Posterior, rest: Posterior, number: int) -> _Clash:
    """The answer that becomes more plausible once ``number`` is left out, of those that contradict it if there are any."""
    choices = posterior.data.choices
    others = [other for other in range(len(choices)) if other != number]
    gain = _log_mean(rest.log_likelihood) - _log_mean(posterior.log_likelihood)[others]
    mine = choices[number]
    disputed = [
        tuple(i for i in mine.shown if i in choices[other].shown and (i in mine.kept) != (i in choices[other].kept))
        for other in others
    ]
    best = max(range(len(others)), key=lambda at: (bool(disputed[at]) and gain[at] > 0.0, gain[at]))
    return _Clash(others[best], disputed[best]) if gain[best] > 0.0 else _Clash(None, ())


def _log_mean(log_likelihood: Array) -> Array:
    """Log of the mean likelihood of each choice over all draws, ``(chains, draws, choices) -> (choices,)``."""
    return np.asarray(logsumexp(log_likelihood, axis=(0, 1)) - np.log(log_likelihood[..., 0].size))


def _surprise(
    expectation: Expectation,
    clash: _Clash,
    usual: float,
    data: ChoiceData,
    labels: Sequence[str] | None,
    answers: Sequence[int],
) -> Surprise:
    """``usual`` is the mean of minus the log of the rarity over the person's other answers."""
    shown = data.choices[expectation.choice].shown
    kept, inclusion = expectation.kept, expectation.inclusion
    position = int(np.argmin(np.where(kept, inclusion, 1.0 - inclusion)))
    option, rarity = shown[position], _rarity(expectation)
    surprise = float(-np.log(rarity) / usual)
    name = labels[option] if labels is not None else f"option {position + 1} of {len(shown)}"
    like = "agrees with your others" if rarity > 0.5 else "is not the likeliest, but within what your others suggest"
    number, against = answers[expectation.choice], None if clash.against is None else answers[clash.against]
    sentence = f"Answer {number + 1} {like}."
    if surprise >= NOTEWORTHY:
        sentence = _sentence(number, name, bool(kept[position]), float(inclusion[position]), against)
    return Surprise(
        choice=expectation.choice,
        surprise=surprise,
        rarity=rarity,
        probability=expectation.probability,
        position=position,
        option=option,
        expected=expectation.likeliest,
        sentence=sentence,
        against=clash.against,
        disputed=clash.disputed,
    )


def _sentence(choice: int, name: str, kept: bool, inclusion: float, against: int | None) -> str:
    deed, other = ("kept", "leave it out") if kept else ("left out", "keep it")
    chance = 1.0 - inclusion if kept else inclusion
    clash = "" if against is None else f" It clashes most with answer {against + 1}."
    return (
        f"Answer {choice + 1} is unlike your others: you {deed} {name}, and judging by them you would {other} "
        f"({percent(chance)} likely).{clash} If you meant it, all is well; if it was a slip, change it or take it back."
    )
