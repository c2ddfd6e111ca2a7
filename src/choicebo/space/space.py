"""Space: everything that can be offered, as combinations of parameter values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given, value_text
from choicebo.notebook_html import table
from choicebo.space import sampling
from choicebo.space.constraints import Constraint, nothing_feasible, symbols_of
from choicebo.space.context import Given, checked_context, contexts_of
from choicebo.space.objectives import KnownObjectives, Objective, as_objectives, check_values, spans
from choicebo.space.parameters import Fixed, Parameter, size, split
from choicebo.space.points import as_cube
from choicebo.space.searchable import Bools, Column, Floats, Option
from choicebo.space.serialisation import VERSION, check_record, parameters_from_list
from choicebo.space.values import (
    MOST_CELLS,
    MOST_LISTED,
    Value,
    as_count,
    as_generator,
    as_value,
    check_width,
    suggestion,
)

# Up to this many options a space is looked at as a list.
_SHORT = 2**14
# How many random options are tried, step by step, before a space counts as empty.
_PROBES = (2**8, 2**12, 2**16)
# At so many options of a large space it is looked whether known objectives have a value.
_TRIED = 2**10


@dataclass(frozen=True, init=False, repr=False)
class Space:
    """Combinations of parameter values that satisfy all constraints, with an exact map to the unit cube.

    Parameters of all kinds mix freely. A ``Fixed`` parameter, or one named in ``fixed={...}``, takes no cube
    column and appears in every option.

    Args:
        parameters: What varies: `Real`, `Integer`, `Angle`, `Ordinal`, `Categorical`, and `Fixed`; `Context` for what nobody
            chooses.
        constraints: Rules that every option satisfies, as texts such as ``"temperature + 2*minutes <= 280"``.
        fixed: Values to hold, by name.
        objectives: What is known to matter, as texts such as ``"minimise price = 2*flour + 0.3*minutes"``, or
            ``"minimise cost = measured"`` where values are entered as they become known.

    Raises:
        SpaceError: A name is used twice, a constraint cannot be read, or no option satisfies all of them.

    Examples:
        >>> from choicebo.space import Categorical, Integer, Real
        >>> oven = [Real("temperature", 150, 220), Integer("minutes", 5, 40)]
        >>> flour = Categorical("flour", ["rye", "wheat"])
        >>> space = Space([*oven, flour], constraints=["temperature + 2*minutes <= 280"])
        >>> space
        Space(temperature, minutes, flour; 1 constraint)
        >>> space.decode(space.encode([{"temperature": 180.5, "minutes": 20, "flour": "rye"}]))
        [{'temperature': 180.5, 'minutes': 20, 'flour': 'rye'}]
    """

    parameters: tuple[Parameter, ...]
    """The parameters that vary, in the order of their cube columns."""
    constraints: tuple[Constraint, ...]
    fixed: tuple[Fixed, ...]
    objectives: tuple[Objective, ...]
    """What is known to matter and need not be learned, such as "minimise price = 2*flour + 0.3*minutes"."""

    def __init__(
        self,
        parameters: Iterable[Parameter | Fixed],
        constraints: Iterable[str | Constraint] = (),
        fixed: Mapping[str, Value] | None = None,
        objectives: Iterable[str | Objective] = (),
    ) -> None:
        free, held = split(parameters, {} if fixed is None else fixed)
        if isinstance(constraints, (str, Constraint)):
            constraints = [constraints]
        if not isinstance(constraints, Iterable):
            raise SpaceError(f"The constraints are {as_given(constraints)}: give a list of texts such as 'a + b <= 3'.")
        known: list[Parameter | Fixed] = [*free, *held]
        rules = tuple(rule if isinstance(rule, Constraint) else Constraint.of(rule, known) for rule in constraints)
        for rule in rules:
            rule.check(known)
        object.__setattr__(self, "parameters", free)
        object.__setattr__(self, "constraints", rules)
        object.__setattr__(self, "fixed", held)
        check_width(len(self.columns), "space")
        names = [parameter.name for parameter in known]
        object.__setattr__(self, "objectives", as_objectives(objectives, symbols_of(known), names))
        if rules:
            self._check_not_empty()
        self.known  # noqa: B018 - objectives that have no value for some option must fail here

    def __repr__(self) -> str:
        count = len(self.constraints)
        rules = f"; {count} constraint{'s' if count > 1 else ''}" if count else ""
        goals = f"; {', '.join(o.title for o in self.objectives)}" if self.objectives else ""
        return f"Space({', '.join(self.names)}{rules}{goals})"

    def _repr_html_(self) -> str:
        free = [[each.name, each.kind, _range(each), getattr(each, "unit", "")] for each in self.parameters]
        held = [[each.name, "fixed", each.value, ""] for each in self.fixed]
        rules = [f"Constraint: {rule.text}" for rule in self.constraints]
        rules += [f"Known objective: {objective.text}" for objective in self.objectives]
        rows = [*free, *held]
        return table("Space", ["name", "kind", "values", "unit"], rows, total=len(rows), below=rules)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The keys of every option: the parameters in order, then the fixed ones."""
        return tuple(p.name for p in self.parameters) + tuple(held.name for held in self.fixed)

    @property
    def contexts(self) -> tuple[Parameter, ...]:
        """The parameters that the situation gives and nobody chooses."""
        return contexts_of(self)

    def within(self, context: Mapping[str, object]) -> Space:
        """Return the options of one context, as a space with the same cube columns.

        Args:
            context: A value for each context, by name.

        Returns:
            A space in which each context has this value only.

        Raises:
            InvalidInputError: A context is missing or unknown.
            SpaceError: A value is not accepted, or no option satisfies all constraints with it.

        Examples:
            >>> space = cb.Space([cb.Integer("ice", 0, 3), cb.Context("season", ["summer", "winter"])])
            >>> space.size, space.within({"season": "winter"}).size
            (8, 4)
        """
        given = checked_context(self, context)
        if not given:
            return self
        parameters = [Given(p.name, p, given[p.name]) if p.context else p for p in self.parameters]
        try:
            return Space([*parameters, *self.fixed], self.constraints, objectives=self.objectives)
        except SpaceError as error:
            said = " and ".join(f"{name} {value_text(value)}" for name, value in given.items())
            raise SpaceError(f"In the context {said}: {error}") from None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """What each cube column stands for."""
        return tuple(column for parameter in self.parameters for column in parameter.columns)

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """The cube columns of each parameter by name.

        Examples:
            >>> from choicebo.space import Categorical, Real
            >>> Space([Real("x", 0, 1), Categorical("c", ["a", "b", "d"])]).blocks
            {'x': slice(0, 1, None), 'c': slice(1, 4, None)}
        """
        ends = np.cumsum([parameter.width for parameter in self.parameters]).tolist()
        return {
            parameter.name: slice(end - parameter.width, end)
            for parameter, end in zip(self.parameters, ends, strict=True)
        }

    @cached_property
    def known(self) -> KnownObjectives | None:
        """The known objectives as a function of cube points; None if there are none.

        Examples:
            >>> from choicebo.space import Real
            >>> space = Space([Real("flour", 0, 10)], objectives=["minimise price = 2*flour"])
            >>> space.known.values(space.encode([{"flour": 3.0}])).tolist()
            [[6.0]]
        """
        if not self.objectives:
            return None
        points = self._everything if self._is_short else self.sobol(_TRIED, seed=0)
        columns = self._columns_at(points)
        values = np.stack([objective.values(columns) for objective in self.objectives], axis=1)
        check_values(self.objectives, values, lambda row: self.decode(points[row : row + 1])[0])
        return KnownObjectives(self.objectives, self._columns_at, self.feasible, self.decode, *spans(values))

    def _columns_at(self, points: Floats) -> dict[str, NDArray[Any]]:
        return self._columns(self._values(points))

    @property
    def dim(self) -> int:
        """The number of cube columns."""
        return len(self.columns)

    @property
    def size(self) -> int | float:
        """The number of different options that are offered, before constraints: an int, or ``math.inf``."""
        return size(self.parameters)

    def validate(self, option: Mapping[str, object]) -> Option:
        """Return the option with plain Python values, in the order of ``names``; constraints are not checked.

        Args:
            option: A dict with a value for every parameter that is not fixed.

        Returns:
            The option, with the fixed values.

        Raises:
            SpaceError: A value is missing, unknown or not accepted.

        Examples:
            >>> from choicebo.space import Integer
            >>> Space([Integer("minutes", 5, 40)], fixed={"oven": "gas"}).validate({"minutes": 12.0})
            {'minutes': 12, 'oven': 'gas'}
        """
        return self.decode(self.encode([option]))[0]

    def contains(self, option: Mapping[str, object]) -> bool:
        """Say whether an option is valid and satisfies all constraints.

        Args:
            option: A dict of values by name.

        Returns:
            True or False; nothing is raised.

        Examples:
            >>> space = cb.Space([cb.Integer("minutes", 5, 40)])
            >>> space.contains({"minutes": 12}), space.contains({"minutes": 60})
            (True, False)
        """
        try:
            return not self.violated(option)
        except SpaceError:
            return False

    def violated(self, option: Mapping[str, object]) -> tuple[str, ...]:
        """List the constraints that a valid option breaks.

        Args:
            option: A dict of values by name.

        Returns:
            Their texts; empty if it breaks none.

        Raises:
            SpaceError: The option itself is not valid.

        Examples:
            >>> from choicebo.space import Real
            >>> Space([Real("a", 0, 1), Real("b", 0, 1)], ["a + b <= 1", "a <= b"]).violated({"a": 0.8, "b": 0.1})
            ('a <= b',)
        """
        columns = self._columns(self._values(self.encode([option])))
        return tuple(rule.text for rule in self.constraints if not rule.mask(columns)[0])

    def encode(self, options: Sequence[Mapping[str, object]]) -> Floats:
        """Map options to points of the unit cube; ``decode`` gives the same options back.

        Args:
            options: A list of dicts.

        Returns:
            Cube points, (n, dim).

        Raises:
            SpaceError: An option is not valid, or no list was given.

        Examples:
            >>> cb.Space([cb.Integer("minutes", 5, 45)]).encode([{"minutes": 25}]).tolist()
            [[0.5]]
        """
        if isinstance(options, (Mapping, str)) or not isinstance(options, Iterable):
            raise SpaceError("encode() takes a list of options: give one option as [option].")
        rows = [self._checked(option) for option in options]
        if not rows:
            return np.empty((0, self.dim))
        columns = zip(*rows, strict=True)
        blocks = zip(self.parameters, columns, strict=True)
        return np.concatenate([parameter.encode(column) for parameter, column in blocks], axis=1)

    def decode(self, points: ArrayLike) -> list[Option]:
        """Map points of the unit cube to options.

        Args:
            points: Cube points, (n, dim).

        Returns:
            A list of dicts.

        Raises:
            SpaceError: The points do not have this shape, or lie outside the cube.

        Examples:
            >>> cb.Space([cb.Integer("minutes", 5, 45)], fixed={"oven": "gas"}).decode([[0.5]])
            [{'minutes': 25, 'oven': 'gas'}]
        """
        cube = as_cube(points, self.dim)
        columns = [values.tolist() for values in self._values(cube).values()]
        held = {parameter.name: parameter.value for parameter in self.fixed}
        names = [parameter.name for parameter in self.parameters]
        return [{**dict(zip(names, row, strict=True)), **held} for row in zip(*columns, strict=True)]

    def snap(self, points: ArrayLike) -> Floats:
        """Move points to where the model sees their options, each value on its parameter's step.

        Args:
            points: Cube points, (n, dim).

        Returns:
            Cube points, (n, dim).

        Examples:
            >>> from choicebo.space import Real
            >>> Space([Real("a", 0, 1, step=0.25)]).snap([[0.3]]).tolist()
            [[0.25]]
        """
        cube = as_cube(points, self.dim)
        return np.concatenate([p.snap(cube[:, self.blocks[p.name]]) for p in self.parameters], axis=1)

    def feasible(self, points: ArrayLike | Sequence[Mapping[str, object]]) -> Bools:
        """Say which points or options satisfy all constraints.

        Args:
            points: Cube points, (n, dim), or a list of options.

        Returns:
            True or False for each, (n,).

        Examples:
            >>> from choicebo.space import Real
            >>> Space([Real("a", 0, 1)], ["a <= 0.5"]).feasible([[0.25], [0.75]]).tolist()
            [True, False]
        """
        given = list(points) if isinstance(points, (list, tuple)) else points
        if isinstance(given, list) and given and isinstance(given[0], Mapping):
            points = self.encode(given)
        cube = as_cube(points, self.dim)
        result = np.ones(len(cube), dtype=np.bool_)
        if self.constraints:
            columns = self._columns(self._values(cube))
            for rule in self.constraints:
                result &= rule.mask(columns)
        return result

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """Draw independent feasible points, all values of a parameter alike.

        Args:
            n: How many.
            seed: A whole number, or a NumPy generator.

        Returns:
            Cube points, (n, dim).

        Raises:
            SpaceError: Hardly any combination is feasible.

        Examples:
            >>> cb.Space([cb.Real("a", 0, 1)], ["a <= 0.5"]).sample(3, seed=1).max() <= 0.5
            np.True_
        """
        rng = as_generator(seed)
        n = as_count(n, "n")
        if self._is_short:
            everything = self._everything
            return everything[rng.integers(len(everything), size=n)]
        return sampling.uniform(self._draw, len(self.parameters), n, rng)

    def sobol(self, n: int, seed: int = 0, skip: int = 0) -> Floats:
        """Return part of a scrambled Sobol sequence of distinct feasible points.

        A space of few options is gone through completely before one comes again.

        Args:
            n: How many points.
            seed: The same seed gives the same sequence.
            skip: How many to leave out at the beginning.

        Returns:
            Points ``skip`` to ``skip + n`` of the sequence, (n, dim).

        Examples:
            >>> from choicebo.space import Real
            >>> space = Space([Real("a", 0, 1)])
            >>> bool(np.all(space.sobol(5)[3:] == space.sobol(2, skip=3)))
            True
        """
        skip = as_count(skip, "skip")
        total = as_count(as_count(n, "n") + skip, "n + skip")
        everything = self._everything if self._is_short else None
        return sampling.sobol(self._draw, len(self.parameters), total, seed, everything)[skip:]

    def place(self, quantiles: ArrayLike) -> Floats:
        """Place quantiles in the cube; uniform ones give all values alike.

        Args:
            quantiles: Numbers from 0 to 1, (n, parameters).

        Returns:
            Cube points, feasible or not, (n, dim).

        Examples:
            >>> from choicebo.space import Integer
            >>> Space([Integer("a", 1, 4)]).place([[0.1], [0.9]]).tolist()
            [[0.0], [1.0]]
        """
        blocks = zip(self.parameters, as_cube(quantiles, len(self.parameters)).T, strict=True)
        return np.concatenate([parameter.spread(quantile) for parameter, quantile in blocks], axis=1)

    def enumerate(self, limit: int = 10_000) -> Floats:
        """List all feasible points of a finite space.

        Args:
            limit: The most options that ``size`` may count.

        Returns:
            Cube points, (m, dim).

        Raises:
            SpaceError: There are more.

        Examples:
            >>> from choicebo.space import Integer
            >>> Space([Integer("a", 1, 3), Integer("b", 1, 3)], ["a < b"]).enumerate().tolist()
            [[0.0, 0.5], [0.0, 1.0], [0.5, 1.0]]
        """
        if self.size > as_count(limit, "limit", MOST_LISTED):
            raise SpaceError(f"The space has {self.size} options, above the limit of {limit}: use sample() or sobol().")
        if self._is_short:
            return self._everything.copy()
        if self.size * self.dim > 8 * MOST_CELLS:
            raise SpaceError(f"The space has {self.size} options of {self.dim} columns, too many to list: use sobol().")
        cube = self._combinations()
        return cube[self.feasible(cube)]

    def neighbours(self, point: ArrayLike) -> Floats:
        """List the feasible points that are one discrete step away; continuous columns stay.

        A step moves one Integer, Ordinal or Real with a step to the next value, or one Categorical to another value.

        Args:
            point: A cube point, (dim,).

        Returns:
            Cube points, (m, dim).

        Examples:
            >>> from choicebo.space import Integer, Real
            >>> Space([Real("x", 0, 1), Integer("k", 0, 4)]).neighbours([0.3, 0.5]).tolist()
            [[0.3, 0.25], [0.3, 0.75]]
        """
        start = self.snap([point])  # type: ignore[arg-type]
        found = [start[:0]]
        for parameter in self.parameters:
            block = self.blocks[parameter.name]
            moves = parameter.moves(parameter.decode(start[:, block]).tolist()[0])
            moved = np.repeat(start, len(moves), axis=0)
            if moves:
                moved[:, block] = parameter.encode(moves)
            found.append(moved)
        steps = np.concatenate(found)
        return steps[self.feasible(steps)]

    def to_dict(self) -> dict[str, Any]:
        """Describe the space in JSON-compatible terms.

        Returns:
            A dict that ``from_dict`` reads back.

        Examples:
            >>> cb.Space([cb.Integer("minutes", 5, 40)]).to_dict()["parameters"][0]["name"]
            'minutes'
        """
        return {
            "version": VERSION,
            "kind": "space",
            "parameters": [parameter.to_dict() for parameter in self.parameters],
            "constraints": [rule.text for rule in self.constraints],
            "fixed": {parameter.name: parameter.value for parameter in self.fixed},
        } | ({"objectives": [objective.text for objective in self.objectives]} if self.objectives else {})

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Space:
        """Build the space that ``to_dict`` described.

        Args:
            record: What ``to_dict`` returned.

        Returns:
            An equal space.

        Raises:
            SpaceError: The record is not one of a space.

        Examples:
            >>> from choicebo.space import Real
            >>> space = Space([Real("a", 0, 1)])
            >>> Space.from_dict(space.to_dict()) == space
            True
        """
        check_record(record, "space", ("parameters", "constraints", "fixed"))
        parameters = parameters_from_list(record["parameters"])
        return cls(parameters, record["constraints"], record["fixed"], record.get("objectives", ()))

    @cached_property
    def _is_short(self) -> bool:
        """Whether all options fit into one array."""
        return self.size <= min(_SHORT, MOST_CELLS // self.dim)

    @cached_property
    def _everything(self) -> Floats:
        cube = self._combinations()
        return cube[self.feasible(cube)]

    def _combinations(self) -> Floats:
        grids = [parameter.grid() for parameter in self.parameters]
        places = np.indices([len(grid) for grid in grids]).reshape(len(grids), -1)
        return np.concatenate([grid[place] for grid, place in zip(grids, places, strict=True)], axis=1)

    def _draw(self, quantiles: Floats) -> Floats:
        cube = self.place(quantiles)
        return cube[self.feasible(cube)]

    def _check_not_empty(self) -> None:
        exhaustive = self._is_short
        rng = np.random.default_rng(0)
        count = len(self.parameters)
        # Nearly every space passes with the first few points; only a suspicious one pays for more.
        probes = (self.place(rng.random((min(tries, MOST_CELLS // self.dim), count))) for tries in _PROBES)
        for cube in [self._combinations()] if exhaustive else probes:
            columns = self._columns(self._values(cube))
            satisfied = [rule.mask(columns) for rule in self.constraints]
            if np.all(satisfied, axis=0).any():
                return
        raise nothing_feasible([rule.text for rule in self.constraints], satisfied, exhaustive)

    def _values(self, cube: Floats) -> dict[str, NDArray[Any]]:
        return {p.name: p.decode(cube[:, self.blocks[p.name]]) for p in self.parameters}

    def _columns(self, values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """What constraints calculate with: numbers as floats, everything else as it is."""
        columns = {p.name: values[p.name].astype(float) if p.numeric else values[p.name] for p in self.parameters}
        length = len(next(iter(values.values())))
        for held in self.fixed:
            columns[held.name] = np.full(length, held.value, dtype=float if held.numeric else object)
        return columns

    def _checked(self, option: Mapping[str, object]) -> list[Value]:
        if not isinstance(option, Mapping):
            raise SpaceError(
                f"An option is {as_given(option)}: give a dict with a value for each of {', '.join(self.names)}."
            )
        if option.keys() != self.blocks.keys():
            self._check_keys(option)
        return [parameter.check(option[parameter.name]) for parameter in self.parameters]

    def _check_keys(self, option: Mapping[str, object]) -> None:
        """Refuse unknown and missing names, and other values of the fixed ones, which may be left out."""
        known = set(self.names)
        for name in option:
            if name not in known:
                near = suggestion(name, self.names)
                raise SpaceError(f"An option has the unknown name {as_given(name)}. {near}")
        missing = [repr(p.name) for p in self.parameters if p.name not in option]
        if missing:
            raise SpaceError(f"An option has no value for {', '.join(missing)}: give one for each name.")
        for held in self.fixed:
            given = as_value(option.get(held.name, held.value), repr(held.name))
            if given != held.value or isinstance(given, bool) != isinstance(held.value, bool):
                raise SpaceError(f"{held.name!r} is {as_given(given)}: it is fixed at {held.value!r}.")


def _range(parameter: Parameter) -> str:
    """The values of a parameter, in words."""
    if not hasattr(parameter, "low"):
        return ", ".join(value_text(value) for value in getattr(parameter, "values", ()))
    step = getattr(parameter, "step", None)
    words = f"{value_text(parameter.low)} to {value_text(getattr(parameter, 'high', None))}"
    words += f", in steps of {value_text(step)}" if step is not None else ""
    return f"{words}, on a log scale" if getattr(parameter, "log", False) else words
