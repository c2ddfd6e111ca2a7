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
_ALL_OF = 24
"""Of so many options that a person saw, each stands for itself. Of more, ..."""
_LEFT_OUT = 0.02
"""... inducing ones are added until this share of the variance of what is personal is left out on average, ..."""
_FEWEST_PERSONAL, _MOST_PERSONAL = 4, 64
"""... between these numbers, ..."""
_COORDINATES = 12_000
"""... or until all whitened values of all people and latent dimensions are so many: each draw holds all of them."""
_OTHERS = 16
"""At most so many other people count when one is asked."""


class OptionPrior(NamedTuple):
    """All options, and the prior of the latent values at them."""

    X: Array
    """(m, d)"""
    kernel: str | Kernel
    nugget: float

    def lower(self, rows: Rows, hyper: Hyperparameters) -> Array:
        """(n_e, n, n): factors of the covariance of some of the options."""
        squared = covariance.squared_differences(self.X[rows])
        return covariance.factors(self.kernel, self.nugget, squared, hyper.log_lengthscale).lower


class PeopleDraws(NamedTuple):
    """Draws of what several people share and of what is each one's own."""

    names: tuple[str | None, ...]
    """In the order of their first answers; None: answers without a name."""
    hyper: Hyperparameters
    whitened: Array
    """(chains, draws, n_e, shared + people * personal)"""
    inducing: Rows
    """(shared,): rows of the options that stand for all, those that tell most first."""
    own: Rows
    """(people, personal): rows of the options that stand for what is personal, -1 where a person has fewer than others."""
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

    def rows_of(self, number: int) -> Rows:
        """The rows that stand for all of one person: those of what is shared, and then others of the person's own."""
        own = self.own[number] if number >= 0 else self.inducing[:0]
        return np.concatenate([self.inducing, np.setdiff1d(own[own >= 0], self.inducing)])

    def of(self, number: int, prior: OptionPrior) -> tuple[Hyperparameters, Array]:
        """The same for one person, at :meth:`rows_of`; number -1 is a person without answers."""
        rows, lead = self.rows_of(number), self.whitened.shape[:3]
        shared, people = len(self.inducing), len(self.names)
        # What the answers say nothing of is as probable as before them.
        fresh = np.random.default_rng([7, number + 1]).standard_normal((*lead, len(rows)))
        further = np.random.default_rng([9, number + 1]).standard_normal((*lead, len(rows) - shared))
        if number >= 0:
            own = self.own[number][self.own[number] >= 0]
            known = self.whitened[..., shared:].reshape(*lead, people, -1)[..., number, : len(own)]
            fresh[..., : len(own)] = known
            order = np.concatenate([own, np.setdiff1d(rows, own)])
            fresh = reordered(prior, self.hyper, fresh, order, rows)
        by_shared, by_personal = (np.sqrt(part)[:, None] for part in (1.0 - self.share, self.share))
        whole = np.concatenate([self.whitened[..., :shared], further], axis=3)
        return self.hyper._replace(personal=np.zeros(0)), np.asarray(by_shared * whole + by_personal * fresh)

    def asked(self, number: int, prior: OptionPrior) -> tuple[Hyperparameters, Array]:
        """As :meth:`of`, at the inducing options, for a question to that person: some of the draws are of other people.

        An answer also tells about the others, in proportion to what they have in common with the person who gives it. So,
        with ``a`` the share of personal taste, the value of a question is its value for the person plus ``1 - a`` times its
        average value for the others: the mean over draws of which that share is theirs.
        """
        hyper, values = self.of(number, prior)
        values = values[..., : len(self.inducing)]
        rng = np.random.default_rng([8, number + 1])
        others = np.setdiff1d(np.flatnonzero(self.lapses < 0.5), [number])
        others = rng.permutation(others)[:_OTHERS]
        common = 1.0 - float(self.share.mean())
        theirs = rng.random(values.shape[:2]) < common / (1.0 + common)
        if len(others):
            whose = rng.choice(others, values.shape[:2])
            for other in others:
                chosen = theirs & (whose == other)
                values[chosen] = self.of(int(other), prior)[1][chosen, :, : len(self.inducing)]
        return hyper, values


def represented(
    likelihood: Likelihood, inducing: int | str | None, kernel: str | Kernel, lengthscales: Array, n_e: int
) -> Likelihood:
    """The likelihood of several people, with the inducing options of what they share and of what is personal."""
    people = likelihood.people
    if people is None:
        raise ValueError("there are no people")
    most = len(likelihood.X) if inducing is None else MOST if inducing == "auto" else int(inducing)
    shared, _ = telling_rows(likelihood.X, kernel, lengthscales, min(3 * FEWEST, most), most)
    affordable = max((_COORDINATES // n_e - len(shared)) // len(people.names), _FEWEST_PERSONAL)
    if inducing is not None:
        most = min(affordable, most, _MOST_PERSONAL if inducing == "auto" else most)
    own = []
    for number in range(len(people.names)):
        rows = np.flatnonzero(people.of_row == number)
        found, _ = telling_rows(likelihood.X[rows], kernel, lengthscales, min(_ALL_OF, most), most, _LEFT_OUT)
        own.append(rows[found])
    padded = np.full((len(own), max(map(len, own))), -1)
    for number, rows in enumerate(own):
        padded[number, : len(rows)] = rows
    return likelihood.represented_by(shared, padded)


def reordered(prior: OptionPrior, hyper: Hyperparameters, whitened: Array, before: Rows, after: Rows) -> Array:
    """Whitened values (chains, draws, n_e, n) of options in one order, from those in another order of the same."""
    place = np.argsort(before)[np.searchsorted(np.sort(before), after)]
    result = np.empty_like(whitened)
    for d, (old, new) in enumerate(zip(prior.lower(before, hyper), prior.lower(after, hyper), strict=True)):
        parts = old @ whitened[:, :, d].reshape(-1, len(before)).T
        solved = solve_triangular(new, parts[place], lower=True, check_finite=False)
        result[:, :, d] = solved.T.reshape(whitened[:, :, d].shape)
    return result


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
