"""Where to begin: modes of the posterior from many random starting points.

The posterior has bad local modes (latent functions that swap roles halfway through the inputs). A short variational course
runs from many starting points at once, as lanes, with hyperparameters that all of them and all latent dimensions share: one
Cholesky factor serves for everything. Length-scales begin short, which lets the mean fit the data first and be smoothed later;
long ones freeze a wrong mode. Measured objectives have hyperparameters of their own, which their numbers alone say for now.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.model.covariance import Hyperparameters
from choicebo.model.engines.base import ModelSpec, Reporter
from choicebo.model.engines.whitening import Whitened, Whitener, with_known
from choicebo.model.evaluate import Likelihood
from choicebo.model.native import LANES

Array = NDArray[np.float64]
Singles = NDArray[Any]
"""In single precision."""

_ROUNDS, _STEPS = 10, 5
"""Steps on the hyperparameters, and steps on the approximation for each of them."""
_DRAWS = 2
"""For each estimate of a gradient, an antithetic pair."""
_RATE, _HYPER_RATE = 0.1, 0.3
_SHORTENED = 0.2
"""Length-scales begin at this share of their prior median."""
_ALIKE = -1.0
"""The logarithm of the odds of personal taste, against that of sharing, at which several people begin: what they share, which all
answers tell of, is found first."""
_SPREAD = 0.15
"""The zero function is a saddle (all latent dimensions alike): a small random mean breaks the symmetry."""


class Adam:
    """Steps of Kingma and Ba for an array, uphill."""

    def __init__(self, fast: float = 0.9, slow: float = 0.99) -> None:
        self._fast, self._slow, self._count = fast, slow, 0
        self._mean: Any = 0.0
        self._square: Any = 0.0

    def step(self, slope: NDArray[Any]) -> NDArray[Any]:
        """The next step, about one in size; of the slope's own precision."""
        self._count += 1
        self._mean = self._fast * self._mean + (1.0 - self._fast) * slope
        self._square = self._slow * self._square + (1.0 - self._slow) * slope * slope
        mean = self._mean / (1.0 - self._fast**self._count)
        root = np.sqrt(self._square / (1.0 - self._slow**self._count))
        return np.asarray(mean / (root + 1e-8), dtype=slope.dtype)


class Starts(NamedTuple):
    """Ends of the short course, the best first."""

    hyper: Hyperparameters
    """The same for all, and for all latent dimensions."""
    v: Array
    """(starts, n_e, m): means of the whitened values."""
    log_sd: Array
    bound: Array
    """(starts,): lower bounds of the evidence."""


