"""How far a run is, and how long it still takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from choicebo.experiments.cells import Cell, Done
from choicebo.experiments.executors import Outcome
from choicebo.presentation import output


class Forecast:
    """Seconds that the missing cells will take, from those of the finished ones.

    Methods and tasks differ by orders of magnitude, so a cell is expected to take as long as those of the same task and
    method did, failing that those of the same method; nothing is said before every method has finished a cell.
    """

    def __init__(self, finished: Sequence[Done], missing: Sequence[Cell], workers: int = 1) -> None:
        self._workers = max(workers, 1)
        self._missing = Counter(_kind(cell) for cell in missing)
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        for done in finished:
            self._learn(done.cell, done.seconds)

    def ended(self, cell: Cell, seconds: float | None) -> None:
        """A missing cell has ended; ``None`` if it failed."""
        self._missing[_kind(cell)] -= 1
        if seconds is not None:
            self._learn(cell, seconds)

    def seconds_left(self) -> float | None:
        """``None`` while nothing is known."""
        waiting = {kind: n for kind, n in self._missing.items() if n}
        if any((method,) not in self._seconds for _, method in waiting):
            return None
        return sum(n * self._expected(*kind) for kind, n in waiting.items()) / self._workers

    def _learn(self, cell: Cell, seconds: float) -> None:
        task, method = _kind(cell)
        for key in ((task, method), (method,)):
            self._seconds.setdefault(key, []).append(seconds)

    def _expected(self, task: str, method: str) -> float:
        return fmean(next(self._seconds[key] for key in ((task, method), (method,)) if key in self._seconds))


def _kind(cell: Cell) -> tuple[str, str]:
    return f"{cell.task} {sorted(cell.settings.items())}", cell.method


def in_words(seconds: float | None) -> str:
    """A time that a person can take in at a glance.

    >>> in_words(None), in_words(5.2), in_words(200), in_words(9000)
    ('unknown', '5 s', '3 min', '2 h 30 min')
    """
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


class Display:
    """A bar on a terminal; elsewhere one line for each finished cell."""

    def __init__(self, description: str, bar: Progress) -> None:
        self._description, self._bar = description, bar
        self._task: TaskID | None = None
        self._forecast = Forecast((), ())
        self._total = self._ended = 0

    def begin(self, finished: Sequence[Done], missing: Sequence[Cell], workers: int) -> None:
        """Show how much is there already."""
        self._forecast = Forecast(finished, missing, workers)
        self._total, self._ended = len(finished) + len(missing), len(finished)
        self._task = self._bar.add_task(self._description, total=self._total, completed=self._ended, left=self._left())

    def advance(self, outcome: Outcome) -> None:
        """Count one cell more."""
        self._ended += 1
        self._forecast.ended(outcome.cell, outcome.seconds if outcome.result is not None else None)
        if self._task is not None:
            self._bar.update(self._task, completed=self._ended, left=self._left())
        if not self._bar.console.is_terminal:
            how = f"{outcome.seconds:.1f} s" if outcome.result is not None else f"failed: {outcome.error}"
            self._bar.console.print(
                f"{self._ended}/{self._total} {outcome.cell.name}: {how}; left: {self._left()}",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )

    def _left(self) -> str:
        return in_words(self._forecast.seconds_left())


@contextmanager
def display(description: str) -> Iterator[Display]:
    """A display on stderr."""
    console = output.notes()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left: {task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield Display(description, bar)
