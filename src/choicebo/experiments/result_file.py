"""Results on disk: one JSON line a trial, appended as soon as it is there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from choicebo.experiments.trials import FinishedTrial, Trial


@dataclass(frozen=True)
class ResultFile:
    """The finished trials of an experiment.

    A line is written by a single call and flushed to the disk before the next trial is counted as done. A line that a
    crash has torn is no result: it is skipped, and its trial is run again. Lines are never changed or removed.

    >>> import tempfile
    >>> file = ResultFile(Path(tempfile.mkdtemp()) / "bo.jsonl")
    >>> file.append(FinishedTrial(Trial("bo", "zdt1", "sobol", 0), {"final": 1.5}, 0.1, "2026-01-01T00:00:00+00:00", "0.1.0"))
    >>> [done.trial.name for done in file.read()]
    ['bo/zdt1/sobol/0']
    """

    path: Path

    def read(self) -> list[FinishedTrial]:
        """All finished trials in the order of their arrival, each once."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        found: dict[str, FinishedTrial] = {}
        for line in lines:
            done = _parsed(line)
            if done is not None:
                found.setdefault(done.trial.name, done)
        return list(found.values())

    def of(self, trials: Iterable[Trial]) -> list[FinishedTrial]:
        """The finished ones of some trials, in the order of the trials."""
        stored = {done.trial.name: done for done in self.read()}
        return [stored[trial.name] for trial in trials if trial.name in stored]

    def missing(self, trials: Iterable[Trial]) -> list[Trial]:
        """Those of some trials that have no result yet."""
        stored = {done.trial.name for done in self.read()}
        return [trial for trial in trials if trial.name not in stored]

    def append(self, done: FinishedTrial) -> None:
        """Add one finished trial."""
        line = json.dumps(done.to_dict(), allow_nan=False, separators=(",", ":")).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            # After a crash the file may end in half a line, which must not swallow this one.
            file.write(line if _ends_with_newline(self.path) else b"\n" + line)
            os.fsync(file.fileno())


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _parsed(line: bytes) -> FinishedTrial | None:
    try:
        return FinishedTrial.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None
