"""Simulated persons: which options they are shown, and which of them they keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import InvalidInputError
from choicebo.pareto import non_dominated

Array = NDArray[np.float64]


def pareto_choice(values: ArrayLike) -> tuple[int, ...]:
    """Positions of the rows of ``values`` (k, n_o) that no other row dominates; equal rows are kept together.

    >>> pareto_choice([[1, 0], [0, 1], [0, 0], [1, 0]])
    (0, 1, 3)
    """
    rows = np.asarray(values, dtype=float)
    if rows.ndim != 2 or 0 in rows.shape or not np.all(np.isfinite(rows)):
        raise InvalidInputError(
            f"A choice was asked for among values of shape {rows.shape}; "
            "give finite objective values, one row per option, shape (k, n_o) with k and n_o at least 1."
        )
    return tuple(int(i) for i in np.flatnonzero(non_dominated(rows)))


@dataclass(frozen=True)
class Chooser:
    """A person with known objectives, who keeps the options that no other shown option dominates.

    Calling it shows it options: ``chooser(options, rng)`` gives the positions that it keeps.

    >>> import numpy as np
    >>> person = Chooser(lambda X: np.stack([X[:, 0], 1 - X[:, 0]], axis=1))
    >>> person(np.array([[0.2], [0.9]]), np.random.default_rng(0))
    (0, 1)
    """

    objectives: Callable[[Array], Array]
    """Options (k, d) -> objective values (k, n_o), to be maximised."""
    noise: float = 0.0
    """Standard deviation of the Gaussian noise that every answer adds to every objective value."""
    lapse: float = 0.0
    """Probability that an answer is a non-empty subset drawn blindly, all subsets being equally likely."""

    def __post_init__(self) -> None:
        if not callable(self.objectives):
            raise InvalidInputError(
                f"Chooser was given objectives {self.objectives!r}; give a function of options (k, d) -> (k, n_o)."
            )
        if not 0 <= self.noise < np.inf:
            raise InvalidInputError(f"Chooser was given noise {self.noise}; give a standard deviation of 0 or more.")
        if not 0 <= self.lapse <= 1:
            raise InvalidInputError(f"Chooser was given lapse {self.lapse}; give a probability between 0 and 1.")

    def __call__(self, options: ArrayLike, rng: np.random.Generator) -> tuple[int, ...]:
        """Positions kept among options (k, d)."""
        exact = np.asarray(self.objectives(np.asarray(options, dtype=float)), dtype=float)
        if self.lapse > 0 and rng.random() < self.lapse:
            return _any_subset(len(exact), rng)
        if self.noise > 0:
            exact = exact + self.noise * rng.standard_normal(exact.shape)
        return pareto_choice(exact)


def random_sets(n_options: int, set_size: int, n_sets: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Sets of options drawn at random, all different: (n_sets, set_size) indices, ascending in each row.

    A longer list that starts from the same generator begins with the shorter one.

    >>> import numpy as np
    >>> random_sets(5, 5, 1, np.random.default_rng(0)).tolist()
    [[0, 1, 2, 3, 4]]
    """
    if set_size < 1 or n_sets < 0 or comb(max(n_options, 0), set_size) < n_sets:
        raise InvalidInputError(
            f"{n_sets} different sets of {set_size} were asked for from {n_options} options, which allow "
            f"{comb(max(n_options, 0), max(set_size, 0))}; ask for fewer sets or give more options."
        )
    # A dict is a set that remembers the order of arrival.
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < n_sets:
        drawn[tuple(sorted(rng.choice(n_options, set_size, replace=False).tolist()))] = None
    return np.array(list(drawn), dtype=np.intp).reshape(n_sets, set_size)


def _any_subset(size: int, rng: np.random.Generator) -> tuple[int, ...]:
    if size < 1:
        raise InvalidInputError("A choice was asked for among no options; show at least one.")
    # Redrawing the empty set leaves the others equally likely, however large the set.
    while not (kept := np.flatnonzero(rng.random(size) < 0.5)).size:
        pass
    return tuple(int(i) for i in kept)
