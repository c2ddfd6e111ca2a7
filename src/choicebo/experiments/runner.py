"""Runs the trials of an experiment that have no result yet, and stores each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime

from choicebo import __version__
from choicebo.errors import ChoiceboError, InvalidInputError
from choicebo.experiments import provenance
from choicebo.experiments.executors import Outcome, Work, outcomes
from choicebo.experiments.result_file import ResultFile
from choicebo.experiments.trials import FinishedTrial, Trial


class TrialsFailedError(ChoiceboError):
    """Some trials have no result; those of the others are stored."""


def run(
    trials: Sequence[Trial],
    work: Work,
    file: ResultFile,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    ended: Callable[[Outcome], None] = lambda outcome: None,
) -> list[FinishedTrial]:
    """The results of the trials in their order, those that ``file`` holds already not run again.

    ``ended`` is called after each. A trial that fails does not stop the others.

    Raises:
        TrialsFailedError: At the end, where any failed; their tracebacks are in a file beside the results.
    """
    if len({trial.name for trial in trials}) < len(trials):
        raise InvalidInputError(
            "The grid has two trials of the same name; make them differ in task, method or settings."
        )
    failures = []
    if missing := file.missing(trials):
        with closing(outcomes(work, missing, jobs, cluster)) as arriving:
            for outcome in arriving:
                if outcome.result is None:
                    failures.append(outcome)
                else:
                    finished = datetime.now(UTC).isoformat(timespec="seconds")
                    seconds = round(outcome.seconds, 3)
                    how = seconds, finished, __version__, provenance.commit()
                    file.append(FinishedTrial(outcome.trial, outcome.result, *how))
                ended(outcome)
    if failures:
        raise _complaint(file, failures)
    return file.of(trials)


def _complaint(file: ResultFile, failures: Sequence[Outcome]) -> TrialsFailedError:
    log = file.path.with_suffix(".failed.txt")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(f"{each.trial.name}\n{each.traceback}" for each in failures), encoding="utf-8")
    first = failures[0]
    return TrialsFailedError(
        f"{len(failures)} of the trials failed, the first of them {first.trial.name}: {first.error} "
        f"All others are stored in {file.path}; the tracebacks are in {log}. The same command tries the failed ones again."
    )
