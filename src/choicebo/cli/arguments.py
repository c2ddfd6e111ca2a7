"""Arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.errors import InvalidInputError

if TYPE_CHECKING:
    from choicebo.study import Study

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
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NAME=VALUE",
        help="A context, such as season=winter; may be repeated. Otherwise the latest one.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for another program.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")]


def context_of(study: Study, given: list[str] | None) -> dict[str, Any] | None:
    """The context that a person wrote; None if they wrote none."""
    from choicebo.space.context import read_context

    return read_context(study.space, given) if given else None


def require_new(path: Path, force: bool) -> None:
    """Refuse to overwrite an existing file unless ``force`` is set; create its folder."""
    if path.exists() and not force:
        raise InvalidInputError(f"{path} exists already: give another name, or --force to overwrite it.")
    path.parent.mkdir(parents=True, exist_ok=True)
