"""Hamiltonian Monte Carlo at learned hyperparameters, sixteen chains at a time.

The posterior of the whitened values is sampled with its precision around the mode as the mass matrix, which makes it nearly a
standard normal: a few steps then give a nearly independent draw. Chains are the lanes of the compiled likelihood.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from choicebo._runtime import in_parallel
from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.model.convergence import least_effective, margin_pairs, worst_r_hat
from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines.base import Basin, Fit, Learned, Learner, Limits, ModelSpec, Reporter, are_whole
from choicebo.model.engines.gaussian import (
    covariance_of,
    precision_at,
    precision_factor,
    root_of_inverse,
    variational,
)
from choicebo.model.engines.laplace import Laplace, in_order_of
from choicebo.model.engines.whitening import Whitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.likelihood import is_number
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

_OUTER, _INNER = 0.1931833275037836, 0.6136333449924328
"""Shares of a step's push at its ends and in its middle: McLachlan's integrator, whose step costs two gradients and goes far
further than two leapfrog steps for the same error."""
_SHORTEST = 0.6
"""Share of the mean length that a trajectory has at least: lengths differ, so that no quantity has a period that they all hit."""
_DIVERGED = 1000.0
"""An energy error beyond this means that the integration failed."""
_LONG_SHARE, _LONG = 0.2, 3.0
"""One trajectory in five is three times as long: a few choices leave side modes, and short ones hardly lead out of them."""
_FEWEST_DRAWS = 60
"""Draws of each chain that ``max_work`` always allows."""
_KEPT = 640
"""At most so many draws of both groups of chains together are kept in the posterior; more were only needed to converge."""


class Target(NamedTuple):
    """What is sampled, and the mass matrix."""

    likelihood: Likelihood
    prior: Whitened
    factor: Any
    """(n_e m, n_e m): lower Cholesky factor of the mass matrix."""
    inverse: Any
    """(n_e m, n_e m): inverse of the mass matrix."""

    @classmethod
    def of(cls, likelihood: Likelihood, prior: Whitened, points: Array) -> Target:
        """With the precision averaged over ``points: (points, n_e, m)`` as the mass matrix."""
        factor = precision_factor(precision_at(likelihood, prior, *points))
        return cls(likelihood, prior, factor, covariance_of(factor))

    def with_mass(self, points: Array) -> Target:
        """The same with the precision averaged over other points."""
        return self.of(self.likelihood, self.prior, points)


class Chains(NamedTuple):
    """States of sixteen chains."""

    v: Singles
    """(n_e, m, LANES)"""
    height: Array
    """(LANES,): log-posterior."""
    slope: Singles
    """(n_e, m, LANES)"""
    by_latent: Singles
    """(n_e + k, m, LANES): the log-likelihood's slope by the latent values, those of known objectives last."""


class Transition(NamedTuple):
    """What happened in one transition, (LANES,) each."""

    acceptance: Array
    diverged: NDArray[np.bool_]


def begin(target: Target, v: Singles) -> Chains:
    """Chains at ``v: (n_e, m, LANES)``."""
    value, by_latent = target.likelihood.value_and_gradient(target.prior.latent(v))
    height = value - 0.5 * (v * v).sum((0, 1), dtype=np.float64)
    return Chains(v, height, target.prior.pulled(by_latent) - v, by_latent)


def integrate(target: Target, chains: Chains, momentum: Singles, size: float, steps: int) -> tuple[Chains, Singles]:
    """Follow the Hamiltonian flow; returns where it leads, and the momentum there, ``(n_e m, LANES)``."""
    shape = chains.v.shape
    outer, inner, half = (np.float32(share * size) for share in (_OUTER, _INNER, 0.5))
    momentum = momentum + outer * chains.slope.reshape(momentum.shape)
    for step in range(steps):
        for push in (inner, outer if step == steps - 1 else 2 * outer):
            chains = begin(target, chains.v + half * (target.inverse @ momentum).reshape(shape))
            momentum = momentum + push * chains.slope.reshape(momentum.shape)
    return chains, momentum


def transition(
    rng: np.random.Generator, target: Target, chains: Chains, size: float, steps: int
) -> tuple[Chains, Transition]:
    """One transition of every chain."""
    noise = rng.standard_normal((len(target.factor), LANES), dtype=np.float32)
    momentum = target.factor @ noise
    proposed, end = integrate(target, chains, momentum, size, steps)
    before = chains.height - 0.5 * (noise * noise).sum(0, dtype=np.float64)
    after = proposed.height - 0.5 * (end * (target.inverse @ end)).sum(0, dtype=np.float64)
    error = np.nan_to_num(before - after, nan=np.inf)
    acceptance = np.exp(-np.maximum(error, 0.0))
    return _moved(rng, chains, proposed, acceptance), Transition(acceptance, error > _DIVERGED)


