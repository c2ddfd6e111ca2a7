"""Laplace's approximation: a Gaussian at the mode of the whitened posterior, with the likelihood's curvature there.

The hyperparameters climb the marginal likelihood. In whitened coordinates its gradient is the posterior average of
``d log p(choices | f = L(hyper) v) / d hyper`` (Fisher's identity), here the average over the Gaussian: exact for the linear part
of the likelihood's gradient, and over a few fixed points for the rest. Nothing of it is random, so that a quasi-Newton method
converges, and to the same place from every seed that leads into the same basin.

A mean-field bound prices every uncertain direction separately and so prefers small output scales; this Gaussian has
the full covariance, finds larger ones, and predicts better on the toy problem.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import in_parallel
from choicebo.errors import InvalidInputError
from choicebo.model.alignment import order_like
from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines.arrow import ArrowFactor
from choicebo.model.engines.base import INDEPENDENT, Basin, Fit, Learned, Limits, ModelSpec, Reporter, are_whole
from choicebo.model.engines.gaussian import (
    Mode,
    climb,
    covariance_of,
    curvature_of_people,
    curved_features,
    fixed_points,
    log_posterior,
    precision_factor,
    root_of_inverse,
    spread,
)
from choicebo.model.engines.people import PeopleWhitened
from choicebo.model.engines.starting import starting_points
from choicebo.model.engines.whitening import Whitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.measured import AMPLITUDE, NOISE
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

_SHORTEST_STEP, _FIRST_STEP, _LONGEST_STEP = 0.01, 0.3, 0.8
"""Of any hyperparameter in one round, as logarithms."""
_TOLERATED = 3.0
"""A step may lower Laplace's approximation by so much, in nats. The slope is the Gaussian's average and so knows of a skewed
posterior what the approximation does not; but a step that loses the mode is too long."""
_FEW = 60
"""Choices up to which the hyperparameters are climbed to in many ways: few choices leave many modes, some much better than
others, and each way costs little. Beyond, half of the starts and of the modes is followed, in one way each."""
_SETTLED = 0.02
"""Hyperparameters have converged when a step promises less, in nats."""


class Ascent(NamedTuple):
    """Hyperparameters, and the mode at them."""

    hyper: Hyperparameters
    mode: Mode
    told: Singles
    """(n_e, size): what :meth:`~choicebo.model.engines.whitening.Whitened.told` says of the mode."""
    metric: Array
    """Inverse of the negative Hessian by the hyperparameters, as far as the steps so far tell."""
    slope: Array
    """By the hyperparameters."""
    evidence: float
    """Laplace's approximation, with the prior of the hyperparameters."""
    trust: float
    """The longest step that may be tried, of any hyperparameter."""

    @property
    def promised(self) -> float:
        """What a step promises, in nats; nothing once even the shortest ones failed."""
        return 0.0 if self.trust < _SHORTEST_STEP else 0.5 * float(self.slope @ self.metric @ self.slope)


