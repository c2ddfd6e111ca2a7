"""What drives each hidden objective: how much each parameter matters, and in which direction."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, percent, value_text
from choicebo.insight.context_changes import ContextChange, context_changes
from choicebo.insight.held_out import require_posterior
from choicebo.insight.numbering import Numbering, samples
from choicebo.model.covariance import covariance
from choicebo.model.posterior import Posterior
from choicebo.space import Catalogue, Column, Searchable, Space
from choicebo.space.context import contexts_of
from choicebo.space.points import rows_in
from choicebo.space.values import as_generator

Array = NDArray[np.float64]

_GRID = 9
_TURNS = 12
"""Values at which a circular parameter is evaluated."""
_STEPS = 64
"""The reachable part of a continuous parameter is rounded to this many parts of its range."""
_MOST_CATEGORIES = 16
"""Of a parameter with more categories, only the most frequent are evaluated."""
_MATTERS = 0.05
"""Parameters that explain less of an objective are not mentioned."""
_SURE = 0.9
"""Share of the draws that must agree on a direction before it is reported."""
_CLEAR = 0.75
"""Share of the draws that must put the best value above each other category, or above the ends of the range."""
_MONOTONE = 0.92
"""A curve has a direction if its ends differ by this share of its whole range."""


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
    """``"more"``, ``"less"``, ``"mixed"`` (a best value inside, or no clear direction), or ``"category"``."""
    best: Any
    """The value at which the effect is highest."""
    values: tuple[Any, ...]
    """Values of the parameter at which the effect is given."""
    effect: Array
    """(values,): mean of the objective with the parameter at each value, averaged over the others (partial dependence)."""
    effect_lower: Array
    effect_upper: Array
    unit: str = ""
    clear: bool = True
    """Whether most draws agree that the best value is better than the ends of the range, or than the other categories; of what
    goes round, than the opposite value."""

    @property
    def told(self) -> str:
        """What is best, in words: ``hue around 45° is best``."""
        best = f"{self.best:.3g}" if isinstance(self.best, float) else value_text(self.best)
        best += self.unit if self.unit == "°" else f" {self.unit}" if self.unit else ""
        if self.direction in ("more", "less"):
            return f"{'higher' if self.direction == 'more' else 'lower'} {self.parameter} is better"
        if not self.clear:
            return f"{self.parameter} matters, but its best value is not clear yet"
        return (
            f"{self.parameter} {best} is best"
            if self.direction == "category"
            else f"{self.parameter} around {best} is best"
        )


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
    name: str = ""
    """The name that a person gave it; empty if it has none."""
    changes: tuple[ContextChange, ...] = ()
    """How much of it changes with each `Context` of the space."""

    @property
    def main_drivers(self) -> tuple[Driver, ...]:
        """The parameters that matter; never none."""
        return tuple(each for each in self.drivers if each.relevance >= _MATTERS) or self.drivers[:1]

    @property
    def title(self) -> str:
        """Its name, or its number."""
        return self.name or f"hidden objective {self.number}"

    @property
    def sentence(self) -> str:
        """What drives it, in words."""
        told = [f"{each.told} ({percent(each.relevance)} of it)" for each in self.drivers if each.relevance >= _MATTERS]
        title = self.title[:1].upper() + self.title[1:]
        parts = [*(told[:3] or ["no single parameter drives it clearly"]), *(each.told for each in self.changes)]
        return f"{title}: {'; '.join(parts)}."


def drivers(
    posterior: Posterior,
    space: Searchable | None = None,
    *,
    context: Mapping[str, Any] | None = None,
    like: Posterior | None = None,
    draws: int = 100,
    seed: int = 0,
) -> list[Objective]:
    """Find how much every parameter matters for every hidden objective, and in which direction.

    Latent dimensions are aligned across draws; the objective that varies most over the space comes first. A `Context` is no
    driver: nobody chooses it, and no answer compares two of its values.

    Args:
        posterior: What was learned.
        space: The Space or Catalogue of the options; None: each input is a parameter from 0 to 1.
        context: Where the space has a `Context`: its value, for what matters in it. None: on average over all of them.
        like: An earlier posterior over the same space whose numbering to keep.
        draws: How many draws to look at.
        seed: Of the points over which effects are averaged.

    Returns:
        The objectives, each with its ``drivers``, the most relevant first, how much of it ``changes`` with each context, and a
        ``sentence``.

    Raises:
        InvalidInputError: ``posterior``, ``like`` or ``space`` is something else, or a context is missing.

    Examples:
        >>> from choicebo.insight import drivers
        >>> objectives = drivers(posterior, space)
        >>> sorted(driver.parameter for driver in objectives[0].drivers)
        ['minutes', 'temperature']
    """
    require_posterior(posterior)
    if like is not None:
        require_posterior(like, "like")
    as_generator(seed)
    if space is not None and not isinstance(space, Searchable):
        raise InvalidInputError(f"space is {as_given(space)}; give a Space or a Catalogue.")
    columns = space.columns if space is not None else plain_columns(posterior.options.shape[1])
    if len(columns) != posterior.options.shape[1]:
        raise InvalidInputError(
            f"The space has {len(columns)} columns, but the model learned from {posterior.options.shape[1]}; give "
            "the space of its options."
        )
    if like is not None and like.options.shape[1] != len(columns):
        raise InvalidInputError(
            f"like learned from {like.options.shape[1]} inputs, but this model from {len(columns)}; give a "
            "posterior about the same space."
        )
    survey, *halves = samples(space, len(columns), seed)
    numbered = Numbering.of(posterior, halves, like, draws, seed)
    changes = context_changes(numbered, space, np.concatenate(halves))
    if context and isinstance(space, Space):
        # Objectives keep their numbers from one context to the next.
        survey, *halves = samples(space.within(context), len(columns), seed)
    background = np.concatenate(halves)
    dims, spreads = numbered.dims, numbered.latent(background).mean(0).std(0)
    units = _units(space)
    parts: list[list[Driver]] = [[] for _ in dims]
    contexts = [] if space is None else [each.name for each in contexts_of(space)]
    for parameter in dict.fromkeys(column.parameter for column in columns if column.parameter not in contexts):
        mine = [at for at, column in enumerate(columns) if column.parameter == parameter]
        scale = scale_of(columns[mine[0]], survey[:, mine])
        points = moved(background, mine, scale.settings)
        effects = numbered.latent(points.reshape(-1, len(columns))).reshape(draws, *points.shape[:2], -1)
        curves, shares = effects.mean(2), sobol_indices(effects, len(halves[0]), scale.basis)
        values = _values(space, parameter, points[:, 0], scale)
        column, unit = columns[mine[0]], units.get(parameter, "")
        circular = len(mine) == 2 and column.kind != "onehot"
        for number, found in enumerate(parts):
            length = _lengthscale_relevance(posterior, dims[number], mine)
            found.append(
                _driver(parameter, unit, column, circular, values, curves[..., number], shares[:, number], length)
            )
    return [
        _objective(number, dims[number], float(spreads[number]), found, changes[number])
        for number, found in enumerate(parts)
    ]


def _units(space: Searchable | None) -> dict[str, str]:
    return {each.name: getattr(each, "unit", "") for each in getattr(space, "parameters", ())}


def plain_columns(dim: int) -> tuple[Column, ...]:
    """Inputs without a space: each is a parameter of its own."""
    return tuple(Column(f"x{d}", f"x{d}", "continuous") for d in range(dim))


class Scale(NamedTuple):
    """The values at which the effect of a parameter is evaluated, and how often each occurs."""

    settings: Array
    """(values, width): cube values of the parameter's columns."""
    basis: Array
    """(survey, values): ``basis @ curve`` is the curve at the values that the parameter has in the survey."""


