"""Optimisers that see the objectives' values: BoTorch's ParEGO and qLogNEHVI.

Both model every objective by a regression of its own with standardised values, hyperparameters by maximum a posteriori.
"""

from __future__ import annotations

import numpy as np
import torch
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.objective import GenericMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.scalarization import get_chebyshev_scalarization
from botorch.utils.sampling import sample_simplex
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray

from choicebo.experiments.baselines.torch_tools import maximiser, tensor

Array = NDArray[np.float64]

SAMPLES = 128
NOISE = 1e-3
"""Standard deviation of the values' noise, as a share of their spread: enough to keep covariances invertible."""
HYPERVOLUME_SAMPLES = 64


def parego(X: Array, Y: Array, reference: Array, seed: int) -> Array:
    """The next option: expected improvement of a Chebyshev scalarisation with random weights."""
    model, inputs, values = _regressions(X, Y), tensor(X), tensor(Y)
    weights = sample_simplex(Y.shape[1], dtype=torch.double).squeeze(0)
    scalarise = get_chebyshev_scalarization(weights=weights, Y=values)
    acquisition = qLogExpectedImprovement(
        model=model,
        best_f=scalarise(values).max(),
        sampler=SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed),
        objective=GenericMCObjective(lambda samples, X=None: scalarise(samples)),
    )
    return maximiser(acquisition, inputs.shape[1])


def nehvi(X: Array, Y: Array, reference: Array, seed: int) -> Array:
    """The next option: expected improvement of the hypervolume beyond ``reference``."""
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model=_regressions(X, Y),
        ref_point=reference.tolist(),
        X_baseline=tensor(X),
        prune_baseline=True,
        sampler=SobolQMCNormalSampler(torch.Size([HYPERVOLUME_SAMPLES]), seed=seed),
    )
    return maximiser(acquisition, X.shape[1])


def _regressions(X: Array, Y: Array) -> SingleTaskGP:
    # The benchmarks have no noise; an oracle should not have to find that out.
    noise = NOISE**2 * tensor(Y).var(dim=0).expand(Y.shape)
    model = SingleTaskGP(tensor(X), tensor(Y), train_Yvar=noise, outcome_transform=Standardize(m=Y.shape[1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model
