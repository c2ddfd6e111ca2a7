"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choicebo.errors import InvalidInputError

Address = Annotated[
    str,
    typer.Argument(help="File of the study (SQLite), or the URL of a database.", show_default=False),
]
Name = Annotated[
    str | None,
    typer.Option("--name", "-n", metavar="NAME", help="Which study, if the database holds several."),
]
Rater = Annotated[
    str | None,
    typer.Option("--rater", "-r", metavar="NAME", help="The person who answers; without it, the owner of the study."),
]
OnlyRater = Annotated[
    str | None,
    typer.Option("--rater", "-r", metavar="NAME", help="Look at the answers of this person only."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for another program.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]


def require_new(path: Path, force: bool) -> None:
    """Refuse to overwrite an existing file unless ``force`` is set; create its folder."""
    if path.exists() and not force:
        raise InvalidInputError(f"{path} exists already: give another name, or --force to overwrite it.")
    path.parent.mkdir(parents=True, exist_ok=True)
