"""Pictures of what a person wants to know; each takes what `insight` or the selection of the dimension returns."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING

import numpy as np

from choicebo.errors import InvalidInputError
from choicebo.insight import Calibration, Objective, Surprise
from choicebo.model.dimension import DimensionSelection
from choicebo.plots.figure import PALETTE, literal, new_figure, require
from choicebo.space.values import as_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from choicebo.insight import Calibration, Driver, Objective, Surprise
    from choicebo.model.dimension import DimensionSelection

_QUIET = "0.62"


def dimension_scores(selection: DimensionSelection) -> Figure:
    """Draw the leave-one-out score of each number of hidden objectives with its standard error; the chosen one stands out.

    Args:
        selection: What `select_latent_dim` returned.

    Returns:
        A matplotlib figure.

    Raises:
        InvalidInputError: It is something else.

    Examples:
        >>> from choicebo import plots
        >>> selection = cb.select_latent_dim(data, max_dim=2, model=cb.ChoiceGP(engine="laplace"), refit_limit=0)
        >>> len(plots.dimension_scores(selection).axes)
        1
    """
    require(selection, DimensionSelection, "selection", "select_latent_dim")
    figure, (axes,) = new_figure(size=(6.0, 3.6))
    for row in selection.table:
        chosen = row.latent_dim == selection.best
        colour = PALETTE[0] if chosen else _QUIET
        axes.errorbar(row.latent_dim, row.elpd, row.se, fmt="o", color=colour, capsize=4, markersize=8)
        if row.difference != 0.0:
            text = f"{row.difference:+.1f} ± {row.difference_se:.1f}"
            axes.annotate(
                text,
                (row.latent_dim, row.elpd),
                (9, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color="0.3",
            )
    numbers = [row.latent_dim for row in selection.table]
    axes.set_xticks(numbers)
    axes.set_xlim(min(numbers) - 0.5, max(numbers) + 0.9)
    axes.set_xlabel("number of hidden objectives")
    axes.set_ylabel("leave-one-out score")
    axes.set_title(f"{selection.best} chosen; figures: paired difference to the best score", loc="left", fontsize=10)
    return figure


def surprise_marks(surprises: Sequence[Surprise]) -> Figure:
    """Draw how surprising each answer is, in the order given; those to look at again stand out.

    Args:
        surprises: What `insight.surprises` returned.

    Returns:
        A matplotlib figure.

    Raises:
        InvalidInputError: It is something else.

    Examples:
        >>> from choicebo import plots
        >>> from choicebo.insight import surprises
        >>> len(plots.surprise_marks(surprises(posterior, refits=0)).axes)
        1
    """
    require(surprises, list | tuple, "surprises", "insight.surprises", of=Surprise)
    figure, (axes,) = new_figure(size=(7.0, 3.2))
    if not surprises:
        _say(axes, "not enough answers yet")
        return figure
    number = np.array([each.choice + 1 for each in surprises])
    height = np.array([each.surprise for each in surprises])
    noteworthy = np.array([each.noteworthy for each in surprises])
    for mask, colour, label in (
        (~noteworthy, _QUIET, "like the others"),
        (noteworthy, PALETTE[1], "worth a second look"),
    ):
        if mask.any():
            axes.vlines(number[mask], 0.0, height[mask], color=colour, linewidth=1.4)
            axes.plot(number[mask], height[mask], "o", color=colour, markersize=5, label=label)
    for x, y in zip(number[noteworthy], height[noteworthy], strict=True):
        axes.annotate(f"{x}", (x, y), (0, 5), textcoords="offset points", ha="center", fontsize=8)
    axes.set_ylim(0.0, max(8.0, 1.15 * float(height.max())))
    axes.set_xlim(0.0, number.max() + 1.0)
    axes.set_xlabel("answer")
    axes.set_ylabel("surprise (times the usual)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def driver_bars(objectives: Sequence[Objective], most: int = 8) -> Figure:
    """Draw how much of each hidden objective each parameter explains, with the 95 % interval and the best value or direction.

    Args:
        objectives: What `insight.drivers` returned.
        most: How many parameters at most.

    Returns:
        A matplotlib figure with a panel for each objective.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo import plots
        >>> from choicebo.insight import drivers
        >>> len(plots.driver_bars(drivers(posterior, space)).axes)
        2
    """
    names = _by_relevance(objectives)[: max(1, as_count(most, "most"))]
    height = 1.3 + 0.36 * len(names)
    figure, panels = new_figure(columns=len(objectives), size=(max(4.6, 3.1 * len(objectives) + 0.8), height))
    places = np.arange(len(names))[::-1]
    for at, (axes, objective) in enumerate(zip(panels, objectives, strict=True)):
        found = {each.parameter: each for each in objective.drivers}
        shown = [found[name] for name in names]
        colour = PALETTE[at % len(PALETTE)]
        axes.barh(places, [each.relevance for each in shown], height=0.62, color=colour, alpha=0.75)
        axes.hlines(places, [each.lower for each in shown], [each.upper for each in shown], color="0.2", linewidth=1.0)
        for place, each in zip(places, shown, strict=True):
            if each.relevance >= 0.05:
                axes.text(
                    max(each.upper, each.relevance) + 0.03, place, _best(each), va="center", fontsize=8, color="0.25"
                )
        axes.set_xlim(0.0, 1.3)
        axes.set_xticks([0.0, 0.5, 1.0], ["0 %", "50 %", "100 %"])
        axes.set_yticks(places, [literal(name) for name in names] if at == 0 else [""] * len(names))
        axes.set_title(literal(objective.title), fontsize=10)
    figure.supxlabel("share explained by the parameter alone", fontsize=9)
    return figure


def effect_curves(objectives: Sequence[Objective], most: int = 4) -> Figure:
    """Draw each hidden objective over its most relevant parameters, averaged over the others, with 95 % bands.

    Args:
        objectives: What `insight.drivers` returned.
        most: How many parameters at most.

    Returns:
        A matplotlib figure.

    Raises:
        InvalidInputError: An argument cannot be used.

    Examples:
        >>> from choicebo import plots
        >>> from choicebo.insight import drivers
        >>> len(plots.effect_curves(drivers(posterior, space), most=1).axes) >= 1
        True
    """
    names = _by_relevance(objectives)[: max(1, as_count(most, "most"))]
    figure, panels = new_figure(columns=len(names), size=(max(4.2, 2.5 * len(names)), 3.0))
    for axes, name in zip(panels, names, strict=True):
        for at, objective in enumerate(objectives):
            driver = next(each for each in objective.drivers if each.parameter == name)
            colour = PALETTE[at % len(PALETTE)]
            numeric = all(isinstance(value, Number) and not isinstance(value, bool) for value in driver.values)
            if numeric:
                x = np.array(driver.values, dtype=float)
                axes.fill_between(x, driver.effect_lower, driver.effect_upper, color=colour, alpha=0.18, linewidth=0)
                axes.plot(x, driver.effect, color=colour, linewidth=1.8)
            else:
                x = np.arange(len(driver.values)) + 0.14 * (at - (len(objectives) - 1) / 2)
                spread = np.array([driver.effect - driver.effect_lower, driver.effect_upper - driver.effect])
                axes.errorbar(x, driver.effect, np.maximum(spread, 0.0), fmt="o", color=colour, capsize=3, markersize=5)
                axes.set_xticks(range(len(driver.values)), [literal(str(value)) for value in driver.values], fontsize=8)
        axes.set_xlabel(literal(f"{name} ({driver.unit})" if driver.unit else name))
    low, high = np.min([axes.get_ylim() for axes in panels]), np.max([axes.get_ylim() for axes in panels])
    for axes in panels:
        axes.set_ylim(low, high)
        if axes is not panels[0]:
            axes.set_yticklabels([])
    panels[0].set_ylabel("effect (noise = 1)")
    handles = [
        panels[0].plot([], [], color=PALETTE[at % len(PALETTE)], label=literal(objective.title))[0]
        for at, objective in enumerate(objectives)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(objectives), frameon=False)
    return figure


def reliability(calibration: Calibration) -> Figure:
    """Draw predicted probabilities against observed shares; well-calibrated predictions lie on the diagonal.

    Args:
        calibration: What `insight.calibration` returned.

    Returns:
        A matplotlib figure.

    Raises:
        InvalidInputError: It is something else.

    Examples:
        >>> from choicebo import plots
        >>> from choicebo.insight import calibration
        >>> len(plots.reliability(calibration(posterior)).axes) >= 1
        True
    """
    require(calibration, Calibration, "calibration", "insight.calibration")
    figure, (axes,) = new_figure(size=(4.6, 4.4))
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1.0, linestyle="--")
    spread = np.array([calibration.observed - calibration.lower, calibration.upper - calibration.observed])
    axes.errorbar(
        calibration.predicted,
        calibration.observed,
        spread,
        fmt="o-",
        color=PALETTE[0],
        capsize=3,
        linewidth=1.2,
        markersize=6,
    )
    for x, y, count in zip(calibration.predicted, calibration.observed, calibration.count, strict=True):
        axes.annotate(f"{count}", (x, y), (7, -11), textcoords="offset points", fontsize=8, color="0.35")
    axes.set_xlim(-0.03, 1.06)
    axes.set_ylim(-0.09, 1.06)
    axes.set_aspect("equal")
    axes.set_xlabel("predicted probability of being kept")
    axes.set_ylabel("share that was kept")
    axes.set_title(
        f"log score {calibration.log_score:.2f} (guessing {calibration.guessing:.2f}); figures: options in the bin",
        loc="left",
        fontsize=8,
    )
    return figure


def _best(driver: Driver) -> str:
    """What is best of a parameter, in a word or two."""
    if driver.direction in ("more", "less"):
        return {"more": "higher", "less": "lower"}[driver.direction]
    if not driver.clear:
        return "not clear"
    best = f"{driver.best:.3g}" if isinstance(driver.best, float) else str(driver.best)
    return literal(best if driver.direction == "category" else f"around {best}")


def _by_relevance(objectives: Sequence[Objective]) -> list[str]:
    """The names of the parameters, the most relevant first."""
    require(objectives, list | tuple, "objectives", "insight.drivers", of=Objective)
    if not objectives:
        raise InvalidInputError(
            "There are no hidden objectives to draw; give what insight.drivers() returned for a model that has some."
        )
    best: dict[str, float] = {}
    for objective in objectives:
        for each in objective.drivers:
            best[each.parameter] = max(best.get(each.parameter, 0.0), each.relevance)
    return sorted(best, key=lambda name: -best[name])


def _say(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color="0.4", transform=axes.transAxes)
