"""What a study survives: killed processes, and faults of the disk, the clock and the database server.

    python benchmarks/faults.py --kills 250        kills of servers and of terminals, each on SQLite and PostgreSQL; all faults
    python benchmarks/faults.py --kills 0 --lock 1

An answer counts as acknowledged when the server has responded, or ``choicebo pick`` has said what was kept. A line for each
fault says what was seen; the first one that loses or doubles an answer, or ends in an exception that is not choicebo's,
ends the run. PostgreSQL runs in a temporary folder, if its server programs are installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "study"))

import study_faults
from study_helpers import postgres_server, server_binaries


def line(name: str, fault: Callable[[Path], str]) -> None:
    """Let one fault happen in a folder of its own, and print what was seen."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the file is also opened by a user who may not write
        began = time.monotonic()
        seen = fault(Path(folder))
    print(f"| {name} | {seen} | {time.monotonic() - began:.0f} s |", flush=True)


def kills(number: int, database: str, url: Callable[[Path], str]) -> None:
    """Kill servers and terminals, each ``number`` times."""
    for what in ("server", "terminal") if number else ():
        line(f"kill -9, {what}, {database}", lambda folder, what=what: study_faults.killed(url(folder), number, what))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=250, help="of servers and as many of terminals, on each database")
    parser.add_argument("--lock", type=float, default=35.0, help="seconds for which another program locks the file")
    given = parser.parse_args()
    print("| fault | what was seen | took |\n|---|---|---|")
    line("disk full", study_faults.disk_full)
    line("read-only", study_faults.read_only)
    line("locked", lambda folder: study_faults.locked(folder, given.lock))
    line("clock set back", study_faults.clock_set_back)
    line("WAL truncated", study_faults.wal_truncated)
    line("page corrupted", study_faults.page_corrupted)
    kills(given.kills, "SQLite", lambda folder: str(folder / "study.db"))
    binaries = server_binaries()
    if binaries is None:
        print("| PostgreSQL | its server programs are not installed | |")
        return
    with postgres_server(binaries) as server:
        line("PostgreSQL restarted", lambda _: study_faults.server_restarted(server))
        kills(given.kills, "PostgreSQL", lambda _: server.new_database())


if __name__ == "__main__":
    main()
