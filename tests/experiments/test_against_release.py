"""The benchmark of two versions side by side; here both are this one, and nothing is fitted."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "against_release.py"


def compared(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRAM, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=300)


def test_both_versions_are_measured_and_the_ratio_is_shown(tmp_path):
    path = tmp_path / "both.json"
    run = compared("--ours", sys.executable, "--theirs", sys.executable, "--questions", 2, "--choices", "--json", path)
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(path.read_text()).values()
    assert found["ours"].keys() == found["theirs"].keys()
    for figures in found.values():
        assert figures["all waits, s"] >= figures["longest wait, s"] > 0
        assert figures["memory, MB"] > 10
        assert figures["questions until memory"] == 2
    (row,) = [line.split() for line in run.stdout.splitlines() if "all waits" in line]
    theirs, ours = (found[name]["all waits, s"] for name in ("theirs", "ours"))
    assert row[-1] == f"{theirs / ours:.1f}"


def test_an_interpreter_without_choicebo_is_named(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no choicebo here >&2\nexit 1\n")
    broken.chmod(0o755)
    run = compared("--ours", sys.executable, "--theirs", broken, "--questions", 2, "--choices")
    assert run.returncode == 1
    assert f"{broken} failed to measure loop" in run.stderr
