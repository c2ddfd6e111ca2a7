"""The charts of a result as SVG: the map of hidden objectives, the options side by side, the effect of a parameter.

Page and report show the same ones. Colours come from ``charts.css``; every best option can be read without seeing it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from itertools import combinations
from typing import TYPE_CHECKING, Any

from choicebo.formatting import Estimate, number_text, percent, value_text
from choicebo.history.events import option_key
from choicebo.presentation.fields import NOTHING, Field, Measured, describe, title_of, told_fields
from choicebo.space import Catalogue, Objective, Option, Space
from choicebo.study import Point

if TYPE_CHECKING:
    from choicebo.insight import Driver

STYLE = (resources.files("choicebo.presentation") / "charts.css").read_text(encoding="utf-8")

Picture = Callable[[Option], str | None]
_MOST_AXES = 12
_MOST_OTHERS = 60
"""At most so many of the other options are drawn as lines; more would be a grey area."""
_MOST_DOTS = 300
"""At most so many of them are dots on the map; more are drawn as a density."""
_CELL = 8.0
_MOST_NUMBERED = 60
"""At most so many of the best have a number on the map: there is no room for more."""
_MOST_PAIRS = 3
_MOST_THUMBNAILS = 12
_MOST_CATEGORIES = 8
_BRUSH_STEPS = 20
_LONGEST_NAME = 15


@dataclass(frozen=True)
class Chart:
    """A drawing, and what it shows in words."""

    svg: str
    note: str = ""
    crowd: str = ""
    """Which options are drawn as a density, in a sentence; empty if none are."""


# ---- the map of hidden objectives

_WIDE, _HIGH, _EDGE = 560.0, 380.0, 44.0
_THUMB, _SMALL, _BADGE = 58.0, 30.0, 20.0


@dataclass(frozen=True)
class _Box:
    """A place on the map, from its middle."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: _Box) -> bool:
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )


def maps(
    space: Space | Catalogue,
    points: Sequence[Point],
    titles: Sequence[str],
    picture: Picture | None = None,
    ratio: float = 0.75,
    measured: Measured = NOTHING,
) -> list[Chart]:
    """All options in the plane of each two objectives, up to three planes; further right and up is better.

    Args:
        space: Where they are from, and what is known of them.
        points: The options, the best first.
        titles: What each hidden objective is called.
        picture: The address of an option's picture; options without one are dots.
        ratio: Height of a picture, by its width.
        measured: What is known of measured objectives; one without a value for every option has no axis.
    """
    if not points:  # nothing that is known may be offered in a context
        return []
    hidden = [
        _Way(title, [(p.mean[d], p.lower[d], p.upper[d]) for p in points], [f"{p.mean[d]:.1f}" for p in points])
        for d, title in enumerate(titles)
    ]
    known = [_known_way(objective, points, measured) for objective in space.objectives]
    ways = [*hidden, *(way for way in known if way is not None)]
    if not ways:
        return []
    if len(ways) == 1:
        order = sorted(range(len(points)), key=lambda row: ways[0].values[row][0])
        rank = {row: float(at) for at, row in enumerate(order)}
        across = [(rank[row], rank[row], rank[row]) for row in range(len(points))]
        places = [f"{rank[row] + 1:.0f}" for row in range(len(points))]
        return [_map(space, points, _Way("options, from worst to best", across, places), ways[0], picture, ratio)]
    # What is known is most telling beside what was hidden.
    pairs = sorted(combinations(range(len(ways)), 2), key=lambda pair: pair[0] >= len(hidden))
    return [_map(space, points, ways[a], ways[b], picture, ratio) for a, b in pairs[:_MOST_PAIRS]]


@dataclass(frozen=True)
class _Way:
    """A direction of the map: what gets better along it."""

    name: str
    values: Sequence[tuple[float, float, float]]
    """Of each option: where it lies, and the ends of its band."""
    texts: Sequence[str]
    """The same as it is said."""


