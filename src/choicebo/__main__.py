"""The ``choicebo`` command: the one place that knows every room with commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from choicebo._runtime import limit_blas_threads

if TYPE_CHECKING:
    import typer


def build_app() -> typer.Typer:
    """The app with all its commands."""
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
    build_app()()


if __name__ == "__main__":
    main()
