"""What drives each hidden objective: how much each parameter matters, and in which direction."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, percent
from choicebo.insight.held_out import require_posterior
from choicebo.model.alignment import aligned_orders, order_like, reordered
from choicebo.model.covariance import covariance
from choicebo.model.posterior import Posterior
from choicebo.space import Catalogue, Column, Searchable
from choicebo.space.values import as_generator

Array = NDArray[np.float64]

_BACKGROUND = 32
"""Points over which an effect is averaged, in each of two independent samples."""
_SURVEY = 512
"""Points that tell how often each value of a parameter occurs in the space."""
_GRID = 9
_STEPS = 64
"""To so many parts of its range exactly the reach of a continuous parameter is found."""
_MOST_CATEGORIES = 16
"""Of a parameter with more categories the most frequent are looked at."""
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
    require_posterior(posterior)
    if like is not None:
        require_posterior(like, "like")
    as_generator(seed)
    if space is not None and not isinstance(space, Searchable):
        raise InvalidInputError(f"space is {as_given(space)}; give a Space or a Catalogue")
    columns = space.columns if space is not None else _plain_columns(posterior.options.shape[1])
    if len(columns) != posterior.options.shape[1]:
        raise InvalidInputError(
            f"the space has {len(columns)} columns, the model learned from {posterior.options.shape[1]}"
        )
    survey, *halves = _samples(space, len(columns), seed)
    background = np.concatenate(halves)
    latent = posterior.sample(background, draws=draws, seed=seed)
    orders = aligned_orders(latent)
    aligned = reordered(latent, orders)
    mean = aligned.mean(0)
    if like is not None:
        if like.options.shape[1] != len(columns):
            raise InvalidInputError(f"like learned from {like.options.shape[1]} inputs, this model from {len(columns)}")
        first = order_like(mean, _numbered_mean(like, background, draws, seed))
    else:
        first = np.argsort(-mean.var(0), kind="stable")
    orders, aligned = orders[:, first], aligned[..., first]
    parts: list[list[Driver]] = [[] for _ in first]
    for parameter in dict.fromkeys(column.parameter for column in columns):
        mine = [at for at, column in enumerate(columns) if column.parameter == parameter]
        scale = _scale(columns[mine[0]], survey[:, mine])
        points = _moved(background, mine, scale.settings)
        latent = posterior.sample(points.reshape(-1, len(columns)), draws=draws, seed=seed)
        effects = reordered(latent, orders).reshape(draws, *points.shape[:2], -1)
        curves, shares = effects.mean(2), sobol_indices(effects, len(halves[0]), scale.basis)
        values = _values(space, parameter, points[:, 0], scale)
        for number, found in enumerate(parts):
            owner = int(np.bincount(orders[:, number]).argmax())
            length = _lengthscale_relevance(posterior, owner, mine)
            column = columns[mine[0]]
            found.append(_driver(parameter, column, values, curves[..., number], shares[:, number], length))
    return [
        _objective(
            number, int(np.bincount(orders[:, number]).argmax()), float(aligned[..., number].mean(0).std()), found
        )
        for number, found in enumerate(parts)
    ]


def _plain_columns(dim: int) -> tuple[Column, ...]:
    return tuple(Column(f"x{d}", f"x{d}", "continuous") for d in range(dim))


def _samples(space: Searchable | None, dim: int, seed: int) -> list[Array]:
    """A survey of the space and two samples to average over, independent of each other; all of a small space each time."""
    if isinstance(space, Catalogue):
        rng = np.random.default_rng(seed)
        return [space.X, _some_rows(space.X, _BACKGROUND, rng), _some_rows(space.X, _BACKGROUND, rng)]
    seeds = [int(each) for each in np.random.SeedSequence(seed).generate_state(3)]
    sizes = zip((_SURVEY, _BACKGROUND, _BACKGROUND), seeds, strict=True)
    if space is not None:
        return [np.unique(space.sobol(count, seed=each), axis=0) for count, each in sizes]
    from scipy.stats import qmc

    return [np.asarray(qmc.Sobol(dim, seed=each).random(count)) for count, each in sizes]


def _some_rows(points: Array, count: int, rng: np.random.Generator) -> Array:
    """``count`` rows, each as probable as any other, from different parts of the points; all of them if there are no more.

    The space-filling order of a catalogue would not do: it prefers rows that have few others beside them.
    """
    if len(points) <= count:
        return points
    order = _near_together(points, rng.permutation(len(points)), len(points) / count)
    steps = ((rng.random() + np.arange(count)) * len(points) / count).astype(int)
    return np.asarray(points[order[steps]])


def _near_together(points: Array, rows: NDArray[np.intp], size: float) -> NDArray[np.intp]:
    """The rows in an order of halves, split where they differ most, and halves of those, down to ``size`` rows."""
    if len(rows) <= size:
        return rows
    values = points[rows]
    rows = rows[np.argsort(values[:, values.var(0).argmax()], kind="stable")]
    middle = len(rows) // 2
    return np.concatenate([_near_together(points, part, size) for part in (rows[:middle], rows[middle:])])


def _numbered_mean(posterior: Posterior, background: Array, draws: int, seed: int) -> Array:
    """(points, n_e): mean functions of an earlier posterior as :func:`drivers` would number them."""
    latent = posterior.sample(background, draws=draws, seed=seed)
    mean = reordered(latent, aligned_orders(latent)).mean(0)
    return np.asarray(mean[:, np.argsort(-mean.var(0), kind="stable")])


class _Scale(NamedTuple):
    """Where the effect of a parameter is looked at, and how often each of its values occurs."""

    settings: Array
    """(values, width): cube values of the parameter's columns."""
    basis: Array
    """(survey, values): ``basis @ curve`` is the curve at the values that the parameter has in the survey."""