def exchange(rng: np.random.Generator, target: Target, chains: Chains) -> Chains:
    """Two latent dimensions change places where the prior allows it.

    No choice tells in which order the latent dimensions come, only their length-scales and output scales do. So the posterior
    has a mode for each order, some of them nearly alike, and trajectories do not lead from one to the other.
    """
    n_e = len(chains.v)
    order = np.arange(n_e)
    pair = rng.permutation(target.prior.hidden_count)[:2]  # which objective was measured is no question
    order[pair] = order[pair[::-1]]
    v = target.prior.whitened(target.prior.told(chains.v)[order]).astype(np.float32)
    if not target.prior.square:
        # Features of the other dimension give nearly the same latent values, and so another likelihood. To exchange twice is
        # to do nothing, so the ratio of the densities is all that counts.
        other = begin(target, v)
        return _moved(rng, chains, other, np.exp(np.minimum(other.height - chains.height, 0.0)))
    change = 0.5 * ((chains.v * chains.v).sum((0, 1), dtype=np.float64) - (v * v).sum((0, 1), dtype=np.float64))
    by_latent = np.concatenate([chains.by_latent[order], chains.by_latent[n_e:]])
    proposed = Chains(v, chains.height + change, target.prior.pulled(by_latent) - v, by_latent)
    return _moved(rng, chains, proposed, np.exp(np.minimum(change, 0.0)))


def _moved(rng: np.random.Generator, chains: Chains, proposed: Chains, acceptance: Array) -> Chains:
    """Each chain where it was proposed to go, with that probability."""
    taken = rng.random(LANES) < acceptance
    return Chains(*(np.where(taken, new, old) for new, old in zip(proposed, chains, strict=True)))


def step_correction(acceptance: float, target: float) -> float:
    """By how much to change the logarithm of a step with that mean acceptance to get the target.

    The energy error is nearly normal with a variance of twice its mean ``e``, and ``e`` grows as the fourth power of the step
    (Beskos et al. 2013): the acceptance is ``2 Phi(-sqrt(e / 2))``.
    """
    ratio = ndtri(0.5 * target) / ndtri(0.5 * min(max(acceptance, 0.01), 0.99))
    return float(np.clip(0.5 * np.log(ratio), -1.0, 0.5))


