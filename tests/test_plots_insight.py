"""Pictures of what a person wants to know."""

import dataclasses
import functools

import numpy as np
import pytest

from choicebo import plots
from choicebo.errors import InvalidInputError
from choicebo.insight import Calibration, Driver, Objective, Surprise
from choicebo.model.dimension import DimensionRow, DimensionSelection

TABLE = (
    DimensionRow(1, -80.0, 8.0, -40.0, 7.0, 0.6, 0, 0, 1.0),
    DimensionRow(2, -40.0, 5.0, 0.0, 0.0, 0.9, 3, 1, 2.0),
    DimensionRow(3, -43.0, 5.0, -3.0, 2.0, 0.8, 1, 0, 3.0),
)


def driver(parameter, relevance, values=(1.0, 2.0, 3.0), direction="more"):
    effect = np.linspace(-1, 1, len(values))
    return Driver(
        parameter,
        relevance,
        0.5 * relevance,
        relevance,
        0.4,
        direction,
        values[-1],
        values,
        effect,
        effect - 1,
        effect + 1,
    )


OBJECTIVES = [
    Objective(1, 0, 3.0, (driver("heat", 0.9), driver("flour", 0.05, ("rye", "wheat"), "category")), ""),
    Objective(2, 1, 2.0, (driver("flour", 0.7, ("rye", "wheat"), "category"), driver("heat", 0.1)), ""),
]
SURPRISES = [
    Surprise(4, 8.0, 0.01, 0.01, 0, 3, (1,), "Answer 5 is unlike your others"),
    Surprise(0, 0.2, 0.8, 0.6, 1, 2, (0,), "Answer 1 agrees with your others."),
]
CALIBRATION = Calibration(
    predicted=np.array([0.1, 0.6]),
    observed=np.array([0.0, 0.7]),
    lower=np.array([0.0, 0.5]),
    upper=np.array([0.2, 0.9]),
    count=np.array([12, 30]),
    log_score=-0.8,
    guessing=-1.9,
    error=0.1,
    answers=14,
)


@functools.cache
def figures():
    selection = DimensionSelection(2, TABLE, None, {}, {})
    return {
        "dimension": plots.dimension_scores(selection),
        "surprises": plots.surprise_marks(SURPRISES),
        "none": plots.surprise_marks([]),
        "drivers": plots.driver_bars(OBJECTIVES),
        "effects": plots.effect_curves(OBJECTIVES),
        "reliability": plots.reliability(CALIBRATION),
    }


@pytest.mark.parametrize("name", list(figures()))
def test_every_picture_can_be_written(name, tmp_path):
    figures()[name].savefig(tmp_path / "it.png")
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")


def test_a_dollar_in_a_name_is_no_formula(tmp_path):
    driver = dataclasses.replace(
        OBJECTIVES[0].drivers[0], parameter="price $^ in $", values=("5 $_", "$ 6^"), best="$^$"
    )
    driver = dataclasses.replace(
        driver,
        direction="category",
        **{name: getattr(driver, name)[:2] for name in ("effect", "effect_lower", "effect_upper")},
    )
    objectives = [dataclasses.replace(OBJECTIVES[0], drivers=(driver,))]
    for figure in (plots.driver_bars(objectives), plots.effect_curves(objectives)):
        figure.savefig(tmp_path / "it.png")
    assert figure.axes[0].get_xlabel() == r"price \$^ in \$"


def texts(figure):
    return " ".join(text.get_text() for axes in figure.axes for text in axes.texts)


def test_the_chosen_dimension_has_a_colour_of_its_own():
    figure = figures()["dimension"]
    colours = [container.lines[0].get_color() for container in figure.axes[0].containers]
    assert colours[1] == plots.PALETTE[0]
    assert colours[0] == colours[2] != colours[1]
    assert "-40.0 ± 7.0" in texts(figure)


def test_only_noteworthy_answers_are_labelled_by_their_number():
    assert texts(figures()["surprises"]) == "5"
    assert texts(figures()["none"]) == "not enough answers yet"


def test_parameters_are_ordered_alike_in_every_panel_and_have_their_direction():
    figure = figures()["drivers"]
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["heat", "flour"]
    assert [bar.get_width() for bar in right.patches] == [0.1, 0.7]
    assert "higher" in texts(figure)
    assert "wheat" in texts(figure)


def test_categories_are_points_and_numbers_are_curves():
    curves, points = figures()["effects"].axes
    assert len(curves.collections) == 2
    assert [tick.get_text() for tick in points.get_xticklabels()] == ["rye", "wheat"]


def test_the_reliability_curve_shows_how_many_options_each_bin_holds():
    assert texts(figures()["reliability"]) == "12 30"


def test_nothing_to_draw_is_refused():
    for picture in (plots.driver_bars, plots.effect_curves):
        with pytest.raises(InvalidInputError, match="no hidden objectives"):
            picture([])