class Packing(NamedTuple):
    """Hyperparameters as one vector."""

    n_e: int
    dim: int
    correlated: bool
    people: bool = False
    known: int = 0
    measured: int = 0

    @classmethod
    def of(cls, spec: ModelSpec, likelihood: Likelihood) -> Packing:
        """For one data set."""
        people = likelihood.people is not None
        dim = likelihood.X.shape[1]
        return cls(spec.latent_dim, dim, spec.correlated, people, spec.known_count, spec.measured_count)

    def vector(self, hyper: Hyperparameters) -> Array:
        """The free parameters."""
        parts = [hyper.log_lengthscale.ravel(), hyper.log_scale]
        if self.correlated:
            parts.append(hyper.coupling[np.tril_indices(self.n_e, -1)])
        return np.concatenate([*parts, hyper.personal, hyper.known, hyper.measured.ravel()])

    def hyper(self, vector: Array) -> Hyperparameters:
        """The hyperparameters of a vector."""
        of_measured = len(vector) - self.measured * (self.dim + 2)
        measured = vector[of_measured:].reshape(self.measured, -1) if self.measured else np.zeros((0, 0))
        split, end = self.n_e * self.dim, of_measured - self.known
        shares = end - (self.n_e if self.people else 0)
        coupling = np.zeros((self.n_e, self.n_e))
        if self.correlated:
            coupling[np.tril_indices(self.n_e, -1)] = vector[split + self.n_e : shares]
        lengthscale, scale = vector[:split].reshape(self.n_e, self.dim), vector[split : split + self.n_e]
        return Hyperparameters(lengthscale, scale, coupling, vector[shares:end], vector[end:of_measured], measured)

    def first_metric(self, spec: ModelSpec) -> Array:
        """The prior's variances, less what the choices will tell at the least."""
        prior = spec.prior
        lengthscale = np.full((self.n_e, self.dim), 0.1 * prior.lengthscale_spread**2)
        scale = np.full(self.n_e, 0.3 * prior.scale_spread**2)
        coupling = np.full((self.n_e, self.n_e), 0.25 / max(prior.independence, 0.1))
        personal = np.full(self.n_e if self.people else 0, 0.3)
        known = np.full(self.known, 0.1 * prior.known_spread**2)
        measured = np.zeros((self.measured, self.dim + 2))
        measured[:, :AMPLITUDE] = 0.1 * prior.lengthscale_spread**2
        measured[:, AMPLITUDE] = 0.1 * prior.amplitude_spread**2
        measured[:, NOISE] = 0.1 * prior.measurement_noise_spread**2
        return np.diag(self.vector(Hyperparameters(lengthscale, scale, coupling, personal, known, measured)))


def hyper_slope(likelihood: Likelihood, prior: Whitened, mode: Mode) -> Hyperparameters:
    """Average over the Gaussian around a mode of the log-likelihood's derivative by the hyperparameters.

    Exact for the linear part of the slope by the whitened values; the rest is averaged over fixed points.
    """
    n_e, m = mode.v.shape
    away = spread(mode.factor, fixed_points(n_e * m))
    points = (mode.v.reshape(-1, 1) + away).astype(np.float32).reshape(n_e, m, LANES)
    gradient = likelihood.value_and_gradient(prior.latent(points))[1]
    if isinstance(prior, PeopleWhitened):
        return _slope_of_people(likelihood, prior, mode, gradient, away.astype(np.float32))
    if not prior.square:
        return _slope_of_features(likelihood, prior, mode, gradient, away.astype(np.float32))
    slopes = prior.pulled(gradient).reshape(n_e * m, LANES)
    mean = slopes.mean(1, keepdims=True)
    rest = slopes - mean + mode.factor @ (mode.factor.T @ away) - away
    outer = mean @ mode.v.reshape(1, -1).astype(np.float32) + covariance_of(mode.factor) + rest @ away.T / LANES
    outer[np.diag_indices(n_e * m)] -= 1.0
    return prior.slope(outer.reshape(n_e, m, n_e, m), gradient)


def _slope_of_features(
    likelihood: Likelihood, prior: Whitened, mode: Mode, gradient: Singles, away: Singles
) -> Hyperparameters:
    """The same where the derivative by the parts does not follow from that by the whitened values."""
    n_e, r = mode.v.shape
    slopes = prior.outer_side(gradient, gradient).reshape(-1, LANES)
    curved = curved_features(likelihood, prior, mode.v).reshape(len(slopes), n_e * r)
    mean = slopes.mean(1, keepdims=True)
    rest = slopes - mean + curved @ away
    outer = (
        mean @ mode.v.reshape(1, -1).astype(np.float32) - curved @ covariance_of(mode.factor) + rest @ away.T / LANES
    )
    return prior.slope(outer.reshape(n_e, -1, n_e, r), gradient)


def _slope_of_people(
    likelihood: Likelihood, prior: PeopleWhitened, mode: Mode, gradient: Singles, away: Singles
) -> Hyperparameters:
    """The same, person by person."""
    away = away.reshape(*mode.v.shape, LANES)
    blocks = curvature_of_people(likelihood, prior, mode.v)
    slopes = prior.outer_side(gradient, gradient)
    mean = slopes.mean(2, keepdims=True)
    rest = slopes - mean + prior.curved(blocks, away)
    outer = prior.outer(mean, mode.v[..., None].astype(np.float32)) + prior.outer(rest, away) / LANES
    by_hidden = prior.by_hyper(outer + prior.curved_outer(blocks, mode.factor) / -1.0)
    return by_hidden._replace(known=prior.by_known(gradient))


