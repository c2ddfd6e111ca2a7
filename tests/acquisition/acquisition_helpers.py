"""Draws without a fit: those of the prior."""

import dataclasses

import numpy as np

from choicebo.acquisition.interface import Known
from choicebo.acquisition.propose import believed_front
from choicebo.model.draws import LatentDraws


def prior_draws(m=12, dim=2, n_e=2, draws=128, kernel="matern32", nugget=0.01, seed=0) -> LatentDraws:
    rng = np.random.default_rng(seed)
    X = rng.random((m, dim))
    lengthscales = rng.uniform(0.2, 0.6, (n_e, dim))
    # Correlated ones: each takes something of the part of the one before.
    mixing = np.diag(rng.uniform(1.5, 3.0, n_e)) + np.diag(rng.uniform(-1.0, 1.0, n_e - 1), -1)
    return LatentDraws.of(X, rng.standard_normal((draws, n_e, m)), lengthscales, mixing, kernel, nugget)


def with_latent(draws: LatentDraws, latent) -> LatentDraws:
    """The same options with other values, ``latent: (draws, m, n_e)``."""
    parts = latent @ np.linalg.inv(draws.mixing).T
    whitened = np.stack([np.linalg.solve(lower, parts[..., d].T).T for d, lower in enumerate(draws.factors)], axis=1)
    return dataclasses.replace(draws, whitened=whitened)


def known(draws: LatentDraws) -> Known:
    return Known(draws, believed_front(draws, np.arange(len(draws.X))))
