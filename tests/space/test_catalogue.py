from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choicebo.errors import SpaceError
from choicebo.space import Catalogue, Searchable, from_dict
from choicebo.space.discrete import ONE_HOT

ROWS = [
    {
        "sku": "A",
        "name": "Rye loaf",
        "photo": "a.jpg",
        "price": 3,
        "weight": 0.5,
        "flour": "rye",
        "vegan": True,
    },
    {
        "sku": "B",
        "name": "Baguette",
        "photo": None,
        "price": 2,
        "weight": 0.25,
        "flour": "wheat",
        "vegan": True,
    },
    {
        "sku": "C",
        "name": "Brioche",
        "photo": "c.jpg",
        "price": 5,
        "weight": 0.4,
        "flour": "spelt",
        "vegan": False,
    },
    {"sku": "D", "name": "Bun", "photo": "d.jpg", "price": 3, "weight": 0.5, "flour": "rye", "vegan": True},
]


@pytest.fixture
def menu() -> Catalogue:
    return Catalogue(ROWS, key="sku", label="name", image="photo")


@st.composite
def catalogues(draw):
    count = draw(st.integers(2, 12))
    cells = {
        "price": st.integers(-50, 50),
        # Values closer than a double of the unit interval can tell are one value there.
        "weight": st.integers(-(10**12), 10**12).map(lambda thousandths: thousandths / 1000),
        "flour": st.sampled_from(["rye", "wheat", "spelt"]),
        "vegan": st.booleans(),
    }
    rows = [
        {"id": place, "anchor": place % 2, **{name: draw(cell) for name, cell in cells.items()}}
        for place in range(count)
    ]
    if draw(st.booleans()):
        for row in rows[1:]:
            row["note"] = draw(
                st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
            )
    features = draw(st.none() | st.just(["anchor", "price"]))
    if features is None:
        for row in rows:
            row.pop("note", None)
    return Catalogue(rows, key="id", features=features)


@given(catalogues())
def test_encode_then_decode_gives_a_row_with_the_same_features(catalogue):
    cube = catalogue.encode(catalogue.keys)
    assert np.array_equal(cube, catalogue.X)
    assert np.all((cube >= 0) & (cube <= 1))
    used = {column.parameter for column in catalogue.columns}
    for row, decoded in zip(catalogue.rows, catalogue.decode(cube), strict=True):
        assert {name: row[name] for name in used} == {name: decoded[name] for name in used}
    assert np.array_equal(catalogue.snap(cube), cube)


@given(catalogues(), st.data())
def test_any_point_decodes_to_the_nearest_row(catalogue, data):
    unit = st.floats(0, 1)
    point = np.array(data.draw(st.lists(unit, min_size=catalogue.dim, max_size=catalogue.dim)))
    chosen = catalogue.snap(point[None])[0]
    distances = np.linalg.norm(catalogue.X - point, axis=1)
    assert np.linalg.norm(chosen - point) <= distances.min() + 1e-12
    assert catalogue.feasible(point[None]).tolist() == [True]


@given(catalogues())
def test_a_record_gives_an_equal_catalogue(catalogue):
    again = from_dict(json.loads(json.dumps(catalogue.to_dict())))
    assert again == catalogue
    assert hash(again) == hash(catalogue)
    assert np.array_equal(again.X, catalogue.X)


def test_rows_dicts_csv_and_data_frame_give_the_same_catalogue(menu, tmp_path):
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "menu.csv", index=False)
    columns = {"key": "sku", "label": "name", "image": "photo"}
    assert Catalogue(frame, **columns) == menu
    assert Catalogue(tmp_path / "menu.csv", **columns) == menu
    assert Catalogue(str(tmp_path / "menu.csv"), **columns) == menu
    assert Catalogue(iter(ROWS), **columns) == menu


def test_numbers_are_scaled_and_texts_are_one_hot(menu):
    assert [c.name for c in menu.columns] == [
        "price", "weight", "flour=rye", "flour=spelt", "flour=wheat", "vegan=True",
    ]  # fmt: skip
    assert {column.kind for column in menu.columns} == {"discrete", "onehot"}
    np.testing.assert_allclose(menu.X[0], [1 / 3, 1.0, ONE_HOT, 0, 0, 1])
    np.testing.assert_allclose(menu.X[2], [1.0, 0.6, 0, ONE_HOT, 0, 0])
    assert not menu.X.flags.writeable


def test_rows_with_the_same_features_are_two_options_at_one_point(menu):
    assert np.array_equal(menu.encode(["A"]), menu.encode(["D"]))
    assert menu.decode(menu.encode(["D"]))[0]["sku"] == "A"
    assert menu.validate("D")["name"] == "Bun"
    assert menu.size == 4


def test_it_can_be_searched_like_a_space(menu):
    assert isinstance(menu, Searchable)
    assert menu.names == tuple(ROWS[0])
    assert np.array_equal(menu.enumerate(), menu.X)
    assert menu.contains("A")
    assert menu.contains(ROWS[1])
    assert not menu.contains("Z")
    assert not menu.contains({**ROWS[0], "price": 4})
    assert menu.feasible(ROWS).all()
    assert menu.decode(menu.encode(ROWS[:3])) == ROWS[:3]
    assert repr(menu) == "Catalogue(4 rows, key='sku', features: price, weight, flour, vegan)"
    assert pickle.loads(pickle.dumps(menu)) == menu


