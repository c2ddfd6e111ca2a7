"""Known objectives: what can be computed or measured of an option, and whether less or more of it is better."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given, value_text
from choicebo.space.expression import identifier, names, parse, refuse_split_names
from choicebo.space.points import point_keys
from choicebo.space.searchable import Floats, Option
from choicebo.space.truth import Symbol, check_number, number
from choicebo.space.values import as_text, closest, suggestion

Columns = Mapping[str, NDArray[Any]]
"""A column of values for each name of an option: numbers as floats, everything else as objects."""

_MINIMISE, _MAXIMISE = ("minimise", "minimize"), ("maximise", "maximize")
_EXAMPLE = "minimise price = 2*flour + 0.3*minutes"
MEASURED = "measured"
"""In the place of a formula: the values are measured and entered one by one."""
_FORM = re.compile(r"(?P<goal>\S+)\s+(?P<name>[^=<>!]+?)\s*(?:=(?!=)\s*(?P<formula>.+))?")


@dataclass(frozen=True, repr=False)
class Objective:
    """A known objective: a parameter, a column or a formula of them that should be small, or large.

    A formula is written as in a constraint; a comparison in it is 1 if it holds and 0 if not. What comes from a scale
    or an invoice instead is ``"minimise cost = measured"``; a name that options do not have means the same.

    Examples:
        >>> price = Objective("minimise price = 2*flour + 3*(oven == 'gas')")
        >>> price.name, price.minimise
        ('price', True)
        >>> price.values({"flour": np.array([1.0, 2.0]), "oven": np.array(["gas", "wood"], dtype=object)}).tolist()
        [5.0, 4.0]
    """

    text: str
    measured: bool = False
    """Whether it is measured, so that values may be missing; the space that it belongs to decides."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise SpaceError(f"An objective is {as_given(self.text)}: give a text such as {_EXAMPLE!r}.")
        object.__setattr__(self, "text", " ".join(self.text.split()))
        self._tree  # noqa: B018 - an objective that cannot be read must fail here

    def __repr__(self) -> str:
        return f"Objective({self.text!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "measured": self.measured}

    @cached_property
    def _parts(self) -> re.Match[str]:
        found = _FORM.fullmatch(self.text)
        if found is None:
            raise SpaceError(f"Objective {as_given(self.text)}: it cannot be read. Write one as: {_EXAMPLE}")
        goal = found["goal"].lower()
        if goal not in (*_MINIMISE, *_MAXIMISE):
            raise SpaceError(
                f"Objective {as_given(self.text)}: it begins with {as_given(found['goal'])}. Begin with minimise where less is "
                f"better, or with maximise: {_EXAMPLE}"
            )
        return found

    @property
    def name(self) -> str:
        """What it is called."""
        return as_text(self._parts["name"], "The name of an objective")

    @property
    def minimise(self) -> bool:
        """Whether less of it is better."""
        return self._parts["goal"].lower() in _MINIMISE

    @property
    def formula(self) -> str:
        """How it is computed; empty where it is measured, or a parameter or a column by itself."""
        return "" if self.measured else self._parts["formula"] or ""

    @property
    def says_measured(self) -> bool:
        """Whether the place of its formula says that it is measured; options may have a value of that name, though."""
        return (self._parts["formula"] or "").lower() == MEASURED

    @cached_property
    def _tree(self) -> ast.expr:
        formula = self.formula or identifier(self.name)
        with _of_objective():
            return parse(formula, example="2*flour + 0.3*minutes")

    def check(self, symbols: Mapping[str, Symbol], known: Sequence[str]) -> None:
        """Raise an error that points at the spot where it does not fit the names of the options.

        Args:
            symbols: What each name stands for, as a formula writes it.
            known: The names as they are.

        Examples:
            >>> Objective("minimise price = 2*flower").check({"flour": Symbol("number")}, ["flour"])
            Traceback (most recent call last):
            choicebo.errors.SpaceError: Objective '2*flower': unknown name 'flower'.
                2*flower
                  ^^^^^^
            Did you mean 'flour'?
        """
        if self.measured and identifier(self.name) not in symbols:
            return
        if not self.formula and identifier(self.name) not in symbols:
            if re.search(r"[-+*/()]", self.name):
                raise SpaceError(f"Objective {as_given(self.text)}: give the formula a name, as in {_EXAMPLE}")
            raise SpaceError(
                f"Objective {as_given(self.text)}: unknown name {as_given(self.name)}. {suggestion(self.name, known)} "
                f"To compute it, write a formula: {_EXAMPLE}. To measure it, write: {self.text} = {MEASURED}"
            )
        if self.formula and identifier(self.name) in symbols:
            raise SpaceError(
                f"Objective {as_given(self.text)}: {as_given(self.name)} is already a name of the options: give "
                "the formula another name."
            )
        with _of_objective():
            if self.formula:
                missing = [word for word in names(self._tree) if word not in symbols]
                if missing:
                    refuse_split_names(self.formula, symbols)
            check_number(self.formula or identifier(self.name), self._tree, symbols)

    def resolved(self, symbols: Mapping[str, Symbol], known: Sequence[str], lacking: Sequence[str] = ()) -> Objective:
        """The same as an objective of options with these names, which decide whether it is measured.

        A name that options do not have is measured, unless it looks like a slip of the pen.

        Args:
            symbols: What each name stands for, as a formula writes it.
            known: The names as they are.
            lacking: Those of them that have no value for some option.

        Examples:
            >>> Objective("minimise cost").resolved({"flour": Symbol("number")}, ["flour"]).measured
            True
            >>> Objective("minimise flower").resolved({"flour": Symbol("number")}, ["flour"]).measured
            False
        """
        formula = self._parts["formula"] or ""
        says_so = self.says_measured and MEASURED not in symbols
        if self.name in lacking:
            measured = says_so or not formula
        elif identifier(self.name) in symbols:
            measured = False
        else:
            plain = not formula and re.search(r"[-+*/()]", self.name) is None
            measured = says_so or (plain and closest(self.name, known) is None)
        return replace(self, measured=measured)

    def of(self, option: Option) -> float:
        """Its value for one option; NaN where it is not known.

        Examples:
            >>> Objective("minimise price = 2*flour").of({"flour": 1.5})
            3.0
        """
        return float(self.values({name: _column(value) for name, value in option.items()})[0])

    def values(self, columns: Columns) -> Floats:
        """Its value for each option (n,), in its own units; NaN where it is undefined."""
        arrays = {identifier(name): column for name, column in columns.items()}
        length = len(next(iter(arrays.values())))
        if self.measured and identifier(self.name) not in arrays:
            return np.full(length, np.nan)
        return np.asarray(np.broadcast_to(number(self._tree, arrays), (length,)), dtype=np.float64)

    @property
    def goal(self) -> str:
        """Which way is better, for people.

        Examples:
            >>> Objective("minimise price = 2*flour").goal
            'less is better'
        """
        return "less is better" if self.minimise else "more is better"

    @property
    def title(self) -> str:
        """How pictures and tables call it.

        Examples:
            >>> Objective("minimise price = 2*flour").title
            'price (known)'
        """
        return f"{self.name} ({MEASURED if self.measured else 'known'})"


