"""``choicebo export`` and ``choicebo import``: studies as files, and choices from elsewhere."""

from __future__ import annotations

import enum
import re
import sys
from json import dumps as dumps_json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.errors import InvalidInputError
from choicebo.formatting import counted, printable
from choicebo.presentation import output

if TYPE_CHECKING:
    from choicebo.study import Study


class What(enum.StrEnum):
    """What can be exported."""

    study = "study"
    options = "options"
    answers = "answers"
    pareto = "pareto"
    probabilities = "probabilities"
    agreement = "agreement"
    consensus = "consensus"
    people = "people"
    choices = "choices"
    file = "file"


class Kind(enum.StrEnum):
    """What can be imported."""

    study = "study"
    choices = "choices"
    pairs = "pairs"
    best = "best"
    best_worst = "best-worst"
    rankings = "rankings"
    ratings = "ratings"
    approvals = "approvals"


def export(
    study: arguments.Address,
    what: Annotated[What, typer.Argument(help="What to export: see above.")] = What.study,
    name: arguments.Name = None,
    context: arguments.Context = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", dir_okay=False, metavar="FILE", help="File to write; by default stdout."),
    ] = None,
    force: arguments.Force = False,
) -> None:
    """Export a study, or one of its tables.

    \b
      study     everything, as JSON that "choicebo import" reads back
      options   every option shown, how often, and how often kept (CSV)
      answers   every answer, option by option, with who, when and how long (CSV)
      pareto    the options that probably no other one beats, with that probability (CSV; fits the model if necessary)
      probabilities   the same for every option shown
      agreement   if tastes are related, how likely any two people are to keep the same options of a set (CSV)
      consensus   where tastes are related, every option with its probability for all and for each (CSV)
      people    both of these and what they mean, in words (JSON)
      choices   the answers as data for the Python library: ChoiceData as JSON
      file      the study file (TOML) to create the study again, without its answers

    \b
    Examples:
      choicebo export bread.db -o bread.json
      choicebo export bread.db answers > answers.csv
      choicebo export bread.db file -o bread.toml
    """
    if out is not None:
        arguments.require_new(out, force)
    from choicebo.study import Study

    with Study.open(study, name) as opened:
        text = _text(opened, what, arguments.context_of(opened, context))
    if out is None:
        # Another program gets the data as they are, a terminal nothing that it would obey.
        text = printable(text) if sys.stdout.isatty() else text
        print(text, end="" if text.endswith("\n") else "\n", flush=True)  # noqa: T201
    else:
        out.write_text(text, encoding="utf-8")
        output.note(f"Wrote {out}")


def import_(
    study: arguments.Address,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON or CSV file to read.")],
    kind: Annotated[
        Kind | None, typer.Option("--as", help="What the file holds; by default recognised from its content.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="The study to add to; for a whole study, the name to give it.")
    ] = None,
    rater: arguments.Rater = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", metavar="ROLE=NAME", help="A column with another name; may be repeated."),
    ] = None,
    json: arguments.Json = False,
) -> None:
    """Import a study, or answers given elsewhere.

    If rows are wrong, their lines are named and nothing is imported.

    \b
      study       JSON of "choicebo export": becomes a study in the database, which is created if necessary
      choices     CSV with a row for each option shown: choice, kept, and the option; or ChoiceData as JSON or CSV
      pairs       CSV of comparisons: winner, loser, and undecided (1 or 0) if there are such
      best        CSV with a row for each option shown: choice, best (1 or 0), and the option
      best-worst  the same with best and worst
      rankings    the same with rank: 1 is best, and empty where only the first few were ranked
      ratings     CSV with sitting, rating, and the option; larger is better
      approvals   CSV with approved (1, 0 or empty), and the option, compared with the baseline of the study

    \b
    An option is given by a column for each parameter or, in a catalogue, by its key in the column "option". In pairs these are
    winner.NAME and loser.NAME, or keys. A row may also be a whole answer: option1, option2, ... with kept, best or worst.
    A column "rater" says whose answers they are; --rater makes all of them one person's.

    \b
    Examples:
      choicebo import copy.db bread.json
      choicebo import menu.db comparisons.csv --rater ann
      choicebo import menu.db survey.csv --as rankings --column choice=question_id
    """
    from choicebo.study import Study

    found = kind or _guess(file)
    columns = _columns(column or [])
    with waiting(f"Importing {file.name}", model=False) as progress:
        if found is Kind.study:
            if rater is not None:
                raise typer.BadParameter("a whole study brings its own raters", param_hint="--rater")
            with Study.import_json(study, file, name=name) as opened:
                count, called = opened.n_answers, opened.name
        else:
            with Study.open(study, name) as opened:
                if found is Kind.choices:
                    count = opened.import_choices(file, rater=rater, columns=columns, progress=progress)
                else:
                    count = opened.import_table(file, found.value, rater=rater, columns=columns, progress=progress)
                called = opened.name
    if json:
        output.print_json({"study": called, "imported": found.value, "count": count})
    else:
        thing = "answer" if found is Kind.study else "pair" if found is Kind.pairs else "choice"
        output.say(f"Imported {counted(count, thing)} into the study {called!r}.")


def _text(study: Study, what: What, context: dict[str, Any] | None) -> str:
    match what:
        case What.study:
            return study.export_json()
        case What.choices:
            data = study.data
            if data is None:
                raise InvalidInputError("There are no answers yet: answer some with choicebo pick.")
            return data.to_json()
        case What.file:
            from choicebo.study.study_file import dumps

            return dumps(study.definition)
        case What.people:
            from choicebo.study.transfer import people_of

            with waiting("Fitting the model") as progress:
                study.posterior(progress=progress)
                return dumps_json(people_of(study, context).to_dict(), indent=1)
        case What.pareto | What.probabilities | What.agreement | What.consensus:
            with waiting("Fitting the model") as progress:
                study.posterior(progress=progress)
    return study.export_csv(what.value, context=context)  # type: ignore[arg-type]


def _columns(given: list[str]) -> dict[str, str]:
    """The columns that are called otherwise, by their role."""
    pairs = [text.partition("=") for text in given]
    for (role, equals, name), text in zip(pairs, given, strict=True):
        if not (role and equals and name):
            raise typer.BadParameter(f"{text!r} is not ROLE=NAME, such as choice=question_id", param_hint="--column")
    return {role.strip(): name.strip() for role, _, name in pairs}


def _guess(path: Path) -> Kind:
    """What a file holds, by how it begins."""
    from choicebo.choices import files

    beginning = files.read_beginning(path)
    if beginning.lstrip().startswith("{"):
        return Kind.study if re.search(r'"format"\s*:\s*"choicebo-study"', beginning) else Kind.choices
    header = {cell.strip().strip('"') for cell in re.split("[,;\t]", beginning.partition("\n")[0])}
    if any(cell.startswith(("winner", "loser")) for cell in header):
        return Kind.pairs
    by_column = {"rank": Kind.rankings, "rank1": Kind.rankings, "worst": Kind.best_worst, "best": Kind.best}
    by_column |= {"rating": Kind.ratings, "approved": Kind.approvals}
    ranked = any(cell.startswith("rank1.") for cell in header)
    return Kind.rankings if ranked else next((by_column[name] for name in by_column if name in header), Kind.choices)
