"""How time, memory and accuracy grow with the number of choices, beside a peer that learns from the implied pairs.

Every measurement is made in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import ChoiceData
from choicebo.experiments.accuracy import share_equal
from choicebo.experiments.bench import two_smooth_objectives
from choicebo.experiments.choosers import Chooser, pareto_choice, random_sets
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

SET_SIZE = 5
TEST_SETS = 2_000
LONG_STUDY = 5_000
"""Answers after which a question is timed."""
CROWD = 50, 50
"""People, and answers of each, of a study of many."""
PATIENCE = 120.0
"""Seconds after which a peer is given up, at this size and all larger ones."""
NOISE = 0.05
OURS, PEER = "choicebo", "PairwiseGP"


@dataclass(frozen=True)
class Task:
    """Choices to learn from, and unseen sets to predict."""

    train: ChoiceData
    test_sets: Array
    """(sets, 5, 2)"""
    test_kept: tuple[tuple[int, ...], ...]
    """Noisy answers, as those to learn from."""
    truth: float
    """Exact-set accuracy of the person's objectives without the noise: no method can do better."""


@dataclass(frozen=True)
class ScaleTiming:
    """What was measured of one fit."""

    method: str
    choices: int
    options: int
    seconds: float
    cpu_seconds: float
    """All threads."""
    megabytes: float
    """Peak of memory of the whole process."""
    effective_draws: float | None
    accuracy: float | None
    """Share of unseen sets whose kept options are predicted exactly."""
    truth: float
    told: str
    """How the latent values were represented and drawn."""


@dataclass(frozen=True)
class GivenUp:
    """A peer that took too long, or too much memory."""

    method: str
    choices: int
    why: str


def task(choices: int, test_sets: int = TEST_SETS, seed: int = 0) -> Task:
    """Choices of five over as many options of the unit square as there are choices; those that occur are counted.

    >>> task(50, test_sets=10).train.n_choices
    50
    """
    rng = np.random.default_rng(seed)
    person = Chooser(two_smooth_objectives, noise=NOISE)
    pool = rng.random((max(choices, SET_SIZE + 1), 2))
    sets = pool[random_sets(len(pool), SET_SIZE, choices, rng)]
    unseen = rng.random((test_sets, SET_SIZE, 2))
    kept = tuple(person(shown, rng) for shown in unseen)
    exact = [pareto_choice(two_smooth_objectives(shown)) for shown in unseen]
    train = ChoiceData.from_sets(list(sets), [person(shown, rng) for shown in sets])
    return Task(train, unseen, kept, share_equal(exact, kept))


def time_ours(choices: int, test_sets: int = TEST_SETS) -> ScaleTiming:
    """Fit the model with its default settings."""
    from choicebo.model import compiling

    given = task(choices, test_sets)
    compiling.prepare()
    ChoiceGP(engine="laplace").fit_silently(task(20, 1).train)  # what is loaded once is not the fit's
    began, cpu_began = time.perf_counter(), time.process_time()
    posterior = ChoiceGP().fit_silently(given.train)
    seconds, cpu, found = time.perf_counter() - began, time.process_time() - cpu_began, posterior.diagnostics
    accuracy = share_equal(posterior.predict_choices(given.test_sets), given.test_kept)
    form = "square factor" if found.inducing is None else f"{found.inducing} inducing options"
    return ScaleTiming(
        OURS,
        choices,
        len(posterior.options),
        seconds,
        cpu,
        peak_megabytes(),
        found.effective_sample_size,
        accuracy,
        given.truth,
        f"{form}, variational" if found.approximate else form,
    )


def time_pairwise(choices: int, test_sets: int = TEST_SETS) -> ScaleTiming:
    """Fit BoTorch's PairwiseGP to the pairs that the choices imply. It has one utility, which predicts no sets."""
    from choicebo.experiments.baselines import pairwise, torch_tools

    given = task(choices, test_sets)
    pairs = pairwise.implied_pairs([(choice.shown, choice.kept) for choice in given.train.choices])
    began, cpu_began = time.perf_counter(), time.process_time()
    with torch_tools.quiet_and_seeded(0):
        pairwise.learned_utility(given.train.X, pairs, given.test_sets[0])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    return ScaleTiming(
        PEER,
        choices,
        given.train.n_options,
        seconds,
        cpu,
        peak_megabytes(),
        None,
        None,
        given.truth,
        f"{len(pairs):,} pairs, one utility",
    )


@dataclass(frozen=True)
class QuestionTiming:
    """The next question of a long study: from its answers to the options to show."""

    answers: int
    options: int
    seconds: float
    cpu_seconds: float


