"""Templates of a study: ``{name}`` stands for a value of the option that is shown.

- ``{minutes}`` becomes the value, ``{weight:.2f}`` the value with two decimals: after the colon stands one of Python's number
  formats e, f and g.
- ``{{minutes}}`` becomes ``{minutes}``.
- Braces around anything else stay, so that style sheets such as ``.leaf{fill:green}`` need no doubling.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from choicebo.errors import SpaceError
from choicebo.space import Catalogue, Categorical, Integer, Option, Ordinal, Real, Space
from choicebo.space.values import Value, suggestion
from choicebo.study.definition import StudyDefinition

_FIELD = re.compile(r"\{(\{[^{}]*\})\}|\{([^{}]+)\}")
_FORMATTED = re.compile(r"([^:]+):(\+?\d{0,2},?(?:\.\d{1,2})?[efg])")
_IN_STYLE_SHEETS = re.compile(r"[:;\n]|^\s*$")
"""What no placeholder has: braces around it belong to a style sheet."""

_NUMBER = re.compile(r"[+-]?\d{1,60}(?:,\d{3}){0,60}(?:\.\d{1,60})?(?:e[+-]?\d{1,3})?", re.ASCII)


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


def could_be(template: str, path: str, space: Space | Catalogue) -> bool:
    """Whether a path is that of an option's image: whether the template gives it for some values of the space.

    >>> from choicebo.space import Integer
    >>> space = Space([Integer("minutes", 5, 40)])
    >>> could_be("photos/{minutes}.jpg", "photos/12.jpg", space), could_be("photos/{minutes}.jpg", "photos/99.jpg", space)
    (True, False)
    """
    if isinstance(space, Catalogue):
        return any(fill_path(template, row) == path for row in space.rows)
    known: dict[str, tuple[Value, ...]] = {held.name: (held.value,) for held in space.fixed}
    known |= {each.name: each.values for each in space.parameters if isinstance(each, (Ordinal, Categorical))}
    ranges = {each.name: each for each in space.parameters if isinstance(each, (Real, Integer))}
    parts: list[_Part] = []
    end = 0
    for found in _FIELD.finditer(template):
        name, number_format = ("", "") if found[1] else _split(found[2], (*known, *ranges))
        parts.append(_Part(template[end : found.start()]))
        end = found.end()
        if name in ranges:
            parts.append(_Part(None, name, number_format))
        elif name in known:
            parts.append(_Part(tuple(_text(value, number_format) for value in known[name]), name, number_format))
        else:
            parts.append(_Part(found[1] or found[0]))
    texts = _texts((*parts, _Part(template[end:])), path, 0, 0, set())
    if texts is None:
        return False
    option: Option = {}
    for (_, name, number_format), text in zip(parts, texts, strict=False):
        if name in ranges:
            each, number = ranges[name], float(text.replace(",", ""))
            # The text may be rounded, so that it lies just outside of the range.
            nearest = min(max(number, each.low), each.high)
            option[name] = round(nearest) if isinstance(each, Integer) else nearest
        elif name:
            option[name] = next(value for value in known[name] if _text(value, number_format) == text)
    return fill_path(template, option) == path


class _Part(NamedTuple):
    """A part of a template."""

    accepted: str | tuple[str, ...] | None
    """What can stand there; None: any number."""
    name: str = ""
    number_format: str = ""

    def candidates(self, path: str, start: int) -> Iterator[str]:
        """What stands in the path from ``start`` on if it is this part; the longest number first."""
        if self.accepted is not None:
            texts = (self.accepted,) if isinstance(self.accepted, str) else self.accepted
            yield from (text for text in texts if path.startswith(text, start))
            return
        longest = _NUMBER.match(path, start)
        for end in range(longest.end() if longest else start, start, -1):
            if _NUMBER.fullmatch(path, start, end):
                yield path[start:end]


def _texts(
    parts: Sequence[_Part], path: str, at: int, start: int, failed: set[tuple[int, int]]
) -> tuple[str, ...] | None:
    """The path from ``start`` on as the texts of the parts from ``at`` on; None if it cannot be.

    No place is tried twice: numbers without anything between them could be divided in very many ways.
    """
    if at == len(parts):
        return () if start == len(path) else None
    if (at, start) in failed:
        return None
    for text in parts[at].candidates(path, start):
        rest = _texts(parts, path, at + 1, start + len(text), failed)
        if rest is not None:
            return (text, *rest)
    failed.add((at, start))
    return None


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
