"""With what, where and when results were made; every report ends with it."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from choicebo import __version__
from choicebo.experiments.document import Section
from choicebo.experiments.progress import in_words
from choicebo.experiments.report_tables import new_table, revisions
from choicebo.experiments.trials import FinishedTrial, Trial

_PACKAGES = ("numba", "llvmlite", "numpy", "scipy", "moocore")
_OPTIONAL = ("torch", "gpytorch", "botorch", "distributed", "xlogit")

Grids = Mapping[str, tuple[Sequence[Trial], Sequence[FinishedTrial]]]
"""By experiment, the trials that were to be run and those that are finished."""


def provenance() -> dict[str, Any]:
    """Versions, machine and date.

    >>> sorted(provenance())
    ['date', 'machine', 'versions']
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "choicebo": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
            **{name: found for name in _OPTIONAL if (found := _installed(name))},
        },
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


@functools.cache
def commit() -> str:
    """The commit of the running sources, with ``-dirty`` where they were changed since; empty outside of a repository."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    try:
        # An installation inside of some other repository is no part of that.
        tracked = git("ls-files", "--error-unmatch", Path(__file__).name).returncode == 0
        return git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").stdout.strip() if tracked else ""
    except OSError:  # there is no git
        return ""


def provenance_section(settings: Mapping[str, Any], grids: Grids) -> Section:
    """Settings, versions and the time of each method."""
    made = provenance()
    machine = made["machine"]
    commits = dict.fromkeys(each.commit for _, finished in grids.values() for each in finished if each.commit)
    facts = new_table("Settings and versions", ("what", "value"), words=2)
    rows = {
        "date": made["date"],
        "machine": f"{machine['system']} {machine['processor']}, {machine['cores']} cores",
        **settings,
        "commits of the results": ", ".join(commits) or "unknown",
        **made["versions"],
    }
    for key, value in rows.items():
        facts.add_row(key, str(value).replace("[", "\\["))
    headings = ("experiment", "method", "trials finished", "median time of a trial", "all together", "revisions")
    steps = new_table("Time per step", headings, words=2)
    steps.columns[-1].justify = "left"
    for experiment, (grid, finished) in grids.items():
        for method in dict.fromkeys(trial.method for trial in grid):
            wanted = sum(trial.method == method for trial in grid)
            group = [each for each in finished if each.trial.method == method]
            if group:
                seconds = [each.seconds for each in group]
                count, middle = f"{len(seconds)} of {wanted}", f"{median(seconds):.1f} s"
                steps.add_row(experiment, method, count, middle, in_words(sum(seconds)), revisions(group))
    return Section("How it was made", [facts, steps])


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
