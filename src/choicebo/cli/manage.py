"""``choicebo edit``, ``rename``, ``duplicate``, ``archive``, ``delete`` and ``raters``: keep studies in order."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.cli import arguments
from choicebo.errors import InvalidInputError
from choicebo.formatting import counted, without_password
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.study import Study


def edit(
    study: arguments.Address,
    name: arguments.Name = None,
    question: Annotated[str | None, typer.Option(help="What people are asked above the options.")] = None,
    template: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, metavar="FILE", help="SVG drawing with {name} where a value goes."),
    ] = None,
    bars: Annotated[bool, typer.Option("--bars", help="Show options as bars, without a drawing.")] = False,
) -> None:
    """Edit the question or the drawing of a study.

    What can vary, the rules and the settings of the model stay as they are: duplicate the study to try others.

    \b
    Examples:
      choicebo edit bread.db --question "Which loaves would you bake again?"
      choicebo edit bread.db --template loaf.svg
    """
    from choicebo.presentation.templates import check_show
    from choicebo.study import Study
    from choicebo.study.definition import Show

    if template is not None and bars:
        raise typer.BadParameter("give one of --template and --bars, not both", param_hint="--bars")
    show = Show("svg", template=template.read_text(encoding="utf-8-sig")) if template else Show() if bars else None
    given: dict[str, Any] = {"question": question, "show": show}
    changes = {field: value for field, value in given.items() if value is not None}
    if not changes:
        raise typer.BadParameter("say what to change: --question, --template or --bars")
    with Study.open(study, name) as opened:
        check_show(opened.definition.edited(**changes))
        opened.edit(**changes)
        output.say(f"Edited the study {opened.name!r}.")


def rename(
    study: arguments.Address,
    new_name: Annotated[str, typer.Argument(help="The new name of the study.")],
    name: arguments.Name = None,
) -> None:
    """Give a study another name. Links of raters stay valid.

    \b
    Examples:
      choicebo rename bread.db loaf
      choicebo rename studies.db loaf --name bread
    """
    from choicebo.study import Study

    with Study.open(study, name) as opened:
        before = opened.name
        opened.rename(new_name)
        output.say(f"The study {before!r} is now called {opened.name!r}.")


def duplicate(
    study: arguments.Address,
    copy: Annotated[str, typer.Argument(help="The name of the copy.")],
    name: arguments.Name = None,
    answers: Annotated[bool, typer.Option("--answers", help="Copy the raters and all answers, too.")] = False,
) -> None:
    """Copy a study within its database.

    \b
    Examples:
      choicebo duplicate bread.db bread-spring
      choicebo duplicate bread.db what-if --answers
    """
    from choicebo.study import Study

    with Study.open(study, name) as opened, opened.duplicate(copy, answers=answers) as made:
        output.say(
            f"Created the study {made.name!r}, a copy of {opened.name!r} with {counted(made.n_answers, 'answer')}."
        )


def archive(
    study: arguments.Address,
    name: arguments.Name = None,
    undo: Annotated[bool, typer.Option("--undo", help="Bring the study back.")] = False,
) -> None:
    """Put a study aside: it can be read, but nobody can answer it.

    \b
    Examples:
      choicebo archive studies.db --name bread
      choicebo archive studies.db --name bread --undo
    """
    from choicebo.study import Study

    with Study.open(study, name) as opened:
        if undo:
            opened.unarchive()
            output.say(f"The study {opened.name!r} is in use again.")
        else:
            opened.archive()
            output.say(f"Archived the study {opened.name!r}. Nothing is lost: choicebo archive --undo brings it back.")


def delete(
    study: arguments.Address,
    name: arguments.Name = None,
    backup: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help='Write the study there first; "choicebo import" reads it.'),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for programs.")] = False,
) -> None:
    """Delete a study with all its answers, for good.

    You are asked to type its name. "choicebo archive" puts a study out of the way without deleting it.

    \b
    Examples:
      choicebo delete studies.db --name bread --backup bread.json
      choicebo delete studies.db --name bread --yes
    """
    from choicebo.study import Study

    if backup is not None:
        arguments.require_new(backup, force=False)
    if name is None and len(Study.list(study)) > 1:
        raise typer.BadParameter("the database holds several studies: say which one", param_hint="--name")
    with Study.open(study, name) as opened:
        called, answers = opened.name, counted(opened.n_answers, "answer")
        if not yes:
            backup = backup or _confirm(opened, answers)
        if backup is not None:
            opened.export_json(backup)
            output.note(f"Wrote {backup}")
    Study.delete(study, called)
    left = len(Study.list(study))
    rest = "" if left else f" {without_password(study)} holds no study any more."
    output.say(f"Deleted the study {called!r} with {answers}.{rest}")


def _confirm(study: Study, answers: str) -> Path | None:
    """Ask where to write a back-up, if anywhere, and for the name of the study; without the name nothing is deleted."""
    if not sys.stdin.isatty():
        raise InvalidInputError(f"Deleting {study.name!r} cannot be undone: confirm it with --yes.")
    output.note(f"The study {study.name!r} with {answers} will be deleted for good.")
    file = typer.prompt("Back-up file, empty for none", default="", show_default=False, err=True).strip()
    if file:
        arguments.require_new(Path(file), force=False)
    if typer.prompt(f"Type the name of the study ({study.name}) to delete it", err=True).strip() != study.name:
        raise InvalidInputError("That is not its name: nothing was deleted.")
    return Path(file) if file else None


def raters(
    study: arguments.Address,
    name: arguments.Name = None,
    add: Annotated[str | None, typer.Option(metavar="NAME", help="Let somebody answer; prints their token.")] = None,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Stop somebody from answering.")] = None,
    retract_answers: Annotated[
        bool, typer.Option("--retract-answers", help="With --remove: what they answered no longer counts.")
    ] = False,
    restore: Annotated[
        str | None, typer.Option(metavar="NAME", help="Restore somebody who was removed; prints a new token.")
    ] = None,
    json: arguments.Json = False,
) -> None:
    """Show who answers a study; add, remove or bring back somebody.

    A removed person can no longer answer. Their answers still count unless --retract-answers is given;
    --restore brings both back. A token opens the page of "choicebo serve" at /join/TOKEN.

    \b
    Examples:
      choicebo raters bread.db
      choicebo raters bread.db --add ann
      choicebo raters bread.db --remove ann --retract-answers
      choicebo raters bread.db --restore ann
    """
    from choicebo.study import Study

    if sum(given is not None for given in (add, remove, restore)) > 1:
        raise typer.BadParameter("give one of --add, --remove and --restore", param_hint="--add")
    if retract_answers and remove is None:
        raise typer.BadParameter("that goes with --remove", param_hint="--retract-answers")
    with Study.open(study, name) as opened:
        if remove is not None:
            opened.remove_rater(remove, answers="retract" if retract_answers else "keep")
            counts = "no longer count" if retract_answers else "go on counting"
            output.say(f"Removed {remove!r}: their link no longer works, and their answers {counts}.")
        elif add is not None or restore is not None:
            token = opened.add_rater(add) if add is not None else opened.restore_rater(str(restore))
            output.say(f"{add or restore} answers at /join/{token} of the server. The token is shown only this once.")
        else:
            _show_raters(opened, json)


def _show_raters(study: Study, json: bool) -> None:
    people = study.raters()
    if json:
        output.print_json(
            [
                {
                    "name": rater.name,
                    "answers": rater.answers,
                    "open_questions": rater.open_questions,
                    "last_seen": None if rater.last_seen is None else rater.last_seen.isoformat(),
                    "removed_at": None if rater.removed_at is None else rater.removed_at.isoformat(),
                }
                for rater in people
            ]
        )
        return
    from rich.table import Table
    from rich.text import Text

    from choicebo.formatting import moment

    table = Table(border_style="dim")
    for heading in ("name", "answers", "last answer", "removed"):
        table.add_column(heading)
    for rater in people:
        dates = (moment(at) if at is not None else "" for at in (rater.last_seen, rater.removed_at))
        table.add_row(Text(rater.name), str(rater.answers), *dates)
    output.results().print(table)
