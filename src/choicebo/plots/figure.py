"""Empty figures, colours and units that all pictures share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError
from choicebo.extras import needs
from choicebo.formatting import as_given, printable

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
    with needs("plots", "A picture"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=150, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    return figure, axes


def require(given: object, kind: Any, what: str, source: str, *, of: type | None = None) -> None:
    """Refuse what cannot be drawn, and say which function returns what can; ``of`` is the type of a list's items."""
    if not isinstance(given, kind) or (of is not None and not all(isinstance(each, of) for each in given)):
        raise InvalidInputError(f"{what} is {as_given(given)}; give what {source} returned.")


def literal(text: str) -> str:
    """A name as it is written in a picture: a dollar sign in it does not begin a formula.

    Examples:
        >>> literal("price in $ (US$)")
        'price in \\\\$ (US\\\\$)'
    """
    return printable(text).replace("$", r"\$")


def in_units(values: Array, x_of_unit: Units) -> Array:
    """Values of the unit interval in an input's own units.

    Examples:
        >>> in_units(np.array([0.0, 0.5]), (10.0, 20.0)).tolist()
        [10.0, 15.0]
    """
    if x_of_unit is None:
        return values
    try:
        if callable(x_of_unit):
            return np.broadcast_to(np.asarray(x_of_unit(values), dtype=np.float64), np.shape(values))
        low, high = x_of_unit
        return np.asarray(low + np.asarray(values) * (high - low), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(
            f"x_of_unit is {as_given(x_of_unit)}; give (low, high) in the input's own units, or a function from "
            "an array "
            "to one of the same shape."
        ) from None
