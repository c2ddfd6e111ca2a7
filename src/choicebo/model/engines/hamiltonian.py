"""Hamiltonian Monte Carlo (blackjax) at the hyperparameters that the variational engine found.

The posterior is sampled in coordinates in which it is nearly a standard normal: whitened by the prior, centred at the
variational mean, and rotated and scaled by the curvature of the likelihood averaged over the approximation. A handful
of leapfrog steps then gives a nearly independent draw.
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
from choicebo.model.curvature import curvature
from choicebo.model.engines.base import Fit, ModelSpec, Reporter, Whitened, log_posterior, whiten
from choicebo.model.engines.variational import Approximation, Variational
from choicebo.model.kernels import Hyperparameters


class Coordinates(NamedTuple):
    """``v = centre + transform @ w``, in single precision."""

    prior: Whitened
    centre: jax.Array
    """(n_e, options)"""
    transform: jax.Array
    """(n_e options, n_e options)"""

    def whitened(self, w: jax.Array) -> jax.Array:
        """Whitened values (n_e, options) at ``w: (n_e options,)``."""
        return self.centre + (self.transform @ w).reshape(self.centre.shape)


@jit("spec", "draws")
def precondition(
    spec: ModelSpec, batch: Batch, q: Approximation, hyper: Hyperparameters, key: jax.Array, draws: int
) -> Coordinates:
    """Coordinates in which the posterior is nearly standard normal."""
    prior = whiten(spec, batch, hyper)
    noise = jax.random.normal(key, (draws, *q.mean.shape))
    average = jax.lax.map(lambda e: curvature(prior.latent(q.draw(e)), batch, spec.lapse), noise).mean(0)
    size = q.mean.size
    factors = jax.scipy.linalg.block_diag(*prior.factors)
    precision = jnp.eye(size) + factors.T @ average @ factors
    # A posterior that is not log-concave may have directions of negative average curvature; there the prior's applies.
    values, vectors = jnp.linalg.eigh(0.5 * (precision + precision.T))
    transform = vectors / jnp.sqrt(jnp.maximum(values, 1.0))
    single = jnp.float32
    return Coordinates(Whitened(prior.factors.astype(single)), q.mean.astype(single), transform.astype(single))


class _Chains(NamedTuple):
    states: HMCState
    adaptation: DualAveragingAdaptationState


@jit("engine", "spec", "steps")
def _run(
    engine: Hamiltonian, spec: ModelSpec, batch: Batch, coordinates: Coordinates, chains: _Chains,
    adapting: jax.Array, key: jax.Array, steps: int,
) -> tuple[_Chains, tuple[jax.Array, jax.Array, jax.Array]]:
    """``steps`` transitions of every chain; one program serves warm-up (``adapting``) and sampling.

    Returns whitened values (steps, chains, n_e, options), acceptance rates and divergences (steps, chains).
    """

    def density(w: jax.Array) -> jax.Array:
        return log_posterior(spec, batch, coordinates.prior, coordinates.whitened(w))

    kernel = blackjax.hmc.build_kernel()
    inverse_mass = jnp.ones(coordinates.centre.size, dtype=jnp.float32)
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
        whitened = jax.vmap(coordinates.whitened)(states.position)
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
    leapfrog_steps: int = 6
    target_acceptance: float = 0.8
    first_step_size: float = 0.03
    curvature_draws: int = 2
    """Draws of the approximation at which the curvature is averaged for the coordinates."""
    variational: Variational = Variational()
    """Finds the hyperparameters and the centre of the coordinates."""

    def __post_init__(self) -> None:
        if min(self.chains, self.leapfrog_steps, self.curvature_draws) < 1 or min(self.draws, self.warm_up) < 4:
            raise InvalidInput("hmc needs at least 1 chain, 1 leapfrog step, 4 draws and 4 warm-up transitions")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "hmc"

    def fit(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Fit:
        """Learn the hyperparameters by variational inference, then draw."""
        key_vi, key_precondition, key_start, key_warm, key_draw = jax.random.split(key, 5)
        q, hyper, trace = self.variational.approximate(key_vi, spec, batch, start, report.part(0.0, 0.5))
        coordinates = precondition(spec, batch, q, hyper, key_precondition, self.curvature_draws)
        report("drawing", 0.55)
        # One program of `piece` transitions serves warm-up and sampling, so that it is compiled once.
        piece = min(25, self.warm_up, self.draws)
        chains = self._start(coordinates, key_start)
        for piece_key in jax.random.split(key_warm, -(-self.warm_up // piece)):
            chains, _ = _run(self, spec, batch, coordinates, chains, jnp.array(True), piece_key, piece)
        pieces = -(-self.draws // piece)
        found = []
        for done, piece_key in enumerate(jax.random.split(key_draw, pieces)):
            report("drawing", 0.7 + 0.3 * done / pieces)
            chains, result = _run(self, spec, batch, coordinates, chains, jnp.array(False), piece_key, piece)
            found.append(jax.tree.map(np.asarray, result))
        whitened, acceptance, divergent = (np.concatenate(parts)[: self.draws] for parts in zip(*found, strict=True))
        report("drawing", 1.0)
        draws = np.swapaxes(whitened, 0, 1).astype(np.float64)
        evidence = float(trace[-max(4, len(trace) // 8) :].mean())
        return Fit(hyper, draws, evidence, trace, int(divergent.sum()), float(acceptance.mean()))

    def _start(self, coordinates: Coordinates, key: jax.Array) -> _Chains:
        """Chains that start at a draw from the coordinates' standard normal.

        Their density is set to 0 instead of being computed: the first transition is then always accepted, which warm-up
        forgets, and a second copy of the gradient need not be compiled.
        """
        position = jax.random.normal(key, (self.chains, coordinates.centre.size), dtype=jnp.float32)
        nowhere = jnp.full(self.chains, -jnp.inf, dtype=jnp.float32)
        initial, _, _ = dual_averaging_adaptation(self.target_acceptance)
        return _Chains(HMCState(position, nowhere, jnp.zeros_like(position)), initial(self.first_step_size))
