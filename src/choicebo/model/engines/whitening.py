"""Whitened coordinates: the prior at fixed hyperparameters as a linear map from independent standard normals.

``f = mixing @ parts`` with ``parts_d = factors[d] @ v_d``. Lanes (chains, draws, starting points) are the last axis of ``v``.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo.model import covariance
from choicebo.model.covariance import Factors, Hyperparameters
from choicebo.model.engines.base import ModelSpec
from choicebo.model.evaluate import Likelihood

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""


@dataclasses.dataclass(frozen=True, eq=False)
class Whitened:
    """The prior of the latent values of some options at fixed hyperparameters."""

    spec: ModelSpec
    hyper: Hyperparameters
    squared: Array
    """The options' :func:`~choicebo.model.covariance.squared_differences`."""
    found: Factors

    @functools.cached_property
    def factors(self) -> Singles:
        """(n_e, m, m), of unit variance, in single precision as the likelihood."""
        return self.found.lower.astype(np.float32)

    @functools.cached_property
    def mixing(self) -> Singles:
        """(n_e, n_e), output scales included."""
        return covariance.mixing(self.hyper).astype(np.float32)

    def latent(self, v: Singles) -> Singles:
        """Latent values (n_e, m, lanes) of whitened ones."""
        return self._mixed(self.mixing, self.factors @ v)

    def whitened(self, latent: Singles) -> Array:
        """Whitened values of latent ones, (n_e, m) or (n_e, m, lanes)."""
        parts = np.linalg.solve(covariance.mixing(self.hyper), latent.reshape(len(latent), -1)).reshape(latent.shape)
        return np.stack(
            [
                solve_triangular(lower, part, lower=True, check_finite=False)
                for lower, part in zip(self.found.lower, parts, strict=True)
            ]
        )

    def pulled(self, gradient: Singles) -> Singles:
        """The derivative by the whitened values, from that by the latent ones, (n_e, m, lanes) both."""
        return np.swapaxes(self.factors, 1, 2) @ self._mixed(self.mixing.T, gradient)

    def by_hyper(self, outer: Array) -> Hyperparameters:
        """The derivative by the hyperparameters at fixed whitened values.

        ``outer: (n_e, m, n_e, m)`` is the derivative by the whitened values times these values, ``(dp / dv) v^T``, averaged over
        whatever the result is to be averaged over.
        """
        spec, (n_e, m) = self.spec, outer.shape[:2]
        own = np.stack([outer[d, :, d] for d in range(n_e)])
        by_lengthscale = covariance.factors_gradient(
            spec.kernel, spec.nugget, self.squared, self.hyper.log_lengthscale, self.found, own
        )
        # By the mixing, multiplied by its transpose.
        by_parts = np.diag(np.trace(own, axis1=1, axis2=2).astype(np.float64))
        if not spec.correlated:
            return Hyperparameters(by_lengthscale, np.diag(by_parts), np.zeros((n_e, n_e)))
        all_factors = np.concatenate(list(self.factors), axis=1)
        for d in range(n_e):
            across = solve_triangular(self.factors[d], all_factors, lower=True, check_finite=False)
            for e in range(n_e):
                if d != e:
                    by_parts[d, e] = np.vdot(across[:, e * m : (e + 1) * m], outer[d, :, e])
        by_mixing = np.asarray(np.linalg.solve(covariance.mixing(self.hyper).T, by_parts), dtype=np.float64)
        return Hyperparameters(by_lengthscale, *covariance.mixing_gradient(self.hyper, by_mixing))

    @staticmethod
    def _mixed(matrix: Singles, parts: Singles) -> Singles:
        return (matrix @ parts.reshape(len(parts), -1)).reshape(parts.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class Whitener:
    """The prior of the options of one data set at any hyperparameters."""

    spec: ModelSpec
    squared: Array

    @classmethod
    def of(cls, spec: ModelSpec, likelihood: Likelihood) -> Whitener:
        """For the options of ``likelihood``."""
        return cls(spec, covariance.squared_differences(likelihood.X))

    def at(self, hyper: Hyperparameters) -> Whitened:
        """The prior at ``hyper``."""
        if not self.spec.correlated:
            hyper = hyper._replace(coupling=np.zeros_like(hyper.coupling))
        found = covariance.factors(self.spec.kernel, self.spec.nugget, self.squared, hyper.log_lengthscale)
        return Whitened(self.spec, hyper, self.squared, found)
