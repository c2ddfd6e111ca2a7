"""What an option must satisfy, as a text that a person can read."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.expression import identifier, names, parse, refuse_split_names
from choicebo.space.parameters import Fixed, Parameter
from choicebo.space.searchable import Bools
from choicebo.space.truth import Symbol, check_sorts, truth
from choicebo.space.values import plain


@dataclass(frozen=True, repr=False)
class Constraint:
    """A comparison of parameters, numbers and quoted labels that every offered option satisfies.

    Numbers that agree to 12 digits count as equal. Where a formula is undefined (the log of a negative
    number, a division by zero) the option counts as infeasible. A name that cannot stand in a formula is
    written with underscores: ``oven_temperature`` for "oven temperature".

    Examples:
        >>> Constraint("temperature + 2*minutes <= 280").holds({"temperature": 200, "minutes": 40})
        True
        >>> Constraint("flour != 'rye' or temperature <= 200").holds({"flour": "rye", "temperature": 210})
        False
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise SpaceError(f"A constraint is {as_given(self.text)}: give a text such as 'a + b <= 3'.")
        # One line keeps the caret of an error under its spot.
        text = "".join(" " if letter.isspace() else letter for letter in self.text.strip())
        object.__setattr__(self, "text", text)
        self._tree  # noqa: B018 - a constraint that cannot be read must fail here

    def __repr__(self) -> str:
        return f"Constraint({self.text!r})"

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    @cached_property
    def _tree(self) -> ast.expr:
        return parse(self.text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that the text mentions, as written there."""
        return names(self._tree)

    @classmethod
    def of(cls, text: str, parameters: Sequence[Parameter | Fixed]) -> Constraint:
        """The constraint in a text about these parameters, whose names tell what a text that cannot be read may mean.

        Examples:
            >>> from choicebo.space import Real
            >>> Constraint.of("water temperature >= 90", [Real("water temperature", 80, 100)])
            Traceback (most recent call last):
            choicebo.errors.SpaceError: Constraint 'water temperature >= 90': a name is written as one word.
                water temperature >= 90
                ^^^^^^^^^^^^^^^^^
            Did you mean water_temperature?
        """
        try:
            return cls(text)
        except SpaceError:
            if isinstance(text, str):
                words = [identifier(p.name) for p in parameters if isinstance(p, (Parameter, Fixed))]
                refuse_split_names(text.strip(), words)
            raise

    def check(self, parameters: Sequence[Parameter | Fixed]) -> None:
        """Raise an error that points at the spot where the text does not fit the parameters.

        Examples:
            >>> from choicebo.space import Real
            >>> Constraint("temperatur <= 200").check([Real("temperature", 150, 220)])
            Traceback (most recent call last):
            choicebo.errors.SpaceError: Constraint 'temperatur <= 200': unknown name 'temperatur'.
                temperatur <= 200
                ^^^^^^^^^^
            Did you mean 'temperature'?
        """
        check_sorts(self.text, self._tree, symbols_of(parameters))

    def mask(self, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> NDArray[np.bool_]:
        """Which options satisfy it, for one column of n values per name: (n,).

        Examples:
            >>> Constraint("a*b >= 3").mask({"a": [1, 2, 3], "b": [2, 2, 1]}).tolist()
            [False, True, True]
        """
        if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
            raise SpaceError(
                f"The columns of constraint {as_given(self.text)} are not a dict: give the values by name."
            )
        arrays, symbols = {}, {}
        for name, column in columns.items():
            try:
                array = np.asarray(column)
            except (ValueError, RecursionError):
                array = np.empty(())
            if array.ndim != 1:
                raise SpaceError(f"The column {as_given(name)} is {as_given(column)}: give a list of values.")
            number = array.dtype.kind in "iuf"
            word = identifier(name)
            symbols[word] = Symbol("number" if number else "label")
            arrays[word] = array.astype(np.float64) if number else array.astype(object)
        check_sorts(self.text, self._tree, symbols)
        lengths = {len(arrays[name]) for name in self.names}
        if len(lengths) != 1:
            raise SpaceError(
                f"The columns of constraint {as_given(self.text)} differ in length, {sorted(lengths)}: give as "
                "many for each."
            )
        result: NDArray[np.bool_] = truth(self._tree, arrays) == 1.0
        return result

    def holds(self, option: Mapping[str, object]) -> bool:
        """Whether one option, a dict of values by name, satisfies it."""
        if not isinstance(option, Mapping):
            raise SpaceError(f"An option is {as_given(option)}: give a dict with a value for each name.")
        return bool(self.mask({name: [plain(value)] for name, value in option.items()})[0])


def symbols_of(parameters: Sequence[Parameter | Fixed]) -> dict[str, Symbol]:
    """What the name of each parameter stands for in a formula."""
    symbols = {}
    for parameter in parameters:
        if not isinstance(parameter, (Parameter, Fixed)):
            raise SpaceError(
                f"A parameter is {as_given(parameter)}: give a Real, Integer, Ordinal, Categorical or Fixed."
            )
        values = (parameter.value,) if isinstance(parameter, Fixed) else getattr(parameter, "values", ())
        symbols[identifier(parameter.name)] = Symbol("number") if parameter.numeric else Symbol("label", values)
    return symbols


def nothing_feasible(texts: Sequence[str], satisfied: Sequence[Bools], exhaustive: bool) -> SpaceError:
    """The error for a space in which nothing was feasible, with the constraint or the pair that is to blame.

    ``satisfied`` holds, per constraint, which of the options tried satisfy it.

    Examples:
        >>> satisfied = [np.array([True, False]), np.array([False, True])]
        >>> print(nothing_feasible(["a <= 1", "a >= 2"], satisfied, exhaustive=True))
        No option satisfies all constraints: 'a <= 1' and 'a >= 2' contradict each other. Relax one of them.
    """
    tried = len(satisfied[0])
    opening = "No option satisfies" if exhaustive else f"None of {tried} options tried satisfies"
    never = [text for text, mask in zip(texts, satisfied, strict=True) if not mask.any()]
    if never:
        verb = "is" if len(never) == 1 else "are"
        advice = "Relax it, or widen the ranges." if len(never) == 1 else "Relax them, or widen the ranges."
        if not exhaustive and any("==" in text for text in never):
            advice += " Reals are hardly ever equal: write abs(a + b - 1) <= 0.01, or leave one parameter out."
        return SpaceError(
            f"{opening} all constraints: {' and '.join(map(repr, never))} {verb} never satisfied. {advice}"
        )
    for (one, mask), (other, other_mask) in combinations(zip(texts, satisfied, strict=True), 2):
        if not (mask & other_mask).any():
            return SpaceError(
                f"{opening} all constraints: {one!r} and {other!r} contradict each other. Relax one of them."
            )
    shares = ", ".join(f"{as_given(text)} {np.mean(mask):.2%}" for text, mask in zip(texts, satisfied, strict=True))
    return SpaceError(f"{opening} all constraints together. Alone they are satisfied by: {shares}. Relax one of them.")
