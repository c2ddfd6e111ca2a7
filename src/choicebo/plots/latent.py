"""Pictures of a posterior's latent functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from choicebo.errors import InvalidInputError
from choicebo.formatting import as_given
from choicebo.insight.held_out import require_posterior
from choicebo.model.engines.base import are_whole
from choicebo.model.posterior import numeric
from choicebo.plots.figure import PALETTE, Array, Units, in_units, literal, new_figure
from choicebo.space.values import as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from choicebo.model.posterior import Posterior


def latent_against_input(
    posterior: Posterior,
    x_range: tuple[float, float] = (0.0, 1.0),
    labels: Sequence[str] | None = None,
    column: int = 0,
    *,
    x_of_unit: Units = None,
    input_name: str = "x",
    order: Sequence[int] | None = None,
) -> Figure:
    """Draw the mean and the 95 % band of each hidden objective against one input; ticks at the bottom mark the options.

    Args:
        posterior: What was learned.
        x_range: The part of the unit interval to draw.
        labels: Names of the objectives.
        column: Which input; the others are held at 0.5.
        x_of_unit: The input's own units: its (low, high), or a function of an array.
        input_name: The label of the axis.
        order: Which latent dimension gets which label and colour, because their own numbering is arbitrary.

    Returns:
        A matplotlib figure.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo import plots
        >>> figure = plots.latent_against_input(posterior, x_of_unit=(150, 220), input_name="temperature")
        >>> figure.axes[0].get_xlabel()
        'temperature'
    """
    require_posterior(posterior)
    figure, (axes,) = new_figure()
    draw_latent(axes, posterior, x_range, labels, column, x_of_unit=x_of_unit, input_name=input_name, order=order)
    figure.legend(loc="outside upper center", ncols=posterior.latent_dim, frameon=False)
    return figure


def draw_latent(
    axes: Axes,
    posterior: Posterior,
    x_range: tuple[float, float] = (0.0, 1.0),
    labels: Sequence[str] | None = None,
    column: int = 0,
    *,
    x_of_unit: Units = None,
    input_name: str = "x",
    order: Sequence[int] | None = None,
    points: int = 400,
) -> None:
    """Draw what `latent_against_input` shows on axes that exist already."""
    latent_dim, dim = posterior.latent_dim, posterior.options.shape[1]
    names = list(labels) if labels is not None else [f"latent function {d + 1}" for d in range(latent_dim)]
    dimensions = list(order) if order is not None else list(range(latent_dim))
    as_text(input_name, "input_name")
    _check(posterior, x_range, names, column, dimensions)
    along = np.linspace(*x_range, points)
    X = np.full((points, dim), 0.5)
    X[:, column] = along
    mean, lower, upper = (values.T[dimensions] for values in posterior.latent(X))
    shown = posterior.options[:, column]
    inside = shown[(shown >= x_range[0]) & (shown <= x_range[1])]
    draw_bands(axes, in_units(along, x_of_unit), mean, lower, upper, names, in_units(inside, x_of_unit))
    axes.set_xlabel(literal(input_name))


def draw_bands(
    axes: Axes,
    x: Array,
    mean: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    names: Sequence[str],
    options: ArrayLike,
) -> None:
    """Draw latent functions with their bands, each ``(latent_dim, points)`` over ``x: (points,)``, and ticks at the options."""
    each = zip(np.asarray(mean), np.asarray(lower), np.asarray(upper), names, strict=True)
    for place, (middle, low, high, name) in enumerate(each):
        colour = PALETTE[place % len(PALETTE)]
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(x, middle, color=colour, linewidth=1.8, label=literal(name))
    # In the axes' own height, so that the ticks stay at the bottom whatever the functions do.
    axes.plot(
        options,
        np.full(np.shape(options), 0.015),
        "|",
        color="0.35",
        markersize=5,
        markeredgewidth=0.6,
        transform=axes.get_xaxis_transform(),
        label="_options shown",
    )
    axes.margins(x=0)
    axes.set_xlabel("x")
    axes.set_ylabel("latent value (noise = 1)")


def matching_order(posterior: Posterior, X: Array, values: Array) -> list[int]:
    """For each known function ``values: (n, n_o)`` at ``X: (n, d)``, the latent dimension most like it.

    For pictures beside the truth: the numbering of the latent dimensions is arbitrary. Dimensions without a
    partner come last.
    """
    from choicebo.model.alignment import order_like

    require_posterior(posterior)
    found, known = posterior.latent(X).mean, numeric(values, "values", "(n, n_o)")
    if known.ndim != 2 or len(known) != len(found) or not np.isfinite(known).all():
        raise InvalidInputError(f"values must be finite numbers of shape ({len(found)}, n_o), got {known.shape}.")
    return [int(d) for d in order_like(found, known)]


def _check(
    posterior: Posterior, x_range: tuple[float, float], names: list[str], column: int, dimensions: list[int]
) -> None:
    latent_dim, dim = posterior.latent_dim, posterior.options.shape[1]
    if not are_whole(column) or not 0 <= column < dim:
        raise InvalidInputError(
            f"column must be from 0 to {dim - 1}, the inputs of the options; got {as_given(column)}."
        )
    ends = numeric(x_range, "x_range", "(2,)")
    if ends.shape != (2,) or not np.isfinite(ends).all() or not ends[0] < ends[1]:
        raise InvalidInputError(
            f"x_range must be (low, high) with low < high in the unit interval, got {as_given(x_range)}."
        )
    if not are_whole(*dimensions) or sorted(dimensions) != list(range(latent_dim)):
        raise InvalidInputError(
            f"order must name each of the {latent_dim} latent dimensions once, got {as_given(dimensions)}."
        )
    if len(names) != latent_dim or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"labels must be {latent_dim} names, one for each latent function, got {as_given(names)}."
        )
