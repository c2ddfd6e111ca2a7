"""What every engine is given and what it returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from choicebo.errors import FitInterrupted
from choicebo.model import inner_loop, kernels
from choicebo.model.batching import Batch
from choicebo.model.kernels import Hyperparameters, HyperPrior

ProgressCallback = Callable[[str, float], bool | None]
"""Called as ``progress(stage, fraction)`` while a fit runs; returning ``False`` interrupts it."""


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """The model apart from its data: everything that compiled code depends on besides array shapes."""

    n_e: int
    kernel: str = "matern32"
    lapse: float = 0.01
    nugget: float = 0.01
    prior: HyperPrior = HyperPrior()
    correlated: bool = True


class Whitened(NamedTuple):
    """The prior at fixed hyperparameters: ``f = mixing @ parts``, ``parts_d = factors[d] @ v_d`` with ``v`` standard normal."""

    factors: jax.Array
    """(n_e, options, options), of unit variance."""
    mixing: jax.Array
    """(n_e, n_e), output scales included."""

    def latent(self, v: jax.Array) -> jax.Array:
        """Latent values (n_e, options) of whitened ones."""
        return self.mixing @ jnp.einsum("dmn,dn->dm", self.factors, v)


def whiten(spec: ModelSpec, batch: Batch, hyper: Hyperparameters) -> Whitened:
    """The whitening factors of the prior at ``hyper``."""
    return _whiten(spec, batch, hyper, None, jnp.float64)


def whitener(spec: ModelSpec, batch: Batch) -> Callable[[Hyperparameters], Whitened]:
    """:func:`whiten` for one of many hyperparameters on the way to better ones: in single precision, and far cheaper."""
    squared = kernels.squared_differences(jnp.asarray(batch.X))
    dtype = jnp.float32 if len(batch.X) <= _SAFE_CONDITION * spec.nugget else jnp.float64

    def at(hyper: Hyperparameters) -> Whitened:
        found: Whitened = single(_whiten(spec, batch, hyper, squared, dtype))
        return found

    return at


_SAFE_CONDITION = 1e5
"""A nugget bounds the condition of the options' covariance; beyond this its factor in single precision may not exist."""


def _whiten(spec: ModelSpec, batch: Batch, hyper: Hyperparameters, squared: jax.Array | None, dtype: Any) -> Whitened:
    X, used = jnp.asarray(batch.X), jnp.asarray(batch.option_used)
    unit = kernels.factors(spec.kernel, spec.nugget, X, used, hyper.log_lengthscale, squared, dtype)
    coupling = jnp.asarray(hyper.coupling) if spec.correlated else jnp.zeros((spec.n_e, spec.n_e))
    return Whitened(unit, kernels.mixing(hyper._replace(coupling=coupling)))


def log_posterior(spec: ModelSpec, batch: Batch, prior: Whitened, v: jax.Array) -> jax.Array:
    """Log-density of whitened values ``v: (n_e, options)`` given the choices, up to a constant; flat along padding."""
    log_prior = -0.5 * jnp.where(jnp.asarray(batch.option_used), v * v, 0.0).sum()
    return inner_loop.log_likelihood(prior.latent(v), batch, spec.lapse) + log_prior


class Fit(NamedTuple):
    """What an engine found."""

    hyper: Hyperparameters
    whitened: NDArray[np.float64]
    """(chains, draws, n_e, options): draws of the whitened values; see :class:`Whitened`."""
    log_evidence: float
    """A lower bound (or approximation) of the log marginal likelihood: comparable between fits to the same data."""
    evidence_trace: NDArray[np.float64]
    """Its course while the hyperparameters were learned."""
    divergences: int = 0
    acceptance: float = 1.0


class Learned(NamedTuple):
    """Hyperparameters, and a Gaussian over the whitened values at them."""

    hyper: Hyperparameters
    centre: jax.Array
    """(n_e, options)"""
    transform: jax.Array
    """(n_e options, n_e options): a square root of the covariance."""
    log_evidence: float
    trace: NDArray[np.float64]


class Learner(Protocol):
    """What finds the hyperparameters for a sampler."""

    def learn(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Learned:
        """Hyperparameters and the Gaussian to sample around."""
        ...


def single(tree: Any) -> Any:
    """The same arrays in single precision: the likelihood has no more, and products with them cost half."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), tree)


def settled_types(tree: Any) -> Any:
    """The same arrays without JAX's weak types, which differ between programs and would cause a second compilation."""
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)), tree)


class Engine(Protocol):
    """One way to the posterior: settings in the object, ``(key, spec, batch)`` in, :class:`Fit` out."""

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        ...

    def fit(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Fit:
        """Learn the hyperparameters and draw from the posterior; ``start`` is tried as one of the starting points."""
        ...


class Reporter:
    """Passes progress on to the caller and stops the fit when the caller says so."""

    def __init__(self, callback: ProgressCallback | None = None, low: float = 0.0, high: float = 1.0) -> None:
        self._callback, self._low, self._high = callback, low, high

    def __call__(self, stage: str, fraction: float) -> None:
        """Report that ``fraction`` of this reporter's share is done."""
        if self._callback is None:
            return
        if self._callback(stage, self._low + (self._high - self._low) * fraction) is False:
            raise FitInterrupted(f"the fit was interrupted by its progress callback during {stage!r}")

    def part(self, low: float, high: float) -> Reporter:
        """A reporter for a part of this one's share."""
        width = self._high - self._low
        return Reporter(self._callback, self._low + width * low, self._low + width * high)
