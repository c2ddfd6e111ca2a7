"""The form that describes a study: read, checked, and shown back with what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.datastructures import FormData

from choicebo.errors import ChoiceboError, SpaceError
from choicebo.presentation.templates import check_show
from choicebo.space import Angle, Categorical, Integer, Ordinal, Parameter, Real, Space
from choicebo.space.context import as_context, first_context
from choicebo.space.values import as_whole, read_number, read_values
from choicebo.study.definition import QUESTION, Show, StudyDefinition
from choicebo.web.form_problems import FieldError, Problems, placed

KINDS = (
    ("real", "a number"),
    ("integer", "a whole number"),
    ("angle", "an angle or a hue"),
    ("ordinal", "steps in an order"),
    ("categorical", "one of several"),
)
ACQUISITIONS = (
    ("default", "default"),
    ("ehvi", "expected improvement"),
    ("thompson", "Thompson sampling"),
    ("scalarised_thompson", "Thompson sampling, scalarised"),
    ("variation", "variations of the best so far"),
    ("ucb", "upper confidence bound, as in the paper"),
    ("information", "information gained"),
    ("random", "at random, without a model"),
    ("sobol", "spread evenly, without a model"),
)
ENGINES = (
    ("hmc", "Hamiltonian Monte Carlo (default)"),
    ("ess", "elliptical slice sampling, as in the paper"),
    ("vi", "variational, the quickest"),
    ("laplace", "Laplace approximation"),
)
WAYS = (
    ("subset", "keep all that no other one beats"),
    ("best", "choose the best one"),
    ("best-worst", "choose the best and the worst"),
    ("ranking", "put them in order"),
    ("pair", "choose between two"),
)
LIKELIHOODS = (
    ("choice", "kept unless another one is better in everything"),
    ("pseudo_rational", "kept if it is the best in something"),
    ("batch_preference", "one winner, one objective"),
    ("noticeable_difference", "one objective, small differences go unnoticed"),
)
LONGEST_TEMPLATE = 64_000
COLUMNS = ("kind", "name", "low", "high", "unit", "step", "scale", "values", "today", "context")
_BEGUN = ("name", "low", "high", "values")
_MOST_PARAMETERS = 40
SETTINGS = (
    "answer",
    "query_size",
    "new_per_query",
    "latent_dim",
    "likelihood",
    "threshold",
    "acquisition",
    "engine",
    "raters",
    "seed",
)
_TEXTS = ("answer", "likelihood", "acquisition", "engine", "raters")
_MENTIONED = {
    **{name: name for name in SETTINGS if name != "answer"},
    "name of the study": "name",
    "The question": "question",
    "answer is": "answer",
}
"""The field that an error of the library is about, by the words in it."""


@dataclass(frozen=True)
class StudyForm:
    """What stands in the form, as it was typed."""

    name: str = ""
    question: str = QUESTION
    rows: tuple[dict[str, str], ...] = ()
    constraints: str = ""
    objectives: str = ""
    template: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls) -> StudyForm:
        """Two empty parameters to fill in."""
        return cls(rows=(_empty_row(), _empty_row()))

    @classmethod
    def read(cls, form: FormData) -> StudyForm:
        """The form that was sent; a button may have asked for another parameter, or for one less."""
        lists = {column: [str(value) for value in form.getlist(f"p-{column}")] for column in COLUMNS}
        # A box that is not ticked is not sent, so that each says which parameter it is of.
        given = lists.pop("context")
        lists["context"] = ["yes" if str(at) in given else "" for at in range(len(lists["kind"]))]
        count = min(max(map(len, lists.values())), _MOST_PARAMETERS)
        rows = [
            {column: lists[column][at].strip() if at < len(lists[column]) else "" for column in COLUMNS}
            for at in range(count)
        ]
        act = str(form.get("act", ""))
        if act == "add" and len(rows) < _MOST_PARAMETERS:
            rows.append(_empty_row())
        removed = re.fullmatch(r"remove-(\d{1,3})", act)
        if removed and int(removed[1]) < len(rows):
            del rows[int(removed[1])]
        texts = ("name", "question", "constraints", "objectives", "template")
        typed = {name: str(form.get(name, "")).strip() for name in texts}
        return cls(rows=tuple(rows), settings=typed_settings(form), **typed)

    @property
    def is_untouched(self) -> bool:
        """Whether no parameter has been begun."""
        return not any(row[column] for row in self.rows for column in _BEGUN)

    def space(self) -> Space:
        """The space that is described."""
        parameters, problems = self._parameters()
        if problems:
            raise problems[0]
        return self._space(parameters)

    def definition(self) -> StudyDefinition:
        """The study that is described.

        Raises:
            ChoiceboError: The first of its problems.
        """
        if problems := self.problems().found:
            raise problems[0]
        return self._definition(self.space())

    def problems(self) -> Problems:
        """What is wrong with each field."""
        named = [] if self.name else [FieldError("name", "Give the study a name.", empty=True)]
        parameters, found = self._parameters()
        if found:
            return Problems((*named, *found))
        try:
            # Nameless so far: the rest of it may be wrong all the same.
            replace(self, name=self.name or "unnamed")._definition(self._space(parameters))
        except ChoiceboError as error:
            return Problems((*named, placed(error, _MENTIONED)))
        return Problems(tuple(named))

    def _parameters(self) -> tuple[list[Parameter], list[FieldError]]:
        """The parameters that were begun, and what is wrong with others."""
        if self.is_untouched:
            return [], [FieldError("p-name-0", "Say what can vary, by name and range.", empty=True)]
        parameters: list[Parameter] = []
        found: list[FieldError] = []
        for at, row in enumerate(self.rows):
            if not any(row[column] for column in _BEGUN):
                continue
            try:
                if row["name"] in [parameter.name for parameter in parameters]:
                    raise FieldError(f"p-name-{at}", f"There are two parameters {row['name']!r}: rename one of them.")
                parameters.append(as_context(_parameter(row, at)) if row["context"] else _parameter(row, at))
            except FieldError as error:
                found.append(error)
        return parameters, found

    def _space(self, parameters: list[Parameter]) -> Space:
        rules = lines(self.constraints)
        try:
            space = Space(parameters, rules)
        except SpaceError as error:
            told = str(error).replace("Constraint", "Rule").replace("constraint", "rule")
            raise FieldError("constraints" if rules else "p-name-0", told) from None
        try:
            return Space(parameters, rules, objectives=lines(self.objectives)) if self.objectives else space
        except SpaceError as error:
            raise FieldError("objectives", str(error).replace("a constraint", "a rule")) from None

    def _definition(self, space: Space) -> StudyDefinition:
        if len(self.template) > LONGEST_TEMPLATE:
            told = (
                f"The drawing has {len(self.template)} characters: shorten it, at most {LONGEST_TEMPLATE} are accepted."
            )
            raise FieldError("template", told)
        show = Show("svg", template=self.template) if self.template else None
        what = defined(self.name, space, self.question, self.settings, show=show, baseline=self._baseline(space))
        try:
            return check_show(what)
        except SpaceError as error:
            raise FieldError("template", str(error)) from None

    def _baseline(self, space: Space) -> dict[str, Any] | None:
        """What people have today."""
        known = {row["name"]: (at, row["today"]) for at, row in enumerate(self.rows) if row["today"]}
        if not known:
            return None
        found = {}
        for at, row in enumerate(self.rows):
            parameter = next((each for each in space.parameters if each.name == row["name"]), None)
            if parameter is None or parameter.context:
                continue
            if not row["today"]:
                raise FieldError(
                    f"p-today-{at}", "Fill in what you have today for every parameter, or for none.", empty=True
                )
            try:
                found[parameter.name] = parameter.parse(row["today"])
            except SpaceError as error:
                raise FieldError(f"p-today-{at}", str(error)) from None
        broken = space.violated({**first_context(space), **found})
        if broken:
            first = next(iter(known.values()))[0]
            raise FieldError(
                f"p-today-{first}", f"What you have today breaks the rule {broken[0]!r}: change one of them."
            )
        return found


def lines(typed: str) -> list[str]:
    """The lines of a field of several, without the empty ones."""
    return [line.strip() for line in typed.splitlines() if line.strip()]


def typed_settings(form: FormData) -> dict[str, str]:
    """The settings in a form, as they were typed."""
    return {name: str(form.get(name, "")).strip() for name in SETTINGS}


def defined(name: str, space: Any, question: str, settings: Mapping[str, str], **fields: Any) -> StudyDefinition:
    """The study that a form describes; what was left empty takes its default."""
    if not name:
        raise FieldError("name", "Give the study a name.", empty=True)
    given: dict[str, Any] = {}
    for key, typed in settings.items():
        try:
            if typed:
                given[key] = _setting(key, typed)
        except SpaceError as error:
            raise FieldError(key, str(error)) from None
    try:
        return StudyDefinition.from_arguments(name=name, space=space, question=question or None, **given, **fields)
    except ChoiceboError as error:
        raise placed(error, _MENTIONED) from None


def _setting(key: str, typed: str) -> str | int | float:
    """One setting as the library takes it."""
    if key in _TEXTS or typed == "auto":
        return typed
    number = read_number(typed, key)
    return number if key == "threshold" else as_whole(number, key)


def _empty_row() -> dict[str, str]:
    return {**dict.fromkeys(COLUMNS, ""), "kind": "real", "scale": "linear"}


def _parameter(row: Mapping[str, str], at: int) -> Parameter:
    name, kind = row["name"], row["kind"]
    if not name:
        raise FieldError(f"p-name-{at}", "Give this parameter a name.", empty=True)
    if kind not in dict(KINDS):
        raise FieldError(f"p-kind-{at}", f"{kind!r} is not a kind of parameter: choose one from the list.")
    if kind in ("ordinal", "categorical"):
        return _listed(row, at)
    if kind == "angle":
        row = {**row, "low": row["low"] or "0", "high": row["high"] or "360", "unit": row["unit"] or "°"}
    low, high = _number(row, "low", f"From of {name!r}", at), _number(row, "high", f"To of {name!r}", at)
    if low > high:
        raise FieldError(f"p-high-{at}", f"To of {name!r} is below From ({row['high']} < {row['low']}): swap them.")
    if low == high:
        raise FieldError(
            f"p-high-{at}",
            f"From and To of {name!r} are the same: give a range, or remove this parameter if it does not vary.",
        )
    if row["scale"] == "log" and low <= 0:
        raise FieldError(f"p-low-{at}", "A logarithmic scale begins above 0: raise From, or choose an even scale.")
    return _numeric(row, low, high, at)


def _numeric(row: Mapping[str, str], low: float, high: float, at: int) -> Parameter:
    """A number from ``low`` to ``high``; a step that was left empty is chosen, 0 offers any value."""
    name, unit, log = row["name"], row["unit"], row["scale"] == "log"
    step = _number(row, "step", f"Step of {name!r}", at) if row["step"] and row["kind"] != "integer" else None
    try:
        if row["kind"] == "integer":
            return Integer(name, low, high, log=log, unit=unit)  # type: ignore[arg-type]
        if row["kind"] == "angle":
            parameter: Real = Angle(name, low, high, unit=unit, step=step)
        else:
            parameter = Real(name, low, high, log=log, unit=unit, step=step)
    except SpaceError as error:
        raise FieldError(f"p-{'step' if 'step' in str(error) else 'low'}-{at}", str(error)) from None
    return parameter.stepped() if step is None and not row["context"] else parameter


def _listed(row: Mapping[str, str], at: int) -> Parameter:
    """A parameter whose values are listed."""
    values = read_values(row["values"])
    if len(values) < 2:
        given = f"has only the value {values[0]!r}" if values else "has no values yet"
        told = f"{row['name']!r} {given}: give two or more, separated by commas, or remove it if it does not vary."
        raise FieldError(f"p-values-{at}", told, empty=not values)
    try:
        return (Ordinal if row["kind"] == "ordinal" else Categorical)(row["name"], values)
    except SpaceError as error:
        raise FieldError(f"p-values-{at}", str(error)) from None


def _number(row: Mapping[str, str], column: str, called: str, at: int) -> int | float:
    try:
        found = read_number(row[column], called)
    except SpaceError as error:
        raise FieldError(f"p-{column}-{at}", str(error), empty=not row[column]) from None
    if not math.isfinite(found):
        raise FieldError(f"p-{column}-{at}", f"{called} is {row[column]!r}: give a finite number.")
    if row["kind"] == "integer" and found != int(found):
        raise FieldError(f"p-{column}-{at}", f"{called} is {row[column]}: give a whole number, or choose 'a number'.")
    return found
