"""What suits several people: all of them, each of them, and where they differ."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.insight import PeopleInsight, agreement
from choicebo.model.draws import memberships
from choicebo.model.random_answers import AT_RANDOM

SPACE = cb.Space([cb.Real("sweet", 0, 1), cb.Real("salt", 0, 1)])


def asked(people: dict[str | None, float | None], answers: int, options: int = 24, seed: int = 0) -> cb.ChoiceData:
    """People who all like it sweet, and each their own amount of salt; None: who answers at random."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((options, 2)), 2)
    choices = []
    for _ in range(answers):
        for name, salt in people.items():
            shown = rng.choice(options, 4, replace=False)
            worth = -((X[shown, 0] - 0.7) ** 2) - 2 * (X[shown, 1] - (salt or 0.0)) ** 2
            best = int(rng.integers(4) if salt is None else worth.argmax())
            choices.append(cb.Choice(tuple(map(int, shown)), (int(shown[best]),), rater=name))
    return cb.ChoiceData(X, choices)


def found_of(data: cb.ChoiceData) -> PeopleInsight:
    return agreement(cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, seed=0), SPACE)


@pytest.fixture(scope="module")
def two() -> PeopleInsight:
    return found_of(asked({"Ann": 0.1, "Bo": 0.9}, 20))


@pytest.fixture(scope="module")
def four() -> PeopleInsight:
    """Three who want nearly the same, and one whom the model takes for answering at random."""
    data = asked({"Ann": 0.5, "Bo": 0.5, "Cy": None, "Dee": 0.5}, 16, options=12)
    fitted = cb.ChoiceGP(latent_dim=1, engine="laplace").fit(data, seed=0)
    lapses = np.where([name == "Cy" for name in fitted.people.names], AT_RANDOM, fitted.spec.lapse)
    return agreement(dataclasses.replace(fitted, people=fitted.people._replace(lapses=lapses)), SPACE)


def test_sentences_say_what_people_agree_and_differ_about(two: PeopleInsight) -> None:
    assert any("Ann and Bo" in told and "differ about salt" in told for told in two.sentences)
    assert not any("differ about sweet" in told or "agree about salt" in told for told in two.sentences)


def test_the_first_sentence_is_the_share_of_personal_taste(two: PeopleInsight, four: PeopleInsight) -> None:
    for each in (two, four):
        assert "of what decides the answers is personal taste (between" in each.sentences[0]
        assert 0 <= each.share[1] <= each.share[0] <= each.share[2] <= 1
    assert two.share[0] > four.share[0]


def test_everybody_has_a_set_of_their_own(two: PeopleInsight) -> None:
    salt = {name: np.mean([each.option["salt"] for each in two.of(name)]) for name in two.names}
    assert salt["Ann"] < 0.5 < salt["Bo"]
    assert two.consensus
    with pytest.raises(InvalidInputError, match="'Ann', 'Bo'"):
        two.of("nobody")


def test_options_that_divide_are_kept_by_some(two: PeopleInsight) -> None:
    most = two.dividing[0]
    assert two.keepers(most) in (("Ann",), ("Bo",))
    assert most.spread == pytest.approx(np.std(most.by_person))
    assert not two.for_everybody
    assert any("No option seen so far is probably acceptable to everybody" in told for told in two.sentences)


def test_what_suits_everybody_leaves_out_who_answers_at_random(four: PeopleInsight) -> None:
    assert four.at_random == ("Cy",)
    assert "Cy seems to answer at random and counts for little." in four.sentences
    best = four.compromise
    others = [share for name, share in zip(four.names, best.by_person, strict=True) if name != "Cy"]
    assert 0 < best.everybody <= min(others)
    assert best.spread == pytest.approx(np.std(others))
    X, draws = four.posterior.options, four.posterior.draws.count
    sets = [memberships(four.posterior.sample(X, draws, rater=name)) for name in ("Ann", "Bo", "Dee")]
    assert best.everybody == pytest.approx(np.all(sets, axis=0).mean(0)[best.row])


def test_who_keeps_which_of_two(two: PeopleInsight) -> None:
    ann, bo = two.who_keeps({"sweet": 0.7, "salt": 0.1}, {"sweet": 0.7, "salt": 0.9})
    assert (ann.name, bo.name) == ("Ann", "Bo")
    assert ann.first > 0.8
    assert bo.second > 0.8
    assert sum(ann[1:]) == pytest.approx(1)


def test_it_is_plain_data(four: PeopleInsight) -> None:
    plain = json.loads(json.dumps(four.to_dict()))
    assert [each["name"] for each in plain["people"]] == list(four.names)
    assert [each["at_random"] for each in plain["people"]] == [False, False, True, False]
    assert len(plain["matrix"]["mean"]) == 4
    assert plain["own"].keys() == set(four.names)


def test_a_person_with_one_answer_is_told_of(two: PeopleInsight) -> None:
    data = asked({"Ann": 0.1, "Bo": 0.9}, 8)
    once = cb.ChoiceData(data.X, [*data.choices, cb.Choice((0, 1, 2), (0,), rater="Cy")])
    found = found_of(once)
    assert found.answers == (8, 8, 1)
    assert any("Cy gave fewer than 3 answers" in told for told in found.sentences)
    assert found.of("Cy")


def test_choices_without_a_rater_are_one_unnamed_person() -> None:
    found = found_of(asked({None: 0.1, "Bo": 0.9}, 6))
    assert found.names == ("unnamed", "Bo")
    assert found.of("unnamed")


def test_many_people_with_two_answers_each() -> None:
    people: dict[str | None, float | None] = {f"p{number}": 0.1 + 0.8 * (number % 2) for number in range(12)}
    data = asked(people, 2)
    found = found_of(data)
    assert len(found.names) == 12
    assert "12 people gave fewer than 3 answers" in found.sentences[-1]
    assert len(found.sentences) < 10


@pytest.mark.slow
def test_five_hundred_people_with_two_answers_each() -> None:
    people: dict[str | None, float | None] = {f"p{number}": 0.1 + 0.8 * (number % 2) for number in range(500)}
    found = found_of(asked(people, 2, options=400))
    assert len(found.names) == 500
    assert len(found.options) <= 300
    assert len(found.sentences) < 10
    keeping = found.who_keeps({"sweet": 0.7, "salt": 0.1}, {"sweet": 0.7, "salt": 0.9})
    assert np.mean([each.first for each in keeping[::2]]) > np.mean([each.first for each in keeping[1::2]])


def test_a_model_of_one_person_is_refused() -> None:
    data = asked({"Ann": 0.1}, 4)
    with pytest.raises(InvalidInputError, match="does not tell people apart"):
        found_of(data)


def test_another_space_is_refused(two: PeopleInsight) -> None:
    with pytest.raises(InvalidInputError, match="The space has 1 columns"):
        agreement(two.posterior, cb.Space([cb.Real("sweet", 0, 1)]))
