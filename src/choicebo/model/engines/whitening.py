"""Whitened coordinates: the prior at fixed hyperparameters as a linear map from independent standard normals.

``f = mixing @ parts`` with ``parts_d = factors[d] @ v_d``. Lanes (chains, draws, starting points) are the last axis of ``v``.

The factors are square (`Whitened`), or, of many options, features (`FeatureWhitened`): conditional means given the
values at some inducing options. Engines need not know which.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from choicebo._runtime import in_parallel
from choicebo.model import covariance
from choicebo.model.covariance import Factors, Hyperparameters
from choicebo.model.engines.base import ModelSpec
from choicebo.model.engines.personal import PersonalFactors, PersonalOptions
from choicebo.model.evaluate import Likelihood, People
from choicebo.model.features import FeatureFactors
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""


@dataclasses.dataclass(frozen=True, eq=False)
class Whitened:
    """The prior of the latent values of some options at fixed hyperparameters."""

    spec: ModelSpec
    hyper: Hyperparameters
    squared: Array
    """The options' `squared_differences`."""
    found: Factors
    known: Singles
    """(k, m): standardised values of the known objectives."""

    @functools.cached_property
    def factors(self) -> Singles:
        """(n_e, m, size), of unit variance, in single precision as the likelihood; here ``size`` is ``m``."""
        return self.found.lower.astype(np.float32)

    @property
    def size(self) -> int:
        """The number of whitened values of a latent dimension."""
        return int(self.factors.shape[2])

    @property
    def options(self) -> int:
        """The number of options, ``m``."""
        return int(self.factors.shape[1])

    @property
    def square(self) -> bool:
        """Whether every option has a whitened value of its own: all latent values are possible."""
        return True

    @functools.cached_property
    def mixing(self) -> Singles:
        """(n_e, n_e), output scales included."""
        return self._mixing.astype(np.float32)

    @functools.cached_property
    def _mixing(self) -> Array:
        return covariance.mixing(self.hyper)

    @functools.cached_property
    def known_latent(self) -> Singles:
        """(k, m): latent values of the known objectives."""
        return (np.exp(self.hyper.known)[:, None] * self.known).astype(np.float32)

    def latent(self, v: Singles) -> Singles:
        """Latent values (n_e + k, m, lanes) of whitened ones, (n_e, size, lanes); those of known objectives are the last."""
        return with_known(self.hidden(v), self.known_latent)

    def hidden(self, v: Singles) -> Singles:
        """The latent values (n_e, m, lanes) that are not known."""
        return self._mixed(self.mixing, self.factors @ v)

    def told(self, v: Singles) -> Singles:
        """What says as much as the whitened values ``v: (n_e, size, lanes)`` and means the same at other hyperparameters.

        Here, the hidden latent values.
        """
        return self.hidden(v)

    def whitened(self, told: Singles) -> Array:
        """Whitened values of what :meth:`told` gives, (n_e, size) or (n_e, size, lanes)."""
        parts = np.linalg.solve(self._mixing, told.reshape(len(told), -1)).reshape(told.shape)
        return np.stack(
            [
                solve_triangular(lower, part, lower=True, check_finite=False)
                for lower, part in zip(self.found.lower, parts, strict=True)
            ]
        )

    def pulled(self, gradient: Singles) -> Singles:
        """The derivative by the whitened values, (n_e, size, lanes), from that by the latent ones, (n_e + k, m, lanes)."""
        return np.swapaxes(self.factors, 1, 2) @ self._mixed(self.mixing.T, gradient[: len(self.factors)])

    def by_known(self, gradient: Singles) -> Array:
        """The derivative by the scales of the known objectives, (k,), from that by the latent values, averaged over lanes."""
        by_values = gradient[len(gradient) - len(self.known) :].mean(2, dtype=np.float64)
        return np.asarray((by_values * self.known_latent).sum(1))

    def by_hyper(self, outer: Any) -> Hyperparameters:
        """The derivative by the hyperparameters at fixed whitened values, but for those of known objectives.

        ``outer: (n_e, m, n_e, m)`` is the derivative by the whitened values (see `outer_side`) times these values,
        ``(dp / dv) v^T``, averaged over whatever the result is to be averaged over.
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

    def outer_side(self, gradient: Singles, pulled: Singles) -> Singles:
        """The left side of what `by_hyper` takes, from the derivatives by the latent values and by the whitened ones."""
        return pulled

    def outer(self, side: Singles, v: Singles) -> Any:
        """What :meth:`by_hyper` takes: :meth:`outer_side` times whitened values ``v: (n_e, size, lanes)``, over all lanes."""
        lanes = v.shape[2]
        flat = side.reshape(-1, lanes) @ v.reshape(-1, lanes).T
        return flat.reshape(len(side), -1, *v.shape[:2])

    def rows(self, at: NDArray[np.int64]) -> Singles:
        """(n_e, rows, size): what maps whitened values to the parts at some options."""
        return np.asarray(self.factors[:, at])

    def over(self, draws: Array, function: Callable[[Array], Array]) -> Array:
        """``function`` of the latent values (lanes, n_e + k, m) of some of the ``draws: (draws, n_e, size)`` at a time."""
        if self.square:
            return function(np.moveaxis(self.latent(np.moveaxis(draws, 0, 2).astype(np.float32)), 2, 0))
        blocks = [draws[at : at + LANES] for at in range(0, len(draws), LANES)]

        def of_block(block: Array) -> Array:
            return function(np.moveaxis(self.latent(np.moveaxis(block, 0, 2).astype(np.float32)), 2, 0))

        return np.concatenate(list(in_parallel(of_block, blocks)))

    @staticmethod
    def _mixed(matrix: Singles, parts: Singles) -> Singles:
        return (matrix @ parts.reshape(len(parts), math.prod(parts.shape[1:]))).reshape(parts.shape)


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureWhitened(Whitened):
    """The same where the latent values of all options follow from those of the inducing ones."""

    features: FeatureFactors
    inducing: NDArray[np.int64]

    @functools.cached_property
    def factors(self) -> Singles:
        """(n_e, m, size), in single precision as the likelihood."""
        return self.features.phi

    @property
    def square(self) -> bool:
        """Not so."""
        return False

    @functools.cached_property
    def left_out(self) -> Singles:
        """(n_e, m): the share of each option's variance that the features leave out."""
        told = np.einsum("dmr,dmr->dm", self.factors, self.factors)
        return np.asarray(np.maximum(1.0 - told, 0.0), dtype=np.float32)

    @functools.cached_property
    def damping(self) -> Array:
        """(n_e,): what the latent values are multiplied by before they are compared.

        What the features leave out is noise to a comparison, beside its own of variance one; so differences count for less.
        """
        return np.asarray(1.0 / np.sqrt(1.0 + covariance.mixing(self.hyper) ** 2 @ self.left_out.mean(1)))

    @functools.cached_property
    def _mixing(self) -> Array:
        return self.damping[:, None] * covariance.mixing(self.hyper)

    def outer_side(self, gradient: Singles, pulled: Singles) -> Singles:
        """The derivative by the parts at all options."""
        return self._mixed(self.mixing.T, gradient[: len(self.factors)])

    def by_hyper(self, outer: Any) -> Hyperparameters:
        """As of square factors, where ``outer: (n_e, m, n_e, size)`` has the derivative by the parts in its place."""
        n_e = len(outer)
        own = np.stack([outer[d, :, d] for d in range(n_e)])
        by_lengthscale = self.features.gradient(own)
        by_parts = np.array(
            [
                [
                    np.vdot(outer[d, :, e], self.factors[e]) if d == e or self.spec.correlated else 0.0
                    for e in range(n_e)
                ]
                for d in range(n_e)
            ],
            dtype=np.float64,
        )
        # A larger scale is damped more. That the length-scales change the damping, too, is too little to count.
        damped = self.damping**2
        if not self.spec.correlated:
            return Hyperparameters(by_lengthscale, damped * np.diag(by_parts), np.zeros((n_e, n_e)))
        by_mixing = np.asarray(np.linalg.solve(covariance.mixing(self.hyper).T, by_parts), dtype=np.float64)
        by_scale, by_coupling = covariance.mixing_gradient(self.hyper, by_mixing)
        return Hyperparameters(by_lengthscale, damped * by_scale, by_coupling)

    def told(self, v: Singles) -> Singles:
        """The latent values of the inducing options, from which those of all follow."""
        return self._mixed(self.mixing, self.found.lower.astype(np.float32) @ v)