def time_question(answers: int) -> QuestionTiming:
    """Ask after so many answers about as many options, with the settings of a study and two hidden objectives."""
    from choicebo.history import Event
    from choicebo.model import compiling
    from choicebo.optimizer.settings import Settings
    from choicebo.optimizer.situation import Situation, next_question
    from choicebo.space import Real, Space

    space = Space([Real("x", 0, 1), Real("y", 0, 1)])
    given = task(answers, 1).train
    options = space.decode(given.X)
    events = tuple(
        Event(
            number,
            "addition",
            "owner",
            None,
            None,
            tuple(choice.shown.index(row) for row in choice.kept),
            added=tuple(options[row] for row in choice.shown),
            added_new=(False,) * len(choice.shown),
        )
        for number, choice in enumerate(given.choices, start=1)
    )
    settings = Settings.from_dict({"latent_dim": 2}).checked(space)
    compiling.prepare()
    next_question(Situation(space, settings, events[:20]))  # what is loaded once is not the question's
    began, cpu_began = time.perf_counter(), time.process_time()
    next_question(Situation(space, settings, events))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    return QuestionTiming(answers, given.n_options, seconds, cpu)


@dataclass(frozen=True)
class PeopleTiming:
    """A fit of what several people share and where they differ."""

    people: int
    answers_each: int
    options: int
    seconds: float
    cpu_seconds: float
    megabytes: float
    effective_draws: float
    problems: tuple[str, ...]


def time_people(people: int, answers_each: int) -> PeopleTiming:
    """Fit simulated people who answer about the same 100 options, and share most of their taste."""
    from choicebo.experiments.raters_simulated import Size, crowd
    from choicebo.model import compiling

    model = ChoiceGP(raters="related")
    given = crowd(0.3, 0, Size(1, people, answers_each, unseen=0)).joined(0).data()
    compiling.prepare()
    model.fit_silently(crowd(0.3, 0, Size(1, 2, 5, unseen=0)).joined(0).data())  # what is loaded once is not the fit's
    began, cpu_began = time.perf_counter(), time.process_time()
    found = model.fit_silently(given).diagnostics
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    return PeopleTiming(
        people,
        answers_each,
        given.n_options,
        seconds,
        cpu,
        peak_megabytes(),
        found.effective_sample_size,
        tuple(found.problems),
    )


def measure(
    sizes: Sequence[int], peers: bool = False, patience: float = PATIENCE, test_sets: int = TEST_SETS
) -> Iterator[ScaleTiming | GivenUp]:
    """One measurement after the other, as they are made; a peer only until it has taken longer than ``patience`` seconds."""
    for size in sizes:
        yield in_own_process(time_ours, size, test_sets)
        if peers:
            found = _within(patience, time_pairwise, size, test_sets)
            yield found
            peers = isinstance(found, ScaleTiming)


def in_own_process(function: Callable[..., Any], *given: Any, patience: float | None = None) -> Any:
    """What ``function`` returns in a new process, which is ended if it takes longer than ``patience`` seconds."""
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    future = pool.submit(function, *given)
    try:
        return future.result(patience)
    except BaseException:
        for process in list(pool._processes.values()):
            process.kill()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _within(patience: float, function: Callable[..., ScaleTiming], size: int, test_sets: int) -> ScaleTiming | GivenUp:
    try:
        found: ScaleTiming = in_own_process(function, size, test_sets, patience=patience)
        return found
    except TooLong:
        return GivenUp(PEER, size, f"not done after {patience:.0f} s")
    except (BrokenProcessPool, MemoryError, RuntimeError, ValueError) as error:
        return GivenUp(PEER, size, f"failed ({type(error).__name__})")


def peak_megabytes() -> float:
    """The most memory that this process has had so far."""
    status = Path("/proc/self/status")
    if status.exists():  # what the parent had before counts in the other figure
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 1024.0
    if sys.platform == "win32":
        return float("nan")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024.0**2 if sys.platform == "darwin" else peak / 1024.0


HEADINGS = ("", "choices", "options", "seconds", "CPU s", "MB", "effective", "accuracy", "noiseless", "how")


def row(found: ScaleTiming | GivenUp) -> tuple[str, ...]:
    """The cells of one measurement."""
    if isinstance(found, GivenUp):
        return (found.method, f"{found.choices:,}", *["-"] * 7, found.why)
    effective = "-" if found.effective_draws is None else f"{found.effective_draws:,.0f}"
    accuracy = "-" if found.accuracy is None else f"{found.accuracy:.4f}"
    return (
        found.method,
        f"{found.choices:,}",
        f"{found.options:,}",
        f"{found.seconds:.1f}",
        f"{found.cpu_seconds:.1f}",
        f"{found.megabytes:,.0f}",
        effective,
        accuracy,
        f"{found.truth:.4f}",
        found.told,
    )


WIDTHS = (10, 8, 8, 8, 8, 7, 10, 9, 10, 0)


def line(cells: Sequence[str]) -> str:
    """The cells under each other: rows are printed one by one, as they are measured.

    >>> line(("choicebo", "100")).rstrip()
    'choicebo         100'
    """
    first, *rest = (f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=False))
    return "  ".join([first.strip().ljust(WIDTHS[0]), *rest])