@contextmanager
def _of_objective() -> Iterator[None]:
    """Make errors of the parser, which also reads constraints, speak of an objective."""
    try:
        yield
    except SpaceError as error:
        raise SpaceError(str(error).replace("Constraint ", "Objective ", 1)) from None


@dataclass(frozen=True, eq=False)
class KnownObjectives:
    """The known objectives of a space as a function of points: what ``ChoiceGP(known=...)`` takes."""

    objectives: tuple[Objective, ...]
    columns: Callable[[Floats], Columns]
    """The columns of the options at points (n, dim)."""
    feasible: Callable[[Floats], NDArray[np.bool_]]
    option: Callable[[Floats], list[Option]]
    low: Floats
    """(k,): the least value of each that was found, in its own units; NaN where none was."""
    high: Floats
    """(k,): the greatest."""
    measured_points: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """(m, dim): the options that were measured."""
    measured_values: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """(m, k): what was measured, in its own units; NaN where nothing was."""

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(objective.name for objective in self.objectives)

    @property
    def measured(self) -> tuple[bool, ...]:
        """Which of them are measured, so that values may be missing."""
        return tuple(objective.measured for objective in self.objectives)

    def __len__(self) -> int:
        return len(self.objectives)

    def __call__(self, points: Floats) -> Floats:
        """Values (n, k) at ``points: (n, dim)``, the larger the better; NaN where one was not measured."""
        points = np.clip(points, 0.0, 1.0)
        values, measured = self.values(points) * self.signs, np.array(self.measured)
        lacking = np.flatnonzero(~(np.isfinite(values) | measured).all(1))
        if len(lacking):
            wrong = lacking[self.feasible(points[lacking])]
            if len(wrong):
                refuse_undefined(self.objectives, values[wrong[0]], self.option(points[wrong[:1]])[0])
            # Where no option may be, what is undefined counts as the worst there is.
            worst = np.where(self.signs < 0.0, -self.high, self.low)
            values = np.where(np.isfinite(values) | measured, values, worst)
        return values

    @property
    def signs(self) -> Floats:
        """(k,): -1 where less is better."""
        return np.array([-1.0 if objective.minimise else 1.0 for objective in self.objectives])

    def values(self, points: Floats) -> Floats:
        """Values (n, k) at ``points: (n, dim)`` in their own units; NaN where one was not measured."""
        columns = self.columns(points)
        values = np.stack([objective.values(columns) for objective in self.objectives], axis=1)
        if any(self.measured) and len(self.measured_points):
            for row, key in enumerate(point_keys(points)):
                if key in self._rows:
                    found = self.measured_values[self._rows[key]]
                    values[row] = np.where(np.isnan(found), values[row], found)
        return values

    @cached_property
    def _rows(self) -> dict[bytes, int]:
        """The row of each point that was measured."""
        return {key: row for row, key in enumerate(point_keys(self.measured_points))}

    def with_measurements(self, points: Floats, values: Floats) -> KnownObjectives:
        """The same with what was measured at ``points: (m, dim)``: ``values: (m, k)`` in their own units, NaN where nothing was.

        What was measured before at the same point holds where there is nothing newer.
        """
        merged = {key: self.measured_values[row] for key, row in self._rows.items()}
        places = dict(zip(self._rows, self.measured_points, strict=True))
        for key, point, found in zip(point_keys(points), points, values, strict=True):
            before = merged.get(key, np.full(len(self), np.nan))
            merged[key], places[key] = np.where(np.isnan(found), before, found), point
        if not merged:
            return self
        return replace(
            self, measured_points=np.array(list(places.values())), measured_values=np.array(list(merged.values()))
        )


