"""The geometry of the charts on the result page; the templates draw it as SVG that can be read without seeing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from choicebo.formatting import percent, value_text
from choicebo.presentation.fields import Field, describe, fields_of
from choicebo.space import Catalogue, Option, Space
from choicebo.web.study_result import Point

if TYPE_CHECKING:
    from choicebo.insight.drivers import Driver

_TOP, _HEIGHT, _STEP, _MARGIN = 44, 210, 118, 64
_LEAST_SPAN = 708
"""From the first axis to the last: a chart of few axes is as wide as the others, or it would be blown up to fill the page."""
_MOST_AXES = 12
_SIDE, _EDGE = 360, 40
_NAME_WIDTH, _NAME_HEIGHT = 18.0, 14.0
_MOST_PAIRS = 3


@dataclass(frozen=True)
class Axis:
    """One vertical axis of the parallel coordinates."""

    x: float
    name: str
    marks: tuple[tuple[float, str], ...]
    """Height and text of what is written along it."""


@dataclass(frozen=True)
class Item:
    """One option in a chart."""

    number: int
    """Its number among the best, from 1; 0 for the others."""
    label: str
    """What a screen reader says."""
    path: str = ""
    x: float = 0.0
    y: float = 0.0
    bands: tuple[tuple[float, float, float, float], ...] = ()
    """Lines from (x1, y1) to (x2, y2) that hold 95 % of the belief."""
    name_at: tuple[float, float] = (0.0, 0.0)
    """Where its number is written."""


@dataclass(frozen=True)
class Chart:
    """A drawing of some size."""

    width: float
    height: float
    items: tuple[Item, ...]
    """The best come last, so that they lie on top."""
    axes: tuple[Axis, ...] = ()
    x_name: str = ""
    y_name: str = ""


def parallel(space: Space | Catalogue, points: Sequence[Point]) -> Chart:
    """All options as lines across one axis per parameter."""
    fields = [field for field in fields_of(space) if _varies(field, points)][:_MOST_AXES]
    gaps = max(len(fields) - 1, 1)
    step = max(_STEP, _LEAST_SPAN / gaps)
    axes, columns = [], []
    for at, field in enumerate(fields):
        shares, marks = _scale(field, [point.option for point in points])
        axes.append(Axis(_MARGIN + at * step, field.heading, tuple((_height(share), text) for share, text in marks)))
        columns.append(shares)
    items = []
    for row, number in _numbered(points):
        path = " ".join(f"{axis.x:.1f},{_height(column[row]):.1f}" for axis, column in zip(axes, columns, strict=True))
        items.append(Item(number, _label(space, points[row], number), path))
    width = 2 * _MARGIN + gaps * step + 36  # the words along the last axis need room
    starts = [(_MARGIN - 8.0, float(item.path.split()[0].split(",")[1]) + 4) for item in items]
    return Chart(width, _TOP + _HEIGHT + 34, _named(items, starts), tuple(axes))


def scatters(space: Space | Catalogue, points: Sequence[Point]) -> tuple[Chart, ...]:
    """The hidden objectives of all options against each other, up to three pairs; more is better on both axes."""
    dims = len(points[0].mean)
    if dims == 1:
        return (_one_objective(space, points),)
    return tuple(_pair(space, points, a, b) for a, b in list(combinations(range(dims), 2))[:_MOST_PAIRS])


def spark(driver: Driver, width: float = 110, height: float = 34) -> tuple[str, str]:
    """The effect of a parameter as a line and the outline of its band."""
    low, high = float(driver.effect_lower.min()), float(driver.effect_upper.max())
    span = (high - low) or 1.0
    count = max(len(driver.values) - 1, 1)

    def place(at: int, value: float) -> str:
        return f"{3 + (width - 6) * at / count:.1f},{height - 3 - (height - 6) * (value - low) / span:.1f}"

    line = " ".join(place(at, float(value)) for at, value in enumerate(driver.effect))
    upper = [place(at, float(value)) for at, value in enumerate(driver.effect_upper)]
    lower = [place(at, float(value)) for at, value in enumerate(driver.effect_lower)]
    return line, " ".join([*upper, *reversed(lower)])


def _pair(space: Space | Catalogue, points: Sequence[Point], a: int, b: int) -> Chart:
    x_of, y_of = _ruler(points, a), _ruler(points, b, upwards=True)
    items = []
    for row, number in _numbered(points):
        point = points[row]
        x, y = x_of(point.mean[a]), y_of(point.mean[b])
        bands = (
            (x_of(point.lower[a]), y, x_of(point.upper[a]), y),
            (x, y_of(point.lower[b]), x, y_of(point.upper[b])),
        )
        told = f"objective {a + 1}: {point.mean[a]:.1f}, objective {b + 1}: {point.mean[b]:.1f}"
        items.append(Item(number, f"{_label(space, point, number)}; {told}", x=x, y=y, bands=bands))
    names = (f"hidden objective {a + 1}", f"hidden objective {b + 1}")
    return Chart(_SIDE, _SIDE, _named(items, _beside(items)), x_name=names[0], y_name=names[1])


def _one_objective(space: Space | Catalogue, points: Sequence[Point]) -> Chart:
    y_of = _ruler(points, 0, upwards=True)
    order = sorted(range(len(points)), key=lambda row: points[row].mean[0])
    place = {row: _EDGE + (_SIDE - 2 * _EDGE) * at / max(len(order) - 1, 1) for at, row in enumerate(order)}
    items = []
    for row, number in _numbered(points):
        point, x = points[row], place[row]
        bands = ((x, y_of(point.lower[0]), x, y_of(point.upper[0])),)
        told = f"objective: {point.mean[0]:.1f}"
        items.append(Item(number, f"{_label(space, point, number)}; {told}", x=x, y=y_of(point.mean[0]), bands=bands))
    return Chart(
        _SIDE, _SIDE, _named(items, _beside(items)), x_name="options, worst to best", y_name="hidden objective"
    )


def _beside(items: Sequence[Item]) -> list[tuple[float, float]]:
    return [(item.x + 9, item.y - 8) for item in items]


def _named(items: Sequence[Item], wanted: Sequence[tuple[float, float]]) -> tuple[Item, ...]:
    """The items with their numbers at the ``wanted`` places, or further down where one would cover another."""
    taken: dict[int, tuple[float, float]] = {}
    numbered = [(place, item.number) for item, place in zip(items, wanted, strict=True) if item.number]
    for (x, y), number in sorted(numbered, key=lambda each: (each[0][1], each[1])):
        lower = y
        while any(
            abs(x - there) < _NAME_WIDTH and abs(lower - level) < _NAME_HEIGHT for there, level in taken.values()
        ):
            lower += 1.0
        taken[number] = (x, lower)
    return tuple(replace(item, name_at=taken.get(item.number, item.name_at)) for item in items)


def _ruler(points: Sequence[Point], dim: int, upwards: bool = False) -> Any:
    low = min(point.lower[dim] for point in points)
    high = max(point.upper[dim] for point in points)
    span = (high - low) or 1.0
    inner = _SIDE - 2 * _EDGE

    def place(value: float) -> float:
        share = (value - low) / span
        return _EDGE + inner * (1.0 - share if upwards else share)

    return place


def _numbered(points: Sequence[Point]) -> list[tuple[int, int]]:
    best = [row for row, point in enumerate(points) if point.optimal]
    others = [(row, 0) for row in range(len(points)) if row not in best]
    return [*others, *((row, number) for number, row in reversed(list(enumerate(best, start=1))))]


def _label(space: Space | Catalogue, point: Point, number: int) -> str:
    name = f"Best option {number}" if number else "Option"
    return f"{name}, {percent(point.probability)} likely among the best: {describe(space, point.option)}"


def _varies(field: Field, points: Sequence[Point]) -> bool:
    return len({field.text(point.option.get(field.name)) for point in points}) > 1


def _height(share: float) -> float:
    return _TOP + _HEIGHT * (1.0 - share)


def _scale(field: Field, options: Sequence[Option]) -> tuple[list[float], list[tuple[float, str]]]:
    """Where each option lies on the axis from 0 to 1, and what is written along it."""
    if field.share is not None:
        values = [option.get(field.name) for option in options]
        shares = [0.5 if value is None else field.share(value) for value in values]
        return shares, [(0.0, value_text(field.ends[0])), (1.0, value_text(field.ends[1]))]
    texts = sorted({field.text(option.get(field.name)) for option in options})
    place = {text: (at + 0.5) / len(texts) for at, text in enumerate(texts)}
    shown = [(place[text], text) for text in texts] if len(texts) <= 8 else []
    return [place[field.text(option.get(field.name))] for option in options], shown
