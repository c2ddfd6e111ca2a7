"""Hamiltonian Monte Carlo (blackjax) at learned hyperparameters.

The posterior is sampled in coordinates in which it is nearly a standard normal: whitened by the prior, centred near
the mode, and rotated and scaled by the curvature around it. A few steps then give a nearly independent
draw.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.mcmc.hmc import HMCState
from blackjax.mcmc.integrators import IntegratorState, mclachlan_coefficients

from choicebo._compile import jit
from choicebo._runtime import in_parallel
from choicebo.errors import InvalidInput
from choicebo.model.batching import Batch
from choicebo.model.engines.base import (
    Fit,
    Learner,
    ModelSpec,
    Reporter,
    Whitened,
    log_posterior,
    settled_types,
    single,
    whiten,
)
from choicebo.model.engines.gaussian import Gaussian, averaged
from choicebo.model.engines.laplace import Laplace
from choicebo.model.kernels import Hyperparameters

_PIECE = 10
"""Transitions of one compiled program, which warm-up and sampling share: between them a fit can report and be interrupted."""


class _Coordinates(NamedTuple):
    """In single precision."""

    prior: Whitened
    gaussian: Gaussian


@jit("spec", "draws")
def _coordinates(
    spec: ModelSpec, batch: Batch, hyper: Hyperparameters, gaussian: Gaussian, key: jax.Array, draws: int
) -> _Coordinates:
    prior: Whitened = single(whiten(spec, batch, hyper))
    return _Coordinates(prior, averaged(spec, batch, prior, single(gaussian), key, draws))


class _Chains(NamedTuple):
    states: HMCState
    log_step: jax.Array
    """Logarithm of the step size."""
    adaptations: jax.Array
    """How often it was adapted."""


class _Tuning(NamedTuple):
    """Settings that are numbers for the compiled program, so that changing them compiles nothing."""

    trajectory: jax.Array
    most_steps: jax.Array
    target: jax.Array


@jit("spec", "steps")
def _run(
    spec: ModelSpec,
    batch: Batch,
    coordinates: _Coordinates,
    chains: _Chains,
    tuning: _Tuning,
    adapting: jax.Array,
    key: jax.Array,
    steps: int,
) -> tuple[_Chains, tuple[jax.Array, jax.Array, jax.Array]]:
    """``steps`` transitions of every chain; one program serves warm-up (``adapting``) and sampling.

    Returns whitened values (steps, chains, n_e, options), acceptance rates and divergences (steps, chains).
    """

    def density(w: jax.Array) -> jax.Array:
        return log_posterior(spec, batch, coordinates.prior, coordinates.gaussian.draw(w))

    kernel = blackjax.hmc.build_kernel(integrator=_two_stage)
    inverse_mass = jnp.ones(coordinates.gaussian.centre.size, dtype=jnp.float32)

    def step(chains: _Chains, key: jax.Array) -> tuple[_Chains, tuple[jax.Array, jax.Array, jax.Array]]:
        key_length, key_move = jax.random.split(key)
        # Trajectories of different lengths: no quantity can have a period that they all hit.
        length = tuning.trajectory * jax.random.uniform(key_length, (), minval=_SHORTEST, maxval=2.0 - _SHORTEST)
        count = jnp.clip(jnp.ceil(length / jnp.exp(chains.log_step)), 1, tuning.most_steps).astype(jnp.int32)
        size = jnp.minimum(length / count, jnp.exp(chains.log_step)).astype(jnp.float32)
        states, info = jax.vmap(lambda key, state: kernel(key, state, density, size, inverse_mass, count))(
            jax.random.split(key_move, len(chains.states.position)), chains.states
        )
        acceptance = jnp.where(jnp.isfinite(info.acceptance_rate), info.acceptance_rate, 0.0)
        suited = jnp.log(size) + _step_correction(acceptance.mean(), tuning.target)
        gain = 1.0 / jnp.maximum(chains.adaptations - 2.0, 1.0)
        log_step = jnp.where(adapting, chains.log_step + gain * (suited - chains.log_step), chains.log_step)
        whitened = jax.vmap(coordinates.gaussian.draw)(states.position)
        return _Chains(states, log_step, chains.adaptations + adapting), (whitened, acceptance, info.is_divergent)

    return jax.lax.scan(step, chains, jax.random.split(key, steps))


def _two_stage(log_density: Callable[[jax.Array], jax.Array], kinetic_energy: Any) -> Callable[..., IntegratorState]:
    """McLachlan's integrator: a step costs two gradients and goes far further than two leapfrog steps for the same error.

    blackjax has it too, with the gradient written out twice; in a loop it is compiled once. Unit masses.
    """
    value_and_slope = jax.value_and_grad(log_density)
    outer, half, inner = mclachlan_coefficients[:3]

    def step(state: IntegratorState, size: jax.Array) -> IntegratorState:
        def stage(state: IntegratorState, push: jax.Array) -> tuple[IntegratorState, None]:
            position = state.position + half * size * state.momentum
            value, slope = value_and_slope(position)
            return IntegratorState(position, state.momentum + push * size * slope, value, slope), None

        pushed = state._replace(momentum=state.momentum + outer * size * state.logdensity_grad)
        return jax.lax.scan(stage, pushed, jnp.array([inner, outer], dtype=size.dtype))[0]

    return step


_SHORTEST = 0.6
"""Share of the mean length that a trajectory has at least."""


def _step_correction(acceptance: jax.Array, target: jax.Array) -> jax.Array:
    """By how much to change the logarithm of a step with that mean acceptance to get the target.

    The energy error is nearly normal with a variance of twice its mean ``e``, and ``e`` grows as the fourth power of the step
    (Beskos et al. 2013): the acceptance is ``2 Phi(-sqrt(e / 2))``.
    """

    def root_of_error(rate: jax.Array) -> jax.Array:
        return -jax.scipy.special.ndtri(0.5 * rate)

    ratio = root_of_error(target) / root_of_error(jnp.clip(acceptance.astype(jnp.float64), 0.01, 0.99))
    return jnp.clip(0.5 * jnp.log(ratio), -1.0, 0.5)


@dataclasses.dataclass(frozen=True)
class Hamiltonian:
    """The ``hmc`` engine."""

    chains: int = 8
    draws: int = 40
    """Per chain."""
    warm_up: int = 10
    """Transitions per chain that tune the step size and are thrown away."""
    trajectory: float = 2.0
    """Mean length of a trajectory. In the coordinates a quarter turn of a standard normal, after which a draw is
    independent of the one before, is 1.6; the posterior is wider than that in some directions."""
    most_steps: int = 8
    """At most so many for a trajectory, whatever the step size; each costs two gradients."""
    target_acceptance: float = 0.8
    first_step_size: float = 0.9
    curvature_draws: int = 4
    """Draws of the learner's Gaussian over which the curvature is averaged for the coordinates."""
    learner: Learner = Laplace()
    """Finds the hyperparameters and the Gaussian to start from."""

    def __post_init__(self) -> None:
        if min(self.chains, self.most_steps) < 1 or min(self.draws, self.warm_up) < 4:
            raise InvalidInput("hmc needs at least 1 chain, 1 step, 4 draws and 4 warm-up transitions")
        if not 0.0 < self.target_acceptance < 1.0:
            raise InvalidInput(f"target_acceptance must lie between 0 and 1, got {self.target_acceptance!r}")
        if not (self.trajectory > 0.0 and self.first_step_size > 0.0):
            raise InvalidInput(
                f"trajectory and first_step_size must be positive, got {self.trajectory!r} and {self.first_step_size!r}"
            )

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "hmc"

    def fit(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Fit:
        """Learn the hyperparameters, then draw."""
        key_learn, key_average, key_start, key_warm, key_draw = jax.random.split(key, 5)
        learned = self.learner.learn(key_learn, spec, batch, start, report.part(0.0, 0.6))
        gaussian = Gaussian(learned.centre, learned.transform)
        coordinates = _coordinates(spec, batch, learned.hyper, gaussian, key_average, self.curvature_draws)
        tuning = _Tuning(
            jnp.asarray(self.trajectory), jnp.asarray(self.most_steps), jnp.asarray(self.target_acceptance)
        )
        groups = self._start(coordinates, key_start)

        def advance(adapting: bool, key: jax.Array) -> list[Any]:
            """A piece of every group, each with a key of its own, at the same time."""
            flag = jnp.array(adapting)

            def one(given: tuple[_Chains, jax.Array]) -> Any:
                chains, results = _run(
                    spec, batch, coordinates, settled_types(given[0]), tuning, flag, given[1], _PIECE
                )
                return chains, jax.tree.map(np.asarray, results)

            found = list(in_parallel(one, zip(groups, jax.random.split(key, len(groups)), strict=True)))
            groups[:] = [chains for chains, _ in found]
            return [np.concatenate(parts, axis=1) for parts in zip(*(results for _, results in found), strict=True)]

        for piece_key in jax.random.split(key_warm, -(-self.warm_up // _PIECE)):
            advance(True, piece_key)
        step = np.mean([np.asarray(chains.log_step) for chains in groups])
        groups[:] = [chains._replace(log_step=step) for chains in groups]
        pieces = -(-self.draws // _PIECE)
        found = []
        for done, piece_key in enumerate(jax.random.split(key_draw, pieces)):
            report("drawing", 0.7 + 0.3 * done / pieces)
            found.append(advance(False, piece_key))
        whitened, acceptance, divergent = (np.concatenate(parts)[: self.draws] for parts in zip(*found, strict=True))
        report("drawing", 1.0)
        draws = np.swapaxes(whitened, 0, 1).astype(np.float64)
        return Fit(
            learned.hyper,
            draws,
            learned.log_evidence,
            learned.trace,
            int(divergent.sum()),
            float(acceptance.mean()),
        )

    def _start(self, coordinates: _Coordinates, key: jax.Array) -> list[_Chains]:
        """Chains that start at a draw from the coordinates' standard normal, in groups that run at the same time.

        Their density is set to zero instead of being computed: the first transition is then always accepted, which warm-up
        forgets, and a second copy of the gradient need not be compiled.
        """
        size = coordinates.gaussian.centre.size
        position = jax.random.normal(key, (self.chains, size), dtype=jnp.float32)
        # The number of groups is no matter of the machine: the same seed is to give the same draws everywhere.
        each = self.chains // 2 if self.chains % 2 == 0 else self.chains
        nowhere = jnp.full(each, -jnp.inf, dtype=jnp.float32)
        step = jnp.log(jnp.asarray(self.first_step_size, dtype=jnp.float64))
        return [
            _Chains(HMCState(part, nowhere, jnp.zeros_like(part)), step, jnp.zeros(()))
            for part in jnp.split(position, self.chains // each)
        ]
