"""The figures in README and on the page of results are those of the raw results."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "benchmarks" / "write_figures.py"


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_figures", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_are_those_of_the_raw_results() -> None:
    found = subprocess.run([sys.executable, PROGRAM, "--check"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"{found.stdout}{found.stderr}: run {PROGRAM.relative_to(ROOT)}"


def test_a_figure_that_differs_is_written_and_told(figures: ModuleType, monkeypatch, tmp_path, capsys) -> None:
    (tmp_path / "docs" / "results").mkdir(parents=True)
    for name in ("README.md", "docs/results/index.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8").replace("| 81 % |", "| 99 % |"), "utf-8")
    monkeypatch.setattr(figures, "RESULTS", ROOT / "docs" / "results")
    readme, results = figures.readme_rows(), figures.results_rows()
    monkeypatch.setattr(figures, "readme_rows", lambda: readme)
    monkeypatch.setattr(figures, "results_rows", lambda: results)
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "docs" / "results")
    for arguments, code, told in ((["--check"], True, "differs"), ([], False, "written"), (["--check"], False, "")):
        monkeypatch.setattr(sys, "argv", ["write_figures.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            figures.main()
        assert bool(ended.value.code) is code
        assert told in capsys.readouterr().out
    assert "| 81 % |" in (tmp_path / "README.md").read_text("utf-8")


def test_rows_that_cannot_be_found_are_an_error(figures: ModuleType) -> None:
    with pytest.raises(SystemExit, match="no row begins with 'b'"):
        figures.written("| a | 1 |", {"b": ["2"]})
    with pytest.raises(SystemExit, match="two rows begin with 'a'"):
        figures.written("| a | 1 |\n| a | 1 |", {"a": ["2"]})


def test_the_larger_of_two_numbers_is_bold(figures: ModuleType) -> None:
    assert [figures._beside(*pair) for pair in ((0.751, 0.54), (0.5, 0.6), (0.501, 0.499))] == [
        "**0.75** / 0.54",
        "0.50 / **0.60**",
        "0.50 / 0.50",
    ]
