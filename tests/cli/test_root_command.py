import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from choicebo import __version__
from choicebo.__main__ import build_app
from choicebo.cli.root_command import FAILED, INTERRUPTED, create_app
from choicebo.errors import DataError
from choicebo.presentation import output

runner = CliRunner()


@pytest.fixture
def failing_app():
    """The app with commands that fail in every way a command can."""
    app = create_app()

    @app.command()
    def lose():
        raise DataError("bread.csv has no column 'price';\nits header line is sku, name")

    @app.command()
    def stop():
        raise KeyboardInterrupt

    @app.command()
    def write():
        raise PermissionError(13, "Permission denied", "results")

    @app.command()
    def misuse(jobs: int = typer.Option(1, min=1)):
        raise typer.BadParameter("the folder is missing", param_hint="--data")

    return app


def test_an_error_is_one_line_on_stderr_and_exit_code_1(failing_app):
    result = runner.invoke(failing_app, ["lose"])
    assert result.exit_code == FAILED == 1
    assert result.stderr == "Error: bread.csv has no column 'price'; its header line is sku, name\n"
    assert result.stdout == ""


def test_a_file_that_cannot_be_written_is_one_line_too(failing_app):
    result = runner.invoke(failing_app, ["write"])
    assert result.exit_code == FAILED
    assert "Permission denied: 'results'" in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_lets_the_error_through_with_its_traceback(failing_app):
    result = runner.invoke(failing_app, ["--debug", "lose"])
    assert isinstance(result.exception, DataError)
    assert result.exit_code == 1


def test_an_interrupt_is_friendly_and_exits_with_130(failing_app):
    result = runner.invoke(failing_app, ["stop"])
    assert result.exit_code == INTERRUPTED == 130
    assert result.stderr.startswith("Interrupted: ")


@pytest.mark.parametrize(
    "arguments",
    [["misuse"], ["misuse", "--jobs", "0"], ["misuse", "--jobs", "many"], ["nonsense"], ["--wrong"]],
)
def test_bad_use_exits_with_2_and_without_a_traceback(failing_app, arguments):
    result = runner.invoke(failing_app, arguments)
    assert result.exit_code == 2
    assert "Usage" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "learn", "--choices", "0"],
        ["demo", "learn", "--out", "."],
        ["reproduce", "moon"],
        ["reproduce", "toy", "--jobs", "0"],
        ["reproduce", "real", "--scaling", "none"],
        ["bench", "--json", "."],
    ],
)
def test_bad_use_of_the_experiments_is_noticed_before_they_start(arguments):
    result = runner.invoke(build_app(), arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_real_data_without_a_folder_says_who_publishes_them(monkeypatch, tmp_path):
    monkeypatch.delenv("CHOICEBO_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    result = runner.invoke(build_app(), ["reproduce", "real", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "UCI Machine Learning Repository" in result.stderr
    assert "gstat" in result.stderr


def test_real_data_in_an_empty_folder_says_which_file_is_missing(tmp_path):
    result = runner.invoke(
        build_app(), ["reproduce", "real", "--data", str(tmp_path / "empty"), "--out", str(tmp_path)]
    )
    assert result.exit_code == FAILED
    assert "slump.csv cannot be read" in result.stderr
    assert "get the data from the UCI" in result.stderr


def test_a_picture_format_that_does_not_exist_is_refused_before_the_fit(tmp_path):
    result = runner.invoke(build_app(), ["demo", "learn", "--out", str(tmp_path / "demo.docx")])
    assert result.exit_code == 2
    assert ".png" in result.output


def test_every_command_has_help():
    for command in (
        [],
        ["demo"],
        ["demo", "learn"],
        ["reproduce"],
        ["reproduce", "toy"],
        ["reproduce", "real"],
        ["bench"],
        *([name] for name in ("new", "example", "pick", "status", "report", "export", "import", "upgrade", "doctor")),
    ):
        result = runner.invoke(build_app(), [*command, "--help"])
        assert result.exit_code == 0, command
        assert "Usage" in result.output


@pytest.mark.parametrize(
    "name", ["new", "example", "pick", "status", "report", "export", "import", "upgrade", "doctor"]
)
def test_help_of_a_command_about_studies_has_examples(name):
    lines = runner.invoke(build_app(), [name, "--help"]).output.splitlines()
    shown = lines[lines.index("  Examples:") + 1 :]
    assert any(f"choicebo {name} " in f"{line} " for line in shown)


def test_messages_are_not_read_as_markup(capsys):
    output.complain("kept=[0, 2] of [bold]")
    assert capsys.readouterr().err == "Error: kept=[0, 2] of [bold]\n"


def test_progress_bars_take_what_a_fit_reports():
    with output.fit_progress() as report:
        assert report("drawing", 0.5) is not False
    with output.count_progress("fits", 2) as done:
        done()


def test_the_installed_command_answers_without_loading_anything_heavy():
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "choicebo", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert found.stdout.strip() == f"choicebo {__version__}"
    loaded = {line.split("|")[-1].strip() for line in found.stderr.splitlines()}
    assert not loaded & {"numba", "numpy", "scipy", "matplotlib"}


def test_one_blas_thread_is_asked_for_before_numpy_loads():
    program = (
        "import os, sys, choicebo.__main__ as entry; "
        "entry.build_app = lambda: lambda: print(os.getenv('OPENBLAS_NUM_THREADS'), 'numpy' in sys.modules); "
        "entry.main()"
    )
    environment = {"PATH": "", "OMP_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    )
    assert found.stdout.split() == ["1", "False"]
