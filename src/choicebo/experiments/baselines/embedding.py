"""A peer that learns choice functions without a Gaussian process: a small network that embeds options so that choices
are Pareto sets of the embedding.

After Pfannschmidt and Hüllermeier, *Learning choice functions via Pareto-embeddings*, KI 2020 (arXiv:2007.06927). With
``x`` the options of a set and ``z`` their embeddings, the loss of a choice is the weighted sum of their four terms:

* ``L_PO``, that nothing beats a kept ``i``: over all other ``j``, the sum of ``max(0, 1 + min_d (z_jd - z_id))``;
* ``L_DOM``, that something beats a rejected ``j`` everywhere: ``min_i sum_d max(0, 1 + z_jd - z_id)``, where ``i`` is any
  other option, kept or rejected;
* ``L_MDS``, that near options stay near: the Frobenius norm of the distances of ``x`` minus those of ``z``;
* ``L_L2``, that embeddings stay small: the sum of ``|z_i|``.

The weights of the terms are fixed here, the same for all data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.experiments.baselines.torch_tools import quiet_and_seeded, tensor
from choicebo.experiments.choosers import pareto_choice

Array = NDArray[np.float64]

HIDDEN, STEPS, RATE, DECAY = 32, 800, 1e-2, 1e-3
MDS_WEIGHT, L2_WEIGHT = 0.01, 0.01
"""Of the two regularising terms; the two hinge losses have weight one. The first is the one of the authors' library."""


@dataclass(frozen=True)
class ParetoEmbedding:
    """A fitted network; :func:`fit` makes one."""

    network: nn.Module

    def embed(self, X: ArrayLike) -> Array:
        """Options (..., d) -> their embeddings (..., latent_dim), larger is better."""
        with torch.no_grad():
            found: Array = self.network(tensor(np.asarray(X, dtype=float))).numpy()
        return found

    def predict_choices(self, sets: ArrayLike) -> list[tuple[int, ...]]:
        """Positions kept in each of the sets (n, k, d)."""
        return [pareto_choice(values) for values in self.embed(sets)]


def fit(data: ChoiceData, latent_dim: int = 2, seed: int = 0) -> ParetoEmbedding:
    """Train on choices whose sets have one size, all of them at once, by Adam with weight decay."""
    sizes = {len(choice.shown) for choice in data.choices}
    if len(sizes) != 1:
        raise InvalidInputError(
            f"ParetoEmbedding was given sets of sizes {sorted(sizes)}; give choices from sets of one size."
        )
    shown = tensor(np.asarray(data.X)[[list(choice.shown) for choice in data.choices]])
    kept = torch.as_tensor([_mask(choice.shown, choice.kept) for choice in data.choices])
    with quiet_and_seeded(seed):
        network = nn.Sequential(
            nn.Linear(shown.shape[-1], HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, HIDDEN),
            nn.Tanh(),
            nn.Linear(HIDDEN, latent_dim),
        ).double()
        optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
        for _ in range(STEPS):
            optimiser.zero_grad()
            choice_loss(shown, network(shown), kept).mean().backward()
            optimiser.step()
            schedule.step()
    return ParetoEmbedding(network)


def choice_loss(x: Tensor, z: Tensor, kept: Tensor) -> Tensor:
    """The loss of each choice. x: (n, k, d), z: (n, k, latent_dim), kept: (n, k) of booleans, result: (n,)."""
    return hinge_loss(z, kept) + MDS_WEIGHT * scaling_loss(x, z) + L2_WEIGHT * torch.linalg.norm(z, dim=-1).sum(dim=1)


def hinge_loss(z: Tensor, kept: Tensor) -> Tensor:
    """``L_PO + L_DOM`` of each choice."""
    # behind[n, i, j, d] = z_jd - z_id: how far i is behind j
    behind = z[:, None, :, :] - z[:, :, None, :]
    itself = torch.eye(z.shape[1], dtype=torch.bool)
    beaten = torch.relu(1 + behind).sum(-1).masked_fill(itself, torch.inf).min(dim=1).values
    unbeaten = torch.relu(1 + behind.min(dim=-1).values).masked_fill(itself, 0.0).sum(dim=2)
    return torch.where(kept, unbeaten, beaten).sum(dim=1)


def scaling_loss(x: Tensor, z: Tensor) -> Tensor:
    """``L_MDS`` of each choice."""
    return torch.linalg.matrix_norm(torch.cdist(x, x) - torch.cdist(z, z))


def _mask(shown: Sequence[int], kept: Sequence[int]) -> list[bool]:
    return [option in kept for option in shown]