def _known_way(objective: Objective, points: Sequence[Point], measured: Measured = NOTHING) -> _Way | None:
    """The direction of a known objective; None where not every option has a value or an estimate."""
    sign = -1.0 if objective.minimise else 1.0
    name = f"{objective.title}, {objective.goal}"
    if not objective.measured:
        values = [objective.of(point.option) for point in points]
        return _Way(name, [(sign * value,) * 3 for value in values], [f"{value:.4g}" for value in values])
    found = [measured.get(option_key(point.option), {}).get(objective.name) for point in points]
    values = [value for value in found if value is not None]
    if len(values) < len(points):
        return None
    bands = [(v, v.lower, v.upper) if isinstance(v, Estimate) else (v, v, v) for v in values]
    placed = [(sign * v, min(sign * a, sign * b), max(sign * a, sign * b)) for v, a, b in bands]
    return _Way(name, placed, [number_text(value) for value in values])


def _map(
    space: Space | Catalogue,
    points: Sequence[Point],
    right: _Way,
    up: _Way,
    picture: Picture | None,
    ratio: float,
) -> Chart:
    across, upwards, names = right.values, up.values, (right.name, up.name)
    x_of, y_of = _ruler(across, _EDGE, _WIDE - _EDGE + 12), _ruler(upwards, _HIGH - _EDGE - 10, _EDGE - 12)
    places = [(x_of(x[0]), y_of(y[0])) for x, y in zip(across, upwards, strict=True)]
    best = [row for row, point in enumerate(points) if point.optimal][:_MOST_NUMBERED]
    numbered = set(best)
    others = [row for row in range(len(points)) if row not in numbered]
    crowd = others if len(others) > _MOST_DOTS else []
    others = [] if crowd else others
    addresses = {row: picture(points[row].option) if picture else None for row in (*best, *others)}
    boxes = _laid_out(places, best, others, addresses, ratio)
    named = _names(space, points, {row: boxes[row] for row in best if boxes[row].width == _BADGE})
    parts = [_frame(names), _density([places[row] for row in crowd])]
    for row in reversed(others):
        parts.append(
            _dot(*places[row], 4, "dot") if row not in boxes else _thumbnail(boxes[row], addresses[row], "other")
        )
    for number, row in reversed(list(enumerate(best, start=1))):
        (x, y), point = places[row], points[row]
        bands = (
            (x_of(across[row][1]), y, x_of(across[row][2]), y),
            (x, y_of(upwards[row][1]), x, y_of(upwards[row][2])),
        )
        drawn = "".join(_line("optimal-band", *band) for band in bands if band[:2] != band[2:])
        told = f"{right.name}: {right.texts[row]}, {up.name}: {up.texts[row]}"
        label = f"{_label(space, point, number)}; {told}"
        drawn += _marker(boxes[row], (x, y), number, addresses[row], named.get(row, ""))
        parts.append(_item(label, drawn))
    title = f"{names[1]} against {names[0]}"
    told = f"The {len(crowd):,} other options are drawn as a density: the darker the shade, the more of them."
    return Chart(_svg(_WIDE, _HIGH, title, "map", parts), title, told if crowd else "")