@dataclasses.dataclass(frozen=True)
class Ascender:
    """Steps of the hyperparameters and the mode together."""

    spec: ModelSpec
    likelihood: Likelihood
    whitener: Whitener
    packing: Packing

    @classmethod
    def of(cls, spec: ModelSpec, likelihood: Likelihood) -> Ascender:
        """For one data set."""
        packing = Packing.of(spec, likelihood)
        return cls(spec, likelihood, Whitener.of(spec, likelihood), packing)

    def mode(self, hyper: Hyperparameters, v: Array) -> Mode:
        """The mode near ``v: (n_e, m)``."""
        return climb(self.likelihood, self.whitener.at(hyper), v)

    def begin(self, hyper: Hyperparameters, mode: Mode, reverse: bool = False) -> Ascent:
        """At a mode; latent dimensions that are alike so far are put in order, or in ``reverse`` order."""
        prior = self.whitener.at(hyper)
        if _tied(hyper):
            # In a fixed order the rest of the way does not depend on the starting point.
            told = prior.told(mode.v[..., None].astype(np.float32))[: prior.hidden_count]
            order = np.argsort(told[:, 0, 0], kind="stable")
            order = order[::-1] if reverse else order
            mode = _reordered(mode, np.concatenate([order, np.arange(len(order), len(mode.v))]))
        return self._at(hyper, prior, mode, self.packing.first_metric(self.spec), _FIRST_STEP)

    def advance(self, state: Ascent) -> Ascent:
        """A quasi-Newton step on the hyperparameters, after which the mode follows."""
        move = state.metric @ state.slope
        move *= min(1.0, state.trust / max(float(np.abs(move).max()), 1e-12))
        hyper = self.packing.hyper(self.packing.vector(state.hyper) + move)
        prior = self.whitener.at(hyper)
        mode = climb(self.likelihood, prior, self._follow(state, prior), state.mode.factor)
        longest = float(np.abs(move).max())
        if mode.log_evidence + prior.log_density < state.evidence - _TOLERATED:
            return state._replace(trust=0.4 * longest)
        found = self._at(hyper, prior, mode, state.metric, min(max(state.trust, 2.0 * longest), _LONGEST_STEP))
        return found._replace(metric=_bfgs(state.metric, move, state.slope - found.slope))

    def _at(self, hyper: Hyperparameters, prior: Whitened, mode: Mode, metric: Array, trust: float) -> Ascent:
        by_choices = hyper_slope(self.likelihood, prior, mode)
        slope = self.packing.vector(by_choices) + self.packing.vector(self.spec.prior.gradient(hyper))
        told = prior.told(mode.v[..., None].astype(np.float32))[..., 0]
        evidence = mode.log_evidence + prior.log_density
        return Ascent(hyper, mode, told, metric, slope, evidence, trust)

    def _follow(self, state: Ascent, prior: Whitened) -> Array:
        """Where the mode may be at other hyperparameters: the same whitened values, the same latent ones, or between them."""
        same = prior.whitened(state.told)
        share = np.linspace(0.0, 1.0, LANES)
        between = state.mode.v[..., None] * (1.0 - share) + same[..., None] * share
        return np.asarray(between[..., int(log_posterior(self.likelihood, prior, between)[0].argmax())])


def _reordered(mode: Mode, order: NDArray[np.int64]) -> Mode:
    """The same mode with its latent dimensions in another order, where all of them have the same prior."""
    m = mode.v.shape[1]
    if isinstance(mode.factor, ArrowFactor):
        moved = precision_factor(mode.factor.precision.reordered(order))
        return mode._replace(v=mode.v[order], factor=moved)
    rows = (order[:, None] * m + np.arange(m)).reshape(-1)
    precision = (mode.factor @ mode.factor.T)[np.ix_(rows, rows)]
    return mode._replace(v=mode.v[order], factor=precision_factor(precision))


