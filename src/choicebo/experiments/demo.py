"""A simulated person on Branin-Currin: how far the questions get, and what was found."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from choicebo import plots
from choicebo.errors import ConvergenceWarning, InvalidInputError
from choicebo.experiments.choosers import Chooser
from choicebo.experiments.problems import Problem, problem
from choicebo.optimizer import ChoiceOptimizer, ParetoOption
from choicebo.pareto import non_dominated
from choicebo.space.points import point_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]

PROBLEM = "branin-currin"
OBJECTIVES = ("Branin", "Currin")
_GRID = 500


@dataclass(frozen=True, eq=False)
class Course:
    """What the person was shown, and how close it came to the true front."""

    target: Problem
    values: Array
    """True objective values of all options shown, in order: (n, 2), to be maximised."""
    shown: tuple[int, ...]
    """How many different options had been shown after each answer."""
    log_differences: tuple[float, ...]
    """log10 of the hypervolume still missing after each answer."""
    found: tuple[ParetoOption, ...]
    """What the model believes to be the Pareto set."""

    @property
    def found_values(self) -> Array:
        """True objective values of the Pareto set found: (n, 2)."""
        return self.target.objectives(self.target.space.encode([each.option for each in self.found]))

    def by_chance(self, seed: int = 0) -> list[float]:
        """The same course for as many options spread evenly over the space, whatever the answers."""
        values = self.target.objectives(self.target.space.sobol(self.shown[-1], seed=seed))
        return [self.target.log_hypervolume_difference(values[:count]) for count in self.shown]


def run(
    answers: int,
    seed: int = 0,
    *,
    progress: Progress | None = None,
    answered: Callable[[int, float], None] = lambda number, difference: None,
    **settings: Any,
) -> Course:
    """Let the simulated person answer; ``answered(number, log difference)`` is called after each answer.

    ``settings`` are keyword arguments of ``ChoiceOptimizer``.
    """
    if answers < 1:
        raise InvalidInputError(f"answers is {answers}; give at least 1.")
    target = problem(PROBLEM)
    person, rng = Chooser(target.objectives), np.random.default_rng(seed)
    optimizer = ChoiceOptimizer(target.space, latent_dim=target.num_objectives, seed=seed, **settings)
    seen: dict[bytes, Array] = {}
    shown, differences = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # dozens of fits; what counts is where they lead
        for number in range(1, answers + 1):
            query = optimizer.ask(progress=progress)
            points = target.space.encode(query.options)
            optimizer.tell(query, person(points, rng))
            seen |= dict(zip(point_keys(points), target.objectives(points), strict=True))
            shown.append(len(seen))
            differences.append(target.log_hypervolume_difference(np.array(list(seen.values()))))
            answered(number, differences[-1])
        found = tuple(optimizer.pareto_set())
    return Course(target, np.array(list(seen.values())), tuple(shown), tuple(differences), found)


def figure(course: Course, seed: int = 0) -> Figure:
    """Hypervolume still missing over the answers, and the true front with what was found."""
    drawn, (left, right) = plots.new_figure(columns=2, size=(10.5, 4.4))
    _draw_course(left, course, seed)
    _draw_fronts(right, course)
    return drawn


def true_front(target: Problem, grid: int = _GRID) -> Array:
    """Non-dominated objective values on a fine grid, along the front: (n, 2)."""
    axis = np.linspace(0.0, 1.0, grid)
    # The front lies at small x1, where both objectives change fast: the grid is denser there.
    values = target.objectives(np.stack(np.meshgrid(axis**2, axis), axis=-1).reshape(-1, 2))
    front = values[non_dominated(values)]
    return np.asarray(front[np.argsort(front[:, 0])])


def _draw_course(axes: Axes, course: Course, seed: int) -> None:
    answers = np.arange(1, len(course.shown) + 1)
    axes.plot(answers, course.log_differences, color=plots.PALETTE[0], linewidth=2, label="asked by choicebo")
    label = "as many options, spread evenly"
    axes.plot(answers, course.by_chance(seed), color="0.55", linewidth=1.4, linestyle="--", label=label)
    axes.set_xlabel("answers")
    axes.set_ylabel("log10 hypervolume difference")
    axes.set_title("how much is still missing", loc="left", fontsize=10)
    axes.legend(frameon=False)


def _draw_fronts(axes: Axes, course: Course) -> None:
    # As published, smaller is better: the front is the lower left edge.
    front, shown, found = -true_front(course.target), -course.values, -course.found_values
    axes.plot(*shown.T, "o", color="0.7", markersize=3.5, label="shown", zorder=1)
    axes.plot(*front.T, ".", color=plots.PALETTE[2], markersize=2.5, label="true front", zorder=2)
    axes.plot(*found.T, "o", color=plots.PALETTE[1], markersize=6, markeredgecolor="white", label="found", zorder=3)
    # Options far from the front would press it into a corner.
    widest = np.maximum(front.max(axis=0), found.max(axis=0))
    margin = 0.35 * (widest - front.min(axis=0))
    axes.set_xlim(front[:, 0].min() - 0.2 * margin[0], widest[0] + margin[0])
    axes.set_ylim(front[:, 1].min() - 0.2 * margin[1], widest[1] + margin[1])
    axes.set_xlabel(f"{OBJECTIVES[0]} (smaller is better)")
    axes.set_ylabel(f"{OBJECTIVES[1]} (smaller is better)")
    axes.set_title("the person's objectives, which the model never saw", loc="left", fontsize=10)
    axes.legend(frameon=False)