def _column(value: object) -> NDArray[Any]:
    """One value as formulas see it."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return np.array([np.nan if value is None else value], dtype=np.float64 if number or value is None else object)


def known_of(space: object) -> KnownObjectives | None:
    """The known objectives of a space; None if it has none, or is of a kind that cannot have any."""
    found: KnownObjectives | None = getattr(space, "known", None)
    return found


def as_objectives(
    given: Iterable[str | Objective],
    symbols: Mapping[str, Symbol],
    known: Sequence[str],
    lacking: Sequence[str] = (),
) -> tuple[Objective, ...]:
    """The objectives of a space, checked against the names of its options, some of which may be ``lacking`` values."""
    found = tuple(each.resolved(symbols, known, lacking) for each in named(given))
    seen: set[str] = set()
    for objective in found:
        objective.check(symbols, known)
        if objective.name in seen:
            raise SpaceError(f"Two objectives are called {as_given(objective.name)}: give them different names.")
        seen.add(objective.name)
    return found


def named(given: Iterable[str | Objective]) -> list[Objective]:
    """Objectives as they were given, not yet looked at."""
    if isinstance(given, (str, Objective)):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise SpaceError(f"The objectives are {as_given(given)}: give a list of texts such as {_EXAMPLE!r}.")
    return [each if isinstance(each, Objective) else Objective(each) for each in given]


def check_values(objectives: Sequence[Objective], values: Floats, option: Callable[[int], Option]) -> None:
    """Refuse ``values: (n, k)`` of some options of which one that is computed is not finite, or all are the same."""
    measured = np.array([objective.measured for objective in objectives])
    lacking = np.flatnonzero(~(np.isfinite(values) | measured).all(1))
    if len(lacking):
        refuse_undefined(objectives, values[lacking[0]], option(int(lacking[0])))
    for objective, column in zip(objectives, values.T, strict=True):
        if objective.measured:
            continue
        if len(column) > 1 and (column == column[0]).all():
            raise SpaceError(
                f"Objective {as_given(objective.text)}: it is {value_text(float(column[0]))} for every option, so "
                "it does not tell options apart. Leave it out."
            )


def spans(values: Floats) -> tuple[Floats, Floats]:
    """The least and the greatest of each column of ``values: (n, k)``; NaN where there is none."""
    there = ~np.isnan(values)
    low = np.where(there, values, np.inf).min(0)
    high = np.where(there, values, -np.inf).max(0)
    return np.where(there.any(0), low, np.nan), np.where(there.any(0), high, np.nan)


def refuse_undefined(objectives: Sequence[Objective], values: Floats, option: Option) -> None:
    """Raise an error that names the option for which one of the objectives has no value."""
    computed = [(o, value) for o, value in zip(objectives, values, strict=True) if not o.measured]
    undefined = next(o for o, value in computed if not np.isfinite(value))
    shown = ", ".join(f"{name} = {value_text(value)}" for name, value in option.items())
    raise SpaceError(
        f"Objective {as_given(undefined.text)}: it has no finite value for the option {shown}. Change the formula, fill the "
        "value in, or exclude such options by a constraint."
    )
