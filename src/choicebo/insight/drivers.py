"""What drives each hidden objective: how much each parameter matters, and in which direction."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo._words import percent
from choicebo.errors import InvalidInput
from choicebo.insight.alignment import aligned_orders, order_like, reordered
from choicebo.model.kernels import covariance
from choicebo.model.posterior import Posterior
from choicebo.space.columns import Column
from choicebo.space.protocol import Searchable

Array = NDArray[np.float64]

_BACKGROUND = 64
_GRID = 9
_MATTERS = 0.05
"""Parameters that explain less of an objective are not mentioned."""
_SURE = 0.9


@dataclasses.dataclass(frozen=True, eq=False)
class Driver:
    """One parameter's part in one hidden objective."""

    parameter: str
    relevance: float
    """First-order Sobol index: the share of the objective's variation that the parameter explains alone; posterior mean."""
    lower: float
    """Lower end of its 95 % interval."""
    upper: float
    lengthscale_relevance: float
    """From the length-scale: the share of variance that is lost on the way across the parameter's whole range, 0 to 1."""
    direction: str
    """``"more"``, ``"less"``, ``"mixed"`` (a best value inside or no clear direction), or ``"category"``."""
    best: Any
    """The value at which the effect is highest."""
    values: tuple[Any, ...]
    """Values of the parameter at which the effect is given."""
    effect: Array
    """(values,): mean of the objective with the parameter at each value, the others as they come (partial dependence)."""
    effect_lower: Array
    effect_upper: Array


@dataclasses.dataclass(frozen=True)
class Objective:
    """One hidden objective and what drives it, the most relevant parameter first."""

    number: int
    """From 1; the first varies most over the space."""
    latent_dim: int
    """The model's own number of this latent dimension, from 0."""
    spread: float
    """How much it varies over the space, in units of the noise of an answer."""
    drivers: tuple[Driver, ...]
    sentence: str


def drivers(
    posterior: Posterior,
    space: Searchable | None = None,
    *,
    like: Posterior | None = None,
    draws: int = 100,
    seed: int = 0,
) -> list[Objective]:
    """Relevance and direction of every parameter for every hidden objective, latent dimensions aligned across draws.

    Without a ``space`` each input is a parameter of its own from 0 to 1. ``like`` is an earlier posterior over the same
    space whose numbering to keep; otherwise the objective that varies most comes first.
    """
    columns = space.columns if space is not None else _plain_columns(posterior.options.shape[1])
    if len(columns) != posterior.options.shape[1]:
        raise InvalidInput(f"the space has {len(columns)} columns, the model learned from {posterior.options.shape[1]}")
    background = _background(space, len(columns), seed)
    latent = posterior.sample(background, draws=draws, seed=seed)
    orders = aligned_orders(latent)
    aligned = reordered(latent, orders)
    mean = aligned.mean(0)
    if like is not None:
        if like.options.shape[1] != len(columns):
            raise InvalidInput(f"like learned from {like.options.shape[1]} inputs, this model from {len(columns)}")
        first = order_like(mean, _numbered_mean(like, background, draws, seed))
    else:
        first = np.argsort(-mean.var(0), kind="stable")
    orders, aligned = orders[:, first], aligned[..., first]
    parts: list[list[Driver]] = [[] for _ in first]
    for parameter in dict.fromkeys(column.parameter for column in columns):
        mine = [at for at, column in enumerate(columns) if column.parameter == parameter]
        curves, values = _partial_dependence(posterior, space, columns, mine, background, orders, draws, seed)
        for number, found in enumerate(parts):
            owner = int(np.bincount(orders[:, number]).argmax())
            length = _lengthscale_relevance(posterior, owner, mine)
            total = aligned[..., number].var(1)
            found.append(_driver(parameter, columns[mine[0]], values, curves[..., number], total, length))
    return [
        _objective(
            number, int(np.bincount(orders[:, number]).argmax()), float(aligned[..., number].mean(0).std()), found
        )
        for number, found in enumerate(parts)
    ]


def _plain_columns(dim: int) -> tuple[Column, ...]:
    return tuple(Column(f"x{d}", f"x{d}", "continuous") for d in range(dim))


def _background(space: Searchable | None, dim: int, seed: int) -> Array:
    if space is not None:
        return np.unique(space.sobol(_BACKGROUND, seed=seed), axis=0)
    from scipy.stats import qmc

    return np.asarray(qmc.Sobol(dim, seed=seed).random(_BACKGROUND))


def _numbered_mean(posterior: Posterior, background: Array, draws: int, seed: int) -> Array:
    """(points, n_e): mean functions of an earlier posterior as :func:`drivers` would number them."""
    latent = posterior.sample(background, draws=draws, seed=seed)
    mean = reordered(latent, aligned_orders(latent)).mean(0)
    return np.asarray(mean[:, np.argsort(-mean.var(0), kind="stable")])


