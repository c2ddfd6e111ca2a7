"""The text of a constraint, read safely: a tree of whitelisted parts, and errors that point at the spot.

Nothing is ever executed: Python's own parser gives the tree, and what is not listed here is refused.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import unicodedata
import warnings
from collections.abc import Iterable

from choicebo.errors import SpaceError
from choicebo.formatting import as_given
from choicebo.space.values import suggestion

# A person's constraint is far below these; a hostile text is stopped before it costs anything.
MAX_LENGTH = 1000
MAX_PARTS = 300
MAX_DEPTH = 40
MAX_EXPONENT = 16

FUNCTIONS = ("abs", "cos", "exp", "log", "log10", "max", "min", "sin", "sqrt")
_SEVERAL = ("max", "min")

_OPERATORS = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Mod,
    ast.Pow,
    ast.USub,
    ast.UAdd,
    ast.Not,
    ast.And,
    ast.Or,
)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_HINTS = {
    "≤": "Write <= for 'at most'.",
    "≥": "Write >= for 'at least'.",
    "≠": "Write != for 'differs from'.",
    "&&": "Write 'and'.",
    "||": "Write 'or'.",
}


def identifier(name: str) -> str:
    """How a constraint refers to the parameter ``name``: by itself, or by a spelling that suits a formula.

    >>> identifier("temperature"), identifier("oven temperature (°C)"), identifier("lambda")
    ('temperature', 'oven_temperature_C', 'lambda_')
    """
    # Python's parser normalises names in this way, so "µ" (micro) and "μ" (mu) must meet here too.
    word = unicodedata.normalize("NFKC", name)
    if not word.isidentifier():
        word = "".join(letter if f"a{letter}".isidentifier() else "_" for letter in word)
        word = re.sub("_+", "_", word).strip("_")
        word = word if word.isidentifier() else f"_{word}"
    return f"{word}_" if keyword.iskeyword(word) else word


def pointed(text: str, start: int, end: int, problem: str, advice: str = "") -> SpaceError:
    """An error with a caret line under ``text[start:end]``.

    >>> print(pointed("a + b < 1", 4, 5, "unknown name 'b'.", "Known are: 'a'."))
    Constraint 'a + b < 1': unknown name 'b'.
        a + b < 1
            ^
    Known are: 'a'.
    """
    shown = text if len(text) <= 200 else text[:200] + "..."
    carets = " " * min(start, 200) + "^" * max(1, min(end, 200) - start)
    message = f"Constraint {shown!r}: {problem}\n    {shown}\n    {carets}"
    return SpaceError(f"{message}\n{advice}" if advice else message)


def at(text: str, node: ast.expr, problem: str, advice: str = "") -> SpaceError:
    """An error that points at ``node`` of the tree of ``text``."""
    # The parser counts UTF-8 bytes, a person counts characters.
    raw = text.encode()
    start = len(raw[: node.col_offset].decode(errors="ignore"))
    end = len(raw[: node.end_col_offset].decode(errors="ignore"))
    return pointed(text, start, end, problem, advice)


def parse(text: str, example: str = "a + 2*b <= 3") -> ast.expr:
    """The syntax tree of a constraint or a formula, or an error that points at what is wrong and shows an ``example``.

    >>> ast.unparse(parse("temperature + 2*minutes <= 280"))
    'temperature + 2 * minutes <= 280'
    """
    if len(text) > MAX_LENGTH:
        raise pointed(text, 0, 1, f"it has {len(text)} characters; at most {MAX_LENGTH} are accepted.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(text, error, example) from None
    except (ValueError, MemoryError, RecursionError):
        raise pointed(text, 0, 1, "it cannot be read.", "Simplify it, or split it in two.") from None
    _Whitelist(text).visit(tree, 0)
    if not names(tree):
        raise at(text, tree, "it mentions no parameter.", f"Write it as, for example: {example}")
    return tree


def refuse_split_names(text: str, known: Iterable[str]) -> None:
    """Point at a name of several words that a text has with spaces between them; nothing if there is none."""
    for name in sorted(known, key=len, reverse=True):
        spaced = r"\s+".join(map(re.escape, name.strip("_").split("_")))
        found = re.search(rf"(?<!\w){spaced}(?!\w)", text, re.IGNORECASE) if r"\s+" in spaced else None
        if found:
            start, end = found.span()
            raise pointed(text, start, end, "a name is written as one word.", f"Did you mean {name}?")


def names(tree: ast.expr) -> tuple[str, ...]:
    """The parameters that a tree mentions, each once, in order of first mention.

    >>> names(parse("sqrt(a) + b*a < 2"))
    ('a', 'b')
    """
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]
    return tuple(dict.fromkeys(node.id for node in sorted(found, key=lambda node: node.col_offset)))


def _syntax_error(text: str, error: SyntaxError, example: str) -> SpaceError:
    # An unfinished text has no offset: what is missing is missing at its end.
    column = min(error.offset - 1, len(text)) if error.offset else len(text)
    advice = next((hint for sign, hint in _HINTS.items() if sign in text), "")
    if not advice and re.search(r"(?<![<>=!])=(?!=)", text):
        advice = "Write == for 'equals', <= for 'at most', >= for 'at least'."
    return pointed(text, column, column + 1, f"{error.msg}.", advice or f"Write it as, for example: {example}")


class _Whitelist:
    """Walks a tree once and refuses whatever is not listed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = 0

    def visit(self, node: ast.expr, depth: int) -> None:
        self.parts += 1
        if depth > MAX_DEPTH or self.parts > MAX_PARTS:
            raise at(self.text, node, "it is nested too deeply or too long.", "Simplify it, or split it in two.")
        for child in self._children(node):
            self.visit(child, depth + 1)

    def _children(self, node: ast.expr) -> list[ast.expr]:
        match node:
            case ast.Name():
                return []
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.UnaryOp(op=op, operand=operand) if isinstance(op, _OPERATORS):
                return [operand]
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(left, right)
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
                return [left, right]
            case ast.BinOp(op=ast.BitXor()):
                raise at(self.text, node, "'^' is not accepted.", "Write a**2 for a power.")
            case ast.BoolOp(values=values):
                return values
            case ast.Call():
                return self._call(node)
            case ast.Compare():
                return self._compare(node)
        raise at(
            self.text,
            node,
            f"this part ({type(node).__name__}) is not accepted.",
            "Accepted are numbers, quoted texts, parameter names, + - * / % **, comparisons, and, or, not, "
            f"and the functions {', '.join(FUNCTIONS)}.",
        )

    def _constant(self, node: ast.Constant, value: object) -> list[ast.expr]:
        if not isinstance(value, (bool, int, float, str)):
            raise at(self.text, node, f"{as_given(value)} is not accepted.", "Give a number or a quoted text.")
        if not isinstance(value, str) and not (abs(value) < 1e300 and math.isfinite(value)):
            raise at(self.text, node, "this number is too large.", "Accepted are numbers below 1e300.")
        return []

    def _power(self, base: ast.expr, exponent: ast.expr) -> list[ast.expr]:
        signed = exponent.operand if isinstance(exponent, ast.UnaryOp) else exponent
        value = signed.value if isinstance(signed, ast.Constant) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > MAX_EXPONENT:
            raise at(
                self.text,
                exponent,
                "this exponent is not accepted.",
                f"Give a number from -{MAX_EXPONENT} to {MAX_EXPONENT}.",
            )
        return [base, exponent]

    def _call(self, node: ast.Call) -> list[ast.expr]:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            raise at(self.text, node.func, "this is not a known function.", suggestion(name, FUNCTIONS))
        several = node.func.id in _SEVERAL
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if node.keywords or starred or (len(node.args) < 2 if several else len(node.args) != 1):
            wanted = "two or more numbers" if several else "one number"
            raise at(self.text, node, f"{node.func.id} takes {wanted}.")
        return node.args

    def _compare(self, node: ast.Compare) -> list[ast.expr]:
        children = [node.left]
        for op, right in zip(node.ops, node.comparators, strict=True):
            if not isinstance(op, _COMPARISONS):
                raise at(self.text, node, "'is' is not accepted.", "Write == or !=.")
            if isinstance(op, (ast.In, ast.NotIn)):
                if not isinstance(right, (ast.Tuple, ast.List)) or not right.elts:
                    raise at(self.text, right, "'in' needs a list.", "Write it as: flour in ['rye', 'wheat']")
                children.extend(right.elts)
            else:
                children.append(right)
        return children
