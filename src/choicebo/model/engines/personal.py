"""Features of what is personal: each person's own part follows from its values at some of the options that they saw.

The features of all people are one array, padded with zeros, so that a crowd costs a few large operations and not many small ones.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.model.covariance import JITTER, Kernel, kernel_named, safe_cholesky

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Singles = NDArray[Any]
"""In single precision."""


class PersonalOptions:
    """The options of each person and their inducing ones, padded to the same number."""

    def __init__(self, X: Array, of_row: Rows, own: Rows) -> None:
        """``X: (m, d)``, with the rows of a person together; ``own: (people, p)`` are inducing rows, -1 where there are fewer."""
        people, p = own.shape
        starts = np.searchsorted(of_row, np.arange(people))
        self.of_row = of_row
        self.place: Rows = np.asarray(np.arange(len(X)) - starts[of_row])
        """(m,): the place of each row among those of its person."""
        most = int(self.place.max()) + 1
        self.there: NDArray[np.bool_] = own >= 0
        """(people, p): False for padding."""
        self.person, self.column = np.nonzero(self.there)
        """Of all inducing options, whose they are and in which column, ..."""
        self.inducing = self.place[own[self.there]]
        """... and at which place among the person's rows."""
        self.rows: Array = np.zeros((people, most, X.shape[1]))
        self.rows[of_row, self.place] = X
        self.present = np.zeros((people, most), dtype=np.bool_)
        self.present[of_row, self.place] = True
        self.nodes: Array = np.zeros((people, p, X.shape[1]))
        self.nodes[self.there] = X[own[self.there]]


class PersonalFactors:
    """The features at fixed length-scales, and what their derivatives need."""

    def __init__(self, kernel: str | Kernel, nugget: float, options: PersonalOptions, log_lengthscale: Array) -> None:
        self._kernel, self._nugget, self._options = kernel_named(kernel), nugget, options
        self._log_lengthscale = log_lengthscale
        people, most = options.present.shape
        p = options.there.shape[1]
        shape = (len(log_lengthscale), people)
        self.lower: Array = np.empty((*shape, p, p))
        """(n_e, people, p, p): factors of the covariance of the inducing options."""
        self.inverse: Array = np.empty_like(self.lower)
        """(n_e, people, p, p)"""
        self.phi: Singles = np.empty((*shape, most, p), dtype=np.float32)
        """(n_e, people, most, p)"""
        both = options.there[:, :, None] & options.there[:, None, :]
        for d, scale in enumerate(np.exp(log_lengthscale)):
            K = np.where(
                both, (1.0 - nugget) * self._kernel.value(_distances(options.nodes, options.nodes, scale)), 0.0
            )
            K[:, np.arange(p), np.arange(p)] = 1.0 + JITTER
            self.lower[d] = _cholesky(K)
            self.inverse[d] = np.linalg.inv(self.lower[d])
            cross = (1.0 - nugget) * self._kernel.value(_distances(options.rows, options.nodes, scale))
            cross *= options.present[:, :, None] & options.there[:, None, :]
            self.phi[d] = cross @ np.swapaxes(self.inverse[d], 1, 2)
            self.phi[d, options.person, options.inducing] = self.lower[d, options.person, options.column]

    @functools.cached_property
    def of_row(self) -> Singles:
        """(n_e, m, p): the features of each row."""
        return np.ascontiguousarray(self.phi[:, self._options.of_row, self._options.place])

    def gradient(self, by_phi: Array) -> Array:
        """Derivative by the logarithms of the length-scales of what has the derivative ``by_phi: (n_e, people, most, p)``."""
        options = self._options
        at = options.person, options.inducing
        result = np.empty_like(self._log_lengthscale)
        for d, scale in enumerate(np.exp(self._log_lengthscale)):
            by = by_phi[d] * (options.present[:, :, None] & options.there[:, None, :]).astype(np.float64)
            own = np.zeros_like(self.lower[d])
            own[options.person, options.column] = by[at]
            by[at] = 0.0
            inner = np.swapaxes(self.lower[d], 1, 2) @ own - np.swapaxes(by, 1, 2) @ self.phi[d].astype(np.float64)
            # Through the Cholesky factor as in Murray 2016 (arXiv:1602.07527).
            inner = np.tril(inner)
            diagonal = np.arange(inner.shape[1])
            inner[:, diagonal, diagonal] *= 0.5
            by_covariance = np.swapaxes(self.inverse[d], 1, 2) @ np.swapaxes(inner, 1, 2) @ self.inverse[d]
            changed = self._changed(by_covariance, options.nodes, options.nodes, scale)
            changed += self._changed(by @ self.inverse[d], options.rows, options.nodes, scale)
            result[d] = -changed / scale**2
        return result

    def _changed(self, by: Array, A: Array, B: Array, scale: Array) -> Array:
        """(d,): the sum of ``by: (people, a, b)`` times the kernel's slope times the squared differences of each input."""
        weights = by * (1.0 - self._nugget) * self._kernel.slope(_distances(A, B, scale))
        summed = np.einsum("pa,pad->d", weights.sum(2), A**2) + np.einsum("pb,pbd->d", weights.sum(1), B**2)
        return np.asarray(summed - 2.0 * np.einsum("pad,pad->d", A, weights @ B))


def _distances(A: Array, B: Array, scale: Array) -> Array:
    """Scaled distances (people, a, b) of ``A: (people, a, d)`` and ``B: (people, b, d)``."""
    A, B = A / scale, B / scale
    squared = (A * A).sum(2)[:, :, None] + (B * B).sum(2)[:, None, :] - 2.0 * (A @ np.swapaxes(B, 1, 2))
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _cholesky(K: Array) -> Array:
    """Lower factors of (people, p, p)."""
    try:
        return np.asarray(np.linalg.cholesky(K))
    except np.linalg.LinAlgError:
        return np.stack([safe_cholesky(each) for each in K])
