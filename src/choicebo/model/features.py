"""Many options: latent values as the conditional mean given those at a few of them, the inducing options.

``parts = Phi v`` with ``Phi = K_xu L_u^-T`` (options x inducing ones) takes the place of ``parts = L v``. The cost then grows
with the number of options and not with its cube. What the mean leaves out of an option's variance is added where the
posterior is asked: :class:`~choicebo.model.draws.LatentDraws` knows the inducing options and is uncertain about all others, and
:mod:`~choicebo.model.own_parts` says what is known of those beside.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.model.covariance import JITTER, Factors, Kernel, factors, factors_gradient, kernel_named

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

FROM = 400
"""Options up to which each has a value of its own with ``inducing="auto"``: up to here, features save a few seconds at most."""
LEFT_OUT = 0.01
"""Inducing options are added until this share of the variance is left out on average, as much as the nugget's, ..."""
FEWEST, MOST = 32, 192
"""... but at least and at most so many."""
_CANDIDATES = 10_000
"""At most so many options are candidates for inducing ones."""


def representatives(inducing: int | str | None, X: Array, kernel: str | Kernel, lengthscales: Array) -> Rows | None:
    """Rows of the inducing options, or ``None`` where every option of ``X: (m, d)`` has a value of its own.

    ``inducing`` is the setting of :class:`~choicebo.model.gp.ChoiceGP`.
    """
    if inducing is None or (inducing == "auto" and len(X) <= FROM):
        return None
    if inducing == "auto":
        return inducing_rows(X, kernel, lengthscales)
    count = int(inducing)
    return None if count >= len(X) else inducing_rows(X, kernel, lengthscales, count, count)


def inducing_rows(
    X: Array,
    kernel: str | Kernel,
    lengthscales: Array,
    fewest: int = FEWEST,
    most: int = MOST,
    left_out: float = LEFT_OUT,
) -> Rows:
    """The rows of :func:`telling_rows`, in ascending order."""
    return np.sort(telling_rows(X, kernel, lengthscales, fewest, most, left_out)[0])


def telling_rows(
    X: Array,
    kernel: str | Kernel,
    lengthscales: Array,
    fewest: int = FEWEST,
    most: int = MOST,
    left_out: float = LEFT_OUT,
) -> tuple[Rows, Array]:
    """Rows of ``X: (m, d)`` that tell most about the others, at ``lengthscales: (n_e, d)``, those that tell most first.

    Also, how much of the variance those before each of them leave out, on average. Each is the option of which those before it
    leave most unknown, summed over the latent dimensions (a Cholesky factor with pivots). So copies and near-copies are never
    taken together, and categories come first.
    """
    m, n_e = len(X), len(lengthscales)
    among = np.linspace(0, m, min(m, _CANDIDATES), endpoint=False).astype(np.int64)
    scaled = X[among] / lengthscales[:, None]
    value = kernel_named(kernel).value
    most = min(most, len(among))
    columns = np.zeros((n_e, most, len(among)), dtype=np.float32)
    unknown = np.ones((n_e, len(among)))
    taken: list[int] = []
    left: list[float] = []
    for number in range(most):
        total = unknown.sum(0)
        total[taken] = -1.0
        if number >= fewest and unknown.mean() < left_out:
            break
        pivot = int(total.argmax())
        if total[pivot] < JITTER:
            break
        taken.append(pivot)
        left.append(float(unknown.mean()))
        for d in range(n_e):
            difference = scaled[d] - scaled[d, pivot]
            column = value(np.sqrt(np.einsum("ij,ij->i", difference, difference)))
            column -= columns[d, :number, pivot] @ columns[d, :number]
            column /= np.sqrt(max(unknown[d, pivot], JITTER))
            columns[d, number] = column
            unknown[d] = np.maximum(unknown[d] - column * column, 0.0)
    return among[taken], np.array(left)


def distances(A: Array, B: Array, lengthscale: Array) -> Array:
    """Scaled distances (a, b) of many rows, by one matrix product."""
    A, B = A / lengthscale, B / lengthscale
    squared = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * (A @ B.T)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


class FeatureFactors:
    """``Phi`` at fixed length-scales, and what its derivatives need."""

    def __init__(
        self, kernel: str | Kernel, nugget: float, X: Array, inducing: Rows, squared: Array, log_lengthscale: Array
    ) -> None:
        """``squared`` are the squared differences of the inducing options."""
        self._kernel, self._nugget = kernel_named(kernel), nugget
        self._X, self._rows, self._squared, self._log_lengthscale = X, inducing, squared, log_lengthscale
        self.of_inducing: Factors = factors(kernel, nugget, squared, log_lengthscale)
        """(n_e, r, r): factors of the inducing options."""
        self.phi = np.empty((len(log_lengthscale), len(X), len(inducing)), dtype=np.float32)
        """(n_e, m, r)"""
        for d, lower in enumerate(self.of_inducing.lower):
            cross = (1.0 - nugget) * self._kernel.value(self._distances(d))
            self.phi[d] = solve_triangular(lower, cross.T, lower=True, check_finite=False, overwrite_b=True).T
            self.phi[d, inducing] = lower

    def one(self, d: int) -> FeatureFactors:
        """Those of one latent dimension."""
        ours = slice(d, d + 1)
        found = copy.copy(self)
        found._log_lengthscale, found.phi = self._log_lengthscale[ours], self.phi[ours]
        found.of_inducing = Factors(*(part[ours] for part in self.of_inducing))
        return found

    def gradient(self, by_phi: Array) -> Array:
        """Derivative by the logarithms of the length-scales of what has the derivative ``by_phi: (n_e, m, r)``."""
        by_phi = by_phi.astype(np.float64)
        inner = np.zeros_like(self.of_inducing.lower)
        result = np.empty_like(self._log_lengthscale)
        for d, lower in enumerate(self.of_inducing.lower):
            own = by_phi[d, self._rows]
            by_phi[d, self._rows] = 0.0
            inner[d] = lower.T @ own - by_phi[d].T @ self.phi[d]
            by_cross = solve_triangular(lower, by_phi[d].T, lower=True, trans="T", check_finite=False).T
            by_cross *= (1.0 - self._nugget) * self._kernel.slope(self._distances(d))
            # The sum of by_cross (x - u)^2 along each input, without all the differences.
            U = self._X[self._rows]
            summed = by_cross.sum(1) @ self._X**2 + by_cross.sum(0) @ U**2
            summed -= 2.0 * np.einsum("ij,ij->j", self._X, by_cross @ U)
            result[d] = -np.exp(-2.0 * self._log_lengthscale[d]) * summed
        return result + factors_gradient(
            self._kernel, self._nugget, self._squared, self._log_lengthscale, self.of_inducing, inner
        )

    def _distances(self, d: int) -> Array:
        return distances(self._X, self._X[self._rows], np.exp(self._log_lengthscale[d]))
