"""Leave-one-out predictive accuracy: Pareto-smoothed importance sampling, and exact refits where that is unreliable.

A refit leaves one choice out of the likelihood and draws anew from the posterior of the latent values, from the mode that
all choices gave. The hyperparameters stay: a single choice hardly moves them, and learning them again would cost most of
a fit. All arrays keep their shapes, so that nothing is compiled twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from choicebo._compile import jit
from choicebo._runtime import one_blas_thread
from choicebo.choices import ChoiceData
from choicebo.model import inner_loop
from choicebo.model.batching import Batch, make_batch
from choicebo.model.engines.base import Learned, ModelSpec, Reporter, settled_types, whiten
from choicebo.model.engines.gaussian import Gaussian, climb, gaussian_at
from choicebo.model.engines.hamiltonian import Hamiltonian
from choicebo.model.kernels import Hyperparameters

Array = NDArray[np.float64]

KHAT_LIMIT = 0.7
"""Above this Pareto shape an importance-sampling estimate is not to be trusted (Vehtari, Gelman and Gabry 2017)."""
_NEWTON_STEPS = 8


class Loo(NamedTuple):
    """Leave-one-out predictive accuracy of the choices."""

    elpd: float
    """Expected log pointwise predictive density, summed over the choices."""
    se: float
    pointwise: Array
    """(choices,): log-probability of each choice given all others."""
    khat: Array
    """(choices,): Pareto shape of the importance weights; above 0.7 they are unreliable."""
    refitted: tuple[int, ...] = ()
    """Choices whose value comes from a fit without them, not from importance weights."""

    @property
    def unreliable(self) -> tuple[int, ...]:
        """Choices above the limit of k-hat that were not refitted."""
        return tuple(int(k) for k in np.flatnonzero(self.khat > KHAT_LIMIT) if k not in self.refitted)


def smoothed_weights(log_likelihood: Array, effective_draws: float) -> tuple[Array, Array]:
    """Weights that turn draws into draws without each choice: normalised logs (choices, draws), and k-hat per choice.

    ``log_likelihood: (chains, draws, choices)``; the weights have the draws of all chains one after the other.
    """
    from arviz_stats.base import array_stats

    flat = log_likelihood.reshape(-1, log_likelihood.shape[-1]).T
    relative = min(1.0, max(effective_draws, 1.0) / flat.shape[1])
    log_weights, khat = np.empty_like(flat), np.zeros(len(flat))
    for number, log_p in enumerate(flat):
        log_weights[number] = -log_p - np.logaddexp.reduce(-log_p)
        try:
            # arviz takes the log-likelihood here and negates it itself.
            with np.errstate(invalid="ignore", divide="ignore"):
                smoothed, shape = (np.asarray(part) for part in array_stats.psislw(log_p, r_eff=relative))
        except ValueError:
            # All weights of the tail are equal: every draw explains the choice alike, or the lapse rate bounds the weights.
            continue
        khat[number] = float(shape) if np.isfinite(shape) else np.inf
        if np.isfinite(smoothed).all():
            log_weights[number] = smoothed
    return log_weights, khat


def summarised(pointwise: Array, khat: Array, refitted: Iterable[int] = ()) -> Loo:
    """The sum over the choices and its standard error."""
    choices = len(pointwise)
    se = float(np.sqrt(choices * pointwise.var(ddof=1))) if choices > 1 else float("nan")
    return Loo(float(pointwise.sum()), se, pointwise, khat, tuple(refitted))


@jit("steps", "spec")
def _surroundings(
    steps: int, spec: ModelSpec, batch: Batch, hyper: Hyperparameters, v: jax.Array
) -> tuple[Gaussian, jax.Array]:
    prior = whiten(spec, batch, hyper)
    return gaussian_at(spec, batch, prior, climb(spec, batch, prior, v, steps))


@jit("spec")
def _log_probabilities(
    spec: ModelSpec, batch: Batch, hyper: Hyperparameters, whitened: jax.Array, number: jax.Array
) -> jax.Array:
    """Log-likelihood of one choice under each of the whitened draws."""
    prior = whiten(spec, batch, hyper)

    def one(v: jax.Array) -> jax.Array:
        return inner_loop.choice_log_likelihoods(prior.latent(v), batch, spec.lapse, nodes=16)[number]

    found: jax.Array = jax.lax.map(one, whitened, batch_size=32)
    return found


@dataclasses.dataclass(frozen=True)
class _Known:
    """A learner with nothing to learn. Compiled code does not depend on it, hence all of them are equal."""

    learned: Learned = dataclasses.field(compare=False)

    def learn(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Learned:
        """What is known already."""
        return self.learned


class Refitter:
    """Fits without one choice, at the hyperparameters of the fit with all of them."""

    def __init__(self, data: ChoiceData, likelihood: str, spec: ModelSpec, hyper: Hyperparameters, v: Array) -> None:
        """``v: (n_e, options)``, whitened values near the mode to climb from."""
        padded, _ = make_batch(data, likelihood)
        self._batch: Batch = jax.tree.map(jnp.asarray, padded)
        self._spec = spec
        self._hyper: Hyperparameters = settled_types(hyper)
        start = np.zeros((v.shape[0], self._batch.X.shape[0]))
        start[:, : v.shape[1]] = v
        self._start = jnp.asarray(start)

    def log_probability(self, number: int, seed: int = 0) -> float:
        """Log-probability of a choice given all others, by Hamiltonian Monte Carlo without it."""
        spec, hyper = self._spec, self._hyper
        rest = without_choice(self._batch, number)
        with one_blas_thread():
            gaussian, evidence = _surroundings(_NEWTON_STEPS, spec, rest, hyper, self._start)
            learned = Learned(hyper, gaussian.centre, gaussian.transform, float(evidence), np.zeros(1))
            key = jax.random.fold_in(jax.random.key(seed), number)
            fit = Hamiltonian(learner=_Known(learned)).fit(key, spec, rest, None, Reporter())
            draws = jnp.asarray(fit.whitened.reshape(-1, *fit.whitened.shape[2:]))
            log_p = np.asarray(
                _log_probabilities(spec, self._batch, hyper, draws, jnp.asarray(number)), dtype=np.float64
            )
        return float(np.logaddexp.reduce(log_p) - np.log(len(log_p)))


def without_choice(batch: Batch, number: int) -> Batch:
    """The batch with one choice taken out of the likelihood, in arrays of the same shapes."""

    def muted(events: Any) -> Any:
        return events._replace(weight=jnp.where(events.choice == number, 0.0, events.weight))

    return batch._replace(
        rejections=tuple(muted(group) for group in batch.rejections),
        coexistences=muted(batch.coexistences),
        contests=None if batch.contests is None else muted(batch.contests),
        choice_used=batch.choice_used.at[number].set(False),
    )
