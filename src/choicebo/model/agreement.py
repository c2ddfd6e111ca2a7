"""How far several people have the same taste: the share that is personal, with its interval, and how alike any two are."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError
from choicebo.model.covariance import Hyperparameters, factors, mixing, squared_differences
from choicebo.model.draws import evenly, memberships
from choicebo.model.engines.base import ModelSpec
from choicebo.model.engines.hamiltonian import Hamiltonian, Sampler, Target
from choicebo.model.engines.laplace import Packing
from choicebo.model.engines.refining import average_slope
from choicebo.model.engines.whitening import Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES
from choicebo.model.people import OptionPrior

if TYPE_CHECKING:
    from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

_STEP, _STEPS = 0.5, 14
"""Step of the log-odds of personal taste, to either side."""
_TRANSITIONS = 6
"""At each step."""
_PACE, _LONGEST = 1.0, 0.3
"""Of the steps of all other hyperparameters."""
_SURENESS = 0.3
"""Theorem 1 treats the comparisons within an answer as independent, and the other hyperparameters are the best ones instead of
all that are possible: so the evidence is surer than it should be. Chosen on simulated panels (seeds 0 to 6 and 100 to 107
of ``choicebo reproduce raters``, which counts how often the intervals hold the true share)."""
_DROP = 6.0
"""Values whose evidence is this many nats below the best are ignored."""
_COVERED = 0.95
_OPTIONS, _SETS, _DRAWS = 40, 60, 100
"""Sets that people are compared on, the options that they are made of, and the draws."""
_MOST_AT_ONCE = 2**24


@dataclasses.dataclass(frozen=True)
class Agreement:
    """How far several people have the same taste."""

    names: tuple[str | None, ...]
    """Names of the people, in the order of their first answers; None: answers without a name."""
    share: Array
    """(n_e,): of each hidden objective, the share that is personal: 0 where all want the same, 1 where they have nothing in
    common."""
    lower: Array
    """(n_e,): the ends of its most probable interval, 95 %; ..."""
    upper: Array
    """... it may begin at 0 or end at 1."""
    matrix: Array
    """(people, people): probability that two of them keep the same options of a set that is drawn at random."""
    matrix_lower: Array
    """(people, people): the central 95 % of it over the draws; ..."""
    matrix_upper: Array
    """... its other end."""
    lapses: Array
    """(people,): how probable a slip is of each. Who answers at random has a high rate, and counts for little."""


def agreement_of(posterior: Posterior) -> Agreement:
    """What the posterior of several people says about how alike they are."""
    people = posterior.people
    if people is None:
        raise InvalidInputError(
            "This model does not tell people apart; it does if choices have raters and ChoiceGP(raters='related') is "
            "fitted to them."
        )
    share = share_interval(posterior.spec, *posterior.as_fitted())
    return Agreement(people.names, *share, *likeness(posterior), people.lapses)


def share_interval(
    spec: ModelSpec, likelihood: Likelihood, hyper: Hyperparameters, whitened: Array
) -> tuple[Array, Array, Array]:
    """Each share of personal taste, its median, and the ends of its most probable interval, (n_e,) each.

    The slope of the log-evidence, which is an average over draws, is integrated to both sides, with the other
    hyperparameters at their best for each share (a profile likelihood).
    """
    flat = whitened.reshape(-1, *whitened.shape[2:])
    first = np.ascontiguousarray(np.moveaxis(flat[evenly(len(flat), LANES)], 0, 2), dtype=np.float32)
    walk = _Walk(spec, likelihood, hyper)
    target = Target.of(likelihood, walk.whitener.at(hyper), flat[evenly(len(flat), 4)])
    ends = []
    for d in range(spec.latent_dim):
        logs = {0.0: 0.0}
        for direction in (_STEP, -_STEP):
            rng = np.random.default_rng([d, int(direction > 0)])
            sampler = Sampler(Hamiltonian(num_warmup=6), target, rng, first, first.mean(2, dtype=np.float64))
            sampler.warm_up(learn_mass=False)
            logs |= walk.along(sampler, d, direction)
        ends.append(_most_probable(hyper.personal[d], logs))
    share, lower, upper = (np.array(part) for part in zip(*ends, strict=True))
    return share, lower, upper


class _Walk:
    """Steps of one share, to one side, with the draws and all other hyperparameters following."""

    def __init__(self, spec: ModelSpec, likelihood: Likelihood, hyper: Hyperparameters) -> None:
        self.whitener = Whitener.of(spec, likelihood)
        self._prior, self._packing = spec.prior, Packing.of(spec, likelihood)
        self._start, self._metric = self._packing.vector(hyper), np.diag(self._packing.first_metric(spec))

    def along(self, sampler: Sampler, d: int, step: float) -> dict[float, float]:
        """The log-evidence at each step, less that at the start."""
        at = len(self._start) - self._packing.known - self._packing.n_e + d
        vector, height, highest, found = self._start.copy(), 0.0, 0.0, {}
        slope = average_slope(sampler, self._packing, _TRANSITIONS)
        for number in range(1, _STEPS + 1):
            follow = slope + self._packing.vector(self._prior.gradient(self._packing.hyper(vector)))
            vector = vector + np.clip(_PACE * self._metric * follow, -_LONGEST, _LONGEST)
            vector[at] = self._start[at] + number * step
            sampler.move_to(self.whitener.at(self._packing.hyper(vector)))
            before, slope = slope, average_slope(sampler, self._packing, _TRANSITIONS)
            height += 0.5 * step * (before[at] + slope[at])
            highest = max(highest, height)
            found[number * step] = height
            if height < highest - _DROP:
                break
        return found


def _most_probable(centre: float, logs: dict[float, float]) -> tuple[float, float, float]:
    """The median share, and the shortest interval with 95 % of the probability, all being equally probable beforehand."""
    at = np.array(sorted(logs))
    heights = np.array([logs[each] for each in at])
    shares = (np.arange(1000) + 0.5) / 1000
    odds = np.log(shares / (1.0 - shares)) - centre
    density = np.exp(_SURENESS * (np.interp(odds, at, heights) - heights.max()))
    # Beyond the last step the evidence is as it was there, or too small to count.
    density[(odds < at[0]) & (heights[0] < heights.max() - _DROP)] = 0.0
    density[(odds > at[-1]) & (heights[-1] < heights.max() - _DROP)] = 0.0
    median = float(shares[np.searchsorted(np.cumsum(density), 0.5 * density.sum())])
    order = np.argsort(-density, kind="stable")
    enough = int(np.searchsorted(np.cumsum(density[order]) / density.sum(), _COVERED)) + 1
    inside = np.sort(shares[order[:enough]])
    # To whole hundredths, outwards: so an interval that all but reaches an end reaches it.
    return median, np.floor(100.0 * inside[0]) / 100.0, np.ceil(100.0 * inside[-1]) / 100.0


def likeness(posterior: Posterior, seed: int = 0) -> tuple[Array, Array, Array]:
    """Probability that two people keep the same options of a random set, (people, people), and its 95 % interval over the
    draws."""
    people = posterior.people
    if people is None:
        raise ValueError("there are no people")
    rng = np.random.default_rng(seed)
    count = min(_OPTIONS, len(people.inducing))
    X = posterior.options[people.inducing[:count]]
    sizes = [len(choice.shown) for choice in posterior.data.choices]
    size = min(int(np.median(sizes)), 5, count)
    sets = np.stack([rng.choice(count, size, replace=False) for _ in range(_SETS)])
    spec, weights = posterior.spec, mixing(people.hyper)
    prior = OptionPrior(posterior.options, spec.kernel, spec.nugget)
    lower = factors(spec.kernel, spec.nugget, squared_differences(X), people.hyper.log_lengthscale).lower
    codes = np.empty(
        (len(people.names), min(_DRAWS, people.whitened.shape[0] * people.whitened.shape[1]), _SETS), dtype=np.int16
    )
    for number in range(len(people.names)):
        _, whitened = people.of(number, prior)
        flat = whitened.reshape(-1, *whitened.shape[2:])
        flat = flat[evenly(len(flat), codes.shape[1])][..., :count]
        parts = np.stack([flat[:, d] @ each.T for d, each in enumerate(lower)], axis=2)
        latent = (parts @ weights.T)[:, sets]
        kept = memberships(latent.reshape(-1, size, latent.shape[-1])).reshape(*latent.shape[:2], size)
        codes[number] = kept @ (1 << np.arange(size))
    matrix = np.empty((3, len(codes), len(codes)))
    at_once = max(1, _MOST_AT_ONCE // codes.size)
    for begin in range(0, len(codes), at_once):
        same = (codes[begin : begin + at_once, None] == codes).mean(3)
        block = slice(begin, begin + at_once)
        matrix[0, block] = same.mean(2)
        matrix[1:, block] = np.quantile(same, (0.025, 0.975), axis=2)
    return matrix[0], matrix[1], matrix[2]
