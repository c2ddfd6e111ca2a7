"""Elliptical slice sampling (blackjax) on the whitened prior, as in the paper; no gradients, no tuning.

Murray, Adams and MacKay 2010. Kept because it is the paper's sampler and an independent check on ``hmc``: it needs
many more transitions for an effective draw.
"""

from __future__ import annotations

import dataclasses

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from blackjax.mcmc.elliptical_slice import EllipSliceState

from choicebo._compile import jit
from choicebo.errors import InvalidInput
from choicebo.model import inner_loop
from choicebo.model.batching import Batch
from choicebo.model.engines.base import Fit, Learner, ModelSpec, Reporter, Whitened, whiten
from choicebo.model.engines.laplace import Laplace
from choicebo.model.kernels import Hyperparameters


@jit("engine", "spec")
def _run(
    engine: Elliptical,
    spec: ModelSpec,
    batch: Batch,
    prior: Whitened,
    states: EllipSliceState,
    key: jax.Array,
) -> tuple[EllipSliceState, jax.Array]:
    """One draw from each chain, ``thin`` transitions after the last; returns whitened values (chains, n_e, options)."""
    shape = prior.factors.shape[:2]
    size = shape[0] * shape[1]
    kernel = blackjax.elliptical_slice.build_kernel(jnp.ones(size), jnp.zeros(size))

    def density(v: jax.Array) -> jax.Array:
        value = inner_loop.log_likelihood(prior.latent(v.reshape(shape)), batch, spec.lapse)
        # blackjax compares with <=, which a NaN passes: it would be accepted.
        return jnp.where(jnp.isnan(value), -jnp.inf, value)

    def one(key: jax.Array, state: EllipSliceState) -> EllipSliceState:
        state = state._replace(logdensity=density(state.position))

        def step(state: EllipSliceState, key: jax.Array) -> tuple[EllipSliceState, None]:
            return kernel(key, state, density)[0], None

        return jax.lax.scan(step, state, jax.random.split(key, engine.thin))[0]

    states = jax.vmap(one)(jax.random.split(key, engine.chains), states)
    return states, states.position.reshape(engine.chains, *shape)


@dataclasses.dataclass(frozen=True)
class Elliptical:
    """The ``ess`` engine."""

    chains: int = 8
    draws: int = 50
    """Per chain, each ``thin`` transitions after the last."""
    warm_up: int = 20
    """Thrown away at the start of each chain, in units of ``thin`` transitions."""
    thin: int = 10
    learner: Learner = Laplace()
    """Finds the hyperparameters and the starting points; ``Variational()`` is the paper's."""

    def __post_init__(self) -> None:
        if min(self.chains, self.thin) < 1 or self.draws < 4 or self.warm_up < 0:
            raise InvalidInput("ess needs at least 1 chain, thin of at least 1, 4 draws and no negative warm-up")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "ess"

    def fit(
        self, key: jax.Array, spec: ModelSpec, batch: Batch, start: Hyperparameters | None, report: Reporter
    ) -> Fit:
        """Learn the hyperparameters, then draw."""
        key_learn, key_start, key_run = jax.random.split(key, 3)
        learned = self.learner.learn(key_learn, spec, batch, start, report.part(0.0, 0.3))
        prior = whiten(spec, batch, learned.hyper)
        noise = jax.random.normal(key_start, (self.chains, learned.centre.size))
        position = learned.centre.reshape(-1) + noise @ learned.transform.T
        states = EllipSliceState(position, jnp.zeros(self.chains))
        found = []
        total = self.warm_up + self.draws
        for done, step_key in enumerate(jax.random.split(key_run, total)):
            states, whitened = _run(self, spec, batch, prior, states, step_key)
            if done >= self.warm_up:
                found.append(np.asarray(whitened))
            report("drawing", 0.3 + 0.7 * (done + 1) / total)
        return Fit(learned.hyper, np.stack(found, axis=1), learned.log_evidence, learned.trace)