def _tied(hyper: Hyperparameters) -> bool:
    same = all((part == part[:1]).all() for part in (hyper.log_lengthscale, hyper.log_scale, hyper.personal))
    return bool(same and len(hyper.log_scale) > 1 and not hyper.coupling.any())


def _bfgs(metric: Array, step: Array, change: Array) -> Array:
    """The inverse Hessian after a step that changed the (falling) slope so; damped where the curvature was not positive."""
    curved = np.linalg.solve(metric, step)
    expected, seen = float(step @ curved), float(step @ change)
    if seen < 0.2 * expected:  # Powell's damping
        share = 0.8 * expected / (expected - seen)
        change = share * change + (1.0 - share) * curved
        seen = float(step @ change)
    left = np.eye(len(step)) - np.outer(step, change) / seen
    return np.asarray(left @ metric @ left.T + np.outer(step, step) / seen)


@dataclasses.dataclass(frozen=True)
class Laplace:
    """The ``laplace`` engine, and what the samplers learn their hyperparameters and coordinates with."""

    starts: int = 32
    """Random starting points of the short course."""
    finalists: int = 8
    """Number of the best that are followed to their modes."""
    ascents: int = 2
    """Number of the best modes from which the hyperparameters are optimised; the best result counts."""
    max_rounds: int = 30
    """Most steps on the hyperparameters; they end earlier when a step promises less than 0.02 nats."""
    rival: float = 4.0
    """Modes whose evidence is less than this below the best one's are kept, in nats: chains start there, too."""
    subset: int = 1000
    """If there are more than twice as many choices, hyperparameters and modes are learned from this many, spread evenly
    over all; the best modes are then followed on all choices."""
    refinements: int = 32
    """Steps by draws on the hyperparameters of several people, ..."""
    refining_groups: int = 2
    """... by so many groups of sixteen chains."""
    num_samples: int = 400
    num_chains: int = 4
    """The draws are independent; they are handed out as that many chains so that every engine's look alike."""
    limits: Limits = INDEPENDENT

    def __post_init__(self) -> None:
        searched = self.starts, self.finalists, self.ascents, self.max_rounds, self.subset
        counts = *searched, self.num_chains, self.refinements, self.refining_groups
        if not are_whole(*counts, self.num_samples) or min(counts) < 1 or self.num_samples < 4:
            raise InvalidInputError(
                "laplace needs at least 1 start, 1 finalist, 1 ascent, 1 round, 1 choice, 1 chain, 1 refinement, "
                "1 refining group and 4 draws."
            )

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "laplace"

    def learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        """Hyperparameters, and the Gaussians at the modes that they give."""
        part = likelihood.sample(self.subset)
        learned = self._learn(rng, spec, part, start, report if likelihood.people is None else report.part(0.0, 0.7))
        if likelihood.people is not None:
            from choicebo.model.engines.refining import refined  # which samples, with what this learns

            learned = refined(rng, spec, part, learned, self.refinements, self.refining_groups, report.part(0.7, 1.0))
        if part is likelihood:
            return learned
        prior = Whitener.of(spec, likelihood).at(learned.hyper)
        log_prior = prior.log_density
        modes = in_parallel(lambda each: climb(likelihood, prior, each.centre), learned.basins[:_FOLLOWED])
        basins = [_basin(mode, mode.log_evidence + log_prior) for mode in modes]
        basins.sort(key=lambda each: -each.log_evidence)
        near = [each for each in basins if each.log_evidence > basins[0].log_evidence - self.rival]
        return learned._replace(basins=tuple(_apart(near)))

    def _learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        ascender = Ascender.of(spec, likelihood)
        few = likelihood.choices <= _FEW
        starts, finalists, ascents = (
            count if few else -(-count // 2) for count in (self.starts, self.finalists, self.ascents)
        )
        found = starting_points(rng, spec, likelihood, starts=starts, report=report.part(0.0, 0.4))
        modes = list(in_parallel(lambda v: ascender.mode(found.hyper, v), found.v[:finalists]))
        modes.sort(key=lambda mode: -mode.log_evidence)
        report(_STAGE, 0.5)
        # The latent dimensions part in one way, or in the other.
        ways = (False, True) if few and spec.latent_dim > 1 else (False,)
        climbs = [
            ascender.begin(found.hyper, mode, reverse=reverse)
            for mode in _distinct(modes)[:ascents]
            for reverse in ways
        ]
        if start is not None:
            known = ascender.whitener.at(start).whitened(climbs[0].told)
            climbs.append(ascender.begin(start, ascender.mode(start, known)))
        # An interruption in one thread must reach the caller: only the first reports.
        reports = [report.part(0.5, 1.0), *[Reporter()] * (len(climbs) - 1)]
        found_climbs = in_parallel(lambda each: self._climb(ascender, *each), zip(climbs, reports, strict=True))
        state, trace = max(found_climbs, key=lambda each: each[0].evidence)
        basins = self._basins(ascender, state, found.hyper, modes)
        return Learned(state.hyper, basins, np.asarray(trace))

    def _climb(self, ascender: Ascender, state: Ascent, report: Reporter) -> tuple[Ascent, list[float]]:
        """Steps on the hyperparameters until they promise nothing, and the evidence on the way."""
        trace = [state.evidence]
        for number in range(self.max_rounds):
            if state.promised < _SETTLED:
                break
            state = ascender.advance(state)
            trace.append(state.evidence)
            report(_STAGE, (number + 1) / self.max_rounds)
        return state, trace

    def _basins(self, ascender: Ascender, best: Ascent, first: Hyperparameters, modes: list[Mode]) -> tuple[Basin, ...]:
        """The mode that was followed, and others that are nearly as probable at its hyperparameters."""
        before, prior = ascender.whitener.at(first), ascender.whitener.at(best.hyper)
        found = [_basin(best.mode, best.evidence)]
        log_prior = prior.log_density
        for other in _distinct(modes)[1:]:
            told = before.told(other.v[..., None].astype(np.float32))[..., 0]
            mode = climb(ascender.likelihood, prior, prior.whitened(in_order_of(told, best.told, prior.hidden_count)))
            near = _basin(mode, mode.log_evidence + log_prior)
            if len(_apart([*found, near])) > len(found) and near.log_evidence > best.evidence - self.rival:
                found.append(near)
        return tuple(sorted(found, key=lambda each: -each.log_evidence))

    def fit(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Fit:
        """Learn the hyperparameters and draw from the Gaussian at the best mode."""
        learned = self.learn(rng, spec, likelihood, start, report.part(0.0, 0.95))
        basin = learned.basins[0]
        each = -(-self.num_samples // self.num_chains)
        noise = rng.standard_normal((each * self.num_chains, basin.centre.size))
        whitened = basin.centre.reshape(-1) + noise @ basin.transform.T
        report("drawing", 1.0)
        shape = (self.num_chains, each, *basin.centre.shape)
        return Fit(learned.hyper, whitened.reshape(shape), basin.log_evidence, learned.trace)


_STAGE = "learning the hyperparameters"
_APART = 0.5
"""Modes are different if some whitened value differs by more."""


_FOLLOWED = 2
"""Modes of a subset that are followed on all choices."""


def _apart(basins: list[Basin]) -> list[Basin]:
    """One of each group of basins around the same mode."""
    found: list[Basin] = []
    for each in basins:
        if all(np.abs(each.centre - other.centre).max() > _APART for other in found):
            found.append(each)
    return found


def _basin(mode: Mode, evidence: float) -> Basin:
    return Basin(mode.v, root_of_inverse(mode.factor), evidence)


def _distinct(modes: list[Mode]) -> list[Mode]:
    """One of each group with the same evidence: where all dimensions share their hyperparameters, they are one mode."""
    found: list[Mode] = []
    for each in modes:
        if all(abs(each.log_evidence - other.log_evidence) > _SAME for other in found):
            found.append(each)
    return found


_SAME = 0.25


def in_order_of(latent: Singles, other: Singles, hidden: int | None = None) -> Singles:
    """The latent dimensions, the first ``hidden`` or all of them in the order that resembles ``other: (n_e, m)`` most."""
    hidden = len(latent) if hidden is None else hidden
    order = order_like(latent[:hidden].T, other[:hidden].T)
    return np.asarray(latent[np.concatenate([order, np.arange(hidden, len(latent))])])
