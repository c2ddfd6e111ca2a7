"""The paper's accuracy experiments: the share of unseen sets whose choice is predicted exactly.

Each function fits one model and scores it; repetitions, printing and files are elsewhere. What it returns is what is stored.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.experiments import baselines, oracle_gp
from choicebo.experiments.choosers import pareto_choice
from choicebo.experiments.datasets import Fold, RealData, Scale, folds, min_max
from choicebo.experiments.problems import toy_2d
from choicebo.experiments.toy import toy_dataset
from choicebo.model.gp import ChoiceGP
from choicebo.model.posterior import PREDICTION_RULES

Array = NDArray[np.float64]
Kept = Sequence[tuple[int, ...]]
Result = dict[str, Any]

N_FOLDS = 5
TOY_TEST_SETS = 300
REAL_TEST_SETS = 200


@dataclass(frozen=True)
class Split:
    """Choices to learn from, and unseen sets to predict."""

    task: str
    """``"toy"`` or the name of the data set."""
    seed: int
    fold: int | None
    """Number of the cross-validation fold; ``None`` where there are none."""
    train: ChoiceData
    test_sets: Array
    """(n_test, set_size, d)"""
    test_kept: Kept

    def result(self, **measured: Any) -> Result:
        """What was measured, with what it was measured on."""
        where = {"task": self.task, "n_choices": self.train.n_choices, "seed": self.seed, "fold": self.fold}
        return where | measured


def share_equal(predicted: Kept, kept: Kept) -> float:
    """The share of sets whose predicted choice is exactly the true one.

    >>> share_equal([(0,), (0, 1)], [(0,), (1,)])
    0.5
    """
    return float(np.mean([mine == true for mine, true in zip(predicted, kept, strict=True)]))


def toy_split(n_choices: int, seed: int = 0, n_test: int = TOY_TEST_SETS) -> Split:
    """The toy function with noise, sets of 3, as in the paper."""
    data = toy_dataset(n_choices, n_test=n_test, seed=seed)
    return Split("toy", seed, None, data.train, data.test_sets, data.test_kept)


def real_split(
    data: RealData, n_choices: int, fold: int, seed: int = 0, scale: Scale = min_max, n_test: int = REAL_TEST_SETS
) -> Split:
    """One fold of a real data set, sets of 3, as in the paper."""
    part = _fold(data, n_choices, fold, seed, n_test)
    return Split(data.name, seed, fold, part.choice_data(scale), part.test_options(scale), part.test_kept)


def choice_gp(split: Split, model: ChoiceGP = ChoiceGP()) -> Result:
    """What our model reaches by each of its prediction rules, and how far its draws can be trusted."""
    posterior = model.fit_silently(split.train, seed=split.seed)
    found = posterior.diagnostics
    return split.result(
        accuracy={
            rule: share_equal(posterior.predict_choices(split.test_sets, rule=rule, seed=split.seed), split.test_kept)
            for rule in PREDICTION_RULES
        },
        seconds=found.seconds,
        r_hat=found.r_hat,
        effective_draws=found.effective_sample_size,
        problems=list(found.problems),
    )


def independent_latents(split: Split) -> Result:
    """What our model reaches by its default rule with latent functions that are independent, as the paper's are."""
    score = choice_gp(split, ChoiceGP(correlated=False))
    reached = score["accuracy"][PREDICTION_RULES[0]]
    return split.result(accuracy=reached, seconds=score["seconds"], model="independent")


def pareto_embedding(split: Split) -> Result:
    """What a Pareto-embedding network reaches."""
    baselines.require("The Pareto-embedding network")
    from choicebo.experiments.baselines import embedding

    began = time.perf_counter()
    network = embedding.fit(split.train, seed=split.seed)
    seconds = time.perf_counter() - began
    reached = share_equal(network.predict_choices(split.test_sets), split.test_kept)
    return split.result(accuracy=reached, seconds=seconds, model="network")


def real_orders(
    data: RealData, n_choices: int, fold: int, seed: int = 0, scale: Scale = min_max, n_test: int = REAL_TEST_SETS
) -> Result:
    """What the same sets teach a model that learns more from each: one model per output, given the order of that output
    within the set.

    A choice says only which options no other one beats, and not in which output.
    """
    part = _fold(data, n_choices, fold, seed, n_test)
    rows, test = scale(part.train_inputs, part.train_inputs), part.test_options(scale)
    began, means = time.perf_counter(), []
    for output in part.train_outputs.T:
        pairs = [pair for choice in part.choices for pair in itertools.combinations(choice.shown, 2)]
        decided = [(a, b) if output[a] > output[b] else (b, a) for a, b in pairs if output[a] != output[b]]
        train = ChoiceData.from_sets([rows[list(pair)] for pair in decided], [[0]] * len(decided))
        posterior = ChoiceGP(latent_dim=1).fit_silently(train, seed=seed)
        means.append(posterior.latent(test.reshape(-1, test.shape[-1])).mean[:, 0])
    values = np.stack(means, axis=-1).reshape(*test.shape[:2], -1)
    reached = share_equal([pareto_choice(options) for options in values], part.test_kept)
    where = {"task": data.name, "n_choices": n_choices, "seed": seed, "fold": fold}
    return where | {"accuracy": reached, "seconds": time.perf_counter() - began, "model": "orders"}


def toy_ceiling(seed: int = 0, n_test: int = TOY_TEST_SETS, functions: Callable[[Array], Array] = toy_2d) -> Result:
    """What Oracle-GP (from all 200 noisy values) and the noiseless function reach on the same test sets."""
    data = toy_dataset(1, n_test=n_test, functions=functions, seed=seed)
    means = oracle_gp.fit(data.inputs, data.noisy, seed=seed).predict(data.inputs)
    oracle, exact = (_share_by_values(values, data.test_indices, data.test_kept) for values in (means, data.exact))
    return {"task": "toy", "seed": seed, "fold": None, "oracle": oracle, "exact": exact}


def real_ceiling(
    data: RealData, fold: int, seed: int = 0, scale: Scale = min_max, n_test: int = REAL_TEST_SETS
) -> Result:
    """What Oracle-GP reaches on the test sets of the same fold, from all its training rows."""
    part = _fold(data, 1, fold, seed, n_test)
    regression = oracle_gp.fit(scale(part.train_inputs, part.train_inputs), part.train_outputs, seed=seed)
    means = regression.predict(scale(part.train_inputs, part.test_inputs))
    reached = _share_by_values(means, part.test_sets, part.test_kept)
    return {"task": data.name, "seed": seed, "fold": fold, "oracle": reached, "exact": None}


def _fold(data: RealData, n_choices: int, number: int, seed: int, n_test: int) -> Fold:
    if not 0 <= number < N_FOLDS:
        raise InvalidInputError(f"fold must be from 0 to {N_FOLDS - 1}, got {number}.")
    every = folds(data, n_choices, seed=seed, n_folds=N_FOLDS, n_test=n_test)
    return next(itertools.islice(every, number, None))


def _share_by_values(values: Array, sets: NDArray[np.intp], kept: Kept) -> float:
    return share_equal([pareto_choice(values[shown]) for shown in sets], kept)
