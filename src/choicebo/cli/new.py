"""``choicebo new``: create a study from a file, a table, or by answering questions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.cli import arguments
from choicebo.formatting import counted, without_password
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.space import Catalogue
    from choicebo.study import Study


class Raters(enum.StrEnum):
    """How the answers of several people are modelled."""

    together = "together"
    related = "related"
    separate = "separate"


class Way(enum.StrEnum):
    """How a question is answered."""

    subset = "subset"
    best = "best"
    best_worst = "best-worst"
    ranking = "ranking"
    pair = "pair"


def new(
    study: Annotated[
        str | None,
        typer.Argument(help="File to create (SQLite), or the URL of a database.", show_default=False),
    ] = None,
    space: Annotated[
        Path | None, typer.Option("--space", "-s", metavar="FILE", help="Study file (TOML) that describes the options.")
    ] = None,
    catalogue: Annotated[
        Path | None,
        typer.Option("--catalogue", "-c", metavar="FILE", help="Table (CSV or Excel) of the options, one per row."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that identifies a row; by default recognised by its name."),
    ] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column with the name that people see.")] = None,
    image: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with the picture file of a row; '' for none.")
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            "-o",
            metavar="TEXT",
            help="What is known to matter, as 'minimise price': a column, a formula, or what is measured later. "
            "May be given several times.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="Name of the study; by default that of the file.")
    ] = None,
    question: Annotated[str | None, typer.Option(help="What people are asked above the options.")] = None,
    show: Annotated[
        int | None, typer.Option("--options", min=2, max=12, metavar="N", help="How many options to show at once.")
    ] = None,
    answer: Annotated[
        Way | None,
        typer.Option(help="How questions are answered; with subset, people keep every option that no other one beats."),
    ] = None,
    likelihood: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What an answer means: choice, pseudo_rational, batch_preference or noticeable_difference.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="With noticeable_difference: the least difference that is noticed, in units of the noise; 1 if not given.",
        ),
    ] = None,
    latent_dim: Annotated[
        str | None, typer.Option(metavar="N|auto", help="Number of hidden objectives; auto learns it from the answers.")
    ] = None,
    acquisition: Annotated[str | None, typer.Option(metavar="RULE", help="How new options are found.")] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="ENGINE", help="How the model is fitted: hmc, ess, vi, laplace.")
    ] = None,
    raters: Annotated[
        Raters,
        typer.Option(
            help="How to learn from several people. related: each has their own taste, and tastes have something in common; "
            "together: all share one taste; separate: each is learned from alone."
        ),
    ] = Raters.related,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random numbers.")] = None,
    json: arguments.Json = False,
) -> None:
    """Create a study.

    The options come from a study file (--space) or a table (--catalogue). With neither, you are asked for them one by
    one, with a preview.

    \b
    Examples:
      choicebo new                                   asks for everything
      choicebo new bread.db --space bread.toml
      choicebo new menu.db --catalogue menu.csv --key sku --label name --objective "minimise price"
      choicebo new menu.db --catalogue menu.csv --answer ranking --options 4
      choicebo new postgresql://ann@server/studies --space bread.toml --name bread-autumn

    See also: choicebo example, which writes ready study files to start from.
    """
    if space is not None and catalogue is not None:
        raise typer.BadParameter("give one of --space and --catalogue, not both", param_hint="--catalogue")
    if catalogue is None and any(column is not None for column in (key, label, image)):
        raise typer.BadParameter("--key, --label and --image are columns of a --catalogue", param_hint="--key")
    if space is not None and objective:
        raise typer.BadParameter(
            'write objectives = ["minimise price = 2*flour"] at the top of the study file', param_hint="--objective"
        )
    if study is None and (space or catalogue):
        raise typer.BadParameter("give the file or URL of the study before the options", param_hint="STUDY")
    settings: dict[str, Any] = {
        "question": question,
        "query_size": show,
        "answer": None if answer is None else answer.value,
        "likelihood": likelihood,
        "threshold": threshold,
        "latent_dim": int(latent_dim) if latent_dim is not None and latent_dim.isdigit() else latent_dim,
        "acquisition": acquisition,
        "engine": engine,
        "seed": seed,
        "raters": raters.value,
    }
    given = {setting: value for setting, value in settings.items() if value is not None}
    if space is not None:
        assert study is not None
        created = _from_file(study, space, name, given)
    elif catalogue is not None:
        assert study is not None
        created = _from_table(study, catalogue, (key, label, image), objective or [], name, given)
    else:
        from choicebo.cli.wizard import Wizard

        study, created = Wizard(objectives=objective or []).create(study, name, given)
    with created:
        announce(created, study, json)


def announce(study: Study, address: str, json: bool = False) -> None:
    """Say what was created and how to go on."""
    from choicebo.space import Catalogue

    size = study.space.size
    if json:
        output.print_json(
            {"study": address, "name": study.name, "options": int(size) if size != float("inf") else None}
        )
        return
    alone, where = len(type(study).list(address)) == 1, without_password(address)
    options = counted(size, "row" if isinstance(study.space, Catalogue) else "combination")
    output.say(
        f"Created the study {study.name!r} in {where}: {options}, {study.settings['query_size']} at a time.\n"
        f"Answer questions:  choicebo pick {where}" + ("" if alone else f" --name {study.name!r}")
    )


def _from_file(address: str, path: Path, name: str | None, settings: dict[str, Any]) -> Study:
    from choicebo.presentation.templates import check_show
    from choicebo.study import Study
    from choicebo.study.study_file import read

    return Study.create_from_file(address, check_show(read(path)), name=name, **settings)


def _from_table(
    address: str,
    path: Path,
    columns: tuple[str | None, str | None, str | None],
    objectives: list[str],
    name: str | None,
    settings: dict[str, Any],
) -> Study:
    from choicebo.study import Study
    from choicebo.study.definition import Show

    table = read_catalogue(path, *columns, objectives)
    show = Show("image") if table.image else None
    if settings.get("answer") != "pair":
        settings.setdefault("query_size", min(5, table.size))
    return Study.create(address, name or path.stem, table, show=show, folder=path.parent, **settings)


def read_catalogue(
    path: Path,
    key: str | None = None,
    label: str | None = None,
    image: str | None = None,
    objectives: Sequence[str] = (),
) -> Catalogue:
    """The catalogue in a table; columns that are not given are recognised by their names and cells, and printed."""
    from choicebo.space import Catalogue

    found = Catalogue.recognise(path, key, label, image, objectives)
    if image is None and found.image and not _has_picture(path.parent, found):
        output.warn(
            f"The pictures in the column {found.image!r} are not beside {path.name}: the options are shown without them."
        )
        found = Catalogue.recognise(path, key, label, "", objectives)
    output.note(_columns(path, found))
    return found


def _has_picture(folder: Path, table: Catalogue) -> bool:
    """Whether the picture of any row is there."""
    return any((folder / str(row[table.image])).is_file() for row in table.rows if table.image and row[table.image])


def _columns(path: Path, table: Catalogue) -> str:
    """What each column of a table is for, and how to change that."""
    from choicebo.space.roles import column_roles

    roles = column_roles(table)
    width = max(map(len, roles))
    lines = "\n".join(f"  {name:{width}}  {role}" for name, role in roles.items())
    return f"The columns of {path.name}:\n{lines}\nTo change that, give --key, --label or --image COLUMN ('' for none)."
