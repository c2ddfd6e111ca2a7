"""Speed of a whole fit (hyperparameters and draws) on this machine, and of the very first one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from choicebo.choices import ChoiceData
from choicebo.experiments.choosers import Chooser, random_sets
from choicebo.experiments.report_tables import new_table
from choicebo.model.engines import Engine, engine_named, question_engine
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

_FIRST_FITS = """
import json, sys, time
began = time.perf_counter()
import choicebo as cb
from choicebo.model.engines import question_engine
data, model = cb.ChoiceData.from_json(sys.stdin.read()), cb.ChoiceGP(engine=question_engine("hmc"))
marks = [time.perf_counter()]
for _ in range(2):
    model.fit_silently(data)
    marks.append(time.perf_counter())
print(json.dumps([later - earlier for earlier, later in zip([began, *marks], marks)]))
"""
"""Run by a new process: seconds of the imports, of the first fit and of the second one."""


@dataclass(frozen=True)
class Case:
    """One thing to time."""

    engine: str
    n_choices: int
    n_options: int
    alone: bool = False
    """Whether draws are made up to the limits of ``ChoiceGP.fit`` used alone; else up to those of a study's question."""
    set_size: int = 5
    latent_dim: int = 2

    def made(self) -> Engine:
        """The engine with its limits."""
        return engine_named(self.engine) if self.alone else question_engine(self.engine)


@dataclass(frozen=True)
class Timing:
    """What was measured: medians over the repetitions unless it says otherwise."""

    case: Case
    seconds: float
    cpu_seconds: float
    """Processor time, all threads: other work on the machine hardly changes it."""
    effective_draws: float
    """Of the worst quantity watched."""
    draws: int
    """Made by all chains together."""
    r_hat: float
    """The largest over the repetitions."""
    converged: int
    """Repetitions that met the limits."""
    repetitions: int


@dataclass(frozen=True)
class StartTiming:
    """How long a new process takes to its first result."""

    compile_seconds: float
    """First fit with nothing compiled, the fit itself included."""
    import_seconds: float
    first_fit_seconds: float
    """First fit of a later process, which loads the compiled code."""
    fit_seconds: float
    """Its second fit."""


DEFAULT = tuple(Case("hmc", *size, alone=alone) for alone in (False, True) for size in ((100, 100), (300, 200)))
QUICK = DEFAULT[:2]
FULL = (*DEFAULT, Case("ess", 100, 100), Case("ess", 300, 200))


def bench_data(case: Case, seed: int = 0) -> ChoiceData:
    """Choices of a simulated person with two smooth objectives over the unit square, none of them a slip.

    >>> bench_data(Case("hmc", n_choices=10, n_options=20))
    ChoiceData(n_options=20, dim=2, n_choices=10)
    """
    rng = np.random.default_rng(seed)
    person = Chooser(two_smooth_objectives, noise=0.05)
    options = rng.random((case.n_options, 2))
    sets = random_sets(case.n_options, case.set_size, case.n_choices, rng)
    choices = [(shown, [shown[i] for i in person(options[shown], rng)]) for shown in sets.tolist()]
    return ChoiceData(options, choices)


def two_smooth_objectives(X: Array) -> Array:
    """Objectives (n, 2) of options (n, 2) of the unit square."""
    x, y = X.T
    return np.stack([np.sin(3.0 * x) + y, np.cos(4.0 * x * y) - 0.5 * y], axis=1)


def time_fit(case: Case, repetitions: int = 3, done: Callable[[], None] | None = None) -> Timing:
    """Time ``repetitions`` fits, each with its own seed; ``done()`` follows each. Compile first, or the first one does."""
    data, model = bench_data(case), ChoiceGP(latent_dim=case.latent_dim, engine=case.made())
    seconds, cpu, found = [], [], []
    for seed in range(repetitions):
        began, cpu_began = time.perf_counter(), time.process_time()
        found.append(model.fit_silently(data, seed=seed).diagnostics)
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - cpu_began)
        if done is not None:
            done()
    return Timing(
        case=case,
        seconds=median(seconds),
        cpu_seconds=median(cpu),
        effective_draws=median(each.effective_sample_size for each in found),
        draws=int(median(each.draws for each in found)),
        r_hat=max(each.r_hat for each in found),
        converged=sum(not each.problems for each in found),
        repetitions=repetitions,
    )


def time_start(case: Case = DEFAULT[0]) -> StartTiming:
    """Time the first fits of a process that compiles from nothing, and of one that comes later."""
    data = bench_data(case).to_json()
    with tempfile.TemporaryDirectory() as folder:
        (_, compiling, _), (imports, first, second) = _first_fits(data, folder), _first_fits(data, folder)
    return StartTiming(compiling, imports, first, second)


def _first_fits(data: str, cache: str) -> list[float]:
    """What a new process measures that keeps its compiled code in the folder ``cache``."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    run = subprocess.run(
        [sys.executable, "-c", _FIRST_FITS], input=data, env=environment, capture_output=True, text=True, check=True
    )
    return [float(seconds) for seconds in json.loads(run.stdout)]


def start_table(found: StartTiming) -> Table:
    """The first fits."""
    table = new_table("The first fit of a process: 100 choices of 5 over 100 options", ("", "seconds"))
    table.add_row("nothing compiled, once on a machine", f"{found.compile_seconds:.1f}")
    table.add_row("compiled earlier", f"{found.first_fit_seconds:.2f}")
    table.add_row("the second fit", f"{found.fit_seconds:.2f}")
    table.add_row("imports before them", f"{found.import_seconds:.2f}")
    return table


def table(timings: list[Timing]) -> Table:
    """The measurements."""
    question, alone = question_engine("hmc").limits, engine_named("hmc").limits
    headings = (
        "engine",
        "limits of",
        "choices",
        "options",
        "fit s",
        "CPU s",
        "draws",
        "effective",
        "R-hat",
        "converged",
    )
    found = new_table(
        "One fit: hyperparameters and draws, n_e = 2, sets of 5",
        headings,
        words=2,
        caption=f"Draws are made until R-hat is below {question.r_hat:g} and {question.effective_draws:.0f} draws are effective "
        f"(a question), or {alone.r_hat:g} and {alone.effective_draws:.0f} (a fit alone). Effective: of the worst quantity "
        "watched. R-hat: the largest over the seeds; all else: medians.",
    )
    for each in timings:
        found.add_row(
            each.case.engine,
            "a fit alone" if each.case.alone else "a question",
            str(each.case.n_choices),
            str(each.case.n_options),
            f"{each.seconds:.2f}",
            f"{each.cpu_seconds:.2f}",
            str(each.draws),
            f"{each.effective_draws:.0f}",
            f"{each.r_hat:.2f}",
            f"{each.converged} of {each.repetitions}",
        )
    return found