def scale_of(column: Column, survey: Array) -> Scale:
    """The settings of a parameter whose columns are ``survey: (points, width)`` over the space."""
    if survey.shape[1] == 2 and column.kind != "onehot":
        return _circular_scale(survey)
    if column.kind == "continuous":
        # A constraint may leave a part of the range out of reach; the ends of a whole range are never sampled exactly.
        low = min(np.floor(_STEPS * survey.min()), _STEPS - 1)
        high = max(np.ceil(_STEPS * survey.max()), low + 1)
        settings = np.linspace(low, high, _GRID) / _STEPS
        return Scale(settings[:, None], np.asarray(CubicSpline(settings, np.eye(_GRID))(survey[:, 0])))
    settings, place, count = np.unique(survey, axis=0, return_inverse=True, return_counts=True)
    if column.kind == "onehot":
        common = np.sort(np.argsort(-count, kind="stable")[:_MOST_CATEGORIES])
        belongs = place.reshape(-1, 1) == common
        return Scale(settings[common], belongs[belongs.any(1)].astype(np.float64))
    settings = settings[np.unique(np.linspace(0, len(settings) - 1, _GRID).round().astype(int))]
    # Straight between settings: where they lie unevenly a smooth curve would overshoot.
    basis = [np.interp(survey[:, 0], settings[:, 0], unit) for unit in np.eye(len(settings))]
    return Scale(settings, np.stack(basis, axis=1))


