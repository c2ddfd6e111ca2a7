"""The sorts and the truth of a constraint's tree, for whole columns of options at once.

Truth has three values, as in Kleene's logic: 1 true, 0 false, 1/2 undefined (log of a negative number,
division by zero). ``not`` is 1 - t, ``and`` the minimum, ``or`` the maximum; only 1 counts as feasible. So an
undefined part makes an option infeasible unless the rest settles the matter: in "a <= 0 or log(a) < 2" the
first half does for a = -1.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from choicebo.formatting import as_given
from choicebo.space.expression import at
from choicebo.space.values import Value, suggestion

Sort = Literal["number", "label", "truth"]

UNDEFINED = 0.5
# Numbers this close are equal: 0.1 + 0.2 <= 0.3 must hold, as it does on paper.
_RELATIVE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Symbol:
    """What a name in a constraint stands for: a number, or a label out of ``values``."""

    sort: Sort
    values: tuple[Value, ...] = ()


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "sin": np.sin,
    "sqrt": np.sqrt,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}


def check_sorts(text: str, tree: ast.expr, symbols: Mapping[str, Symbol]) -> None:
    """Refuse unknown names, arithmetic on labels, and labels that their parameter does not have."""
    if _Sorts(text, symbols).of(tree) != "truth":
        raise at(text, tree, "it is not a comparison.", "Write one such as: a + b <= 3")


def check_number(text: str, tree: ast.expr, symbols: Mapping[str, Symbol]) -> None:
    """The same for a formula, in which a comparison counts 1 where it holds and 0 elsewhere."""
    if _Sorts(text, symbols, counting=True).of(tree) == "label":
        raise at(text, tree, "it is not a number.", "Compare a label, as in: 3*(flour == 'rye')")


class _Sorts:
    def __init__(self, text: str, symbols: Mapping[str, Symbol], counting: bool = False) -> None:
        self.text = text
        self.symbols = symbols
        self.counting = counting

    def of(self, node: ast.expr) -> Sort:
        match node:
            case ast.Constant(value=value):
                return "label" if isinstance(value, (str, bool)) else "number"
            case ast.Name(id=name):
                if name not in self.symbols:
                    raise at(self.text, node, f"unknown name {as_given(name)}.", suggestion(name, self.symbols))
                return self.symbols[name].sort
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._all([operand], "truth")
            case ast.UnaryOp(operand=operand):
                return self._all([operand], "number")
            case ast.BinOp(left=left, right=right):
                return self._all([left, right], "number")
            case ast.Call(args=args):
                return self._all(args, "number")
            case ast.BoolOp(values=values):
                return self._all(values, "truth")
            case ast.Compare():
                self._compare(node)
        return "truth"

    def _all(self, nodes: list[ast.expr], wanted: Literal["number", "truth"]) -> Sort:
        problem, advice = {
            "number": ("a number is needed here.", "A label can only be compared, as in: flour == 'rye'"),
            "truth": ("a comparison is needed here.", "Write one such as: a >= 1, or flour == 'rye'"),
        }[wanted]
        for node in nodes:
            found = self.of(node)
            if found != wanted and not (self.counting and wanted == "number" and found == "truth"):
                raise at(self.text, node, problem, advice)
        return wanted

    def _compare(self, node: ast.Compare) -> None:
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(right, (ast.Tuple, ast.List)):
                for element in right.elts:
                    self._pair(left, ast.Eq(), element)
            else:
                self._pair(left, op, right)
            left = right

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        sorts = self.of(left), self.of(right)
        if "truth" in sorts:
            raise at(self.text, left, "a comparison cannot be compared again.", "Join comparisons with and, or.")
        if sorts[0] != sorts[1]:
            raise at(self.text, right, f"a {sorts[0]} is compared with a {sorts[1]}.", "Compare like with like.")
        if sorts[0] == "label":
            if not isinstance(op, (ast.Eq, ast.NotEq)):
                raise at(self.text, right, "labels have no order here.", "Use ==, != or in ['...', '...'].")
            self._label(left, right)
            self._label(right, left)

    def _label(self, name: ast.expr, constant: ast.expr) -> None:
        """A misspelt label would silently never be met."""
        if isinstance(name, ast.Name) and isinstance(constant, ast.Constant):
            values = self.symbols[name.id].values
            if values and constant.value not in values:
                known = suggestion(str(constant.value), map(str, values))
                raise at(self.text, constant, f"{name.id} is never {as_given(constant.value)}.", known)


def truth(tree: ast.expr, columns: Mapping[str, NDArray[Any]]) -> Any:
    """The truth of a checked tree for columns of equal length: 1, 0 or 1/2 (undefined) for each option."""
    with np.errstate(all="ignore"):
        return _value(tree, columns)


def number(tree: ast.expr, columns: Mapping[str, NDArray[Any]]) -> Any:
    """The value of a checked formula for columns of equal length; NaN where it is undefined."""
    with np.errstate(all="ignore"):
        return _value(tree, columns)


def _value(node: ast.expr, columns: Mapping[str, NDArray[Any]]) -> Any:
    match node:
        case ast.Constant(value=value):
            return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
        case ast.Name(id=name):
            return columns[name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return 1.0 - _value(operand, columns)
        case ast.UnaryOp(op=op, operand=operand):
            value = _value(operand, columns)
            return np.negative(value) if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _finite(_ARITHMETIC[type(op)](_value(left, columns), _value(right, columns)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _call(name, [_value(argument, columns) for argument in args])
        case ast.BoolOp(op=op, values=values):
            join = np.minimum if isinstance(op, ast.And) else np.maximum
            return reduce(join, [_value(value, columns) for value in values])
        case ast.Compare():
            return _compare(node, columns)
    raise AssertionError(f"a checked tree holds no {type(node).__name__}")


def _finite(value: Any) -> Any:
    """Infinity as NaN, so that min(1/0, 3) stays undefined."""
    return np.where(np.isfinite(value), value, np.nan)


def _call(name: str, values: list[Any]) -> Any:
    if name in ("min", "max"):
        return reduce(np.minimum if name == "min" else np.maximum, values)
    return _finite(_FUNCTIONS[name](*values))


def _compare(node: ast.Compare, columns: Mapping[str, NDArray[Any]]) -> Any:
    left = _value(node.left, columns)
    result: Any = 1.0
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        if isinstance(comparator, (ast.Tuple, ast.List)):
            equal = [_pair(left, ast.Eq(), _value(element, columns)) for element in comparator.elts]
            member = reduce(np.maximum, equal)
            result = np.minimum(result, member if isinstance(op, ast.In) else 1.0 - member)
        else:
            right = _value(comparator, columns)
            result = np.minimum(result, _pair(left, op, right))
            left = right
    return result


def _pair(left: Any, op: ast.cmpop, right: Any) -> Any:
    if np.asarray(left).dtype.kind != "f" or np.asarray(right).dtype.kind != "f":
        same = np.asarray(left == right, dtype=np.float64)
        return same if isinstance(op, ast.Eq) else 1.0 - same
    close = np.abs(left - right) <= _RELATIVE_TOLERANCE * np.maximum(np.abs(left), np.abs(right))
    match op:
        case ast.Lt():
            holds = (left < right) & ~close
        case ast.LtE():
            holds = (left < right) | close
        case ast.Gt():
            holds = (left > right) & ~close
        case ast.GtE():
            holds = (left > right) | close
        case ast.Eq():
            holds = close
        case _:
            holds = ~close
    return np.where(np.isnan(left) | np.isnan(right), UNDEFINED, holds)
