"""What the baselines share: one thread, double precision, seeds, and a climb over the unit cube."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.optim import optimize_acqf
from numpy.typing import NDArray
from torch.quasirandom import SobolEngine
from torch.utils.cpp_extension import get_default_build_root

Array = NDArray[np.float64]

SEARCH = {"restarts": 10, "raw_samples": 512, "steps": 200}
"""How hard the next option is looked for: as hard as in BoTorch's tutorials."""

_COMPILED = "logei_fused_ext"
"""What BoTorch compiles for the improvement of a hypervolume."""


@contextmanager
def quiet_and_seeded(seed: int) -> Iterator[None]:
    """One torch thread, the seed for all that is drawn inside, and no warnings about fits that were repeated."""
    torch.set_num_threads(1)
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        yield


def await_builds(most_seconds: float = 600.0) -> None:
    """Wait for what other processes compile for BoTorch, and clear away what a killed one left half-way.

    PyTorch waits for the lock of such a process for ever, so that an experiment that was stopped in its first minute would
    never go on. A build takes about a minute.
    """
    root = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or get_default_build_root())
    for lock in root.rglob(f"{_COMPILED}/lock"):
        while (age := _age(lock)) is not None:
            if age > most_seconds:
                lock.unlink(missing_ok=True)
            time.sleep(0.1)


def _age(path: Path) -> float | None:
    """Seconds since the file was written; ``None`` if there is none."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return None


def tensor(values: Array) -> torch.Tensor:
    """A double-precision tensor."""
    return torch.as_tensor(np.asarray(values), dtype=torch.double)


def maximiser(acquisition: AcquisitionFunction, dim: int, q: int = 1) -> Array:
    """The options of the unit cube (q, dim) that an acquisition function rates highest, chosen jointly."""
    return _best_first(acquisition, dim, q)[0]


def new_maximiser(
    acquisition: AcquisitionFunction, dim: int, as_option: Callable[[Array], Array], known: Array
) -> Array:
    """The option (1, dim) that an acquisition function rates highest of those that are not among the ``known: (n, dim)``.

    ``as_option`` takes points of the unit cube to the nearest options. The best of another restart comes next, and then the
    best of as many points as the search begins with: to propose an option again would be to waste a question.
    """
    for found in _best_first(acquisition, dim, 1):
        option = as_option(found)
        if not _is_among(option, known):
            return option
    points = SobolEngine(dim, scramble=True, seed=len(known)).draw(SEARCH["raw_samples"], dtype=torch.double)
    with torch.no_grad():
        order = torch.argsort(acquisition(points[:, None]), descending=True).numpy()
    options = as_option(points.numpy()[order])
    return next((each[None] for each in options if not _is_among(each[None], known)), options[:1])


def _best_first(acquisition: AcquisitionFunction, dim: int, q: int) -> list[Array]:
    """What the restarts of the search found, each (q, dim)."""
    bounds = torch.stack([torch.zeros(dim, dtype=torch.double), torch.ones(dim, dtype=torch.double)])
    restarts, samples = SEARCH["restarts"], SEARCH["raw_samples"]
    found, values = optimize_acqf(
        acquisition,
        bounds,
        q=q,
        num_restarts=restarts,
        raw_samples=samples,
        options={"batch_limit": restarts, "init_batch_limit": samples, "maxiter": SEARCH["steps"]},
        return_best_only=False,
    )
    order = torch.argsort(values.reshape(-1), descending=True, stable=True).numpy()
    points: Array = np.clip(found.detach().numpy().reshape(-1, q, dim), 0.0, 1.0)
    return list(points[order])


def _is_among(option: Array, known: Array) -> bool:
    return bool((np.abs(known - option).max(1) < _SAME).any())


_SAME = 1e-6
"""Options that differ by less in every input are the same."""
