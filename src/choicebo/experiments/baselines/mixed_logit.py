"""Multinomial and mixed logit by xlogit: the usual models of single choices by many people.

xlogit predicts a person from the distribution of tastes in the population. A person's own answers say more: draws of that
distribution, weighted by how well they explain the answers, predict the next ones (Train 2009, chapter 11).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from choicebo.extras import needs

Array = NDArray[np.float64]

DRAWS = 1000
"""Halton draws for each person, in the fit."""
PERSONAL_DRAWS = 20_000


class Answers(NamedTuple):
    """Single choices among equally many alternatives."""

    X: Array
    """(questions, alternatives, d)"""
    chosen: NDArray[np.intp]
    """(questions,)"""
    person: NDArray[np.intp]
    """(questions,)"""


class Tastes(NamedTuple):
    """Independent normal distributions of the coefficients in the population; a multinomial logit has no spread."""

    mean: Array
    """(d,)"""
    spread: Array
    """(d,)"""


def installed() -> bool:
    """Whether xlogit is there."""
    return importlib.util.find_spec("xlogit") is not None


def multinomial(answers: Answers) -> Tastes:
    """One taste for all."""
    with needs("experiments", "A multinomial logit"):
        from xlogit import MultinomialLogit
    model = MultinomialLogit()
    X, chosen, names, alternatives, questions, _ = _long_format(answers)
    model.fit(X, chosen, names, alternatives, questions, verbose=0, skip_std_errs=True)
    return Tastes(model.coeff_, np.zeros(len(names)))


def mixed(answers: Answers, draws: int = DRAWS) -> Tastes:
    """Normal distributions of all coefficients, the same for all answers of a person."""
    with needs("experiments", "A mixed logit"):
        from xlogit import MixedLogit
    model = MixedLogit()
    X, chosen, names, alternatives, questions, people = _long_format(answers)
    model.fit(
        X,
        chosen,
        names,
        alternatives,
        questions,
        randvars=dict.fromkeys(names, "n"),
        panels=people,
        n_draws=draws,
        verbose=0,
        skip_std_errs=True,
    )
    mean, spread = np.split(np.asarray(model.coeff_), 2)
    return Tastes(mean, np.abs(spread))


def log_probabilities(tastes: Tastes, X: Array, known: Answers | None = None, seed: int = 0) -> Array:
    """Log-probability of each alternative of ``X: (questions, alternatives, d)`` for one person.

    Args:
        tastes: Of the population.
        X: What the person is asked.
        known: What that person answered before; None: a person of the population, of whom nothing is known.
        seed: Of the draws from the distribution of tastes.
    """
    normal = np.random.default_rng(seed).standard_normal(
        (PERSONAL_DRAWS if tastes.spread.any() else 1, len(tastes.mean))
    )
    coefficients = tastes.mean + tastes.spread * normal
    log_weight = np.zeros(len(coefficients))
    if known is not None:
        explained = _log_choices(coefficients, known.X)
        log_weight = explained[:, np.arange(len(known.chosen)), known.chosen].sum(1)
    log_weight = log_weight - logsumexp(log_weight)
    return np.asarray(logsumexp(log_weight[:, None, None] + _log_choices(coefficients, X), axis=0))


def _log_choices(coefficients: Array, X: Array) -> Array:
    """(draws, questions, alternatives)"""
    return np.asarray(log_softmax(np.einsum("qad,rd->rqa", X, coefficients), axis=2))


def _long_format(answers: Answers) -> tuple[Array, Array, Sequence[str], Array, Array, Array]:
    """One row for each alternative, as xlogit wants it."""
    questions, alternatives, d = answers.X.shape
    return (
        answers.X.reshape(-1, d),
        (np.arange(alternatives) == answers.chosen[:, None]).astype(int).reshape(-1),
        [f"x{i}" for i in range(d)],
        np.tile(np.arange(alternatives), questions),
        np.repeat(np.arange(questions), alternatives),
        np.repeat(answers.person, alternatives),
    )
