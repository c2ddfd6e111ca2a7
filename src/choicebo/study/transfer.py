"""Tables in and out: comparisons and choices made elsewhere, and what a study holds as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from choicebo.choices import ROUNDING, Choice, ChoiceData, files, frames
from choicebo.choices.building import ReadChoices, merged
from choicebo.choices.files import FileError
from choicebo.choices.positions import items
from choicebo.choices.problems import Problems
from choicebo.choices.tables import Progress
from choicebo.errors import ChoiceboError, DataError, InvalidInputError, StudyError
from choicebo.formatting import as_given
from choicebo.history.measuring import measured_objectives
from choicebo.history.rules import Added
from choicebo.space import Catalogue, Option, Space
from choicebo.space.context import contexts_of, require_one_context
from choicebo.space.points import distinct
from choicebo.study.measured import measured_of, told
from choicebo.study.option_counts import count_options

if TYPE_CHECKING:
    from choicebo.insight import PeopleInsight
    from choicebo.model.posterior import Posterior
    from choicebo.study.study import Study

TABLES = ("options", "answers", "pareto", "probabilities", "measurements", "agreement", "consensus")
NOTHING = "Nothing was imported."
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet would compute, or one that was protected from it."""
_NUMBER = re.compile(r"[+-]?\d+([.,]\d*)?([eE][+-]?\d+)?")


def text_of(source: str | Path) -> str:
    """The text itself, or that of the file which a path names."""
    if _is_path(source):
        return files.read_text(source)
    if not isinstance(source, str):
        raise DataError(f"{as_given(source)} is neither a text nor the path of a file.")
    return source


def written(text: str, path: str | Path | None) -> str:
    """The text, also written to ``path`` if there is one."""
    if path is not None:
        files.write_text(path, text)
    return text


def read_table(
    space: Space | Catalogue,
    source: Any,
    kind: str,
    *,
    columns: Mapping[str, str] | None = None,
    options: Any = None,
    baseline: Option | None = None,
    progress: Progress | None = None,
) -> ReadChoices:
    """The answers in a table as choices among options of a space; the error for wrong rows names their lines."""
    if baseline is not None and isinstance(space, Catalogue):
        baseline = baseline[space.key]
    with _nothing_imported():
        return frames.read_frame(
            source,
            kind,
            columns=columns,
            options=options,
            space=space,
            baseline=baseline,
            conclusion=NOTHING,
            progress=progress,
        )


def read_pairs(
    space: Space | Catalogue, source: Any, *, columns: Mapping[str, str] | None = None, progress: Progress | None = None
) -> ReadChoices:
    """Comparisons as choices among two: a table with winners and losers, or a list of pairs."""
    if isinstance(source, (str, Path)) or hasattr(source, "columns") or hasattr(source, "column_names"):
        return read_table(space, source, "pairs", columns=columns, progress=progress)
    given = items(source, "pairs", "a list of pairs")
    if given and all(isinstance(pair, Mapping) for pair in given):
        return read_table(space, given, "pairs", columns=columns, progress=progress)
    if not given:
        raise DataError("There are no pairs to import: give at least one.")
    problems = Problems("Pair", NOTHING)
    found: list[Option] = []
    for number, pair in enumerate(given):
        try:
            winner, loser = pair
        except (TypeError, ValueError):
            problems.add(number, f"{as_given(pair)} is not a pair (winner, loser).")
            continue
        try:
            found += [space.validate(winner), space.validate(loser)]
        except ChoiceboError as error:
            problems.add(number, str(error))
    problems.check()
    choices = [Choice((at, at + 1), (at,)) for at in range(0, len(found), 2)]
    return ReadChoices(space.encode(found), choices, range(len(choices)), "Pair", found)


