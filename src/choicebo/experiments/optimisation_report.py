"""The optimisation experiment as a section of a report: tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from choicebo import plots
from choicebo.experiments import paper
from choicebo.experiments.document import Picture, Section
from choicebo.experiments.methods import METHODS
from choicebo.experiments.optimisation_trials import INITIAL_OPTIONS, INITIAL_SETS, QUERY_SIZE
from choicebo.experiments.problems import ALL, problem
from choicebo.experiments.report_tables import ABOUT_MIXED, MIXED, Mean, mark, new_table
from choicebo.experiments.trials import FinishedTrial

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Array = NDArray[np.float64]

ORACLE = "parego"
PER_ITERATION, PER_OPTION = "log_hv_difference", "log_hv_difference_per_option"
_COLOURS = (*plots.PALETTE, "#999999")
_STYLES = {
    name: (_COLOURS[number % len(_COLOURS)], "-" if number < len(_COLOURS) else "--")
    for number, name in enumerate(METHODS)
}
"""Colour and line of each method."""


def section(finished: Sequence[FinishedTrial]) -> Section:
    """How fast the methods approach the true Pareto front."""
    duels = [duel_table(finished, measure) for measure in (PER_ITERATION, PER_OPTION)]
    return Section(
        "Bayesian optimisation",
        [
            f"Every method starts from the same {INITIAL_OPTIONS} random options of a repetition. Methods that "
            "see only "
            f"choices are given the choices in {INITIAL_SETS} random sets of {QUERY_SIZE} of them and then ask "
            "about sets "
            f"of {QUERY_SIZE}; oracles see the objectives' values. The difference is between the hypervolume of "
            "the true Pareto front and that of all options queried.",
            problem_table(finished),
            final_table(finished),
            *(duel for duel in duels if duel is not None),
            Picture(
                "bo",
                figure(finished),
                "log10 hypervolume difference against iterations: mean and standard error over repetitions.",
            ),
            Picture(
                "bo-per-option",
                figure(finished, PER_OPTION),
                "The same against the number of new options evaluated.",
            ),
            time_table(finished),
        ],
    )


def _tasks(finished: Sequence[FinishedTrial]) -> list[str]:
    """The problems that were run."""
    return [name for name in ALL if any(done.trial.task == name for done in finished)]


def problem_table(finished: Sequence[FinishedTrial]) -> Table:
    """What the hypervolume is measured from, and to."""
    table = new_table(
        "The problems, as they are maximised",
        ("problem", "inputs", "objectives", "reference point", "hypervolume of the true front"),
    )
    for task in _tasks(finished):
        found = problem(task)
        point = ", ".join(f"{each:.6g}" for each in found.reference)
        table.add_row(task, str(found.dim), str(found.num_objectives), point, f"{found.front_hypervolume:.8g}")
    return table


def curves(finished: Sequence[FinishedTrial], measure: str = PER_ITERATION) -> dict[str, dict[str, Array]]:
    """By problem and method the curves of the repetitions, (repetitions, 1 + length), cut to the shortest."""
    found: dict[str, dict[str, Array]] = {}
    for task in _tasks(finished):
        for name in METHODS:
            rows = [d.result[measure] for d in finished if (d.trial.task, d.trial.method) == (task, name)]
            if rows:
                shortest = min(map(len, rows))
                found.setdefault(task, {})[name] = np.array([row[:shortest] for row in rows])
    return found


def final_table(finished: Sequence[FinishedTrial]) -> Table:
    """Where the methods end: log10 hypervolume difference, mean ± standard error."""
    by_task = curves(finished)
    names = [name for name in METHODS if any(name in each for each in by_task.values())]
    table = new_table(
        "log10 hypervolume difference after the last iteration",
        ("problem", "start", *(METHODS[name].label for name in names)),
        caption="Mean ± standard error (repetitions); smaller is better. Oracles see the objectives' values.",
    )
    for task, each in by_task.items():
        start = np.concatenate([found[:, 0] for found in each.values()])
        ends = []
        for name in names:
            marked = mark(done for done in finished if (done.trial.task, done.trial.method) == (task, name))
            ends.append(f"{Mean.of(each[name][:, -1].tolist())} ({len(each[name])}){marked}" if name in each else "")
        table.add_row(task, f"{start.mean():.3f}", *ends)
        if any(MIXED in end for end in ends) and ABOUT_MIXED not in str(table.caption):
            table.caption = f"{table.caption}{ABOUT_MIXED}"
    return table


def duel_table(finished: Sequence[FinishedTrial], measure: str = PER_ITERATION) -> Table | None:
    """Methods that see only choices against Oracle-ParEGO, repetition by repetition; ``None`` if there are none.

    By iterations the ends are compared, however many new options a method showed on the way. By options both curves are
    read at the same number of different options: the shorter curve's, which is ParEGO's where it asks for an option again.
    """
    found = {(d.trial.task, d.trial.method, d.trial.repetition): d.result[measure] for d in finished}
    names = [m.name for m in METHODS.values() if not m.sees_values and any(m.name == key[1] for key in found)]
    equal = "iterations" if measure == PER_ITERATION else "new options"
    title = f"Difference to Oracle-ParEGO after equally many {equal} (negative: ahead of it)"
    caption = (
        "Mean ± standard error of paired differences from the same start (repetitions). The paper prints curves only."
    )
    if measure == PER_OPTION:
        caption += " Both methods of a pair are compared where they had evaluated equally many different options."
    headings = ("problem", *(METHODS[name].label for name in names), "the paper's method")
    table = new_table(title, headings, caption=caption)
    table.columns[-1].justify = "left"
    for task in ALL:
        row = []
        for name in names:
            pairs = [
                _difference(curve, found[task, ORACLE, repetition])
                for (problem, method, repetition), curve in found.items()
                if (problem, method) == (task, name) and (task, ORACLE, repetition) in found
            ]
            row.append(f"{Mean.of(pairs)} ({len(pairs)})" if pairs else "")
        if any(row):
            table.add_row(task, *row, paper.OPTIMISATION.get(task, ""))
    return table if table.row_count else None


def _difference(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Ours minus theirs at the end of the shorter curve."""
    last = min(len(ours), len(theirs)) - 1
    return float(ours[last] - theirs[last])


