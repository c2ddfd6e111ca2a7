"""Other ways of answering as data: what they are read as, and that the likelihood is that of the noise."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from choices_helpers import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import choicebo as cb
from choicebo.choices import Choice, ChoiceData

X4 = [[0.1], [0.3], [0.6], [0.9]]
LATENT = {
    1: np.array([[0.3], [-0.4], [0.9], [0.0]]),
    2: np.array([[0.3, 0.8], [-0.4, 0.1], [0.9, 0.5], [0.0, -0.6]]),
}
DRAWS = 200_000


def plain(data: ChoiceData) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(choice.shown, choice.kept) for choice in data.choices]


def beats(rng: np.random.Generator, latent: np.ndarray, a: int, b: int) -> np.ndarray:
    """Whether `a` seems at least as good as `b` in every objective, in draws of new noise for this comparison alone."""
    seen = latent[[a, b]] + rng.standard_normal((DRAWS, 2, latent.shape[1]))
    return np.asarray(np.all(seen[:, 0] >= seen[:, 1], axis=1))


def likelihood(latent: np.ndarray, data: ChoiceData) -> float:
    return math.exp(float(np.sum(cb.choice_log_likelihood(latent, data))))


def assert_probable(events: np.ndarray, expected: float) -> None:
    """The share of draws in which everything happened is what the likelihood says, to five standard errors."""
    error = math.sqrt(expected * (1 - expected) / len(events))
    assert abs(events.mean() - expected) < 5 * error


# What each is read as


def test_pairs_are_choices_of_one_among_two_and_undecided_ones_keep_both() -> None:
    data = ChoiceData.from_pairs(X4, np.array([[2, 0], [3, 1]]), undecided=[(0, 1)])
    assert plain(data) == [((2, 0), (2,)), ((3, 1), (3,)), ((0, 1), (0, 1))]


def test_a_ranking_is_repeated_choice_from_what_is_left() -> None:
    assert plain(ChoiceData.from_rankings(X4, [[2, 0, 3]])) == [((2, 0, 3), (2,)), ((0, 3), (0,))]


def test_of_a_ranking_of_the_first_few_the_others_come_after_them() -> None:
    data = ChoiceData.from_rankings(X4, [[2, 0]], shown=[[0, 1, 2, 3]])
    assert plain(data) == [((0, 1, 2, 3), (2,)), ((0, 1, 3), (0,))]


def test_options_at_one_place_of_a_ranking_are_kept_together() -> None:
    data = ChoiceData.from_rankings(X4, [[(1, 2), [0, 3]]])
    assert plain(data) == [((1, 2, 0, 3), (1, 2)), ((0, 3), (0, 3))]


def test_best_and_worst_say_two_k_minus_three_comparisons_and_none_twice() -> None:
    data = ChoiceData.from_best_worst(X4, [(3, 0, 1, 2)], best=[1], worst=[3])
    assert plain(data) == [((3, 0, 1, 2), (1,)), ((0, 3), (0,)), ((2, 3), (2,))]
    compared = [frozenset((kept[0], other)) for shown, kept in plain(data) for other in shown if other != kept[0]]
    assert len(compared) == len(set(compared)) == 2 * 4 - 3


def test_of_two_options_best_and_worst_say_what_a_pair_says() -> None:
    assert ChoiceData.from_best_worst(X4, [(0, 1)], [1], [0]) == ChoiceData.from_best(X4, [(0, 1)], [1])


def test_approvals_compare_with_the_baseline() -> None:
    by_dict = ChoiceData.from_approvals(X4, {1: True, 2: False, 3: None}, baseline=0)
    assert by_dict == ChoiceData.from_approvals(X4, [(1, True), (2, False), (3, None)], baseline=0)
    assert plain(by_dict) == [((1, 0), (1,)), ((0, 2), (0,)), ((3, 0), (3, 0))]


def test_ratings_compare_neighbouring_ratings_of_one_sitting_only() -> None:
    data = ChoiceData.from_ratings(X4, [{0: 5, 1: 1, 2: 3, 3: 3}, {0: 2, 1: 4}, {2: 1}, {}, {1: 2, 2: 2}])
    pairs = [((0, 2), (0,)), ((0, 3), (0,)), ((2, 1), (2,)), ((3, 1), (3,)), ((1, 0), (1,))]
    assert plain(data) == pairs


def test_a_weight_holds_for_everything_that_an_answer_is_read_as() -> None:
    data = ChoiceData.from_rankings(X4, [[2, 0, 3], [1, 0]], weights=[2.5, 1])
    assert [choice.weight for choice in data.choices] == [2.5, 2.5, 1.0]
    with refused("2 answers but 1 weights"):
        ChoiceData.from_rankings(X4, [[2, 0], [1, 0]], weights=[1])
    with refused("pair 1: weight is -1"):
        ChoiceData.from_pairs(X4, [(0, 1), (1, 2)], weights=[1, -1])


# The likelihood is that of the noise


@pytest.mark.parametrize("dim", [1, 2])
def test_likelihood_of_pairs_is_that_of_comparing_with_noise(dim: int) -> None:
    rng, latent = np.random.default_rng(0), LATENT[dim]
    decided = ChoiceData.from_pairs(X4, [(2, 0)])
    assert_probable(beats(rng, latent, 2, 0), likelihood(latent, decided))
    undecided = ChoiceData.from_pairs(X4, [], undecided=[(2, 0)])
    neither = ~beats(rng, latent, 2, 0) & ~beats(rng, latent, 0, 2)
    assert_probable(neither, likelihood(latent, undecided))


def test_with_one_objective_an_undecided_pair_is_half_the_chance_of_answering_differently_when_asked_twice() -> None:
    latent, data = LATENT[1], ChoiceData.from_pairs(X4, [], undecided=[(2, 0)])
    first = float(norm.cdf((latent[2, 0] - latent[0, 0]) / math.sqrt(2)))
    assert math.isclose(likelihood(latent, data), first * (1 - first), rel_tol=1e-9)


@pytest.mark.parametrize("dim", [1, 2])
def test_likelihood_of_a_ranking_is_that_of_looking_again_at_what_is_left(dim: int) -> None:
    rng, latent = np.random.default_rng(1), LATENT[dim]
    left, happened = [0, 1, 2, 3], np.ones(DRAWS, dtype=bool)
    for ranked in (2, 0):
        left.remove(ranked)
        for other in left:
            happened &= beats(rng, latent, ranked, other)
    data = ChoiceData.from_rankings(X4, [[2, 0]], shown=[[0, 1, 2, 3]])
    assert_probable(happened, likelihood(latent, data))


@pytest.mark.parametrize("dim", [1, 2])
def test_likelihood_of_best_and_worst_is_that_of_its_comparisons(dim: int) -> None:
    rng, latent = np.random.default_rng(2), LATENT[dim]
    happened = np.ones(DRAWS, dtype=bool)
    for better, worse in [(2, 0), (2, 1), (2, 3), (0, 1), (3, 1)]:
        happened &= beats(rng, latent, better, worse)
    data = ChoiceData.from_best_worst(X4, [(0, 1, 2, 3)], [2], [1])
    assert_probable(happened, likelihood(latent, data))


@pytest.mark.parametrize("dim", [1, 2])
def test_likelihood_of_ratings_and_approvals_is_that_of_their_comparisons(dim: int) -> None:
    rng, latent = np.random.default_rng(3), LATENT[dim]
    rated = beats(rng, latent, 2, 0) & beats(rng, latent, 2, 3) & beats(rng, latent, 0, 1) & beats(rng, latent, 3, 1)
    assert_probable(rated, likelihood(latent, ChoiceData.from_ratings(X4, [{2: 4, 0: 3, 3: 3, 1: 1}])))
    approved = beats(rng, latent, 2, 0) & beats(rng, latent, 0, 1)
    assert_probable(approved, likelihood(latent, ChoiceData.from_approvals(X4, {2: True, 1: False}, baseline=0)))


# Laws


@st.composite
def ranked(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """A ranking of some of the options shown, with ties."""
    shown = draw(st.permutations(range(7)))[: draw(st.integers(2, 7))]
    order = draw(st.permutations(shown))[: draw(st.integers(1, len(shown)))]
    places: list[list[int]] = []
    for option in order:
        if places and draw(st.booleans()):
            places[-1].append(option)
        else:
            places.append([option])
    return places, list(shown)


@given(ranked())
@settings(max_examples=60, deadline=None)
def test_a_ranking_can_be_told_from_its_choices(case: tuple[list[list[int]], list[int]]) -> None:
    places, shown = case
    data = ChoiceData.from_rankings(np.linspace(0, 1, 7)[:, None], [places], shown=[shown])
    found = [set(choice.kept) for choice in data.choices]
    said = [set(place) for place in places]
    # An option that is left alone is not asked about.
    assert found == said or (found == said[:-1] and sum(map(len, said)) == len(shown) and len(said[-1]) == 1)
    for earlier, later in zip(data.choices, data.choices[1:], strict=False):
        assert set(later.shown) == set(earlier.shown) - set(earlier.kept)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_ratings_imply_the_order_of_every_two_options_and_no_other(values: list[int]) -> None:
    X = np.linspace(0, 1, 6)[:, None]
    data = ChoiceData.from_ratings(X, [dict(enumerate(values))])
    better = np.zeros((6, 6), dtype=bool)
    for choice in data.choices:
        better[choice.kept[0], choice.rejected[0]] = True
    for middle in range(6):
        better |= better[:, [middle]] & better[[middle], :]
    for a, b in combinations(range(len(values)), 2):
        assert bool(better[a, b]) == (values[a] > values[b])
        assert bool(better[b, a]) == (values[b] > values[a])


# What is refused


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ChoiceData.from_pairs(X4, [(0, 1), (2, 2), (0, 9)]), ["2 pairs are wrong", "pair 1", "pair 2", "9"]),
        (lambda: ChoiceData.from_pairs(X4, [(0, 1, 2)]), ["pair 0", "not a pair", "winner"]),
        (lambda: ChoiceData.from_pairs(X4, "ab"), ["pairs is 'ab'", "list of pairs"]),
        (lambda: ChoiceData.from_pairs(X4, [(0, 1.5)]), ["pair 0", "whole numbers"]),
        (lambda: ChoiceData.from_best(X4, [(0, 1)], [2]), ["answer 0", "2 was kept but not shown"]),
        (lambda: ChoiceData.from_best(X4, [(0, 1), (1, 2)], [0]), ["2 in shown but 1 in best"]),
        (lambda: ChoiceData.from_best(X4, [(0, 1)], [None]), ["answer 0", "best is None"]),
        (lambda: ChoiceData.from_rankings(X4, [[0, 1, 0]]), ["ranking 0", "option 0 appears twice"]),
        (lambda: ChoiceData.from_rankings(X4, [[0]]), ["ranking 0", "at least two"]),
        (lambda: ChoiceData.from_rankings(X4, [[0, []]]), ["ranking 0", "empty place"]),
        (lambda: ChoiceData.from_rankings(X4, [[0, "1"]]), ["ranking 0", "'1'"]),
        (lambda: ChoiceData.from_rankings(X4, [[0, 3]], shown=[[0, 1]]), ["ranking 0", "3 was ranked but not shown"]),
        (lambda: ChoiceData.from_best_worst(X4, [(0, 1)], [0], [0]), ["answer 0", "both best and worst"]),
        (lambda: ChoiceData.from_best_worst(X4, [(0, 1)], [0], [2]), ["answer 0", "2 was named but not shown"]),
        (lambda: ChoiceData.from_approvals(X4, [(0, True)], baseline=0), ["approval 0", "twice"]),
        (
            lambda: ChoiceData.from_approvals(X4, [(1, "yes")], baseline=0),
            ["approval 0", "'yes'", "True, False or None"],
        ),
        (lambda: ChoiceData.from_approvals(X4, [1], baseline=0), ["approval 0", "not an approval"]),
        (lambda: ChoiceData.from_ratings(X4, [{0: 1, 1: math.nan}]), ["sitting 0", "rating is nan"]),
        (lambda: ChoiceData.from_ratings(X4, [[(0, 1), (0, 2)]]), ["sitting 0", "twice"]),
        (lambda: ChoiceData.from_ratings(X4, {0: 1}), ["a list with a dict"]),
        (lambda: ChoiceData.from_pairs([[0.1], [0.1], [0.2]], [(2, 0), (0, 1)]), ["pair 1", "identical"]),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused(build: Any, words: list[str]) -> None:
    with refused(*words):
        build()


def test_nothing_answered_is_data_without_choices() -> None:
    assert ChoiceData.from_pairs(X4, []).n_choices == 0
    assert ChoiceData.from_rankings(X4, []) == ChoiceData(X4)


def test_numbers_of_numpy_are_indices() -> None:
    assert ChoiceData.from_rankings(X4, np.array([[2, 0], [1, 3]])).choices[0] == Choice((2, 0), (2,))
    assert ChoiceData.from_approvals(X4, [(np.int64(1), np.True_)], baseline=np.int64(0)).choices[0].kept == (1,)
