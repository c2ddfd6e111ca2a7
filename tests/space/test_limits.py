"""Numbers, widths and texts at the edge of what can be computed with, and beyond."""

from __future__ import annotations

import time

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError, SpaceError
from choicebo.space.values import MOST_COLUMNS, read_value

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Integer("b", 1, 9)])


def catalogue(tmp_path, text: str) -> cb.Catalogue:
    (tmp_path / "it.csv").write_text(text, encoding="utf-8")
    return cb.Catalogue(tmp_path / "it.csv")


def test_an_infinite_cell_of_a_file_is_refused_with_its_line(tmp_path):
    with pytest.raises(SpaceError, match=r"Row 2 \(line 3\) has 'price' = inf: give a finite number"):
        catalogue(tmp_path, "sku,price\nA,1\nB,1e999\n")


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_whole_number_without_end_is_refused(tmp_path, digits):
    with pytest.raises(SpaceError, match="give a finite number"):
        catalogue(tmp_path, "sku,price\nA,1\nB," + "9" * digits + "\n")
    with pytest.raises(SpaceError, match="too large: give at most 300 digits"):
        cb.Catalogue([{"sku": "A", "price": 1}, {"sku": "B", "price": 10**digits}])
    with pytest.raises(SpaceError, match="give a number below 1e300"):
        SPACE.validate({"a": 0.5, "b": 10**digits})
    assert isinstance(read_value("9" * digits), float)


def test_huge_numbers_are_no_points_of_the_cube():
    for method in (SPACE.decode, SPACE.snap, SPACE.feasible):
        with pytest.raises(SpaceError, match="must be an array of numbers"):
            method([[10**400, 0]])


@pytest.mark.parametrize("seed", [-1, "a", None, [], [-1], 1.5, np.array([1])])
def test_a_seed_that_is_none_is_refused(seed):
    for method in (SPACE.sample, SPACE.sobol):
        with pytest.raises(InvalidInputError, match=r"seed is .*: give a whole number of at least 0"):
            method(1, seed=seed)


def test_half_a_character_cannot_be_stored():
    with pytest.raises(SpaceError, match=r"Row 2 has 'p' = .*cannot be stored"):
        cb.Catalogue([{"sku": "A", "p": "x"}, {"sku": "B", "p": "\ud800"}])


def test_the_number_of_columns_has_a_limit_that_is_named():
    wide = MOST_COLUMNS + 1
    with pytest.raises(SpaceError, match=r"The space takes 5,001 columns.*at most 5,000"):
        cb.Space([cb.Real(f"p{number}", 0, 1) for number in range(wide)])
    with pytest.raises(SpaceError, match="The parameter 'c' takes 5,001 columns"):
        cb.Categorical("c", range(wide))
    with pytest.raises(SpaceError, match="The catalogue takes 5,001 columns"):
        cb.Catalogue([{"sku": row} | {f"p{number}": row for number in range(wide)} for row in (0, 1)])
    rows = [{"sku": row, "text": f"t{row // 2}", "x": row % 2} for row in range(2 * wide)]
    assert cb.Catalogue(rows).dropped == {"text": "more than 5,000 different texts"}
    with pytest.raises(SpaceError, match="The column 'text' takes 5,001 columns"):
        cb.Catalogue(rows, features=["text"])


def test_as_many_columns_and_values_as_are_accepted_take_no_minutes(tmp_path):
    """Looking each name up in a list took time with the square of their number."""
    began = time.perf_counter()
    space = cb.Space([cb.Real(f"p{number}", 0, 1) for number in range(MOST_COLUMNS)])
    assert space.contains(space.decode(space.sample(1))[0])
    labels = cb.Space([cb.Categorical("c", range(MOST_COLUMNS - 1)), cb.Ordinal("o", range(50_000))])
    assert len(labels.sobol(3)) == 3
    names = [f"p{number}" for number in range(MOST_COLUMNS)]
    lines = [["sku", *names], ["A", *"1" * MOST_COLUMNS], ["B", *"2" * MOST_COLUMNS]]
    made = catalogue(tmp_path, "\n".join(map(",".join, lines)))
    assert made.validate(made.rows[0]) == made.rows[0]
    header = ",".join(["choice", "option", "kept", *(f"x{number}" for number in range(20_000))])
    rows = [",".join(["0", str(row), str(row), *[str(row)] * 20_000]) for row in (0, 1)]
    assert cb.ChoiceData.from_csv("\n".join([header, *rows])).dim == 20_000
    assert time.perf_counter() - began < 30


def test_a_categorical_with_very_many_values_is_not_listed_to_draw_from_it():
    space = cb.Space([cb.Categorical("c", range(MOST_COLUMNS))])
    assert space.sample(2).shape == (2, MOST_COLUMNS)
    assert "_everything" not in vars(space)


def test_drawing_many_distinct_points_takes_time_in_proportion():
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])
    points = space.sobol(50_000)
    assert len({row.tobytes() for row in points}) == 50_000
    with pytest.raises(SpaceError, match="n is 9223372036854775808: give at most 2,097,152"):
        space.sobol(2**63)
