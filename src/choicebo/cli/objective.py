"""``choicebo objective``: what drives the hidden objectives, and what they are called."""

from __future__ import annotations

from typing import Annotated

import typer

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.errors import InvalidInputError
from choicebo.presentation import output


def objective(
    study: arguments.Address,
    number: Annotated[int | None, typer.Argument(help="The objective to name; without it, all are shown.")] = None,
    called: Annotated[str | None, typer.Argument(help="Its name; an empty text takes the name away.")] = None,
    name: arguments.Name = None,
    rater: arguments.OnlyRater = None,
    json: arguments.Json = False,
) -> None:
    """Show the hidden objectives, or give one a name.

    The name appears wherever the objective does, and follows it when the model learns more and numbers it differently.

    \b
    Examples:
      choicebo objective palette.db
      choicebo objective palette.db 1 contrast
      choicebo objective palette.db 1 ""
    """
    from choicebo.study import Study

    if (number is None) != (called is None):
        raise typer.BadParameter("give the number of an objective and its name, or neither of them")
    with Study.open(study, name) as opened:
        if not opened.count_answers(rater):
            raise InvalidInputError(
                "There are no answers yet, so there are no hidden objectives: answer some with choicebo pick."
            )
        with waiting("Fitting the model") as progress:
            opened.posterior(rater, progress=progress)
        if number is not None and called is not None:
            opened.name_objective(number, called, rater)
        found = opened.result(rater).objectives
    if json:
        output.print_json([{"number": each.number, "name": each.name, "sentence": each.sentence} for each in found])
        return
    for each in found:
        output.results().print(f"{each.number}  {each.sentence}", markup=False, highlight=False)
