"""The model once more, in JAX: what the likelihood, its derivatives and every engine are compared with.

Written from the formulas, and sharing nothing with the package but its covariance functions: the likelihood of choices
as a function that JAX differentiates, the log-posterior of whitened values, and long runs of blackjax's NUTS on it.

``reference_moments.json`` holds what a run of some minutes found; ``python tests/model/jax_reference.py`` writes it anew.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from arviz_stats.base import array_stats
from jax.scipy.special import erfc
from numpy.typing import NDArray

import choicebo as cb
from choicebo.model.covariance import JITTER, Hyperparameters, mixing, option_covariance

jax.config.update("jax_enable_x64", True)

Array = NDArray[np.float64]

_NODES = np.arange(-20.0, 8.0, 0.4)
_NODE_WEIGHTS = 0.4 * np.exp(-0.5 * _NODES**2) / np.sqrt(2.0 * np.pi)
"""The trapezoidal rule for a normal noise: wide enough for factors that are small unless the noise is very negative."""


# The likelihood ----------------------------------------------------------------------------------------------


def log_likelihoods(
    latent: Any, data: cb.ChoiceData, *, noise: float = 1.0, likelihood: str = "choice", lapse: float = 0.0
) -> jax.Array:
    """Log-likelihood of each choice (Theorem 1, or the shared noise of a batch preference), for JAX to differentiate.

    ``latent: (n_e, m) -> (n_choices,)``. Right to about 1e-10 while differences stay below 20 times the noise.
    """
    f = jnp.asarray(latent) / noise
    result = jnp.zeros(len(data.choices))
    if likelihood == "batch_preference":
        for owner, winner, losers in _stacked((n, c.kept, c.rejected) for n, c in enumerate(data.choices)):
            result = result.at[owner].add(jnp.log(_all_won(f[:, winner] - f[:, losers])[-1]))
    else:
        rejections = ((n, c.kept, (j,)) for n, c in enumerate(data.choices) for j in c.rejected)
        for owner, kept, rejected in _stacked(rejections):
            result = result.at[owner].add(jnp.log(_any_won(f[:, kept] - f[:, rejected])))
        pairs = ((n, (p,), (i,)) for n, c in enumerate(data.choices) for p, i in itertools.permutations(c.kept, 2))
        for owner, one, other in _stacked(pairs):
            result = result.at[owner].add(jnp.log(_not_won((f[:, one] - f[:, other])[..., 0])))
    if lapse == 0.0:
        return result
    uniform = np.array([1.0 / (2.0 ** len(c.shown) - 1.0) for c in data.choices])
    return jnp.log((1.0 - lapse) * jnp.exp(result) + lapse * uniform)


def _stacked(
    events: Iterable[tuple[int, tuple[int, ...], tuple[int, ...]]],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The owners (events,) and the options (events, slots) of both sides, for each number of slots in turn."""

    def slots(event: tuple[int, tuple[int, ...], tuple[int, ...]]) -> tuple[int, int]:
        return len(event[1]), len(event[2])

    for _, group in itertools.groupby(sorted(events, key=slots), key=slots):
        owner, first, second = zip(*group, strict=True)
        yield np.array(owner), np.array(first), np.array(second)


def _cdf(x: jax.Array) -> jax.Array:
    return 0.5 * erfc(-x / np.sqrt(2.0))


def _all_won(z: jax.Array) -> jax.Array:
    """``prod_d E_u[ prod_i Phi(z_id - u) ]`` over each group of slots, ``(n_e, events, slots) -> (2^slots, events)``.

    The first half of the groups lacks the last slot, and so on; the first group is empty, the last complete.
    """
    at_nodes = _cdf(z[..., None] - _NODES)
    products = jnp.broadcast_to(_NODE_WEIGHTS, (1, *z.shape[:2], len(_NODES)))
    for slot in range(z.shape[2]):
        products = jnp.concatenate([products, products * at_nodes[:, :, slot]])
    return _product(products.sum(-1).swapaxes(0, 1))


