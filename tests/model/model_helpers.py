"""Data sets and independent computations that the tests of the likelihood share."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import settings
from numpy.typing import NDArray

import choicebo as cb

Array = NDArray[np.float64]
Shown = tuple[Iterable[int], Iterable[int]]

law = settings(deadline=None, max_examples=25)
"""No deadline: the first example may load compiled code."""


def choice_data(n_options: int, choices: Iterable[Shown]) -> cb.ChoiceData:
    """Distinct options on a line, and choices among them as pairs (shown, kept)."""
    return cb.ChoiceData(np.linspace(0.0, 1.0, n_options)[:, None], [cb.Choice(*pair) for pair in choices])


def one_choice(n_options: int, kept: Iterable[int]) -> cb.ChoiceData:
    """All options are shown in one choice."""
    return choice_data(n_options, [(range(n_options), kept)])


def mixed_data() -> cb.ChoiceData:
    """Eight options; sets of two to five, with one, some and all of them kept."""
    return choice_data(
        8,
        [
            ((0, 1), (1,)),
            ((2, 3, 4), (2, 4)),
            ((5, 6, 7, 0, 1), (6, 0, 1)),
            ((1, 2, 3, 4), (1, 2, 3, 4)),
            ((0, 2, 4, 6), (4,)),
            ((7, 3, 5), (5, 7)),
        ],
    )


def winner_data() -> cb.ChoiceData:
    """Eight options; one winner of sets of two to five."""
    return choice_data(
        8,
        [
            ((0, 1), (1,)),
            ((2, 3, 4), (2,)),
            ((5, 6, 7, 0, 1), (6,)),
            ((7, 3, 5, 1, 0), (3,)),
            ((4, 0, 6), (0,)),
        ],
    )


def central_differences(f: Callable[[Array], float], at: Array, step: float = 1e-5) -> Array:
    """The gradient of ``f``, one entry at a time."""
    gradient = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        offset = np.zeros_like(at)
        offset[index] = step
        gradient[index] = (f(at + offset) - f(at - offset)) / (2 * step)
    return gradient
