"""``choicebo new`` without files: a study by question and answer, with a preview after each parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from choicebo.choices.marks import QUESTIONS
from choicebo.cli.new import read_catalogue
from choicebo.cli.option_table import OptionTable
from choicebo.errors import ChoiceboError, InvalidInputError
from choicebo.presentation import output
from choicebo.space import Angle, Catalogue, Categorical, Context, Fixed, Integer, Ordinal, Parameter, Real, Space
from choicebo.space.context import first_context, in_first_context
from choicebo.space.expression import identifier
from choicebo.space.values import as_whole, read_number, read_value, read_values
from choicebo.study import Study

T = TypeVar("T")

_KINDS = {
    "1": "a number, such as a temperature",
    "2": "a whole number, such as a count",
    "3": "one of several values in an order, such as small, medium, large",
    "4": "one of several values without an order, such as a colour",
    "5": "always the same value",
    "6": "an angle or a hue: the end meets the start",
    "7": "given by the situation and not chosen, such as the season",
}
_WAYS = {
    "1": ("subset", "keep all that no other one beats"),
    "2": ("best", "choose the best one"),
    "3": ("best-worst", "choose the best and the worst"),
    "4": ("ranking", "put them in order"),
    "5": ("pair", "choose between two"),
}
_YES, _NO = ("y", "yes"), ("n", "no")


class Wizard:
    """Asks for everything a study needs. A wrong answer is explained and asked for again."""

    def __init__(self, console: Console | None = None, objectives: Sequence[str] = ()) -> None:
        """``objectives`` are those that were given before: they are not asked for."""
        self._console = console or output.PlainTextConsole()
        self._given = list(objectives)

    def create(self, address: str | None, name: str | None, settings: dict[str, Any]) -> tuple[str, Study]:
        """Ask, show a preview, and create the study; its address and the study."""
        self._say("A new study. Enter takes the suggestion in [brackets]; Ctrl-C leaves without creating anything.")
        name = name or self._ask("Name of the study", _text, default=Path(address).stem if address else None)
        address = address or self._ask("File to store it in", _free_file, default=f"{name}.db")
        if "answer" not in settings:
            settings["answer"] = self._way()
        settings.setdefault("question", self._ask("Question to ask", _text, default=QUESTIONS[settings["answer"]]))
        space = self._space()
        if settings["answer"] == "pair":
            settings["query_size"] = 2
        if "query_size" not in settings:
            settings["query_size"] = self._ask(
                "Options to show at once", lambda text: _count(text, space.size), default=str(min(5, space.size))
            )
        baseline = self._baseline(space)
        self._preview(space, settings["query_size"], baseline)
        if not self._confirm("Create this study?", default=True):
            raise InvalidInputError("Nothing was created.")
        return address, Study.create(address, name, space, baseline=baseline, folder=Path.cwd(), **settings)

    def _way(self) -> str:
        for key, (_, words) in _WAYS.items():
            self._say(f"  {key}  {words}")
        return _WAYS[self._ask("How is a question answered?", lambda text: _one_of(text, tuple(_WAYS)), default="1")][0]

    def _space(self) -> Space | Catalogue:
        table = self._ask(
            "Is there a table (CSV) of everything you can offer? Its path, or Enter to describe options by parameters",
            lambda text: read_catalogue(Path(text), objectives=self._given) if text else None,
            default="",
        )
        if table is not None:
            self._say(
                f"{table.size} rows; described by {', '.join(dict.fromkeys(c.parameter for c in table.columns))}."
            )
            return table
        parameters = self._parameters()
        while True:
            rules, objectives = self._constraints(parameters)
            try:
                return Space(parameters, rules, objectives=objectives)
            except ChoiceboError as error:
                self._complain(error)

    def _parameters(self) -> list[Parameter | Fixed]:
        self._say("\nWhat can be varied? Give the parameters one by one.")
        found: list[Parameter | Fixed] = []
        while True:
            varying = any(not isinstance(parameter, Fixed) and not parameter.context for parameter in found)
            text = "Name of the next parameter (Enter: that is all)" if varying else "Name of a parameter"
            name = self._ask(text, str.strip if varying else _text, default="" if varying else None)
            if not name:
                return found
            if name in [parameter.name for parameter in found]:
                self._say(f"There is a parameter {name!r} already: give another name.", "yellow")
                continue
            found.append(self._parameter(name))
            self._console.print(_overview(found))

    def _parameter(self, name: str) -> Parameter | Fixed:
        for key, words in _KINDS.items():
            self._say(f"  {key}  {words}")
        kind = self._ask(f"What is {name}?", lambda text: _one_of(text, tuple(_KINDS)), default="1")
        while True:
            try:
                return self._details(name, kind)
            except ChoiceboError as error:
                self._complain(error)

    def _details(self, name: str, kind: str) -> Parameter | Fixed:
        if kind == "5":
            return Fixed(name, self._ask(f"Value of {name}", lambda text: read_value(_text(text))))
        if kind in ("3", "4"):
            values = self._ask(f"Values of {name}, separated by commas", read_values)
            return Ordinal(name, values) if kind == "3" else Categorical(name, values)
        if kind == "6":
            return self._with_step(Angle(name))
        if kind == "7":
            return self._ask(
                f"Values of {name}, separated by commas, or a range such as -10 to 35",
                lambda text: _context(name, text),
            )
        low, high = (
            self._ask(f"{end} value of {name}", lambda text: read_number(text, "That")) for end in ("Least", "Greatest")
        )
        unit = self._ask("Unit (Enter: none)", str.strip, default="")
        # Only where a range spans ratios does a log scale change anything that a person would notice.
        log = (
            low > 0 and high / low >= 20 and self._confirm("Do equal ratios matter equally (log scale)?", default=False)
        )
        if kind == "1":
            return self._with_step(Real(name, low, high, log=log, unit=unit))
        return Integer(name, as_whole(low, name), as_whole(high, name), log=log, unit=unit)

    def _with_step(self, parameter: Real) -> Real:
        suggested = f"{parameter.stepped().step:g}"
        return self._ask(
            "Step between the values that are offered (0: any value)",
            lambda text: replace(parameter, step=read_number(text, "That")),
            default=suggested,
        )

    def _constraints(self, parameters: list[Parameter | Fixed]) -> tuple[list[str], list[str]]:
        """Rules, and what is known to matter: a text that begins with minimise or maximise."""
        rules: list[str] = []
        objectives = list(self._given)
        first = next((p.name for p in parameters if isinstance(p, (Real, Integer))), None)
        example = f", such as {first} <= {getattr(parameters[0], 'high', 10):g}" if first == parameters[0].name else ""
        while True:
            rule = self._ask(
                f"A rule that all options must obey{example}, or a known objective, such as minimise price = "
                f"2*{identifier(parameters[0].name)} (Enter: none)"
                if not rules and objectives == self._given
                else "Another rule or objective (Enter: none)",
                str.strip,
                default="",
            )
            if not rule:
                return rules, objectives
            added = objectives if rule.lower().startswith(("minimi", "maximi")) else rules
            added.append(rule)
            try:
                Space(parameters, rules, objectives=objectives)
            except ChoiceboError as error:
                added.remove(rule)
                self._complain(error)

    def _baseline(self, space: Space | Catalogue) -> dict[str, Any] | None:
        if not self._confirm("Is there an option that people have today, to compare with?", default=False):
            return None
        if isinstance(space, Catalogue):
            return self._ask(f"Its {space.key}", space.parse)
        while True:
            chosen = [parameter for parameter in space.parameters if not parameter.context]
            told = {parameter.name: self._ask(parameter.name, parameter.parse) for parameter in chosen}
            option = {**first_context(space), **told}
            broken = space.violated(option)
            if not broken:
                return space.validate(option)
            self._say(f"That breaks the rule {broken[0]!r}.", "yellow")

    def _preview(self, space: Space | Catalogue, size: int, baseline: dict[str, Any] | None) -> None:
        self._say("\nA question will look like this:")
        options = space.decode(in_first_context(space).sobol(min(size, 5)))
        blocks = output.draws_blocks(self._console)
        self._console.print(OptionTable(space, options, (), baseline, blocks).table((), self._console.width))

    def _ask(self, text: str, read: Callable[[str], T], default: str | None = None) -> T:
        """Ask until the answer can be read."""
        suggestion = f" [{default}]" if default else ""
        while True:
            try:
                given = self._console.input(f"{text}{suggestion}: ", markup=False).strip()
                return read(given or default or "")
            except EOFError:
                raise InvalidInputError("The input ended before the study was complete: nothing was created.") from None
            except ChoiceboError as error:
                self._complain(error)

    def _confirm(self, text: str, default: bool) -> bool:
        answer = self._ask(
            f"{text} (y/n)", lambda given: _one_of(given.lower(), (*_YES, *_NO)), "y" if default else "n"
        )
        return answer in _YES

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(text, style=style, markup=False, highlight=False)

    def _complain(self, error: Exception) -> None:
        self._say(" ".join(str(error).split()), "yellow")


def _overview(parameters: list[Parameter | Fixed]) -> Table:
    table = Table(title="So far", title_justify="left", show_header=False, border_style="dim")
    for parameter in parameters:
        if isinstance(parameter, Fixed):
            words = f"always {parameter.value}"
        elif isinstance(parameter, (Real, Integer)):
            whole = "whole numbers, " if isinstance(parameter, Integer) else ""
            step = getattr(parameter, "step", None)
            notes = [f"in steps of {step:g}"] if step else []
            notes += ["log"] * parameter.log + ["circular"] * parameter.circular
            words = f"{whole}{parameter.low:g} to {parameter.high:g} {parameter.unit}".rstrip()
            words += f" ({', '.join(notes)})" if notes else ""
        else:
            words = (" < " if isinstance(parameter, Ordinal) else ", ").join(map(str, parameter.values))  # type: ignore[attr-defined]
        words += ", given by the situation" if not isinstance(parameter, Fixed) and parameter.context else ""
        table.add_row(Text(parameter.name), Text(words))
    return table


def _text(given: str) -> str:
    if not given:
        raise InvalidInputError("Give a text that is not empty.")
    return given


def _one_of(given: str, accepted: tuple[str, ...]) -> str:
    if given not in accepted:
        raise InvalidInputError(f"{given!r} is not one of the answers: give {', '.join(accepted)}.")
    return given


def _count(given: str, most: float) -> int:
    number, most = as_whole(read_number(given, "That"), "That"), min(12, most)
    if not 2 <= number <= most:
        raise InvalidInputError(f"{given} options cannot be shown at once: give 2 to {int(most)}.")
    return number


def _free_file(given: str) -> str:
    if "://" not in _text(given) and Path(given).is_dir():
        raise InvalidInputError(f"{given} is a folder: give the name of a file in it.")
    return given


def _context(name: str, text: str) -> Parameter:
    """The context that a person wrote: a list of values, or a range."""
    low, between, high = text.partition(" to ")
    if between and "," not in text:
        return Context(name, read_number(low, "The least value"), read_number(high, "The greatest value"))
    return Context(name, read_values(text))