def _partial_dependence(
    posterior: Posterior,
    space: Searchable | None,
    columns: Sequence[Column],
    mine: list[int],
    background: Array,
    orders: NDArray[np.intp],
    draws: int,
    seed: int,
) -> tuple[Array, tuple[Any, ...]]:
    """(draws, values, n_e): each draw averaged over the background, with one parameter moved over its values."""
    if columns[mine[0]].kind == "continuous":
        settings = np.linspace(0.0, 1.0, _GRID)[:, None]
    else:
        settings = np.unique((background if space is None else space.sobol(512, seed=seed))[:, mine], axis=0)
        settings = settings[np.unique(np.linspace(0, len(settings) - 1, _GRID).round().astype(int))]
    points = np.repeat(background[None], len(settings), axis=0)
    points[:, :, mine] = settings[:, None]
    latent = posterior.sample(points.reshape(-1, background.shape[1]), draws=draws, seed=seed)
    curves = reordered(latent, orders).reshape(draws, len(settings), len(background), -1).mean(2)
    if space is None:
        return curves, tuple(float(value) for value in settings[:, 0])
    name = columns[mine[0]].parameter
    return curves, tuple(option[name] for option in space.decode(points[:, 0]))


def _lengthscale_relevance(posterior: Posterior, dimension: int, mine: list[int]) -> float:
    """One minus the correlation between the ends of the range; for a category, between two of its values on average."""
    shares = posterior.mixing[dimension] ** 2 / posterior.scales[dimension] ** 2
    between = 0.0
    for share, length in zip(shares, posterior.lengthscales[:, mine], strict=True):
        squared = 1.0 / length**2
        if len(mine) > 1:  # two one-hot columns change together, each by 1 / sqrt 2
            pairs = [(a, b) for a in range(len(mine)) for b in range(a)]
            squared = np.array([0.5 * (squared[a] + squared[b]) for a, b in pairs])
        ends = covariance(posterior.spec.kernel, np.zeros((1, 1)), np.sqrt(squared)[:, None], np.ones(1))
        between += float(share * np.mean(ends))
    return 1.0 - between


def _driver(
    parameter: str, column: Column, values: tuple[Any, ...], curves: Array, total: Array, length: float
) -> Driver:
    # The variation of the curve is its own part of the total; more than all of it can only be sampling error.
    share = np.minimum(curves.var(1) / np.maximum(np.maximum(total, curves.var(1)), 1e-12), 1.0)
    centred = curves - curves.mean(1, keepdims=True)
    mean = centred.mean(0)
    lower, upper = np.quantile(centred, [0.025, 0.975], axis=0)
    low, high = np.quantile(share, [0.025, 0.975])
    return Driver(
        parameter=parameter,
        relevance=float(share.mean()),
        lower=float(low),
        upper=float(high),
        lengthscale_relevance=length,
        direction="category" if column.kind == "onehot" or isinstance(values[0], str) else _direction(centred),
        best=values[int(mean.argmax())],
        values=values,
        effect=mean,
        effect_lower=lower,
        effect_upper=upper,
    )


def _direction(curves: Array) -> str:
    """Whether the curves (draws, values) rise or fall; both must hold for the mean curve's shape and for most draws."""
    place = np.linspace(-1.0, 1.0, curves.shape[1])
    slopes = curves @ place
    mean = curves.mean(0)
    size = np.sqrt((mean**2).sum() * (place**2).sum())
    monotone = abs(float(mean @ place)) > 0.7 * size
    rising = float((slopes > 0).mean())
    if not monotone or max(rising, 1.0 - rising) < _SURE:
        return "mixed"
    return "more" if rising > 0.5 else "less"


def _objective(number: int, latent_dim: int, spread: float, found: list[Driver]) -> Objective:
    ranked = tuple(sorted(found, key=lambda each: -each.relevance))
    told = [_told(each) for each in ranked if each.relevance >= _MATTERS][:3]
    name = f"Hidden objective {number + 1}"
    sentence = f"{name} likes {', '.join(told)}." if told else f"{name} depends on no single parameter clearly."
    return Objective(number + 1, latent_dim, spread, ranked, sentence)


def _told(driver: Driver) -> str:
    best = f"{driver.best:.3g}" if isinstance(driver.best, float) else str(driver.best)
    shape = {
        "more": f"more {driver.parameter}",
        "less": f"less {driver.parameter}",
        "mixed": f"{driver.parameter} around {best}",
        "category": f"{driver.parameter} {best}",
    }[driver.direction]
    return f"{shape} ({percent(driver.relevance)})"
