"""What reading many choices takes: seconds, peak memory, and the size of the file that they come from.

    python benchmarks/reading.py --choices 100000

Each way of reading runs in a process of its own. Memory is what its peak adds to what the process has before reading. For a data
frame, the size is that of the same table as CSV, and the frame itself is there before; for a study, it is that of the CSV file
that is imported.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import choicebo as cb
from choicebo.study import Study

WRITE = "write"
WAYS = ("csv", "json", "frame", "pairs", "study", "study table")
NAMES = ("a", "b", "c", "d")
SPACE = cb.Space([cb.Real(name, 0, 1) for name in NAMES])


def write(folder: Path, choices: int, options: int, shown: int) -> None:
    """The same choices in every format, and as many pairs."""
    rng = np.random.default_rng(0)
    X = rng.random((options, len(NAMES))).round(6)
    sets = np.argsort(rng.random((choices, min(options, 10 * shown))), axis=1)[:, :shown]
    sets = (sets + rng.integers(options, size=(choices, 1))) % options
    kept = rng.integers(1, shown, size=choices)
    data = cb.ChoiceData(X, [(row, row[:count]) for row, count in zip(sets.tolist(), kept.tolist(), strict=True)])
    data.save(folder / "choices.csv")
    data.save(folder / "choices.json")
    text = (folder / "choices.csv").read_text().replace("x0,x1,x2,x3", ",".join(NAMES), 1)
    (folder / "table.csv").write_text(text)
    header = ",".join(f"{side}.{name}" for side in ("winner", "loser") for name in NAMES)
    rows = (",".join(map(str, [*X[first], *X[second]])) for first, second in sets[:, :2].tolist())
    (folder / "pairs.csv").write_text("\n".join([header, *rows, ""]))


def read(way: str, folder: Path) -> dict[str, float]:
    """Read in one way; what it took."""
    file = folder / {"json": "choices.json", "pairs": "pairs.csv", "study table": "table.csv"}.get(way, "choices.csv")
    frame, study = None, None
    if way == "frame":
        import pandas as pd

        frame = pd.read_csv(file)
    if way.startswith("study"):
        study = Study.create(folder / f"{way}.db", "reading", SPACE)
    cb.ChoiceData([[0.0], [1.0]], [((0, 1), (0,))])  # whatever is imported on first use
    memory, began = present(), time.perf_counter()
    if study is not None:
        count = study.import_choices(file)
        study.close()
    elif frame is not None:
        count = len(cb.ChoiceData.from_frame(frame))
    elif way == "pairs":
        count = len(cb.ChoiceData.from_frame(file, "pairs", space=SPACE))
    else:
        count = len(cb.ChoiceData.load(file))
    seconds = time.perf_counter() - began
    return {"choices": count, "seconds": seconds, "memory": peak() - memory, "file": file.stat().st_size / 2**20}


def peak() -> float:
    """The largest memory that the process has had, in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (2**20 if sys.platform == "darwin" else 2**10)


def present() -> float:
    """The memory that the process has now, in MB, if the system tells; else the largest so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak()
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Write the files, and read them in every way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--choices", type=int, default=100_000)
    parser.add_argument("--options", type=int, default=10_000)
    parser.add_argument("--shown", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--way", choices=[WRITE, *WAYS], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way == WRITE:
        write(given.folder, given.choices, given.options, given.shown)
        return
    if given.way:
        print(json.dumps(read(given.way, given.folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        sizes = [f"--{name}={getattr(given, name)}" for name in ("choices", "options", "shown")]
        # This process stays small: what it has in memory would count as a peak of those that it starts.
        for way in (WRITE, *WAYS):
            command = [sys.executable, __file__, "--way", way, "--folder", folder, *sizes]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            if way != WRITE:
                found[way] = json.loads(out)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{'':12} {'choices':>8} {'seconds':>8} {'file, MB':>9} {'peak, MB':>9} {'peak / file':>12}")
    for way, took in found.items():
        print(
            f"{way:12} {took['choices']:8,} {took['seconds']:8.1f} {took['file']:9.1f} {took['memory']:9.1f} "
            f"{took['memory'] / took['file']:12.1f}"
        )


if __name__ == "__main__":
    main()
