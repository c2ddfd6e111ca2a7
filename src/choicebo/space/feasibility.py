"""Why no option satisfies all constraints, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from choicebo.errors import SpaceError
from choicebo.space.protocol import Bools


def nothing_feasible(texts: Sequence[str], satisfied: Sequence[Bools], exhaustive: bool) -> SpaceError:
    """The error for a space in which nothing was feasible, with the constraint or the pair that is to blame.

    ``satisfied`` holds, per constraint, which of the options tried satisfy it.

    >>> satisfied = [np.array([True, False]), np.array([False, True])]
    >>> print(nothing_feasible(["a <= 1", "a >= 2"], satisfied, exhaustive=True))
    No option satisfies all constraints: 'a <= 1' and 'a >= 2' contradict each other. Relax one of them.
    """
    tried = len(satisfied[0])
    opening = "No option satisfies" if exhaustive else f"None of {tried} options tried satisfies"
    never = [text for text, mask in zip(texts, satisfied, strict=True) if not mask.any()]
    if never:
        verb = "is" if len(never) == 1 else "are"
        advice = "Relax it, or widen the ranges." if len(never) == 1 else "Relax them, or widen the ranges."
        if not exhaustive and any("==" in text for text in never):
            advice += " Reals are hardly ever equal: write abs(a + b - 1) <= 0.01, or leave one parameter out."
        return SpaceError(
            f"{opening} all constraints: {' and '.join(map(repr, never))} {verb} never satisfied. {advice}"
        )
    for (one, mask), (other, other_mask) in combinations(zip(texts, satisfied, strict=True), 2):
        if not (mask & other_mask).any():
            return SpaceError(
                f"{opening} all constraints: {one!r} and {other!r} contradict each other. Relax one of them."
            )
    shares = ", ".join(f"{text!r} {np.mean(mask):.2%}" for text, mask in zip(texts, satisfied, strict=True))
    return SpaceError(f"{opening} all constraints together. Alone they are satisfied by: {shares}. Relax one of them.")