def _scale(column: Column, survey: Array) -> _Scale:
    """The settings of a parameter whose columns are ``survey: (points, width)`` over the space."""
    if column.kind == "continuous":
        # A constraint may leave a part of the range out of reach; the ends of a whole range are never sampled exactly.
        low = min(np.floor(_STEPS * survey.min()), _STEPS - 1)
        high = max(np.ceil(_STEPS * survey.max()), low + 1)
        settings = np.linspace(low, high, _GRID) / _STEPS
        return _Scale(settings[:, None], np.asarray(CubicSpline(settings, np.eye(_GRID))(survey[:, 0])))
    settings, place, count = np.unique(survey, axis=0, return_inverse=True, return_counts=True)
    if column.kind == "onehot":
        common = np.sort(np.argsort(-count, kind="stable")[:_MOST_CATEGORIES])
        belongs = place.reshape(-1, 1) == common
        return _Scale(settings[common], belongs[belongs.any(1)].astype(np.float64))
    settings = settings[np.unique(np.linspace(0, len(settings) - 1, _GRID).round().astype(int))]
    # Straight between settings: where they lie unevenly a smooth curve would overshoot.
    basis = [np.interp(survey[:, 0], settings[:, 0], unit) for unit in np.eye(len(settings))]
    return _Scale(settings, np.stack(basis, axis=1))


def _moved(background: Array, mine: list[int], settings: Array) -> Array:
    """(values, background, dim): the background with one parameter moved to each of its settings."""
    points = np.repeat(background[None], len(settings), axis=0)
    points[:, :, mine] = settings[:, None]
    return points


def _values(space: Searchable | None, parameter: str, points: Array, scale: _Scale) -> tuple[Any, ...]:
    """What the settings are called; ``points: (values, dim)`` have them."""
    if space is None:
        return tuple(float(value) for value in scale.settings[:, 0])
    return tuple(option[parameter] for option in space.decode(points))


def sobol_indices(effects: Array, first: int, basis: Array) -> Array:
    """First-order Sobol index of a parameter in each draw, (draws, n_e), unbiased but for the division.

    The curve is averaged over few points, and the noise of that would count as an effect if the curve were squared. The
    product of two curves, averaged over independent points, is right on average; so is that of their two means in the total.

    Args:
        effects: (draws, values, background, n_e): latent values with the parameter at each value.
        first: How many points of the background belong to the first of its two independent samples.
        basis: (points, values): turns a curve over the values into one over points spread as the parameter is.
    """
    weights = basis.mean(0)
    centred = basis - weights
    spread = centred.T @ centred / len(basis)
    level = np.einsum("v,svbn->sbn", weights, effects)
    along = np.einsum("svbn,svbn->sbn", np.einsum("vw,swbn->svbn", spread, effects), effects)
    one, other = effects[:, :, :first].mean(2), effects[:, :, first:].mean(2)
    alone = np.einsum("svn,svn->sn", np.einsum("vw,swn->svn", spread, one), other)
    mean_one, mean_other = level[:, :first].mean(1), level[:, first:].mean(1)
    squares = (level - 0.5 * (mean_one + mean_other)[:, None]) ** 2 + along
    total = 0.5 * (squares[:, :first].mean(1) + squares[:, first:].mean(1)) + 0.25 * (mean_one - mean_other) ** 2
    return np.asarray(np.divide(alone, total, out=np.zeros_like(total), where=total > 1e-12))


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
    parameter: str, column: Column, values: tuple[Any, ...], curves: Array, shares: Array, length: float
) -> Driver:
    centred = curves - curves.mean(1, keepdims=True)
    mean = centred.mean(0)
    lower, upper = np.quantile(centred, [0.025, 0.975], axis=0)
    # Single draws may leave the range by sampling error, which cancels in their mean: only what is told is cut off.
    relevance = float(np.clip(shares.mean(), 0.0, 1.0))
    low, high = np.clip(np.quantile(shares, [0.025, 0.975]), 0.0, 1.0)
    return Driver(
        parameter=parameter,
        relevance=relevance,
        lower=min(float(low), relevance),
        upper=max(float(high), relevance),
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
