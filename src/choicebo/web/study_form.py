"""The form that describes a study: read, checked, and shown back with what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData

from choicebo.errors import SpaceError
from choicebo.space import Angle, Categorical, Integer, Ordinal, Parameter, Real, Space
from choicebo.space.values import as_whole, read_number, read_values
from choicebo.study import StudyError
from choicebo.study.definition import QUESTION, Show, StudyDefinition

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
LONGEST_TEMPLATE = 64_000
_COLUMNS = ("kind", "name", "low", "high", "unit", "step", "scale", "values", "today")
_BEGUN = ("name", "low", "high", "values")
_MOST_PARAMETERS = 40
_SETTINGS = ("query_size", "new_per_query", "latent_dim", "acquisition", "engine", "raters", "seed")
_TEXTS = ("acquisition", "engine", "raters")


@dataclass(frozen=True)
class StudyForm:
    """What stands in the form, as it was typed."""

    name: str = ""
    question: str = QUESTION
    rows: tuple[dict[str, str], ...] = ()
    constraints: str = ""
    template: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls) -> StudyForm:
        """Two empty parameters to fill in."""
        return cls(rows=(_empty_row(), _empty_row()))

    @classmethod
    def read(cls, form: FormData) -> StudyForm:
        """The form that was sent; a button may have asked for another parameter, or for one less."""
        lists = {column: [str(value) for value in form.getlist(f"p-{column}")] for column in _COLUMNS}
        count = min(max(map(len, lists.values())), _MOST_PARAMETERS)
        rows = [
            {column: lists[column][at].strip() if at < len(lists[column]) else "" for column in _COLUMNS}
            for at in range(count)
        ]
        act = str(form.get("act", ""))
        if act == "add" and len(rows) < _MOST_PARAMETERS:
            rows.append(_empty_row())
        removed = re.fullmatch(r"remove-(\d{1,3})", act)
        if removed and int(removed[1]) < len(rows):
            del rows[int(removed[1])]
        typed = {name: str(form.get(name, "")).strip() for name in ("name", "question", "constraints", "template")}
        return cls(rows=tuple(rows), settings=typed_settings(form), **typed)

    @property
    def is_untouched(self) -> bool:
        """Whether no parameter has been begun."""
        return not any(row[column] for row in self.rows for column in _BEGUN)

    def space(self) -> Space:
        """The space that is described."""
        if self.is_untouched:
            raise SpaceError("There is no parameter yet: say what can vary, by name and range.")
        rows = [row for row in self.rows if any(row[column] for column in _BEGUN)]
        rules = [line.strip() for line in self.constraints.splitlines() if line.strip()]
        return Space([_parameter(row) for row in rows], rules)

    def definition(self) -> StudyDefinition:
        """The study that is described."""
        if len(self.template) > LONGEST_TEMPLATE:
            raise SpaceError(f"The drawing has {len(self.template)} characters: at most {LONGEST_TEMPLATE} are taken.")
        show = Show("svg", template=self.template) if self.template else None
        space = self.space()
        return defined(self.name, space, self.question, self.settings, show=show, baseline=self._baseline(space))

    def _baseline(self, space: Space) -> dict[str, Any] | None:
        known = {row["name"]: row["today"] for row in self.rows if row["today"]}
        if not known:
            return None
        missing = [parameter.name for parameter in space.parameters if parameter.name not in known]
        if missing:
            raise SpaceError(f"What you have today lacks {missing[0]!r}: fill in every parameter of it, or none.")
        return {parameter.name: parameter.parse(known[parameter.name]) for parameter in space.parameters}


def typed_settings(form: FormData) -> dict[str, str]:
    """The settings in a form, as they were typed."""
    return {name: str(form.get(name, "")).strip() for name in _SETTINGS}


def defined(name: str, space: Any, question: str, settings: Mapping[str, str], **fields: Any) -> StudyDefinition:
    """The study that a form describes; what was left empty takes its default."""
    if not name:
        raise StudyError("The study has no name yet.")
    given = {
        key: typed if key in _TEXTS or typed == "auto" else as_whole(read_number(typed, key), key)
        for key, typed in settings.items()
        if typed
    }
    return StudyDefinition.from_arguments(name=name, space=space, question=question or None, **given, **fields)


def _empty_row() -> dict[str, str]:
    return {**dict.fromkeys(_COLUMNS, ""), "kind": "real", "scale": "linear"}


def _parameter(row: Mapping[str, str]) -> Parameter:
    name, kind = row["name"], row["kind"]
    if not name:
        raise SpaceError("A parameter has no name: give each one a name.")
    if kind not in dict(KINDS):
        raise SpaceError(f"{name!r} is of the kind {kind!r}: choose one of the list.")
    if kind in ("ordinal", "categorical"):
        values = read_values(row["values"])
        return Ordinal(name, values) if kind == "ordinal" else Categorical(name, values)
    if kind == "angle":
        row = {**row, "low": row["low"] or "0", "high": row["high"] or "360", "unit": row["unit"] or "°"}
    low, high = read_number(row["low"], f"From of {name!r}"), read_number(row["high"], f"To of {name!r}")
    return _numeric(row, low, high)


def _numeric(row: Mapping[str, str], low: float, high: float) -> Parameter:
    """A number from ``low`` to ``high``; a step that was left empty is chosen, 0 offers any value."""
    name, unit, log = row["name"], row["unit"], row["scale"] == "log"
    if row["kind"] == "integer":
        return Integer(name, low, high, log=log, unit=unit)  # type: ignore[arg-type]
    step = read_number(row["step"], f"Step of {name!r}") if row["step"] else None
    if row["kind"] == "angle":
        parameter: Real = Angle(name, low, high, unit=unit, step=step)
    else:
        parameter = Real(name, low, high, log=log, unit=unit, step=step)
    return parameter.stepped() if step is None else parameter
