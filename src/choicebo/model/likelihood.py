"""Theorem 1 of the paper, exactly: the probability of a choice given the latent values of the options shown.

This is the reference that everything else is checked against. All in double precision and in logarithms, with
quadrature nodes that follow the integrand into the tails. The samplers use :mod:`choicebo.model.inner_loop`.

Throughout, ``z_id = (f_d(i) - f_d(j)) / noise`` compares a kept option ``i`` with a rejected option ``j``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr

from choicebo._runtime import configure_jax
from choicebo.choices import Choice, ChoiceData
from choicebo.errors import InvalidInput
from choicebo.model.normal import LOG_SQRT_2PI, SQRT_HALF

configure_jax()

LIKELIHOODS = ("choice", "batch_preference")
MAX_KEPT = 12
"""Inclusion-exclusion over the kept options has ``2^kept`` terms; past this, a choice that also rejects is refused."""

_NEWTON_STEPS = 12
# The integrand decays at least like exp(-t^2 / 2) around its mode, and is at least 1 / sqrt(1 + MAX_KEPT) wide. The
# trapezoidal rule on an analytic function of that width converges geometrically: with this step to about 1e-11.
_OFFSETS = np.arange(-27, 28) * 0.25
_ELEMENTS_AT_ONCE = 2**21


@functools.cache
def subset_masks(size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Every non-empty subset of ``size`` things as rows of a (2^size - 1, size) mask; row ``s - 1`` has the bits of ``s``.

    >>> subset_masks(2).astype(int).tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    codes = np.arange(1, 2**size)
    return np.asarray((codes[:, None] >> np.arange(size)) & 1, dtype=bool)


def log_expected_product(z: jax.Array, included: jax.Array) -> jax.Array:
    """``log E_u[ prod_i Phi(z_i - u) ]``, ``u ~ N(0, 1)``, over the included ``i`` of the first axis.

    The mode of the integrand is found by Newton's method. Its derivative is concave and decreasing, and ``u = 0`` lies
    to the right of the mode, so that the iteration descends to it without overshooting, for any ``z``.
    """
    weight = included.astype(z.dtype)

    def newton(_: int, u: jax.Array) -> jax.Array:
        x = z - u
        mills = jnp.exp(-0.5 * x * x - LOG_SQRT_2PI - log_ndtr(x))
        slope = -u - (weight * mills).sum(0)
        curvature = 1.0 + (weight * mills * (mills + x)).sum(0)
        return u + slope / curvature

    # The value of the integral does not depend on where its nodes lie, so no gradient is lost by holding them.
    mode = jax.lax.fori_loop(0, _NEWTON_STEPS, newton, jnp.zeros(z.shape[1:], z.dtype))
    u = jax.lax.stop_gradient(mode) + _OFFSETS.reshape((-1,) + (1,) * (z.ndim - 1))
    log_integrand = (weight * log_ndtr(z - u[:, None])).sum(1) - 0.5 * u * u - LOG_SQRT_2PI
    integral: jax.Array = jax.nn.logsumexp(log_integrand, axis=0) + np.log(_OFFSETS[1] - _OFFSETS[0])
    return integral


def log_rejection(z: jax.Array) -> jax.Array:
    """Log-probability that one rejected option was beaten by some kept one; ``z: (kept, n_e)``.

    Inclusion-exclusion over the subsets ``S`` of the kept options. No term exceeds the largest single one, and the sum
    is at least that, so the alternating signs cost almost no relative accuracy.
    """
    kept = z.shape[0]
    single = log_ndtr(z * SQRT_HALF).sum(1)
    if kept == 1:
        return single[0]
    masks = subset_masks(kept)
    several = masks[masks.sum(1) > 1]
    terms = jax.vmap(lambda s: log_expected_product(z, jnp.broadcast_to(s[:, None], z.shape)).sum())(several)
    logs = jnp.concatenate([single, terms])
    signs = np.concatenate([np.ones(kept), np.where(several.sum(1) % 2 == 1, 1.0, -1.0)])
    largest = jax.lax.stop_gradient(single.max())
    return largest + jnp.log((signs * jnp.exp(logs - largest)).sum())


def log_coexistence(x: jax.Array) -> jax.Array:
    """Log-probability that neither of two kept options beats the other; ``x: (n_e, ...)``, ``x_d = (f_d(p) - f_d(i)) / noise``.

    ``1 - prod_d Phi_d`` is summed as ``q_1 + Phi_1 q_2 + Phi_1 Phi_2 q_3 + ...``: positive terms only, so nothing cancels
    in either tail. The two directions share their logarithms.
    """
    above, below = log_ndtr(x * SQRT_HALF), log_ndtr(-x * SQRT_HALF)
    return log_one_minus_product(above, below) + log_one_minus_product(below, above)


def log_one_minus_product(log_p: jax.Array, log_q: jax.Array) -> jax.Array:
    """``log(1 - prod_d p_d)`` over the first axis from ``log p_d`` and ``log q_d = log(1 - p_d)``."""
    result, product = log_q[0], log_p[0]
    for d in range(1, len(log_p)):
        result = jnp.logaddexp(result, product + log_q[d])
        product = product + log_p[d]
    return result


def log_batch_preference(z: jax.Array) -> jax.Array:
    """Log-probability of one winner whose noise is shared by all comparisons; ``z: (rejected, 1)`` (the paper's batch case)."""
    if z.shape[0] == 1:
        return log_ndtr(z[0, 0] * SQRT_HALF)
    return log_expected_product(z, jnp.ones_like(z, dtype=bool)).sum()


def with_lapse(log_p: jax.Array, shown: Any, lapse: float) -> jax.Array:
    """``log((1 - lapse) p + lapse / (2^shown - 1))``: with probability ``lapse`` the answer is any non-empty subset."""
    if lapse == 0.0:
        return log_p
    log_uniform = -np.log(2.0 ** np.asarray(shown) - 1.0)
    return jnp.logaddexp(np.log1p(-lapse) + log_p, np.log(lapse) + log_uniform)


def choice_log_likelihood(
    latent: Any, data: ChoiceData, noise: float = 1.0, *, likelihood: str = "choice", lapse: float = 0.0
) -> Any:
    """The log-likelihood of each choice given the latent values of all options (Theorem 1, equation 6).

    ``latent: (m, n_e)``, one row per option of ``data.X``; returns ``(n_choices,)``. A NumPy array gives a NumPy array; a
    JAX array gives a JAX array, and can be differentiated and compiled.

    >>> import choicebo as cb
    >>> data = cb.ChoiceData([[0.0], [1.0]], [cb.Choice(shown=(0, 1), kept=(0,))])
    >>> cb.choice_log_likelihood([[0.0], [0.0]], data).round(4).tolist()
    [-0.6931]
    """
    values, as_jax = _checked_latent(latent, data)
    check_likelihood_settings(data.choices, values.shape[1], noise, likelihood, lapse)
    scaled = values / noise
    result = jnp.zeros(len(data.choices))
    for kind, events in _exact_events(data.choices, likelihood).items():
        result = result.at[events.choice].add(_evaluate(kind, scaled, events.first, events.second))
    result = with_lapse(result, [len(c.shown) for c in data.choices], lapse)
    return result if as_jax else np.asarray(result)


def check_likelihood_settings(choices: Iterable[Choice], n_e: int, noise: float, likelihood: str, lapse: float) -> None:
    """Refuse settings that the likelihood is not defined for, saying which are accepted."""
    if isinstance(noise, bool) or not isinstance(noise, int | float | np.number) or not 0.0 < noise < np.inf:
        raise InvalidInput(f"noise must be a positive finite number, got {noise!r}")
    if isinstance(lapse, bool) or not isinstance(lapse, int | float | np.number) or not 0.0 <= lapse < 1.0:
        raise InvalidInput(f"lapse must be at least 0 and below 1, got {lapse!r}")
    if likelihood not in LIKELIHOODS:
        raise InvalidInput(f"likelihood must be one of {', '.join(map(repr, LIKELIHOODS))}, got {likelihood!r}")
    if likelihood == "batch_preference" and n_e != 1:
        raise InvalidInput(f"likelihood='batch_preference' needs one latent dimension, got {n_e}")
    for number, choice in enumerate(choices):
        if likelihood == "batch_preference" and len(choice.kept) != 1:
            raise InvalidInput(
                f"likelihood='batch_preference' takes one winner per choice, but choice {number} kept "
                f"{len(choice.kept)} options; use likelihood='choice' for subsets"
            )
        if likelihood == "choice" and choice.rejected and len(choice.kept) > MAX_KEPT:
            raise InvalidInput(
                f"choice {number} kept {len(choice.kept)} options and rejected others; the likelihood has 2^kept terms and "
                f"takes at most {MAX_KEPT} kept options there; show smaller sets"
            )


class _Events:
    """Comparisons of one kind: ``first`` and ``second`` are option indices (slots, events), ``choice`` the owner."""

    def __init__(self, first: list[tuple[int, ...]], second: list[tuple[int, ...]], choice: list[int]) -> None:
        # Padding to a power of two keeps the number of compiled programs small; padded events belong to no choice.
        size = 1 << (len(choice) - 1).bit_length()
        spare = size - len(choice)
        self.first = np.array(first + [first[0]] * spare, dtype=np.int32).T
        self.second = np.array(second + [second[0]] * spare, dtype=np.int32).T
        self.choice = np.array(choice + [np.iinfo(np.int32).max] * spare, dtype=np.int32)


def _exact_events(choices: tuple[Choice, ...], likelihood: str) -> dict[tuple[str, int], _Events]:
    """Sort the comparisons that the choices imply by kind and number of slots, so that each kind is one array."""
    found: dict[tuple[str, int], tuple[list[Any], list[Any], list[int]]] = {}

    def add(kind: str, first: tuple[int, ...], second: tuple[int, ...], number: int) -> None:
        firsts, seconds, owners = found.setdefault((kind, max(len(first), len(second))), ([], [], []))
        firsts.append(first)
        seconds.append(second)
        owners.append(number)

    for number, choice in enumerate(choices):
        if likelihood == "batch_preference":
            add("batch", choice.kept, choice.rejected, number)
            continue
        for j in choice.rejected:
            add("rejection", choice.kept, (j,), number)
        for position, p in enumerate(choice.kept):
            for i in choice.kept[position + 1 :]:
                add("coexistence", (p,), (i,), number)
    return {kind: _Events(*parts) for kind, parts in found.items()}


@functools.partial(jax.jit, static_argnums=0)
def _evaluate(kind: tuple[str, int], latent: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
    name, slots = kind
    n_e = latent.shape[1]
    z = jnp.moveaxis(latent[first] - latent[second], 1, 0)  # (events, slots, n_e)
    if name == "coexistence":
        return log_coexistence(jnp.moveaxis(z[:, 0], 1, 0))
    one = log_rejection if name == "rejection" else log_batch_preference
    elements = slots * n_e * len(_OFFSETS) * (2**slots if name == "rejection" else 1)
    together: jax.Array = jax.lax.map(one, z, batch_size=max(1, min(len(z), _ELEMENTS_AT_ONCE // elements)))
    return together


def _checked_latent(latent: Any, data: ChoiceData) -> tuple[jax.Array, bool]:
    as_jax = isinstance(latent, jax.Array)
    try:
        values = latent if as_jax else np.asarray(latent, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"latent must be a numeric array of shape (options, n_e): {error}") from None
    if values.ndim != 2 or values.shape[0] != len(data.X) or values.shape[1] < 1:
        raise InvalidInput(
            f"latent must have one row per option and one column per latent dimension, ({len(data.X)}, n_e) here; "
            f"got shape {tuple(values.shape)}"
        )
    if not isinstance(latent, jax.core.Tracer) and not bool(np.isfinite(np.asarray(values)).all()):
        raise InvalidInput("latent has a value that is NaN or infinite; every entry must be finite")
    return jnp.asarray(values, dtype=jnp.float64), as_jax
