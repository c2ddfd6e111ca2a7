"""The paper's experiment in Bayesian optimisation: how fast do methods approach the true Pareto front?

Every method starts from the same random options of a repetition; those that see only choices are given the choices in
random sets of them. What counts is the hypervolume of *all* options queried so far.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import ConvergenceWarning, InvalidInputError
from choicebo.experiments.choosers import Chooser, random_sets
from choicebo.experiments.methods import Setup, method
from choicebo.experiments.problems import PROBLEMS, Problem, problem
from choicebo.experiments.trials import Trial, seed_of
from choicebo.space.points import point_keys

Array = NDArray[np.float64]

EXPERIMENT = "bo"
INITIAL_OPTIONS, INITIAL_SETS, QUERY_SIZE = 20, 7, 5


@dataclass(frozen=True)
class Protocol:
    """How much is run."""

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    iterations: int
    repetitions: int
    noise: float = 0.0
    """Of the simulated person, in standard deviations of each objective over the initial options."""
    lapse: float = 0.0
    """Probability that an answer of the simulated person is a blind one."""

    def __post_init__(self) -> None:
        for name in self.problems:
            problem(name)
        for name in self.methods:
            method(name)
        if not (self.problems and self.methods) or self.iterations < 1 or self.repetitions < 1:
            raise InvalidInputError(
                f"The experiment was given {len(self.problems)} problems, {len(self.methods)} methods, "
                f"{self.iterations} iterations and {self.repetitions} repetitions; give at least one of each."
            )


COMPARED = ("default", "default-1", "ucb", "paper", "pairwise", "parego", "parego-2", "nehvi", "nehvi-2", "sobol")
"""What the full experiment compares; acquisitions alone are run by name."""
FULL = Protocol(tuple(PROBLEMS), COMPARED, iterations=80, repetitions=15)
QUICK = Protocol(("branin-currin", "zdt2"), ("default", "parego", "sobol"), iterations=10, repetitions=2)


def trials(protocol: Protocol) -> list[Trial]:
    """The grid, repetition by repetition, so that a run that is stopped leaves all methods with about as many.

    >>> [trial.name for trial in trials(Protocol(("zdt1",), ("sobol",), iterations=5, repetitions=2))]
    ['bo/zdt1/sobol/0?iterations=5', 'bo/zdt1/sobol/1?iterations=5']
    """
    settings: dict[str, Any] = {"iterations": protocol.iterations}
    settings |= {key: value for key, value in (("noise", protocol.noise), ("lapse", protocol.lapse)) if value}
    return [
        Trial(EXPERIMENT, task, name, repetition, settings)
        for repetition in range(protocol.repetitions)
        for name in protocol.methods
        for task in protocol.problems
    ]


def run_trial(trial: Trial) -> dict[str, Any]:
    """Optimise once."""
    chosen, target = method(trial.method), problem(trial.task)
    rng = np.random.default_rng(seed_of(EXPERIMENT, trial.task, "start", trial.repetition))
    options = target.space.snap(rng.random((INITIAL_OPTIONS, target.dim)))
    sets = random_sets(INITIAL_OPTIONS, QUERY_SIZE, INITIAL_SETS, rng)
    values = target.objectives(options)
    spread = np.maximum(values.std(axis=0), 1e-12)  # the person's noise is relative to it
    person = Chooser(lambda values: values / spread, trial.settings.get("noise", 0.0), trial.settings.get("lapse", 0.0))
    setup = Setup(
        space=target.space,
        latent_dim=target.num_objectives,
        reference=np.array(target.reference, dtype=float),
        query_size=QUERY_SIZE,
        seed=trial.seed,
        options=options,
        values=values if chosen.sees_values else None,
        sets=tuple(tuple(int(i) for i in shown) for shown in sets),
        kept=tuple(person(values[shown], rng) for shown in sets),
    )
    trace = _Trace(target, options, values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 80 fits; what counts is where they lead
        optimiser = chosen.start(setup)
        for _ in range(trial.settings["iterations"]):
            began = time.perf_counter()
            shown = optimiser.ask()
            found = target.objectives(shown)
            answer = found if chosen.sees_values else person(found, rng)
            optimiser.tell(answer)
            is_choice = not chosen.sees_values and len(shown) > 1
            trace.add(shown, found, time.perf_counter() - began, len(answer) if is_choice else None)
    return trace.to_dict() | {"settings": optimiser.settings()}


class _Trace:
    """What is measured on the way; options shown again count once."""

    def __init__(self, target: Problem, options: Array, values: Array) -> None:
        self._target, self._values = target, values
        self._seen = set(point_keys(options))
        self._per_iteration = [target.log_hypervolume_difference(values)]
        self._per_option: list[float] = []
        self._new: list[int] = []
        self._seconds: list[float] = []
        self._read: list[int] = []
        self._marks: list[int] = []

    def add(self, shown: Array, values: Array, seconds: float, marks: int | None = None) -> None:
        """One iteration; ``marks`` is how many options a person kept, if it was a person who was asked."""
        if marks is not None:
            self._read.append(len(shown))
            self._marks.append(marks)
        before = len(self._per_option)
        for key, value in zip(point_keys(shown), values, strict=True):
            if key not in self._seen:
                self._seen.add(key)
                self._values = np.vstack([self._values, value])
                self._per_option.append(self._target.log_hypervolume_difference(self._values))
        self._per_iteration.append((self._per_iteration + self._per_option[before:])[-1])
        self._new.append(len(self._per_option) - before)
        self._seconds.append(seconds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "log_hv_difference": _rounded(self._per_iteration),
            "log_hv_difference_per_option": _rounded([self._per_iteration[0], *self._per_option]),
            "new_options": self._new,
            **({"options_read": self._read, "marks": self._marks} if self._marks else {}),
            "seconds": [round(each, 3) for each in self._seconds],
        }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 6) for value in values]
