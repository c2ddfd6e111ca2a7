"""What is known to matter: formulas and columns, read, checked and computed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import SpaceError
from choicebo.space import Objective, from_dict

OVEN = [cb.Real("flour", 1, 5), cb.Integer("minutes", 5, 40), cb.Categorical("oven", ["gas", "wood"])]
PRICE = "minimise price = 2*flour + 0.3*minutes + 4*(oven == 'wood')"


def rows(**changes):
    found = [{"sku": "A", "price": 3, "protein": 7.5}, {"sku": "B", "price": 5, "protein": 2.0}]
    found[1].update(changes)
    return found


def test_a_formula_is_computed_for_every_option():
    space = cb.Space(OVEN, objectives=[PRICE, "maximise minutes"])
    option = {"flour": 2.0, "minutes": 10, "oven": "wood"}
    points = space.encode([option])
    assert space.known.names == ("price", "minutes")
    np.testing.assert_allclose(space.known.values(points), [[11.0, 10.0]])
    np.testing.assert_allclose(space.known(points), [[-11.0, 10.0]])


def test_a_column_of_a_catalogue_is_an_objective():
    menu = cb.Catalogue(rows(), objectives=["minimise price", "maximise value = protein / price"])
    np.testing.assert_allclose(menu.known(menu.X), [[-3.0, 2.5], [-5.0, 0.4]])


@pytest.mark.parametrize(
    "space", [cb.Space(OVEN, objectives=[PRICE]), cb.Catalogue(rows(), objectives=["minimise price"])]
)
def test_objectives_are_stored_with_the_space(space):
    again = from_dict(space.to_dict())
    assert again == space
    assert again.objectives == space.objectives
    unpickled = pickle.loads(pickle.dumps(space))
    points = space.sobol(2)
    np.testing.assert_array_equal(unpickled.known(points), space.known(points))


def test_a_space_without_objectives_is_described_as_before():
    assert "objectives" not in cb.Space(OVEN).to_dict()
    assert "objectives" not in cb.Catalogue(rows()).to_dict()
    assert cb.Space(OVEN).known is None
    assert cb.Catalogue(rows()).known is None


@pytest.mark.parametrize("text", ["minimize  price = 2*flour", "Minimise price=2*flour"])
def test_spelling_and_spaces_are_free(text):
    objective = Objective(text)
    assert (objective.name, objective.minimise, objective.formula) == ("price", True, "2*flour")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "give a text such as"),
        ("price", "cannot be read"),
        ("reduce price = 2*flour", "Begin with minimise"),
        ("minimise price = 2*flower", "Did you mean 'flour'"),
        ("minimise flours", "Did you mean 'flour'"),
        ("minimise 2*flour", "give the formula a name"),
        ("minimise minutes = 2*flour", "give the formula another name"),
        ("minimise price = 2*", "Objective '2\\*'"),
        ("minimise price = 3", "mentions no parameter"),
        ("minimise price = __import__('os')", "not a known function"),
        ("minimise oven", "it is not a number"),
        ("minimise price = 2*oven", "a number is needed here"),
        ("minimise price = log(flour - 3)", "no finite value for the option flour = "),
        ("minimise price = flour - flour", "for every option"),
    ],
)
def test_what_makes_no_sense_is_refused(text, said):
    with pytest.raises(SpaceError, match=said):
        cb.Space(OVEN, objectives=[text])


def test_two_objectives_have_two_names():
    with pytest.raises(SpaceError, match="Two objectives are called 'price'"):
        cb.Space(OVEN, objectives=[PRICE, "minimise price = flour"])


def test_a_row_without_a_value_is_named():
    with pytest.raises(SpaceError, match="no finite value for the option sku = C"):
        cb.Catalogue(
            [*rows(), {"sku": "C", "price": None, "protein": 1.0}],
            features=["protein"],
            objectives=["minimise total = 2*price"],
        )


def test_rows_that_the_model_cannot_tell_apart_must_not_differ_in_what_is_known():
    alike = [*rows(), {"sku": "C", "price": 9, "protein": 2.0}]
    with pytest.raises(SpaceError, match="'B' and 'C' have the same features, but differ in 'price'"):
        cb.Catalogue(alike, features=["protein"], objectives=["minimise price"])


def test_where_no_option_may_be_an_undefined_formula_counts_as_worst():
    space = cb.Space([cb.Real("a", 0, 1)], ["a >= 0.5"], objectives=["maximise gain = sqrt(a - 0.5)"])
    found = space.known(np.array([[0.25], [0.75]]))
    assert found[0, 0] <= found[1, 0]
    assert np.isfinite(found).all()


def test_a_name_that_options_do_not_have_is_measured():
    space = cb.Space(OVEN, objectives=[PRICE, "minimise cost"])
    assert space.known.measured == (False, True)
    values = space.known(space.sobol(3))
    assert np.isfinite(values[:, 0]).all()
    assert np.isnan(values[:, 1]).all()
    assert "cost (measured)" in repr(space)
    assert from_dict(space.to_dict()).known.measured == (False, True)


def test_a_name_close_to_that_of_a_parameter_is_taken_for_a_slip():
    with pytest.raises(SpaceError, match=r"Did you mean 'minutes'.*minimise minuts = measured"):
        cb.Space(OVEN, objectives=["minimise minuts"])
    assert cb.Space(OVEN, objectives=["minimise minuts = measured"]).known.measured == (True,)


def test_a_parameter_called_measured_is_a_parameter():
    space = cb.Space([cb.Real("measured", 0, 1)], objectives=["minimise cost = measured"])
    assert space.known.measured == (False,)


def test_what_was_measured_holds_at_its_point_and_nowhere_else():
    space = cb.Space(OVEN, objectives=["minimise cost", PRICE])
    first, second = space.sobol(2)
    known = space.known.with_measurements(first[None], np.array([[12.5, np.nan]]))
    np.testing.assert_array_equal(known(np.array([first, second]))[:, 0], [-12.5, np.nan])
    np.testing.assert_array_equal(known(first[None])[:, 1], space.known(first[None])[:, 1])
    again = known.with_measurements(first[None], np.array([[13.0, np.nan]]))
    assert again(first[None])[0, 0] == -13.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again))(first[None]), again(first[None]))


def test_empty_cells_of_a_column_are_not_measured_yet():
    menu = cb.Catalogue([*rows(), {"sku": "C", "price": None, "protein": 1}], objectives=["minimise price"])
    assert menu.known.measured == (True,)
    np.testing.assert_array_equal(menu.known(menu.X), [[-3.0], [-5.0], [np.nan]])
    assert "price" not in {column.parameter for column in menu.columns}
    assert cb.Catalogue.from_dict(menu.to_dict()) == menu
    recognised = cb.Catalogue.recognise([dict(row) for row in menu.rows], objectives=["minimise price"])
    assert recognised.known.measured == (True,)


def test_rows_of_the_same_features_share_what_was_measured():
    twins = [
        {"sku": "A", "price": None, "fat": 1},
        {"sku": "B", "price": 4, "fat": 1},
        {"sku": "C", "price": 5, "fat": 2},
    ]
    menu = cb.Catalogue(twins, objectives=["minimise price"])
    np.testing.assert_array_equal(menu.known(menu.encode(["A", "B", "C"])), [[-4.0], [-4.0], [-5.0]])
    twins[0]["price"] = 3
    with pytest.raises(SpaceError, match="the same features, but differ in 'price'"):
        cb.Catalogue([*twins, {"sku": "D", "price": None, "fat": 3}], objectives=["minimise price"])
