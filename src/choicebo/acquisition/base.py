"""What an acquisition is: a state prepared once for a question, and a pure score of latent values."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from choicebo.acquisition.belief import Belief, Outlook

Array = NDArray[np.float64]


class Known(NamedTuple):
    """What is known of the options so far, when a new one is to be found."""

    belief: Belief
    """Draws at the options that were answered about or are in an open question."""
    front: NDArray[np.int64]
    """``X_nd``: rows of ``belief.X`` that are believed Pareto-optimal; never empty."""


class Prepared(NamedTuple):
    """An acquisition made ready for one question."""

    outlook: Outlook
    state: Any
    """Arrays for ``score``."""


class Acquisition(Protocol):
    """How good it would be to show a point; one file each.

    ``prepare`` runs once for a question; ``score`` is compiled, takes latent values (n, draws, n_e) and gives (n,), larger
    being better, on a logarithmic scale where the quantity is positive.
    """

    @property
    def name(self) -> str:
        """The name that ``ChoiceOptimizer(acquisition=...)`` takes."""
        ...

    @property
    def sentence(self) -> str:
        """Why a point was chosen, for the person who is asked."""
        ...

    @property
    def nearby(self) -> bool:
        """Whether only relatives of the believed front are candidates: one parameter changed, or two members mixed."""
        ...

    def prepare(self, known: Known, seed: int) -> Prepared:
        """The state of one question."""
        ...

    def score(self, state: Any, latent: jax.Array) -> jax.Array:
        """The value of each point."""
        ...
