"""Pictures of the toy experiment: what was learned beside what is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from choicebo import plots
from choicebo.experiments.problems import TOY_BOUNDS, toy_2d
from choicebo.experiments.toy import toy_dataset
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = ((50, 3), (50, 5), (150, 3), (150, 5))
"""Number of choices and size of the sets in the panels of the paper's figure."""
_GRID = 200
_UNIT = np.linspace(0.0, 1.0, _GRID)
_NAMES = ("cos 2x", "−sin 2x")


def learned_and_true(posterior: Posterior) -> Figure:
    """The latent functions learned from toy choices, above the functions that made the choices."""
    figure, (above, below) = plots.new_figure(rows=2, size=(7.5, 6.0))
    plots.draw_latent(above, posterior, labels=_NAMES, x_of_unit=TOY_BOUNDS, order=_order(posterior))
    above.set_title("learned from the choices: mean and 95 % band", loc="left", fontsize=10)
    above.set_xlabel("")
    x = np.linspace(*TOY_BOUNDS, 400)
    for values, colour in zip(toy_2d(x).T, plots.PALETTE, strict=False):
        below.plot(x, values, color=colour, linewidth=1.8)
    below.margins(x=0)
    below.set_xlabel("x")
    below.set_ylabel("g(x)")
    below.set_title(
        "true objectives, which the model never saw (only their order can be learned)", loc="left", fontsize=10
    )
    figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def toy_panels(learned: Mapping[tuple[int, int], Mapping[str, Any]]) -> Figure:
    """The paper's figure: the latent functions that :func:`learned_on_toy` found for each of ``PANELS``."""
    figure, axes = plots.new_figure(rows=2, columns=2, size=(10.0, 6.0))
    x = np.linspace(*TOY_BOUNDS, _GRID)
    for each, panel in zip(axes, PANELS, strict=True):
        each.set_title(f"N = {panel[0]}, |A| = {panel[1]}", fontsize=10)
        if panel in learned:
            plots.draw_bands(each, x, **learned[panel], names=_NAMES)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def learned_on_toy(n_choices: int, set_size: int, seed: int = 0) -> dict[str, Any]:
    """Mean and 95 % band of both latent functions over [-4.5, 4.5], learned from choices without noise.

    As JSON values: ``mean``, ``lower`` and ``upper``, each with one list per objective, in the objectives' order.
    """
    data = toy_dataset(n_choices, set_size=set_size, noise=0.0, n_test=0, seed=seed)
    posterior = ChoiceGP().fit_silently(data.train, seed=seed)
    summary, order = posterior.latent(_UNIT[:, None]), _order(posterior)
    found: dict[str, Any] = {name: values[:, order].T.round(4).tolist() for name, values in summary._asdict().items()}
    return found | {"options": plots.in_units(posterior.options[:, 0], TOY_BOUNDS).round(4).tolist()}


def _order(posterior: Posterior) -> list[int]:
    """Which latent dimension is which objective."""
    return plots.matching_order(posterior, _UNIT[:, None], toy_2d(plots.in_units(_UNIT, TOY_BOUNDS)))
