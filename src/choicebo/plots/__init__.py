"""Pictures for people. Each is a ``matplotlib.figure.Figure``: ``figure.savefig("name.png")`` writes it.

The figures are made without pyplot, so no window opens and no global state changes.
"""

from __future__ import annotations

from choicebo.plots.figure import PALETTE, Units, in_units, new_figure
from choicebo.plots.insight import (
    dimension_scores,
    driver_bars,
    effect_curves,
    reliability,
    surprise_marks,
)
from choicebo.plots.latent import draw_bands, draw_latent, latent_against_input, matching_order
from choicebo.plots.options import parallel_options, pareto_map

__all__ = [
    "PALETTE",
    "Units",
    "dimension_scores",
    "draw_bands",
    "draw_latent",
    "driver_bars",
    "effect_curves",
    "in_units",
    "latent_against_input",
    "matching_order",
    "new_figure",
    "parallel_options",
    "pareto_map",
    "reliability",
    "surprise_marks",
]
