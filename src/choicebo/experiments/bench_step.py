"""Time of one whole step of the optimiser in its parts, taken from a loop with default settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from choicebo.experiments.bench_loop import Step
from choicebo.experiments.report_tables import new_table

AT = (20, 50, 100)
AROUND = 2
"""So many steps before and after count as well, for the median."""


@dataclass(frozen=True)
class StepTiming:
    """What was measured: medians over neighbouring steps."""

    answers: int
    options: int
    """Shown by then."""
    fit_seconds: float
    question_seconds: float
    """Acquisition of the new options and choice of the known ones beside them."""
    cpu_seconds: float
    """Processor time of a whole step, all threads."""

    @property
    def seconds(self) -> float:
        """A whole step."""
        return self.fit_seconds + self.question_seconds


def timings(steps: Sequence[Step], at: Sequence[int] = AT) -> list[StepTiming]:
    """The steps after so many answers each; those are left out that the loop did not reach."""
    found = []
    for answers in at:
        near = [step for step in steps if abs(step.answers - answers) <= AROUND and step.fit is not None]
        if any(step.answers == answers for step in near):
            fits = [step.fit.seconds for step in near if step.fit is not None]
            rest = [step.wait - seconds for step, seconds in zip(near, fits, strict=True)]
            options = next(step.options for step in near if step.answers == answers)
            cpu = median(step.cpu_seconds for step in near)
            found.append(StepTiming(answers, options, median(fits), median(rest), cpu))
    return found


def table(found: Sequence[StepTiming]) -> Table:
    """The measurements."""
    title = "One step of the optimiser, as the default has it: from an answer to the next question"
    shown = new_table(title, ("answers", "options", "fit s", "question s", "step s", "CPU s"), words=0)
    for each in found:
        parts = (each.fit_seconds, each.question_seconds, each.seconds, each.cpu_seconds)
        shown.add_row(str(each.answers), str(each.options), *(f"{part:.2f}" for part in parts))
    return shown
