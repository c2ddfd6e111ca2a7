"""Time of one whole step of the optimiser in its parts, taken from a loop with default settings; and of a peer's step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from choicebo.choices import ChoiceData
from choicebo.experiments import baselines
from choicebo.experiments.bench_loop import Step
from choicebo.experiments.report_tables import new_table

AT = (20, 50, 100)
AROUND = 2
"""How many steps before and after enter the median."""


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
    """The steps after these numbers of answers; those that the loop did not reach are left out."""
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


@dataclass(frozen=True)
class PeerTiming:
    """A whole step of a peer: fit and next question."""

    name: str
    answers: int
    comparisons: int
    seconds: float


def time_pairwise(data: ChoiceData, repetitions: int = 3) -> PeerTiming:
    """Time BoTorch's PairwiseGP with qEUBO, fed the pairs that the choices imply, on the answers of our step."""
    baselines.require("Timing PairwiseGP")
    from choicebo.experiments.baselines import pairwise, torch_tools

    pairs = pairwise.implied_pairs([(choice.shown, choice.kept) for choice in data.choices])
    seconds = []
    for seed in range(repetitions):
        began = time.perf_counter()
        with torch_tools.quiet_and_seeded(seed):
            pairwise.eubo_query(data.X, pairs, 5, seed)
        seconds.append(time.perf_counter() - began)
    return PeerTiming("PairwiseGP + qEUBO", data.n_choices, len(pairs), median(seconds))


def peers_table(ours: StepTiming, peers: list[PeerTiming]) -> Table:
    """Both, and the ratio."""
    title = f"One step beside peers, {ours.answers} answers of 5; a peer learns one utility from the implied pairs"
    found = new_table(title, ("", "step s", "times ours"))
    found.add_row("choicebo", f"{ours.seconds:.2f}", "1.0")
    for peer in peers:
        found.add_row(
            f"{peer.name} ({peer.comparisons} pairs)", f"{peer.seconds:.2f}", f"{peer.seconds / ours.seconds:.1f}"
        )
    return found
