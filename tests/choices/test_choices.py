from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from choices_helpers import X3, given_data, refused
from hypothesis import given, settings
from hypothesis import strategies as st

from choicebo.choices import Choice, ChoiceData, unit_scaled
from choicebo.errors import DataError, InvalidInputError

# Choice


def test_choice_remembers_the_order_shown_and_lists_kept_and_rejected_in_that_order() -> None:
    choice = Choice(shown=[5, 3, 9, 0], kept=[0, 3])
    assert choice.shown == (5, 3, 9, 0)
    assert choice.kept == (3, 0)
    assert choice.rejected == (5, 9)


def test_choice_stores_python_integers_whatever_integers_were_given() -> None:
    choice = Choice(shown=np.array([2, 0], dtype=np.int32), kept=iter([np.uint8(2)]))
    assert {type(index) for index in choice.shown + choice.kept} == {int}
    assert choice == Choice((2, 0), (2,))
    assert hash(choice) == hash(Choice((2, 0), (2,)))


def test_keeping_everything_is_a_choice() -> None:
    assert Choice((0, 1), (0, 1)).rejected == ()


def test_choice_cannot_be_changed() -> None:
    choice = Choice((0, 1), (0,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        choice.kept = (1,)  # type: ignore[misc]


def test_kept_option_that_was_not_shown_is_refused() -> None:
    with refused("option 7 was kept but not shown", r"\(0, 1\)", "among those shown"):
        Choice((0, 1), (0, 7))


def test_keeping_nothing_is_refused() -> None:
    with refused("nothing was kept", r"\(0, 1\)", "at least one"):
        Choice((0, 1), ())


@pytest.mark.parametrize("shown", [(), (3,)])
def test_showing_fewer_than_two_options_is_refused(shown: tuple[int, ...]) -> None:
    with refused("shown=", "at least two options"):
        Choice(shown, shown)


def test_option_shown_twice_is_refused() -> None:
    with refused("option 4 appears twice in shown", "once"):
        Choice((4, 1, 4), (1,))


def test_option_kept_twice_is_refused() -> None:
    with refused("option 1 appears twice in kept", "once"):
        Choice((4, 1), (1, 1))


@pytest.mark.parametrize("wrong", [-1, 1.5, 1.0, True, np.True_, np.float64(1), "1", None])
def test_index_that_is_not_a_whole_number_from_zero_is_refused(wrong: Any) -> None:
    with refused("shown holds", "whole numbers such as 0, 1, 2"):
        Choice((0, wrong), (0,))
    with refused("kept holds", "whole numbers such as 0, 1, 2"):
        Choice((0, 1), (wrong,))


def test_single_number_instead_of_a_list_is_refused() -> None:
    with refused("kept is 1", "a list of whole numbers"):
        Choice((0, 1), 1)  # type: ignore[arg-type]


# ChoiceData: what it holds


def test_data_counts_options_inputs_and_choices() -> None:
    data = ChoiceData(X3, [Choice((0, 1), (0,)), ((1, 2), (1, 2))])
    assert (data.n_options, data.dim, data.n_choices, len(data)) == (3, 2, 2, 2)
    assert data.choices[1] == Choice((1, 2), (1, 2))
    assert repr(data) == "ChoiceData(n_options=3, dim=2, n_choices=2)"


def test_fresh_study_has_options_and_no_choices() -> None:
    assert ChoiceData(X3, []).n_choices == 0
    assert ChoiceData(X3) == ChoiceData(X3, iter(()))


def test_data_does_not_share_memory_with_the_array_given() -> None:
    X = np.array(X3)
    data = ChoiceData(X, [])
    X[0, 0] = 0.9
    assert data.X[0, 0] == 0.0


def test_data_cannot_be_changed() -> None:
    data = ChoiceData(X3, [((0, 1), (0,))])
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 0.9
    with pytest.raises(ValueError, match="read-only"):
        data.index_map[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.choices = ()  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        data.note = "new"  # type: ignore[attr-defined]


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_copies_and_pickles_are_equal_and_still_cannot_be_changed(twin: Any) -> None:
    data = ChoiceData([*X3, X3[0]], [((0, 1), (0,))])
    again = twin(data)
    assert again == data
    assert again.index_map.tolist() == data.index_map.tolist()
    assert not again.X.flags.writeable
    assert not again.index_map.flags.writeable


def test_equality_hash_and_fingerprint_are_by_value() -> None:
    data = ChoiceData(X3, [((0, 1), (0,))])
    same = ChoiceData(np.array(X3), [Choice([0, 1], [0])])
    assert data == same
    assert hash(data) == hash(same)
    assert data.fingerprint == same.fingerprint
    others = [
        ChoiceData(X3, []),
        ChoiceData(X3, [((0, 1), (1,))]),
        ChoiceData(X3, [((1, 0), (0,))]),
        ChoiceData(X3[:2], [((0, 1), (0,))]),
        ChoiceData([[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]], [((0, 1), (0,))]),
    ]
    for other in others:
        assert data != other
        assert data.fingerprint != other.fingerprint
    assert data != "data"


def test_negative_zero_is_zero() -> None:
    assert ChoiceData([[-0.0], [1.0]]).fingerprint == ChoiceData([[0.0], [1.0]]).fingerprint
    assert ChoiceData([[-0.0], [0.0]]).n_options == 1


def test_fingerprint_is_the_same_in_another_process() -> None:
    program = "from choicebo.choices import ChoiceData;print(ChoiceData([[0.1], [0.7]], [((1, 0), (0,))]).fingerprint)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == ChoiceData([[0.1], [0.7]], [((1, 0), (0,))]).fingerprint


def test_rounding_error_outside_the_unit_cube_is_clipped() -> None:
    assert ChoiceData([[-5e-10], [1 + 5e-10]]).X.ravel().tolist() == [0.0, 1.0]


# ChoiceData: what it refuses


def test_choice_about_an_option_out_of_range_is_refused() -> None:
    with refused("choice 1: it shows option 3", "3 options", "0 to 2"):
        ChoiceData(X3, [((0, 1), (0,)), ((1, 3), (1,))])


def test_invalid_pair_is_refused_by_the_number_of_its_choice() -> None:
    with refused("choice 1: option 2 was kept but not shown"):
        ChoiceData(X3, [((0, 1), (0,)), ((0, 1), (2,))])


@pytest.mark.parametrize("wrong", [None, 3, "ab", ((0, 1), (0,), 1), {"shown": [0, 1], "kept": [0]}])
def test_choice_that_is_neither_a_choice_nor_a_pair_is_refused(wrong: Any) -> None:
    with refused("choice 0: ", "is not a choice", r"Choice\(shown=..., kept=...\) or a pair"):
        ChoiceData(X3, [wrong])


def test_single_choice_instead_of_a_list_is_refused() -> None:
    with refused("choices is Choice", "a list of Choice"):
        ChoiceData(X3, Choice((0, 1), (0,)))  # type: ignore[arg-type]
    with refused("choices is Choice", "a list of Choice"):
        ChoiceData(X3).with_choices(Choice((0, 1), (0,)))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_input_that_is_not_finite_is_refused(value: float) -> None:
    with refused(r"X\[1, 0\] is " + str(value), "finite"):
        ChoiceData([[0.0, 1.0], [value, 0.5]])


@pytest.mark.parametrize("value", [-0.25, 1.00001, 180.0])
def test_input_outside_the_unit_cube_is_refused(value: float) -> None:
    with refused(rf"X\[1, 1\] = {value}", "unit cube", "scale", "unit_scaled"):
        ChoiceData([[0.0, 1.0], [0.5, value]])


def test_one_dimensional_X_is_refused() -> None:
    with refused(r"shape \(2,\)", r"reshape\(-1, 1\)", r"reshape\(1, -1\)"):
        ChoiceData([0.0, 1.0])


@pytest.mark.parametrize(
    ("X", "culprit"),
    [
        ([], "no options"),
        (np.empty((0, 3)), "no options"),
        (np.empty((3, 0)), "no columns"),
        (0.5, "0 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([[0.1, 0.2], [0.3]], "different lengths"),
        ([["0.1"], ["rye"]], "not numeric"),
        ([[0.1], [None]], "not numeric"),
        ([[0.1 + 1j]], "not numeric"),
    ],
)
def test_X_that_is_not_a_table_of_numbers_is_refused(X: Any, culprit: str) -> None:
    with refused("X", culprit, r"shape \(m, d\)"):
        ChoiceData(X)


# Identical options are one option


def test_identical_rows_are_merged_and_index_map_finds_them_again() -> None:
    data = ChoiceData([[0.3], [0.1], [0.3], [0.2], [0.1]], [((4, 2, 3), (2,))])
    assert data.X.ravel().tolist() == [0.3, 0.1, 0.2]
    assert data.index_map.tolist() == [0, 1, 0, 2, 1]
    assert data.choices == (Choice((1, 0, 2), (0,)),)


def test_copies_kept_together_or_rejected_together_collapse() -> None:
    data = ChoiceData([[0.3], [0.1], [0.3], [0.1]], [((0, 1, 2, 3), (0, 2))])
    assert data.choices == (Choice((0, 1), (0,)),)


def test_copies_of_which_one_was_kept_and_one_rejected_are_refused() -> None:
    X = [[0.3], [0.1], [0.3]]
    with refused("choice 1: it contradicts itself", "options 2 and 0", "identical", "one was kept", "rejected"):
        ChoiceData(X, [((0, 1), (0,)), ((0, 1, 2), (1, 2))])


def test_choice_that_shows_only_copies_of_one_option_is_refused() -> None:
    with refused("choice 0", r"\(0, 2\) are identical", "at least two different options"):
        ChoiceData([[0.3], [0.1], [0.3]], [((0, 2), (0, 2))])


@given(given_data())
@settings(max_examples=60, deadline=None)
def test_merging_changes_no_option_that_was_shown_kept_or_rejected(
    case: tuple[np.ndarray, list[Choice]],
) -> None:
    X, choices = case
    data = ChoiceData(X, choices)
    assert len({tuple(row) for row in data.X.tolist()}) == data.n_options
    np.testing.assert_array_equal(data.X[data.index_map], X)
    for before, after in zip(choices, data.choices, strict=True):
        for part in ("shown", "kept", "rejected"):
            given_rows = {tuple(X[index] + 0.0) for index in getattr(before, part)}
            merged_rows = [tuple(data.X[index]) for index in getattr(after, part)]
            assert set(merged_rows) == given_rows
            assert len(merged_rows) == len(given_rows)


# Adding and dropping choices


def test_append_returns_new_data_and_leaves_the_old_as_it_was() -> None:
    data = ChoiceData(X3)
    longer = data.append(Choice((0, 2), (2,)))
    assert longer.choices == (Choice((0, 2), (2,)),)
    assert data.n_choices == 0


def test_append_numbers_new_options_after_those_already_there() -> None:
    data = ChoiceData(X3).append(((4, 0, 3), (4,)), X_new=[[0.2, 0.2], [0.4, 0.4]])
    assert data.n_options == 5
    assert data.X[data.choices[0].kept[0]].tolist() == [0.4, 0.4]


def test_append_recognises_a_new_option_that_was_already_there() -> None:
    data = ChoiceData(X3).append(Choice((3, 4), (3,)), X_new=[X3[1], [0.2, 0.2]])
    assert data.index_map.tolist() == [0, 1, 2, 1, 3]
    assert data.choices == (Choice((1, 3), (1,)),)


def test_append_accepts_that_there_are_no_new_options() -> None:
    assert ChoiceData(X3).append(((0, 1), (0,)), X_new=np.empty((0, 2))).n_options == 3


def test_append_refuses_new_options_with_other_inputs() -> None:
    with refused("X_new has 1 columns", "the data has 2"):
        ChoiceData(X3).append(((0, 3), (0,)), X_new=[[0.5]])
    with refused("X_new has one dimension", r"reshape\(1, -1\)"):
        ChoiceData(X3).append(((0, 3), (0,)), X_new=[0.5, 0.5])
    with refused(r"X_new\[0, 1\] = 2.0", "unit cube"):
        ChoiceData(X3).append(((0, 3), (0,)), X_new=[[0.5, 2.0]])


def test_with_choices_adds_to_the_choices_already_there() -> None:
    data = ChoiceData(X3, [((0, 1), (0,))]).with_choices([Choice((1, 2), (2,)), ((0, 2), (0,))])
    assert [choice.kept for choice in data.choices] == [(0,), (2,), (0,)]


def test_without_undoes_append_when_no_option_was_new() -> None:
    data = ChoiceData(X3, [((0, 1), (0,))])
    assert data.append(Choice((1, 2), (2,))).without(1) == data


def test_subset_keeps_all_options_and_takes_choices_in_the_order_asked() -> None:
    data = ChoiceData(X3, [((0, 1), (0,)), ((1, 2), (2,)), ((0, 2), (0,))])
    part = data.subset(np.array([2, 0]))
    assert part.choices == (data.choices[2], data.choices[0])
    assert part.n_options == 3
    assert data.subset([]).n_choices == 0


@pytest.mark.parametrize("wrong", [2, -1, 0.0, True, "0"])
def test_number_of_no_choice_is_refused(wrong: Any) -> None:
    data = ChoiceData(X3, [((0, 1), (0,)), ((1, 2), (2,))])
    with refused(f"no choice {wrong!r} among 2 choices", "0 to 1"):
        data.without(wrong)
    with refused(f"no choice {wrong!r} among 2 choices", "0 to 1"):
        data.subset([0, wrong])


def test_dropping_a_choice_where_there_is_none_is_refused() -> None:
    with refused("no choice 0 among 0 choices", "there are no choices"):
        ChoiceData(X3).without(0)


def test_subset_by_a_single_number_is_refused() -> None:
    with refused("choice_indices is 0", "a list of whole numbers"):
        ChoiceData(X3, [((0, 1), (0,))]).subset(0)  # type: ignore[arg-type]


# From sets


def test_from_sets_merges_options_that_several_sets_show() -> None:
    data = ChoiceData.from_sets([X3[:2], [X3[2], X3[1], [0.2, 0.2]]], kept=[[0], np.array([1, 2])])
    assert data.n_options == 4
    assert data.choices == (Choice((0, 1), (0,)), Choice((2, 1, 3), (1, 3)))


def test_from_sets_refuses_what_does_not_fit_together() -> None:
    with refused("2 sets but 1 lists", "one list for each set"):
        ChoiceData.from_sets([X3, X3], kept=[[0]])
    with refused(r"kept\[1\] holds 3", "3 options were shown", "0 to 2"):
        ChoiceData.from_sets([X3, X3], kept=[[0], [3]])
    with refused(r"kept\[1\] holds -1", "0 to 2"):
        ChoiceData.from_sets([X3, X3], kept=[[0], [-1]])
    with refused(r"sets\[1\] has 1 columns", r"sets\[0\] has 2"):
        ChoiceData.from_sets([X3, [[0.1], [0.2]]], kept=[[0], [0]])
    with refused(r"sets\[1\]\[0, 1\] is nan", "finite"):
        ChoiceData.from_sets([X3, [[0.1, np.nan], [0.2, 0.2]]], kept=[[0], [0]])
    with refused(r"sets\[0\] has one dimension", "reshape"):
        ChoiceData.from_sets([[0.1, 0.2]], kept=[[0]])
    with refused("No sets", r"ChoiceData\(X, \[\]\)"):
        ChoiceData.from_sets([], kept=[])
    with refused("choice 1: nothing was kept"):
        ChoiceData.from_sets([X3, X3], kept=[[0], []])


# Scaling


def test_scaling_maps_each_column_to_zero_and_one() -> None:
    scaled = unit_scaled([[150, 5, 1], [220, 40, 1], [185, 5, 1]])
    np.testing.assert_allclose(scaled, [[0, 0, 0.5], [1, 1, 0.5], [0.5, 0, 0.5]])


def test_scaling_by_bounds_does_not_depend_on_the_other_options() -> None:
    bounds = [(100, 200), (3, 3)]
    np.testing.assert_allclose(unit_scaled([[150, 3]], bounds), [[0.5, 0.5]])
    np.testing.assert_allclose(unit_scaled([[150, 3], [200, 3]], bounds)[0], [0.5, 0.5])


@given(st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_scaled_options_are_always_accepted(rows: list[tuple[float, float]]) -> None:
    assert ChoiceData(unit_scaled(rows)).dim == 2


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ([(0, 1)], [r"shape \(1, 2\)", r"shape \(2, 2\)"]),
        ((0, 1), [r"shape \(2,\)", r"shape \(2, 2\)"]),
        ([(0, 1), (2,)], ["bounds is", r"shape \(2, 2\)"]),
        ([(0, 1), (3, 2)], [r"bounds\[1\] is \(3.0, 2.0\)", "lower first"]),
        ([(0, 1), (0, np.inf)], [r"bounds\[1\]", "finite"]),
        ([(0, 1), (2, 4)], [r"X\[0, 1\] = 1.5", r"outside its bounds \(2.0, 4.0\)", "widen"]),
    ],
)
def test_bounds_that_do_not_fit_are_refused(bounds: Any, words: list[str]) -> None:
    with refused(*words):
        unit_scaled([[0.5, 1.5]], bounds)


def test_data_errors_are_value_errors() -> None:
    with pytest.raises(ValueError, match="twice"):
        Choice((0, 0), (0,))
    assert issubclass(DataError, InvalidInputError)


def test_choices_load_nothing_heavier_than_numpy() -> None:
    program = "import sys, choicebo.choices; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "scipy", "moocore", "pandas", "matplotlib", "pydantic"} & set(loaded)
