"""Several people: how their answers are represented, and the posterior of each of them.

What all share and what is each person's own have the same covariance (see :mod:`~choicebo.model.engines.people`), so a person's
latent functions are distributed like those of a single person. And once they are known at all options that anybody saw, nothing
else tells more of them. So each person has an ordinary posterior at these options: everything that can be asked of one person's
model can be asked of each of several.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.choices import Choice
from choicebo.model import covariance
from choicebo.model.covariance import Hyperparameters, Kernel, personal_share
from choicebo.model.evaluate import Likelihood
from choicebo.model.features import FEWEST, MOST, telling_rows

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

TREATMENTS = ("related", "together")
"""What ``ChoiceGP(raters=...)`` takes."""
MOST_PEOPLE = 1000
_LEFT_OUT = 0.02
"""Inducing options are added for what is personal until this share of its variance is left out on average, ..."""
_FEWEST_PERSONAL = 4
_COORDINATES = 12_000
"""... or until all whitened values of all people and latent dimensions are so many: each draw holds all of them."""
_KNOWN = 0.25
"""A person whom the others predict less than this better than chance, in nats per answer, ..."""
_ENOUGH = 6
"""... in so many answers, may be answering at random."""
AT_RANDOM = 0.9
"""The lapse rate of such a person."""
ODDS = 0.05
"""How probable it is, before anything is known of a person, that they answer at random."""


class PeopleDraws(NamedTuple):
    """Draws of what several people share and of what is each one's own."""

    names: tuple[str | None, ...]
    """In the order of their first answers; None: answers without a name."""
    hyper: Hyperparameters
    whitened: Array
    """(chains, draws, n_e, shared + people * personal)"""
    inducing: Rows
    """(shared,): rows of the options that stand for all, those that tell most first."""
    personal: int
    """How many of the first ones represent what is personal."""
    lapses: Array
    """(people,): how probable a slip is of each."""

    @property
    def share(self) -> Array:
        """(n_e,): the share of personal taste."""
        return personal_share(self.hyper)

    def number(self, name: str | None) -> int:
        """The place of a person, -1 if there is no answer of theirs."""
        return self.names.index(name) if name in self.names else -1

    def shared(self) -> tuple[Hyperparameters, Array]:
        """Hyperparameters and whitened values (chains, draws, n_e, shared) of what all share."""
        mixed = covariance.mixing(self.hyper) * np.sqrt(1.0 - self.share)
        diagonal = np.diag(mixed)
        scaled = self.hyper._replace(
            log_scale=0.5 * np.log((mixed * mixed).sum(1)),
            coupling=np.tril(mixed / diagonal[:, None], -1),
            personal=np.zeros(0),
        )
        return scaled, self.whitened[..., : len(self.inducing)]

    def of(self, number: int) -> tuple[Hyperparameters, Array]:
        """The same for one person; number -1 is a person without answers."""
        shared = len(self.inducing)
        own = self.whitened[..., shared:].reshape(*self.whitened.shape[:3], len(self.names), self.personal)
        # What the answers say nothing of is as probable as before them.
        fresh = np.random.default_rng([7, number + 1]).standard_normal((*self.whitened.shape[:3], shared))
        if number >= 0:
            fresh[..., : self.personal] = own[..., number, :]
        by_shared, by_personal = (np.sqrt(part)[:, None] for part in (1.0 - self.share, self.share))
        values = by_shared * self.whitened[..., :shared] + by_personal * fresh
        return self.hyper._replace(personal=np.zeros(0)), np.asarray(values)


def represented(
    likelihood: Likelihood, inducing: int | str | None, kernel: str | Kernel, lengthscales: Array, n_e: int
) -> Likelihood:
    """The likelihood of several people, with the inducing options of what they share and of what is personal."""
    if likelihood.people is None:
        raise ValueError("there are no people")
    most = len(likelihood.X) if inducing is None else MOST if inducing == "auto" else int(inducing)
    fewest = min(3 * FEWEST, most)
    rows, left = telling_rows(likelihood.X, kernel, lengthscales, fewest, most)
    enough = int(np.searchsorted(-left, -_LEFT_OUT))
    affordable = (_COORDINATES // n_e - len(rows)) // len(likelihood.people.names)
    personal = min(max(min(enough, affordable), _FEWEST_PERSONAL), len(rows))
    return likelihood.represented_by(rows, personal)


def in_order(
    X: Array, rows: Rows, kernel: str | Kernel, nugget: float, hyper: Hyperparameters, whitened: Array
) -> Array:
    """Whitened values of all options ``X: (m, d)`` in their order, from those in the order of ``rows``, which names each once."""
    log_lengthscale = hyper.log_lengthscale
    before = covariance.factors(kernel, nugget, covariance.squared_differences(X[rows]), log_lengthscale).lower
    after = covariance.factors(kernel, nugget, covariance.squared_differences(X), log_lengthscale).lower
    result = np.empty_like(whitened)
    for d, (old, new) in enumerate(zip(before, after, strict=True)):
        parts = np.empty((len(X), whitened[:, :, d].size // len(X)))
        parts[rows] = old @ whitened[:, :, d].reshape(-1, len(X)).T
        solved = solve_triangular(new, parts, lower=True, check_finite=False)
        result[:, :, d] = solved.T.reshape(whitened[:, :, d].shape)
    return result


def careless(likelihood: Likelihood, log_p: Array) -> Array:
    """For each person, whether their answers look like those of somebody who answers at random.

    ``log_p: (choices,)`` are the log-probabilities, without lapses, of each of the different choices given all others.
    """
    people, ragged = likelihood.people, likelihood.ragged
    if people is None:
        raise ValueError("there are no people")
    who = people.of_row[ragged.members[ragged.offsets[:-1]]]
    gain, answers = (np.zeros(len(people.names)) for _ in range(2))
    np.add.at(gain, who, ragged.counts * (log_p - ragged.log_uniform))
    np.add.at(answers, who, ragged.counts)
    return np.asarray((gain < _KNOWN * answers) & (answers >= _ENOUGH))


def without_people(hyper: Hyperparameters) -> Hyperparameters:
    """Hyperparameters of several people for a fit of one."""
    return hyper._replace(personal=np.zeros(0)) if len(hyper.personal) else hyper


def with_people(hyper: Hyperparameters) -> Hyperparameters:
    """Hyperparameters of one person for a fit of several, who are taken to be rather alike."""
    if len(hyper.personal):
        return hyper
    return hyper._replace(personal=np.full(len(hyper.log_scale), -1.0))


def is_of_people(choices: tuple[Choice, ...]) -> bool:
    """Whether more than one person made the choices."""
    return len({choice.rater for choice in choices}) > 1
