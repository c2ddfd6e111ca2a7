"""Whether features predict as well as square factors: exact-set accuracy of both on the toy and on real data sets.

Both forms get the same choices and the same unseen sets. There are as many inducing options as ``inducing="auto"`` would take
of many options, also where it would not take features yet.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from choicebo.experiments import accuracy
from choicebo.experiments.accuracy import Split
from choicebo.experiments.datasets import min_max, real_data
from choicebo.model.features import inducing_rows
from choicebo.model.gp import ChoiceGP

N_CHOICES = 300
REAL = ("enb", "jura", "real-estate", "slump")


@dataclass(frozen=True)
class FormTiming:
    """What was measured: means over the repetitions."""

    task: str
    options: float
    inducing: float
    square: float
    """Exact-set accuracy with square factors, ..."""
    features: float
    """... and with features."""
    difference_se: float
    """Standard error of the mean difference of the two."""
    square_cpu: float
    """CPU seconds of a fit."""
    features_cpu: float


def compare(
    folder: Path | None, repetitions: int = 5, n_choices: int = N_CHOICES, model: ChoiceGP = ChoiceGP()
) -> Iterator[FormTiming]:
    """The toy with twice as many seeds, and, where there is a folder of them, as many folds of each of the real data sets."""
    yield _compared(model, "toy", [accuracy.toy_split(n_choices, seed) for seed in range(2 * repetitions)])
    for name in REAL if folder is not None else ():
        data = real_data(name, folder or Path())
        folds = range(min(repetitions, accuracy.N_FOLDS))
        yield _compared(model, name, [accuracy.real_split(data, n_choices, fold, 0, min_max) for fold in folds])


def _compared(model: ChoiceGP, task: str, splits: Sequence[Split]) -> FormTiming:
    shares, cpu, sizes = [], [], []
    for split in splits:
        X = split.train.X
        lengthscales = np.exp(model.prior.centre(X.shape[1], 1).log_lengthscale)
        count = len(inducing_rows(X, model.kernel, lengthscales))
        sizes.append((len(X), count))
        for inducing in (None, count):
            began = time.process_time()
            posterior = dataclasses.replace(model, inducing=inducing).fit_silently(split.train, seed=split.seed)
            cpu.append(time.process_time() - began)
            predicted = posterior.predict_choices(split.test_sets, seed=split.seed)
            shares.append(accuracy.share_equal(predicted, split.test_kept))
    both, seconds = np.reshape(shares, (-1, 2)), np.reshape(cpu, (-1, 2))
    difference = both[:, 1] - both[:, 0]
    error = float(difference.std(ddof=1) / np.sqrt(len(difference))) if len(difference) > 1 else float("nan")
    (options, inducing_options), share, each = (np.mean(part, axis=0).tolist() for part in (sizes, both, seconds))
    return FormTiming(task, options, inducing_options, share[0], share[1], error, each[0], each[1])


def line(found: FormTiming) -> str:
    """One row."""
    return (
        f"{found.task:<12}  {found.options:4.0f} options, {found.inducing:3.0f} inducing   square {found.square:.4f} "
        f"({found.square_cpu:.1f} CPU-s)   features {found.features:.4f} ({found.features_cpu:.1f} CPU-s)   "
        f"difference {found.features - found.square:+.4f} ± {found.difference_se:.4f}"
    )
