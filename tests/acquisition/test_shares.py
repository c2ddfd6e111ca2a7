import numpy as np
import pytest
from acquisition_helpers import prior_draws
from hypothesis import given
from hypothesis import strategies as st

import choicebo as cb
from choicebo.acquisition import ACQUISITIONS
from choicebo.acquisition.maximise import any_relatives
from choicebo.acquisition.propose import believed_front, propose
from choicebo.acquisition.shares import LEAST, allotted, shares, success

COUNTS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)).map(sorted), min_size=1, max_size=6)


@given(COUNTS)
def test_shares_sum_to_one_and_none_vanishes(counts):
    lasting, tried = zip(*counts, strict=True)
    found = shares(tried, lasting)
    assert found.sum() == pytest.approx(1.0)
    assert len(found) == len(counts) + 1
    assert found[:-1].min() >= min(LEAST, 1 / len(counts)) - 1e-12
    assert found[-1] >= 0
    assert found[-2] == pytest.approx(1 / len(counts)), "the last never loses"


def test_an_acquisition_that_finds_little_leaves_a_part():
    assert shares([20, 20], [2, 8])[2] > 0.2
    assert shares([80, 8], [8, 4])[2] > 0.2, "the rate counts, not the number"
    np.testing.assert_allclose(shares([20, 20], [8, 2]), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(shares([20, 20, 20], [8, 8, 8]), [1 / 3] * 3 + [0.0], atol=1e-12)
    assert shares([20], [0]).tolist() == [1.0, 0.0]


@given(COUNTS, st.floats(0.1, 1.0))
def test_a_modest_last_one_gets_more_as_others_fail_and_never_more_than_an_equal_share(counts, last):
    lasting, tried = zip(*counts, strict=True)
    found, equal = shares(tried, lasting, last), 1 / len(counts)
    assert found.sum() == pytest.approx(1.0)
    assert found[:-1].min() >= min(LEAST, last * equal) - 1e-12
    assert last * equal - 1e-12 <= found[-2] <= equal + 1e-12
    assert found[-1] == pytest.approx(0.0) or found[-2] == pytest.approx(equal), (
        "chance comes after the model's own choice"
    )


def test_a_modest_last_one_alone_finds_everything():
    assert shares([20], [0], last=0.5).tolist() == [1.0, 0.0]
    np.testing.assert_allclose(shares([20, 20, 20], [8, 8, 8], last=0.5), [5 / 12, 5 / 12, 1 / 6, 0.0], atol=1e-12)


@given(st.integers(1, 8), st.integers(0, 1000), COUNTS)
def test_everyone_is_allotted_its_share_up_to_a_fraction(count, seed, counts):
    share = shares(*zip(*[(tried, lasting) for lasting, tried in counts], strict=True))
    times = np.bincount(allotted(share, count, seed), minlength=len(share))
    assert times.sum() == count
    assert np.all(np.abs(times - count * share) < 1 + 1e-9)


def test_one_option_at_a_time_is_allotted_by_the_share():
    times = np.bincount([allotted(np.array([0.3, 0.7]), 1, seed)[0] for seed in range(2000)])
    assert times / 2000 == pytest.approx([0.3, 0.7], abs=0.04)


def test_only_options_with_an_answer_count():
    X = np.arange(8.0).reshape(4, 2)
    found_by = {"ehvi": np.vstack([X[:2], [[9.0, 9.0]]]), "variation": X[2:3]}
    assert success(found_by, ["ehvi", "variation", "ucb"], X, X[1:3]) == ([2, 1, 0], [1, 1, 0])


def test_an_acquisition_whose_options_are_all_beaten_is_asked_less(monkeypatch):
    drawn = []

    def noted(*given):
        drawn.append(any_relatives(*given))
        return drawn[-1]

    monkeypatch.setattr("choicebo.acquisition.propose.any_relatives", noted)
    draws = prior_draws(m=30)
    front = believed_front(draws, np.arange(30))
    beaten = np.setdiff1d(np.arange(30), front)
    both = (ACQUISITIONS["ehvi"], ACQUISITIONS["variation"])

    def times(found_by):
        found = []
        for seed in range(12):
            proposal = propose(
                draws,
                cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)]),
                both,
                size=5,
                new_count=2,
                companions="dominated",
                pending=np.empty((0, 2)),
                avoid=draws.X,
                seed=seed,
                found_by=found_by,
            )
            assert proposal.strategy == "+".join(proposal.found_by)
            found += proposal.found_by
        return found.count("ehvi"), found.count("variation")

    ehvi_at_first, variation_at_first = times(None)
    assert ehvi_at_first >= 12 > variation_at_first > 0, "the first of two is always expected improvement's"
    assert not drawn, "with nothing left over the model chooses every option"
    ehvi, variation = times({"ehvi": draws.X[beaten], "variation": draws.X[front]})
    assert variation > 2 * ehvi > 0
    assert len(drawn) == variation - 12, "what was left is drawn, variation's own half is not"
    drawn.clear()
    assert times({"ehvi": draws.X[front], "variation": draws.X[beaten]}) == (ehvi_at_first, variation_at_first)
    assert not drawn
