"""Fits from the loop: ordinary studies with default settings, answered by a simulated person who does not think.

Data of a study are not like those that are drawn at random: options crowd around what was kept. So the sampler is measured
on them as well.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from choicebo.choices import ChoiceData
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import pareto_choice
from choicebo.experiments.problems import problem
from choicebo.experiments.report_tables import new_table
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.engines import QUESTION
from choicebo.optimizer import ChoiceOptimizer
from choicebo.space import Option, Searchable
from choicebo.study import examples

Array = NDArray[np.float64]

STRETCH = 10
"""Answers that a row of the table sums up."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A space, and the hidden objectives of the person who answers."""

    name: str
    space: Searchable
    objectives: Callable[[Sequence[Option]], Array]
    """Options -> values to be maximised, (options, objectives)."""


@dataclass(frozen=True)
class Step:
    """One question of the loop."""

    answers: int
    """Given before it."""
    wait: float
    """Seconds from the answer to the question."""
    cpu_seconds: float
    """Processor time of the wait, all threads."""
    options: int = 0
    """Shown so far."""
    fit: Diagnostics | None = None
    """Of the fit that it took; None where none was needed."""
    warnings: int = 0
    """Convergence warnings that it issued."""


@dataclass(frozen=True)
class Stretch:
    """What a number of questions needed."""

    problem: str
    answers: int
    """Given at its end."""
    fits: int
    enough: int
    """Fits with as many effective draws as a question asks for."""
    warnings: int
    median_fit: float
    longest_fit: float
    median_wait: float
    longest_wait: float
    whole: bool = False
    """Whether it sums up the whole study."""


@dataclass(frozen=True, eq=False)
class Course:
    """A whole study."""

    scenario: str
    steps: tuple[Step, ...]
    data: ChoiceData

    def stretches(self, until: int | None = None) -> list[Stretch]:
        """Ten answers each, and the whole of it, up to ``until`` answers."""
        last = min(until or len(self.steps), len(self.steps))
        edges = [*range(0, last, STRETCH), last]
        parts = [(low, high, False) for low, high in itertools.pairwise(edges)] + [(0, last, True)]
        return [_stretch(self.scenario, self.steps[low:high], whole) for low, high, whole in parts]


def published(name: str) -> Scenario:
    """One of the paper's problems."""
    target = problem(name)
    return Scenario(name, target.space, lambda options: target.objectives(target.space.encode(options)))


def palette() -> Scenario:
    """The space of ``choicebo example palette``; a person who likes calm and contrast."""
    return Scenario("palette", examples.definition(examples.EXAMPLES["palette"]).space, _liked_palettes)


def run(
    scenario: Scenario, questions: int, seed: int = 0, done: Callable[[], None] | None = None, **settings: Any
) -> Course:
    """Answer ``questions`` questions; ``done()`` follows each. ``settings`` are those of ``ChoiceOptimizer``."""
    optimizer = ChoiceOptimizer(scenario.space, seed=seed, **settings)
    steps = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        for answers in range(questions):
            warned = len(caught)
            began, cpu_began = time.perf_counter(), time.process_time()
            query = optimizer.ask()
            wait, cpu = time.perf_counter() - began, time.process_time() - cpu_began
            fitted = optimizer.known_posterior  # anew for every answer, once the model asks
            diagnostics = None if fitted is None else fitted.diagnostics
            issued = sum(issubclass(each.category, ConvergenceWarning) for each in caught[warned:])
            shown = 0 if fitted is None else len(fitted.options)
            steps.append(Step(answers, wait, cpu, shown, diagnostics, issued))
            optimizer.tell(query, pareto_choice(scenario.objectives(query.options)))
            if done is not None:
                done()
    assert optimizer.data is not None
    return Course(scenario.name, tuple(steps), optimizer.data)


def table(stretches: Sequence[Stretch]) -> Table:
    """One row for each stretch."""
    enough = f"≥ {QUESTION.effective_draws:.0f} effective"
    found = new_table(
        "Fits from the loop: ordinary studies, default settings",
        ("problem", "answers", "fits", enough, "warnings", "fit s", "longest", "wait s", "longest"),
        caption="The fits that questions waited for. Seconds: medians and the longest of the ten questions up to so many "
        "answers. The simulated person answers at once: if the number of hidden objectives is being checked, the next "
        "question waits until that is done.",
    )
    for each in stretches:
        times = (each.median_fit, each.longest_fit, each.median_wait, each.longest_wait)
        share = f"{each.enough / each.fits:.0%}" if each.fits else ""
        words = (each.problem, f"all {each.answers}" if each.whole else str(each.answers), str(each.fits), share)
        found.add_row(*words, str(each.warnings), *(f"{t:.2f}" for t in times), end_section=each.whole)
    return found


def _stretch(name: str, steps: Sequence[Step], whole: bool) -> Stretch:
    fits = [step.fit for step in steps if step.fit is not None]
    seconds, waits = [fit.seconds for fit in fits] or [0.0], [step.wait for step in steps]
    return Stretch(
        problem=name,
        answers=steps[-1].answers + 1,
        fits=len(fits),
        enough=sum(fit.effective_sample_size >= QUESTION.effective_draws for fit in fits),
        warnings=sum(step.warnings for step in steps),
        median_fit=median(seconds),
        longest_fit=max(seconds),
        median_wait=median(waits),
        longest_wait=max(waits),
        whole=whole,
    )


def _liked_palettes(options: Sequence[Option]) -> Array:
    hue, saturation, lightness, accent, paper = (
        np.array([float(option[name]) for option in options])
        for name in ("hue", "saturation", "lightness", "accent", "paper")
    )
    plain = np.array([option["typeface"] == "sans-serif" for option in options])
    round_ = np.array([float(option["corners"]) for option in options]) / 18.0
    calm = np.cos(np.radians(hue - 220.0)) - ((saturation - 45.0) / 40.0) ** 2 + 0.4 * plain + 0.3 * round_
    contrast = -np.cos(np.radians(accent - hue)) - ((lightness - 32.0) / 15.0) ** 2 + (paper - 94.0) / 12.0
    return np.stack([calm, contrast], axis=1)
