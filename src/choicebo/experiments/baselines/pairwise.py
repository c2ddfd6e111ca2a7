"""A peer that learns from comparisons only: BoTorch's PairwiseGP, and qEUBO to choose the next query.

A choice is turned into the pairs that it implies for one utility: every kept option beats every rejected one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from botorch.acquisition.preference import qExpectedUtilityOfBestOption
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood
from botorch.sampling import SobolQMCNormalSampler
from numpy.typing import NDArray

from choicebo.experiments.baselines.torch_tools import maximiser, tensor

Array = NDArray[np.float64]

SAMPLES = 64


def implied_pairs(choices: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[tuple[int, int]]:
    """(winner, loser) for choices given as (shown, kept), all of them indices of options.

    >>> implied_pairs([((4, 7, 9), (4, 9))])
    [(4, 7), (9, 7)]
    """
    return [(won, lost) for shown, kept in choices for won in kept for lost in shown if lost not in kept]


def eubo_query(X: Array, pairs: Sequence[tuple[int, int]], query_size: int, seed: int) -> tuple[Array, bool]:
    """A query (query_size, d) that maximises qEUBO, the expected utility of its best option: all options chosen jointly.

    And whether the model was fitted: BoTorch gives some fits up, and its initial hyperparameters then serve.
    """
    model, is_fitted = _fitted(tensor(X), torch.as_tensor(pairs, dtype=torch.long))
    acquisition = qExpectedUtilityOfBestOption(
        pref_model=model, sampler=SobolQMCNormalSampler(torch.Size([SAMPLES]), seed=seed)
    )
    return maximiser(acquisition, X.shape[1], query_size), is_fitted


def learned_utility(X: Array, pairs: Sequence[tuple[int, int]], points: Array) -> Array:
    """Mean utility (n,) at ``points: (n, d)``, learned from pairs of rows of ``X: (m, d)``."""
    model, _ = _fitted(tensor(X), torch.as_tensor(pairs, dtype=torch.long))
    with torch.no_grad():
        return np.asarray(model.posterior(tensor(points)).mean.squeeze(-1).numpy())


def _fitted(options: torch.Tensor, pairs: torch.Tensor) -> tuple[PairwiseGP, bool]:
    model = PairwiseGP(options, pairs)
    try:
        fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
    except ModelFittingError:
        return PairwiseGP(options, pairs), False  # what the attempts left behind is not to be trusted
    return model, True
