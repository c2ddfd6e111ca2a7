"""Pictures of the toy experiment: what was learned beside what is true."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from choicebo import plots
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.problems import TOY_BOUNDS, toy_2d
from choicebo.experiments.toy import toy_dataset
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = ((50, 3), (50, 5), (150, 3), (150, 5))
"""Number of choices and size of the sets in the panels of the paper's figure."""
_GRID = 200
_NAMES = ("cos 2x", "−sin 2x")


def learned_and_true(posterior: Posterior) -> Figure:
    """The latent functions learned from toy choices, above the functions that made the choices."""
    figure, (above, below) = plots.new_figure(rows=2, size=(7.5, 6.0))
    _draw_learned(above, posterior)
    above.set_title("learned from the choices: mean and 95 % band", loc="left", fontsize=10)
    above.set_xlabel("")
    _draw_true(below)
    below.set_title(
        "true objectives, which the model never saw (only their order can be learned)",
        loc="left",
        fontsize=10,
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
            _draw_bands(each, x, learned[panel])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def learned_on_toy(n_choices: int, set_size: int, seed: int = 0) -> dict[str, Any]:
    """Mean and 95 % band of both latent functions over [-4.5, 4.5], learned from choices without noise.

    As JSON values: ``mean``, ``lower`` and ``upper``, each with one list per objective, in the objectives' order.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a picture, no measurement
        data = toy_dataset(n_choices, set_size=set_size, noise=0.0, n_test=0, seed=seed)
        posterior = ChoiceGP().fit(data.train, seed=seed)
    unit = np.linspace(0.0, 1.0, _GRID)
    order = plots.matching_order(posterior, unit[:, None], toy_2d(plots.in_units(unit, TOY_BOUNDS)))
    summary = posterior.latent(unit[:, None])
    found: dict[str, Any] = {name: values[:, order].T.round(4).tolist() for name, values in summary._asdict().items()}
    return found | {"options": plots.in_units(posterior.options[:, 0], TOY_BOUNDS).round(4).tolist()}


def _draw_bands(axes: Axes, x: NDArray[np.float64], learned: Mapping[str, Any]) -> None:
    for d, (name, colour) in enumerate(zip(_NAMES, plots.PALETTE, strict=False)):
        axes.fill_between(x, learned["lower"][d], learned["upper"][d], color=colour, alpha=0.2, linewidth=0)
        axes.plot(x, learned["mean"][d], color=colour, linewidth=1.8, label=name)
    axes.plot(
        learned["options"],
        np.full(len(learned["options"]), 0.015),
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


def _draw_learned(axes: Axes, posterior: Posterior) -> None:
    unit = np.linspace(0.0, 1.0, 200)
    order = plots.matching_order(posterior, unit[:, None], toy_2d(plots.in_units(unit, TOY_BOUNDS)))
    plots.draw_latent(axes, posterior, labels=_NAMES, x_of_unit=TOY_BOUNDS, order=order)


def _draw_true(axes: Axes) -> None:
    x = np.linspace(*TOY_BOUNDS, 400)
    for values, colour in zip(toy_2d(x).T, plots.PALETTE, strict=False):
        axes.plot(x, values, color=colour, linewidth=1.8)
    axes.margins(x=0)
    axes.set_xlabel("x")
    axes.set_ylabel("g(x)")
