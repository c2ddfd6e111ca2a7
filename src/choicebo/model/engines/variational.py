"""Automatic differentiation variational inference in whitened coordinates, with the hyperparameters learned beside it.

Kucukelbir et al. 2015. The approximation is Gaussian over the whitened values; the hyperparameters are points (with
their priors). Differentiating the Cholesky factor costs several times as much as everything else, so a round is a few
steps on the approximation with the factor kept, and one on the hyperparameters with the derivatives that these gathered.

The bound has bad local optima (latent functions that swap roles halfway through the inputs): several starting points
run a short course, and the one with the best bound goes on.
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
from choicebo.model.engines.base import Fit, Learned, ModelSpec, Reporter, Whitened, settled_types, whiten
from choicebo.model.engines.gaussian import Gaussian, gaussian_at
from choicebo.model.kernels import Hyperparameters

COVARIANCES = ("mean_field", "full_rank")


class Approximation(NamedTuple):
    """A Gaussian over the whitened values."""

    mean: jax.Array
    """(n_e, options)"""
    log_sd: jax.Array
    """(n_e, options)"""
    coupling: jax.Array | None = None
    """(n_e options, n_e options): the strictly lower part of the covariance's factor; ``None`` for mean-field."""

    def draw(self, noise: jax.Array) -> jax.Array:
        """Whitened values from standard normal ``noise: (n_e, options)``."""
        value = self.mean + jnp.exp(self.log_sd) * noise
        if self.coupling is None:
            return value
        return value + (jnp.tril(self.coupling, -1) @ noise.reshape(-1)).reshape(noise.shape)


class _State(NamedTuple):
    q: Approximation
    hyper: Hyperparameters
    q_optimiser: Any
    hyper_optimiser: Any


def evidence_bound(spec: ModelSpec, batch: Batch, prior: Whitened, q: Approximation, noise: jax.Array) -> jax.Array:
    """The evidence lower bound at fixed hyperparameters, estimated with ``noise: (draws, n_e, options)``."""
    latent = jax.vmap(lambda e: prior.latent(q.draw(e)))(noise)
    fit = jax.vmap(lambda f: inner_loop.log_likelihood(f, batch, spec.lapse))(latent).mean()
    return fit - _divergence(batch, q)


def _divergence(batch: Batch, q: Approximation) -> jax.Array:
    """Kullback-Leibler divergence of the approximation from the whitened prior."""
    second_moment = jnp.exp(2.0 * q.log_sd) + q.mean**2
    divergence = 0.5 * jnp.where(jnp.asarray(batch.option_used), second_moment - 1.0 - 2.0 * q.log_sd, 0.0).sum()
    if q.coupling is not None:
        divergence += 0.5 * (jnp.tril(q.coupling, -1) ** 2).sum()
    return divergence


