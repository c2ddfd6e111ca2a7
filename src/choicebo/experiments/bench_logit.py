"""Single choices of real travellers: our model beside a plain multinomial logit, by log score and time.

Both get the same inputs of each alternative: which mode it is, and its numbers. The log score is the mean log-probability of what
was chosen, over five folds of travellers that the models did not learn from.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from choicebo.choices import Choice, ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.experiments.raters import winner_log_probabilities
from choicebo.model.gp import ChoiceGP

Array = NDArray[np.float64]

FOLDS = 5
_PENALTY = 1e-3
"""Keeps a coefficient finite that a fold does not determine."""


class Source(NamedTuple):
    """A file of single choices, with a row for each alternative."""

    file: str
    group: str
    """The column that says which choice an alternative belongs to."""
    numbers: tuple[str, ...]
    """The columns that describe an alternative, beside its mode."""
    about: str
    mode: str = "mode"
    chosen: str = "chosen"

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are read."""
        return (self.group, self.mode, self.chosen, *self.numbers)


# Without the waiting times: of the modes that were not taken they are one of two typical values, which gives the choice away to
# any model that can notice.
TRAVELMODE = Source(
    "travelmode.csv",
    "traveller_id",
    ("in_vehicle_cost_usd", "in_vehicle_time_min"),
    "Greene and Hensher's travel mode data (R package AER, TravelMode)",
)
SWISSMETRO = Source(
    "swissmetro.csv",
    "question",
    ("minutes", "cost_chf", "headway_minutes", "season_ticket"),
    "the Swissmetro data of Bierlaire, Axhausen and Abay (2001)",
)


class Singles(NamedTuple):
    """Single choices among alternatives of their own."""

    X: Array
    """(choices, alternatives, d), in the unit cube: the mode as one of several columns, then the numbers."""
    chosen: NDArray[np.int64]
    """(choices,)"""


@dataclass(frozen=True)
class LogitTiming:
    """What was measured."""

    method: str
    choices: int
    log_score: float
    """Mean over the choices of all folds; higher is better."""
    seconds: float
    """For all folds."""


def read(folder: Path, source: Source = TRAVELMODE, most: int | None = None) -> Singles:
    """The travellers' choices from the file in ``folder``: those among as many alternatives as there are.

    Args:
        folder: Where the file is.
        source: Which file it is.
        most: How many of the choices, spread evenly over all; None: all of them.
    """
    path = folder / source.file
    if not path.is_file():
        raise InvalidInputError(
            f"{path} does not exist; save a CSV file there with the columns {', '.join(source.columns)}, as in "
            f"{source.about}."
        )
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    missing = [name for name in source.columns if not rows or name not in rows[0]]
    if missing:
        raise InvalidInputError(f"{path} has no column {missing[0]!r}; it needs {', '.join(source.columns)}.")
    modes = sorted({each[source.mode] for each in rows})
    numbers = np.array([[float(each[name]) for name in source.numbers] for each in rows])
    span = np.maximum(np.ptp(numbers, axis=0), 1e-12)
    one_hot = np.array([[float(each[source.mode] == mode) for mode in modes] for each in rows])
    inputs = np.concatenate([one_hot, (numbers - numbers.min(0)) / span], axis=1)
    groups: dict[str, list[int]] = {}
    for number, each in enumerate(rows):
        groups.setdefault(each[source.group], []).append(number)
    size = max(map(len, groups.values()))
    full = [members for members in groups.values() if len(members) == size]
    if most is not None and most < len(full):
        full = [full[at] for at in np.linspace(0, len(full), most, endpoint=False).astype(int)]
    chosen = [[rows[number][source.chosen] == "1" for number in members] for members in full]
    if any(sum(flags) != 1 for flags in chosen):
        raise InvalidInputError(f"{path} must have one chosen alternative for each traveller.")
    return Singles(inputs[np.array(full)], np.array([flags.index(True) for flags in chosen]))


def logit(train: Singles, test: Array) -> Array:
    """Log-probabilities (choices, alternatives) of a multinomial logit with one coefficient for each input."""

    def loss(coefficients: Array) -> tuple[float, Array]:
        log_p = log_softmax(train.X @ coefficients, axis=1)
        picked = np.arange(len(train.chosen)), train.chosen
        slope = train.X[picked].sum(0) - np.einsum("ij,ijd->d", np.exp(log_p), train.X)
        return float(-log_p[picked].sum() + _PENALTY * coefficients @ coefficients), 2 * _PENALTY * coefficients - slope

    found = minimize(loss, np.zeros(train.X.shape[2]), jac=True, method="L-BFGS-B")
    return np.asarray(log_softmax(test @ found.x, axis=1))


def ours(train: Singles, test: Array) -> Array:
    """The same of one hidden objective with the likelihood of single choices."""
    n, k, d = train.X.shape
    choices = [Choice(range(k * i, k * i + k), [k * i + int(one)]) for i, one in enumerate(train.chosen)]
    model = ChoiceGP(latent_dim=1, likelihood="batch_preference")
    posterior = model.fit_silently(ChoiceData(train.X.reshape(n * k, d), choices))
    return winner_log_probabilities(posterior, test)


def compare(singles: Singles) -> list[LogitTiming]:
    """Both, on the same folds."""
    methods: dict[str, Callable[[Singles, Array], Array]] = {"choicebo": ours, "multinomial logit (SciPy)": logit}
    fold = np.random.default_rng(0).permutation(len(singles.chosen)) % FOLDS
    found = []
    for name, predict in methods.items():
        scores, began = [], time.perf_counter()
        for number in range(FOLDS):
            left, right = fold != number, fold == number
            log_p = predict(Singles(singles.X[left], singles.chosen[left]), singles.X[right])
            scores.append(log_p[np.arange(right.sum()), singles.chosen[right]])
        seconds = time.perf_counter() - began
        found.append(LogitTiming(name, len(fold), float(np.concatenate(scores).mean()), seconds))
    return found
