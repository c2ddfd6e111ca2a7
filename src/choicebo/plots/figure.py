"""Empty figures, colours and units that all pictures share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from choicebo.formatting import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Units: TypeAlias = "tuple[float, float] | Callable[[Array], Array] | None"
"""From the unit interval to an input's own units: its (low, high), a function of an array, or not at all."""

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which stay apart for colour-blind readers; one per latent function."""


def new_figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (7.0, 4.0)) -> tuple[Figure, list[Axes]]:
    """An empty figure and its axes, row by row; ``size`` in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=150, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def literal(text: str) -> str:
    """A name as it is written in a picture: a dollar sign in it does not begin a formula.

    >>> literal("price in $ (US$)")
    'price in \\\\$ (US\\\\$)'
    """
    return printable(text).replace("$", r"\$")


def in_units(values: Array, x_of_unit: Units) -> Array:
    """Values of the unit interval in an input's own units.

    >>> in_units(np.array([0.0, 0.5]), (10.0, 20.0)).tolist()
    [10.0, 15.0]
    """
    if x_of_unit is None:
        return values
    if callable(x_of_unit):
        return np.asarray(x_of_unit(values), dtype=np.float64)
    low, high = x_of_unit
    return low + values * (high - low)
