import hashlib
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from choicebo.errors import DataError, InvalidInputError
from choicebo.experiments.choosers import pareto_choice
from choicebo.experiments.datasets import (
    SOURCES,
    RealData,
    Source,
    folds,
    min_max,
    rank_scaled,
    read,
    real_data,
)

CSV = "no,width,taste,height,price\n1,2.0,5,1.0,7\n2,4.0,6,3.0,8\n3,6.0,7,2.0,9\n"

needs_data = pytest.mark.skipif(
    not os.environ.get("CHOICEBO_DATA"),
    reason="set CHOICEBO_DATA to the folder that holds the real data sets",
)


def source_of(text: str) -> Source:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Source("cakes", digest, "the bakery", ("height", "width"), ("taste", "price"), (1, -1))


@pytest.fixture
def cakes(tmp_path):
    (tmp_path / "cakes.csv").write_bytes(CSV.encode())
    return tmp_path


def table(n: int = 60, seed: int = 0, inputs: np.ndarray | None = None) -> RealData:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2)) if inputs is None else inputs
    return RealData("table", X, rng.random((n, 2)), ("a", "b"), ("y", "z"), (1, -1))


def test_inputs_stay_raw_and_outputs_are_signed_so_that_larger_is_better(cakes):
    data = read(source_of(CSV), cakes)
    assert data.inputs.tolist() == [[1, 2], [3, 4], [2, 6]]
    assert data.outputs.tolist() == [[5, -7], [6, -8], [7, -9]]
    assert (data.name, data.input_names, data.signs) == ("cakes", ("height", "width"), (1, -1))


@pytest.mark.parametrize(("name", "publisher"), [("enb", "id 242"), ("jura", "gstat"), ("slump", "id 182")])
def test_a_missing_file_is_an_error_that_names_the_publisher(tmp_path, name, publisher):
    with pytest.raises(DataError, match=rf"{name}\.csv cannot be read.*{publisher}"):
        real_data(name, tmp_path)


def test_a_changed_file_is_an_error_that_names_both_checksums(cakes):
    expected = source_of(CSV)
    (cakes / "cakes.csv").write_bytes(CSV.replace("5", "6").encode())
    with pytest.raises(DataError, match=rf"sha256 [0-9a-f]{{64}}, expected {expected.sha256}.*bakery"):
        read(expected, cakes)


def test_a_file_without_a_used_column_is_an_error_that_names_it(cakes):
    with pytest.raises(DataError, match=r"no column colour; its header line is no, width"):
        read(replace(source_of(CSV), input_names=("colour",)), cakes)


def test_a_cell_that_is_no_number_is_an_error(tmp_path):
    text = CSV.replace("5", "sweet")
    (tmp_path / "cakes.csv").write_bytes(text.encode())
    with pytest.raises(DataError, match="'sweet'"):
        read(source_of(text), tmp_path)


def test_an_unknown_data_set_is_answered_with_the_known_ones(tmp_path):
    with pytest.raises(InvalidInputError, match=r"'iris'.*enb, jura, real-estate, slump"):
        real_data("iris", tmp_path)


def test_the_counts_of_inputs_and_outputs_are_the_papers():
    counts = {name: (len(source.input_names), len(source.output_names)) for name, source in SOURCES.items()}
    assert counts == {"enb": (6, 2), "jura": (6, 2), "real-estate": (5, 2), "slump": (7, 2)}


def test_every_row_is_held_out_once():
    data = table(n=61)
    held_out = np.vstack([fold.test_inputs for fold in folds(data, 10, n_test=5)])
    assert len(held_out) == 61
    assert {tuple(row) for row in held_out} == {tuple(row) for row in data.inputs}


def test_training_and_test_rows_share_nothing():
    for fold in folds(table(), 10, n_test=5):
        assert not {tuple(row) for row in fold.train_inputs} & {tuple(row) for row in fold.test_inputs}
        assert len(fold.train_inputs) + len(fold.test_inputs) == 60


def test_choices_are_the_pareto_sets_of_the_outputs():
    for fold in folds(table(), 30, n_test=40, set_size=4):
        assert len(fold.choices) == 30
        assert fold.test_sets.shape == (40, 4)
        for choice in fold.choices:
            kept = pareto_choice(fold.train_outputs[list(choice.shown)])
            assert choice.kept == tuple(choice.shown[i] for i in kept)
        for rows, kept in zip(fold.test_sets, fold.test_kept, strict=True):
            assert pareto_choice(fold.test_outputs[rows]) == kept


