"""Templates of a study: ``{name}`` stands for a value of the option that is shown.

- ``{minutes}`` becomes the value, ``{weight:.2f}`` the value with two decimals: after the colon stands one of Python's number
  formats e, f and g.
- ``{{minutes}}`` becomes ``{minutes}``.
- Braces around anything else stay, so that style sheets such as ``.leaf{fill:green}`` need no doubling.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection

from choicebo.errors import SpaceError
from choicebo.space import Option
from choicebo.space.values import suggestion
from choicebo.study.definition import StudyDefinition

_FIELD = re.compile(r"\{(\{[^{}]*\})\}|\{([^{}]+)\}")
_FORMATTED = re.compile(r"([^:]+):(\+?\d{0,2},?(?:\.\d{1,2})?[efg])")
_IN_STYLE_SHEETS = re.compile(r"[:;\n]|^\s*$")
"""What no placeholder has: braces around it belong to a style sheet."""


def fill_svg(template: str, option: Option) -> str:
    """The drawing of an option; no value can become markup.

    >>> fill_svg('<text fill="hsl({hue},50%,50%)">{name}, {weight:.1f}</text>', {"hue": 30, "name": "<b>", "weight": 2})
    '<text fill="hsl(30,50%,50%)">&lt;b&gt;, 2.0</text>'
    """
    return _fill(template, option, html.escape)


def fill_path(template: str, option: Option) -> str:
    """The path of an option's image.

    >>> fill_path("photos/{flour}.jpg", {"flour": "rye & wheat"})
    'photos/rye & wheat.jpg'
    """
    return _fill(template, option, str)


def check(template: str, names: Collection[str]) -> None:
    """Refuse a new template that names something unknown. One that was stored before is still filled as far as possible.

    Raises:
        SpaceError: if a placeholder is not one of ``names``.
    """
    for literal, inner in _FIELD.findall(template):
        name, formatted = _split(inner, names)
        if literal or name in names or (_IN_STYLE_SHEETS.search(inner) and not formatted):
            continue
        advice = suggestion(name, tuple(names))
        raise SpaceError(f"The template has {{{inner}}}, but options have no {name!r}. {advice}")


def check_show(definition: StudyDefinition) -> StudyDefinition:
    """The definition of a new study, whose template is checked."""
    check(definition.show.template or "", definition.space.names)
    return definition


def _fill(template: str, option: Option, escape: Callable[[str], str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        name, number_format = _split(found[2], option)
        return escape(_text(option[name], number_format)) if name in option else found[0]

    return _FIELD.sub(value, template)


def _split(inner: str, names: Collection[str]) -> tuple[str, str]:
    """Name and number format of a placeholder; a name may hold a colon itself."""
    name = inner.strip()
    formatted = None if name in names else _FORMATTED.fullmatch(name)
    return (name, "") if formatted is None else (formatted[1].strip(), formatted[2])


def _text(value: object, number_format: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, number_format) if isinstance(value, (int, float)) else str(value)
