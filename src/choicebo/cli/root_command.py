"""The ``choicebo`` command: what all its subcommands share, and how it fails.

A subcommand imports what it computes with inside its function, so that ``--help`` answers at once.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from choicebo import __version__
from choicebo.errors import ChoiceboError
from choicebo.presentation import output

FAILED = 1
"""Exit code of a run that failed; bad use of the command itself exits with 2."""
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the number of the signal, as shells have it."""


class FriendlyGroup(TyperGroup):
    """Turns errors that a user can do something about into one line on stderr, unless ``--debug`` is on."""

    def invoke(self, ctx: Any) -> Any:
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except (ChoiceboError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            output.complain(str(error))
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            if ctx.params.get("debug"):
                raise
            output.complain("stopped by Ctrl-C; nothing more was written", title="Interrupted")
            raise typer.Exit(INTERRUPTED) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"choicebo {__version__}")
        raise typer.Exit


def create_app() -> typer.Typer:
    """The app without subcommands of other rooms; the entry point adds those."""
    app = typer.Typer(
        name="choicebo",
        cls=FriendlyGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # examples in a help text keep their lines
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def choicebo(
        version: Annotated[
            bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
        ] = False,
        debug: Annotated[
            bool, typer.Option("--debug", help="Show the traceback of an error instead of one line.")
        ] = False,
    ) -> None:
        """Learn a person's hidden objectives from the options they keep, and ask the next question."""

    return app
