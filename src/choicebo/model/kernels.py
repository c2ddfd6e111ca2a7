"""Covariance functions of unit variance with one length-scale per input, and the priors of their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from choicebo._runtime import configure_jax
from choicebo.errors import NumericalError

configure_jax()

JITTER = 1e-6
"""Added to the diagonal of a unit-variance covariance: far above rounding, far below anything a choice can show."""


class Hyperparameters(NamedTuple):
    """What the covariance functions depend on; one row per latent dimension. Arrays of JAX or of NumPy."""

    log_lengthscale: Any
    """(n_e, d)"""
    log_scale: Any
    """(n_e,): standard deviation of each latent function, in units of the noise."""
    coupling: Any
    """(n_e, n_e): what each latent function takes from the parts of the earlier ones; only the strictly lower triangle counts."""


def mixing(hyper: Hyperparameters) -> Any:
    """(n_e, n_e): the latent functions as combinations of independent parts of unit variance, ``f = mixing @ parts``.

    Row ``d`` has the norm ``exp(log_scale[d])``, whatever the coupling. NumPy arrays give a NumPy array.

    >>> one = Hyperparameters(np.zeros((2, 1)), np.log([1.0, 5.0]), np.array([[0.0, 0.0], [0.75, 0.0]]))
    >>> mixing(one).round(6).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    numpy = jnp if isinstance(hyper.coupling, jax.Array) else np
    rows = numpy.eye(len(hyper.coupling)) + numpy.tril(hyper.coupling, -1)
    return (numpy.exp(hyper.log_scale) / numpy.sqrt((rows * rows).sum(1)))[:, None] * rows


class HyperPrior(NamedTuple):
    """Independent log-normal priors; ``docs/explanation/priors.md`` says why these."""

    lengthscale_median: float = 0.3
    """For one input; it grows with the square root of their number, as distances in the cube do."""
    lengthscale_spread: float = 1.0
    scale_median: float = 3.0
    scale_spread: float = 0.3
    independence: float = 5.0
    """How strongly latent functions are taken for uncorrelated; at 1.5 all correlations of two are equally probable."""

    def centre(self, dim: int, n_e: int) -> Hyperparameters:
        """The prior's medians for ``dim`` inputs and ``n_e`` latent dimensions."""
        log_lengthscale = math.log(self.lengthscale_median) + 0.5 * math.log(dim)
        return Hyperparameters(
            jnp.full((n_e, dim), log_lengthscale), jnp.full((n_e,), math.log(self.scale_median)), jnp.zeros((n_e, n_e))
        )

    def log_density(self, hyper: Hyperparameters) -> jax.Array:
        """Log-density up to a constant, in the logarithms of the parameters."""
        n_e, dim = hyper.log_lengthscale.shape
        centre = self.centre(dim, n_e)
        lengthscale = ((hyper.log_lengthscale - centre.log_lengthscale) / self.lengthscale_spread) ** 2
        scale = ((hyper.log_scale - centre.log_scale) / self.scale_spread) ** 2
        coupling = jnp.log1p((jnp.tril(hyper.coupling, -1) ** 2).sum(1))
        total: jax.Array = -0.5 * (lengthscale.sum() + scale.sum()) - self.independence * coupling.sum()
        return total


def _matern12(r: Any, exp: Any) -> Any:
    return exp(-r)


def _matern32(r: Any, exp: Any) -> Any:
    s = math.sqrt(3.0) * r
    return (1.0 + s) * exp(-s)


def _matern52(r: Any, exp: Any) -> Any:
    s = math.sqrt(5.0) * r
    return (1.0 + s + s * s / 3.0) * exp(-s)


def _rbf(r: Any, exp: Any) -> Any:
    return exp(-0.5 * r * r)


KERNELS: dict[str, Callable[[Any, Any], Any]] = {
    "matern12": _matern12,
    "matern32": _matern32,
    "matern52": _matern52,
    "rbf": _rbf,
}


