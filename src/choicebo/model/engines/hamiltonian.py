"""Hamiltonian Monte Carlo (blackjax) at learned hyperparameters.

The posterior is sampled in coordinates in which it is nearly a standard normal: whitened by the prior, centred near
the mode, and rotated and scaled by the curvature around it. A handful of leapfrog steps then gives a nearly independent
draw.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.adaptation.step_size import DualAveragingAdaptationState, dual_averaging_adaptation
from blackjax.mcmc.hmc import HMCState

from choicebo._compile import jit
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
    whiten,
)
from choicebo.model.engines.gaussian import Gaussian, averaged
from choicebo.model.engines.laplace import Laplace
from choicebo.model.kernels import Hyperparameters


class _Coordinates(NamedTuple):
    """Single precision: the likelihood has no more, and the products cost half."""

    prior: Whitened
    gaussian: Gaussian


@jit("spec", "draws")
def _coordinates(
    spec: ModelSpec, batch: Batch, hyper: Hyperparameters, gaussian: Gaussian, key: jax.Array, draws: int
) -> _Coordinates:
    prior = whiten(spec, batch, hyper)
    gaussian = averaged(spec, batch, prior, gaussian, key, draws)
    single: _Coordinates = jax.tree.map(lambda a: a.astype(jnp.float32), _Coordinates(prior, gaussian))
    return single


class _Chains(NamedTuple):
    states: HMCState
    adaptation: DualAveragingAdaptationState


@jit("engine", "spec", "steps")
def _run(
    engine: Hamiltonian,
    spec: ModelSpec,
    batch: Batch,
    coordinates: _Coordinates,
    chains: _Chains,
    adapting: jax.Array,
    key: jax.Array,
    steps: int,
) -> tuple[_Chains, tuple[jax.Array, jax.Array, jax.Array]]:
    """``steps`` transitions of every chain; one program serves warm-up (``adapting``) and sampling.

    Returns whitened values (steps, chains, n_e, options), acceptance rates and divergences (steps, chains).
    """

    def density(w: jax.Array) -> jax.Array:
        return log_posterior(spec, batch, coordinates.prior, coordinates.gaussian.draw(w))

    kernel = blackjax.hmc.build_kernel()
    inverse_mass = jnp.ones(coordinates.gaussian.centre.size, dtype=jnp.float32)
    _, adapt, adapted = dual_averaging_adaptation(engine.target_acceptance)

    def step(chains: _Chains, key: jax.Array) -> tuple[_Chains, tuple[jax.Array, jax.Array, jax.Array]]:
        key_size, key_move = jax.random.split(key)
        size = jnp.where(adapting, jnp.exp(chains.adaptation.log_step_size), adapted(chains.adaptation))
        # The step size varies a little, so that the motion meets none of its own periods.
        size = (size * jax.random.uniform(key_size, (), minval=0.8, maxval=1.2)).astype(jnp.float32)
        states, info = jax.vmap(
            lambda key, state: kernel(key, state, density, size, inverse_mass, engine.leapfrog_steps)
        )(jax.random.split(key_move, engine.chains), chains.states)
        acceptance = jnp.where(jnp.isfinite(info.acceptance_rate), info.acceptance_rate, 0.0)
        updated = adapt(chains.adaptation, acceptance.mean().astype(jnp.float64))
        adaptation = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), updated, chains.adaptation)
        whitened = jax.vmap(coordinates.gaussian.draw)(states.position)
        return _Chains(states, adaptation), (whitened, acceptance, info.is_divergent)

    return jax.lax.scan(step, chains, jax.random.split(key, steps))


@dataclasses.dataclass(frozen=True)
class Hamiltonian:
    """The ``hmc`` engine."""

    chains: int = 8
    draws: int = 50
    """Per chain."""
    warm_up: int = 25
    """Transitions per chain that tune the step size and are thrown away."""
    leapfrog_steps: int = 8
    target_acceptance: float = 0.75
    first_step_size: float = 0.1
    curvature_draws: int = 4
    """Draws of the learner's Gaussian over which the curvature is averaged for the coordinates."""
    learner: Learner = Laplace()
    """Finds the hyperparameters and the Gaussian to start from."""

    def __post_init__(self) -> None:
        if min(self.chains, self.leapfrog_steps) < 1 or min(self.draws, self.warm_up) < 4:
            raise InvalidInput("hmc needs at least 1 chain, 1 leapfrog step, 4 draws and 4 warm-up transitions")
        if not 0.0 < self.target_acceptance < 1.0:
            raise InvalidInput(f"target_acceptance must lie between 0 and 1, got {self.target_acceptance!r}")

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
        # Pieces of one length, so that warm-up and sampling share one compiled program.
        piece = min(25, self.warm_up, self.draws)
        chains = self._start(coordinates, key_start)
        for piece_key in jax.random.split(key_warm, -(-self.warm_up // piece)):
            chains, _ = _run(self, spec, batch, coordinates, settled_types(chains), jnp.array(True), piece_key, piece)
        pieces = -(-self.draws // piece)
        found = []
        for done, piece_key in enumerate(jax.random.split(key_draw, pieces)):
            report("drawing", 0.7 + 0.3 * done / pieces)
            settled = settled_types(chains)
            chains, result = _run(self, spec, batch, coordinates, settled, jnp.array(False), piece_key, piece)
            found.append(jax.tree.map(np.asarray, result))
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

    def _start(self, coordinates: _Coordinates, key: jax.Array) -> _Chains:
        """Chains that start at a draw from the coordinates' standard normal.

        Their density is set to zero instead of being computed: the first transition is then always accepted, which warm-up
        forgets, and a second copy of the gradient need not be compiled.
        """
        size = coordinates.gaussian.centre.size
        position = jax.random.normal(key, (self.chains, size), dtype=jnp.float32)
        nowhere = jnp.full(self.chains, -jnp.inf, dtype=jnp.float32)
        initial, _, _ = dual_averaging_adaptation(self.target_acceptance)
        return _Chains(HMCState(position, nowhere, jnp.zeros_like(position)), initial(self.first_step_size))
