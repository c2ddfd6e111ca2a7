"""The ``choicebo`` command: the one place that knows every room with commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from choicebo._runtime import limit_blas_threads
from choicebo.errors import MissingExtraError
from choicebo.extras import needs

if TYPE_CHECKING:
    import typer


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
        print(f"Error: {error} (or 'choicebo[web]' to answer in a browser as well)", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    app()


if __name__ == "__main__":
    main()
