"""Every public name says what it does, what it takes, what it returns, what it raises, and shows it in an example."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import choicebo as cb
from choicebo import insight, pareto, plots

_SECTION = re.compile(r"^(Args|Returns|Raises|Examples):\n((?:(?: {4}.*)?\n?)*)", re.MULTILINE)


PICTURES = (
    "dimension_scores driver_bars effect_curves latent_against_input "
    "parallel_options pareto_map reliability surprise_marks"
)
ROOMS = {
    insight: "agreement calibration drivers numbering stop_advice surprises",
    pareto: "dominates hypervolume hypervolume_contributions non_dominated",
    plots: PICTURES,
}


def public_callables() -> Iterator[tuple[str, Any]]:
    """Functions of ``choicebo`` and of rooms in the reference, and methods that public classes have from ours."""
    for room, names in ROOMS.items():
        for name in names.split():
            yield name, getattr(room, name)
    for name in cb.__all__:
        found = getattr(cb, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found):
            for member in dir(found):
                function = original(f"{name}.{member}", None)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{member}", function


def original(name: str, function: Any) -> Any:
    """The function; of a method that overrides another, which may say only what is special about it, the one overridden."""
    owner, _, member = name.partition(".")
    defining = [each for each in getattr(cb, owner).__mro__ if member in vars(each)] if member else []
    found = vars(defining[-1])[member] if defining else function
    return found.__func__ if isinstance(found, classmethod | staticmethod) else found


def sections(text: str) -> dict[str, str]:
    return dict(_SECTION.findall(text))


def described(text: str) -> list[str]:
    """The arguments that a docstring describes."""
    return re.findall(r"^ {4}\*{0,2}(\w+):", sections(text).get("Args", ""), re.MULTILINE)


@functools.cache
def raises(function: Any) -> bool:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


@pytest.mark.parametrize(
    ("name", "function"), list(public_callables()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_public_function_is_documented(name: str, function: Any) -> None:
    text = inspect.getdoc(function) or ""
    found = sections(text)
    signature = inspect.signature(function)
    arguments = [each for each in signature.parameters if each not in ("self", "cls")]
    assert text, "no docstring"
    assert not text.splitlines()[0].startswith(" ")
    assert text.splitlines()[0].endswith("."), "the first line is no sentence"
    assert described(text) == arguments
    if signature.return_annotation not in (None, "None"):
        assert found.get("Returns", "").strip(), "no Returns"
    if raises(function):
        assert found.get("Raises", "").strip(), "no Raises"
    assert ">>> " in found.get("Examples", ""), "no example"


MADE_BY_HAND = "Angle Catalogue Categorical Choice ChoiceData ChoiceOptimizer Fixed Integer Ordinal Real Space"


@pytest.mark.parametrize("name", MADE_BY_HAND.split())
def test_a_class_says_what_it_is_made_of(name: str) -> None:
    assert described(inspect.getdoc(getattr(cb, name)) or "") == list(inspect.signature(getattr(cb, name)).parameters)


@pytest.mark.parametrize("name", [each for each in cb.__all__ if inspect.isclass(getattr(cb, each))])
def test_a_public_class_and_its_properties_are_documented(name: str) -> None:
    found = getattr(cb, name)
    assert found.__doc__
    assert "(" not in found.__doc__.splitlines()[0] or not found.__doc__.startswith(f"{name}("), "made by dataclass"
    if not issubclass(found, Exception):
        assert ">>> " in sections(inspect.getdoc(found) or "").get("Examples", "")
    for member, value in vars(found).items():
        if not member.startswith("_") and isinstance(value, property | functools.cached_property):
            assert value.__doc__, member
