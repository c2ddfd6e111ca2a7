"""Time of one whole step of the optimiser, in its parts: the fit, and finding the next question."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from statistics import median

from rich.table import Table

from choicebo.errors import ConvergenceWarning
from choicebo.experiments.bench import Case, bench_data
from choicebo.optimizer import ChoiceOptimizer
from choicebo.space import Real, Space


@dataclass(frozen=True)
class StepTiming:
    """What was measured: medians over later steps, compiled."""

    answers: int
    options: int
    fit_seconds: float
    question_seconds: float
    """Acquisition of the new options and choice of the known ones beside them."""
    cpu_seconds: float
    """Processor time of a whole step, all threads."""

    @property
    def seconds(self) -> float:
        """A whole step."""
        return self.fit_seconds + self.question_seconds


def time_step(answers: int = 100, options: int = 100, repetitions: int = 3, engine: str = "hmc") -> StepTiming:
    """Time the question after ``answers`` answers of 5 about that many options, n_e = 2."""
    data = bench_data(Case("hmc", answers, options))
    space = Space([Real("a", 0.0, 1.0), Real("b", 0.0, 1.0)])
    names = space.decode(data.X)
    fits, questions, cpu = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for seed in range(repetitions + 1):
            optimizer = ChoiceOptimizer(space, latent_dim=2, seed=seed, engine=engine)
            for choice in data.choices:
                optimizer.add([names[i] for i in choice.shown], [choice.shown.index(i) for i in choice.kept])
            began, cpu_began = time.perf_counter(), time.process_time()
            optimizer.fit()
            fitted = time.perf_counter()
            optimizer.ask()
            questions.append(time.perf_counter() - fitted)
            fits.append(fitted - began)
            cpu.append(time.process_time() - cpu_began)
    return StepTiming(answers, options, median(fits[1:]), median(questions[1:]), median(cpu[1:]))


def table(timings: list[StepTiming]) -> Table:
    """The measurements."""
    found = Table(title="One step of the optimiser: from an answer to the next question, n_e = 2", title_justify="left")
    for heading in ("answers", "options", "fit s", "question s", "step s", "CPU s"):
        found.add_column(heading, justify="right")
    for each in timings:
        parts = (each.fit_seconds, each.question_seconds, each.seconds, each.cpu_seconds)
        found.add_row(str(each.answers), str(each.options), *(f"{part:.2f}" for part in parts))
    return found
