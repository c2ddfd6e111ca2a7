"""Covariance functions of unit variance with one length-scale per input, their derivatives, and priors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.errors import InvalidInputError, NumericalError
from choicebo.formatting import as_given

Array = NDArray[np.float64]

JITTER = 1e-6
"""Added to the diagonal of a unit-variance covariance: far above rounding, far below anything a choice can show."""


class Hyperparameters(NamedTuple):
    """What the covariance functions depend on; one row per latent dimension."""

    log_lengthscale: Array
    """(n_e, d)"""
    log_scale: Array
    """(n_e,): standard deviation of each latent function, in units of the noise."""
    coupling: Array
    """(n_e, n_e): what each latent function takes from the parts of the earlier ones; only the strictly lower triangle counts."""
    personal: Array = np.zeros(0)
    """(n_e,): of several people, the share of each part's variance that is a person's own, as the logarithm of its odds; empty
    where one person answered."""
    known: Array = np.zeros(0)
    """(k,): logarithms of the scales of known objectives, measured ones included: how much a standard deviation of each counts,
    in units of the noise."""
    measured: Array = np.zeros((0, 0))
    """(q, d + 2): of each measured objective the logarithms of the length-scales, of what the amplitude (in standard deviations
    of its numbers) exceeds one by, and of the noise of its numbers (in units of the amplitude), which the choices do not
    change; see :mod:`~choicebo.model.measured`."""


def mixing(hyper: Hyperparameters) -> Array:
    """(n_e, n_e): the latent functions as combinations of independent parts of unit variance, ``f = mixing @ parts``.

    Row ``d`` has the norm ``exp(log_scale[d])``, whatever the coupling.

    >>> one = Hyperparameters(np.zeros((2, 1)), np.log([1.0, 5.0]), np.array([[0.0, 0.0], [0.75, 0.0]]))
    >>> mixing(one).round(6).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    rows = np.eye(len(hyper.coupling)) + np.tril(hyper.coupling, -1)
    return np.asarray((np.exp(hyper.log_scale) / np.sqrt((rows * rows).sum(1)))[:, None] * rows)


def mixing_gradient(hyper: Hyperparameters, by_mixing: Array) -> tuple[Array, Array]:
    """Derivatives by ``log_scale`` and ``coupling`` of what has the derivative ``by_mixing: (n_e, n_e)`` by :func:`mixing`."""
    rows = np.eye(len(hyper.coupling)) + np.tril(hyper.coupling, -1)
    length = np.sqrt((rows * rows).sum(1, keepdims=True))
    unit = rows / length
    scale = np.exp(hyper.log_scale)[:, None]
    along = (by_mixing * unit).sum(1, keepdims=True)
    return (scale * along)[:, 0], np.tril(scale / length * (by_mixing - unit * along), -1)


def personal_share(hyper: Hyperparameters) -> Array:
    """(n_e,): the share of each part's variance that is a person's own; nothing where one person answered.

    >>> personal_share(HyperPrior().centre(1, 2, people=True)).tolist()
    [0.5, 0.5]
    """
    return np.asarray(1.0 / (1.0 + np.exp(-hyper.personal)))


