"""Elliptical slice sampling on the whitened prior, as in the paper; no gradients, no tuning.

Murray, Adams and MacKay 2010. Kept because it is the paper's sampler and an independent check on ``hmc``: it needs
many more transitions for an effective draw. Chains are the lanes of the compiled likelihood.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import InvalidInputError
from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines.base import Fit, Learner, Limits, ModelSpec, Reporter, are_whole
from choicebo.model.engines.hamiltonian import first_values
from choicebo.model.engines.laplace import Laplace
from choicebo.model.engines.whitening import Whitened, Whitener
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""


def transition(
    rng: np.random.Generator, likelihood: Likelihood, prior: Whitened, v: Singles, height: Array
) -> tuple[Singles, Array]:
    """One transition of every chain: ``v: (n_e, m, LANES)`` and the log-likelihood there, (LANES,)."""
    other = rng.standard_normal(v.shape, dtype=np.float32)
    threshold = height + np.log(rng.random(LANES))
    angle = rng.uniform(0.0, 2.0 * np.pi, LANES)
    low, high = angle - 2.0 * np.pi, angle.copy()
    ends, end_height = v.copy(), height.copy()
    waiting = np.ones(LANES, dtype=bool)
    while waiting.any():
        proposed = v * np.cos(angle, dtype=np.float32) + other * np.sin(angle, dtype=np.float32)
        value, _ = likelihood.value_and_gradient(prior.latent(proposed.astype(np.float32)))
        # A bracket that has shrunk to nothing is back where it began.
        taken = waiting & ((value > threshold) | (high - low < 1e-6))
        ends[..., taken], end_height[taken] = proposed[..., taken], value[taken]
        waiting &= ~taken
        below = angle < 0.0
        low, high = np.where(below, angle, low), np.where(below, high, angle)
        angle = np.where(waiting, rng.uniform(low, high), angle)
    return ends, end_height


@dataclasses.dataclass(frozen=True)
class Elliptical:
    """The ``ess`` engine: sixteen chains."""

    num_samples: int = 50
    """Per chain, each ``thin`` transitions after the last."""
    num_warmup: int = 20
    """Thrown away at the start of each chain, in units of ``thin`` transitions."""
    thin: int = 10
    limits: Limits = Limits()
    """Below these the diagnostics say so."""
    learner: Learner = Laplace()
    """Finds the hyperparameters and the starting points; ``Variational()`` is the paper's."""

    def __post_init__(self) -> None:
        if (
            not are_whole(self.thin, self.num_samples, self.num_warmup)
            or self.thin < 1
            or self.num_samples < 4
            or self.num_warmup < 0
        ):
            raise InvalidInputError("ess needs a thin of at least 1, at least 4 draws and a warm-up of at least 0.")

    @property
    def name(self) -> str:
        """The name that ``ChoiceGP(engine=...)`` takes."""
        return "ess"

    def fit(
        self,
        rng: np.random.Generator,
        spec: ModelSpec,
        likelihood: Likelihood,
        start: Hyperparameters | None,
        report: Reporter,
    ) -> Fit:
        """Learn the hyperparameters, then draw."""
        learned = self.learner.learn(rng, spec, likelihood, start, report.part(0.0, 0.3))
        prior = Whitener.of(spec, likelihood).at(learned.hyper)
        v = first_values(rng, learned.basins)
        height, _ = likelihood.value_and_gradient(prior.latent(v))
        found = []
        total = self.num_warmup + self.num_samples
        for done in range(total):
            for _ in range(self.thin):
                v, height = transition(rng, likelihood, prior, v, height)
            if done >= self.num_warmup:
                found.append(np.moveaxis(v, 2, 0))
            report("drawing", 0.3 + 0.7 * (done + 1) / total)
        whitened = np.stack(found, axis=1).astype(np.float64)
        return Fit(learned.hyper, whitened, learned.basins[0].log_evidence, learned.trace)
