"""``choicebo measure``: values of measured objectives, entered, listed and withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from choicebo.cli import arguments
from choicebo.cli.predict import read_option
from choicebo.errors import InvalidInputError
from choicebo.formatting import counted
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.history import Measurements
    from choicebo.study import Study


_NONE_MEASURED = (
    "This study has no measured objective: declare one with --objective 'minimise cost = measured' when you create it."
)


def measure(
    study: arguments.Address,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="The option, as for predict, and what was measured of it; without them, all measurements are listed.",
        ),
    ] = None,
    name: arguments.Name = None,
    rater: arguments.Rater = None,
    json: arguments.Json = False,
) -> None:
    """Enter what was measured of an option, or list all measurements.

    Measuring again replaces a value, and an empty one withdraws it. The option need not have been shown.

    \b
    Examples:
      choicebo measure bread.db
      choicebo measure bread.db flour=2 minutes=12 cost=12.5
      choicebo measure products.db BP-007 cost=12.5
      choicebo measure products.db BP-007 cost=
    """
    from choicebo.study import Study

    with Study.open(study, name) as opened:
        if values:
            from choicebo.history.measuring import measured_objectives, written_number

            names = [each.name for each in measured_objectives(opened.space)]
            pairs = [word.partition("=") for word in values]
            given = {called: text for called, equals, text in pairs if equals and called in names}
            if not names:
                raise InvalidInputError(_NONE_MEASURED)
            words = [word for word, (called, _, _) in zip(values, pairs, strict=True) if called not in given]
            option = read_option(opened.space, words, names)
            if not given:
                raise InvalidInputError(f"Nothing was measured: give a value, as in {names[0]}=12.5.")
            numbers = {called: written_number(called, text) for called, text in given.items()}
            found = opened.measure(option, numbers, rater=rater)
        else:
            found = opened.measurements()
        if json:
            output.print_json(
                [
                    {
                        "option": each.option,
                        "name": each.name,
                        "value": each.value,
                        "rater": each.rater,
                        "at": str(each.at),
                    }
                    for each in found
                ]
            )
            return
        if values:
            output.results().print(f"Stored. {counted(len(found), 'measurement')} in all.", highlight=False)
            return
        _list(opened, found)


def _list(study: Study, found: Measurements) -> None:
    from rich.table import Table
    from rich.text import Text

    from choicebo.presentation.fields import as_table

    console = output.results()
    if not found:
        console.print("Nothing was measured yet.")
        return
    headings, rows = as_table(study.space, [each.option for each in found])
    measured = {objective.title for objective in study.space.objectives if objective.measured}
    shown = [at for at, heading in enumerate(headings) if heading not in measured]
    table = Table(border_style="dim")
    for heading in (*(headings[at] for at in shown), "measured", "value", "by"):
        table.add_column(Text(heading), overflow="fold")
    for each, row in zip(found, rows, strict=True):
        cells = [*(row[at] for at in shown), each.name, f"{each.value:.6g}", each.rater]
        table.add_row(*map(Text, cells))
    console.print(table)
