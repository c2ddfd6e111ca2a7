"""Automatic differentiation variational inference in whitened coordinates, with the hyperparameters learned beside it.

Kucukelbir et al. 2015. The approximation is Gaussian over the whitened values; the hyperparameters are points (with
their priors). Differentiating the Cholesky factor costs several times as much as everything else, so a round is a few
steps on the approximation with the factor kept, and one on the hyperparameters with the derivatives that these gathered.

The bound has bad local optima: a short course runs from several starting points, the few with the best bounds go on, and the
best of these is kept.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import in_parallel
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines.base import INDEPENDENT, Basin, Fit, Learned, Limits, ModelSpec, Reporter, are_whole
from choicebo.model.engines.gaussian import precision_at, precision_factor, root_of_inverse
from choicebo.model.engines.starting import Adam, starting_points
from choicebo.model.engines.whitening import Whitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

COVARIANCES = ("mean_field", "full_rank")
_STAGE = "learning the hyperparameters"


@dataclasses.dataclass(frozen=True, eq=False)
class Approximation:
    """A Gaussian over the whitened values."""

    mean: Singles
    """(n_e, m)"""
    log_sd: Singles
    """(n_e, m)"""
    coupling: Singles | None = None
    """(n_e m, n_e m): the strictly lower part of the covariance's factor; ``None`` for mean-field."""

    def draw(self, noise: Singles) -> Singles:
        """Whitened values from standard normal ``noise: (n_e, m, lanes)``."""
        value = self.mean[..., None] + np.exp(self.log_sd)[..., None] * noise
        if self.coupling is not None:
            value = value + (self.coupling @ noise.reshape(-1, noise.shape[2])).reshape(noise.shape)
        return np.asarray(value)

    @property
    def divergence(self) -> float:
        """Kullback-Leibler divergence from the whitened prior."""
        terms = np.exp(2.0 * self.log_sd) + self.mean**2 - 1.0 - 2.0 * self.log_sd
        more = 0.0 if self.coupling is None else float((self.coupling**2).sum(dtype=np.float64))
        return 0.5 * (float(terms.sum(dtype=np.float64)) + more)


def evidence_bound(likelihood: Likelihood, prior: Whitened, q: Approximation, noise: Singles) -> float:
    """The evidence lower bound at fixed hyperparameters, estimated with ``noise: (n_e, m, lanes)``, lanes in sixteens."""
    values = [
        likelihood.value_and_gradient(prior.latent(np.ascontiguousarray(q.draw(noise[..., at : at + LANES]))))[0]
        for at in range(0, noise.shape[2], LANES)
    ]
    return float(np.mean(values)) - q.divergence


