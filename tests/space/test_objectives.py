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
            [*rows(), {"sku": "C", "price": None, "protein": 1.0}], features=["protein"], objectives=["minimise price"]
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