def time_table(finished: Sequence[FinishedTrial]) -> Table:
    """What one iteration costs: fits and the search for the next question."""
    headings = ("method", "median", "95 %", "new options per iteration", "read", "marked", "minutes per repetition")
    caption = (
        "Read and marked: options that a person looks at and keeps in one answer. Fits flagged: those whose draws fell short of "
        "the limits of a question, by our own diagnostics."
    )
    table = new_table("Seconds per iteration", (*headings, "fits flagged"), caption=caption)
    for name, method in METHODS.items():
        group = [done for done in finished if done.trial.method == name]
        if group:
            seconds = np.concatenate([done.result["seconds"] for done in group])
            new = np.concatenate([done.result["new_options"] for done in group])
            table.add_row(
                method.label,
                f"{np.median(seconds):.2f}",
                f"{np.quantile(seconds, 0.95):.2f}",
                f"{new.mean():.2f}",
                *(_per_answer(group, what) for what in ("options_read", "marks")),
                f"{np.mean([done.seconds for done in group]) / 60:.1f}",
                _flagged(group),
            )
    return table


def _per_answer(group: Sequence[FinishedTrial], what: str) -> str:
    """The mean of what a person does in one answer, where that was counted."""
    counted = [each for done in group for each in done.result.get(what, [])]
    return f"{np.mean(counted):.1f}" if counted else ""


def _flagged(group: Sequence[FinishedTrial]) -> str:
    """How many of the fits our own diagnostics flagged, where that was counted."""
    counted = [done.result for done in group if "fits_flagged" in done.result["settings"]]
    flagged = sum(each["settings"]["fits_flagged"] for each in counted)
    return f"{flagged}/{sum(len(each['seconds']) for each in counted)}" if counted else ""


def figure(finished: Sequence[FinishedTrial], measure: str = PER_ITERATION) -> Figure:
    """Mean and standard error of the curves, a panel for each problem."""
    by_task = curves(finished, measure)
    columns = min(3, len(by_task))
    rows = -(-len(by_task) // columns)
    drawn, axes = plots.new_figure(rows, columns, size=(4.0 * columns + 0.5, 3.2 * rows + 0.8))
    lines: dict[str, Line2D] = {}
    for each, (task, methods) in zip(axes, by_task.items(), strict=False):
        for name, found in methods.items():
            x, mean = np.arange(found.shape[1]), found.mean(axis=0)
            colour, dashes = _STYLES[name]
            (line,) = each.plot(x, mean, dashes, color=colour, linewidth=1.6, label=METHODS[name].label)
            lines.setdefault(METHODS[name].label, line)
            if len(found) > 1:
                se = found.std(axis=0, ddof=1) / np.sqrt(len(found))
                each.fill_between(x, mean - se, mean + se, color=colour, alpha=0.18, linewidth=0)
        each.set_title(task, fontsize=10)
        each.set_xlabel("iteration" if measure == PER_ITERATION else "new options")
        each.set_ylabel("log10 HV difference")
        each.margins(x=0)
    for empty in axes[len(by_task) :]:
        empty.set_visible(False)
    drawn.legend(list(lines.values()), list(lines), loc="outside upper center", ncols=min(4, len(lines)), frameon=False)
    return drawn
