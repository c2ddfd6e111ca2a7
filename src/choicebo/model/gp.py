"""``ChoiceGP``: settings of the model, and ``fit``, which turns choices into a :class:`Posterior`."""

from __future__ import annotations

import dataclasses
import time

import jax
import jax.numpy as jnp
import numpy as np

from choicebo._compile import jit
from choicebo._runtime import one_blas_thread
from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInput, NumericalError
from choicebo.model import inner_loop
from choicebo.model.batching import Batch, make_batch
from choicebo.model.diagnostics import diagnose
from choicebo.model.engines import Engine, ModelSpec, Reporter, engine_named
from choicebo.model.engines.base import ProgressCallback, whiten
from choicebo.model.kernels import KERNELS, Hyperparameters, HyperPrior
from choicebo.model.likelihood import check_likelihood_settings
from choicebo.model.posterior import Posterior


@jit("spec")
def _evaluate(
    spec: ModelSpec, batch: Batch, hyper: Hyperparameters, whitened: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Latent values (draws, n_e, options) and log-likelihoods (draws, choices) of whitened draws."""
    prior = whiten(spec, batch, hyper)

    def one(v: jax.Array) -> tuple[jax.Array, jax.Array]:
        latent = prior.latent(v)
        return latent, inner_loop.choice_log_likelihoods(latent, batch, spec.lapse, nodes=10)

    found: tuple[jax.Array, jax.Array] = jax.lax.map(one, whitened, batch_size=32)
    return found


@dataclasses.dataclass(frozen=True)
class ChoiceGP:
    """A Gaussian-process model of a choice function.

    >>> import choicebo as cb
    >>> cb.ChoiceGP(latent_dim=1, engine="vi").latent_dim
    1
    """

    latent_dim: int = 2
    """Number of hidden objectives, ``n_e``."""
    kernel: str = "matern32"
    """``"matern12"``, ``"matern32"``, ``"matern52"`` or ``"rbf"``."""
    engine: str | Engine = "hmc"
    """``"hmc"``, ``"ess"``, ``"vi"``, ``"laplace"``, or an engine object with settings of its own."""
    likelihood: str = "choice"
    """``"choice"`` (Theorem 1) or ``"batch_preference"`` (one winner, one latent dimension, shared noise)."""
    lapse: float = 0.01
    """Probability that an answer is a slip: any non-empty subset."""
    nugget: float = 0.01
    """Share of each latent function's variance that is an option's own and no matter of its inputs."""
    prior: HyperPrior = HyperPrior()
    correlated: bool = True
    """Whether the latent functions may be correlated, as heating and cooling loads are; the paper's are independent."""

    def __post_init__(self) -> None:
        if (
            isinstance(self.latent_dim, bool)
            or not isinstance(self.latent_dim, int | np.integer)
            or self.latent_dim < 1
        ):
            raise InvalidInput(f"latent_dim must be a whole number of at least 1, got {self.latent_dim!r}")
        if self.kernel not in KERNELS:
            raise InvalidInput(f"kernel must be one of {', '.join(map(repr, KERNELS))}, got {self.kernel!r}")
        engine_named(self.engine)
        if not 0.0 <= self.nugget < 1.0:
            raise InvalidInput(f"nugget must be at least 0 and below 1, got {self.nugget!r}")
        if not isinstance(self.correlated, bool):
            raise InvalidInput(f"correlated must be True or False, got {self.correlated!r}")
        check_likelihood_settings((), self.latent_dim, 1.0, self.likelihood, self.lapse)

    @property
    def spec(self) -> ModelSpec:
        """The model apart from its data and engine."""
        return ModelSpec(
            int(self.latent_dim), self.kernel, float(self.lapse), float(self.nugget), self.prior, self.correlated
        )

    def fit(
        self,
        data: ChoiceData,
        seed: int = 0,
        *,
        progress: ProgressCallback | None = None,
        start: Hyperparameters | None = None,
    ) -> Posterior:
        """Learn from ``data``; the same data and seed give the same draws.

        ``progress(stage, fraction)`` is called on the way, and interrupts the fit by returning ``False``; ``start`` (for
        example ``earlier.hyper``) is tried as one of the starting points of the hyperparameters.
        """
        if not isinstance(data, ChoiceData):
            raise InvalidInput(f"fit takes a ChoiceData, got {type(data).__name__}")
        if len(data.choices) == 0:
            raise InvalidInput("there are no choices to learn from; add at least one Choice to the ChoiceData")
        check_likelihood_settings(data.choices, self.latent_dim, 1.0, self.likelihood, self.lapse)
        engine, spec, began = engine_named(self.engine), self.spec, time.perf_counter()
        if start is not None and not self.correlated:
            start = start._replace(coupling=np.zeros_like(start.coupling))
        padded, rows = make_batch(data, self.likelihood)
        batch: Batch = jax.tree.map(jnp.asarray, padded)
        with one_blas_thread():
            found = engine.fit(jax.random.key(seed), spec, batch, start, Reporter(progress))
            chains, draws = found.whitened.shape[:2]
            flat = jnp.asarray(found.whitened.reshape(chains * draws, *found.whitened.shape[2:]))
            latent, log_likelihood = (np.asarray(a) for a in _evaluate(spec, batch, found.hyper, flat))
        if not np.isfinite(log_likelihood).all():
            raise NumericalError(
                f"engine {engine.name!r} produced draws that are not finite; try another seed or engine='vi'"
            )
        m = len(rows)
        log_likelihood = log_likelihood[:, : len(data.choices)].reshape(chains, draws, -1).astype(np.float64)
        diagnostics = diagnose(
            engine.name,
            latent.reshape(chains, draws, *latent.shape[1:])[..., :m],
            log_likelihood.sum(-1),
            found,
            time.perf_counter() - began,
        )
        diagnostics.warn()
        return Posterior(
            data=data,
            spec=spec,
            hyper=jax.tree.map(np.asarray, found.hyper),
            options=np.asarray(data.X[rows]),
            whitened=found.whitened[..., :m],
            log_likelihood=log_likelihood,
            diagnostics=diagnostics,
            likelihood=self.likelihood,
        )
