"""What an acquisition is: a state prepared once for a question, and a pure score of latent values."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from choicebo.model.draws import LatentDraws
from choicebo.model.outlook import Outlook

Array = NDArray[np.floating[Any]]
"""Of single or double precision: points are ranked in the one and climb in the other."""


class Known(NamedTuple):
    """What is known of the options so far, when a new one is to be found."""

    draws: LatentDraws
    """Draws at the options that were answered about or are in an open question."""
    front: NDArray[np.int64]
    """``X_nd``: rows of ``draws.X`` that are believed Pareto-optimal; never empty."""
    shown: NDArray[np.int64] | None = None
    """Rows that were answered about or are in an open question; None: all. The others were measured only."""

    @property
    def smooth(self) -> NDArray[np.float64]:
        """Latent values (draws, m, n_e) of what was shown, without what no input explains."""
        return self.draws.smooth if self.shown is None else self.draws.smooth[:, self.shown]


class Prepared(NamedTuple):
    """An acquisition made ready for one question."""

    outlook: Outlook
    """``known.draws.marginals(seed)`` to look at all draws, ``known.draws.path(draw, seed)`` to believe one of them."""
    state: Any
    """Arrays for ``score``."""


class Acquisition(Protocol):
    """How good it would be to show a point; one file each.

    This is all that an acquisition of your own needs: its derivatives are then found by finite differences, at the cost of
    two scores for each input. One that has ``score_gradient`` too (`Differentiable`) is faster.
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

    def score(self, state: Any, latent: Array) -> Array:
        """The value of each point, on a logarithmic scale where the quantity is positive.

        Args:
            state: what ``prepare`` made.
            latent: (n, draws, n_e), in single or double precision; the draws are those of the outlook, one for a path.

        Returns:
            (n,), larger being better.
        """
        ...


@runtime_checkable
class Differentiable(Acquisition, Protocol):
    """An acquisition with its derivative written out."""

    def score_gradient(self, state: Any, latent: Array) -> tuple[Array, Array]:
        """The values (n,) of ``score``, and the derivative of each by its point's latent values, (n, draws, n_e)."""
        ...
