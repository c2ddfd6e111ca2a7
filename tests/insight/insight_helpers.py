"""Posteriors whose draws are known, so that what insight says about them can be checked without fitting anything."""

from __future__ import annotations

import dataclasses

import numpy as np

import choicebo as cb
from choicebo.experiments.choosers import Chooser
from choicebo.model.choice_table import choice_table
from choicebo.model.covariance import JITTER, Hyperparameters, option_covariance, safe_cholesky
from choicebo.model.diagnostics import Diagnostics
from choicebo.model.engines import ModelSpec
from choicebo.model.posterior import Posterior

CHAINS, DRAWS = 4, 100
LENGTHSCALE, SCALE = 0.8, 4.0


def answers(X, objectives, n_choices, size=4, seed=0):
    """Choices of a person who keeps what nothing else shown beats in all objectives."""
    rng = np.random.default_rng(seed)
    person, choices = Chooser(objectives), []
    for _ in range(n_choices):
        shown = [int(i) for i in rng.choice(len(X), size, replace=False)]
        choices.append(cb.Choice(shown, [shown[p] for p in person(X[shown], rng)]))
    return cb.ChoiceData(X, choices)


def believing(data, functions, spread=0.7, seed=0):
    """A posterior whose draws are ``functions(X): (m, n_e)`` plus smooth noise of the given standard deviation."""
    rng = np.random.default_rng(seed)
    rows = np.array(sorted({i for choice in data.choices for i in choice.shown}))
    X = data.X[rows]
    centre = functions(X)
    n_e = centre.shape[1]
    spec = ModelSpec(n_e)
    K = option_covariance(spec.kernel, spec.nugget, X, X, np.full(data.dim, LENGTHSCALE))
    factor = safe_cholesky(K + JITTER * np.eye(len(X)))
    latent = centre.T + spread * rng.standard_normal((CHAINS, DRAWS, n_e, len(X))) @ factor.T
    whitened = np.linalg.solve(factor, latent[..., None])[..., 0] / SCALE
    place = {int(row): at for at, row in enumerate(rows)}
    flat = np.swapaxes(latent.reshape(CHAINS * DRAWS, n_e, -1), 1, 2)
    log_likelihood = np.stack([_log_p(flat, choice, place, spec.lapse) for choice in data.choices], axis=1)
    hyper = Hyperparameters(
        np.log(np.full((n_e, data.dim), LENGTHSCALE)), np.log(np.full(n_e, SCALE)), np.zeros((n_e, n_e))
    )
    draws = CHAINS * DRAWS
    return Posterior(
        data=data,
        spec=spec,
        hyper=hyper,
        options=X,
        whitened=whitened,
        log_likelihood=log_likelihood.reshape(CHAINS, DRAWS, -1),
        diagnostics=Diagnostics("hmc", 1.0, draws, 0, 0.9, -10.0, np.zeros(4), draws, 0.1),
    )


def believing_otherwise(data, *functions, draws, spread=0.05):
    """A posterior in which each chain believes something else: one of the ``functions(X): (m, n_e)``."""
    chains = [believing(data, function, spread, seed) for seed, function in enumerate(functions)]
    return dataclasses.replace(
        chains[0],
        whitened=np.concatenate([chain.whitened[:1, :draws] for chain in chains]),
        log_likelihood=np.concatenate([chain.log_likelihood[:1, :draws] for chain in chains]),
    )


def _log_p(latent, choice, place, lapse):
    table = choice_table(latent[:, [place[i] for i in choice.shown]])
    code = sum(1 << choice.shown.index(i) for i in choice.kept)
    return np.log((1 - lapse) * table[:, code - 1] + lapse / table.shape[1])


def tastes(X):
    """Hotter is better for one hidden objective, shorter for the other, by less; the flour is all the same."""
    return np.column_stack([12 * X[:, 0] - 6, 4 - 8 * X[:, 1]])
