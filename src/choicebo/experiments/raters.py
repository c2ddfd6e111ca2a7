"""Several people who answer about the same options: three ways to learn from them, scored on answers that were held out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice, ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.experiments.accuracy import share_equal
from choicebo.model.choice_table import choice_table
from choicebo.model.gp import ChoiceGP
from choicebo.model.likelihood import log_batch_preference
from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

RELATED, TOGETHER, SEPARATE = WAYS = ("related", "together", "separate")
"""What people share and where they differ is learned; all answers count as one person's; each person is learned alone."""
DRAWS = 400
"""Of the latent functions, for a probability."""


@dataclass(frozen=True)
class Panel:
    """People, the answers to learn from, and those that are held out."""

    X: Array
    """(m, d): the options, in the unit cube; choices name its rows."""
    answers: Mapping[str, Sequence[Choice]]
    """By person."""
    unseen: Mapping[str, Sequence[Choice]]
    """By person; all sets of one person are of one size."""

    def data(self) -> ChoiceData:
        """The answers to learn from, each with who gave it."""
        answers = [(person, each) for person, given in self.answers.items() for each in given]
        return ChoiceData(self.X, [Choice(each.shown, each.kept, rater=person) for person, each in answers])


@dataclass(frozen=True)
class Learned:
    """What was learned from a panel."""

    person: Callable[[str], Posterior | None]
    """What is known of a person; ``None`` for nothing."""
    seconds: float
    problems: tuple[str, ...]
    agreement: Mapping[str, list[float]] | None = None
    """The share of personal taste in each latent dimension, ``share``, with the ends of its interval, ``lower`` and ``upper``."""

    def told(self) -> dict[str, Any]:
        """What is stored of it, as JSON values."""
        found: dict[str, Any] = {"seconds": self.seconds, "problems": list(self.problems)}
        return found if self.agreement is None else found | {"agreement": dict(self.agreement)}


def learn(way: str, panel: Panel, model: ChoiceGP, seed: int = 0) -> Learned:
    """Fit the model, or, for ``"separate"``, one model for each person."""
    began = time.perf_counter()

    def learned(person: Callable[[str], Posterior | None], problems: Iterable[str], **more: Any) -> Learned:
        return Learned(person, time.perf_counter() - began, tuple(dict.fromkeys(problems)), **more)

    if way == SEPARATE:
        alone = {
            person: model.fit_silently(ChoiceData(panel.X, answers), seed)
            for person, answers in panel.answers.items()
            if answers
        }
        return learned(alone.get, [text for each in alone.values() for text in each.diagnostics.problems])
    if way not in WAYS:
        raise InvalidInputError(f"No way to learn is called {way!r}; choose one of {', '.join(WAYS)}.")
    data = panel.data()
    found = dataclasses.replace(model, raters=way).fit_silently(data, seed)
    if way == TOGETHER:
        return learned(lambda person: found, found.diagnostics.problems)
    agreement = {name: getattr(found.agreement, name).tolist() for name in ("share", "lower", "upper")}

    def of(person: str) -> Posterior:
        return found.of(person) if person in data.raters else found.newcomer()

    return learned(of, found.diagnostics.problems, agreement=agreement)


@dataclass(frozen=True)
class Score:
    """How well the answers of one person were predicted."""

    log_score: float
    """Mean log-probability of what they answered."""
    right: float
    """Share of questions whose answer was predicted exactly."""


def of_sets(posterior: Posterior | None, X: Array, questions: Sequence[Choice]) -> Score:
    """The score where any non-empty subset may be kept; without a posterior all are equally probable.

    Probabilities are those of the model, its slips included: Theorem 1, normalised over the subsets.
    """
    size = len(questions[0].shown)
    kept = [positions(each) for each in questions]
    if posterior is None:
        return Score(-float(np.log(2**size - 1)), 1.0 / (2**size - 1))
    rows, place = np.unique([each.shown for each in questions], return_inverse=True)
    latent = posterior.sample(X[rows], draws=DRAWS)
    log_scores = []
    for shown, answer in zip(place.reshape(-1, size), kept, strict=True):
        table = choice_table(latent[:, shown]).mean(0)
        lapse = posterior.spec.lapse
        probability = (1.0 - lapse) * table / table.sum() + lapse / len(table)
        log_scores.append(np.log(probability[sum(1 << position for position in answer) - 1]))
    foretold = posterior.predict_choices(X[[each.shown for each in questions]])
    return Score(float(np.mean(log_scores)), share_equal(foretold, kept))


def of_winners(posterior: Posterior | None, X: Array, questions: Sequence[Choice]) -> Score:
    """The score where one option had to be chosen: the likelihood ``"batch_preference"``, normalised over the winners."""
    size = len(questions[0].shown)
    if posterior is None:
        return Score(-float(np.log(size)), 1.0 / size)
    return winners_score(winner_log_probabilities(posterior, X[[each.shown for each in questions]]), questions)


def winner_log_probabilities(posterior: Posterior, sets: Array) -> Array:
    """Log-probability of each option of each set, ``(sets, k, d) -> (sets, k)``, to be the one that is chosen.

    The model must have one latent dimension and the likelihood ``"batch_preference"``.
    """
    n, k, d = sets.shape
    latent = posterior.sample(sets.reshape(-1, d), draws=DRAWS).reshape(DRAWS, n, k)
    found = np.empty((n, k))
    for i in range(k):
        margin = np.delete(latent[..., i : i + 1] - latent, i, axis=2)
        found[:, i] = np.exp(log_batch_preference(np.moveaxis(margin, 2, 0)[:, None])).mean(0)
    # A slip may be any subset, of which those of one option are possible here.
    lapse = posterior.spec.lapse
    found = (1.0 - lapse) * found + lapse / (2**k - 1)
    return np.asarray(np.log(found / found.sum(1, keepdims=True)))


def winners_score(log_probabilities: Array, questions: Sequence[Choice]) -> Score:
    """The score of log-probabilities (questions, k) of each option to be the one chosen."""
    chosen = np.array([positions(each)[0] for each in questions])
    log_score = log_probabilities[np.arange(len(chosen)), chosen].mean()
    return Score(float(log_score), float((log_probabilities.argmax(1) == chosen).mean()))


def positions(choice: Choice) -> tuple[int, ...]:
    """The kept options as positions in the set shown.

    >>> positions(Choice(shown=(7, 3, 5), kept=(5, 7)))
    (0, 2)
    """
    return tuple(choice.shown.index(row) for row in choice.kept)
