"""``choicebo backup`` and ``choicebo recover``: studies into a safe place, and back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from choicebo.cli import arguments
from choicebo.formatting import counted
from choicebo.presentation import output


def backup(
    study: arguments.Address,
    out: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            dir_okay=False,
            help="File to write.",
            show_default="choicebo-DATE-TIME.zip",
        ),
    ] = None,
    name: arguments.Name = None,
    force: arguments.Force = False,
) -> None:
    """Write all studies of a database, or one with --name, into one file.

    It holds everything: definitions, raters, every answer, whatever was uploaded, and what raters' links are recognised by, so
    that they go on working. People can answer meanwhile. "choicebo recover" brings it back, into SQLite or PostgreSQL.

    \b
    Examples:
      choicebo backup bread.db
      choicebo backup postgresql://ann@server/studies nightly.zip --force
    """
    from choicebo.study import Storage
    from choicebo.study import backup as backups

    path = out or Path(f"choicebo-{datetime.now().astimezone():%Y%m%d-%H%M%S}.zip")
    arguments.require_new(path, force)
    with Storage(study) as storage:
        names = backups.write(storage, path, name)
    output.say(f"{_listed(names)} in {path}. To bring it back: choicebo recover {path} DATABASE")


def recover(
    file: Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="What `choicebo backup` wrote.")],
    study: arguments.Address,
    name: Annotated[
        str | None, typer.Option("--name", "-n", metavar="NAME", help="Another name, if the backup holds one study.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(file_okay=False, help="Where to put images.", show_default="beside the database")
    ] = None,
) -> None:
    """Bring the studies of a backup into a database, which may be a new file and may hold other studies.

    All of them or none: if a study of the same name exists, nothing is restored. Links that were sent to raters still work.

    \b
    Examples:
      choicebo recover choicebo-20260501-030000.zip bread.db
      choicebo recover nightly.zip postgresql://ann@server/studies
    """
    from choicebo.study import Storage
    from choicebo.study import backup as backups

    with Storage(study) as storage:
        names = backups.read(file, storage, name=name, images=images)
    output.say(f"{_listed(names)} came back from {file}.")


def _listed(names: tuple[str, ...]) -> str:
    return f"{counted(len(names), 'study', 'studies')} ({', '.join(names)})"