def read_choices(
    space: Space | Catalogue, data: Any, *, columns: Mapping[str, str] | None = None, progress: Progress | None = None
) -> ReadChoices:
    """Choices among points of the unit cube, or a table of choices among options of the space, as choices among options."""
    if not isinstance(data, ChoiceData):
        if not _is_of_cube(space, data):
            return read_table(space, data, "choices", columns=columns, progress=progress)
        with _nothing_imported():
            data = _choice_data(data, progress)
    if data.dim != space.dim:
        raise DataError(
            f"The choices have {data.dim} inputs, but the options of this study have {space.dim}: give choices "
            "among its options."
        )
    if not data.choices:
        raise DataError("There are no choices to import: give at least one.")
    options = space.decode(data.X)
    astray = np.abs(space.encode(options) - data.X).max(axis=1) > max(ROUNDING, 1e-6)
    problems = Problems("Choice", NOTHING)
    if astray.any():
        for number, choice in enumerate(data.choices):
            wrong = [row for row in choice.shown if astray[row]]
            if wrong:
                at = data.X[wrong[0]].tolist()
                problems.add(number, f"its option {wrong[0]} at {at} is not one of this study's options.")
    problems.check()
    return ReadChoices(space.encode(options), data.choices, range(len(data.choices)), "Choice", options)


def checked(read: ReadChoices, space: Space | Catalogue) -> ReadChoices:
    """The same, if a study can hold it: answers without weights, each in one context, no option both kept and rejected."""
    problems = Problems(read.word, NOTHING)
    for number, choice in zip(read.numbers, read.choices, strict=True):
        if choice.weight != 1.0:
            problems.add(
                number, f"its weight is {choice.weight:g}; answers of a study have none: leave out the weights."
            )
    problems.check()
    merged(read.choices, distinct(read.X)[1], problems, read.numbers)
    problems.check()
    if contexts_of(space):
        for number, each in zip(read.numbers, added(read), strict=True):
            try:
                require_one_context(space, each.shown)
            except InvalidInputError as error:
                problems.add(number, str(error))
        problems.check()
    return read


def added(read: ReadChoices) -> Iterator[Added]:
    """The choices as a history takes them."""
    assert read.options is not None
    for choice in read.choices:
        kept = set(choice.kept)
        positions = tuple([place for place, option in enumerate(choice.shown) if option in kept])
        yield Added([read.options[option] for option in choice.shown], positions)


def csv_table(study: Study, table: str, rater: str | None = None, context: Mapping[str, Any] | None = None) -> str:
    """A table of a study as CSV; what the model says is learned from everybody, or from one rater, and holds in a context."""
    names = study.space.names
    measured = tuple(each.name for each in measured_objectives(study.space))
    more = [name for name in measured if name not in names]
    table = table if isinstance(table, str) else as_given(table)
    if table == "options":
        counts = count_options(study)
        options = _with_measured(study, [each.option for each in counts])
        rows = [
            [number, *_cells(option, [*names, *more]), each.shown, each.kept]
            for number, (each, option) in enumerate(zip(counts, options, strict=True), start=1)
        ]
        return _csv(["option", *names, *more, "shown", "kept"], rows)
    if table == "measurements":
        rows = [
            [*_cells(each.option, names), each.name, each.value, each.rater, each.at and each.at.isoformat()]
            for each in study.measurements()
        ]
        return _csv([*names, "measured", "value", "rater", "at"], rows)
    if table == "answers":
        head = ["id", "question", "kind", "state", "rater", "at", "seconds", "place", "kept", "said", *names]
        rows = [
            [
                *(
                    past.id,
                    past.question,
                    past.kind,
                    past.state,
                    past.rater,
                    past.at and past.at.isoformat(),
                    past.seconds,
                ),
                *(place, int(place in past.kept), past.marks and past.marks.of(place), *_cells(option, names)),
            ]
            for past in study.history()
            for place, option in enumerate(past.options)
        ]
        return _csv(head, rows)
    if table in ("pareto", "probabilities"):
        found = study.pareto_set(0.5 if table == "pareto" else 0.0, rater, context=context)
        options = _with_measured(study, [each.option for each in found], study.posterior(rater) if measured else None)
        head = ["probability", *names, *more, *(f"{name} estimated" for name in measured)]
        rows = [
            [f"{each.probability:.4f}", *_cells(option, head[1:])] for each, option in zip(found, options, strict=True)
        ]
        return _csv(head, rows)
    if table in ("agreement", "consensus"):
        people = people_of(study, context)
        if table == "agreement":
            return _csv(
                ["person", *people.names],
                [
                    [name, *(f"{share:.4f}" for share in row)]
                    for name, row in zip(people.names, people.likeness.matrix, strict=True)
                ],
            )
        head = ["consensus", "everybody", *(f"for {name}" for name in people.names), *names]
        return _csv(
            head,
            [
                [*(f"{p:.4f}" for p in (o.consensus, o.everybody, *o.by_person)), *_cells(o.option, names)]
                for o in people.options
            ],
        )
    raise StudyError(f"There is no table {as_given(table)}: give one of {', '.join(map(repr, TABLES))}.")


