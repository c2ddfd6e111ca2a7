"""Automatic differentiation variational inference in whitened coordinates, with the hyperparameters learned beside it.

Kucukelbir et al. 2015. The approximation is Gaussian over the whitened values; the hyperparameters are points (with
their priors). Differentiating the Cholesky factor costs several times as much as everything else, so a round is a few
steps on the approximation with the factor kept, and one on the hyperparameters with the derivatives that these gathered.

The bound has bad local optima (latent functions that swap roles halfway through the inputs): several starting points
run a short course, the few with the best bounds go on, and the best of these is kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from choicebo._compile import jit
from choicebo._runtime import in_parallel
from choicebo.errors import InvalidInput
from choicebo.model import inner_loop
from choicebo.model.batching import Batch
from choicebo.model.engines.base import Fit, Learned, ModelSpec, Reporter, Whitened, settled_types, whiten, whitener
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


class _Pace(NamedTuple):
    """Step sizes of some rounds."""

    q: jax.Array
    """(rounds,)"""
    hyper: jax.Array
    """(rounds,)"""


_PIECE = 5
"""Rounds of one compiled program: between them a fit can report and be interrupted."""


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
    half = jax.random.normal(key, (draws // 2, *shape), dtype=jnp.float32)
    return jnp.concatenate([half, -half])


_ADAM = optax.scale_by_adam(b1=0.9, b2=0.99)
_HYPER_ADAM = optax.scale_by_adam(b1=0.8, b2=0.95)


def _begin(q: Approximation, hyper: Hyperparameters) -> _State:
    return _State(q, hyper, _ADAM.init(q), _HYPER_ADAM.init(hyper))


@jit("spec", "steps", "draws")
def _course(
    spec: ModelSpec, batch: Batch, state: _State, key: jax.Array, pace: _Pace, steps: int, draws: int
) -> tuple[_State, jax.Array]:
    """Rounds of steps on the approximation, each ended by a step on the hyperparameters; returns the bounds on the way.

    A step's gradient is an average over ``draws``. The same program serves all starting points and the long course.
    """
    shape = state.q.mean.shape
    prior_at = whitener(spec, batch)

    def loss(q: Approximation, prior: Whitened, noise: jax.Array) -> jax.Array:
        return -evidence_bound(spec, batch, prior, q, noise)

    def one_round(state: _State, inputs: tuple[jax.Array, _Pace]) -> tuple[_State, jax.Array]:
        key, pace = inputs
        prior, by_factors = jax.vjp(prior_at, state.hyper)

        def step(carry: tuple[Approximation, Any, Whitened], key: jax.Array) -> tuple[Any, jax.Array]:
            q, q_optimiser, by_prior = carry
            noise = _antithetic(key, draws, shape)
            value, (by_q, more) = jax.value_and_grad(loss, argnums=(0, 1))(q, prior, noise)
            updates, q_optimiser = _ADAM.update(by_q, q_optimiser)
            q = optax.apply_updates(q, jax.tree.map(lambda u: -pace.q * u, updates))
            return (q, q_optimiser, jax.tree.map(jnp.add, by_prior, more)), value

        nothing = jax.tree.map(jnp.zeros_like, prior)
        (q, q_optimiser, by_prior), values = jax.lax.scan(
            step, (state.q, state.q_optimiser, nothing), jax.random.split(key, steps)
        )
        # The factors' derivatives of the whole round go through the Cholesky decomposition once.
        (by_hyper,) = by_factors(jax.tree.map(lambda g: g / steps, by_prior))
        log_prior, by_log_prior = jax.value_and_grad(spec.prior.log_density)(state.hyper)
        by_hyper = jax.tree.map(jnp.subtract, by_hyper, by_log_prior)
        updates, hyper_optimiser = _HYPER_ADAM.update(by_hyper, state.hyper_optimiser)
        hyper = optax.apply_updates(state.hyper, jax.tree.map(lambda u: -pace.hyper * u, updates))
        return _State(q, hyper, q_optimiser, hyper_optimiser), log_prior - values.mean()

    return jax.lax.scan(one_round, state, (jax.random.split(key, len(pace.q)), pace))


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
    """``"mean_field"`` or ``"full_rank"`` (the latter starts from the former's optimum, for twice the rounds and draws)."""
    starts: int = 8
    """Starting points of the hyperparameters and the mean."""
    start_rounds: int = 5
    """Rounds of the short course that all starting points run."""
    rounds: int = 30
    """Rounds of the long course. Both are rounded up to whole pieces of five."""
    finalists: int = 2
    """So many of the best then run the long course; the one with the best bound at its end counts."""
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
        if min(self.starts, self.finalists) < 1 or self.gradient_draws < 2 or self.gradient_draws % 2:
            raise InvalidInput("starts and finalists must be at least 1, and gradient_draws a positive even number")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "vi"

    def approximate(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> tuple[Approximation, Hyperparameters, np.ndarray]:
        """The best approximation found, its hyperparameters, and the course of the bound."""
        key_first, key_next, key_full = jax.random.split(key, 3)
        points = self._starting_points(spec, batch.X.shape[1], start)
        start_keys = list(jax.random.split(key_first, self.starts))
        blank = _begin(self._first_guess(spec, batch, start_keys[0]), points[0])
        states = [
            blank._replace(q=self._first_guess(spec, batch, start_key), hyper=point)
            for point, start_key in zip(points, start_keys, strict=True)
        ]
        short = np.ones(_whole(self.start_rounds))
        begun = self._run(spec, batch, states, start_keys, short, report.part(0.0, 0.4))
        # The bound of a short course does not order them well enough to trust the first alone.
        leading = sorted(begun, key=_settled, reverse=True)[: self.finalists]
        states, same_key = [state for state, _ in leading], [key_next] * len(leading)
        further = self._run(spec, batch, states, same_key, _falling(self.rounds), report.part(0.4, 0.9))
        ended = [
            (state, np.concatenate([trace, more])) for (_, trace), (state, more) in zip(leading, further, strict=True)
        ]
        state, trace = max(ended, key=_settled)
        traces = [trace]
        if self.covariance == "full_rank":
            size = state.q.mean.size
            q = state.q._replace(coupling=jnp.zeros((size, size), dtype=jnp.float32))
            state = _begin(q, state.hyper)
            # So many more parameters need better gradients and more of them.
            patient = dataclasses.replace(self, gradient_draws=2 * self.gradient_draws)
            pace = _falling(2 * self.rounds)
            [(state, more)] = patient._run(spec, batch, [state], [key_full], pace, report.part(0.9, 1.0))
            traces.append(more)
        return state.q, state.hyper, np.concatenate(traces)

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

    def _run(
        self,
        spec: ModelSpec,
        batch: Batch,
        states: list[_State],
        keys: list[jax.Array],
        pace: np.ndarray,
        report: Reporter,
    ) -> list[tuple[_State, np.ndarray]]:
        """The course of each state, all at once and in pieces; returns where they ended, and the bounds on the way."""
        pieces = len(pace) // _PIECE
        piece_keys = [jax.random.split(key, pieces) for key in keys]
        traces: list[list[np.ndarray]] = [[] for _ in states]

        def advance(given: tuple[_State, jax.Array, _Pace]) -> tuple[_State, np.ndarray]:
            state, key, pace = given
            state, bounds = _course(
                spec, batch, settled_types(state), key, pace, self.steps_per_round, self.gradient_draws
            )
            return state, np.asarray(bounds)

        for piece in range(pieces):
            part = jnp.asarray(pace[piece * _PIECE : (piece + 1) * _PIECE])
            sizes = _Pace(self.learning_rate * part, self.hyper_learning_rate * part)
            given = [(state, keys[piece], sizes) for state, keys in zip(states, piece_keys, strict=True)]
            states = []
            with contextlib.closing(in_parallel(advance, given)) as results:  # an interruption ends the others, too
                for number, (state, bounds) in enumerate(results):
                    states.append(state)
                    traces[number].append(bounds)
                    report("learning the hyperparameters", (piece + (number + 1) / len(given)) / pieces)
        return [(state, np.concatenate(trace)) for state, trace in zip(states, traces, strict=True)]

    def _first_guess(self, spec: ModelSpec, batch: Batch, key: jax.Array) -> Approximation:
        # The zero function is a saddle (all latent dimensions alike): a small random mean breaks the symmetry.
        noise = jax.random.normal(jax.random.fold_in(key, 1), (spec.n_e, batch.X.shape[0]), dtype=jnp.float32)
        mean = self.start_spread * np.asarray(noise)
        return Approximation(jnp.asarray(mean), jnp.asarray(np.full_like(mean, -0.5)))

    def _starting_points(self, spec: ModelSpec, dim: int, start: Hyperparameters | None) -> list[Hyperparameters]:
        """Hyperparameters of all starts: length-scales well below the prior's median, and ``start`` if given.

        Short length-scales let the mean fit the data first and be smoothed later; long ones freeze a wrong mode.
        """
        centre = spec.prior.centre(dim, spec.n_e)
        points = [
            centre._replace(log_lengthscale=centre.log_lengthscale + shrink)
            for shrink in np.resize(np.log([0.2, 0.4, 0.1, 0.4]), self.starts)
        ]
        return points if start is None else [start, *points[:-1]]


def _whole(rounds: int) -> int:
    """The number of rounds as whole pieces."""
    return _PIECE * -(-rounds // _PIECE)


def _falling(rounds: int) -> np.ndarray:
    """Paces that fall at the end, so that the noise of the gradients averages out."""
    whole = _whole(rounds)
    return np.asarray(0.05 + 0.95 * 0.5 * (1.0 + np.cos(np.pi * np.arange(whole) / whole)))


def _settled(course: tuple[_State, np.ndarray]) -> float:
    """The bound that a course ended with; the worst possible if it failed."""
    bound = float(course[1][-4:].mean())
    return bound if np.isfinite(bound) else -np.inf
