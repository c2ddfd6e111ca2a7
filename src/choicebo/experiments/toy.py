"""The paper's toy data: choices among 200 inputs of a line, made by two hidden objectives.

As in the paper, the noise is drawn once per input: training and test choices come from the same noisy values,
so that even the noiseless objectives do not predict every choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import ChoiceData
from choicebo.errors import InvalidInputError
from choicebo.experiments.choosers import pareto_choice, random_sets
from choicebo.experiments.problems import TOY_BOUNDS, toy_2d

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ToyData:
    """Training choices and unseen test sets over the same inputs."""

    train: ChoiceData
    """Training choices; its options are the inputs that at least one training set shows."""
    test_sets: Array
    """Unseen sets of options of the unit cube, (n_test, set_size, 1)."""
    test_kept: tuple[tuple[int, ...], ...]
    """Positions kept in each test set."""
    inputs: Array
    """All inputs in the unit cube, (n_inputs, 1), ascending."""
    exact: Array
    """Objectives without noise at ``inputs``, (n_inputs, n_o)."""
    noisy: Array
    """Objectives with noise at ``inputs``, (n_inputs, n_o): every choice is their Pareto set."""
    test_indices: NDArray[np.intp]
    """Test sets as indices into ``inputs``, (n_test, set_size)."""


def toy_dataset(
    n_choices: int,
    set_size: int = 3,
    n_inputs: int = 200,
    noise: float = 0.1,
    n_test: int = 300,
    functions: Callable[[Array], Array] = toy_2d,
    seed: int = 0,
) -> ToyData:
    """Draw inputs in [-4.5, 4.5], add noise to the objectives, and choose in random sets of the inputs.

    Inputs, noise and test sets depend on the seed alone: with more choices only training choices are added.

    >>> data = toy_dataset(n_choices=20, n_test=50, seed=1)
    >>> data.test_sets.shape, len(data.train.choices)
    ((50, 3, 1), 20)
    """
    if n_choices < 1 or n_inputs < 1 or not 0 <= noise < np.inf:
        raise InvalidInputError(
            f"toy_dataset was given n_choices={n_choices}, n_inputs={n_inputs}, noise={noise}; "
            "give at least one choice, at least one input, and a standard deviation of 0 or more."
        )
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(*TOY_BOUNDS, size=n_inputs))
    exact = functions(x)
    noisy = exact + noise * rng.standard_normal(exact.shape)
    inputs = (x[:, None] - TOY_BOUNDS[0]) / (TOY_BOUNDS[1] - TOY_BOUNDS[0])
    # Test sets come first in one list of different sets: that keeps them unseen, and equal for any n_choices.
    test, train = np.split(random_sets(n_inputs, set_size, n_test + n_choices, rng), [n_test])
    return ToyData(
        train=ChoiceData.from_sets(list(inputs[train]), [pareto_choice(noisy[shown]) for shown in train]),
        test_sets=inputs[test],
        test_kept=tuple(pareto_choice(noisy[shown]) for shown in test),
        inputs=inputs,
        exact=exact,
        noisy=noisy,
        test_indices=test,
    )
