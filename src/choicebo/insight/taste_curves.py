"""Which parameters several people agree about, and which they differ about."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from choicebo.insight.drivers import moved, plain_columns, scale_of
from choicebo.insight.numbering import samples
from choicebo.model.posterior import Posterior
from choicebo.space import Searchable

Array = NDArray[np.float64]

_MATTERS = 0.1
"""Parameters with a smaller part in what decides are not mentioned."""
_ALIKE = 0.5
"""People agree about a parameter if their curves are more alike than this, ..."""
_SURE = 0.75
"""... and so they are in this share of the draws."""


@dataclasses.dataclass(frozen=True, eq=False)
class TasteCurves:
    """What each value of each parameter is worth to each person, the other parameters as they come."""

    curves: dict[str, Array]
    """Of each parameter (people, draws, n): centred, all hidden objectives one after the other."""

    @classmethod
    def of(cls, people: Sequence[Posterior], space: Searchable | None, seed: int = 0) -> TasteCurves:
        """The curves of people whose posteriors have the same options and the same number of draws."""
        width, hidden = people[0].options.shape[1], people[0].latent_dim
        columns = plain_columns(width) if space is None else space.columns
        survey, background, _ = samples(space, width, seed)
        found: dict[str, Array] = {}
        # A context that has one value here is nothing to have a taste about.
        for parameter in dict.fromkeys(column.parameter for column in columns if column.levels != 1):
            mine = [at for at, column in enumerate(columns) if column.parameter == parameter]
            points = moved(background, mine, scale_of(columns[mine[0]], survey[:, mine]).settings)
            curves = []
            for person in people:
                mean = person.draws.moments(points.reshape(-1, width))[0][..., :hidden]
                curve = mean.reshape(len(mean), *points.shape[:2], hidden).mean(2)
                curves.append((curve - curve.mean(1, keepdims=True)).reshape(len(mean), -1))
            found[parameter] = np.stack(curves)
        return cls(found)

    def compared(self, people: Sequence[int]) -> tuple[list[str], list[str]]:
        """The parameters that some of the people agree about, and those they differ about, the most important first.

        Of each draw the likeness is the mean inner product of two people's curves, divided by the mean square of one: 1 where
        they are the same, 0 where they have nothing in common, negative where what one likes the other dislikes.
        """
        weights = {name: float((curves[list(people)] ** 2).sum(2).mean()) for name, curves in self.curves.items()}
        total = sum(weights.values())
        agree, differ = [], []
        for name in sorted(weights, key=lambda each: -weights[each]):
            if weights[name] < _MATTERS * total or total <= 0:
                continue
            theirs, count = self.curves[name][list(people)], len(people)
            squares = (theirs**2).sum(2).mean(0)
            products = ((theirs.sum(0) ** 2).sum(1) / count - squares) / (count - 1)
            alike = float((products > _ALIKE * squares).mean())
            if alike >= _SURE:
                agree.append(name)
            elif alike <= 1.0 - _SURE:
                differ.append(name)
        return agree, differ
