"""The logarithm of the normal distribution function, in single precision, fast and finite everywhere.

JAX's own ``log_ndtr`` is the one to use in double precision. In the samplers' inner loop it is replaced by a
Chebyshev fit (Press et al., *Numerical Recipes*, section 6.2: fractional error below 1.2e-7 everywhere), which has
no cancellation in either tail, neither in its value nor in its derivative.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from choicebo._runtime import configure_jax

configure_jax()

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
SQRT_HALF = math.sqrt(0.5)

_ERFC = (
    -1.26551223,
    1.00002368,
    0.37409196,
    0.09678418,
    -0.18628806,
    0.27886807,
    -1.13520398,
    1.48851587,
    -0.82215223,
    0.17087277,
)


def _tail(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Pieces of ``Phi(-|x|) = exp(-z^2 + p) t / 2``."""
    z = jnp.abs(x) * SQRT_HALF
    t = 1.0 / (1.0 + 0.5 * z)
    p = jnp.full_like(t, _ERFC[-1])
    for coefficient in _ERFC[-2::-1]:
        p = p * t + coefficient
    return z, t, p


@jax.custom_jvp
def log_cdf(x: jax.Array) -> jax.Array:
    """``log Phi(x)``, elementwise.

    >>> import jax.numpy as jnp
    >>> [round(float(v), 3) for v in log_cdf(jnp.array([-40.0, 0.0, 3.0], dtype=jnp.float32))]
    [-804.608, -0.693, -0.001]
    """
    z, t, p = _tail(x)
    lower = p - z * z + jnp.log(0.5 * t)
    return jnp.where(x < 0, lower, jnp.log1p(-jnp.exp(lower)))


@log_cdf.defjvp
def _log_cdf_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return log_cdf(primals[0]), tangents[0] * mills_ratio(primals[0])


@jax.custom_jvp
def mills_ratio(x: jax.Array) -> jax.Array:
    """``phi(x) / Phi(x)``, the derivative of :func:`log_cdf`.

    >>> import jax.numpy as jnp
    >>> [round(float(v), 3) for v in mills_ratio(jnp.array([-100.0, 0.0, 3.0], dtype=jnp.float32))]
    [100.01, 0.798, 0.004]
    """
    z, t, p = _tail(x)
    # Below zero the Gaussian factors cancel on paper, so that no rounding can.
    below = math.sqrt(2.0 / math.pi) * jnp.exp(-p) / t
    above = jnp.exp(-z * z - LOG_SQRT_2PI) / (1.0 - 0.5 * t * jnp.exp(p - z * z))
    return jnp.where(x < 0, below, above)


@mills_ratio.defjvp
def _mills_ratio_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    ratio = mills_ratio(primals[0])
    return ratio, -tangents[0] * ratio * (primals[0] + ratio)


@jax.custom_jvp
def scaled_cdf(x: jax.Array, log_scale: jax.Array) -> jax.Array:
    """``Phi(x) / exp(log_scale)`` without the underflow of its two halves; ``log_scale`` is held constant.

    >>> import jax.numpy as jnp
    >>> x = jnp.array([-30.0], dtype=jnp.float32)
    >>> round(float(scaled_cdf(x, log_cdf(x))[0]), 4)
    1.0
    """
    z, t, p = _tail(x)
    negative = x < 0
    tail = 0.5 * t * jnp.exp(p - z * z - jnp.where(negative, log_scale, 0.0))
    return jnp.where(negative, tail, (1.0 - tail) * jnp.exp(-log_scale))


@scaled_cdf.defjvp
def _scaled_cdf_jvp(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    x, log_scale = primals
    return scaled_cdf(x, log_scale), tangents[0] * jnp.exp(-0.5 * x * x - LOG_SQRT_2PI - log_scale)