@dataclasses.dataclass(frozen=True, eq=False)
class Whitener:
    """The prior of the options of one data set at any hyperparameters."""

    spec: ModelSpec
    squared: Array
    """Of the options, or of the inducing ones where there are any."""
    X: Array | None = None
    inducing: NDArray[np.int64] | None = None
    known: Singles = dataclasses.field(default_factory=lambda: np.zeros((0, 1)))
    """(k, m): standardised values of the known objectives."""
    people: People | None = None
    option_of_row: NDArray[np.int64] | None = None
    """With people, which of the options each of their rows is, ..."""
    personal: PersonalOptions | None = None
    """... and what they saw."""

    @classmethod
    def of(cls, spec: ModelSpec, likelihood: Likelihood) -> Whitener:
        """For the options of ``likelihood``."""
        X, inducing = likelihood.X, likelihood.inducing
        known = np.zeros((0, len(X))) if spec.known is None else spec.known(X).T
        if inducing is None:
            return cls(spec, covariance.squared_differences(X), known=known)
        if likelihood.people is not None:
            personal = PersonalOptions(X, likelihood.people.of_row, likelihood.people.own)
            X, option_of_row = np.unique(X, axis=0, return_inverse=True)
            option_of_row = option_of_row.reshape(-1)
            inducing = option_of_row[inducing]
            squared = covariance.squared_differences(X[inducing])
            return cls(spec, squared, X, inducing, known, likelihood.people, option_of_row, personal)
        return cls(spec, covariance.squared_differences(X[inducing]), X, inducing, known)

    def at(self, hyper: Hyperparameters) -> Whitened:
        """The prior at ``hyper``."""
        if not self.spec.correlated:
            hyper = hyper._replace(coupling=np.zeros_like(hyper.coupling))
        if self.X is not None and self.inducing is not None:
            features = FeatureFactors(
                self.spec.kernel, self.spec.nugget, self.X, self.inducing, self.squared, hyper.log_lengthscale
            )
            found = features.of_inducing
            if self.people is not None and self.option_of_row is not None and self.personal is not None:
                from choicebo.model.engines.people import PeopleWhitened

                own = PersonalFactors(self.spec.kernel, self.spec.nugget, self.personal, hyper.log_lengthscale)
                rows, people = self.option_of_row, self.people
                return PeopleWhitened(self.spec, hyper, self.squared, found, self.known, features, rows, people, own)
            return FeatureWhitened(self.spec, hyper, self.squared, found, self.known, features, self.inducing)
        found = covariance.factors(self.spec.kernel, self.spec.nugget, self.squared, hyper.log_lengthscale)
        return Whitened(self.spec, hyper, self.squared, found, self.known)


def with_known(hidden: Singles, known: Singles) -> Singles:
    """Hidden latent values (n_e, m, lanes), followed by those of known objectives, (k, m), the same in every lane."""
    if len(known) == 0:
        return hidden
    lanes = hidden.shape[2]
    return np.concatenate([hidden, np.broadcast_to(known[..., None], (*known.shape, lanes))], dtype=hidden.dtype)