def _any_won(z: jax.Array) -> jax.Array:
    """Probability that some slot wins in all dimensions, by inclusion and exclusion, ``(n_e, events, slots) -> (events,)``."""
    signs = np.array([0.0])
    for size in range(z.shape[2]):
        signs = np.concatenate([signs, -signs])
        signs[1 << size] = 1.0
    return signs @ _all_won(z)


def _not_won(x: jax.Array) -> jax.Array:
    """``1 - prod_d Phi(x_d / sqrt 2)``, ``(n_e, events) -> (events,)``: some dimension is the first that is not won."""
    won, lost = _cdf(jnp.stack([x, -x]) / np.sqrt(2.0))
    return sum(_product([*won[:d], lost[d]]) for d in range(len(x)))


def _product(factors: Iterable[jax.Array]) -> jax.Array:
    """Without ``jnp.prod``, whose derivative takes long to compile."""
    return functools.reduce(operator.mul, factors)


# The posterior of whitened values ------------------------------------------------------------------------------


class Problem(NamedTuple):
    """Choices, and all settings of a model of them: what the posterior of the whitened values depends on."""

    data: cb.ChoiceData
    kernel: str
    nugget: float
    hyper: Hyperparameters
    lapse: float
    n_e: int


def latent_values(problem: Problem, v: Any) -> jax.Array:
    """Latent values of all options, ``(..., n_e, m)``, as linear functions of whitened ones of the same shape."""
    X = problem.data.X
    lengthscales = np.exp(problem.hyper.log_lengthscale)
    K = np.stack([option_covariance(problem.kernel, problem.nugget, X, X, l) for l in lengthscales])
    lower = np.linalg.cholesky(K + JITTER * np.eye(len(X)))
    return jnp.einsum("ed,dmn,...dn->...em", mixing(problem.hyper), lower, v)


def log_posterior(problem: Problem) -> Callable[[jax.Array], jax.Array]:
    """Log-density of whitened values ``(n_e, m)`` at fixed hyperparameters, up to a constant."""

    def log_density(v: jax.Array) -> jax.Array:
        fit = log_likelihoods(latent_values(problem, v), problem.data, lapse=problem.lapse).sum()
        return fit - 0.5 * (v * v).sum()

    return log_density


def nuts(
    log_density: Callable[[jax.Array], jax.Array], start: Any, draws: int, num_warmup: int, chains: int, seed: int
) -> Array:
    """Draws of blackjax's NUTS after its window adaptation, ``(chains, draws, *start.shape)``.

    Every chain starts at a standard normal distance of its own from ``start``, and adapts on its own.
    """
    start = jnp.asarray(start, dtype=jnp.float64)

    @jax.jit
    def run(key: jax.Array) -> jax.Array:
        key_start, key_adapt, key_draw = jax.random.split(key, 3)
        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
        first = start + jax.random.normal(key_start, start.shape)
        (state, settings), _ = adaptation.run(key_adapt, first, num_steps=num_warmup)
        kernel = blackjax.nuts(log_density, **settings)

        def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(key_draw, draws))[1]

    return np.stack([run(key) for key in jax.random.split(jax.random.key(seed), chains)])


# A problem to compare engines on -------------------------------------------------------------------------------


MARGINS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11))
"""Pairs of options of the reference problem whose margins of dominance are compared."""
STORED = Path(__file__).parent / "reference_moments.json"


class Moments(NamedTuple):
    """Mean and standard deviation of a quantity over draws, with their Monte Carlo standard errors."""

    mean: float
    deviation: float
    mean_error: float
    deviation_error: float


