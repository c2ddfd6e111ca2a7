"""Runs the trials of an experiment that have no result yet, and stores each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Protocol

from choicebo import __version__
from choicebo.errors import ChoiceboError, InvalidInput
from choicebo.experiments.executors import Outcome, Outcomes, Work, in_processes, in_this_process, on_cluster
from choicebo.experiments.result_file import ResultFile
from choicebo.experiments.trials import FinishedTrial, Trial


class TrialsFailedError(ChoiceboError):
    """Some trials have no result; those of the others are stored."""


class Watcher(Protocol):
    """Whoever wants to know how far a run is."""

    def begin(self, finished: Sequence[FinishedTrial], missing: Sequence[Trial], workers: int) -> None:
        """The run starts; ``finished`` were stored before."""

    def advance(self, outcome: Outcome) -> None:
        """A trial has ended."""


def run(
    trials: Sequence[Trial],
    work: Work,
    file: ResultFile,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    watcher: Watcher | None = None,
) -> list[FinishedTrial]:
    """The results of the trials in their order, those that ``file`` holds already not worked on again.

    A trial that fails does not stop the others: what failed is raised as :class:`TrialsFailedError` at the end, and its
    tracebacks are in a file beside the results.
    """
    if len({trial.name for trial in trials}) < len(trials):
        raise InvalidInput("The grid has two trials of the same name; make them differ in task, method or settings.")
    missing = file.missing(trials)
    if watcher is not None:
        watcher.begin(file.of(trials), missing, jobs)
    failures: list[Outcome] = []
    with closing(_outcomes(missing, work, jobs, cluster)) as outcomes:
        for outcome in outcomes:
            if outcome.result is None:
                failures.append(outcome)
            else:
                finished = datetime.now(UTC).isoformat(timespec="seconds")
                file.append(
                    FinishedTrial(outcome.trial, outcome.result, round(outcome.seconds, 3), finished, __version__)
                )
            if watcher is not None:
                watcher.advance(outcome)
    if failures:
        raise _complaint(file, failures)
    return file.of(trials)


def _outcomes(missing: Sequence[Trial], work: Work, jobs: int, cluster: str | None) -> Outcomes:
    if not missing:
        return in_this_process(work, ())
    if cluster is not None:
        return on_cluster(work, missing, cluster)
    return in_this_process(work, missing) if jobs == 1 else in_processes(work, missing, jobs)


def _complaint(file: ResultFile, failures: Sequence[Outcome]) -> TrialsFailedError:
    log = file.path.with_suffix(".failed.txt")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(f"{each.trial.name}\n{each.traceback}" for each in failures), encoding="utf-8")
    first = failures[0]
    return TrialsFailedError(
        f"{len(failures)} of the trials failed, the first of them {first.trial.name}: {first.error} "
        f"All others are stored in {file.path}; the tracebacks are in {log}. The same command tries the failed ones again."
    )
