"""Optimisers that see the objectives' values: BoTorch's ParEGO and qLogNEHVI, set up as in its tutorial on them.

Both model every objective by a regression of its own with standardised values, hyperparameters by maximum a posteriori.
The tutorial: https://botorch.org/docs/tutorials/multi_objective_bo
"""

from __future__ import annotations

import numpy as np
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.parego import qLogNParEGO
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray

from choicebo.experiments.baselines.torch_tools import maximiser, tensor

Array = NDArray[np.float64]

SAMPLES = 128
NOISE = 1e-3
"""Standard deviation of the values' noise, as a share of their spread: enough to keep covariances invertible."""


def parego(X: Array, Y: Array, reference: Array, seed: int) -> Array:
    """The next option: expected improvement of an augmented Chebyshev scalarisation with weights drawn anew.

    Objectives are scaled by the least and the greatest value seen. Where one option is the best seen in all of them, hardly
    any weights make an improvement of one that is worse in some, and ParEGO may ask for the same option again.
    """
    acquisition = qLogNParEGO(
        model=_regressions(X, Y), X_baseline=tensor(X), prune_baseline=True, sampler=_sampler(seed)
    )
    return maximiser(acquisition, X.shape[1])


def nehvi(X: Array, Y: Array, reference: Array, seed: int) -> Array:
    """The next option: expected improvement of the hypervolume beyond ``reference``."""
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model=_regressions(X, Y),
        ref_point=reference.tolist(),
        X_baseline=tensor(X),
        prune_baseline=True,
        sampler=_sampler(seed),
    )
    return maximiser(acquisition, X.shape[1])


def _regressions(X: Array, Y: Array) -> SingleTaskGP:
    # The benchmarks have no noise; an oracle should not have to find that out.
    noise = NOISE**2 * tensor(Y).var(dim=0).expand(Y.shape)
    model = SingleTaskGP(tensor(X), tensor(Y), train_Yvar=noise, outcome_transform=Standardize(m=Y.shape[1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _sampler(seed: int) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed)
