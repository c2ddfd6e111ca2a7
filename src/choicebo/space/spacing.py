"""Options that a person can tell apart: how much two of them differ, and which to take so that none is too close."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from choicebo.space.searchable import Column, Floats

# Two steps of a hundredth are apart by a hundredth, whatever the rounding.
_ROUNDING = 1e-9


def differences(columns: Sequence[Column], left: Floats, right: Floats) -> Floats:
    """How much points (n, d) and (m, d) differ, (n, m): in the parameter where they do most, as a fraction of its range.

    Two categories differ by all of it; two places of a circle by the shorter way round, which is half of it at most.

    >>> from choicebo.space import Angle, Real, Space
    >>> space = Space([Real("a", 0, 10), Angle("hue")])
    >>> points = space.encode([{"a": 1, "hue": 359}, {"a": 1.2, "hue": 8}])
    >>> differences(space.columns, points[:1], points[1:]).round(6).tolist()
    [[0.025]]
    """
    most = np.zeros((len(left), len(right)))
    chord: Floats | None = None
    for column, a, b in zip(columns, left.T, right.T, strict=True):
        apart = np.abs(np.subtract.outer(a, b))
        if column.kind == "circular":
            # The two columns of a circle of diameter 1 follow one another.
            if chord is None:
                chord = apart**2
                continue
            apart, chord = np.arcsin(np.minimum(np.sqrt(chord + apart**2), 1.0)) / np.pi, None
        elif column.kind == "onehot":
            apart = (apart > 0.0).astype(np.float64)
        np.maximum(most, apart, out=most)
    return most


def apart(columns: Sequence[Column], points: Floats, others: Floats, least: float) -> NDArray[np.bool_]:
    """(n,): which of the points (n, d) differ by ``least`` from all of the others (m, d), of which there may be none.

    >>> column = Column("a", "a", "continuous")
    >>> apart([column], np.array([[0.1], [0.3]]), np.array([[0.2], [0.95]]), 0.1).tolist()
    [True, True]
    """
    return np.asarray((differences(columns, points, others) >= least - _ROUNDING).all(1))


def spaced(columns: Sequence[Column], ranked: Floats, count: int, least: float, beside: Floats) -> NDArray[np.int64]:
    """Rows of ``ranked: (n, d)``, best first: the best ``count`` that differ by ``least`` from each other and from ``beside``.

    Where there are not so many, the best of the others fill up.

    >>> column = Column("a", "a", "continuous")
    >>> ranked = np.array([[0.5], [0.505], [0.8], [0.1]])
    >>> spaced([column], ranked, 3, 0.01, ranked[:0]).tolist(), spaced([column], ranked, 4, 0.01, ranked[:0]).tolist()
    ([0, 2, 3], [0, 2, 3, 1])
    """
    free = np.ones(len(ranked), dtype=np.bool_)
    chosen: list[int] = []
    if least > 0.0 and len(beside):
        free &= apart(columns, ranked, beside, least)
    while len(chosen) < count and free.any():
        best = int(free.argmax())
        chosen.append(best)
        free[best] = False
        if least > 0.0:
            free &= apart(columns, ranked, ranked[best : best + 1], least)
    others = np.setdiff1d(np.arange(len(ranked)), chosen)[: count - len(chosen)]
    return np.array([*chosen, *others], dtype=np.int64)
