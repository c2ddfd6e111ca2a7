"""How far a run is, and how long it still takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from choicebo.experiments.executors import Outcome
from choicebo.experiments.trials import FinishedTrial, Trial
from choicebo.presentation import output


class Forecast:
    """Seconds that the missing trials will take, from those of the finished ones.

    Methods and tasks differ by orders of magnitude, so a trial is expected to take as long as those of the same task and
    method did, failing that those of the same method; nothing is said before every method has finished a trial.
    """

    def __init__(self, finished: Sequence[FinishedTrial], missing: Sequence[Trial], workers: int = 1) -> None:
        self._workers = max(workers, 1)
        self._missing = Counter(_kind(trial) for trial in missing)
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        for each in finished:
            self._learn(each.trial, each.seconds)

    def ended(self, trial: Trial, seconds: float | None) -> None:
        """A missing trial has ended; ``None`` if it failed."""
        self._missing[_kind(trial)] -= 1
        if seconds is not None:
            self._learn(trial, seconds)

    def seconds_left(self) -> float | None:
        """``None`` while nothing is known."""
        waiting = {kind: n for kind, n in self._missing.items() if n}
        if any((method,) not in self._seconds for _, method in waiting):
            return None
        return sum(n * self._expected(*kind) for kind, n in waiting.items()) / self._workers

    def _learn(self, trial: Trial, seconds: float) -> None:
        task, method = _kind(trial)
        for key in ((task, method), (method,)):
            self._seconds.setdefault(key, []).append(seconds)

    def _expected(self, task: str, method: str) -> float:
        return fmean(self._seconds.get((task, method)) or self._seconds[method,])


def _kind(trial: Trial) -> tuple[str, str]:
    return f"{trial.task} {sorted(trial.settings.items())}", trial.method


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


@contextmanager
def shown(
    experiment: str, finished: Sequence[FinishedTrial], missing: Sequence[Trial], workers: int
) -> Iterator[Callable[[Outcome], None]]:
    """A bar on stderr if that is a terminal, else one line for each trial; call what it gives after each trial."""
    forecast, console, total = Forecast(finished, missing, workers), output.notes(), len(finished) + len(missing)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))

    def left() -> str:
        return f"left: {in_words(forecast.seconds_left())}"

    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(experiment, total=total, completed=len(finished), left=left())

        def ended(outcome: Outcome) -> None:
            forecast.ended(outcome.trial, outcome.seconds if outcome.result is not None else None)
            bar.update(task, advance=1, left=left())
            if not console.is_terminal:
                how = f"{outcome.seconds:.1f} s" if outcome.result is not None else f"failed: {outcome.error}"
                line = f"{bar.tasks[task].completed:.0f}/{total} {outcome.trial.name}: {how}; {left()}"
                console.print(line, soft_wrap=True, markup=False, highlight=False)

        yield ended
