"""Precision matrices of several people, which have the shape of an arrow.

A choice is one person's, so what is personal of two people is independent given what all share. The precision then has a block
for each person, one for what is shared, and borders between these two kinds. Its Cholesky factor with the people first has the
same shape: time and memory grow with the number of people, and not with its cube and its square.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""


class Shape(NamedTuple):
    """How whitened values (n_e, shared + people * personal) are divided."""

    n_e: int
    shared: int
    people: int
    personal: int

    @property
    def size(self) -> int:
        """Whitened values of one latent dimension."""
        return self.shared + self.people * self.personal

    def parted(self, x: Singles) -> tuple[Singles, Singles]:
        """``x: (n_e size, k)`` as what is personal, (people, n_e personal, k), and what is shared, (n_e shared, k)."""
        k = x.shape[1]
        whole = x.reshape(self.n_e, self.size, k)
        own = whole[:, self.shared :].reshape(self.n_e, self.people, self.personal, k)
        return (
            own.transpose(1, 0, 2, 3).reshape(self.people, self.n_e * self.personal, k),
            whole[:, : self.shared].reshape(-1, k),
        )

    def joined(self, own: Singles, shared: Singles) -> Singles:
        """The inverse of :meth:`parted`."""
        k = shared.shape[1]
        result = np.empty((self.n_e, self.size, k), dtype=shared.dtype)
        result[:, : self.shared] = shared.reshape(self.n_e, self.shared, k)
        by_dim = own.reshape(self.people, self.n_e, self.personal, k).transpose(1, 0, 2, 3)
        result[:, self.shared :] = by_dim.reshape(self.n_e, -1, k)
        return result.reshape(-1, k)


@dataclasses.dataclass(frozen=True, eq=False)
class ArrowPrecision:
    """A symmetric matrix in the shape of an arrow."""

    shape: Shape
    own: Singles
    """(people, q, q) with ``q = n_e personal``"""
    border: Singles
    """(people, q, s) with ``s = n_e shared``"""
    shared: Singles
    """(s, s)"""
    convex: Callable[[], ArrowPrecision]
    """The nearest one without directions that curve the wrong way, should there be any."""

    def averaged(self, others: list[ArrowPrecision]) -> ArrowPrecision:
        """The mean of this one and others."""
        if not others:
            return self
        count = np.float32(1 + len(others))
        parts = ("own", "border", "shared")
        sums = {part: sum((getattr(o, part) for o in others), getattr(self, part)) / count for part in parts}
        convex = functools.partial(_averaged_convex, [self, *others])
        return dataclasses.replace(self, convex=convex, **sums)

    def reordered(self, order: NDArray[np.int64]) -> ArrowPrecision:
        """The same with the latent dimensions in another order."""
        own, shared = (
            (order[:, None] * count + np.arange(count)).reshape(-1)
            for count in (self.shape.personal, self.shape.shared)
        )
        return dataclasses.replace(
            self,
            own=self.own[:, own][:, :, own],
            border=self.border[:, own][:, :, shared],
            shared=self.shared[np.ix_(shared, shared)],
        )

    def dense(self) -> Singles:
        """The whole matrix, (n_e size, n_e size)."""
        identity = np.eye(self.shape.n_e * self.shape.size, dtype=np.float32)
        own, shared = self.shape.parted(identity)
        return self.shape.joined(
            self.own @ own + self.border @ shared,
            _below(self.border, own) + self.shared @ shared,
        )

    def factor(self, least: float) -> tuple[ArrowFactor, bool]:
        """Its Cholesky factor; if an eigenvalue is below the least one allowed, that of :attr:`convex`. Also, whether it was."""
        try:
            self._cholesky(-least)
            return self._cholesky(0.0), False
        except np.linalg.LinAlgError:
            return self.convex()._cholesky(0.0), True

    def _cholesky(self, shift: float) -> ArrowFactor:
        own, shared = (
            part + np.float32(shift) * np.eye(part.shape[-1], dtype=np.float32) for part in (self.own, self.shared)
        )
        lower = np.linalg.cholesky(own)
        inverse = np.linalg.inv(lower)
        border = inverse @ self.border
        rest = shared - _below(border, border)
        return ArrowFactor(self, lower, inverse, border, np.linalg.cholesky(0.5 * (rest + rest.T)))


def _averaged_convex(parts: list[ArrowPrecision]) -> ArrowPrecision:
    found = [part.convex() for part in parts]
    return found[0].averaged(found[1:])


@dataclasses.dataclass(frozen=True, eq=False)
class ArrowFactor:
    """A lower Cholesky factor, people first; used instead of a matrix."""

    precision: ArrowPrecision
    lower: Singles
    """(people, q, q)"""
    inverse: Singles
    """(people, q, q): of :attr:`lower`."""
    border: Singles
    """(people, q, s): the transpose of what stands below them."""
    rest: Singles
    """(s, s)"""

    __array_ufunc__ = None

    @property
    def shape(self) -> Shape:
        """How the values are divided."""
        return self.precision.shape

    def __len__(self) -> int:
        return self.shape.n_e * self.shape.size

    @functools.cached_property
    def _inverse_of_rest(self) -> Singles:
        return np.asarray(np.linalg.inv(self.rest))

    def __matmul__(self, x: Singles) -> Singles:
        """The factor times ``x: (n, k)``."""
        own, shared = self.shape.parted(x)
        return self.shape.joined(self.lower @ own, _below(self.border, own) + self.rest @ shared)

    def spread(self, x: Singles) -> Singles:
        """The inverse of its transpose times ``x: (n, k)``: standard normal values become those of the Gaussian."""
        own, shared = self.shape.parted(x)
        shared = self._inverse_of_rest.T @ shared
        return self.shape.joined(np.swapaxes(self.inverse, 1, 2) @ (own - self.border @ shared), shared)

    def solve(self, x: Singles) -> Singles:
        """The inverse of the precision times ``x: (n,)`` or ``(n, k)``."""
        columns = x.reshape(len(x), -1)
        own, shared = self.shape.parted(columns)
        own = self.inverse @ own
        shared = self._inverse_of_rest @ (shared - _below(self.border, own))
        return self.spread(self.shape.joined(own, shared)).reshape(x.shape)

    @property
    def log_determinant(self) -> float:
        """Half the logarithm of the precision's determinant."""
        own = np.diagonal(self.lower, axis1=1, axis2=2)
        return float(np.log(own, dtype=np.float64).sum() + np.log(np.diag(self.rest), dtype=np.float64).sum())

    def local_covariance(self, person: int) -> Singles:
        """(n_e, shared + personal, n_e, shared + personal): covariance of what is shared and what is one person's own."""
        n_e, s, _, p = self.shape
        of_shared = self._inverse_of_rest.T @ self._inverse_of_rest
        across = -self.inverse[person].T @ self.border[person] @ of_shared  # (q, s)
        own = self.inverse[person].T @ self.inverse[person] - across @ self.border[person].T @ self.inverse[person]
        result = np.empty((n_e, s + p, n_e, s + p), dtype=np.float32)
        result[:, :s, :, :s] = of_shared.reshape(n_e, s, n_e, s)
        result[:, s:, :, :s] = across.reshape(n_e, p, n_e, s)
        result[:, :s, :, s:] = across.T.reshape(n_e, s, n_e, p)
        result[:, s:, :, s:] = own.reshape(n_e, p, n_e, p)
        return result


@dataclasses.dataclass(frozen=True, eq=False)
class ArrowInverse:
    """The inverse of a precision, used instead of a matrix."""

    factor: ArrowFactor

    __array_ufunc__ = None

    def __matmul__(self, x: Singles) -> Singles:
        return self.factor.solve(x)


@dataclasses.dataclass(frozen=True, eq=False)
class ArrowRoot:
    """A square root of the covariance, used instead of a matrix: ``noise @ root.T``."""

    factor: ArrowFactor

    __array_ufunc__ = None

    @property
    def T(self) -> ArrowRoot:
        """Its transpose, which only stands on the right side of a product."""
        return self

    def __rmatmul__(self, noise: Array) -> Array:
        return np.asarray(self.factor.spread(noise.T.astype(np.float32)).T, dtype=np.float64)


def _below(border: Singles, own: Singles) -> Singles:
    """What is below the people, (s, k): the transposed borders (people, q, s) times (people, q, k), summed over the people."""
    return np.asarray(border.reshape(-1, border.shape[2]).T @ own.reshape(-1, own.shape[2]))
