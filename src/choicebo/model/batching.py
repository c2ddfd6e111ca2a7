"""Ragged choices as padded arrays of a few fixed sizes, so that compiled code is reused while a data set grows.

Each choice implies comparisons: a rejected option against the kept ones (sorted by how many were kept, since the cost
of that event doubles with each), and every unordered pair of kept options. The event axis is last and contiguous.
A padded event compares an option with itself and has weight 0.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from choicebo.choices import Choice, ChoiceData

# The arrays are NumPy when made and JAX inside compiled code, hence ``Any``.

SLOTS = (1, 2, 4, 8, 12)
"""A rejection with k kept options goes into the first group with at least k slots."""

_LEVELS = (8, 16, 32, 64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
_TYPICAL_PER_CHOICE = {1: 4.0, 2: 1.25, 4: 1.25, 8: 2.0, 12: 2.0}
_PAIRS_PER_CHOICE = 5.0


class Rejections(NamedTuple):
    """Rejected options and what could have beaten them."""

    kept: Any
    """(slots, events): indices of the kept options; an unused slot repeats the rejected option."""
    used: Any
    """(slots, events): which slots hold a kept option."""
    rejected: Any
    """(events,)"""
    choice: Any
    """(events,): the choice that each event belongs to."""
    weight: Any
    """(events,): 0 for padding."""
    count: Any
    """How many events come before the padding."""


class Coexistences(NamedTuple):
    """Unordered pairs of kept options, neither of which beats the other."""

    first: Any
    second: Any
    choice: Any
    weight: Any
    count: Any


class Batch(NamedTuple):
    """All that the engines need of a data set, padded."""

    X: Any
    """(options, d): the options that were shown, padded with rows of zeros."""
    option_used: Any
    """(options,)"""
    rejections: tuple[Rejections, ...]
    coexistences: Coexistences
    log_uniform: Any
    """(choices,): log-probability of each choice under a uniformly random non-empty subset."""
    choice_used: Any
    """(choices,)"""
    contests: Rejections | None = None
    """With the batch-preference likelihood: per choice the losers (as ``kept``) and the winner (as ``rejected``)."""


def option_capacity(count: int) -> int:
    """Room for ``count`` options: fine steps, because the Cholesky factor costs the cube of it.

    >>> [option_capacity(n) for n in (3, 33, 154, 300)]
    [32, 64, 160, 320]
    """
    step = 32 if count <= 256 else 64 if count <= 512 else 128
    return max(32, -(-count // step) * step)


def choice_capacity(choices: tuple[Choice, ...], likelihood: str = "choice") -> int:
    """Room for the choices: the smallest level at which they and all their comparisons fit.

    One level sets the size of every event array, so that the arrays do not outgrow their room one after the other, each
    time with a compilation of its own.
    """
    size = largest_set(choices)
    needed = float(len(choices))
    if likelihood == "choice":  # a batch preference is one contest
        for slots, count in _rejection_counts(choices).items():
            needed = max(needed, count / _per_choice(slots, size))
        pairs = sum(len(c.kept) * (len(c.kept) - 1) // 2 for c in choices)
        needed = max(needed, pairs / _pairs_per_choice(size))
    return next((level for level in _LEVELS if level >= needed), int(-(-needed // 4096) * 4096))


def largest_set(choices: tuple[Choice, ...]) -> int:
    """The size of the largest set shown, rounded up so that a slightly larger set changes no array's shape."""
    largest = max((len(c.shown) for c in choices), default=2)
    return next((size for size in (2, 3, 5, 10) if size >= largest), largest)


