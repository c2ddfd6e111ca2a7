"""A belief without a fit: draws of the prior, conditioned on nothing."""

import numpy as np

from choicebo.acquisition.base import Known
from choicebo.acquisition.belief import Belief
from choicebo.acquisition.propose import believed_front
from choicebo.model.kernels import option_covariance, safe_cholesky


def prior_belief(m=12, dim=2, n_e=2, draws=128, kernel="matern32", nugget=0.01, seed=0) -> Belief:
    rng = np.random.default_rng(seed)
    X = rng.random((m, dim))
    lengthscales = rng.uniform(0.2, 0.6, (n_e, dim))
    # Correlated ones: each takes something of the part of the one before.
    mixing = np.diag(rng.uniform(1.5, 3.0, n_e)) + np.diag(rng.uniform(-1.0, 1.0, n_e - 1), -1)
    parts = np.stack(
        [
            rng.standard_normal((draws, m)) @ safe_cholesky(option_covariance(kernel, nugget, X, X, lengthscales[d])).T
            for d in range(n_e)
        ],
        axis=-1,
    )
    return Belief(X, parts @ mixing.T, lengthscales, mixing, kernel, nugget)


def known(belief: Belief) -> Known:
    return Known(belief, believed_front(belief, np.arange(len(belief.X))))
