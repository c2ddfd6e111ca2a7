"""A study that is being described in a form: read, checked, and shown back with what is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData

from choicebo.errors import InvalidInput, SpaceError
from choicebo.space import Categorical, Integer, Ordinal, Parameter, Real, Space
from choicebo.space.study_file import QUESTION, Show
from choicebo.study import StudyError

KINDS = (
    ("real", "a number"),
    ("integer", "a whole number"),
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
_COLUMNS = ("kind", "name", "low", "high", "unit", "scale", "values", "today")
_MOST_PARAMETERS = 40
_LONGEST_TEMPLATE = 64_000


@dataclass(frozen=True)
class Draft:
    """What stands in the form, as it was typed."""

    name: str = ""
    question: str = QUESTION
    rows: tuple[dict[str, str], ...] = ()
    constraints: str = ""
    template: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def start(cls) -> Draft:
        """Two empty parameters to fill in."""
        return cls(rows=(_empty_row(), _empty_row()))

    @classmethod
    def read(cls, form: FormData) -> Draft:
        """The draft in a form; a button may have asked for another parameter, or for one less."""
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
        return cls(rows=tuple(rows), settings=read_settings(form), **typed)

    @property
    def is_untouched(self) -> bool:
        """Whether no parameter has been begun."""
        return not any(row[column] for row in self.rows for column in ("name", "low", "high", "values"))

    def space(self) -> Space:
        """The space that is described."""
        rows = [row for row in self.rows if any(row[column] for column in ("name", "low", "high", "values"))]
        if not rows:
            raise SpaceError("There is no parameter yet: say what can vary, by name and range.")
        rules = [line.strip() for line in self.constraints.splitlines() if line.strip()]
        return Space([_parameter(row) for row in rows], rules)

    def definition(self) -> dict[str, Any]:
        """The keyword arguments with which the study is created."""
        if not self.name:
            raise StudyError("The study has no name yet.")
        space = self.space()
        if len(self.template) > _LONGEST_TEMPLATE:
            raise SpaceError(f"The drawing has {len(self.template)} characters: at most {_LONGEST_TEMPLATE} are taken.")
        return {
            "name": self.name,
            "space": space,
            "question": self.question or QUESTION,
            "show": Show("svg", template=self.template) if self.template else None,
            "baseline": self._baseline(space),
            **settings(self.settings),
        }

    def _baseline(self, space: Space) -> dict[str, Any] | None:
        known = {row["name"]: row["today"] for row in self.rows if row["today"]}
        if not known:
            return None
        missing = [parameter.name for parameter in space.parameters if parameter.name not in known]
        if missing:
            raise SpaceError(f"What you have today lacks {missing[0]!r}: fill in every parameter of it, or none.")
        return space.validate({p.name: _typed(p, known[p.name]) for p in space.parameters})


def read_settings(form: FormData) -> dict[str, str]:
    """The settings in a form, as they were typed."""
    names = ("query_size", "new_per_query", "latent_dim", "acquisition", "engine", "raters", "seed")
    return {name: str(form.get(name, "")).strip() for name in names}


def settings(typed: dict[str, str]) -> dict[str, Any]:
    """Keyword arguments of a study; what was left empty takes its default."""
    found: dict[str, Any] = {}
    for name, value in typed.items():
        if not value:
            continue
        is_text = name in ("acquisition", "engine", "raters") or value == "auto"
        found[name] = value if is_text else _number(value, name, int)
    return found


def _empty_row() -> dict[str, str]:
    return {**dict.fromkeys(_COLUMNS, ""), "kind": "real", "scale": "linear"}


def _parameter(row: dict[str, str]) -> Parameter:
    name, kind = row["name"], row["kind"]
    if not name:
        raise SpaceError("A parameter has no name: give each one a name.")
    if kind in ("ordinal", "categorical"):
        listed = [part.strip() for part in row["values"].split(",") if part.strip()]
        values: Any = [_plain(part) for part in listed]
        if any(isinstance(value, str) for value in values):
            values = listed
        return Ordinal(name, values) if kind == "ordinal" else Categorical(name, values)
    if kind not in ("real", "integer"):
        raise SpaceError(f"{name!r} is of the kind {kind!r}: choose one of the list.")
    convert = int if kind == "integer" else float
    ends = [_number(row[end], f"{word} of {name!r}", convert) for end, word in (("low", "From"), ("high", "To"))]
    build = Integer if kind == "integer" else Real
    return build(name, ends[0], ends[1], log=row["scale"] == "log", unit=row["unit"])


def _number(typed: str, what: str, convert: type[int] | type[float]) -> Any:
    try:
        return convert(typed.replace(",", "."))
    except ValueError:
        sort = "whole number" if convert is int else "number"
        given = f"is {typed!r}" if typed else "is empty"
        raise InvalidInput(f"{what} {given}: give a {sort}.") from None


def _plain(typed: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(typed)
        except ValueError:
            continue
    return typed


def _typed(parameter: Parameter, given: str) -> object:
    if isinstance(parameter, (Real, Integer)):
        return _number(given, f"Today's {parameter.name}", int if isinstance(parameter, Integer) else float)
    values = getattr(parameter, "values", ())
    return next((value for value in values if str(value) == given), given)
