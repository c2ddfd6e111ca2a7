"""``choicebo history``, ``retract`` and ``restore``: what was answered, and which answers count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.cli import arguments
from choicebo.formatting import counted
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.study import Answer, Study

Ids = Annotated[list[int], typer.Argument(metavar="ID...", help='Answers, by the id that "choicebo history" prints.')]


def history(
    study: arguments.Address,
    name: arguments.Name = None,
    rater: arguments.OnlyRater = None,
    last: Annotated[
        int | None, typer.Option("--last", "-l", min=1, metavar="N", help="Only the latest N; by default all.")
    ] = None,
    json: arguments.Json = False,
) -> None:
    """Show every answer with the options as they were shown, newest first.

    The id in the first column is what "choicebo retract" and "choicebo restore" take. Answers that were undone are left
    out; with --json they are included, oldest first.

    \b
    Examples:
      choicebo history bread.db
      choicebo history bread.db --rater ann --last 10
      choicebo history bread.db --json | jq '.[] | select(.state == "retracted")'
    """
    from choicebo.study import Study

    with Study.open(study, name) as opened:
        if json:
            found = opened.history(rater)
            output.print_json([_record(act) for act in (found if last is None else found[-last:])])
            return
        acts = opened.latest(rater, stop=last)
        if not acts:
            output.say("There are no answers yet: answer some with choicebo pick.")
            return
        output.results().print(_table(opened, acts))


def retract(study: arguments.Address, ids: Ids, name: arguments.Name = None) -> None:
    """Retract answers: the model ignores them, and they stay in the history.

    \b
    Examples:
      choicebo retract bread.db 14
      choicebo retract bread.db 14 22
    """
    _amend(study, name, ids, "retract")


def restore(study: arguments.Address, ids: Ids, name: arguments.Name = None) -> None:
    """Restore retracted answers, so that they count again.

    \b
    Example:
      choicebo restore bread.db 14
    """
    _amend(study, name, ids, "restore")


def _amend(address: str, name: str | None, ids: list[int], act: str) -> None:
    from choicebo.study import Study

    with Study.open(address, name) as opened:
        # All are looked up first: a wrong id must not leave half of it done.
        found = [opened.get_answer(id) for id in ids]
        for each in found:
            (opened.retract if act == "retract" else opened.restore)(each)
        total = opened.n_answers
    done = "Retracted" if act == "retract" else "Restored"
    output.say(
        f"{done} {counted(len(found), 'answer')}. {counted(total, 'answer')} now {'counts' if total == 1 else 'count'}."
    )


def _table(study: Study, acts: tuple[Answer, ...]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from choicebo.formatting import moment
    from choicebo.presentation.fields import describe

    several = sum(rater.last_seen is not None for rater in study.raters()) > 1
    table = Table(border_style="dim", show_lines=True)
    for heading in ("id", "question", *(("by",) if several else ()), "when", "state"):
        table.add_column(heading, no_wrap=heading in ("id", "question"))
    table.add_column("kept, out of which options", overflow="fold", ratio=1)
    for act in acts:
        options = Text("\n").join(
            Text(f"{_mark(act, at)} {describe(study.space, option)}", "bold" if at in act.kept else "dim")
            for at, option in enumerate(act.options)
        )
        state = act.kind if act.kind == "skip" or act.state == "standing" else act.state
        who = (Text(act.rater),) if several else ()
        when = moment(act.at) if act.at is not None else ""
        number = "" if act.question is None else str(act.question)
        table.add_row(str(act.id), number, *who, when, state, options, style="dim" if act.state == "retracted" else "")
    return table


def _mark(act: Answer, place: int) -> str:
    """What was said of an option: a tick if it was kept, or a word."""
    if act.marks is None:
        return "✓" if place in act.kept else "·"
    said = act.marks.of(place)
    return f"{said}." if said.isdigit() else f"{said}:" if said else "·"


def _record(act: Answer) -> dict[str, Any]:
    return {
        "id": act.id,
        "question": act.question,
        "kind": act.kind,
        "state": act.state,
        "rater": act.rater,
        "at": None if act.at is None else act.at.isoformat(),
        "seconds": act.seconds,
        "options": act.options,
        "kept": list(act.kept),
        **({} if act.marks is None else act.marks.to_dict()),
    }
