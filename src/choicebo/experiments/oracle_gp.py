"""Oracle-GP, the paper's upper bar: Gaussian-process regression that sees the objectives themselves.

One regression per output, with one length-scale per input, an output scale and Gaussian noise, all found by
maximising the marginal likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from choicebo.errors import NumericalError

Array = NDArray[np.float64]

STARTS = 3

# Logarithms of: length-scale (inputs fill the unit cube), output variance, noise variance (outputs have
# variance 1). The noise floor keeps the covariance of repeated rows positive definite.
_LENGTH_BOUNDS = (np.log(0.01), np.log(100.0))
_SCALE_BOUNDS = (np.log(0.01), np.log(100.0))
_NOISE_BOUNDS = (np.log(1e-6), np.log(4.0))


@dataclass(frozen=True)
class OracleGP:
    """Independent regressions that share their training inputs; ``fit`` makes one."""

    X: Array
    """Training inputs, (n, d)."""
    length_scales: Array
    """(n_o, d)"""
    output_scales: Array
    """Prior standard deviation of each output in its own units, (n_o,)."""
    noises: Array
    """Standard deviation of the noise of each output in its own units, (n_o,)."""
    means: Array
    """Prior mean of each output, (n_o,)."""
    weights: Array
    """Inverse covariance times centred outputs, (n, n_o)."""

    def predict(self, X: Array) -> Array:
        """Posterior mean of every output at the rows of X: (m, d) -> (m, n_o)."""
        # Equal rows must get equal means to the last bit, or rounding would make one dominate the other.
        different, position = np.unique(X, axis=0, return_inverse=True)
        columns = []
        for lengths, scale, mean, weight in zip(
            self.length_scales, self.output_scales, self.means, self.weights.T, strict=True
        ):
            correlation, _ = _matern32(different / lengths, self.X / lengths)
            columns.append(mean + scale**2 * (correlation @ weight))
        return np.stack(columns, axis=1)[position.reshape(-1)]


def fit(X: Array, Y: Array, seed: int = 0) -> OracleGP:
    """Fit one regression per column of Y: (n, n_o) on the inputs X: (n, d) of the unit cube.

    The marginal likelihood has several maxima; the best of ``STARTS`` climbs counts, the first of which
    starts from middling values and the others at random.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> fit(X, np.hstack([X, 1 - X])).predict(np.array([[0.1], [0.8]])).round(1).tolist()
    [[0.1, 0.9], [0.8, 0.2]]
    """
    means = Y.mean(axis=0)
    # By rounding, the standard deviation of a constant need not be 0; its range is.
    spreads = np.where(np.ptp(Y, axis=0) > 0, Y.std(axis=0), 1.0)
    rng = np.random.default_rng(seed)
    found = [_maximise(X, column, rng) for column in ((Y - means) / spreads).T]
    parameters, weights = zip(*found, strict=True)
    logs = np.stack(parameters)
    d = X.shape[1]
    return OracleGP(
        X=X,
        length_scales=np.exp(logs[:, :d]),
        output_scales=spreads * np.exp(0.5 * logs[:, d]),
        noises=spreads * np.exp(0.5 * logs[:, d + 1]),
        means=means,
        # Centred outputs over covariance: spread / spread^2 in the outputs' own units.
        weights=np.stack(weights, axis=1) / spreads,
    )


def _maximise(X: Array, y: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Best log-parameters and weights for one standardised output."""
    d = X.shape[1]
    bounds = [_LENGTH_BOUNDS] * d + [_SCALE_BOUNDS, _NOISE_BOUNDS]
    starts = [np.r_[np.full(d, np.log(0.5 * np.sqrt(d))), 0.0, np.log(0.05)]]
    for _ in range(STARTS - 1):
        lengths = rng.uniform(np.log(0.1), np.log(5.0), size=d)
        starts.append(np.r_[lengths, rng.uniform(-1.0, 1.0), rng.uniform(np.log(1e-3), np.log(0.5))])
    climbs = [
        minimize(
            _negative_evidence,
            start,
            (X, y),
            "L-BFGS-B",
            jac=True,
            bounds=bounds,
            options={"maxiter": 200, "ftol": 1e-7},
        )
        for start in starts
    ]
    best = min(climbs, key=lambda climb: float(climb.fun))
    if not np.isfinite(best.fun):
        raise NumericalError("No start gave a positive definite covariance; scale the inputs to the unit cube.")
    factor, _, _ = _factor(best.x, X / np.exp(best.x[:d]))
    return best.x, cho_solve((factor, True), y)


def _matern32(one: Array, other: Array) -> tuple[Array, Array]:
    """Correlation between scaled inputs, and its slope.

    The derivative of the correlation by log(length-scale of input j) is slope times the squared scaled distance along j.
    """
    r = np.sqrt(3.0 * cdist(one, other, "sqeuclidean"))
    decay = np.exp(-r)
    return (1 + r) * decay, 3 * decay


def _factor(parameters: Array, scaled: Array) -> tuple[Array, Array, Array]:
    """Lower Cholesky factor of the covariance at scaled inputs, their correlation, the kernel's slope."""
    scale, noise = np.exp(parameters[-2:])
    correlation, slope = _matern32(scaled, scaled)
    covariance = scale * correlation
    covariance[np.diag_indices_from(covariance)] += noise
    return cholesky(covariance, lower=True, overwrite_a=True, check_finite=False), correlation, slope


def _negative_evidence(parameters: Array, X: Array, y: Array) -> tuple[float, Array]:
    """Negative log marginal likelihood and its gradient in the log-parameters."""
    n, d = X.shape
    scaled = X / np.exp(parameters[:d])
    scale, noise = np.exp(parameters[-2:])
    try:
        factor, correlation, slope = _factor(parameters, scaled)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros_like(parameters)
    alpha = cho_solve((factor, True), y, check_finite=False)
    value = 0.5 * y @ alpha + np.sum(np.log(np.diag(factor))) + 0.5 * n * np.log(2 * np.pi)
    lower, _ = dpotri(factor, lower=True, overwrite_c=True)
    # dpotri fills the lower triangle only and leaves what it found in the upper one.
    inverse = np.tril(lower) + np.tril(lower, -1).T
    pull = inverse - np.outer(alpha, alpha)
    weight = scale * pull * slope
    # sum_ab W_ab (x_a - x_b)^2 = 2 sum_a x_a^2 (W 1)_a - 2 x' W x, without an (n, n, d) array.
    along = 2 * (weight.sum(axis=1) @ scaled**2 - np.sum(scaled * (weight @ scaled), axis=0))
    gradient = 0.5 * np.r_[along, scale * np.sum(pull * correlation), noise * np.trace(pull)]
    return float(value), gradient
