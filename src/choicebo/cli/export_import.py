"""``choicebo export`` and ``choicebo import``: studies as files, and choices from elsewhere."""

from __future__ import annotations

import enum
import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choicebo.cli import arguments
from choicebo.cli.waiting import waiting
from choicebo.errors import DataError, InvalidInputError
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
    choices = "choices"
    file = "file"


class Kind(enum.StrEnum):
    """What can be imported."""

    study = "study"
    pairs = "pairs"
    choices = "choices"


def export(
    study: arguments.Address,
    what: Annotated[What, typer.Argument(help="What to take: see above.")] = What.study,
    name: arguments.Name = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", dir_okay=False, metavar="FILE", help="File to write; otherwise stdout."),
    ] = None,
    force: arguments.Force = False,
) -> None:
    """Take a study, or a table of it, away.

    \b
      study     everything, as JSON that "choicebo import" reads back
      options   every option shown, how often, and how often kept (CSV)
      answers   every answer, option by option, with who, when and how long (CSV)
      pareto    the options that probably no other one beats, with that probability (CSV; fits the model if need be)
      probabilities   the same for every option shown
      choices   the answers as data for the Python library: ChoiceData as JSON
      file      the study file (TOML) to create such a study anew, without its answers

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
        text = _text(opened, what)
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
        Kind | None, typer.Option("--as", help="What the file holds; otherwise found by its content.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", "-n", help="The study to add to; for a whole study, the name to give it.")
    ] = None,
    rater: arguments.Rater = None,
    json: arguments.Json = False,
) -> None:
    """Bring in a whole study, or choices made elsewhere.

    A bad row is named, and then nothing is imported.

    \b
      study     JSON of "choicebo export": becomes a study in the database, which is made if need be
      pairs     CSV of comparisons: the columns winner and loser hold catalogue keys; without a catalogue,
                winner.NAME and loser.NAME for every parameter NAME
      choices   ChoiceData as JSON or CSV, with options in the unit cube

    \b
    Examples:
      choicebo import copy.db bread.json
      choicebo import menu.db comparisons.csv --rater ann
    """
    from choicebo.study import Study

    found = kind or _guess(file)
    with waiting(f"Importing {file.name}", model=False):
        if found is Kind.study:
            if rater is not None:
                raise typer.BadParameter("a whole study brings its own raters", param_hint="--rater")
            with Study.import_json(study, file, name=name) as opened:
                count, called = opened.n_answers, opened.name
        else:
            with Study.open(study, name) as opened:
                read = opened.import_pairs if found is Kind.pairs else opened.import_choices
                count, called = read(file, rater=rater), opened.name
    if json:
        output.print_json({"study": called, "imported": found.value, "count": count})
    else:
        thing = "answer" if found is Kind.study else "pair" if found is Kind.pairs else "choice"
        output.say(f"Imported {counted(count, thing)} into the study {called!r}.")


def _text(study: Study, what: What) -> str:
    match what:
        case What.study:
            return study.export_json()
        case What.choices:
            data = study.data
            if data is None:
                raise InvalidInputError("There are no answers yet: choicebo pick takes some.")
            return data.to_json()
        case What.file:
            from choicebo.study.study_file import dumps

            return dumps(study.definition)
        case What.pareto | What.probabilities:
            with waiting("Fitting the model") as progress:
                study.posterior(progress=progress)
    return study.export_csv(what.value)  # type: ignore[arg-type]


def _guess(path: Path) -> Kind:
    """What a file holds, by its content."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text: give a JSON or CSV file.") from None
    if text.lstrip().startswith("{"):
        try:
            document = json_format.loads(text)
        except ValueError as error:
            raise DataError(f"{path} is not JSON: {error}.") from None
        return Kind.study if document.get("format") == "choicebo-study" else Kind.choices
    header = [cell.strip().strip('"') for cell in text.partition("\n")[0].split(",")]
    return Kind.pairs if any(cell.startswith(("winner", "loser")) for cell in header) else Kind.choices