class _Course:
    """One approximation and its hyperparameters on their way."""

    def __init__(
        self,
        engine: Variational,
        whitener: Whitener,
        likelihood: Likelihood,
        q: Approximation,
        hyper: Hyperparameters,
        learning: bool = True,
    ) -> None:
        """With ``learning=False`` the hyperparameters stay."""
        self._prior = None if learning else whitener.at(hyper)
        self._engine, self._whitener, self._likelihood = engine, whitener, likelihood
        self.q, self.hyper = q, hyper
        self.trace: list[float] = []
        self._adams = [Adam(), Adam(), Adam()]
        self._hyper_adams = [Adam(0.8, 0.95) for _ in hyper]

    @property
    def settled(self) -> float:
        """The bound of the last rounds; the worst possible if it failed."""
        bound = float(np.mean(self.trace[-4:]))
        return bound if np.isfinite(bound) else -np.inf

    def run(self, rng: np.random.Generator, paces: Array, report: Reporter) -> None:
        """Rounds of steps on the approximation, each ended by a step on the hyperparameters."""
        for number, pace in enumerate(paces):
            self._round(rng, float(pace))
            report(_STAGE, (number + 1) / len(paces))

    def _round(self, rng: np.random.Generator, pace: float) -> None:
        engine, spec = self._engine, self._whitener.spec
        prior = self._prior or self._whitener.at(self.hyper)
        outer, bounds = None, []
        by_known, by_latent = np.zeros_like(self.hyper.known), []
        for _ in range(engine.steps_per_round):
            half = rng.standard_normal((*self.q.mean.shape, LANES // 2), dtype=np.float32)
            noise = np.concatenate([half, -half], axis=2)
            v = self.q.draw(noise)
            values, gradient = self._likelihood.value_and_gradient(prior.latent(v))
            bounds.append(float(values.mean()) - self.q.divergence)
            slope = prior.pulled(gradient) / np.float32(LANES)
            if self._prior is None:
                by_known += prior.by_known(gradient) / engine.steps_per_round
                if prior.measured is not None:
                    by_latent.append(gradient)
                side = prior.outer_side(gradient, slope * np.float32(LANES))
                part = prior.outer(side, v) / (LANES * engine.steps_per_round)
                outer = part if outer is None else outer + part
            self._step(slope, noise, np.float32(pace * engine.learning_rate))
        self.trace.append(float(np.mean(bounds)) + prior.log_density)
        if self._prior is not None:
            return
        if prior.measured is None:
            by_choices = prior.by_hyper(outer)._replace(known=by_known)
        else:
            by_choices = prior.slope(outer, np.concatenate(by_latent, axis=2))
        uphill = [a + b for a, b in zip(by_choices, spec.prior.gradient(self.hyper), strict=True)]
        moves = [adam.step(part) for adam, part in zip(self._hyper_adams, uphill, strict=True)]
        rate = pace * engine.hyper_learning_rate
        moved = [part + rate * move for part, move in zip(self.hyper, moves, strict=True)]
        self.hyper = Hyperparameters(*moved)

    def _step(self, slope: Singles, noise: Singles, rate: np.float32) -> None:
        q, sd = self.q, np.exp(self.q.log_sd)
        by_mean = slope.sum(2) - q.mean
        by_sd = (slope * noise).sum(2) * sd - sd * sd + np.float32(1.0)
        coupling = q.coupling
        if coupling is not None:
            outer = slope.reshape(len(coupling), -1) @ noise.reshape(len(coupling), -1).T
            coupling = coupling + rate * self._adams[2].step(np.tril(outer, -1) - coupling)
        self.q = Approximation(
            q.mean + rate * self._adams[0].step(by_mean), q.log_sd + rate * self._adams[1].step(by_sd), coupling
        )


@dataclasses.dataclass(frozen=True)
class Variational:
    """The ``vi`` engine."""

    covariance: str = "mean_field"
    """``"mean_field"`` or ``"full_rank"`` (the latter starts from the former's optimum, for twice the rounds)."""
    starts: int = 16
    """Random starting points of the short course."""
    finalists: int = 2
    """Number of the best that run the long course; the one with the best bound at its end counts."""
    rounds: int = 30
    """Rounds of the long course."""
    steps_per_round: int = 5
    """Steps on the approximation for each step on the hyperparameters."""
    learning_rate: float = 0.1
    hyper_learning_rate: float = 0.3
    subset: int = 1000
    """If there are more than twice as many choices, hyperparameters are learned from this many, spread evenly over all; the
    approximation is then fitted to all choices."""
    num_samples: int = 400
    num_chains: int = 4
    """The draws are independent; they are handed out as that many chains so that every engine's look alike."""
    limits: Limits = INDEPENDENT

    def __post_init__(self) -> None:
        if not isinstance(self.covariance, str) or self.covariance not in COVARIANCES:
            raise InvalidInputError(
                f"covariance must be one of {', '.join(COVARIANCES)}, got {as_given(self.covariance)}."
            )
        counts = self.starts, self.finalists, self.rounds, self.steps_per_round, self.num_chains, self.subset
        if not are_whole(*counts, self.num_samples) or min(counts) < 1 or self.num_samples < 4:
            raise InvalidInputError(
                "vi needs at least 1 start, 1 finalist, 1 round, 1 step, 1 choice, 1 chain and 4 draws."
            )

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "vi"

    def approximate(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> tuple[Approximation, Hyperparameters, Array]:
        """The best approximation found, its hyperparameters, and the course of the bound."""
        whole, likelihood = likelihood, likelihood.sample(self.subset)
        found = starting_points(rng, spec, likelihood, starts=self.starts, report=report.part(0.0, 0.3))
        whitener = Whitener.of(spec, likelihood)
        courses = []
        for number in range(min(self.finalists, self.starts)):
            q = Approximation(*(part[number].astype(np.float32) for part in (found.v, found.log_sd)))
            # One of them begins at hyperparameters that are known to suit similar data.
            hyper = start if start is not None and number == self.finalists - 1 else found.hyper
            courses.append(_Course(self, whitener, likelihood, q, hyper))
        paces, parts = _falling(self.rounds), rng.spawn(len(courses) + 1)
        # An interruption in one thread must reach the caller: only the first reports.
        reports = [report.part(0.3, 0.9), *[Reporter()] * (len(courses) - 1)]
        given = list(zip(courses, parts, reports, strict=False))
        list(in_parallel(lambda each: each[0].run(each[1], paces, each[2]), given))
        best = max(courses, key=lambda course: course.settled)
        if self.covariance == "full_rank":
            nothing = np.zeros((best.q.mean.size, best.q.mean.size), dtype=np.float32)
            full = _Course(self, whitener, likelihood, dataclasses.replace(best.q, coupling=nothing), best.hyper)
            full.trace = best.trace
            full.run(parts[-1], _falling(2 * self.rounds), report.part(0.9, 1.0))
            best = full
        if whole is not likelihood:
            everything = _Course(self, Whitener.of(spec, whole), whole, best.q, best.hyper, learning=False)
            everything.run(parts[-1], _falling(self.rounds), report.part(0.9, 1.0))
            best = everything
        return best.q, best.hyper, np.asarray(best.trace)

    def learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        """The paper's way for a sampler: hyperparameters at the best bound, curvature at the approximation's mean."""
        q, hyper, trace = self.approximate(rng, spec, likelihood, start, report)
        prior = Whitener.of(spec, likelihood).at(hyper)
        centre = q.mean.astype(np.float64)
        factor = precision_factor(precision_at(likelihood, prior, centre))
        bound = float(trace[-max(4, len(trace) // 8) :].mean())
        return Learned(hyper, (Basin(centre, root_of_inverse(factor), bound),), trace)

    def fit(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Fit:
        """Learn the hyperparameters and draw from the approximation."""
        q, hyper, trace = self.approximate(rng, spec, likelihood, start, report)
        each = -(-self.num_samples // self.num_chains)
        total = -(-each * self.num_chains // LANES) * LANES
        noise = rng.standard_normal((*q.mean.shape, total), dtype=np.float32)
        prior = Whitener.of(spec, likelihood).at(hyper)
        bound = evidence_bound(likelihood, prior, q, noise)
        whitened = np.moveaxis(q.draw(noise)[..., : each * self.num_chains], 2, 0).astype(np.float64)
        report("drawing", 1.0)
        shape = (self.num_chains, each, *q.mean.shape)
        return Fit(hyper, whitened.reshape(shape), bound + prior.log_density, trace)


def _falling(rounds: int) -> Array:
    """Paces that fall at the end, so that the noise of the gradients averages out."""
    return np.asarray(0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * np.arange(rounds) / rounds)))
