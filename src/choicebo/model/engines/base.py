"""What every engine is given and what it returns."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import FitInterruptedError
from choicebo.model.covariance import Hyperparameters, HyperPrior, Kernel
from choicebo.model.evaluate import Likelihood
from choicebo.model.known import Known
from choicebo.model.likelihood import THRESHOLD

Array = NDArray[np.float64]

ProgressCallback = Callable[[str, float], bool | None]
"""Called as ``progress(stage, fraction)`` while a fit runs; returning ``False`` interrupts it."""


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """The model apart from its data."""

    latent_dim: int
    kernel: str | Kernel = "matern32"
    lapse: float = 0.01
    nugget: float = 0.01
    prior: HyperPrior = HyperPrior()
    correlated: bool = True
    inducing: int | str | None = "auto"
    """How the latent values of many options are represented; see :class:`~choicebo.model.gp.ChoiceGP`."""
    known: Known | None = None
    """Objectives that need not be learned, or not altogether (measured ones), behind the ``latent_dim`` hidden ones."""
    threshold: float = THRESHOLD
    """Of a noticeable difference."""

    @property
    def known_count(self) -> int:
        """How many objectives are known."""
        return 0 if self.known is None else self.known.count

    @property
    def measured_count(self) -> int:
        """How many of these are measured: each has a Gaussian process, as each of the hidden ones."""
        return 0 if self.known is None else len(self.known.of_measured)


def are_whole(*counts: object) -> bool:
    """Whether all of them are whole numbers.

    >>> are_whole(1, 2), are_whole(1, 2.5)
    (True, False)
    """
    return all(isinstance(count, int | np.integer) and not isinstance(count, bool) for count in counts)


class Limits(NamedTuple):
    """When draws are good enough. The defaults are the field's; a question of a study needs less."""

    r_hat: float = 1.01
    effective_draws: float = 400.0


INDEPENDENT = Limits(math.inf, 0.0)
"""For engines whose draws are independent: there is nothing to converge."""


class Fit(NamedTuple):
    """What an engine found."""

    hyper: Hyperparameters
    whitened: Array
    """(chains, draws, n_e, options): draws of the whitened values; see :class:`~choicebo.model.engines.whitening.Whitened`.
    With features there are as many as inducing options."""
    log_evidence: float
    """A lower bound (or approximation) of the log marginal likelihood: comparable between fits to the same data."""
    evidence_trace: Array
    """Its course while the hyperparameters were learned."""
    divergences: int = 0
    acceptance: float = 1.0
    quantities: Array | None = None
    """(quantities, chains, draws): what the engine watched, where it made more draws than it returns."""
    approximate: bool = False
    """Whether a sampler had so many choices that it handed out draws of a Gaussian approximation instead."""


class Basin(NamedTuple):
    """A Gaussian over the whitened values around one mode of the posterior."""

    centre: Array
    """(n_e, options)"""
    transform: Any
    """(n_e options, n_e options): a square root of the covariance; of several people, what stands for one."""
    log_evidence: float


class Learned(NamedTuple):
    """Hyperparameters, and the modes of the posterior that were found at them, the best first."""

    hyper: Hyperparameters
    basins: tuple[Basin, ...]
    trace: Array


class Learner(Protocol):
    """What finds the hyperparameters for a sampler."""

    def learn(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Learned:
        """Hyperparameters and the Gaussians to sample around."""
        ...


class Engine(Protocol):
    """One way to the posterior: settings in the object, generator, model and data in, :class:`Fit` out."""

    @property
    def limits(self) -> Limits:
        """Below these the diagnostics warn."""
        ...

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        ...

    def fit(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Fit:
        """Learn the hyperparameters and draw from the posterior; ``start`` is tried as one of the starting points."""
        ...


class Reporter:
    """Passes progress on to the caller and stops the fit when the caller says so."""

    def __init__(self, callback: ProgressCallback | None = None, low: float = 0.0, high: float = 1.0) -> None:
        self._callback, self._low, self._high = callback, low, high

    def __call__(self, stage: str, fraction: float) -> None:
        """Report that ``fraction`` of this reporter's share is done."""
        if self._callback is None:
            return
        if self._callback(stage, self._low + (self._high - self._low) * fraction) is False:
            raise FitInterruptedError(f"The fit was interrupted by its progress callback during {stage!r}.")

    def part(self, low: float, high: float) -> Reporter:
        """A reporter for a part of this one's share."""
        width = self._high - self._low
        return Reporter(self._callback, self._low + width * low, self._low + width * high)
