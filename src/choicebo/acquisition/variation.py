"""A small change of one of the best options: where the model is wrong, neighbours of what is good are still often good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.thompson import Thompson
from choicebo.space import Space

Array = NDArray[np.float64]

_NARROWEST, _WIDEST = 0.005, 0.1
_STAYING = 0.4


@dataclass(frozen=True)
class Variation(Thompson):
    """Thompson sampling among a few random changes of the options that are believed best."""

    name: str = "variation"
    sentence: str = "the new option is a small change of one that you seem to like"
    candidates: int = 8
    """So few, that chance has its say beside the model."""

    def near(self, space: Space, around: Array, seed: int) -> Array:
        """Feasible points near some of ``around: (n, d)``, at distances of all magnitudes; perhaps none."""
        rng = np.random.default_rng(seed)
        centres = around[rng.integers(len(around), size=self.candidates)]
        width = np.exp(rng.uniform(np.log(_NARROWEST), np.log(_WIDEST), (self.candidates, 1)))
        moved = centres + width * rng.standard_normal(centres.shape)
        # Good options often share the values of all but a few parameters.
        stay = rng.random(centres.shape) < _STAYING
        local = space.snap(np.clip(np.where(stay, centres, moved), 0.0, 1.0))
        steps = [space.neighbours(centre) for centre in centres[:2]]  # discrete parameters move by whole steps only
        local = np.concatenate([local[space.feasible(local)], *steps])
        return np.unique(local, axis=0)