def _density(places: Sequence[tuple[float, float]]) -> str:
    """Cells that are the more opaque the more options they hold; by the root, so that a single one is still seen."""
    cells = Counter((int(x // _CELL), int(y // _CELL)) for x, y in places)
    most = max(cells.values(), default=1)
    return "".join(
        f'<rect class="dot" x="{i * _CELL:g}" y="{j * _CELL:g}" width="{_CELL:g}" height="{_CELL:g}" '
        f'opacity="{0.25 + 0.75 * (count / most) ** 0.5:.2f}"/>'
        for (i, j), count in sorted(cells.items())
    )


def _laid_out(
    places: Sequence[tuple[float, float]],
    best: Sequence[int],
    others: Sequence[int],
    addresses: dict[int, str | None],
    ratio: float,
) -> dict[int, _Box]:
    """Where thumbnails and numbers go: of the best near their place, of the others only where nothing is in the way."""
    taken: dict[int, _Box] = {}
    for at, row in enumerate(best):
        pictured = addresses[row] is not None and at < _MOST_THUMBNAILS
        size = (_THUMB, _THUMB * ratio) if pictured else (_BADGE, _BADGE)
        taken[row] = _free_place(_Box(*places[row], *size), list(taken.values()))
    for row in others:
        box = _Box(*places[row], _SMALL, _SMALL * ratio)
        if addresses[row] is not None and not any(box.overlaps(each) for each in taken.values()):
            taken[row] = box
    return taken


def _free_place(wanted: _Box, taken: Sequence[_Box]) -> _Box:
    """The nearest place on the map at which a thumbnail covers no other; the wanted one if there is none."""
    low_x, high_x = _EDGE + wanted.width / 2 - 8, _WIDE - wanted.width / 2
    low_y, high_y = wanted.height / 2, _HIGH - _EDGE - wanted.height / 2
    steps = [(i, j) for i in range(-6, 7) for j in range(-6, 7)]
    for i, j in sorted(steps, key=lambda step: step[0] ** 2 + step[1] ** 2):
        x = min(max(wanted.x + i * wanted.width / 3, low_x), high_x)
        y = min(max(wanted.y + j * wanted.height / 3, low_y), high_y)
        box = _Box(x, y, wanted.width + 4, wanted.height + 4)
        if not any(box.overlaps(each) for each in taken):
            return _Box(x, y, wanted.width, wanted.height)
    return wanted


def _names(space: Space | Catalogue, points: Sequence[Point], badges: dict[int, _Box]) -> dict[int, str]:
    """The names of the best options that have no picture, but of those that would cover another one only the number."""
    taken: list[_Box] = []
    found = {}
    for row, badge in badges.items():
        name = title_of(space, points[row].option)[:18]
        width = 7.0 * len(name)
        x = badge.x + (-13 - width / 2 if badge.x > 0.72 * _WIDE else 13 + width / 2)
        box = _Box(x, badge.y, width, 14)
        if not any(box.overlaps(each) for each in [*taken, *(other for at, other in badges.items() if at != row)]):
            found[row] = name
            taken.append(box)
    return found


def _frame(names: tuple[str, str]) -> str:
    left, bottom = _EDGE - 14, _HIGH - _EDGE + 6
    return (
        _line("axis", left, bottom, _WIDE - 6, bottom)
        + _line("axis", left, bottom, left, 8)
        + f'<text class="axis-name" x="{_WIDE - 6:g}" y="{bottom + 22:g}" text-anchor="end">{escape(names[0])} →</text>'
        + f'<text class="axis-name" x="16" y="8" text-anchor="end" transform="rotate(-90 16 8)">{escape(names[1])} →</text>'
    )


def _marker(box: _Box, place: tuple[float, float], number: int, address: str | None, title: str) -> str:
    """A best option: its place, and near it its picture or its number."""
    leader = _dot(*place, 3.5, "dot optimal")
    if (box.x, box.y) != place:
        leader += _line("leader", *place, box.x, box.y)
    if box.width > _BADGE:
        corner = box.x - box.width / 2, box.y - box.height / 2
        return leader + _thumbnail(box, address, "best") + _dot(*corner, 9.5, "dot optimal") + _number(*corner, number)
    anchor, aside = ("end", -13) if box.x > 0.72 * _WIDE else ("start", 13)
    name = f'<text class="item-name" x="{box.x + aside:.1f}" y="{box.y + 4:.1f}" text-anchor="{anchor}">{escape(title)}</text>'
    return (
        leader + _dot(box.x, box.y, _BADGE / 2, "dot optimal") + _number(box.x, box.y, number) + (name if title else "")
    )


def _number(x: float, y: float, number: int) -> str:
    return f'<text class="badge" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{number}</text>'


def _thumbnail(box: _Box, address: str | None, kind: str) -> str:
    place = f'x="{box.x - box.width / 2:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    return (
        f'<g class="thumb {kind}"><rect class="thumb-ground" {place}/>'
        f'<image href="{escape(address or "")}" {place} preserveAspectRatio="xMidYMid meet"/>'
        f'<rect class="thumb-frame" {place}/></g>'
    )


def _ruler(values: Sequence[tuple[float, float, float]], start: float, end: float) -> Callable[[float], float]:
    """From a value to its place: what is believed of the best, and the mean of all, lies between start and end."""
    low, high = min(value[0] for value in values), max(value[0] for value in values)
    margin = 0.12 * (high - low) or 1.0
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return start + (end - start) * share

    return place


# ---- options side by side

_TOP, _TALL, _STEP, _MARGIN = 40.0, 210.0, 118.0, 56.0
_LEAST_SPAN = 708.0
"""From the first axis to the last: a chart of few axes is as wide as the others, or it would be blown up to fill the page."""


def parallel(space: Space | Catalogue, points: Sequence[Point], measured: Measured = NOTHING) -> Chart | None:
    """Options as lines across one axis per parameter that varies; None if none does.

    Args:
        space: What they belong to.
        points: The options, the best first.
        measured: What is known of measured objectives; one without a value for every option has no axis.
    """
    best = [point for point in points if point.optimal]
    others = [point for point in points if not point.optimal]
    thinned = others if len(others) <= _MOST_OTHERS else others[:: -(-len(others) // _MOST_OTHERS)]
    shown = [*best, *thinned]
    fields = [field for field in told_fields(space, measured) if _varies(field, shown)]
    fields = [field for field in fields if not field.measured or all(field.of(p.option) is not None for p in shown)]
    # What is known is never left out.
    fields = [field for field in fields if not field.known][: _MOST_AXES - sum(field.known for field in fields)] + [
        field for field in fields if field.known
    ]
    if not fields:
        return None
    gaps = max(len(fields) - 1, 1)
    step = max(_STEP, _LEAST_SPAN / gaps)
    scales = [_scale(field, [point.option for point in shown]) for field in fields]
    rows = list(zip(*(shares for shares, _, _ in scales), strict=True))
    lines, numbers = [], []
    for at in range(len(shown) - 1, -1, -1):
        shares = rows[at]
        path = " ".join(f"{_MARGIN + d * step:.1f},{_height(share):.1f}" for d, share in enumerate(shares))
        data = f'data-at="{" ".join(f"{share:.3f}" for share in shares)}"'
        if at >= len(best):
            lines.append(f'<polyline class="seen" {data} points="{path}" aria-hidden="true"/>')
            continue
        drawn = f'<polyline class="hit" points="{path}"/><polyline class="chosen" points="{path}"/>'
        lines.append(_item(_label(space, shown[at], at + 1, measured), drawn, data))
        numbers.append((_height(shares[0]), at + 1))
    axes = "".join(
        _axis(field, _MARGIN + d * step, marks, texts)
        for d, (field, (_, marks, texts)) in enumerate(zip(fields, scales, strict=True))
    )
    width = 2 * _MARGIN + gaps * step + 30
    names = "".join(
        f'<text class="item-name" x="{_MARGIN - 9:g}" y="{y + 4:.1f}" text-anchor="end" aria-hidden="true">{number}</text>'
        for y, number in _apart(numbers)
    )
    svg = _svg(width, _TOP + _TALL + 30, "The values of every option", "parallel", [*lines, names, axes])
    left_out = len(others) - len(thinned)
    note = f"{len(thinned)} of the {len(others)} others are drawn." if left_out else ""
    return Chart(svg, note)


def _axis(field: Field, x: float, marks: Sequence[tuple[float, str]], texts: Sequence[str]) -> str:
    """An axis with its marks; a script makes it a brush, and reads what is written along it from ``data-texts``."""
    parts = [
        f'<g class="axis-group" data-name="{escape(field.name)}" data-texts="{escape(json.dumps(texts))}">',
        f'<rect class="axis-hit" x="{x - 16:.1f}" y="{_TOP:g}" width="32" height="{_TALL:g}"/>',
        _line("axis", x, _TOP, x, _TOP + _TALL),
        f'<rect class="brush" x="{x - 7:.1f}" y="{_TOP:g}" width="14" height="{_TALL:g}" rx="4"/>',
        f'<text class="axis-name" x="{x:.1f}" y="16" text-anchor="middle">{escape(_short(field))}</text>',
    ]
    for share, text in marks:
        y = _height(share)
        shift = -6 if share > 0.97 else 16 if share < 0.03 else 4
        parts.append(f'<text class="mark" x="{x + 6:.1f}" y="{y + shift:.1f}">{escape(text[:16])}</text>')
    return "".join(parts) + "</g>"


def _short(field: Field) -> str:
    """The name of an axis, short enough to leave room for the next one."""
    if len(field.heading) <= _LONGEST_NAME:
        return field.heading
    if field.known:
        kind = " (measured)" if field.measured else " (known)"
        room = _LONGEST_NAME + 3 - len(kind)
        return (f"{field.name[: room - 1]}…" if len(field.name) > room else field.name) + kind
    return field.name if len(field.name) <= _LONGEST_NAME else f"{field.name[: _LONGEST_NAME - 1]}…"


def _apart(numbers: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Heights of the numbers, moved down where one would cover another."""
    found: list[tuple[float, int]] = []
    for y, number in sorted(numbers):
        found.append((max(y, found[-1][0] + 14) if found else y, number))
    return found


def _varies(field: Field, points: Sequence[Point]) -> bool:
    return len({field.text(field.of(point.option)) for point in points}) > 1


def _height(share: float) -> float:
    return _TOP + _TALL * (1.0 - share)


def _scale(field: Field, options: Sequence[Option]) -> tuple[list[float], list[tuple[float, str]], list[str]]:
    """Where each option lies on the axis from 0 to 1, what is written along it, and what a brush calls its places."""
    if field.share is not None and field.value is not None:
        values = [field.of(option) for option in options]
        shares = [0.5 if value is None else field.share(value) for value in values]
        steps = [field.text(field.value(at / _BRUSH_STEPS)) for at in range(_BRUSH_STEPS + 1)]
        return shares, [(0.0, value_text(field.ends[0])), (1.0, value_text(field.ends[1]))], steps
    texts = sorted({field.text(field.of(option)) for option in options})
    place = {text: (at + 0.5) / len(texts) for at, text in enumerate(texts)}
    marks = [(place[text], text) for text in texts] if len(texts) <= 8 else []
    steps = [texts[min(int(at / _BRUSH_STEPS * len(texts)), len(texts) - 1)] for at in range(_BRUSH_STEPS + 1)]
    return [place[field.text(field.of(option))] for option in options], marks, steps


# ---- the effect of a parameter

_EFFECT_WIDE, _EFFECT_TALL = 260.0, 118.0
_LEFT, _RIGHT, _HIGHEST, _LOWEST = 14.0, 246.0, 8.0, 84.0
_STRIP = 36


def effect(driver: Driver, span: tuple[float, float], hue: bool = False) -> str:
    """How an objective changes with a parameter, upwards is better; categories are bars.

    Args:
        driver: The parameter.
        span: The least and the greatest effect that fit into the chart, the same for all parameters of an objective.
        hue: Whether the values are hues: a strip of colours lies under the axis.
    """
    low, high = span
    reach = (high - low) or 1.0
    if driver.direction == "category":
        return _bars(driver, max(abs(low), abs(high)) or 1.0)
    count = max(len(driver.values) - 1, 1)

    def x(at: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * at / count

    def y(value: float) -> float:
        return _LOWEST - (_LOWEST - _HIGHEST) * (min(max(value, low), high) - low) / reach

    def path(values: Any) -> list[str]:
        return [f"{x(at):.1f},{y(float(value)):.1f}" for at, value in enumerate(values)]

    best = int(driver.effect.argmax())
    parts = [
        _line("zero", _LEFT, y(0.0), _RIGHT, y(0.0)),
        f'<polygon class="effect-band" points="{" ".join([*path(driver.effect_upper), *reversed(path(driver.effect_lower))])}"/>',
        f'<polyline class="effect" points="{" ".join(path(driver.effect))}"/>',
        _line("axis", _LEFT, _LOWEST + 4, _RIGHT, _LOWEST + 4),
    ]
    if driver.direction == "mixed" and driver.clear:
        parts.append(_dot(x(best), y(float(driver.effect[best])), 4.5, "dot optimal"))
    if hue:
        parts += [_strip(driver)]
    below = 100 + (8 if hue else 0)
    for at in sorted({0, count // 2, count}):
        anchor = "start" if at == 0 else "end" if at == count else "middle"
        parts.append(_line("axis", x(at), _LOWEST + 4, x(at), _LOWEST + 8))
        text = _tick(driver.values[at], driver.unit)
        parts.append(f'<text x="{x(at):.1f}" y="{below:g}" text-anchor="{anchor}">{escape(text)}</text>')
    tall = _EFFECT_TALL - (0 if hue else 8)
    return _svg(_EFFECT_WIDE, tall, f"{driver.parameter}: {driver.told}", "effect-chart", parts, role="img")


def _bars(driver: Driver, reach: float) -> str:
    order = sorted(range(len(driver.values)), key=lambda at: -float(driver.effect[at]))[:_MOST_CATEGORIES]
    middle, half = 192.0, 60.0
    parts = [_line("zero", middle, 4, middle, 4 + 24 * len(order))]
    for place, at in enumerate(order):
        top = 6 + 24 * place
        end = middle + half * max(min(float(driver.effect[at]) / reach, 1.0), -1.0)
        ends = [
            middle + half * max(min(float(e[at]) / reach, 1.0), -1.0)
            for e in (driver.effect_lower, driver.effect_upper)
        ]
        name = value_text(driver.values[at])
        parts += [
            f'<text x="{middle - half - 6:g}" y="{top + 14}" text-anchor="end">{escape(name[:18])}</text>',
            f'<rect class="effect-bar{" top" if place == 0 and driver.clear else ""}" x="{min(middle, end):.1f}" y="{top + 2}" '
            f'width="{max(abs(end - middle), 1):.1f}" height="16" rx="2"/>',
            _line("whisker", ends[0], top + 10, ends[1], top + 10),
        ]
    label = f"{driver.parameter}: {driver.told}"
    return _svg(_EFFECT_WIDE, 12 + 24 * len(order), label, "effect-chart", parts, role="img")


def _strip(driver: Driver) -> str:
    """The colours of the hues along the axis."""
    first, last = float(driver.values[0]), float(driver.values[-1])
    width = (_RIGHT - _LEFT) / _STRIP
    hues = [first + (last - first) * (at + 0.5) / _STRIP for at in range(_STRIP)]
    return "".join(
        f'<rect x="{_LEFT + at * width:.2f}" y="{_LOWEST + 5:g}" width="{width + 0.3:.2f}" height="8" '
        f'fill="hsl({hue % 360:.0f}, 70%, 52%)"/>'
        for at, hue in enumerate(hues)
    )


def span_of(drivers: Sequence[Driver]) -> tuple[float, float]:
    """The least and the greatest effect of some parameters, with their bands."""
    return (
        min(float(each.effect_lower.min()) for each in drivers),
        max(float(each.effect_upper.max()) for each in drivers),
    )


def _tick(value: Any, unit: str) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else value_text(value)
    return f"{text}{unit}" if unit == "°" else f"{text} {unit}" if unit and len(unit) <= 4 else text


# ---- marks


def _label(space: Space | Catalogue, point: Point, number: int, measured: Measured = NOTHING) -> str:
    said = describe(space, point.option, measured)
    return f"Best option {number}, {percent(point.probability)} likely among the best: {said}"


def _item(label: str, drawn: str, data: str = "") -> str:
    said = escape(label)
    return f'<g class="item" tabindex="0" role="img" aria-label="{said}" {data}><title>{said}</title>{drawn}</g>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _dot(x: float, y: float, radius: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _svg(width: float, height: float, label: str, kind: str, parts: Sequence[str], role: str = "group") -> str:
    return (
        f'<svg class="chart {kind}" viewBox="0 0 {width:.0f} {height:.0f}" role="{role}" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )
