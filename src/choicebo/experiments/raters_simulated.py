"""Simulated people who share some of their taste: ``f_r = sqrt(1 - a) h_0 + sqrt(a) h_r``, with a known ``a``.

Eight people answer as many questions each; a ninth one joins them and is predicted after none, some and more answers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from choicebo.choices import Choice
from choicebo.experiments.accuracy import share_equal
from choicebo.experiments.choosers import Chooser, pareto_choice, random_sets
from choicebo.experiments.raters import SEPARATE, WAYS, Panel, Score, learn, of_sets, positions
from choicebo.experiments.trials import Trial, seed_of
from choicebo.model.choice_table import choice_table
from choicebo.model.covariance import kernel_named
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

EXPERIMENT = "raters-simulated"
TRUTH = "truth"
"""Predicts from the true functions of the people: no method can do better."""
SHARES = (0.0, 0.3, 0.6, 1.0)
JOINING = (0, 5, 10)
"""Answers of the ninth person."""
NOISE = 0.2
"""Of an answer, in standard deviations of the functions."""
_LENGTHSCALE = 0.4
_OPTIONS, _SET_SIZE, _OBJECTIVES = 100, 4, 2


@dataclass(frozen=True)
class Size:
    """How much there is of everything."""

    repetitions: int
    people: int = 8
    answers: int = 25
    unseen: int = 40
    """Questions of each person that are held out."""


QUICK, FULL = Size(repetitions=2), Size(repetitions=10)


@dataclass(frozen=True)
class Crowd:
    """The people of one repetition; the last one is who joins them."""

    X: Array
    """(options, 2)"""
    latent: Array
    """(people, options, objectives): what they want."""
    answers: dict[str, list[Choice]]
    unseen: dict[str, list[Choice]]

    @property
    def newcomer(self) -> str:
        """The name of the last person."""
        return list(self.answers)[-1]

    def joined(self, answers: int) -> Panel:
        """All people, the last one with so many of their answers."""
        first = {**self.answers, self.newcomer: self.answers[self.newcomer][:answers]}
        return Panel(self.X, {person: given for person, given in first.items() if given}, self.unseen)

    def alone(self, answers: int) -> Panel:
        """The last person only, with so many of their answers."""
        return Panel(self.X, {self.newcomer: self.answers[self.newcomer][:answers]}, self.unseen)

    def true_score(self, person: str) -> Score:
        """How well what the person wants predicts what they answer."""
        latent, questions = self.latent[list(self.answers).index(person)], self.unseen[person]
        kept = [positions(each) for each in questions]
        log_scores = []
        for each, answer in zip(questions, kept, strict=True):
            (table,) = choice_table(latent[None, list(each.shown)] / NOISE)
            log_scores.append(np.log(table[sum(1 << position for position in answer) - 1] / table.sum()))
        foretold = [pareto_choice(latent[list(each.shown)]) for each in questions]
        return Score(float(np.mean(log_scores)), share_equal(foretold, kept))


def crowd(share: float, repetition: int, size: Size) -> Crowd:
    """People whose personal part has that share of the variance; the same for all methods of a repetition.

    >>> people = crowd(0.3, 0, Size(1, people=2, answers=3, unseen=1))
    >>> [len(answers) for answers in people.answers.values()]
    [3, 3, 10]
    """
    rng = np.random.default_rng(seed_of(EXPERIMENT, share, repetition))
    X = rng.random((_OPTIONS, 2))
    K = kernel_named("matern32").value(cdist(X, X) / _LENGTHSCALE)
    parts = np.linalg.cholesky(K + 1e-9 * np.eye(_OPTIONS)) @ rng.standard_normal(
        (size.people + 2, _OPTIONS, _OBJECTIVES)
    )
    latent = np.sqrt(1.0 - share) * parts[:1] + np.sqrt(share) * parts[1:]
    answers, unseen = {}, {}
    for number, values in enumerate(latent, start=1):
        learned = size.answers if number <= size.people else max(JOINING)
        asked = _answers(values, learned + size.unseen, rng)
        answers[f"p{number}"], unseen[f"p{number}"] = asked[:learned], asked[learned:]
    return Crowd(X, latent, answers, unseen)


def _answers(latent: Array, count: int, rng: np.random.Generator) -> list[Choice]:
    person = Chooser(lambda rows: latent[rows[:, 0].astype(int)], noise=NOISE)
    sets = random_sets(len(latent), _SET_SIZE, count, rng)
    return [Choice(shown, [shown[i] for i in person(np.reshape(shown, (-1, 1)), rng)]) for shown in sets.tolist()]


def trials(size: Size, seed: int = 0) -> list[Trial]:
    """Every share, way to learn and number of answers of the newcomer; repetitions in turn, so that a run that is stopped
    leaves as many of each."""
    what = {key: value for key, value in asdict(size).items() if key != "repetitions"}
    return [
        Trial(EXPERIMENT, "crowd", method, number, {**what, "share": share, "joining": joining})
        for number in range(seed, seed + size.repetitions)
        for share in SHARES
        for method in (TRUTH, *reversed(WAYS))
        for joining in (JOINING if method != TRUTH else JOINING[:1])
    ]


def run_trial(trial: Trial) -> dict[str, Any]:
    """The scores of the people who were there first (where nobody joined yet) and of the newcomer."""
    settings, way = trial.settings, trial.method
    size = Size(1, settings["people"], settings["answers"], settings["unseen"])
    people, joining = crowd(settings["share"], trial.repetition, size), settings["joining"]
    asked = [people.newcomer] if joining else list(people.answers)
    if way == TRUTH:
        return _result({person: people.true_score(person) for person in asked}, people.newcomer)
    # Learned apart, the others say nothing about the newcomer.
    panel = people.alone(joining) if way == SEPARATE and joining else people.joined(joining)
    learned = learn(way, panel, ChoiceGP(latent_dim=_OBJECTIVES), trial.repetition)
    scores = {person: of_sets(learned.person(person), people.X, people.unseen[person]) for person in asked}
    return _result(scores, people.newcomer) | learned.told()


def _result(scores: dict[str, Score], newcomer: str) -> dict[str, Any]:
    first = [score for person, score in scores.items() if person != newcomer]
    found: dict[str, Any] = {"newcomer": asdict(scores[newcomer])}
    if first:
        found["people"] = {
            name: float(np.mean([getattr(score, name) for score in first])) for name in ("log_score", "right")
        }
    return found