def people_of(study: Study, context: Mapping[str, Any] | None = None) -> PeopleInsight:
    """What suits several people.

    Raises:
        StudyError: Tastes are not modelled as related, or fewer than two people have answered.
    """
    found = study.agreement(context=context)
    if found is not None:
        return found
    if study.raters_mode != "related":
        raise StudyError("Agreement between people is learned only with raters='related': create a study with it.")
    raise StudyError("Agreement between people is known once two of them have answered.")


def _with_measured(study: Study, options: Sequence[Option], posterior: Posterior | None = None) -> list[Option]:
    """Options with what was measured, and with what the model estimates, as further values."""
    values = measured_of(study, options, posterior)
    found = []
    for option in options:
        parts = told(values, option)
        estimated = {f"{name} estimated": float(f"{v:.6g}") for name, v in parts.get("estimated", {}).items()}
        found.append({**option, **parts.get("measured", {}), **estimated})
    return found


def _cells(option: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [option.get(name) for name in names]


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(map(_cell, head))
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return table.getvalue()


def _cell(value: Any) -> Any:
    """A value as a cell; an apostrophe keeps a spreadsheet from computing a text that somebody else may have written.

    >>> [_cell(value) for value in (None, -3.5, "-3.5", "=1+1", "@rye", "rye")]
    ['', -3.5, '-3.5', "'=1+1", "'@rye", 'rye']
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return "" if value is None else value


@contextmanager
def _nothing_imported() -> Iterator[None]:
    """Let errors say that nothing was imported; one that names a file which cannot be read need not."""
    try:
        yield
    except FileError:
        raise
    except DataError as error:
        told = str(error)
        if NOTHING in told:
            raise
        raise DataError(f"{told}\n{NOTHING}" if "\n" in told else f"{told.rstrip('.')}. {NOTHING}") from None


def _is_of_cube(space: Space | Catalogue, source: Any) -> bool:
    """Whether a source of choices is a file of `ChoiceData`, by how it begins."""
    if _is_path(source):
        beginning = files.read_beginning(source)
    elif isinstance(source, str):
        beginning = source
    else:
        return False
    header = {cell.strip() for cell in beginning.partition("\n")[0].split(",")}
    own = {"choice", "option", "kept", "x0"} <= header and "x0" not in space.names
    return beginning.lstrip().startswith("{") or own


def _choice_data(source: str | Path, progress: Progress | None) -> ChoiceData:
    if _is_path(source):
        if files.read_beginning(source).lstrip().startswith("{"):
            return ChoiceData.from_json(files.read_text(source))
        is_csv = Path(source).suffix.lower() == ".csv"
        return ChoiceData.load(source, progress=progress) if is_csv else ChoiceData.from_csv(files.read_text(source))
    text = text_of(source)
    return ChoiceData.from_json(text) if text.lstrip().startswith("{") else ChoiceData.from_csv(text)


def _is_path(source: Any) -> bool:
    return isinstance(source, Path) or (isinstance(source, str) and "\n" not in source and not source.startswith("{"))
