"""Whitened coordinates of several people: what all share, and what is each person's own.

Person ``r`` has the parts ``sqrt(1 - a) h_0 + sqrt(a) h_r``, where ``h_0`` and the ``h_r`` are independent and have the same
covariance, and ``a`` is the share of personal taste, one for each latent dimension. With features, ``h_0 = Phi v_0`` and
``h_r = Phi_r v_r``, where ``Phi`` goes by inducing options for all, and ``Phi_r`` by some that the person saw: they need fewer.

A choice is one person's. So the curvature of the likelihood couples a person's values with the shared ones only, and everything
but the factor of the whole precision is done person by person.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array

from choicebo.model import covariance
from choicebo.model.covariance import Hyperparameters, personal_share
from choicebo.model.engines.arrow import ArrowFactor, ArrowPrecision, Shape
from choicebo.model.engines.personal import PersonalFactors
from choicebo.model.engines.whitening import Whitened
from choicebo.model.evaluate import People
from choicebo.model.features import FeatureFactors

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""


class Contracted(NamedTuple):
    """All that derivatives by the hyperparameters need of the derivative by the parts times the whitened values."""

    by_phi: Array
    """(n_e, options, inducing): by the features of what is shared."""
    by_own: Array
    """(n_e, people, most rows of a person, personal): by those of what is personal."""
    shared: Array
    """(n_e, n_e): by the parts of the first dimension times what is shared in those of the second, summed."""
    personal: Array
    """(n_e, n_e): the same with what is personal."""

    def __add__(self, other: Contracted) -> Contracted:  # type: ignore[override]
        return Contracted(*(a + b for a, b in zip(self, other, strict=True)))

    def __truediv__(self, by: float) -> Contracted:
        return Contracted(*(part / by for part in self))


@dataclasses.dataclass(frozen=True, eq=False)
class PeopleWhitened(Whitened):
    """The prior of the latent values of several people."""

    features: FeatureFactors
    """Of the different options."""
    option_of_row: NDArray[np.int64]
    """(m,): which of the different options each row is."""
    people: People
    personal: PersonalFactors

    @property
    def square(self) -> bool:
        """Not so."""
        return False

    @property
    def options(self) -> int:
        """The number of rows: of options, for each of those who saw them."""
        return len(self.option_of_row)

    @property
    def size(self) -> int:
        """The number of whitened values of a latent dimension."""
        return self._shared + len(self.people.names) * self._personal

    @property
    def _shared(self) -> int:
        return int(self.features.phi.shape[2])

    @property
    def _personal(self) -> int:
        return int(self.personal.phi.shape[3])

    @functools.cached_property
    def _roots(self) -> tuple[Singles, Singles]:
        """(n_e,) each: what the shared and the personal part are multiplied by."""
        share = personal_share(self.hyper)
        return np.sqrt(1.0 - share).astype(np.float32), np.sqrt(share).astype(np.float32)

    @functools.cached_property
    def _slices(self) -> list[slice]:
        """The rows of each person; they stand together."""
        ends = np.searchsorted(self.people.of_row, np.arange(len(self.people.names) + 1))
        return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]

    @functools.cached_property
    def _phi(self) -> Singles:
        """(n_e, m, inducing): the features of each row."""
        return np.ascontiguousarray(self.features.phi[:, self.option_of_row])

    @functools.cached_property
    def _place(self) -> NDArray[np.int64]:
        """(m,): the place of each row among those of its person."""
        starts = np.array([rows.start for rows in self._slices])
        return np.asarray(np.arange(self.options) - starts[self.people.of_row])

    @functools.cached_property
    def damping(self) -> Array:
        """(n_e,): what the latent values are multiplied by before they are compared, as what the features leave out is noise."""
        by_shared, by_personal = (root[:, None] ** 2 for root in self._roots)
        told = by_shared * (self._phi**2).sum(2) + by_personal * (self.personal.of_row**2).sum(2)
        left_out = np.maximum(1.0 - told, 0.0).mean(1)
        return np.asarray(1.0 / np.sqrt(1.0 + covariance.mixing(self.hyper) ** 2 @ left_out))

    @functools.cached_property
    def _mixing(self) -> Array:
        return self.damping[:, None] * covariance.mixing(self.hyper)

    def _components(self, v: Singles) -> tuple[Singles, Singles]:
        """What is shared and what is personal of the parts at all rows, (n_e, m, lanes) each."""
        s, p = self._shared, self._personal
        by_shared, by_personal = (root[:, None, None] for root in self._roots)
        shared = by_shared * (self.features.phi @ v[:, :s])[:, self.option_of_row]
        own = v[:, s:].reshape(len(v), -1, p, v.shape[2])
        personal = by_personal * (self.personal.phi @ own)[:, self.people.of_row, self._place]
        return shared, personal

    def parts(self, v: Singles) -> Singles:
        """The parts at all rows, (n_e, m, lanes), of whitened values (n_e, size, lanes)."""
        shared, personal = self._components(v)
        return shared + personal

    def hidden(self, v: Singles) -> Singles:
        """The latent values (n_e, m, lanes) that are not known, of whitened ones, (n_e, size, lanes)."""
        return self._mixed(self.mixing, self.parts(v))

    def pulled(self, gradient: Singles) -> Singles:
        """The derivative by the whitened values, (n_e, size, lanes), from that by the latent ones, (n_e + k, m, lanes)."""
        by_parts = self.outer_side(gradient, gradient)
        s = self._shared
        by_shared, by_personal = (root[:, None, None] for root in self._roots)
        result = np.empty((len(by_parts), self.size, by_parts.shape[2]), dtype=np.float32)
        result[:, :s] = by_shared * (np.swapaxes(self._phi, 1, 2) @ by_parts)
        own = np.swapaxes(self.personal.phi, 2, 3) @ self._padded(by_parts)
        result[:, s:] = by_personal * own.reshape(len(own), -1, own.shape[3])
        return result

    def _padded(self, rows: Singles) -> Singles:
        """(n_e, people, most rows of a person, k), zero beyond a person's rows, from (n_e, m, k)."""
        result = np.zeros((*self.personal.phi.shape[:3], rows.shape[2]), dtype=np.float32)
        result[:, self.people.of_row, self._place] = rows
        return result

    def rows(self, at: NDArray[np.int64]) -> Singles:
        """(n_e, rows, size): what maps whitened values to the parts at some rows."""
        s, p = self._shared, self._personal
        by_shared, by_personal = (root[:, None, None] for root in self._roots)
        result = np.zeros((len(self._phi), len(at), self.size), dtype=np.float32)
        result[..., :s] = by_shared * self._phi[:, at]
        own = s + self.people.of_row[at][:, None] * p + np.arange(p)
        result[:, np.arange(len(at))[:, None], own] = by_personal * self.personal.of_row[:, at]
        return result

    def told(self, v: Singles) -> Singles:
        """What is shared and what is personal at the inducing options, (n_e, size, lanes), in units of the noise."""
        roots = [np.maximum(root, 1e-3) for root in self._roots]
        return self._mixed(self.mixing, self._blockwise(v, self.found.lower, self.personal.lower, roots))

    def whitened(self, told: Singles) -> Array:
        """Whitened values of what :meth:`told` gives, (n_e, size) or (n_e, size, lanes)."""
        parts = np.linalg.solve(self._mixing, told.reshape(len(told), -1)).reshape(*told.shape[:2], -1)
        inverse = np.stack(
            [solve_triangular(lower, np.eye(len(lower)), lower=True, check_finite=False) for lower in self.found.lower]
        )
        roots = [1.0 / np.maximum(root, 1e-3) for root in self._roots]
        found = self._blockwise(parts, inverse, self.personal.inverse, roots)
        return np.asarray(found.reshape(told.shape), dtype=np.float64)

    def _blockwise(self, given: Singles, shared: Array, personal: Array, scales: list[Singles]) -> Singles:
        """``given: (n_e, size, lanes)``, times a matrix for what is shared and one for each person."""
        s, p = self._shared, self._personal
        own = given[:, s:].reshape(len(given), -1, p, given.shape[2])
        result = np.empty_like(given)
        result[:, :s] = scales[0][:, None, None] * (shared @ given[:, :s])
        result[:, s:] = scales[1][:, None, None] * (personal @ own).reshape(len(given), -1, given.shape[2])
        return result

    def outer_side(self, gradient: Singles, pulled: Singles) -> Singles:
        """The derivative by the parts at all rows."""
        return self._mixed(self.mixing.T, gradient[: len(self.mixing)])

    def outer(self, side: Singles, v: Singles) -> Contracted:
        """What :meth:`by_hyper` needs of ``side v^T``, of :meth:`outer_side` and whitened values, summed over the lanes."""
        s, p = self._shared, self._personal
        shared, personal = self._components(v)
        inner = [np.einsum("dml,eml->de", side, part, dtype=np.float64, optimize=True) for part in (shared, personal)]
        by_shared, by_personal = (root[:, None, None] for root in self._roots)
        rows = side @ np.swapaxes(by_shared * v[:, :s], 1, 2)
        own = (by_personal * v[:, s:]).reshape(len(v), -1, p, v.shape[2])
        by_own = (self._padded(side) @ np.swapaxes(own, 2, 3)).astype(np.float64)
        return Contracted(self._by_option(rows), by_own, inner[0], inner[1])

    def by_hyper(self, outer: Any) -> Hyperparameters:
        """The derivative by the hyperparameters at fixed whitened values, from what :meth:`outer` gives."""
        by_lengthscale = self.features.gradient(outer.by_phi) + self.personal.gradient(outer.by_own)
        share = personal_share(self.hyper)
        by_personal = -0.5 * share * np.diag(outer.shared) + 0.5 * (1.0 - share) * np.diag(outer.personal)
        by_parts, damped = outer.shared + outer.personal, self.damping**2
        if not self.spec.correlated:
            return Hyperparameters(by_lengthscale, damped * np.diag(by_parts), np.zeros_like(by_parts), by_personal)
        by_mixing = np.asarray(np.linalg.solve(covariance.mixing(self.hyper).T, by_parts), dtype=np.float64)
        by_scale, by_coupling = covariance.mixing_gradient(self.hyper, by_mixing)
        return Hyperparameters(by_lengthscale, damped * by_scale, by_coupling, by_personal)

    def precision(self, blocks: list[list[Any]], convex: bool = False) -> ArrowPrecision:
        """The precision of the whitened values, from the curvature of the parts, a sparse matrix for each two dimensions.

        Lapses make it curve the wrong way in some directions; ``convex`` takes it for flat in these.
        """
        n_e, s, p = len(blocks), self._shared, self._personal
        shape = Shape(n_e, s, len(self.people.names), p)
        own = np.zeros((shape.people, n_e, p, n_e, p), dtype=np.float32)
        border = np.zeros((shape.people, n_e, p, n_e, s), dtype=np.float32)
        shared = np.zeros((n_e, s, n_e, s), dtype=np.float32)
        for number, features, curved in self._of_persons(blocks):
            # By the rows or by the features, whichever are fewer: eigenvalues take by far the longest.
            by_rows = len(features[0]) <= s + p
            if convex and by_rows:
                curved = _without_negative(curved)
            found = [
                [left.T @ block @ right for block, right in zip(row, features, strict=True)]
                for left, row in zip(features, curved, strict=True)
            ]
            if convex and not by_rows:
                found = _without_negative(found)
            for d in range(n_e):
                for e in range(n_e):
                    shared[d, :, e] += found[d][e][:s, :s]
                    border[number, d, :, e] = found[d][e][s:, :s]
                    own[number, d, :, e] = found[d][e][s:, s:]
        persons = own.reshape(shape.people, n_e * p, n_e * p)
        persons = 0.5 * (persons + np.swapaxes(persons, 1, 2)) + np.eye(n_e * p, dtype=np.float32)
        for_all = shared.reshape(n_e * s, n_e * s)
        for_all = 0.5 * (for_all + for_all.T) + np.eye(n_e * s, dtype=np.float32)
        borders = border.reshape(shape.people, n_e * p, n_e * s)
        return ArrowPrecision(shape, persons, borders, for_all, functools.partial(self.precision, blocks, True))

    def curved(self, blocks: list[list[Any]], v: Singles) -> Singles:
        """The curvature of the parts times the parts of whitened values, (n_e, m, lanes)."""
        parts = self.parts(v)
        return np.stack([sum(block @ part for block, part in zip(row, parts, strict=True)) for row in blocks])

    def curved_outer(self, blocks: list[list[Any]], factor: ArrowFactor) -> Contracted:
        """What :meth:`by_hyper` needs of the curvature of the parts times the covariance of the whitened values.

        ``factor`` is that of their precision.
        """
        n_e, s = len(blocks), self._shared
        by_shared, by_personal = self._roots
        rows = np.zeros((n_e, self.options, s), dtype=np.float32)
        by_own = np.zeros(self.personal.phi.shape)
        inner = np.zeros((2, n_e, n_e))
        for number, features, curved in self._of_persons(blocks):
            local = factor.local_covariance(number)
            of_person = self._slices[number]
            for d in range(n_e):
                # The derivative by the parts of dimension d, times the whitened values of dimension e.
                by_e = [sum(curved[d][g] @ (features[g] @ local[g, :, e]) for g in range(n_e)) for e in range(n_e)]
                rows[d, of_person] = by_shared[d] * by_e[d][:, :s]
                by_own[d, number, : len(by_e[d])] = by_personal[d] * by_e[d][:, s:]
                for e in range(n_e):
                    inner[0, d, e] += np.vdot(by_e[e][:, :s], features[e][:, :s])
                    inner[1, d, e] += np.vdot(by_e[e][:, s:], features[e][:, s:])
        return Contracted(self._by_option(rows), by_own, inner[0], inner[1])

    def _of_persons(self, blocks: list[list[Any]]) -> Iterator[tuple[int, list[Singles], list[list[Singles]]]]:
        """For each person who answered: the number, the features with both roots, and the curvature of the rows, dense."""
        by_shared, by_personal = self._roots
        for number, rows in enumerate(self._slices):
            if rows.start == rows.stop:
                continue
            features = [
                np.concatenate([by_shared[d] * phi[rows], by_personal[d] * own[rows]], axis=1)
                for d, (phi, own) in enumerate(zip(self._phi, self.personal.of_row, strict=True))
            ]
            yield number, features, [[block[rows, rows].toarray() for block in row] for row in blocks]

    def _by_option(self, rows: Singles) -> Array:
        """Sums (n_e, options, inducing) over the rows of each of the different options."""
        return np.stack([self._summing @ each for each in rows]).astype(np.float64)

    @functools.cached_property
    def _summing(self) -> Any:
        """(options, m), sparse: sums over the rows of each option."""
        ones, rows = np.ones(self.options, dtype=np.float32), np.arange(self.options)
        return csr_array((ones, (self.option_of_row, rows)), shape=(self.features.phi.shape[1], self.options))


def _without_negative(curved: list[list[Singles]]) -> list[list[Singles]]:
    """A symmetric matrix in blocks, one for each two dimensions, its negative eigenvalues replaced by zero."""
    whole: Singles = np.block(curved)
    values, vectors = np.linalg.eigh(0.5 * (whole + whole.T))
    found = (vectors * np.maximum(values, 0.0)) @ vectors.T
    rows = len(curved[0][0])
    return [[found[d : d + rows, e : e + rows] for e in range(0, len(found), rows)] for d in range(0, len(found), rows)]