class HyperPrior(NamedTuple):
    """Independent log-normal priors; ``docs/explanation/priors.md`` says why these."""

    lengthscale_median: float = 0.3
    """For one input; it grows with the square root of their number, as distances in the cube do."""
    lengthscale_spread: float = 1.0
    scale_median: float = 3.0
    scale_spread: float = 0.3
    independence: float = 5.0
    """How strongly the prior favours uncorrelated latent functions; at 1.5 all correlations of two are equally probable."""
    known_median: float = 2.0
    """Of the scale of a known objective."""
    known_spread: float = 1.5
    """Wide: what is known may decide every answer, or hardly any."""
    amplitude_excess: float = 0.3
    """By so much a measured objective varies more than its numbers, which may be alike by chance; in standard deviations."""
    amplitude_spread: float = 1.0
    measurement_noise: float = 0.05
    """Of the numbers of a measured objective, as a share of its standard deviation: an invoice is hardly wrong, ..."""
    measurement_noise_spread: float = 1.0
    """... but what comes from a scale may be."""

    def centre(self, dim: int, n_e: int, known: int = 0, people: bool = False, measured: int = 0) -> Hyperparameters:
        """The prior's medians for ``dim`` inputs, ``n_e`` latent dimensions and so many known objectives, of one person or of
        several ``people``; so many of those that are known are ``measured``."""
        log_lengthscale = math.log(self.lengthscale_median) + 0.5 * math.log(dim)
        return Hyperparameters(
            np.full((n_e, dim), log_lengthscale),
            np.full(n_e, math.log(self.scale_median)),
            np.zeros((n_e, n_e)),
            np.zeros(n_e if people else 0),
            np.full(known, math.log(self.known_median)),
            np.tile(
                [*[log_lengthscale] * dim, math.log(self.amplitude_excess), math.log(self.measurement_noise)],
                (measured, 1),
            )
            if measured
            else np.zeros((0, 0)),
        )

    def log_density(self, hyper: Hyperparameters) -> float:
        """Log-density up to a constant, in the logarithms of the parameters."""
        lengthscale, scale, squares, known = self._standardised(hyper)
        penalty = self.independence * np.log1p(squares).sum()
        # All shares of personal taste are equally probable: in the logarithm of the odds that is the logistic density.
        penalty += (np.logaddexp(0.0, hyper.personal) + np.logaddexp(0.0, -hyper.personal)).sum()
        penalty += 0.5 * (self._measured(hyper)[0] ** 2).sum()
        return float(-0.5 * ((lengthscale**2).sum() + (scale**2).sum() + (known**2).sum()) - penalty)

    def gradient(self, hyper: Hyperparameters) -> Hyperparameters:
        """Derivatives of :meth:`log_density`."""
        lengthscale, scale, squares, known = self._standardised(hyper)
        by_coupling = -2.0 * self.independence * np.tril(hyper.coupling, -1) / (1.0 + squares)[:, None]
        measured, spread = self._measured(hyper)
        return Hyperparameters(
            -lengthscale / self.lengthscale_spread,
            -scale / self.scale_spread,
            by_coupling,
            1.0 - 2.0 * personal_share(hyper),
            -known / self.known_spread,
            -measured / spread,
        )

    def _measured(self, hyper: Hyperparameters) -> tuple[Array, Array]:
        """Hyperparameters of measured objectives in units of their prior's spreads, (q, d + 2), and the spreads.

        The noise is not among them: the numbers alone say how large it is, before the choices are looked at.
        """
        if len(hyper.measured) == 0:
            return hyper.measured, np.ones_like(hyper.measured)
        dim = hyper.measured.shape[1] - 2
        spread = np.array([*[self.lengthscale_spread] * dim, self.amplitude_spread, np.inf])
        return (hyper.measured - self.centre(dim, 0, measured=1).measured) / spread, spread

    def _standardised(self, hyper: Hyperparameters) -> tuple[Array, Array, Array, Array]:
        n_e, dim = hyper.log_lengthscale.shape
        centre = self.centre(dim, n_e)
        lengthscale = (hyper.log_lengthscale - centre.log_lengthscale) / self.lengthscale_spread
        scale = (hyper.log_scale - centre.log_scale) / self.scale_spread
        known = (hyper.known - math.log(self.known_median)) / self.known_spread
        return lengthscale, scale, (np.tril(hyper.coupling, -1) ** 2).sum(1), known


class Kernel(NamedTuple):
    """A stationary covariance function of the scaled distance ``r``."""

    value: Callable[[Array], Array]
    """``k(r)``, with ``k(0) = 1``."""
    slope: Callable[[Array], Array]
    """``k'(r) / r``: all that derivatives by length-scales and by points need; finite where two points coincide."""
    freedom: float
    """Degrees of freedom of the spectral density, a Student's t; infinite for a normal one."""


def _matern32(r: Array) -> Array:
    s = math.sqrt(3.0) * r
    return (1.0 + s) * np.exp(-s)


def _matern52(r: Array) -> Array:
    s = math.sqrt(5.0) * r
    return (1.0 + s + s * s / 3.0) * np.exp(-s)


def _matern52_slope(r: Array) -> Array:
    s = math.sqrt(5.0) * r
    return (-5.0 / 3.0) * (1.0 + s) * np.exp(-s)


KERNELS: dict[str, Kernel] = {
    # The rough kernel has a kink at zero, where its slope counts as the one a hair's breadth away.
    "matern12": Kernel(lambda r: np.exp(-r), lambda r: -np.exp(-r) / np.maximum(r, 1e-9), 1.0),
    "matern32": Kernel(_matern32, lambda r: -3.0 * np.exp(-math.sqrt(3.0) * r), 3.0),
    "matern52": Kernel(_matern52, _matern52_slope, 5.0),
    "rbf": Kernel(lambda r: np.exp(-0.5 * r * r), lambda r: -np.exp(-0.5 * r * r), math.inf),
}
"""By the name that ``ChoiceGP(kernel=...)`` takes. A new kernel is one entry."""


