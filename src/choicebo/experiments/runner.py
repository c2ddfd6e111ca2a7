"""Runs the cells of an experiment that have no result yet, and stores each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Protocol

from choicebo import __version__
from choicebo.errors import ChoiceboError, InvalidInput
from choicebo.experiments.cells import Cell, Done
from choicebo.experiments.executors import Outcome, Outcomes, Work, in_processes, in_this_process, on_cluster
from choicebo.experiments.results import ResultFile


class CellsFailed(ChoiceboError):
    """Some cells have no result; those of the others are stored."""


class Watcher(Protocol):
    """Whoever wants to know how far a run is."""

    def begin(self, finished: Sequence[Done], missing: Sequence[Cell], workers: int) -> None:
        """The run starts; ``finished`` were stored before."""

    def advance(self, outcome: Outcome) -> None:
        """A cell has ended."""


def run(
    cells: Sequence[Cell],
    work: Work,
    file: ResultFile,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    watcher: Watcher | None = None,
) -> list[Done]:
    """The results of the cells in their order, those that ``file`` holds already not worked on again.

    A cell that fails does not stop the others: what failed is raised as :class:`CellsFailed` at the end, and its
    tracebacks are in a file beside the results.
    """
    if len({cell.name for cell in cells}) < len(cells):
        raise InvalidInput("The grid has two cells of the same name; make them differ in task, method or settings.")
    missing = file.missing(cells)
    if watcher is not None:
        watcher.begin(file.of(cells), missing, jobs)
    failures: list[Outcome] = []
    with closing(_outcomes(missing, work, jobs, cluster)) as outcomes:
        for outcome in outcomes:
            if outcome.result is None:
                failures.append(outcome)
            else:
                finished = datetime.now(UTC).isoformat(timespec="seconds")
                file.append(Done(outcome.cell, outcome.result, round(outcome.seconds, 3), finished, __version__))
            if watcher is not None:
                watcher.advance(outcome)
    if failures:
        raise _complaint(file, failures)
    return file.of(cells)


def _outcomes(missing: Sequence[Cell], work: Work, jobs: int, cluster: str | None) -> Outcomes:
    if not missing:
        return in_this_process(work, ())
    if cluster is not None:
        return on_cluster(work, missing, cluster)
    return in_this_process(work, missing) if jobs == 1 else in_processes(work, missing, jobs)


def _complaint(file: ResultFile, failures: Sequence[Outcome]) -> CellsFailed:
    log = file.path.with_suffix(".failed.txt")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(f"{each.cell.name}\n{each.traceback}" for each in failures), encoding="utf-8")
    first = failures[0]
    return CellsFailed(
        f"{len(failures)} of the cells failed, the first of them {first.cell.name}: {first.error} "
        f"All others are stored in {file.path}; the tracebacks are in {log}. The same command tries the failed ones again."
    )
