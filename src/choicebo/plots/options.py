"""Pictures of the options themselves: where they lie in the hidden objectives, and what the best ones have in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given, counted
from choicebo.insight.held_out import require_posterior
from choicebo.insight.known import known_bands
from choicebo.insight.numbering import numbering
from choicebo.model.likelihood import is_number
from choicebo.plots.figure import PALETTE, literal, new_figure
from choicebo.space import KnownObjectives, Objective, Searchable, known_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from choicebo.model.posterior import Posterior

Array = NDArray[np.float64]

_QUIET = "0.72"
_MOST_NUMBERED = 12
_MOST_OTHERS = 120
"""At most so many of the other options are drawn as lines; more would be a grey area."""


def pareto_map(
    posterior: Posterior, threshold: float = 0.5, *, space: Searchable | None = None, names: Sequence[str] = ()
) -> Figure:
    """The options that were answered about in the plane of each two objectives; known ones are in their own units.

    Those that are best with a probability of at least ``threshold`` stand out with their 95 % bands; they are numbered from the
    most probable on.

    Args:
        posterior: What was learned.
        threshold: From which probability on an option counts as one of the best.
        space: The Space or Catalogue of the options; with it, objectives are numbered as ``insight.drivers`` does, and known
            ones are shown.
        names: What the objectives are called, in the order of their numbers; an empty text for one without a name.

    Returns:
        A matplotlib figure with a panel for each pair of objectives.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo import plots
        >>> len(plots.pareto_map(posterior, space=space).axes)
        1
    """
    require_posterior(posterior)
    X = posterior.answered
    titles = [
        literal(names[d]) if d < len(names) and names[d] else f"hidden objective {d + 1}"
        for d in range(posterior.latent_dim)
    ]
    latent = numbering(posterior, space).latent(X)
    mean, (lower, upper) = latent.mean(0), np.quantile(latent, [0.025, 0.975], axis=0)
    falling: set[int] = set()
    known = known_of(space)
    if known is not None:
        drawn, bands = _drawn(posterior, known)
        mean, lower, upper = (np.concatenate(pair, axis=1) for pair in zip((mean, lower, upper), bands, strict=True))
        falling = {posterior.latent_dim + at for at, objective in enumerate(drawn) if objective.minimise}
        titles += [literal(objective.title) for objective in drawn]
    if not titles:
        raise InvalidInputError(
            "This posterior has no hidden objectives; give space=..., whose known objectives can be drawn."
        )
    probability = posterior.pareto_probability(X)
    best = _best(probability, threshold)
    if len(titles) == 1:
        figure, (axes,) = new_figure(size=(6.4, 3.6))
        order = np.argsort(-mean[:, 0] if falling else mean[:, 0])
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        points, low, high = (np.column_stack([place, each[:, 0]]) for each in (mean, lower, upper))
        low[:, 0] = high[:, 0] = place
        _scatter(axes, points, low, high, best)
        axes.set_xticks([])
        axes.set_xlabel("options, from the least to the most liked")
        axes.set_ylabel(titles[0])
        _turn(axes, -1, 0, falling)
        return figure
    pairs = list(combinations(range(len(titles)), 2))
    columns = min(3, len(pairs))
    rows = -(-len(pairs) // columns)
    figure, panels = new_figure(rows, columns, size=(4.3 * columns + 0.4, 3.9 * rows))
    for axes, pair in zip(panels, pairs, strict=False):
        at = list(pair)
        _scatter(axes, mean[:, at], lower[:, at], upper[:, at], best)
        axes.set_xlabel(f"{titles[pair[0]]} →")
        axes.set_ylabel(f"{titles[pair[1]]} →")
        _turn(axes, *pair, falling)
    for axes in panels[len(pairs) :]:
        axes.set_axis_off()
    return figure


def parallel_options(posterior: Posterior, space: Searchable, threshold: float = 0.5) -> Figure:
    """Draw every option that was answered about as a line across its values; the best ones stand out.

    Args:
        posterior: What was learned.
        space: The Space or Catalogue of the options.
        threshold: From which probability on an option counts as one of the best.

    Returns:
        A matplotlib figure.

    Raises:
        InvalidInputError: The space is not that of the posterior, or all options are alike.

    Examples:
        >>> from choicebo import plots
        >>> len(plots.parallel_options(posterior, space).axes) >= 1
        True
    """
    require_posterior(posterior)
    if not isinstance(space, Searchable):
        raise InvalidInputError(f"space is {as_given(space)}; give a Space or a Catalogue.")
    if space.dim != posterior.data.dim:
        raise InvalidInputError(
            f"The space has {space.dim} inputs, but the posterior has {posterior.data.dim}; give the space of its "
            "options."
        )
    options = space.decode(posterior.answered)
    units = {each.name: getattr(each, "unit", "") for each in getattr(space, "parameters", ())}
    known = known_of(space)
    drawn, bands = _drawn(posterior, known) if known is not None else ([], np.empty((3, len(options), 0)))
    for at, objective in enumerate(drawn):
        if objective.formula or objective.measured:
            units[objective.name] = "measured" if objective.measured else "known"
            options = [{**option, objective.name: float(bands[0, row, at])} for row, option in enumerate(options)]
    probability = posterior.pareto_probability(posterior.answered)
    best = _best(probability, threshold)
    named = list(dict.fromkeys([*space.names, *(objective.name for objective in drawn)]))
    names = [name for name in named if len({str(option.get(name)) for option in options}) > 1]
    if not names:
        raise InvalidInputError("All options are alike; there is nothing to draw.")
    figure, (axes,) = new_figure(size=(max(5.0, 1.5 * len(names) + 1.5), 4.0))
    heights = np.column_stack(
        [_axis(axes, at, name, [option[name] for option in options]) for at, name in enumerate(names)]
    )
    along = np.arange(len(names))
    others = np.setdiff1d(np.arange(len(options)), best)
    for row in others[:: -(-len(others) // _MOST_OTHERS) or 1]:
        axes.plot(along, heights[row], color=_QUIET, linewidth=0.7, alpha=0.6, zorder=1)
    for row in best[::-1]:
        strength = 0.35 + 0.65 * float(probability[row])
        axes.plot(along, heights[row], "o-", color=PALETTE[0], linewidth=1.8, markersize=3.5, alpha=strength, zorder=2)
    axes.set_xlim(-0.3, len(names) - 0.7 + 0.5)
    axes.set_ylim(-0.05, 1.05)
    axes.set_xticks(along, [literal(f"{name} ({units[name]})" if units.get(name) else name) for name in names])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_title(
        f"the best: {len(best)} of {counted(len(options), 'option')}; darker is more probable", loc="left", fontsize=10
    )
    return figure


def _drawn(posterior: Posterior, known: KnownObjectives) -> tuple[list[Objective], Array]:
    """The known objectives that can be drawn, and their values and bands at the options, (3, m, k).

    One that was measured too seldom to have an estimate everywhere cannot.
    """
    bands = known_bands(posterior, known, posterior.answered)
    whole = np.atleast_1d(np.isfinite(bands).all((0, 1)))
    return [objective for objective, is_whole in zip(known.objectives, whole, strict=True) if is_whole], bands[
        ..., whole
    ]


def _turn(axes: Axes, across: int, upwards: int, falling: set[int]) -> None:
    """Turn the axes along which less is better, so that the best are always further right and up."""
    if across in falling:
        axes.invert_xaxis()
    if upwards in falling:
        axes.invert_yaxis()


def _best(probability: Array, threshold: float) -> NDArray[np.intp]:
    """Rows of the best options, most probable first; never none."""
    if not is_number(threshold):
        raise InvalidInputError(f"threshold is {as_given(threshold)}; give a probability from 0 to 1.")
    order = np.argsort(-probability, kind="stable")
    return order[probability[order] >= min(threshold, float(probability.max()))]


def _scatter(axes: Axes, mean: Array, lower: Array, upper: Array, best: NDArray[np.intp]) -> None:
    """All options as points; only the best have their bands, which would hide each other otherwise."""
    others = np.setdiff1d(np.arange(len(mean)), best)
    axes.plot(*mean[others].T, "o", color=_QUIET, markersize=3.5, zorder=1)
    x, y = mean[best].T
    axes.hlines(y, lower[best, 0], upper[best, 0], color=PALETTE[0], linewidth=0.8, alpha=0.35, zorder=2)
    axes.vlines(x, lower[best, 1], upper[best, 1], color=PALETTE[0], linewidth=0.8, alpha=0.35, zorder=2)
    axes.plot(x, y, "o", color=PALETTE[0], markersize=6.0, zorder=3)
    for number, row in enumerate(best[:_MOST_NUMBERED], start=1):
        axes.annotate(str(number), mean[row], (5, 4), textcoords="offset points", fontsize=8, color=PALETTE[0])


def _axis(axes: Axes, at: int, name: str, values: Sequence[Any]) -> Array:
    """Draw one vertical axis with its ends or categories; the heights (n,) of the values on it."""
    axes.axvline(at, color="0.3", linewidth=0.8, zorder=0)
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        numbers = np.array(values, dtype=np.float64)
        low, high = float(numbers.min()), float(numbers.max())
        ticks = {0.0: f"{low:.4g}", 1.0: f"{high:.4g}"}
        heights = (numbers - low) / (high - low)
    else:
        levels = sorted({str(value) for value in values})
        place = {level: number / (len(levels) - 1) for number, level in enumerate(levels)}
        ticks = {height: level for level, height in place.items()}
        heights = np.array([place[str(value)] for value in values])
    for height, text in ticks.items():
        axes.text(
            at + 0.04,
            height,
            text,
            fontsize=8,
            color="0.25",
            va="center",
            parse_math=False,
            zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        )
    return heights
