"""The charts of a result: what is drawn where, and that nothing covers something else."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import choicebo as cb
from choicebo.insight import Driver
from choicebo.presentation import charts
from choicebo.study import Point

SPACE = cb.Space([cb.Real("p", 0, 1), cb.Categorical("c <&", ["a", "b"])])


def point(p: float, optimal: bool = True, mean: tuple[float, ...] = (0.0, 0.0), c: str = "a") -> Point:
    lower, upper = (tuple(value + d for value in mean) for d in (-1.0, 1.0))
    return Point({"p": p, "c <&": c}, 0.6 if optimal else 0.1, optimal, mean, lower, upper)


def numbers(drawn: ET.Element, kind: str) -> list[tuple[float, float]]:
    found = [each for each in drawn.iter() if each.get("class") == kind]
    return [(float(each.get("x", "0")), float(each.get("y", "0"))) for each in found]


@pytest.mark.parametrize("parameters", [1, 2, 12])
def test_the_parallel_chart_is_not_blown_up_for_few_parameters(parameters: int) -> None:
    space = cb.Space([cb.Real(f"p{n}", 0, 1) for n in range(parameters)])
    points = [Point({f"p{n}": value for n in range(parameters)}, 0.6, True) for value in (0.2, 0.8)]
    chart = charts.parallel(space, points)
    assert chart is not None
    drawn = ET.fromstring(chart.svg)
    width = float(drawn.get("viewBox", "").split()[2])
    assert 800 < width < 1600
    assert all(x < width for x, _ in numbers(drawn, "axis-name"))


def test_the_numbers_of_close_options_do_not_cover_each_other() -> None:
    points = [point(0.5, c="ab"[n % 2], mean=(1.0, 0.01 * n)) for n in range(4)]
    chart = charts.parallel(SPACE, points)
    assert chart is not None
    heights = sorted(y for _, y in numbers(ET.fromstring(chart.svg), "item-name"))
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 14
    (chart,) = charts.maps(SPACE, points, ["warmth", "contrast"])
    badges = numbers(ET.fromstring(chart.svg), "badge")
    assert len(badges) == 4
    for one, other in itertools.combinations(badges, 2):
        assert abs(one[0] - other[0]) >= 20 or abs(one[1] - other[1]) >= 20


def test_many_options_are_thinned_but_the_best_are_all_there() -> None:
    points = [*(point(n / 400, c="ab"[n % 2]) for n in range(5)), *(point(n / 400, False) for n in range(5, 300))]
    chart = charts.parallel(SPACE, points)
    assert chart is not None
    assert chart.svg.count('class="item"') == 5
    assert 40 <= chart.svg.count('class="seen"') <= 60
    assert "of the 295 others" in chart.note


def test_a_map_shows_pictures_where_there_are_some_and_names_the_axes() -> None:
    points = [point(0.1, mean=(1.0, 0.0)), point(0.2, mean=(0.0, 1.0)), point(0.3, False, (-1.0, -1.0))]
    (chart,) = charts.maps(SPACE, points, ["warmth <3", "contrast"], lambda option: f"/p?a&b={option['p']}")
    drawn = ET.fromstring(chart.svg)
    assert [each.get("href") for each in drawn.iter("image")] == ["/p?a&b=0.3", "/p?a&b=0.2", "/p?a&b=0.1"]
    assert [each.text for each in drawn.iter("text") if each.get("class") == "axis-name"] == [
        "warmth <3 →",
        "contrast →",
    ]
    labels = [each.get("aria-label", "") for each in drawn.iter("g") if each.get("role") == "img"]
    assert [label.split(",")[0] for label in labels] == ["Best option 2", "Best option 1"]
    assert len(charts.maps(SPACE, [point(0.1, mean=(1.0, 0.0, 2.0))], ["a", "b", "c"])) == 3
    assert len(charts.maps(SPACE, [point(0.1, mean=(1.0,))], ["a"])) == 1


def driver(values: tuple[object, ...], direction: str = "mixed", unit: str = "") -> Driver:
    effect = np.linspace(-1.0, 1.0, len(values))
    return Driver("hue", 0.5, 0.4, 0.6, 0.5, direction, values[-1], values, effect, effect - 0.5, effect + 0.5, unit)


def test_an_effect_has_ticks_with_units_and_a_strip_of_colours_under_a_hue() -> None:
    svg = charts.effect(driver((0, 90, 180, 270, 360), unit="°"), (-1.5, 1.5), hue=True)
    assert re.findall(r">([^<]+)</text>", svg) == ["0°", "180°", "360°"]
    assert svg.count('fill="hsl(') == 36
    assert "hsl(" not in charts.effect(driver((0, 90, 180)), (-1.5, 1.5))
    assert 'aria-label="hue: hue around 360° is best"' in svg


def test_categories_are_bars_the_best_first() -> None:
    svg = charts.effect(driver(("serif", "sans", "mono"), "category"), (-1.5, 1.5))
    assert "polyline" not in svg
    assert re.findall(r">([^<]+)</text>", svg) == ["mono", "sans", "serif"]
    assert svg.count("effect-bar") == 3


def test_thousands_of_options_are_a_density_and_the_best_keep_their_numbers() -> None:
    crowd = [point(0.1, False, mean=(at % 50 / 50.0, at / 5000.0)) for at in range(5000)]
    (chart,) = charts.maps(SPACE, [point(0.9, True, mean=(1.0, 1.0)), *crowd], ["warmth", "contrast"])
    assert '<circle class="dot"' not in chart.svg
    assert 100 < chart.svg.count('<rect class="dot"') < 3000
    assert "5,000 other options are drawn as a density" in chart.crowd
    assert chart.svg.count('class="item"') == 1
    few = charts.maps(SPACE, crowd[:300], ["warmth", "contrast"])[0]
    assert '<rect class="dot"' not in few.svg
    assert not few.crowd
