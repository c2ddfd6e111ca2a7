from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def output_of(program: str, folder: Path) -> str:
    """What an example prints; a warning of ours is a failure."""
    result = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / program)],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def check_learn_from_choices(output: str) -> None:
    sentence = next(line for line in output.splitlines() if "predicted exactly" in line)
    right, total = (int(word) for word in sentence.split() if word.isdigit())
    # Of three options there are seven non-empty subsets: blind guessing would find one in seven.
    assert right > 3 * total / 7


CHECKS = {"learn_from_choices.py": check_learn_from_choices}


@pytest.mark.parametrize("program", CHECKS)
def test_example_does_what_it_says(program: str, tmp_path: Path) -> None:
    CHECKS[program](output_of(program, tmp_path))


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(CHECKS)
