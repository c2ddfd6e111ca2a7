"""The ``choicebo`` command: the one place that knows every room with commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import choicebo
from choicebo._runtime import limit_blas_threads
from choicebo.errors import MissingExtraError
from choicebo.extras import needs

if TYPE_CHECKING:
    import typer

_ABOUT = """Learn a person's hidden objectives from the options that they keep.

In Python, import choicebo has the model and the loop. The commands demo, new, pick, serve, status, report, export, import,
reproduce, bench and others come with an extra."""


def build_app() -> typer.Typer:
    """The app with all its commands."""
    with needs("cli", "The command choicebo"):
        from choicebo.cli import commands as study_commands
        from choicebo.cli.root_command import create_app
        from choicebo.experiments import experiment_commands
        from choicebo.web import serve_command as web_commands

    app = create_app()
    study_commands.add_to(app)
    web_commands.add_to(app)
    experiment_commands.add_to(app)
    return app


def main() -> None:
    """Run the command line."""
    limit_blas_threads()  # before anything loads NumPy
    try:
        app = build_app()
    except MissingExtraError as error:
        sys.exit(_without_app(error, sys.argv[1:]))
    app()


def _without_app(error: MissingExtraError, arguments: list[str]) -> str | int:
    """What the command does where only the library is installed; an exit code, or an error to end with."""
    said = f"{error} (or 'choicebo[web]' to answer in a browser as well)"
    if arguments[:1] == ["--version"]:
        sys.stdout.write(f"choicebo {choicebo.__version__}\n")
        return 0
    if not arguments or arguments[0] in ("--help", "-h"):
        sys.stdout.write(
            f"Usage: choicebo COMMAND\n\n{_ABOUT}\n\nThe library is installed, its commands are not. {said}\n"
        )
        return 0
    return f"Error: {said}"


if __name__ == "__main__":
    main()