def covariance(kernel: str, A: Any, B: Any, lengthscale: Any) -> Any:
    """Covariance of unit variance between the rows of ``A: (a, d)`` and ``B: (b, d)``; ``lengthscale: (d,)``.

    JAX arrays give a JAX array, to be differentiated and compiled; NumPy arrays a NumPy array, with nothing to compile.

    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0]])
    >>> covariance("rbf", x, x, np.array([1.0])).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """
    if isinstance(A, jax.Array):
        difference = (A[:, None] - B[None]) / lengthscale
        return _of_squares(kernel, (difference * difference).sum(-1))
    squared = np.zeros((len(A), len(B)))
    for d, l in enumerate(np.asarray(lengthscale)):
        squared += ((A[:, d, None] - B[None, :, d]) / l) ** 2
    return KERNELS[kernel](np.sqrt(squared), np.exp)


def _of_squares(kernel: str, squared: jax.Array) -> Any:
    # The offset keeps the derivative of the root finite where two options coincide.
    return KERNELS[kernel](jnp.sqrt(squared + 1e-20), jnp.exp)


_MOST_SQUARES = 1 << 24
"""Numbers that :func:`squared_differences` may hold: 128 MB."""


def squared_differences(X: jax.Array) -> jax.Array | None:
    """Squared differences of all rows of ``X: (options, d)`` along each input, (d, options, options); None if too many.

    They are all that the covariance functions need of the options, whatever the length-scales: found once, a covariance
    and its derivatives cost a fraction of what they do from the options.
    """
    if X.shape[1] * X.shape[0] ** 2 > _MOST_SQUARES:
        return None
    difference = X.T[:, :, None] - X.T[:, None, :]
    return difference * difference


def option_covariance(
    kernel: str,
    nugget: float,
    A: NDArray[np.float64],
    B: NDArray[np.float64],
    lengthscale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Covariance of unit variance between options: the share ``nugget`` of it is each option's own, unrelated to its inputs.

    >>> x = np.array([[0.0], [1.0]])
    >>> option_covariance("rbf", 0.1, x, x, np.array([1.0])).round(4).tolist()
    [[1.0, 0.5459], [0.5459, 1.0]]
    """
    smooth: NDArray[np.float64] = (1.0 - nugget) * covariance(kernel, A, B, lengthscale)
    if nugget > 0.0:
        smooth[(A[:, None] == B[None]).all(-1)] += nugget
    return smooth


def factors(
    kernel: str,
    nugget: float,
    X: jax.Array,
    used: jax.Array,
    log_lengthscale: jax.Array,
    squared: jax.Array | None = None,
    dtype: Any = jnp.float64,
) -> jax.Array:
    """Cholesky factor of the covariance of distinct options ``X: (options, d)``, one per latent dimension.

    Unused rows are independent of all others. ``squared`` are the options' :func:`squared_differences`, for whoever needs
    the factors at many length-scales.
    """
    both = used[:, None] & used[None]
    identity = jnp.eye(len(X), dtype=dtype)

    def correlation(lengthscale: jax.Array) -> jax.Array:
        if squared is None:
            return jnp.asarray(covariance(kernel, X, X, lengthscale))
        weighted = jnp.tensordot(lengthscale**-2, squared.reshape(len(squared), -1), 1)
        return jnp.asarray(_of_squares(kernel, weighted.reshape(squared.shape[1:])))

    def one(lengthscale: jax.Array) -> jax.Array:
        K = jnp.where(both, (1.0 - nugget) * correlation(lengthscale).astype(dtype), (1.0 - nugget) * identity)
        factor: jax.Array = jnp.linalg.cholesky(K + (nugget + JITTER) * identity)
        return factor

    # One by one, not vmapped: XLA's CPU client spreads a batched factorisation over its thread pool and waits there. Two
    # of them at once on a machine with two cores wait for each other for ever.
    return jnp.stack([one(jnp.exp(row)) for row in log_lengthscale])


def safe_cholesky(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lower Cholesky factor of a covariance, with a jitter that grows until it succeeds.

    >>> safe_cholesky(np.ones((2, 2))).round(3).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    size = max(float(np.mean(np.diag(K))), np.finfo(float).tiny)
    for power in range(-10, 0) if np.isfinite(K).all() else ():
        try:
            return np.asarray(np.linalg.cholesky(K + (10.0**power * size) * np.eye(len(K))), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise NumericalError(
        f"a covariance of {len(K)} options is not positive definite even with a jitter of a tenth of its diagonal; "
        "check the options for values that are not finite, or use a rougher kernel such as 'matern32'"
    )
