"""Pictures of the toy experiment: what was learned beside what is true."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

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


def toy_panels(posteriors: list[Posterior]) -> Figure:
    """The paper's figure: the latent functions learned from ``PANELS``."""
    figure, axes = plots.new_figure(rows=2, columns=2, size=(10.0, 6.0))
    for each, posterior, (n_choices, set_size) in zip(axes, posteriors, PANELS, strict=True):
        _draw_learned(each, posterior)
        each.set_title(f"N = {n_choices}, |A| = {set_size}", fontsize=10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def panel_posteriors(seed: int = 0, done: Callable[[], None] | None = None) -> list[Posterior]:
    """The posteriors behind :func:`toy_panels`: choices without noise, as in the paper."""
    found = []
    for n_choices, set_size in PANELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a picture, no measurement
            data = toy_dataset(n_choices, set_size=set_size, noise=0.0, n_test=0, seed=seed)
            found.append(ChoiceGP().fit(data.train, seed=seed))
        if done is not None:
            done()
    return found


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
