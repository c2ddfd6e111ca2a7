"""What a study survives: killed processes, and faults of the disk, the clock and the database server.

    python benchmarks/faults.py --kills 500        kills on each of SQLite and PostgreSQL, and all faults
    python benchmarks/faults.py --kills 0 --lock 1

An answer counts as acknowledged when ``Study.tell`` returned. A line for each fault says what was seen; the first one that
loses or doubles an answer, or ends in an exception that is not choicebo's, ends the run. PostgreSQL runs in a temporary
folder, if its server programs are installed.
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500, help="on each of the two databases")
    parser.add_argument("--lock", type=float, default=35.0, help="seconds for which another program locks the file")
    given = parser.parse_args()
    print("| fault | what was seen | took |\n|---|---|---|")
    line("disk full", study_faults.disk_full)
    line("read-only", study_faults.read_only)
    line("locked", lambda folder: study_faults.locked(folder, given.lock))
    line("clock set back", study_faults.clock_set_back)
    line("WAL truncated", study_faults.wal_truncated)
    line("page corrupted", study_faults.page_corrupted)
    if given.kills:
        line("kill -9, SQLite", lambda folder: study_faults.killed(str(folder / "study.db"), given.kills))
    binaries = server_binaries()
    if binaries is None:
        print("| PostgreSQL | its server programs are not installed | |")
        return
    with postgres_server(binaries) as server:
        line("PostgreSQL restarted", lambda _: study_faults.server_restarted(server))
        if given.kills:
            line("kill -9, PostgreSQL", lambda _: study_faults.killed(server.new_database(), given.kills))


if __name__ == "__main__":
    main()
