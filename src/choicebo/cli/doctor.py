"""``choicebo doctor``: is everything in order on this machine?"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from choicebo import __version__
from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.errors import ChoiceboError
from choicebo.formatting import counted
from choicebo.presentation import output

_NEEDED = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "arviz-stats",
    "moocore",
    "sqlalchemy",
    "alembic",
    "typer",
)
_EXTRAS = {
    "web": "fastapi",
    "plots": "matplotlib",
    "postgres": "psycopg",
    "dask": "distributed",
    "botorch": "botorch",
    "arviz": "arviz",
    "sklearn": "sklearn",
    "notebook": "anywidget",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    what: str
    found: str
    ok: bool = True
    remedy: str = ""
    """What to do about it, if it is not in order."""


def doctor(
    study: Annotated[
        str | None,
        typer.Argument(help="Also check that this study can be reached.", show_default=False),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Also check the workers of this Dask scheduler, tcp://host:port."),
    ] = None,
    json: arguments.Json = False,
) -> None:
    """Check that everything is in order.

    Versions, BLAS threads, the compiler and the compiled code, what a server would compute with, and whether a database or a
    cluster can be reached. Exits with 1 if
    something is not in order. Include its output in every bug report.

    \b
    Examples:
      choicebo doctor
      choicebo doctor bread.db
      choicebo doctor postgresql://ann@server/studies --json
      choicebo doctor --cluster tcp://scheduler:8786
    """
    checks: list[Callable[[], Iterator[Finding]]] = [
        _environment,
        _versions,
        _extras,
        _threads,
        _compiler,
        _compiled,
        _serving,
    ]
    if study is not None:
        checks.append(lambda: _database(study))
    if cluster is not None:
        checks.append(lambda: _cluster(cluster))
    with waiting("Looking", model=False):
        findings = [finding for check in checks for finding in check()]
    sound = all(finding.ok for finding in findings)
    if json:
        output.print_json({"ok": sound, "findings": [vars(finding) for finding in findings]})
    else:
        _show(findings)
    if not sound:
        raise typer.Exit(1)


def _show(findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, border_style="dim")
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("PROBLEM", style="bold red")
        table.add_row(mark, finding.what, Text(finding.found))
    console = output.results()
    console.print(table)
    for finding in findings:
        if not finding.ok:
            output.warn(f"{finding.what}: {finding.remedy}")
    if all(finding.ok for finding in findings):
        console.print("Everything is in order.")


def _environment() -> Iterator[Finding]:
    yield Finding("choicebo", f"{__version__} in {Path(__file__).parents[1]}")
    yield Finding("Python", f"{platform.python_version()} ({sys.executable})")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("machine", f"{platform.platform()}, {cores} cores")
    encoding = (sys.stdout.encoding or "").lower()
    remedy = "set a UTF-8 locale, such as LANG=C.UTF-8; until then bars are drawn with # and ."
    yield Finding(
        "terminal", f"{encoding or 'unknown encoding'}, {os.environ.get('TERM', 'no TERM')}", "utf" in encoding, remedy
    )


def _versions() -> Iterator[Finding]:
    found, missing = [], []
    for package in _NEEDED:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    yield Finding("libraries", ", ".join(found))
    if missing:
        yield Finding("libraries", f"missing: {', '.join(missing)}", False, "pip install --force-reinstall choicebo")


def _extras() -> Iterator[Finding]:
    there = [extra for extra, module in _EXTRAS.items() if importlib.util.find_spec(module)]
    absent = [extra for extra in _EXTRAS if extra not in there]
    hint = f"; not installed: {', '.join(absent)} (pip install 'choicebo[{absent[0]}]')" if absent else ""
    yield Finding("extras", (", ".join(there) or "none") + hint)


def _threads() -> Iterator[Finding]:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.linalg.cholesky(np.eye(2))  # loads BLAS
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    most = max((pool["num_threads"] for pool in pools), default=1)
    told = ", ".join(sorted({f"{pool['internal_api']} {pool['version']}: {pool['num_threads']}" for pool in pools}))
    remedy = "set OPENBLAS_NUM_THREADS=1: with more threads small matrices take many times as long on a busy machine"
    yield Finding("BLAS threads", told or "no BLAS found", most == 1, remedy)


def _compiler() -> Iterator[Finding]:
    """Compile a function of one line with Numba, and run it."""
    remedy = "pip install --force-reinstall numba llvmlite"
    try:
        import numba

        one_more: Any = numba.njit("int64(int64)")(lambda number: number + 1)
        works = one_more(1) == 2
    except Exception as error:  # whatever is broken in a compiler is what is looked for
        yield Finding("compiler", f"{type(error).__name__}: {error}", False, remedy)
        return
    yield Finding("compiler", f"Numba {numba.__version__} with llvmlite {version('llvmlite')} works", works, remedy)


def _compiled() -> Iterator[Finding]:
    """Whether the model's compiled code is there, and where it is stored."""
    from choicebo.model import compiling, native

    there, folder = compiling.is_compiled(), native.log_likelihoods.folder
    state = "there" if there else "not there yet: the first fit compiles it, which takes about ten seconds"
    remedy = "every start compiles again; set NUMBA_CACHE_DIR to a folder that can be written to"
    yield Finding("compiled code", f"{state} ({folder or 'no folder can be written to'})", folder is not None, remedy)


def _serving() -> Iterator[Finding]:
    """What ``choicebo serve`` computes with by default."""
    from choicebo.optimizer.patience import PATIENCE
    from choicebo.serving.pool import default_caps, default_processes

    processes = default_processes()
    caps = default_caps(processes)
    yield Finding(
        "server",
        f"{counted(processes, 'process', 'processes')} (--workers); a computation takes at most {caps.seconds:g} s "
        f"(--most-seconds) and {caps.memory} MB (--most-memory); nobody waits longer than {PATIENCE:g} s "
        "for the model (--patience)",
    )


def _cluster(address: str) -> Iterator[Finding]:
    from choicebo.serving.cluster import Cluster

    try:
        with Cluster(address) as cluster:
            yield Finding(
                "cluster", f"reached; {counted(cluster.workers, 'worker')} with {counted(cluster.slots, 'thread')}"
            )
            for refused in cluster.refusals:
                yield Finding("cluster", refused, False, "see the line above")
    except ChoiceboError as error:
        yield Finding("cluster", str(error), False, "see the line above")


def _database(address: str) -> Iterator[Finding]:
    from choicebo.study import Storage, Study

    try:
        with Storage(address) as storage:
            studies = Study.list(storage)
            for each in studies:
                Study.open(storage, each.name).history()  # compared with its checksums
            damage = storage.damage() if studies else ""
    except ChoiceboError as error:
        yield Finding("database", str(error), False, "see the line above")
        return
    if damage:
        remedy = "export the studies as JSON, and import them into a new file; or restore it from a backup"
        yield Finding("database", f"damaged: {damage}", False, remedy)
        return
    listed = ", ".join(f"{each.name} ({counted(each.answers, 'answer')})" for each in studies)
    yield Finding("database", f"reached; {listed}" if studies else "reached; it holds no study yet")
