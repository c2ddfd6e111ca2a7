"""Laplace's approximation: a Gaussian at the mode of the whitened posterior, with the likelihood's exact curvature.

The hyperparameters climb the marginal likelihood. In whitened coordinates its gradient is the posterior average of
``d log p(choices | f = L(hyper) v) / d hyper`` (Fisher's identity), here averaged over the Gaussian; before each step the
mode is followed by Newton's method. The basin comes from the variational engine's short course.

A mean-field bound prices every uncertain direction separately and so prefers small output scales; this Gaussian has
the full covariance, finds larger ones, and predicts better on the toy problem.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from choicebo._compile import jit
from choicebo.errors import InvalidInput
from choicebo.model import inner_loop
from choicebo.model.batching import Batch
from choicebo.model.engines.base import Fit, Learned, ModelSpec, Reporter, whiten
from choicebo.model.engines.gaussian import Gaussian, climb, gaussian_at, quick_gaussian_at
from choicebo.model.engines.variational import Variational
from choicebo.model.kernels import Hyperparameters


class _State(NamedTuple):
    mode: jax.Array
    hyper: Hyperparameters
    optimiser: Any


@jit("engine", "spec")
def _ascend(
    engine: Laplace, spec: ModelSpec, batch: Batch, state: _State, key: jax.Array, pace: jax.Array
) -> tuple[_State, jax.Array]:
    """Rounds of Newton steps on the mode and one step on the hyperparameters; returns the average fit on the way."""

    def fit(hyper: Hyperparameters, v: jax.Array) -> jax.Array:
        latent = jax.vmap(whiten(spec, batch, hyper).latent)(v)
        log_p = jax.vmap(lambda f: inner_loop.log_likelihood(f, batch, spec.lapse))(latent)
        return log_p.mean() + spec.prior.log_density(hyper)

    def one_round(state: _State, inputs: tuple[jax.Array, jax.Array]) -> tuple[_State, jax.Array]:
        key, factor = inputs
        prior = whiten(spec, batch, state.hyper)
        mode = climb(spec, batch, prior, state.mode, engine.newton_steps)
        gaussian = quick_gaussian_at(spec, batch, prior, mode)
        half = jax.random.normal(key, (engine.gradient_draws // 2, mode.size))
        draws = jax.vmap(gaussian.draw)(jnp.concatenate([half, -half]))
        value, slope = jax.value_and_grad(fit)(state.hyper, draws)
        updates, optimiser = _optimiser(engine).update(jax.tree.map(jnp.negative, slope), state.optimiser)
        hyper = optax.apply_updates(state.hyper, jax.tree.map(lambda u: factor * u, updates))
        return _State(mode, hyper, optimiser), value

    return jax.lax.scan(one_round, state, (jax.random.split(key, len(pace)), pace))


@jit("steps", "spec")
def _settle(
    steps: int, spec: ModelSpec, batch: Batch, mode: jax.Array, hyper: Hyperparameters
) -> tuple[Gaussian, jax.Array]:
    """The Gaussian at the mode, and the evidence there."""
    prior = whiten(spec, batch, hyper)
    gaussian, evidence = gaussian_at(spec, batch, prior, climb(spec, batch, prior, mode, steps))
    return gaussian, evidence + spec.prior.log_density(hyper)


def _optimiser(engine: Laplace) -> Any:
    return optax.adam(engine.learning_rate, b1=0.8, b2=0.95)


@dataclasses.dataclass(frozen=True)
class Laplace:
    """The ``laplace`` engine, and what the samplers learn their hyperparameters and coordinates with."""

    rounds: int = 12
    """Steps on the hyperparameters."""
    newton_steps: int = 2
    """Newton steps on the mode before each of them."""
    final_newton_steps: int = 8
    learning_rate: float = 0.2
    gradient_draws: int = 8
    """Draws (in antithetic pairs) for each estimate of the gradient."""
    draws: int = 400
    chains: int = 4
    """The draws are independent; they are handed out as that many chains so that every engine's look alike."""
    variational: Variational = Variational(rounds=12)
    """Finds the basin to climb in."""

    def __post_init__(self) -> None:
        if min(self.rounds, self.newton_steps, self.final_newton_steps, self.chains) < 1 or self.draws < 4:
            raise InvalidInput("laplace needs at least 1 round, 1 Newton step, 1 chain and 4 draws")
        if self.gradient_draws < 2 or self.gradient_draws % 2:
            raise InvalidInput(f"gradient_draws must be a positive even number, got {self.gradient_draws}")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "laplace"

    def learn(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Learned:
        """Hyperparameters, and the Gaussian at the mode that they give."""
        key_vi, key_rounds = jax.random.split(key)
        q, hyper, _ = self.variational.approximate(key_vi, spec, batch, start, report.part(0.0, 0.5))
        mode = jnp.where(jnp.asarray(batch.option_used), q.mean, 0.0)
        state = _State(mode, hyper, _optimiser(self).init(hyper))
        pace = 0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * np.arange(self.rounds) / self.rounds))
        state, trace = _ascend(self, spec, batch, state, key_rounds, jnp.asarray(pace))
        report("learning the hyperparameters", 0.9)
        gaussian, evidence = _settle(self.final_newton_steps, spec, batch, state.mode, state.hyper)
        report("learning the hyperparameters", 1.0)
        return Learned(state.hyper, gaussian.centre, gaussian.transform, float(evidence), np.asarray(trace))

    def fit(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Fit:
        """Learn the hyperparameters and draw from the Gaussian at the mode."""
        key_learn, key_draw = jax.random.split(key)
        learned = self.learn(key_learn, spec, batch, start, report.part(0.0, 0.95))
        each = -(-self.draws // self.chains)
        centre = np.asarray(learned.centre)
        noise = np.asarray(jax.random.normal(key_draw, (each * self.chains, centre.size)))
        whitened = centre.reshape(-1) + noise @ np.asarray(learned.transform).T
        report("drawing", 1.0)
        shape = (self.chains, each, *centre.shape)
        return Fit(learned.hyper, whitened.reshape(shape), learned.log_evidence, learned.trace)