def test_columns_that_say_nothing_are_dropped_with_a_reason():
    rows = [{"sku": k, "price": k, "vat": 7, "empty": None, "text": f"Loaf number {k}"} for k in range(25)]
    catalogue = Catalogue(rows)
    assert set(catalogue.dropped) == {"vat", "empty", "text"}
    assert catalogue.dropped["vat"] == "the same in every row"
    assert catalogue.dim == 1
    assert catalogue.rows[0] == {"sku": 0, "price": 0, "vat": 7, "text": "Loaf number 0"}
    assert Catalogue(rows, features=["price", "text"]).dim == 26


def test_only_the_features_asked_for_are_used_and_others_may_have_gaps():
    rows = [{"sku": "A", "price": 1, "note": "x"}, {"sku": "B", "price": 2}]
    catalogue = Catalogue(rows, features=["price"])
    assert catalogue.dim == 1
    assert catalogue.decode([[1.0]]) == [{"sku": "B", "price": 2, "note": None}]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "no rows"),
        ([{"id": 1, "x": 2}], {}, "key names the column 'sku'"),
        (ROWS, {"label": "nam"}, "label names the column 'nam'.*Did you mean 'name'"),
        (ROWS, {"features": ["prize"]}, "Did you mean 'price'"),
        (ROWS, {"features": "price"}, "give a list of column names"),
        (ROWS, {"features": ["sku"]}, "is the key, label or image"),
        (ROWS, {"features": ["price", "price"]}, "named twice"),
        ([{"sku": "A", "x": 1}, {"sku": "A", "x": 2}], {}, "Row 2 repeats the key 'A' of row 1"),
        ([{"sku": "A", "x": 1}, {"x": 2}], {}, "Row 2 has no value in the key column 'sku'"),
        ([{"sku": 1.5, "x": 1}], {}, "key 1.5: give a text or a whole number"),
        ([{"sku": "A", "x": 1}, {"sku": "B", "x": None}], {}, "Row 2 has no value in column 'x'"),
        ([{"sku": "A", "x": 1}, {"sku": "B", "x": "1"}], {}, "Row 1 has 1, Row 2 has '1'"),
        ([{"sku": "A", "x": 1}, {"sku": "B", "x": True}], {}, "mixes kinds"),
        ([{"sku": "A"}, {"sku": "B"}], {}, "no usable feature .there is no other column"),
        ([{"sku": "A", "x": 1}], {}, "no usable feature .'x': the same in every row"),
        ([{"sku": "A", "x": 10**400}, {"sku": "B", "x": 1}], {}, "too large"),
        ([{"sku": "A", "x": 1, "n": ""}, {"sku": "B", "x": 2}], {"label": "n"}, "label column 'n' is empty"),
        ([{"sku": "A", "x": 1, "n": ""}, {"sku": "B", "x": 2}], {"features": ["n"]}, "Row 1 has no value"),
    ],
)
def test_a_catalogue_that_cannot_be_offered_says_why(rows, options, message):
    with pytest.raises(SpaceError, match=message):
        Catalogue(rows, **options)


def test_a_gap_in_a_csv_file_is_named_by_its_line(tmp_path):
    (tmp_path / "menu.csv").write_text("sku,price\nA,1\n\nB,\n")
    with pytest.raises(SpaceError, match=r"Row 2 \(line 4\) has no value in column 'price'"):
        Catalogue(tmp_path / "menu.csv")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.validate("Q"), "no row with sku = 'Q'"),
        (lambda c: c.validate({"price": 3}), "no row with sku = None"),
        (lambda c: c.validate({"sku": "A", "price": 9}), "'price' = 3 in the catalogue, not 9"),
        (lambda c: c.encode("A"), r"\[row\]"),
        (lambda c: c.decode(np.zeros(6)), r"u\[None, :\]"),
        (lambda c: c.sample(5), "4 rows and n is 5"),
        (lambda c: c.enumerate(3), "above the limit of 3"),
    ],
)
def test_calls_that_cannot_work_say_why(menu, call, message):
    with pytest.raises(SpaceError, match=message):
        call(menu)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(0, 30))
def test_a_space_filling_order_goes_through_all_rows_and_can_be_continued(seed, n, skip):
    catalogue = Catalogue([{"sku": k, "x": k, "y": k * k % 7} for k in range(20)])
    whole = catalogue.sobol(n + skip, seed)
    assert np.array_equal(catalogue.sobol(n, seed, skip), whole[skip:])
    first = catalogue.index(whole[:20]).tolist()
    assert len(set(first)) == len(first)


def test_samples_are_different_rows_and_repeatable(menu):
    assert sorted(menu.index(menu.sample(4, seed=1))) == [0, 0, 1, 2]
    assert np.array_equal(menu.sample(3, seed=1), menu.sample(4, seed=1)[:3])


def test_the_order_spreads_over_the_catalogue():
    catalogue = Catalogue([{"sku": k, "x": k} for k in range(100)])
    first = np.sort(catalogue.sobol(8)[:, 0])
    assert np.diff(first).max() < 0.3


def test_the_largest_numbers_do_not_overflow():
    catalogue = Catalogue([{"sku": 1, "x": -1.7e308}, {"sku": 2, "x": 0.0}, {"sku": 3, "x": 1.7e308}])
    assert catalogue.X[:, 0].tolist() == [0.0, 0.5, 1.0]
