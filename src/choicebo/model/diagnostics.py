"""How far the draws can be trusted, on quantities that no permutation of the latent dimensions changes."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import ConvergenceWarning
from choicebo.model.engines.base import Fit

Array = NDArray[np.float64]

R_HAT_LIMIT = 1.1
SAMPLE_SIZE_LIMIT = 100.0
_MARGINS = 8


@dataclasses.dataclass(frozen=True)
class Diagnostics:
    """What a careful reader asks before using a posterior."""

    engine: str
    r_hat: float
    """The worst rank-normalised R-hat over the log-likelihood and some dominance margins; 1 is perfect."""
    effective_sample_size: float
    """Effective number of draws of the log-likelihood."""
    effective_sample_size_margins: float
    """The smallest over some dominance margins ``min_d (f_d(a) - f_d(b))``."""
    divergences: int
    acceptance: float
    log_evidence: float
    """Evidence bound (or Laplace's approximation) of the fit that was kept."""
    evidence_trace: Array
    draws: int
    seconds: float

    @property
    def problems(self) -> tuple[str, ...]:
        """What is poor, each with its remedy; empty if nothing is."""
        found = []
        remedy = {
            "ess": "use engine='hmc', or more draws (Elliptical(thin=..., draws=...))",
            "hmc": "draw more (Hamiltonian(draws=...)), or lengthen the trajectory (trajectory=3.0)",
        }.get(self.engine, "draw more")
        if self.r_hat > R_HAT_LIMIT:
            found.append(f"the chains disagree (R-hat {self.r_hat:.2f}, wanted below {R_HAT_LIMIT}): {remedy}")
        worst = min(self.effective_sample_size, self.effective_sample_size_margins)
        if worst < min(SAMPLE_SIZE_LIMIT, 0.9 * self.draws):
            found.append(f"only {worst:.0f} effective draws of {self.draws}: {remedy}")
        if self.divergences > 0.02 * self.draws:
            found.append(
                f"{self.divergences} of {self.draws} trajectories diverged: raise target_acceptance "
                "(Hamiltonian(target_acceptance=0.9))"
            )
        return tuple(found)

    def warn(self) -> None:
        """Issue a :class:`ConvergenceWarning` for what is poor."""
        if self.problems:
            warnings.warn("; ".join(self.problems), ConvergenceWarning, stacklevel=3)


def margins(latent: Array, seed: int = 0) -> Array:
    """Dominance margins of some pairs of options: ``latent: (chains, draws, n_e, options)`` -> (pairs, chains, draws)."""
    options = latent.shape[-1]
    rng = np.random.default_rng(seed)
    first = rng.integers(0, options, _MARGINS)
    second = (first + rng.integers(1, max(2, options), _MARGINS)) % options
    return np.moveaxis((latent[..., first] - latent[..., second]).min(axis=2), -1, 0)


def diagnose(engine: str, latent: Array, log_likelihood: Array, fit: Fit, seconds: float) -> Diagnostics:
    """Summarise the draws of ``fit``; ``latent: (chains, draws, n_e, options)``, ``log_likelihood: (chains, draws)``."""
    from arviz_stats.base import array_stats

    quantities = np.concatenate([log_likelihood[None], margins(latent)])
    chains, draws = log_likelihood.shape
    if chains > 1:
        r_hats = [float(array_stats.rhat(q)) for q in quantities]
    else:  # halves of the one chain stand for two
        half = draws // 2
        r_hats = [float(array_stats.rhat(q[:, : 2 * half].reshape(2, half))) for q in quantities]
    sizes = [float(array_stats.ess(q)) for q in quantities]
    return Diagnostics(
        engine=engine,
        r_hat=float(np.nanmax([1.0, *r_hats])),
        effective_sample_size=sizes[0] if np.isfinite(sizes[0]) else float(chains * draws),
        effective_sample_size_margins=float(np.nanmin([chains * draws, *sizes[1:]])),
        divergences=fit.divergences,
        acceptance=fit.acceptance,
        log_evidence=fit.log_evidence,
        evidence_trace=fit.evidence_trace,
        draws=chains * draws,
        seconds=seconds,
    )