def make_batch(data: ChoiceData, likelihood: str = "choice") -> tuple[Batch, NDArray[np.int64]]:
    """Pad ``data`` into a :class:`Batch`; also returns which rows of ``data.X`` its options are.

    >>> import choicebo as cb
    >>> data = cb.ChoiceData([[0.0], [0.5], [1.0]], [cb.Choice((0, 2), (0,))])
    >>> batch, rows = make_batch(data)
    >>> batch.X.shape, rows.tolist()
    ((32, 1), [0, 2])
    """
    rows = np.array(sorted({i for choice in data.choices for i in choice.shown}), dtype=np.int64)
    position = {int(row): at for at, row in enumerate(rows)}
    choices = tuple(
        Choice(tuple(position[i] for i in c.shown), tuple(position[i] for i in c.kept)) for c in data.choices
    )
    size, capacity = largest_set(choices), choice_capacity(choices, likelihood)
    X = np.zeros((option_capacity(len(rows)), data.X.shape[1]))
    X[: len(rows)] = data.X[rows]
    log_uniform = np.zeros(capacity, dtype=np.float32)
    log_uniform[: len(choices)] = [-np.log(2.0 ** len(c.shown) - 1.0) for c in choices]
    room = Batch(
        X=X,
        option_used=np.arange(len(X)) < len(rows),
        rejections=(),
        coexistences=_coexistences((), 1),
        log_uniform=log_uniform,
        choice_used=np.arange(capacity) < len(choices),
    )
    if likelihood == "batch_preference":
        contests = [(c.rejected, c.kept[0], number) for number, c in enumerate(choices)]
        return room._replace(contests=_slotted(contests, size - 1, capacity)), rows
    batch = room._replace(
        rejections=tuple(
            _rejections(choices, slots, round(_per_choice(slots, size) * capacity))
            for slots in SLOTS
            if _fewest_kept(slots) < size
        ),
        coexistences=_coexistences(choices, round(_pairs_per_choice(size) * capacity)),
    )
    return batch, rows


def _fewest_kept(slots: int) -> int:
    position = SLOTS.index(slots)
    return SLOTS[position - 1] + 1 if position else 1


def _slots_for(kept: int) -> int:
    return next(slots for slots in SLOTS if slots >= kept)


def _per_choice(slots: int, size: int) -> float:
    """How many rejections with that many slots a choice may have before the arrays grow."""
    return min(_TYPICAL_PER_CHOICE[slots], max(1.0, size - _fewest_kept(slots)))


def _pairs_per_choice(size: int) -> float:
    return min(_PAIRS_PER_CHOICE, size * (size - 1) / 4)


def _rejection_counts(choices: tuple[Choice, ...]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for choice in choices:
        if choice.rejected:
            counts[_slots_for(len(choice.kept))] += len(choice.rejected)
    return counts


def _rejections(choices: tuple[Choice, ...], slots: int, capacity: int) -> Rejections:
    events = [
        (choice.kept, j, number)
        for number, choice in enumerate(choices)
        if choice.rejected and _slots_for(len(choice.kept)) == slots
        for j in choice.rejected
    ]
    return _slotted(events, slots, capacity)


def _slotted(events: list[tuple[tuple[int, ...], int, int]], slots: int, capacity: int) -> Rejections:
    """Events of several options against one, as (options, the one, choice), padded."""
    kept = np.zeros((slots, capacity), dtype=np.int32)
    used = np.zeros((slots, capacity), dtype=bool)
    rejected, owner, weight = _event_columns([e[1] for e in events], [e[2] for e in events], capacity)
    for at, (several, one, _) in enumerate(events):
        kept[:, at] = one
        kept[: len(several), at] = several
        used[: len(several), at] = True
    used[:, len(events) :] = True  # padding is as good as any event: its weight is 0
    return Rejections(kept, used, rejected, owner, weight, np.int32(len(events)))


def _coexistences(choices: tuple[Choice, ...], capacity: int) -> Coexistences:
    pairs = [
        (p, i, number)
        for number, choice in enumerate(choices)
        for position, p in enumerate(choice.kept)
        for i in choice.kept[position + 1 :]
    ]
    first = np.zeros(capacity, dtype=np.int32)
    first[: len(pairs)] = [pair[0] for pair in pairs]
    second, owner, weight = _event_columns([pair[1] for pair in pairs], [pair[2] for pair in pairs], capacity)
    return Coexistences(first, second, owner, weight, np.int32(len(pairs)))


def _event_columns(
    option: list[int], choice: list[int], capacity: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    options, owners = np.zeros((2, capacity), dtype=np.int32)
    options[: len(option)] = option
    owners[: len(choice)] = choice
    return options, owners, (np.arange(capacity) < len(option)).astype(np.float32)
