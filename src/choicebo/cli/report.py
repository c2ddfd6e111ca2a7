"""``choicebo report``: everything that was learned, as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.errors import InvalidInputError
from choicebo.presentation import output

_HEAD = 4000
"""Characters in which a report says what it is."""


def report(
    study: arguments.Address,
    name: arguments.Name = None,
    rater: arguments.OnlyRater = None,
    context: arguments.Context = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", dir_okay=False, metavar="FILE", help="Page to write; by default NAME-report.html."),
    ] = None,
    force: arguments.Force = False,
) -> None:
    """Write what was learned as one HTML page.

    An earlier report is overwritten; any other file only with --force.

    The page holds its pictures, needs nothing else and can be mailed. It shows the Pareto set with probabilities, what
    drives each hidden objective, answers that are unlike the others, whether the predictions can be trusted, whether to
    stop, and every answer.

    \b
    Examples:
      choicebo report bread.db
      choicebo report bread.db --rater ann --out ann.html
    """
    from choicebo.study import Study

    with Study.open(study, name) as opened:
        path = out or Path(f"{opened.name}-report.html")
        arguments.require_new(path, force or _is_report(path))
        said = arguments.context_of(opened, context)
        if not opened.count_answers(rater):
            raise InvalidInputError(
                "There are no answers yet, so there is nothing to report: answer some with choicebo pick."
            )
        from choicebo.presentation.report_page import report_page

        with waiting("Writing the report") as progress:
            page = report_page(opened, rater, progress, said)
    path.write_text(page, encoding="utf-8")
    output.say(f"Wrote {path}")


def _is_report(path: Path) -> bool:
    """Whether a file is a report that this command wrote."""
    try:
        with path.open(encoding="utf-8") as file:
            head = file.read(_HEAD)
    except (OSError, UnicodeDecodeError):
        return False
    return head.startswith("<!doctype html>") and (
        'content="choicebo report"' in head or "choicebo report</title>" in head
    )
