"""What the baselines share: one thread, double precision, seeds, and a climb over the unit cube."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.optim import optimize_acqf
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEARCH = {"restarts": 10, "raw_samples": 512, "steps": 200}
"""How hard the next option is looked for: as hard as in BoTorch's tutorials."""


@contextmanager
def quiet_and_seeded(seed: int) -> Iterator[None]:
    """One torch thread, the seed for all that is drawn inside, and no warnings about fits that were repeated."""
    torch.set_num_threads(1)
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield


def tensor(values: Array) -> torch.Tensor:
    """A double-precision tensor."""
    return torch.as_tensor(np.asarray(values), dtype=torch.double)


def maximiser(acquisition: AcquisitionFunction, dim: int) -> Array:
    """The option of the unit cube (1, dim) that an acquisition function rates highest."""
    bounds = torch.stack([torch.zeros(dim, dtype=torch.double), torch.ones(dim, dtype=torch.double)])
    restarts, samples = SEARCH["restarts"], SEARCH["raw_samples"]
    found, _ = optimize_acqf(
        acquisition,
        bounds,
        q=1,
        num_restarts=restarts,
        raw_samples=samples,
        options={"batch_limit": restarts, "init_batch_limit": samples, "maxiter": SEARCH["steps"]},
    )
    option: Array = found.detach().numpy().reshape(1, dim)
    return np.clip(option, 0.0, 1.0)
