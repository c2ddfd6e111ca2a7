from __future__ import annotations

from collections import Counter

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_helpers import choice_data, law

import choicebo as cb
from choicebo.model.batching import SLOTS, make_batch, option_capacity

N_OPTIONS = 30


@st.composite
def data_sets(draw, winners=False):
    choices = []
    for _ in range(draw(st.integers(1, 12))):
        shown = draw(st.lists(st.integers(0, N_OPTIONS - 1), min_size=2, max_size=10, unique=True))
        kept = draw(st.integers(1, 1 if winners else len(shown)))
        choices.append((shown, shown[:kept]))
    return choice_data(N_OPTIONS, choices)


def implied(data):
    """Brute force: (choice, rejected option, kept options) and (choice, unordered pair of kept options)."""
    rejections, pairs = Counter(), Counter()
    for number, choice in enumerate(data.choices):
        for option in choice.shown:
            if option not in choice.kept:
                rejections[number, option, frozenset(choice.kept)] += 1
            for other in choice.kept:
                if option in choice.kept and option < other:
                    pairs[number, frozenset((option, other))] += 1
    return rejections, pairs


def found(batch, rows):
    """The same, read from the events of positive weight."""
    rejections, pairs = Counter(), Counter()
    for group in batch.rejections:
        for at in np.flatnonzero(group.weight):
            kept = rows[group.kept[group.used[:, at], at]]
            assert len(set(kept)) == len(kept)
            rejections[int(group.choice[at]), int(rows[group.rejected[at]]), frozenset(kept.tolist())] += 1
    both = batch.coexistences
    for at in np.flatnonzero(both.weight):
        pair = frozenset({int(rows[both.first[at]]), int(rows[both.second[at]])})
        pairs[int(both.choice[at]), pair] += 1
    return rejections, pairs


def shapes(batch):
    return tuple(np.shape(leaf) for leaf in jax.tree.leaves(batch))


@law
@given(data_sets())
def test_every_comparison_that_a_choice_implies_appears_exactly_once(data):
    batch, rows = make_batch(data)
    assert found(batch, rows) == implied(data)


@law
@given(data_sets())
def test_only_the_options_shown_are_in_the_batch(data):
    batch, rows = make_batch(data)
    shown = sorted({option for choice in data.choices for option in choice.shown})
    assert rows.tolist() == shown
    assert batch.option_used.sum() == len(shown)
    np.testing.assert_array_equal(batch.X[batch.option_used], data.X[shown])


@law
@given(data_sets())
def test_every_choice_has_the_probability_of_a_random_answer(data):
    batch, _ = make_batch(data)
    assert batch.choice_used.sum() == len(data)
    expected = [1 / (2 ** len(choice.shown) - 1) for choice in data.choices]
    np.testing.assert_allclose(np.exp(batch.log_uniform[batch.choice_used]), expected, rtol=1e-5)


@law
@given(data_sets(winners=True))
def test_a_batch_preference_is_one_contest_per_choice_and_nothing_else(data):
    batch, rows = make_batch(data, "batch_preference")
    contests = batch.contests
    assert not batch.rejections
    assert not batch.coexistences.weight.any()
    at = np.flatnonzero(contests.weight)
    assert contests.choice[at].tolist() == list(range(len(data)))
    assert rows[contests.rejected[at]].tolist() == [choice.kept[0] for choice in data.choices]
    losers = [rows[contests.kept[contests.used[:, k], k]].tolist() for k in at]
    assert losers == [list(choice.rejected) for choice in data.choices]


def repeated(count, size, kept):
    rng = np.random.default_rng(0)
    sets = [rng.choice(N_OPTIONS, size, replace=False) for _ in range(count)]
    return [(shown, shown[:kept]) for shown in sets]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 130, 300])
@pytest.mark.parametrize(
    ("size", "kept"),
    [(2, 1), (2, 2), (3, 2), (5, 5), (5, 1), (5, 4), (6, 6), (10, 1), (10, 5), (10, 10), (13, 12), (15, 15)],
)
def test_extreme_data_fit_into_their_arrays(count, size, kept):
    data = choice_data(N_OPTIONS, repeated(count, size, kept))
    batch, _ = make_batch(data)
    rejections, pairs = implied(data)
    assert sum(int(group.weight.sum()) for group in batch.rejections) == rejections.total()
    assert int(batch.coexistences.weight.sum()) == pairs.total()
    assert batch.choice_used.sum() == count


def test_mixed_extremes_fit_into_their_arrays():
    choices = [c for size in range(2, 11) for kept in range(1, size + 1) for c in repeated(3, size, kept)]
    data = choice_data(N_OPTIONS, [*choices, *repeated(2, 13, 12)])
    batch, rows = make_batch(data)
    assert found(batch, rows) == implied(data)
    assert {len(group.kept) for group in batch.rejections} == set(SLOTS)


@pytest.mark.parametrize("kept", [1, 5, None], ids=["one kept", "all kept", "any number kept"])
@pytest.mark.parametrize("options", ["one new option a choice", "all options at once"])
def test_a_growing_data_set_needs_few_array_shapes(kept, options):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 2))
    choices, seen = [], set()
    for count in range(1, 121):
        pool = 20 + count if options == "one new option a choice" else len(X)
        shown = rng.choice(pool, 5, replace=False)
        choices.append(cb.Choice(shown, shown[: kept or rng.integers(1, 6)]))
        if count >= 20:
            seen.add(shapes(make_batch(cb.ChoiceData(X, choices))[0]))
    assert len(seen) <= 8


def test_one_larger_answer_among_equal_sets_changes_no_shape():
    small = repeated(30, 4, 1)
    assert shapes(make_batch(choice_data(N_OPTIONS, [*small, ((0, 1, 2, 3, 4), (0, 1, 2, 3))]))[0]) == shapes(
        make_batch(choice_data(N_OPTIONS, [*small, ((0, 1, 2, 3), (0, 1))]))[0]
    )


@law
@given(st.integers(0, 5000))
def test_the_room_for_options_suffices_and_wastes_little(count):
    capacity = option_capacity(count)
    assert count <= capacity <= max(32, count + 127)
