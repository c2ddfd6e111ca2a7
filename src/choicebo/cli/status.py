"""``choicebo status``: where a study stands."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.formatting import counted, percent, plural, value_text
from choicebo.presentation import output

if TYPE_CHECKING:
    from rich.console import Console

    from choicebo.study import Answer, Status, Study, StudyInfo


def status(
    study: arguments.Address,
    name: arguments.Name = None,
    rater: arguments.OnlyRater = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not fit the model; print only counts, at once.")] = False,
    context: arguments.Context = None,
    json: arguments.Json = False,
) -> None:
    """Show where a study stands, and whether to go on.

    Shows the answers, the number of hidden objectives, the Pareto set, surprising answers, and whether to stop. The
    Pareto set holds the options that probably no other one beats, with that probability. If the database holds several
    studies and no --name is given, they are listed.

    \b
    Examples:
      choicebo status bread.db
      choicebo status bread.db --rater ann
      choicebo status drinks.db --context season=winter
      choicebo status bread.db --json | jq .pareto_set[0]
    """
    from choicebo.study import Study

    if name is None:
        studies = Study.list(study)
        if len(studies) > 1:
            _list(studies, json)
            return
    with Study.open(study, name) as opened:
        said = arguments.context_of(opened, context)
        with waiting("Fitting the model") as progress:
            found = opened.status(rater=rater, insight=not quick, context=said, progress=progress)
        if json:
            output.print_json(found.to_dict())
        else:
            show(opened, found)


def show(study: Study, found: Status) -> None:
    """Print a status."""
    from rich.text import Text

    console = output.results()
    console.print(Text(found.name, style="bold").append(f"  {found.question}", style="not bold"))
    console.print(_counts(found))
    if found.latent_dim is not None:
        console.print(_objectives(found), markup=False, highlight=False)
    for sentence in (*found.known, *found.objectives):
        console.print(f"  {sentence}", markup=False, highlight=False)
    if found.trust:
        output.warn(found.trust)
    if found.pareto_set:
        here = "".join(f"{each} {value_text(value)}, " for each, value in found.context.items())
        told = f"In the context {here[:-2]}, options" if here else "Options"
        console.print(Text(f"{told} that probably no other one beats: {len(found.pareto_set)}", style="bold"))
        console.print(_pareto_table(study, found, console))
    for sentence in found.agreement:
        console.print(sentence, markup=False, highlight=False)
    for each in found.surprising:
        console.print(_surprise(each), style="yellow", markup=False, highlight=False)
        if each.against is not None:
            console.print(_clash_table(study, each.past, each.against))
            changes = " or ".join(f"--change {past.question}" for past in (each.past, each.against) if past.question)
            if changes:
                console.print(f"To change one of them: choicebo pick ... {changes}", markup=False, highlight=False)
    if found.advice is not None:
        console.print(found.advice.sentence, markup=False, highlight=False, style="bold")


def _pareto_table(study: Study, status: Status, console: Console, most: int = 20) -> Any:
    """The probable Pareto set with its probabilities as a table."""
    from rich.table import Table
    from rich.text import Text

    from choicebo.cli.option_table import bar
    from choicebo.presentation.fields import as_table

    blocks, found = output.draws_blocks(console), status.pareto_set
    table = Table(border_style="dim")
    table.add_column("probability", no_wrap=True)
    headings, rows = as_table(study.space, [each.option for each in found[:most]], status.measured)
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for each, row in zip(found, rows, strict=False):
        table.add_row(
            Text(f"{percent(each.probability):>9} ").append(bar(each.probability, 6, blocks), style="cyan"),
            *map(Text, row),
        )
    if len(found) > most:
        table.caption = f"and {len(found) - most} more: choicebo export ... pareto"
    return table


def _clash_table(study: Study, *answers: Answer) -> Any:
    """Two answers side by side: what was shown, and what was kept of it."""
    from rich.table import Table
    from rich.text import Text

    from choicebo.presentation.fields import describe

    table = Table(border_style="dim")
    columns = []
    for past in answers:
        table.add_column(f"question {past.question}" if past.question else f"choice {past.id}", overflow="fold")
        order = [*past.kept, *(at for at in range(len(past.options)) if at not in past.kept)]
        columns.append(
            [f"{'kept' if at in past.kept else '    '}  {describe(study.space, past.options[at])}" for at in order]
        )
    for row in itertools.zip_longest(*columns, fillvalue=""):
        table.add_row(*map(Text, row))
    return table


def _counts(found: Status) -> str:
    answers, options = plural(found.answers, "answer"), counted(found.options_shown, "option")
    parts = [f"[bold]{found.answers}[/bold] {answers}", f"{options} shown"]
    for count, words in (
        (found.skips, "skipped"),
        (found.retracted, "retracted"),
        (found.open_questions, "open"),
        (found.measurements, plural(found.measurements, "measurement")),
    ):
        if count:
            parts.append(f"{count} {words}")
    if len(found.raters) > 1:
        parts.append(f"by {len(found.raters)} people")
    return ", ".join(parts)


def _objectives(found: Status) -> str:
    reason = found.latent_dim_history[-1]["reason"] if found.latent_dim_history else ""
    return f"Explained by {found.explanation}. {reason}".rstrip()


def _surprise(each: Any) -> str:
    past = each.past
    called = (
        f"The answer to question {past.question}" if past.question is not None else f"The choice added as {past.id}"
    )
    return f"{called} is unlike the others ({percent(each.probability)} likely given them): you may want to look at it again."


def _list(studies: tuple[StudyInfo, ...], json: bool) -> None:
    if json:
        output.print_json(
            [
                {
                    "name": s.name,
                    "question": s.question,
                    "created_at": s.created_at.isoformat(),
                    "answers": s.answers,
                    "archived": s.archived_at is not None,
                }
                for s in studies
            ]
        )
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Studies here; choose one with --name", title_justify="left", border_style="dim")
    for heading in ("name", "answers", "people", "created", "question"):
        table.add_column(heading)
    for each in studies:
        table.add_row(
            Text(each.name).append("" if each.archived_at is None else " (archived)", style="dim"),
            str(each.answers),
            str(each.raters),
            f"{each.created_at:%Y-%m-%d}",
            Text(each.question),
        )
    output.results().print(table)
