"""Leave-one-out predictive accuracy: Pareto-smoothed importance sampling, and exact refits where that is unreliable.

What is scored is the probability of a choice among all non-empty subsets of the set shown: Theorem 1's mass over these is not
one, and differs with the number of latent dimensions, so that unnormalised scores could not be compared between models.

A refit leaves one choice out of the likelihood and draws again from the posterior of the latent values, with chains that
start where all choices led. The hyperparameters stay: a single choice hardly moves them, and learning them again would cost
most of a fit.

A choice with a weight stands for as many people who answered alike. What is left out is one of them, not all, and the score
of one counts ``weight`` times. So equal answers give the same result one by one and merged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import one_blas_thread
from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines.base import ModelSpec, Reporter
from choicebo.model.engines.hamiltonian import Hamiltonian, Sampler, Target
from choicebo.model.engines.whitening import Whitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

_REFIT = Hamiltonian(groups=1, num_warmup=8, num_samples=20)
"""Chains that start in the posterior with all choices need little time to get used to one choice less."""


def khat_limit(draws: int) -> float:
    """Above this Pareto shape an importance-sampling estimate from this many draws is not reliable (Vehtari et al. 2024).

    Examples:
        >>> round(khat_limit(320), 3), khat_limit(10_000)
        (0.601, 0.7)
    """
    return min(0.7, 1.0 - 1.0 / float(np.log10(max(draws, 11))))


class Loo(NamedTuple):
    """Leave-one-out predictive accuracy of the choices."""

    elpd: float
    """Expected log pointwise predictive density, summed over the choices."""
    se: float
    pointwise: Array
    """(choices,): log-probability of each choice given all others, among the non-empty subsets of its set; of one such answer,
    whatever the weight."""
    khat: Array
    """(choices,): Pareto shape of the importance weights; above ``limit`` they are unreliable."""
    refitted: tuple[int, ...] = ()
    """Choices whose value comes from a fit without them, not from importance weights."""
    limit: float = 0.7
    weights: Array | None = None
    """(choices,): how often each score counts; ``None`` if all count once."""

    @property
    def unreliable(self) -> tuple[int, ...]:
        """Choices above the limit of k-hat that were not refitted."""
        return tuple(int(k) for k in np.flatnonzero(self.khat > self.limit) if k not in self.refitted)


def smoothed_weights(log_likelihood: Array, effective_draws: float) -> tuple[Array, Array]:
    """Weights that turn draws into draws without each choice: normalised logs (choices, draws), and k-hat per choice.

    ``log_likelihood: (chains, draws, choices)``, of as much of each choice as is left out; the weights have the draws of all
    chains one after the other.
    """
    from arviz_stats.base import array_stats

    flat = log_likelihood.reshape(-1, log_likelihood.shape[-1]).T
    relative = min(1.0, max(effective_draws, 1.0) / flat.shape[1])
    log_weights, khat = np.empty_like(flat), np.zeros(len(flat))
    for number, log_p in enumerate(flat):
        log_weights[number] = -log_p - np.logaddexp.reduce(-log_p)
        try:
            # arviz takes the log-likelihood here and negates it itself.
            with np.errstate(invalid="ignore", divide="ignore"):
                smoothed, shape = (np.asarray(part) for part in array_stats.psislw(log_p, r_eff=relative))
        except ValueError:
            # All weights of the tail are equal: every draw explains the choice alike, or the lapse rate bounds the weights.
            continue
        khat[number] = float(shape) if np.isfinite(shape) else np.inf
        if np.isfinite(smoothed).all():
            log_weights[number] = smoothed
    return log_weights, khat


def leave_one_out(
    likelihood: Likelihood,
    spec: ModelSpec,
    hyper: Hyperparameters,
    whitened: Array,
    log_likelihood: Array,
    effective_draws: float,
    *,
    refit_limit: int,
    seed: int,
    report: Reporter,
    weights: Array | None = None,
    executor: Executor | None = None,
) -> Loo:
    """Score every choice by the draws ``whitened: (chains, draws, n_e, m)``, reweighted to those without it.

    At most ``refit_limit`` choices with a poor k-hat are refitted instead, the worst first; by the ``executor`` if there is one.
    Equal answers are scored once.
    """
    place = likelihood.place
    answers = np.unique(place, return_index=True)[1]
    left_out = np.minimum(likelihood.ragged.counts, 1.0)
    prior = Whitener.of(spec, likelihood).at(hyper)
    flat = whitened.reshape(whitened.shape[0] * whitened.shape[1], *whitened.shape[2:])
    log_weights, khat = smoothed_weights(log_likelihood[..., answers] * left_out, effective_draws)
    pointwise = np.logaddexp.reduce(log_weights + _scores(likelihood, prior, flat).T, axis=1)
    limit = khat_limit(len(flat))
    worst = [int(k) for k in np.argsort(-khat, kind="stable") if khat[k] > limit][: max(refit_limit, 0)]
    if worst:
        refitter = Refitter.of(likelihood, prior, flat)
        begun = [] if executor is None else [executor.submit(_refit, refitter, number, seed) for number in worst]
        for done, number in enumerate(worst, start=1):
            pointwise[number] = begun[done - 1].result() if begun else refitter.log_probability(number, seed)
            report(f"fitting without choice {answers[number]}", done / len(worst))
    refitted = [int(k) for k in np.flatnonzero(np.isin(place, worst))]
    return summarised(pointwise[place], khat[place], refitted, limit, weights)


def summarised(
    pointwise: Array, khat: Array, refitted: Iterable[int] = (), limit: float = 0.7, weights: Array | None = None
) -> Loo:
    """The sum over the choices and its standard error."""
    total, se = summed(pointwise, weights)
    return Loo(total, se if len(pointwise) > 1 else float("nan"), pointwise, khat, tuple(refitted), limit, weights)


def summed(scores: Array, weights: Array | None = None) -> tuple[float, float]:
    """The sum of scores that count ``weights`` times each, and its standard error; infinite if there is one alone.

    Examples:
        >>> summed(np.array([1.0, 3.0]), np.array([2.0, 1.0])) == summed(np.array([1.0, 1.0, 3.0]))
        True
    """
    if weights is None:
        n = len(scores)
        return float(scores.sum()), float(np.sqrt(n * scores.var(ddof=1))) if n > 1 else float("inf")
    total = float(weights.sum())
    if total <= 1.0:
        return float(weights @ scores), float("inf")
    variance = float(weights @ (scores - weights @ scores / total) ** 2) / (total - 1.0)
    return float(weights @ scores), float(np.sqrt(total * variance))


def _scores(likelihood: Likelihood, prior: Whitened, whitened: Array) -> Array:
    """Normalised log-probabilities (draws, choices) for ``whitened: (draws, n_e, size)``."""
    return prior.over(whitened, likelihood.normalised_values)


@dataclasses.dataclass(frozen=True)
class Refitter:
    """Draws from the posterior without one choice, at the hyperparameters of the fit with all of them."""

    target: Target
    v: Singles
    """(n_e, m, LANES): draws of the posterior with all choices, where the chains start."""

    @classmethod
    def of(cls, likelihood: Likelihood, prior: Whitened, whitened: Array) -> Refitter:
        """From draws ``whitened: (draws, n_e, m)`` with all choices."""
        chosen = whitened[np.linspace(0, len(whitened), LANES, endpoint=False).astype(int)]
        start = np.ascontiguousarray(np.moveaxis(chosen, 0, 2), dtype=np.float32)
        return cls(Target.of(likelihood, prior, chosen), start)

    def log_probability(self, number: int, seed: int = 0) -> float:
        """Log-probability of a choice given all others."""
        likelihood, prior = self.target.likelihood, self.target.prior
        rest = self.target._replace(likelihood=likelihood.without(number))
        centre = self.v.mean(2, dtype=np.float64)
        sampler = Sampler(_REFIT, rest, np.random.default_rng([seed, number]), self.v, centre)
        sampler.warm_up(learn_mass=False)
        sampler.draw(_REFIT.num_samples)
        draws = sampler.chains_first()
        log_p = _scores(likelihood.only(number), prior, draws.reshape(-1, *draws.shape[2:]))[:, 0]
        return float(np.logaddexp.reduce(log_p) - np.log(len(log_p)))


def _refit(refitter: Refitter, number: int, seed: int) -> float:
    """What an executor computes."""
    with one_blas_thread():
        return refitter.log_probability(number, seed)
