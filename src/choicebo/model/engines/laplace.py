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
from choicebo.model.engines.base import Fit, Learned, ModelSpec, Reporter, Whitened, settled_types, whitener
from choicebo.model.engines.gaussian import newton_step, root_of_inverse
from choicebo.model.engines.variational import Variational
from choicebo.model.kernels import Hyperparameters

_ADAM = optax.scale_by_adam(b1=0.8, b2=0.95)
_PIECE = 4
"""Rounds of one compiled program: between them a fit can report and be interrupted."""


class _State(NamedTuple):
    mode: jax.Array
    factor: jax.Array
    """Of the precision where the last step began."""
    hyper: Hyperparameters
    optimiser: Any


@jit("spec", "draws")
def _ascend(
    spec: ModelSpec, batch: Batch, state: _State, key: jax.Array, pace: jax.Array, draws: int
) -> tuple[_State, tuple[jax.Array, jax.Array]]:
    """Rounds of a Newton step on the mode and a step of size ``pace: (rounds,)`` on the hyperparameters.

    Returns the average fit and Laplace's approximation of the evidence on the way.
    """

    prior_at = whitener(spec, batch)

    def fit(prior: Whitened, v: jax.Array) -> jax.Array:
        latent = jax.vmap(prior.latent)(v)
        return jax.vmap(lambda f: inner_loop.log_likelihood(f, batch, spec.lapse))(latent).mean()

    def one_round(state: _State, inputs: tuple[jax.Array, jax.Array]) -> tuple[_State, tuple[jax.Array, jax.Array]]:
        key, pace = inputs
        prior, by_factors = jax.vjp(prior_at, state.hyper)
        step = newton_step(spec, batch, prior, state.mode)
        # The curvature of the step serves for the Gaussian too.
        half = jax.random.normal(key, (step.v.size, draws // 2), dtype=jnp.float32)
        away = jax.scipy.linalg.solve_triangular(step.factor, half, lower=True, trans="T").T
        around = step.v + jnp.concatenate([away, -away]).reshape(-1, *step.v.shape)
        value, by_prior = jax.value_and_grad(fit)(prior, around)
        (by_hyper,) = by_factors(by_prior)
        log_prior, by_log_prior = jax.value_and_grad(spec.prior.log_density)(state.hyper)
        uphill, optimiser = _ADAM.update(jax.tree.map(jnp.add, by_hyper, by_log_prior), state.optimiser)
        hyper = optax.apply_updates(state.hyper, jax.tree.map(lambda u: pace * u, uphill))
        evidence = step.height - jnp.log(jnp.diag(step.factor)).sum() + log_prior
        return _State(step.v, step.factor, hyper, optimiser), (value + log_prior, evidence)

    return jax.lax.scan(one_round, state, (jax.random.split(key, len(pace)), pace))


@dataclasses.dataclass(frozen=True)
class Laplace:
    """The ``laplace`` engine, and what the samplers learn their hyperparameters and coordinates with."""

    rounds: int = 12
    """Steps on the hyperparameters, each after a Newton step on the mode; rounded up to whole pieces of four."""
    learning_rate: float = 0.2
    gradient_draws: int = 8
    """Draws (in antithetic pairs) for each estimate of the gradient."""
    draws: int = 400
    chains: int = 4
    """The draws are independent; they are handed out as that many chains so that every engine's look alike."""
    variational: Variational = Variational(rounds=10)
    """Finds the basin to climb in."""

    def __post_init__(self) -> None:
        if min(self.rounds, self.chains) < 1 or self.draws < 4:
            raise InvalidInput("laplace needs at least 1 round, 1 chain and 4 draws")
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
        nothing = jnp.eye(mode.size, dtype=jnp.float32)
        state = _State(mode, nothing, hyper, _ADAM.init(hyper))
        rounds = _PIECE * -(-self.rounds // _PIECE)
        pace = self.learning_rate * (0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * np.arange(rounds) / rounds)))
        # At the end the mode settles at the hyperparameters found.
        pieces = [*np.split(pace, rounds // _PIECE), np.zeros(_PIECE)]
        trace = []
        for number, (part, key_part) in enumerate(
            zip(pieces, jax.random.split(key_rounds, len(pieces)), strict=True), start=1
        ):
            settled = settled_types(state)
            state, (fits, evidence) = _ascend(spec, batch, settled, key_part, jnp.asarray(part), self.gradient_draws)
            trace.append(np.asarray(fits))
            report("learning the hyperparameters", 0.5 + 0.5 * number / len(pieces))
        transform = root_of_inverse(state.factor)
        return Learned(state.hyper, state.mode, transform, float(evidence[-1]), np.concatenate(trace[:-1]))

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