def kernel_named(kernel: str | Kernel) -> Kernel:
    """The kernel of that name; a kernel is returned as it is.

    >>> kernel_named("rbf").freedom
    inf
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise InvalidInputError(
            f"kernel must be one of {', '.join(map(repr, KERNELS))} or a Kernel, got {as_given(kernel)}."
        )
    return KERNELS[kernel]


def distances(A: Array, B: Array, lengthscale: Array) -> Array:
    """Scaled distances (a, b) between the rows of ``A: (a, d)`` and ``B: (b, d)``; ``lengthscale: (d,)``."""
    squared = np.zeros((len(A), len(B)))
    for d, l in enumerate(lengthscale):
        squared += np.subtract.outer(A[:, d] / l, B[:, d] / l) ** 2
    return np.sqrt(squared)


def covariance(kernel: str | Kernel, A: Array, B: Array, lengthscale: Array) -> Array:
    """Covariance of unit variance between the rows of ``A: (a, d)`` and ``B: (b, d)``; ``lengthscale: (d,)``.

    >>> x = np.array([[0.0], [1.0]])
    >>> covariance("rbf", x, x, np.array([1.0])).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """
    return kernel_named(kernel).value(distances(A, B, lengthscale))


def option_covariance(kernel: str | Kernel, nugget: float, A: Array, B: Array, lengthscale: Array) -> Array:
    """Covariance of unit variance between options: the share ``nugget`` of it is each option's own, unrelated to its inputs.

    >>> x = np.array([[0.0], [1.0]])
    >>> option_covariance("rbf", 0.1, x, x, np.array([1.0])).round(4).tolist()
    [[1.0, 0.5459], [0.5459, 1.0]]
    """
    r = distances(A, B, lengthscale)
    smooth: Array = (1.0 - nugget) * kernel_named(kernel).value(r)
    if nugget > 0.0:
        for a, b in zip(*np.nonzero(r == 0.0), strict=True):
            if np.array_equal(A[a], B[b]):
                smooth[a, b] += nugget
    return smooth


class Factors(NamedTuple):
    """Cholesky factors of the covariance of some options, and what their derivatives need."""

    lower: Array
    """(n_e, m, m), of unit variance."""
    r: Array
    """(n_e, m, m): scaled distances."""


def squared_differences(X: Array) -> Array:
    """Squared differences of all rows of ``X: (m, d)`` along each input, (d, m m).

    They are all that the factors need of the options, whatever the length-scales.
    """
    difference = X.T[:, :, None] - X.T[:, None, :]
    return np.asarray((difference * difference).reshape(X.shape[1], -1))


def factors(kernel: str | Kernel, nugget: float, squared: Array, log_lengthscale: Array) -> Factors:
    """Cholesky factors of distinct options with these :func:`squared_differences`, one per row of ``log_lengthscale``."""
    m = math.isqrt(squared.shape[1])
    r = np.sqrt(np.exp(-2.0 * log_lengthscale) @ squared).reshape(-1, m, m)
    K = (1.0 - nugget) * kernel_named(kernel).value(r)
    K[:, np.arange(m), np.arange(m)] += nugget + JITTER
    return Factors(np.array([safe_cholesky(each) for each in K]).reshape(K.shape), r)


def factors_gradient(
    kernel: str | Kernel, nugget: float, squared: Array, log_lengthscale: Array, found: Factors, inner: Array
) -> Array:
    """Derivative by ``log_lengthscale`` of what has the derivative ``B`` by the factors ``L``; ``inner: (n_e, m, m)``, ``L^T B``.

    Through the Cholesky factor as in Murray 2016 (arXiv:1602.07527).
    """
    slopes = (1.0 - nugget) * kernel_named(kernel).slope(found.r)
    result = np.empty_like(log_lengthscale)
    for d, (lower, by) in enumerate(zip(found.lower, inner, strict=True)):
        by_covariance = covariance_halves(lower, by)
        # The derivative of r^2 by a log length-scale is -2 (difference / length-scale)^2.
        result[d] = -np.exp(-2.0 * log_lengthscale[d]) * (squared @ (by_covariance * slopes[d]).reshape(-1))
    return result


def covariance_halves(lower: Array, inner: Array) -> Array:
    """Derivative by a covariance ``L L^T`` of what has the derivative ``B`` by its factor ``L``; ``inner: (m, m)`` is ``L^T B``.

    It is not symmetric; a covariance is, so that only its sum with its transpose counts.
    """
    by = np.tril(inner)
    np.fill_diagonal(by, 0.5 * np.diag(by))
    half = solve_triangular(lower, by, lower=True, trans="T", check_finite=False)
    return np.asarray(solve_triangular(lower, half.T, lower=True, trans="T", check_finite=False))


def safe_cholesky(K: Any) -> Array:
    """Lower Cholesky factor of a covariance, with a jitter that grows until it succeeds.

    >>> safe_cholesky(np.ones((2, 2))).round(3).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    size = max(float(np.mean(np.diag(K))), np.finfo(float).tiny)
    for power in range(-10, 0) if np.isfinite(K).all() else ():
        try:
            return np.asarray(np.linalg.cholesky(K + (10.0**power * size) * np.eye(len(K))), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise NumericalError(
        f"A covariance of {len(K)} options is not positive definite even with a jitter of a tenth of its diagonal; "
        "check the options for values that are not finite, or use a rougher kernel such as 'matern32'."
    )
