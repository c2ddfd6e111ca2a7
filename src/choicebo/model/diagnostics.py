"""How far the draws of a fit can be trusted."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import ConvergenceWarning
from choicebo.formatting import counted
from choicebo.model.convergence import least_effective, worst_r_hat
from choicebo.model.engines.base import Fit, Limits

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, repr=False)
class Diagnostics:
    """What a careful reader asks before using a posterior."""

    engine: str
    r_hat: float
    """The worst rank-normalised R-hat over the log-likelihood and some dominance margins; 1 is perfect."""
    effective_sample_size: float
    """Effective number of draws: the smallest over the log-likelihood and some dominance margins ``min_d (f_d(a) - f_d(b))``."""
    divergences: int
    acceptance: float
    log_evidence: float
    """Evidence bound (or Laplace's approximation) of the fit."""
    evidence_trace: Array
    draws: int
    """Made in all; of very many, the posterior holds a part."""
    seconds: float
    limits: Limits = Limits()
    """What was asked for."""
    inducing: int | None = None
    """Options whose latent values stand for those of all; ``None`` if each has a value of its own."""
    approximate: bool = False
    """Whether there were so many choices that the draws are those of the nearest Gaussian, not of the posterior itself."""

    def __repr__(self) -> str:
        draws = f"{self.effective_sample_size:,.0f} effective draws of {self.draws:,}"
        told = [f"engine={self.engine!r}", f"r_hat={self.r_hat:.3f}", draws]
        told += [f"features of {counted(self.inducing, 'inducing option')}"] if self.inducing is not None else []
        told += ["draws of a variational approximation"] if self.approximate else []
        told += [counted(self.divergences, "divergence")] if self.divergences else []
        told += [f"log_evidence={self.log_evidence:.1f}", f"seconds={self.seconds:.1f}", *self.problems]
        return f"Diagnostics({', '.join(told)})"

    @property
    def problems(self) -> tuple[str, ...]:
        """What is poor, each with its remedy; empty if nothing is."""
        found = []
        remedy = {
            "ess": "use engine='hmc', or more draws (Elliptical(thin=..., num_samples=...))",
            "hmc": "allow more draws (Hamiltonian(max_samples=...))",
        }.get(self.engine, "draw more")
        limits = self.limits
        if self.r_hat > limits.r_hat:
            found.append(f"the chains disagree (R-hat {self.r_hat:.2f}, wanted below {limits.r_hat:g}): {remedy}")
        if self.effective_sample_size < min(limits.effective_draws, 0.9 * self.draws):
            found.append(
                f"only {self.effective_sample_size:.0f} effective draws of {self.draws}, "
                f"wanted {limits.effective_draws:.0f}: {remedy}"
            )
        if self.divergences > 0.02 * self.draws:
            found.append(
                f"{self.divergences} of {self.draws} trajectories diverged: raise target_acceptance "
                "(Hamiltonian(target_acceptance=0.97))"
            )
        return tuple(found)

    @property
    def sentence(self) -> str:
        """What is poor, and what helps, for somebody who answers questions and sets nothing; empty if nothing is."""
        if not self.problems:
            return ""
        return (
            f"The model has not quite settled (R-hat {self.r_hat:.2f}, {self.effective_sample_size:.0f} effective draws), so the "
            "probabilities may be off by a few percent. A few more answers usually settle it; if they do not, look in the "
            "history for an answer that you would not give again."
        )

    def warn(self) -> None:
        """Issue a `ConvergenceWarning` for what is poor."""
        if self.problems:
            warnings.warn("; ".join(self.problems), ConvergenceWarning, stacklevel=3)


def diagnose(
    engine: str,
    quantities: Array,
    fit: Fit,
    limits: Limits,
    seconds: float,
    inducing: NDArray[np.int64] | None = None,
) -> Diagnostics:
    """Summarise the draws of ``fit``; ``quantities: (quantities, chains, draws)``."""
    _, chains, draws = quantities.shape
    return Diagnostics(
        engine=engine,
        r_hat=worst_r_hat(quantities),
        effective_sample_size=least_effective(quantities),
        divergences=fit.divergences,
        acceptance=fit.acceptance,
        log_evidence=fit.log_evidence,
        evidence_trace=fit.evidence_trace,
        draws=chains * draws,
        seconds=seconds,
        limits=limits,
        inducing=None if inducing is None else len(inducing),
        approximate=fit.approximate,
    )
