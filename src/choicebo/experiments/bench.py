"""Speed of a whole fit (hyperparameters and draws) on this machine, both samplers in the same run."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from choicebo.choices import ChoiceData
from choicebo.errors import ConvergenceWarning
from choicebo.experiments.choosers import Chooser, random_sets
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

_CAPTION = (
    "First fit: compilation included (of the same size, ess finds what it shares with hmc compiled already). "
    "Effective draws: of the log-likelihood."
)


@dataclass(frozen=True)
class Case:
    """One thing to time."""

    engine: str
    n_choices: int
    n_options: int
    set_size: int = 5
    latent_dim: int = 2


@dataclass(frozen=True)
class Timing:
    """What was measured."""

    case: Case
    cold_seconds: float
    """The first fit of this process, compilation included, with nothing in the compilation cache."""
    seconds: float
    """A later fit, median over the repetitions."""
    cpu_seconds: float
    """Processor time of a later fit, all threads, median: other work on the machine hardly changes it."""
    effective_draws: float
    """Of the log-likelihood, of that many: median over the repetitions."""
    draws: int
    r_hat: float
    """The largest over the repetitions."""

    @property
    def seconds_per_effective_draw(self) -> float:
        """The price of an effective draw, hyperparameters included."""
        return self.seconds / self.effective_draws


SMALL = Case("hmc", 100, 100)
LARGE = Case("hmc", 300, 200)
QUICK = (SMALL, Case("ess", 100, 100), LARGE)
FULL = (*QUICK, Case("ess", 300, 200))


def bench_data(case: Case, seed: int = 0) -> ChoiceData:
    """Choices of a simulated person with two smooth objectives over the unit square, none of them a slip.

    >>> bench_data(Case("hmc", n_choices=10, n_options=20))
    ChoiceData(n_options=20, dim=2, n_choices=10)
    """
    rng = np.random.default_rng(seed)
    person = Chooser(_two_smooth_objectives, noise=0.05)
    options = rng.random((case.n_options, 2))
    sets = random_sets(case.n_options, case.set_size, case.n_choices, rng)
    choices = [(shown, [shown[i] for i in person(options[shown], rng)]) for shown in sets.tolist()]
    return ChoiceData(options, choices)


def _two_smooth_objectives(X: Array) -> Array:
    x, y = X.T
    return np.stack([np.sin(3.0 * x) + y, np.cos(4.0 * x * y) - 0.5 * y], axis=1)


def time_fit(case: Case, repetitions: int = 3, done: Callable[[], None] | None = None) -> Timing:
    """Time the first fit and ``repetitions`` later ones, each with its own seed; ``done()`` follows each."""
    data, model = bench_data(case), ChoiceGP(latent_dim=case.latent_dim, engine=case.engine)
    seconds, cpu, found = [], [], []
    with warnings.catch_warnings(), _without_stored_programs():
        warnings.simplefilter("ignore", ConvergenceWarning)  # R-hat and effective draws are in the table
        for seed in range(repetitions + 1):
            began, cpu_began = time.perf_counter(), time.process_time()
            diagnostics = model.fit(data, seed=seed).diagnostics
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - cpu_began)
            found.append(diagnostics)
            if done is not None:
                done()
    return Timing(
        case=case,
        cold_seconds=seconds[0],
        seconds=median(seconds[1:]),
        cpu_seconds=median(cpu[1:]),
        effective_draws=median(each.effective_sample_size for each in found[1:]),
        draws=found[0].draws,
        r_hat=max(each.r_hat for each in found[1:]),
    )


@contextlib.contextmanager
def _without_stored_programs() -> Iterator[None]:
    """Leave the compilation cache aside, so that a first fit is truly the first."""
    config: Any = jax.config
    before = config.jax_enable_compilation_cache
    config.update("jax_enable_compilation_cache", False)
    try:
        yield
    finally:
        config.update("jax_enable_compilation_cache", before)


def price_ratios(timings: list[Timing]) -> dict[str, float]:
    """How many times dearer an effective draw is with ``ess`` than with ``hmc``, by the size of the data."""
    price = {(t.case.engine, t.case.n_choices): t.seconds_per_effective_draw for t in timings}
    return {
        str(n_choices): price["ess", n_choices] / price["hmc", n_choices]
        for engine, n_choices in price
        if engine == "hmc" and ("ess", n_choices) in price
    }


def table(timings: list[Timing]) -> Table:
    """The measurements, and the ratios below them."""
    found = Table(title="One fit: hyperparameters and draws, n_e = 2, sets of 5", title_justify="left")
    headings = (
        "engine",
        "choices",
        "options",
        "first fit s",
        "fit s",
        "CPU s",
        "effective draws",
        "R-hat",
        "ms / effective draw",
    )
    for heading in headings:
        found.add_column(heading, justify="left" if heading == "engine" else "right")
    for each in timings:
        found.add_row(
            each.case.engine,
            str(each.case.n_choices),
            str(each.case.n_options),
            f"{each.cold_seconds:.1f}",
            f"{each.seconds:.2f}",
            f"{each.cpu_seconds:.2f}",
            f"{each.effective_draws:.0f} of {each.draws}",
            f"{each.r_hat:.2f}",
            f"{1000 * each.seconds_per_effective_draw:.1f}",
        )
    ratios = [
        f"{n_choices} choices: an effective draw costs {ratio:.1f} times as much with ess as with hmc."
        for n_choices, ratio in price_ratios(timings).items()
    ]
    found.caption = "\n".join([_CAPTION, *ratios])
    found.caption_justify = "left"
    return found