def _circular_scale(survey: Array) -> Scale:
    """The settings of a parameter that goes round: its two columns ``survey: (points, 2)`` are places on a circle."""
    turns = np.arange(_TURNS) / _TURNS
    circle = 0.5 + 0.5 * np.column_stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])
    place = np.arctan2(survey[:, 1] - 0.5, survey[:, 0] - 0.5) / (2 * np.pi)
    basis = [np.interp(place, turns, unit, period=1.0) for unit in np.eye(_TURNS)]
    return Scale(circle, np.stack(basis, axis=1))


def moved(background: Array, mine: list[int], settings: Array) -> Array:
    """(values, background, dim): the background with one parameter moved to each of its settings."""
    points = np.repeat(background[None], len(settings), axis=0)
    points[:, :, mine] = settings[:, None]
    return points


def _values(space: Searchable | None, parameter: str, points: Array, scale: Scale) -> tuple[Any, ...]:
    """What the settings are called; ``points: (values, dim)`` have them."""
    if space is None:
        return tuple(float(value) for value in scale.settings[:, 0])
    if isinstance(space, Catalogue):
        # The row nearest to a point may have another value of the parameter: a row that has this one says what it is.
        mine = [at for at, column in enumerate(space.columns) if column.parameter == parameter]
        return tuple(space.rows[row][parameter] for row in rows_in(space.X[:, mine], scale.settings))
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
    parameter: str,
    unit: str,
    column: Column,
    circular: bool,
    values: tuple[Any, ...],
    curves: Array,
    shares: Array,
    length: float,
) -> Driver:
    centred = curves - curves.mean(1, keepdims=True)
    mean = centred.mean(0)
    lower, upper = np.quantile(centred, [0.025, 0.975], axis=0)
    # Single draws may leave the range by sampling error, which cancels in their mean: only what is told is cut off.
    relevance = float(np.clip(shares.mean(), 0.0, 1.0))
    low, high = np.clip(np.quantile(shares, [0.025, 0.975]), 0.0, 1.0)
    is_category = column.kind == "onehot" or isinstance(values[0], str | bool)
    best = int(mean.argmax())
    if is_category:
        others = np.arange(len(values))
    elif circular:
        others = np.array([(best + len(values) // 2) % len(values)])
    else:
        others = np.array([0, len(values) - 1])
    above = centred[:, [best]] > centred[:, others[others != best]]
    return Driver(
        parameter=parameter,
        relevance=relevance,
        lower=min(float(low), relevance),
        upper=max(float(high), relevance),
        lengthscale_relevance=length,
        direction="category" if is_category else "mixed" if circular else _direction(centred),
        best=values[best],
        values=values,
        effect=mean,
        effect_lower=lower,
        effect_upper=upper,
        unit=unit,
        clear=bool((above.mean(0) >= _CLEAR).all()),
    )


def _direction(curves: Array) -> str:
    """Whether the curves (draws, values) rise or fall; it must hold for the mean curve's shape and for most draws."""
    place = np.linspace(-1.0, 1.0, curves.shape[1])
    mean = curves.mean(0)
    monotone = abs(float(mean[-1] - mean[0])) >= _MONOTONE * float(np.ptp(mean))
    rising = float((curves @ place > 0).mean())
    if not monotone or max(rising, 1.0 - rising) < _SURE:
        return "mixed"
    return "more" if rising > 0.5 else "less"


def _objective(
    number: int, latent_dim: int, spread: float, found: list[Driver], changes: tuple[ContextChange, ...]
) -> Objective:
    ranked = tuple(sorted(found, key=lambda each: -each.relevance))
    return Objective(number + 1, latent_dim, spread, ranked, changes=changes)