def starting_points(
    rng: np.random.Generator, spec: ModelSpec, likelihood: Likelihood, *, starts: int, report: Reporter
) -> Starts:
    """Run the short course from ``starts`` random starting points."""
    n_e, m, dim = spec.latent_dim, likelihood.coordinates, likelihood.X.shape[1]
    shared = dataclasses.replace(spec, latent_dim=1, correlated=False)
    hyper = spec.prior.centre(dim, 1, spec.known_count, likelihood.people is not None)
    rest = None
    if spec.measured_count:
        # What has a process of its own, or none, is apart from what all hidden dimensions share.
        shared = dataclasses.replace(shared, known=None)
        rest = Whitener.of(dataclasses.replace(spec, latent_dim=0), likelihood)
        hyper = hyper._replace(measured=rest.measured_alone())
    whitener = Whitener.of(shared, likelihood)
    hyper = hyper._replace(log_lengthscale=hyper.log_lengthscale + np.log(_SHORTENED), personal=hyper.personal + _ALIKE)
    learned = n_e + spec.measured_count
    mean: Singles = (_SPREAD * rng.standard_normal((learned, m, starts))).astype(np.float32)
    log_sd: Singles = np.full_like(mean, -0.5)
    by_mean, by_sd, by_hyper = Adam(), Adam(), Adam(0.8, 0.95)
    for number in range(_ROUNDS):
        prior = whitener.at(hyper)
        behind = None if rest is None else rest.at(_only_known(hyper))
        total, bound, by_known = None, np.zeros(starts), np.zeros(spec.known_count)
        for _ in range(_STEPS):
            half = rng.standard_normal((learned, m, starts, _DRAWS // 2), dtype=np.float32)
            noise = np.concatenate([half, -half], axis=3)
            sd = np.exp(log_sd)
            v = (mean[..., None] + sd[..., None] * noise).reshape(learned, m, -1)
            values, slopes, outer, of_known = _evaluate(likelihood, prior, v, n_e, behind)
            by_known += of_known / _STEPS
            outer = outer / (_STEPS * starts * _DRAWS)
            total = outer if total is None else total + outer
            slopes = slopes.reshape(noise.shape)
            divergence = 0.5 * (sd * sd + mean * mean - 1.0 - 2.0 * log_sd).sum((0, 1), dtype=np.float64)
            bound += values.reshape(starts, _DRAWS).mean(1) - divergence
            up_sd = (slopes * noise).mean(3) * sd - sd * sd + np.float32(1.0)
            mean = mean + np.float32(_RATE) * by_mean.step(slopes.mean(3) - mean)
            log_sd = log_sd + np.float32(_RATE) * by_sd.step(up_sd)
        slope = prior.by_hyper(total)[:2] if n_e else (np.zeros((1, dim)), np.zeros(1))
        # All latent dimensions share one set of hyperparameters, hence its prior counts as often.
        density = spec.prior.gradient(hyper)
        uphill = [by + n_e * of_prior for by, of_prior in zip(slope, density[:2], strict=True)]
        uphill.append(by_known + density.known)
        move = _HYPER_RATE * by_hyper.step(np.concatenate([part.ravel() for part in uphill]))
        hyper = hyper._replace(
            log_lengthscale=hyper.log_lengthscale + move[:dim],
            log_scale=hyper.log_scale + move[dim : dim + 1],
            known=hyper.known + move[dim + 1 :],
        )
        report("looking for where to begin", (number + 1) / _ROUNDS)
    order = np.argsort(-np.nan_to_num(bound, nan=-np.inf), kind="stable")
    alike = hyper._replace(
        log_lengthscale=np.repeat(hyper.log_lengthscale, n_e, axis=0),
        log_scale=np.repeat(hyper.log_scale, n_e),
        coupling=np.zeros((n_e, n_e)),
        personal=np.repeat(hyper.personal, n_e),
    )
    mean_end, log_sd_end = (np.moveaxis(part, 2, 0)[order].astype(np.float64) for part in (mean, log_sd))
    return Starts(alike, mean_end, log_sd_end, bound[order] / _STEPS)


def _only_known(hyper: Hyperparameters) -> Hyperparameters:
    """Hyperparameters of known and measured objectives without any hidden ones."""
    nothing = np.zeros((0, hyper.log_lengthscale.shape[1])), np.zeros(0), np.zeros((0, 0)), np.zeros(0)
    return Hyperparameters(*nothing, hyper.known, hyper.measured)


def _evaluate(
    likelihood: Likelihood, prior: Whitened, v: Singles, n_e: int, behind: Whitened | None
) -> tuple[Array, Singles, Any, Array]:
    """Log-likelihood (lanes,), its slope by ``v: (learned, size, lanes)``, what hyperparameters learn from, and the slope by the
    scales of known objectives.

    The prior is that of one latent dimension, which all ``n_e`` hidden ones share: each is as many further lanes to it. That of
    measured objectives is ``behind``.
    """
    size, lanes = v.shape[1:]
    as_one = v[:n_e].transpose(1, 0, 2).reshape(1, size, n_e * lanes)
    hidden = np.zeros((n_e, prior.options, -(-lanes // LANES) * LANES), dtype=np.float32)
    if n_e:
        hidden[..., :lanes] = prior.hidden(as_one).reshape(-1, n_e, lanes).transpose(1, 0, 2)
    if behind is None:
        latent = with_known(hidden, prior.known_latent)
    else:
        others = np.zeros((len(v) - n_e, size, hidden.shape[2]), dtype=np.float32)
        others[..., :lanes] = v[n_e:]
        latent = np.concatenate([hidden, behind.latent(others)])
    values, slopes = np.empty(latent.shape[2]), np.empty_like(latent)
    for at in range(0, latent.shape[2], LANES):
        block = slice(at, at + LANES)
        values[block], slopes[..., block] = likelihood.value_and_gradient(np.ascontiguousarray(latent[..., block]))
    by_hidden, outer = np.zeros((0, size, lanes), dtype=np.float32), 0.0
    if n_e:
        gradient = slopes[:n_e, :, :lanes].transpose(1, 0, 2).reshape(1, -1, n_e * lanes)
        pulled = prior.pulled(gradient)
        outer = prior.outer(prior.outer_side(gradient, pulled), as_one)
        by_hidden = pulled.reshape(size, n_e, lanes).transpose(1, 0, 2)
    if behind is None or behind.spec.known is None:
        return values[:lanes], by_hidden, outer, prior.by_known(slopes[..., :lanes])
    of_rest, places = slopes[n_e:, :, :lanes], behind.spec.known
    by_known = np.empty(places.count)
    by_known[np.concatenate([places.of_measured, places.of_fixed])] = (of_rest * latent[n_e:, :, :lanes]).sum(1).mean(1)
    return values[:lanes], np.concatenate([by_hidden, behind.pulled(of_rest)]), outer, by_known