def reference_problem() -> Problem:
    """Fifteen noisy choices from sets of two to five among twelve options, and a model with correlated objectives.

    Neither the prior nor the answers dominate, and NUTS has no difficulty with it: the two orders of the objectives are
    one basin.
    """
    rng = np.random.default_rng(3)
    X = rng.random((12, 2))
    hyper = Hyperparameters(np.log([[0.4, 0.7], [0.8, 0.5]]), np.log([2.0, 1.5]), np.array([[0.0, 0.0], [0.5, 0.0]]))
    first, other = np.sin(5.0 * X[:, 0]) + X[:, 1], np.cos(4.0 * X[:, 1]) + 0.5 * X[:, 0]
    objectives = 2.0 * np.column_stack([first, 0.6 * first + 0.8 * other])
    choices = []
    for size in [2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5]:
        shown = rng.choice(12, size, replace=False)
        values = objectives[shown] + 0.5 * rng.normal(size=(size, 2))
        beaten = (values[:, None] > values).all(2).any(0)
        choices.append(cb.Choice(shown, shown[~beaten]))
    return Problem(cb.ChoiceData(X, choices), "matern32", 0.01, hyper, 0.01, 2)


def reference_quantities(whitened: Any) -> dict[str, Array]:
    """What engines are compared by, each (chains, draws), of whitened values ``(chains, draws, n_e, m)``.

    None changes when the objectives swap places. The sum of squares is what a wrong weight of the prior shows in.
    """
    problem = reference_problem()
    latent = np.asarray(latent_values(problem, whitened))
    fits = _log_likelihood_of_draws(latent.reshape(-1, *latent.shape[2:])).reshape(latent.shape[:2])
    margins = {f"margin {a} {b}": (latent[..., a] - latent[..., b]).min(-1) for a, b in MARGINS}
    return {"log-likelihood": fits, "squares": (np.asarray(whitened) ** 2).sum((2, 3)), **margins}


def _log_likelihood_of_draws(latent: Array) -> Array:
    """In portions of one size, ``(draws, n_e, m) -> (draws,)``: compiled once, however many draws."""
    size = 250
    portions = np.resize(latent, (-(-len(latent) // size), size, *latent.shape[1:]))
    return np.concatenate([_portion_log_likelihood()(portion) for portion in portions])[: len(latent)]


@functools.cache
def _portion_log_likelihood() -> Callable[[Array], jax.Array]:
    problem = reference_problem()
    return jax.jit(jax.vmap(lambda f: log_likelihoods(f, problem.data, lapse=problem.lapse).sum()))


def moments(quantity: Array) -> Moments:
    """Of a quantity ``(chains, draws)``, with errors that allow for the draws' dependence."""
    errors = [float(array_stats.mcse(quantity, method=method)) for method in ("mean", "sd")]
    return Moments(float(quantity.mean()), float(quantity.std()), *errors)


def reference_draws(draws: int, chains: int, seed: int) -> Array:
    """Whitened values ``(chains, draws, n_e, m)`` of the reference problem by NUTS."""
    return nuts(log_posterior(reference_problem()), np.zeros((2, 12)), draws, 400, chains, seed)


@functools.cache
def reference_moments() -> dict[str, Moments]:
    """Moments of the :func:`reference_quantities` by a long run of NUTS."""
    return {name: Moments(*values) for name, values in json.loads(STORED.read_text()).items()}


def differences_from_reference(whitened: Any) -> dict[str, float]:
    """By how many standard errors the moments over draws ``(chains, draws, n_e, m)`` differ from those by NUTS."""
    result = {}
    for name, values in reference_quantities(whitened).items():
        ours, theirs = moments(values), reference_moments()[name]
        mean_error = math.hypot(ours.mean_error, theirs.mean_error)
        deviation_error = math.hypot(ours.deviation_error, theirs.deviation_error)
        result[f"mean of {name}"] = (ours.mean - theirs.mean) / mean_error
        result[f"deviation of {name}"] = (ours.deviation - theirs.deviation) / deviation_error
    return result


if __name__ == "__main__":
    found = reference_quantities(reference_draws(draws=6000, chains=4, seed=1))
    STORED.write_text(json.dumps({name: moments(values) for name, values in found.items()}, indent=1) + "\n")
