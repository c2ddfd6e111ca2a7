"""``choicebo example``: ready study files to start from."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from choicebo.cli import arguments
from choicebo.presentation import output


class Example(enum.StrEnum):
    """The ready studies."""

    bread = "bread"
    palette = "palette"
    products = "products"


def example(
    name: Annotated[Example, typer.Argument(show_default=False)],
    where: Annotated[
        str,
        typer.Argument(
            help="Folder to write to; or a file such as bread.db, or a URL, to create the study there as well.",
            show_default="this folder",
        ),
    ] = ".",
    force: arguments.Force = False,
) -> None:
    """Write a ready study to start from.

    Its files, to read and to change, and the study itself if you name one.

    \b
      bread      a baking recipe: numbers, steps, categories, two rules, and the loaf of today
      palette    a colour palette, drawn as a card by an SVG template
      products   a small catalogue of backpacks in a CSV file

    \b
    Examples:
      choicebo example bread                    writes bread.toml here
      choicebo example palette studies/         writes palette.toml and palette.svg into a folder
      choicebo example products products.db     writes the files and creates the study
    """
    from choicebo.study.examples import EXAMPLES, content

    folder, address = _target(where)
    written = [folder / file for file in EXAMPLES[name].files]
    for path in written:
        arguments.require_new(path, force)
    for path in written:
        path.write_bytes(content(path.name))
    output.say("Wrote " + " and ".join(map(str, written)))
    if address is None:
        output.say(f"Create the study:     choicebo new {folder / name}.db --space {written[0]}")
        output.say(f"Or answer at once:    choicebo serve {written[0]}")
        return
    from choicebo.cli.new import announce
    from choicebo.study import Study

    with Study.create_from_file(address, written[0]) as study:
        announce(study, address)


def _target(where: str) -> tuple[Path, str | None]:
    """The folder for the files, and the address of the study if one is meant."""
    if "://" in where:
        return Path(), where
    path = Path(where)
    if path.is_dir() or where.endswith(("/", "\\")) or not path.suffix:
        return path, None
    return path.parent, where
