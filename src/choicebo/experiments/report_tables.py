"""What the tables of all reports share: their look, groups of results, means with their standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from rich.markup import escape
from rich.table import Table

from choicebo.experiments.trials import FinishedTrial

Key = TypeVar("Key")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions with its standard error (``nan`` for one repetition)."""

    mean: float
    se: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """The mean of some values.

        >>> Mean.of([1.0, 3.0])
        Mean(mean=2.0, se=1.0)
        """
        se = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        return cls(float(np.mean(values)), float(se))

    @classmethod
    def of_folds(cls, values: Sequence[float], folds: int = 5) -> Mean:
        """The mean over the folds of one or several cross-validations.

        Folds learn from overlapping data, so that they err together; the variance is corrected as by Nadeau and Bengio (2003).

        >>> Mean.of_folds([1.0, 3.0], folds=2)
        Mean(mean=2.0, se=1.7320508075688772)
        """
        plain = cls.of(values)
        return cls(plain.mean, plain.se * float(np.sqrt(1.0 + len(values) / (folds - 1))))

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if np.isnan(self.se) else f"{self.mean:.3f} ± {self.se:.3f}"


def new_table(title: str, headings: Iterable[str], words: int = 1, caption: str = "") -> Table:
    """An empty table whose first columns hold ``words``, and the others numbers."""
    found = Table(title=escape(title), title_justify="left", caption=caption or None, caption_justify="left")
    for at, heading in enumerate(headings):
        found.add_column(heading, justify="left" if at < words else "right")
    return found


MIXED = "†"
"""Marks a number that results of several revisions went into."""
ABOUT_MIXED = f" {MIXED}: results of several revisions of choicebo, which the last table lists."


def mark(finished: Iterable[FinishedTrial]) -> str:
    """The mark of a number that these results went into, empty if they are of one revision."""
    return MIXED if len({each.commit for each in finished}) > 1 else ""


def revisions(finished: Iterable[FinishedTrial]) -> str:
    """Of which revisions the results are, and how many of each if there are several."""
    counts = Counter(each.commit or "unknown" for each in finished)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{commit} ({count})" for commit, count in counts.items())


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items by what ``key`` says of them, in the order of their first appearance.

    >>> grouped([1, 2, 3], lambda n: n % 2)
    {1: [1, 3], 0: [2]}
    """
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
