"""How often each of several acquisitions may propose: those that find little leave a part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from choicebo.space.points import point_keys

Array = NDArray[np.float64]

LEAST = 0.1
"""No share falls below this, or an equal one if that is less: what failed so far may serve later."""


MODEST = 0.5
"""Of an equal share: what an acquisition that only varies known options gets while the others succeed."""


def shares(tried: Sequence[int], lasting: Sequence[int], last: float = 1.0) -> Array:
    """Share of each acquisition, and of what they leave, which makes one more; ``lasting`` of its ``tried`` options are among
    the best.

    All get the same, except that the last gets only the part ``last`` of that while the others succeed, and that one which
    succeeds less often gets only in proportion to its rate of success. What it loses goes to the last one first, up to an
    equal share. The last is never the one to lose: what lasts tells when an acquisition fails, and little about
    which of two that succeed is better, for an uncertain option is believed good for as long as nothing beat it.

    Examples:
        >>> shares([0, 0], [0, 0]).tolist()
        [0.5, 0.5, 0.0]
        >>> shares([30, 50], [0, 9]).round(2).tolist()
        [0.14, 0.5, 0.36]
        >>> shares([0, 0], [0, 0], last=0.5).tolist()
        [0.75, 0.25, 0.0]
        >>> shares([30, 50], [0, 9], last=0.5).round(2).tolist()
        [0.21, 0.5, 0.29]
    """
    # One success and one failure in advance: before anything was tried all are alike.
    rate = (np.asarray(lasting) + 1.0) / (np.asarray(tried) + 2.0)
    equal = 1.0 / len(rate)
    most = (1.0 - last * equal) / max(1, len(rate) - 1)
    share = np.clip(most / equal * rate / rate.sum(), min(LEAST, equal), most)
    share[-1] = min(equal, 1.0 - share[:-1].sum())
    return np.append(share, max(0.0, 1.0 - share.sum()))


def allotted(share: Array, count: int, seed: int) -> NDArray[np.int64]:
    """Whose each of ``count`` options is: as many of each as its share says, up to a fraction that is drawn.

    Examples:
        >>> allotted(np.array([0.5, 0.5]), 4, seed=0).tolist()
        [0, 0, 1, 1]
    """
    at = (np.random.default_rng(seed).random() + np.arange(count)) / count
    return np.minimum(np.searchsorted(np.cumsum(share), at, side="right"), len(share) - 1)


def success(found_by: Mapping[str, Array], names: Sequence[str], X: Array, best: Array) -> tuple[list[int], list[int]]:
    """How many of the options ``X: (n, d)`` each acquisition found, and how many of those are among the ``best: (m, d)``.

    ``found_by`` holds the options that it proposed; those without an answer yet count for nothing.
    """
    known, top = set(point_keys(X)), set(point_keys(best))
    proposed = [set(point_keys(found_by[name])) if name in found_by else set() for name in names]
    return [len(rows & known) for rows in proposed], [len(rows & top) for rows in proposed]
