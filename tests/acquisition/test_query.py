import numpy as np
import pytest
from acquisition_helpers import prior_draws, with_latent

import choicebo as cb
from choicebo.acquisition import ACQUISITIONS, query
from choicebo.acquisition.propose import believed_front, propose
from choicebo.model.choice_table import choice_table
from choicebo.model.draws import LatentDraws

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


def ask(draws, **changes):
    settings = {
        "size": 5,
        "new_count": 1,
        "companions": "dominated",
        "pending": np.empty((0, 2)),
        "avoid": draws.X,
        "seed": 0,
    }
    return propose(draws, SPACE, (ACQUISITIONS["ehvi"],), **{**settings, **changes})


def test_companions_are_those_of_the_front_most_likely_beaten_by_the_new_option():
    draws = prior_draws(m=30)
    proposal = ask(draws)
    assert proposal.new.tolist() == [True, False, False, False, False]
    front = {row.tobytes() for row in draws.X[believed_front(draws, np.arange(30))]}
    shown = {row.tobytes() for row in proposal.points[1:]}
    assert shown <= front or front <= shown


def doubted_draws(share):
    """Draws of 12 options: 0 to 7 are always the best, 8 belongs to them in this share of the draws, the others never do."""
    draws = prior_draws(m=12, nugget=1e-6)
    latent = np.empty((draws.count, 12, 2))
    latent[:, :8, 0] = np.arange(8.0)
    latent[:, :8, 1] = -np.arange(8.0)
    latent[:, 8] = np.where(np.arange(draws.count)[:, None] < share * draws.count, [3.5, -3.2], [2.5, -3.5])
    latent[:, 9:] = -20.0 - np.arange(3.0)[:, None]
    return with_latent(draws, latent)


def known_rows(draws, **changes):
    proposal = ask(draws, **changes)
    known = proposal.points[~proposal.new]
    return [int(np.flatnonzero((row == draws.X).all(1))[0]) for row in known]


@pytest.mark.parametrize("share", [0.2, 0.45])
def test_an_option_that_may_wrongly_be_taken_for_beaten_is_asked_about_again(share):
    draws = doubted_draws(share)
    assert 8 not in known_rows(draws, companions="dominated")
    for seed in range(3):
        rows = known_rows(draws, companions="doubted", seed=seed)
        assert rows.count(8) == 1
        assert len(rows) == 4
        assert sum(row < 8 for row in rows) == 3


def test_each_of_several_doubted_options_gets_its_turn():
    draws = doubted_draws(0.4)
    latent = draws.latent.copy()
    latent[:, 9] = latent[::-1, 8] + 0.01  # in other draws, and never at the same time
    draws = with_latent(draws, latent)
    rows = [known_rows(draws, companions="doubted", seed=seed) for seed in range(12)]
    assert all((8 in each) != (9 in each) for each in rows)
    assert any(8 in each for each in rows)
    assert any(9 in each for each in rows)


def test_where_nothing_is_doubted_the_rule_is_the_papers():
    draws = doubted_draws(0.1)
    assert known_rows(draws, companions="doubted") == known_rows(draws, companions="dominated")


@pytest.mark.parametrize(("new_count", "asked_about"), [(1, True), (2, True), (3, False), (4, False)])
def test_there_is_a_place_for_a_doubted_option_only_beside_two_of_the_front(new_count, asked_about):
    rows = known_rows(doubted_draws(0.4), companions="doubted", new_count=new_count)
    assert len(rows) == 5 - new_count
    assert (8 in rows) == asked_about


def test_a_small_front_is_filled_up_with_the_next_best_options():
    draws = prior_draws(m=6)
    latent = draws.latent.copy()
    latent[:, 0] = 50.0
    proposal = ask(with_latent(draws, latent))
    assert len(proposal.points) == 5
    assert len(np.unique(proposal.points, axis=0)) == 5


def test_several_new_options_keep_apart():
    draws = prior_draws(m=20)
    proposal = ask(draws, new_count=3)
    new = proposal.points[proposal.new]
    assert len(new) == 3
    assert min(np.abs(new[i] - new[j]).max() for i in range(3) for j in range(i)) > 0.01


def test_pending_options_are_neither_proposed_again_nor_crowded():
    draws = prior_draws(m=20)
    first = ask(draws).points[0]
    second = ask(draws, pending=first[None], avoid=np.vstack([draws.X, first])).points[0]
    assert np.abs(first - second).max() > 0.01


def test_an_exhausted_space_shows_known_options_and_says_so():
    space = cb.Space([cb.Integer("a", 0, 3), cb.Integer("b", 0, 3)])
    some = prior_draws(m=16)
    draws = LatentDraws.of(space.enumerate(), some.whitened, some.lengthscales, some.mixing, some.kernel, some.nugget)
    proposal = propose(
        draws,
        space,
        (ACQUISITIONS["ehvi"],),
        size=5,
        new_count=1,
        companions="dominated",
        pending=np.empty((0, 2)),
        avoid=draws.X,
        seed=0,
    )
    assert not proposal.new.any()
    assert len(proposal.points) == 5
    assert "already" in proposal.reason


def test_information_about_membership_is_zero_where_the_answer_is_no_news():
    member = np.random.default_rng(0).random((50, 4)) < 0.5
    same = np.tile([0.2, 0.5, 0.3], (50, 1))
    assert abs(query.membership_information(same, member)) < 1e-9


def test_an_answer_that_gives_membership_away_is_worth_its_entropy():
    member = np.random.default_rng(0).random((400, 1)) < 0.5
    telling = np.where(member, [[1.0, 0.0]], [[0.0, 1.0]])
    p = member.mean()
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    assert abs(query.membership_information(telling, member) - entropy) < 1e-9


def test_informative_companions_tell_at_least_as_much_as_the_paper_rule():
    draws = prior_draws(m=25)
    candidates, new = np.arange(24), np.array([24])
    member = query.memberships(draws.latent)
    told = {}
    for name, rule in (
        ("informative", query.most_informative(draws, new, candidates, 4, np.arange(25))),
        ("dominated", query.most_dominated(draws, new, candidates, 4)),
    ):
        told[name] = query.membership_information(choice_table(draws.latent[:, [24, *rule]]), member)
    assert told["informative"] >= told["dominated"]
