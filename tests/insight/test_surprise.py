"""Answers unlike the others."""

import numpy as np
import pytest
from insight_helpers import believing, believing_otherwise, tastes

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.insight import held_out, surprises


def test_a_wrong_answer_comes_first_and_is_worth_a_second_look(slipped):
    number, posterior = slipped
    found = surprises(posterior, refits=0)
    assert found[0].choice == number
    assert found[0].noteworthy
    assert sum(each.noteworthy for each in found) == 1


def test_a_slip_that_the_model_has_learned_from_is_found_with_the_answer_that_it_clashes_with():
    """Nothing but a fit without the slip knows better: the fit with it has made room for it."""
    taste = np.sin(5 * (X := np.linspace(0, 1, 12)[:, None])[:, 0])
    rng, choices = np.random.default_rng(3), []
    for _ in range(24):
        shown = rng.choice(12, 3, replace=False)
        choices.append(cb.Choice(shown, [shown[np.argmax(taste[shown])]]))
    slip = max(range(24), key=lambda at: np.ptp(taste[list(choices[at].shown)]))
    shown = choices[slip].shown
    choices[slip] = cb.Choice(shown, [min(shown, key=lambda i: taste[i])])
    data = cb.ChoiceData(X, choices)
    found = surprises(cb.ChoiceGP(latent_dim=1, engine="laplace").fit_silently(data))
    assert [each.choice for each in found if each.noteworthy] == [slip]
    worst = found[0]
    assert worst.against is not None
    assert worst.against != slip
    assert f"clashes most with answer {worst.against + 1}" in worst.sentence
    mine, other = choices[slip], choices[worst.against]
    assert worst.disputed
    assert all((i in mine.kept) != (i in other.kept) for i in worst.disputed)


def test_the_same_rarity_is_more_of_a_surprise_from_a_person_who_is_always_predictable(bread_data):
    sure = surprises(believing(bread_data, tastes, spread=0.7), refits=0)
    unsure = surprises(believing(bread_data, tastes, spread=4.0), refits=0)

    def ratio(found):
        return np.median([each.surprise / -np.log(each.rarity) for each in found if each.rarity < 0.99])

    assert ratio(sure) > ratio(unsure)


def test_every_answer_is_judged_once_and_consistent_ones_are_not_mentioned(bread_posterior):
    found = surprises(bread_posterior, refits=0)
    assert sorted(each.choice for each in found) == list(range(60))
    assert all(each.surprise >= 0 and 0 < each.probability < 1 and 0 < each.rarity <= 1 for each in found)
    assert not any(each.noteworthy for each in found)
    assert all("agrees" in each.sentence or "within" in each.sentence for each in found)


def test_the_option_that_causes_it_is_named_with_what_was_done_to_it(slipped):
    number, posterior = slipped
    worst = surprises(posterior, refits=0)[0]
    choice = posterior.data.choices[number]
    assert choice.shown[worst.position] == worst.option
    kept = worst.option in choice.kept
    assert ("you kept" if kept else "you left out") in worst.sentence
    assert (worst.position in worst.expected) != kept
    assert "take it back" in worst.sentence


def test_options_are_called_by_their_names(slipped):
    _, posterior = slipped
    names = [f"loaf {i}" for i in range(posterior.data.n_options)]
    worst = surprises(posterior, names, refits=0)[0]
    assert f"loaf {worst.option}" in worst.sentence
    with pytest.raises(InvalidInputError, match="labels must name"):
        surprises(posterior, names[:-1])


def test_one_call_takes_the_answer_back(slipped):
    number, posterior = slipped
    rest = surprises(posterior, refits=0)[0].retract(posterior.data)
    assert rest == posterior.data.without(number)


def test_too_few_answers_surprise_nobody(two_answers):
    assert surprises(two_answers) == []


def test_sets_too_large_to_go_through_are_passed_over(bread_data):
    X = bread_data.X
    large = cb.Choice(range(11), range(3))
    found = surprises(believing(cb.ChoiceData(X, [large, *bread_data.choices[:8]]), tastes), refits=0)
    assert sorted(each.choice for each in found) == list(range(1, 9))


def test_an_answer_that_one_chain_alone_expects_surprises_the_others():
    """Three chains of four think the opposite; weights of other draws would let the fourth speak for its own answer."""
    data = cb.ChoiceData([[0.0], [1.0]], [cb.Choice((0, 1), (0,))] * 6)
    right, wrong = (lambda X, sign=sign: np.where(X < 0.5, sign, -sign) for sign in (4.0, -4.0))
    found = surprises(believing_otherwise(data, right, wrong, wrong, wrong, draws=60), refits=0)
    assert all(each.expected == (1,) for each in found)
    assert all(each.probability < 0.02 for each in found)


def test_many_answers_are_judged_by_fewer_draws_with_nearly_the_same_result(bread_posterior, monkeypatch):
    every = held_out.expectations(bread_posterior)
    monkeypatch.setattr(held_out, "_WORK", 1)
    some = held_out.expectations(bread_posterior)
    assert [each.choice for each in some] == [each.choice for each in every]
    away = [0.5 * np.abs(a.probabilities - b.probabilities).sum() for a, b in zip(some, every, strict=True)]
    assert 0.0 < np.mean(away) < 0.08
    assert all(np.isclose(each.probabilities.sum(), 1.0) for each in some)