def test_more_choices_only_add_to_the_same_folds():
    for few, many in zip(folds(table(), 20, seed=3), folds(table(), 50, seed=3), strict=True):
        np.testing.assert_array_equal(few.test_sets, many.test_sets)
        np.testing.assert_array_equal(few.train_inputs, many.train_inputs)
        assert few.choices == many.choices[:20]


def test_different_seeds_hold_out_different_rows():
    first, second = (next(iter(folds(table(), 5, seed=seed, n_test=5))) for seed in (0, 1))
    assert not np.array_equal(first.test_inputs, second.test_inputs)


def test_no_training_set_shows_the_same_option_twice():
    repeated = np.repeat(np.random.default_rng(0).random((12, 2)), 5, axis=0)
    for fold in folds(table(inputs=repeated), 40, n_test=20):
        for choice in fold.choices:
            assert len({tuple(fold.train_inputs[row]) for row in choice.shown}) == 3
        assert fold.choice_data(min_max).n_choices == 40


def test_rows_with_too_few_different_options_are_refused():
    with pytest.raises(DataError, match="only 2 different options"):
        next(iter(folds(table(inputs=np.tile([[0.0, 0.0], [1.0, 1.0]], (30, 1))), 5, n_test=5)))


@pytest.mark.parametrize("settings", [{"n_folds": 1}, {"n_folds": 61}, {"n_choices": 0}, {"n_test": 0}])
def test_impossible_folds_are_refused(settings):
    with pytest.raises(InvalidInputError, match=next(iter(settings))):
        next(iter(folds(table(), **({"n_choices": 5} | settings))))


@pytest.mark.parametrize("scale", [min_max, rank_scaled])
def test_choice_data_hold_the_scaled_rows_that_were_shown(scale):
    fold = next(iter(folds(table(), 25, n_test=10)))
    data = fold.choice_data(scale)
    scaled = scale(fold.train_inputs, fold.train_inputs)
    assert data.n_options == len({row for choice in fold.choices for row in choice.shown})
    for original, choice in zip(fold.choices, data.choices, strict=True):
        np.testing.assert_array_equal(data.X[list(choice.shown)], scaled[list(original.shown)])
        np.testing.assert_array_equal(data.X[list(choice.kept)], scaled[list(original.kept)])


@pytest.mark.parametrize("scale", [min_max, rank_scaled])
def test_test_options_are_scaled_as_the_training_rows_are(scale):
    fold = next(iter(folds(table(), 5, n_test=10)))
    options = fold.test_options(scale)
    assert options.shape == (10, 3, 2)
    np.testing.assert_array_equal(options[4], scale(fold.train_inputs, fold.test_inputs[fold.test_sets[4]]))


columns = arrays(float, st.tuples(st.integers(1, 8), st.just(2)), elements=st.integers(-3, 3))


@pytest.mark.parametrize("scale", [min_max, rank_scaled])
@given(train=columns, rows=columns)
def test_scaling_stays_in_the_unit_cube_and_keeps_the_order(scale, train, rows):
    scaled = scale(train, rows)
    assert scaled.shape == rows.shape
    assert np.all((scaled >= 0) & (scaled <= 1))
    for raw, new in zip(rows.T, scaled.T, strict=True):
        order = np.argsort(raw)
        assert np.all(np.diff(new[order]) >= 0)


def test_ranks_with_ties_are_averaged():
    # Ranks 1, 2.5, 2.5, 4 of four rows
    assert rank_scaled([[7], [8], [8], [90]], [[7], [8], [90]]).ravel().tolist() == [0, 0.5, 1]


def test_a_value_unseen_in_training_is_interpolated_or_clipped():
    assert min_max([[0], [10]], [[-5], [5], [15]]).ravel().tolist() == [0, 0.5, 1]
    assert rank_scaled([[0], [1], [9]], [[-5], [5], [15]]).ravel().tolist() == [0, 0.75, 1]


@pytest.mark.parametrize("scale", [min_max, rank_scaled])
def test_a_column_constant_in_training_becomes_one_half(scale):
    assert scale([[3], [3]], [[3], [4]]).ravel().tolist() == [0.5, 0.5]


@needs_data
@pytest.mark.parametrize(("name", "shape"), [("enb", 768), ("jura", 359), ("real-estate", 414), ("slump", 103)])
def test_the_published_files_have_the_papers_number_of_rows(name, shape):
    data = real_data(name, os.environ["CHOICEBO_DATA"])
    assert data.inputs.shape == (shape, len(SOURCES[name].input_names))
    assert data.outputs.shape == (shape, 2)
    assert all(fold.choice_data(min_max).n_choices == 300 for fold in folds(data, 300))