@dataclasses.dataclass(frozen=True)
class Hamiltonian:
    """The ``hmc`` engine."""

    limits: Limits = Limits()
    """Draws are made until these are met, ..."""
    max_samples: int = 400
    """... up to so many of each chain."""
    max_work: int | None = None
    """If given, a chain makes at most this many draws divided by the number of choices, because many choices take longer."""
    max_choices: int = 50_000
    """With more different choices, the draws are those of the nearest Gaussian, a variational approximation; the
    diagnostics say so."""
    num_samples: int = 10
    """Draws of each chain before the limits are first checked, and between two checks."""
    groups: int = 2
    """Groups of sixteen chains each; they run at the same time if there are enough processors."""
    num_warmup: int = 15
    """Transitions per chain that tune the step size and are thrown away."""
    trajectory: float = 1.8
    """Mean length of a trajectory. A quarter turn of a standard normal, after which a draw is independent of the one
    before, is 1.6; the posterior is wider than the mass matrix says in some directions."""
    max_steps: int = 30
    """Most steps of a trajectory, whatever the step size; each costs two gradients."""
    target_acceptance: float = 0.92
    first_step_size: float = 0.9
    curvature_draws: int = 4
    """Draws of the learner's Gaussian over which the curvature is averaged for the first mass matrix."""
    learner: Learner = Laplace()
    """Finds the hyperparameters and the Gaussians to start from."""

    def __post_init__(self) -> None:
        counts = self.groups, self.max_steps, self.curvature_draws, self.max_choices
        draws = self.num_samples, self.num_warmup
        if not are_whole(*counts, *draws) or min(counts) < 1 or min(draws) < 4:
            raise InvalidInputError(
                "hmc needs at least 1 group, 1 step, 1 curvature draw, 1 choice, 4 draws and 4 warm-up transitions."
            )
        if not are_whole(self.max_samples) or self.max_samples < self.num_samples:
            raise InvalidInputError(
                f"max_samples is {as_given(self.max_samples)}; give at least num_samples = {self.num_samples}."
            )
        if not is_number(self.target_acceptance) or not 0.0 < self.target_acceptance < 1.0:
            raise InvalidInputError(
                f"target_acceptance must lie between 0 and 1, got {as_given(self.target_acceptance)}."
            )
        for what in ("trajectory", "first_step_size"):
            if not is_number(getattr(self, what)) or not 0.0 < getattr(self, what) < math.inf:
                raise InvalidInputError(f"{what} must be positive, got {as_given(getattr(self, what))}.")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "hmc"

    def fit(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Fit:
        """Learn the hyperparameters, then draw until the limits are met."""
        learned = self.learner.learn(rng, spec, likelihood, start, report.part(0.0, 0.6))
        prior = Whitener.of(spec, likelihood).at(learned.hyper)
        if likelihood.choices > self.max_choices:
            return self._approximated(rng, likelihood, prior, learned)
        target = self._target(rng, likelihood, prior, learned.basins)
        centre = learned.basins[0].centre
        samplers = [
            Sampler(self, target, group_rng, first_values(group_rng, learned.basins), centre)
            for group_rng in rng.spawn(self.groups)
        ]
        report("drawing", 0.65)
        list(in_parallel(lambda sampler: sampler.warm_up(), samplers))
        step = float(np.mean([sampler.log_step for sampler in samplers]))
        for sampler in samplers:
            sampler.log_step = step
        most = self.max_samples
        if self.max_work is not None:
            most = min(most, max(_FEWEST_DRAWS, self.max_work // likelihood.choices))
        while True:
            list(in_parallel(lambda sampler: sampler.draw(self.num_samples), samplers))
            quantities = np.concatenate([sampler.quantities() for sampler in samplers], axis=1)
            made = quantities.shape[2]
            done = (
                least_effective(quantities) >= self.limits.effective_draws
                and worst_r_hat(quantities) <= self.limits.r_hat
            )
            report("drawing", 1.0 if done else min(0.99, 0.7 + 0.3 * made / most))
            if done or made + self.num_samples > most:
                break
        whitened = np.concatenate([sampler.chains_first() for sampler in samplers])
        return Fit(
            learned.hyper,
            whitened,
            learned.basins[0].log_evidence,
            learned.trace,
            sum(sampler.divergences for sampler in samplers),
            float(np.mean([sampler.acceptance for sampler in samplers])),
            quantities,
        )

    def _approximated(self, rng: np.random.Generator, likelihood: Likelihood, prior: Whitened, learned: Learned) -> Fit:
        best = learned.basins[0]
        factor = precision_factor(precision_at(likelihood, prior, best.centre))
        centre, factor = variational(likelihood, prior, best.centre, factor)
        nearest = Basin(centre, root_of_inverse(factor), best.log_evidence)
        each = math.ceil(0.4 * self.limits.effective_draws)  # of four chains: some more than were asked for
        whitened = _around(nearest, rng.standard_normal((4 * each, centre.size))).reshape(4, each, *centre.shape)
        return Fit(learned.hyper, whitened, best.log_evidence, learned.trace, approximate=True)

    def _target(
        self, rng: np.random.Generator, likelihood: Likelihood, prior: Whitened, basins: tuple[Basin, ...]
    ) -> Target:
        """The posterior, with its curvature averaged over some draws: nearer to its spread than that at the mode."""
        half = _around(basins[0], rng.standard_normal((-(-self.curvature_draws // 2), basins[0].centre.size)))
        points = np.concatenate([half, 2.0 * basins[0].centre - half])[: self.curvature_draws]
        return Target.of(likelihood, prior, points)


def _around(basin: Basin, noise: Array) -> Array:
    """Whitened values (draws, n_e, m) around a basin from ``noise: (draws, n_e m)``."""
    return np.asarray(basin.centre + (noise @ basin.transform.T).reshape(-1, *basin.centre.shape))


def first_values(rng: np.random.Generator, basins: tuple[Basin, ...]) -> Singles:
    """Where sixteen chains start, (n_e, m, LANES): in each basin as many as its evidence says, up to a fraction that is drawn."""
    evidence = np.array([basin.log_evidence for basin in basins])
    share = np.cumsum(np.exp(evidence - evidence.max()))
    at = (rng.random() + np.arange(LANES)) / LANES
    places = np.minimum(np.searchsorted(share / share[-1], at, side="right"), len(basins) - 1)
    noise = rng.standard_normal((LANES, basins[0].centre.size))
    chains = [_around(basins[place], row[None])[0] for place, row in zip(places, noise, strict=True)]
    return np.ascontiguousarray(np.stack(chains, axis=-1), dtype=np.float32)


class Sampler:
    """Sixteen chains on their way."""

    def __init__(
        self, engine: Hamiltonian, target: Target, rng: np.random.Generator, v: Singles, centre: Array
    ) -> None:
        """Start at ``v: (n_e, m, LANES)``; the latent dimensions keep the order that they have at ``centre: (n_e, m)``."""
        self._engine, self._target, self._rng = engine, target, rng
        self._chains = begin(target, v)
        self._reference = target.prior.told(centre[..., None].astype(np.float32))[..., 0]
        self.log_step = float(np.log(engine.first_step_size))
        self._found: list[Singles] = []
        self._heights: list[Array] = []
        self._acceptances: list[float] = []
        self.divergences = 0

    @property
    def target(self) -> Target:
        """What is sampled, with the mass matrix as it is now."""
        return self._target

    def advance(self) -> Chains:
        """One transition that is not kept, and where it leads."""
        self._move()
        return self._chains

    def move_to(self, prior: Whitened) -> None:
        """Go on at other hyperparameters, with the same mass matrix.

        The chains begin halfway between the same whitened values, which is right where the choices say nothing, and the same
        latent ones, which is right where they say everything.
        """
        same = prior.whitened(self._target.prior.told(self._chains.v)).astype(np.float32)
        self._target = self._target._replace(prior=prior)
        self._chains = begin(self._target, np.float32(0.5) * (self._chains.v + same))

    def centre(self) -> Array:
        """(n_e, m): the mean of the chains."""
        return np.asarray(self._chains.v.mean(2, dtype=np.float64))

    @property
    def acceptance(self) -> float:
        """The mean over all draws."""
        return float(np.mean(self._acceptances))

    def warm_up(self, learn_mass: bool = True) -> None:
        """Transitions that tune the step size, and the mass matrix once the chains have left the Gaussian they started from."""
        third, tuned = self._engine.num_warmup // 3, 0
        for number in range(self._engine.num_warmup):
            if number in (third, 2 * third):
                self._put_in_order()
            if learn_mass and number == third:
                self._target = self._target.with_mass(np.moveaxis(self._chains.v, 2, 0))
                tuned = 0  # another matrix, another step
            done, size = self._move()
            suited = np.log(size) + step_correction(float(done.acceptance.mean()), self._engine.target_acceptance)
            self.log_step += (suited - self.log_step) / max(tuned - 2, 1)
            tuned += 1

    def _put_in_order(self) -> None:
        """Latent dimensions in the order of the best mode.

        Another order says the same about the choices, at other length-scales. A chain that came into one of these modes on its
        way would hardly leave it, and be counted for more than the mode's share.
        """
        told, hidden = self._target.prior.told(self._chains.v), self._target.prior.hidden_count
        ordered = np.stack([in_order_of(told[..., lane], self._reference, hidden) for lane in range(LANES)], axis=-1)
        if not np.array_equal(ordered, told):
            self._chains = begin(self._target, self._target.prior.whitened(ordered).astype(np.float32))

    def draw(self, count: int) -> None:
        """Transitions that count, with the step size as it is."""
        for _ in range(count):
            done, _ = self._move()
            self._found.append(self._chains.v)
            self._heights.append(self._chains.height + 0.5 * (self._chains.v**2).sum((0, 1), dtype=np.float64))
            self._acceptances.append(float(done.acceptance.mean()))
            self.divergences += int(done.diverged.sum())

    def quantities(self) -> Array:
        """Log-likelihood and some dominance margins of all draws, (quantities, LANES, draws)."""
        prior, v = self._target.prior, np.stack(self._found, axis=-1)
        n_e, m = v.shape[:2]
        first, second = margin_pairs(prior.options)
        rows = prior.rows(first) - prior.rows(second)
        parts = rows @ v.reshape(n_e, m, -1)
        each = (prior.mixing @ parts.reshape(n_e, -1)).reshape(n_e, len(first), LANES, -1)
        if prior.offset is not None:
            each = each + (prior.offset[:, first] - prior.offset[:, second])[..., None, None]
        difference = each.min(0)
        for known in prior.known_latent:
            difference = np.minimum(difference, (known[first] - known[second])[:, None, None])
        return np.concatenate([np.stack(self._heights, axis=1)[None], difference]).astype(np.float64)

    def chains_first(self) -> Array:
        """The draws as (LANES, draws, n_e, m), thinned where there are more than the posterior holds."""
        thin = -(-len(self._found) * LANES * self._engine.groups // _KEPT)
        return np.moveaxis(np.stack(self._found[::thin]), 3, 0).astype(np.float64)

    def _move(self) -> tuple[Transition, float]:
        engine = self._engine
        length = engine.trajectory * self._rng.uniform(_SHORTEST, 2.0 - _SHORTEST)
        if self._rng.random() < _LONG_SHARE:
            length *= _LONG
        steps = int(np.clip(np.ceil(length / np.exp(self.log_step)), 1, engine.max_steps))
        size = min(length / steps, float(np.exp(self.log_step)))
        self._chains, done = transition(self._rng, self._target, self._chains, size, steps)
        if self._target.prior.hidden_count > 1:
            self._chains = exchange(self._rng, self._target, self._chains)
        return done, size