def _antithetic(key: jax.Array, draws: int, shape: tuple[int, ...]) -> jax.Array:
    half = jax.random.normal(key, (draws // 2, *shape))
    return jnp.concatenate([half, -half])


def _optimisers(engine: Variational) -> tuple[Any, Any]:
    return (
        optax.adam(engine.learning_rate, b1=0.9, b2=0.99),
        optax.adam(engine.hyper_learning_rate, b1=0.8, b2=0.95),
    )


def _course(
    engine: Variational, spec: ModelSpec, batch: Batch, state: _State, key: jax.Array, pace: jax.Array
) -> tuple[_State, jax.Array]:
    """Rounds of steps on the approximation, each ended by a step on the hyperparameters; returns the bounds on the way.

    ``pace: (rounds,)`` scales the step sizes; it falls at the end so that the noise of the gradients averages out.
    """
    q_update, hyper_update = (optimiser.update for optimiser in _optimisers(engine))
    shape = state.q.mean.shape

    def loss(q: Approximation, prior: Whitened, noise: jax.Array) -> jax.Array:
        return -evidence_bound(spec, batch, prior, q, noise)

    def one_round(state: _State, inputs: tuple[jax.Array, jax.Array]) -> tuple[_State, jax.Array]:
        key, factor = inputs
        prior, by_factors = jax.vjp(lambda hyper: whiten(spec, batch, hyper), state.hyper)

        def step(carry: tuple[Approximation, Any, Whitened], key: jax.Array) -> tuple[Any, jax.Array]:
            q, q_optimiser, by_prior = carry
            noise = _antithetic(key, engine.gradient_draws, shape)
            value, (by_q, more) = jax.value_and_grad(loss, argnums=(0, 1))(q, prior, noise)
            updates, q_optimiser = q_update(by_q, q_optimiser)
            q = optax.apply_updates(q, jax.tree.map(lambda u: factor * u, updates))
            return (q, q_optimiser, jax.tree.map(jnp.add, by_prior, more)), value

        nothing = jax.tree.map(jnp.zeros_like, prior)
        (q, q_optimiser, by_prior), values = jax.lax.scan(
            step, (state.q, state.q_optimiser, nothing), jax.random.split(key, engine.steps_per_round)
        )
        # The factors' derivatives of the whole round go through the Cholesky decomposition once.
        (by_hyper,) = by_factors(jax.tree.map(lambda g: g / engine.steps_per_round, by_prior))
        log_prior, by_log_prior = jax.value_and_grad(spec.prior.log_density)(state.hyper)
        by_hyper = jax.tree.map(jnp.subtract, by_hyper, by_log_prior)
        updates, hyper_optimiser = hyper_update(by_hyper, state.hyper_optimiser)
        hyper = optax.apply_updates(state.hyper, jax.tree.map(lambda u: factor * u, updates))
        return _State(q, hyper, q_optimiser, hyper_optimiser), log_prior - values.mean()

    return jax.lax.scan(one_round, state, (jax.random.split(key, len(pace)), pace))


@jit("engine", "spec")
def _first_course(
    engine: Variational, spec: ModelSpec, batch: Batch, hyper: Hyperparameters, key: jax.Array
) -> tuple[_State, jax.Array]:
    """The short course of all starting points; ``hyper`` has a leading axis of starts."""
    starts = hyper.log_scale.shape[0]
    options = batch.X.shape[0]
    q_init, hyper_init = (optimiser.init for optimiser in _optimisers(engine))

    def one(inputs: tuple[jax.Array, Hyperparameters]) -> tuple[_State, jax.Array]:
        key, hyper = inputs
        key, key_mean = jax.random.split(key)
        # The zero function is a saddle (all latent dimensions alike): a small random mean breaks the symmetry.
        mean = engine.start_spread * jax.random.normal(key_mean, (spec.n_e, options))
        q = Approximation(mean, jnp.full(mean.shape, -0.5))
        state = _State(q, hyper, q_init(q), hyper_init(hyper))
        return _course(engine, spec, batch, state, key, jnp.ones(engine.start_rounds))

    # One after the other: vmapping would batch the Cholesky factors, see kernels.factors.
    found: tuple[_State, jax.Array] = jax.lax.map(one, (jax.random.split(key, starts), hyper))
    return found


@jit("engine", "spec")
def _next_course(
    engine: Variational, spec: ModelSpec, batch: Batch, state: _State, key: jax.Array, pace: jax.Array
) -> tuple[_State, jax.Array]:
    return _course(engine, spec, batch, state, key, pace)


@jit("spec")
def _surroundings(spec: ModelSpec, batch: Batch, mean: jax.Array, hyper: Hyperparameters) -> Gaussian:
    return gaussian_at(spec, batch, whiten(spec, batch, hyper), mean)[0]


@jit("spec", "draws")
def _finish(
    spec: ModelSpec, batch: Batch, q: Approximation, hyper: Hyperparameters, key: jax.Array, draws: int
) -> tuple[jax.Array, jax.Array]:
    """Whitened draws (draws, n_e, options) of the approximation, and its bound from as many."""
    noise = jax.random.normal(key, (draws, *q.mean.shape))
    bound = evidence_bound(spec, batch, whiten(spec, batch, hyper), q, noise)
    return jax.vmap(q.draw)(noise), bound + spec.prior.log_density(hyper)


@dataclasses.dataclass(frozen=True)
class Variational:
    """The ``vi`` engine."""

    covariance: str = "mean_field"
    """``"mean_field"`` or ``"full_rank"`` (the latter starts from the former's optimum)."""
    starts: int = 4
    """Starting points of the hyperparameters and the mean."""
    start_rounds: int = 10
    """Rounds of the short course that all starting points run."""
    rounds: int = 32
    """Rounds that the best one goes on for."""
    steps_per_round: int = 5
    """Steps on the approximation for each step on the hyperparameters."""
    gradient_draws: int = 4
    """Draws (in antithetic pairs) for each estimate of the gradient."""
    learning_rate: float = 0.1
    hyper_learning_rate: float = 0.4
    start_spread: float = 0.15
    draws: int = 400
    chains: int = 4
    """The draws are independent; they are handed out as that many chains so that every engine's look alike."""

    def __post_init__(self) -> None:
        if self.covariance not in COVARIANCES:
            raise InvalidInput(f"covariance must be one of {', '.join(COVARIANCES)}, got {self.covariance!r}")
        if self.starts < 1 or self.gradient_draws < 2 or self.gradient_draws % 2:
            raise InvalidInput("starts must be at least 1, and gradient_draws a positive even number")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "vi"

    def approximate(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> tuple[Approximation, Hyperparameters, np.ndarray]:
        """The best approximation found, its hyperparameters, and the course of the bound."""
        key_first, key_next, key_full = jax.random.split(key, 3)
        states, traces = _first_course(self, spec, batch, self._starting_points(spec, batch, start), key_first)
        report("learning the hyperparameters", 0.4)
        settled = np.asarray(traces)[:, -max(4, self.start_rounds // 4) :].mean(1)
        best = int(np.argmax(np.where(np.isfinite(settled), settled, -np.inf)))
        state = jax.tree.map(lambda leaf: leaf[best], states)
        trace = [np.asarray(traces)[best]]
        state, more = self._go_on(spec, batch, state, key_next, report.part(0.4, 0.9))
        trace.append(more)
        if self.covariance == "full_rank":
            size = state.q.mean.size
            q = state.q._replace(coupling=jnp.zeros((size, size)))
            q_init, hyper_init = (optimiser.init for optimiser in _optimisers(self))
            state = _State(q, state.hyper, q_init(q), hyper_init(state.hyper))
            state, more = self._go_on(spec, batch, state, key_full, report.part(0.9, 1.0))
            trace.append(more)
        return state.q, state.hyper, np.concatenate(trace)

    def learn(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Learned:
        """The paper's way for a sampler: hyperparameters at the best bound, curvature at the approximation's mean."""
        q, hyper, trace = self.approximate(key, spec, batch, start, report)
        gaussian = _surroundings(spec, batch, q.mean, hyper)
        bound = float(trace[-max(4, len(trace) // 8) :].mean())
        return Learned(hyper, gaussian.centre, gaussian.transform, bound, trace)

    def fit(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Fit:
        """Learn the hyperparameters and draw from the approximation."""
        key, key_draws = jax.random.split(key)
        q, hyper, trace = self.approximate(key, spec, batch, start, report)
        each = -(-self.draws // self.chains)
        whitened, bound = _finish(spec, batch, q, hyper, key_draws, each * self.chains)
        report("drawing", 1.0)
        return Fit(hyper, np.asarray(whitened).reshape(self.chains, each, *q.mean.shape), float(bound), trace)

    def _go_on(
        self, spec: ModelSpec, batch: Batch, state: _State, key: jax.Array, report: Reporter
    ) -> tuple[_State, np.ndarray]:
        """The long course, in pieces, so that it can report and be interrupted."""
        pieces = 4
        each = -(-self.rounds // pieces)
        pace = 0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * np.arange(each * pieces) / (each * pieces)))
        trace = []
        for piece, piece_key in enumerate(jax.random.split(key, pieces)):
            part = jnp.asarray(pace[piece * each : (piece + 1) * each])
            state, bounds = _next_course(self, spec, batch, settled_types(state), piece_key, part)
            trace.append(np.asarray(bounds))
            report("learning the hyperparameters", (piece + 1) / pieces)
        return state, np.concatenate(trace)

    def _starting_points(self, spec: ModelSpec, batch: Batch, start: Hyperparameters | None) -> Hyperparameters:
        """Hyperparameters of all starts: length-scales well below the prior's median, and ``start`` if given.

        Short length-scales let the mean fit the data first and be smoothed later; long ones freeze a wrong mode.
        """
        dim = batch.X.shape[1]
        centre = spec.prior.centre(dim, spec.n_e)
        shrink = np.resize(np.log([0.1, 0.2, 0.1, 0.4]), self.starts)
        lengthscale = centre.log_lengthscale[None] + shrink[:, None, None]
        scale = jnp.broadcast_to(centre.log_scale, (self.starts, spec.n_e))
        if start is not None:
            lengthscale = jnp.concatenate([start.log_lengthscale[None], lengthscale[:-1]])
            scale = jnp.concatenate([start.log_scale[None], scale[:-1]])
        return Hyperparameters(lengthscale, scale)
