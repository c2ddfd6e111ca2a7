"""Optimisers that see the objectives' values: BoTorch's ParEGO and qLogNEHVI, set up as in its tutorial on them.

Both model every objective by a regression of its own with standardised values, hyperparameters by maximum a posteriori.
Several options are found one after the other, each with those before it as pending. No option is proposed twice.
The tutorial: https://botorch.org/docs/tutorials/multi_objective_bo
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.parego import qLogNParEGO
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray

from choicebo.experiments.baselines.torch_tools import await_builds, new_maximiser, tensor

Array = NDArray[np.float64]

SAMPLES = 128
NOISE = 1e-3
"""Standard deviation of the values' noise, as a share of their spread: enough to keep covariances invertible."""


def parego(
    X: Array, Y: Array, reference: Array, seed: int, count: int = 1, as_option: Callable[[Array], Array] = np.asarray
) -> Array:
    """The next options: expected improvement of an augmented Chebyshev scalarisation, with weights drawn anew for each.

    Objectives are scaled by the least and the greatest value seen. Where one option is the best seen in all of them, hardly
    any weights make an improvement of one that is worse in some, and the maximum is that option again.
    """
    model = _regressions(X, Y)

    def acquisition(number: int, pending: torch.Tensor | None) -> AcquisitionFunction:
        return qLogNParEGO(
            model=model,
            X_baseline=tensor(X),
            prune_baseline=True,
            sampler=_sampler(seed + number),
            X_pending=pending,
        )

    return _in_turn(acquisition, X, count, as_option)


def nehvi(
    X: Array, Y: Array, reference: Array, seed: int, count: int = 1, as_option: Callable[[Array], Array] = np.asarray
) -> Array:
    """The next options: expected improvement of the hypervolume beyond ``reference``."""
    model = _regressions(X, Y)
    await_builds()  # BoTorch compiles a part of this acquisition

    def acquisition(number: int, pending: torch.Tensor | None) -> AcquisitionFunction:
        return qLogNoisyExpectedHypervolumeImprovement(
            model=model,
            ref_point=reference.tolist(),
            X_baseline=tensor(X),
            prune_baseline=True,
            sampler=_sampler(seed + number),
            X_pending=pending,
        )

    return _in_turn(acquisition, X, count, as_option)


def _in_turn(
    acquisition: Callable[[int, torch.Tensor | None], AcquisitionFunction],
    X: Array,
    count: int,
    as_option: Callable[[Array], Array],
) -> Array:
    """So many new options (count, d), each found with those before it as pending."""
    known = X
    for number in range(count):
        pending = tensor(known[len(X) :]) if number else None
        known = np.vstack([known, new_maximiser(acquisition(number, pending), X.shape[1], as_option, known)])
    return known[len(X) :]


def _regressions(X: Array, Y: Array) -> SingleTaskGP:
    # The benchmarks have no noise; an oracle should not have to find that out.
    noise = NOISE**2 * tensor(Y).var(dim=0).expand(Y.shape)
    model = SingleTaskGP(tensor(X), tensor(Y), train_Yvar=noise, outcome_transform=Standardize(m=Y.shape[1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _sampler(seed: int) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed)
