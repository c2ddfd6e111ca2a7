"""How much of a hidden objective changes with a context: whether what is best in summer is best in winter, too."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from choicebo.formatting import percent
from choicebo.insight.numbering import Numbering
from choicebo.space import Searchable, Space
from choicebo.space.context import contexts_of
from choicebo.space.parameters import Parameter

Array = NDArray[np.float64]

_VALUES = 5
"""Of a number or of many values, so many are compared."""
_POINTS = 64


@dataclasses.dataclass(frozen=True)
class ContextChange:
    """How much of one hidden objective changes with one context."""

    context: str
    share: float
    """0 where it is the same in every context, 1 where one context says nothing about another; posterior mean."""
    lower: float
    """Lower end of its 95 % interval."""
    upper: float

    @property
    def told(self) -> str:
        """The same in words: ``40 % of it changes with season``."""
        return f"{percent(self.share)} of it changes with {self.context}"


def context_changes(
    numbered: Numbering, space: Searchable | None, background: Array
) -> list[tuple[ContextChange, ...]]:
    """What changes with each context, for each numbered objective; ``background: (n, d)`` are points of the space.

    No answer compares options of two contexts, so what an objective is worth on average in a context is not known and is left
    out. Of the rest, two values of the context have a part in common; what varies beyond it is the share that changes.
    """
    if not isinstance(space, Space) or not space.contexts:
        return [() for _ in numbered.dims]
    points = background[:: max(1, len(background) // _POINTS)]
    found = [_shares(numbered, space, parameter, points) for parameter in contexts_of(space)]
    return [tuple(each[number] for each in found) for number in range(len(numbered.dims))]


def _shares(numbered: Numbering, space: Space, parameter: Parameter, points: Array) -> list[ContextChange]:
    quantiles = (np.arange(_VALUES) + 0.5) / _VALUES
    settings = parameter.grid() if parameter.levels <= _VALUES else np.unique(parameter.spread(quantiles), axis=0)
    moved = np.repeat(points[None], len(settings), axis=0)
    moved[:, :, space.blocks[parameter.name]] = settings[:, None]
    values = numbered.latent(moved.reshape(-1, space.dim))
    values = values.reshape(len(values), len(settings), len(points), -1)
    values = values - values.mean(2, keepdims=True)
    # The mean of independent values keeps a share of their variance, which is no part in common.
    apart = values.var(1, ddof=1).mean(1)
    total = (values**2).mean((1, 2))
    shares = np.clip(np.divide(apart, total, out=np.zeros_like(total), where=total > 1e-12), 0.0, 1.0)
    ends = np.quantile(shares, [0.025, 0.975], axis=0)
    return [
        ContextChange(parameter.name, float(mean), float(low), float(high))
        for mean, low, high in zip(shares.mean(0), *ends, strict=True)
    ]
