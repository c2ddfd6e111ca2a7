"""Options are encoded once, and what a model is reduced to for one person is remembered."""

import dataclasses

import numpy as np
import pytest

import choicebo as cb
from choicebo.optimizer import encoded, prospect
from choicebo.optimizer.encoded import EncodedOptions, key_of
from choicebo.optimizer.recent import Recent
from choicebo.optimizer.situation import Situation
from choicebo.study import Study

SPACE = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1)])


def test_the_text_of_an_option_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(encoded, "key_of", lambda option: made.append(option) or key_of(option))
    known, option = EncodedOptions(), {"a": 0.5, "b": 0.25}
    assert known.key(option) == known.key(option) == key_of({"b": 0.25, "a": 0.5})
    assert len(made) == 1
    assert known.key(dict(option)) == known.key(option)
    assert len(made) == 2  # another object, which might have been another option


def test_options_of_a_history_that_was_left_behind_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded, "_MOST", 3)
    known = EncodedOptions()
    for number in range(10):
        assert known.key({"a": number}) == key_of({"a": number})
        assert len(known._keys) <= 3


def test_each_option_is_encoded_once() -> None:
    asked: list[int] = []

    class Counted(cb.Space):
        def encode(self, options):
            asked.append(len(options))
            return super().encode(options)

    space, known = Counted([cb.Real("a", 0, 1)]), EncodedOptions()
    options = {key_of(each): each for each in ({"a": 0.25}, {"a": 0.5})}
    first = known.points(space, options)
    again = known.points(space, {**options, key_of({"a": 1.0}): {"a": 1.0}})
    assert asked == [2, 1]
    np.testing.assert_array_equal([*first.values(), again[key_of({"a": 1.0})]], [[0.25], [0.5], [1.0]])


def test_a_person_is_asked_twice_by_one_sketch_and_another_person_by_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr(prospect, "_sketches", Recent(most=64))
    with Study.create(tmp_path / "s.db", "s", SPACE, latent_dim=1, engine="laplace", query_size=3) as study:
        for rater in ("ann", "bob"):
            study.add_rater(rater)
            for number in range(3):
                kept = [int(rater == "bob")]  # they agree on nothing
                study.add([{"a": number / 3, "b": 0.2}, {"a": 0.9, "b": number / 4}], kept=kept, rater=rater)
        asking = study._asking
        with asking._events.reading() as state:
            of = {name: asking.situation_of(state, name, asking.wishes(name)) for name in ("ann", "bob")}
        model = of["ann"].fit()
        made: list[str] = []
        asked = type(model).asked
        monkeypatch.setattr(type(model), "asked", lambda self, rater: made.append(rater) or asked(self, rater))
        ann = [of["ann"].quick_prospect(6).quick_question(model) for _ in range(2)]
        bob = of["bob"].quick_prospect(6).quick_question(model)
        assert made == ["ann", "bob"]
        assert ann[0] == ann[1] != bob
        # Another model of the same people is reduced anew.
        study.add([{"a": 0.1, "b": 0.1}, {"a": 0.3, "b": 0.9}], kept=[0], rater="ann")
        with asking._events.reading() as state:
            later = asking.situation_of(state, "ann", asking.wishes("ann"))
        later.quick_prospect(7).quick_question(later.fit())
        assert made == ["ann", "bob", "ann"]


def test_a_beginning_of_the_history_is_told_apart_once_and_anew_when_it_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    optimizer = cb.ChoiceOptimizer(SPACE, latent_dim=1, engine="laplace", query_size=3, initial_queries=9)
    for kept in ([0], [1], [2]):
        optimizer.tell(optimizer.ask(), kept)
    made: list[int] = []
    gathered = Situation._gathered
    monkeypatch.setattr(Situation, "_gathered", lambda self, n: made.append(n) or gathered(self, n))
    two = optimizer.situation.fingerprint(2)
    optimizer.tell(optimizer.ask(), [0])
    assert optimizer.situation.fingerprint(2) == two
    assert made == [2]
    optimizer.undo(3)  # one answer is left
    question = optimizer.ask()
    optimizer.tell(question, [0])
    assert optimizer.situation.fingerprint(2) != two
    optimizer.undo()
    optimizer.tell(optimizer.open_queries[0], [1])
    assert optimizer.situation.fingerprint(2) == two


def test_an_event_is_read_once_and_told_apart_by_what_happened_and_not_by_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = cb.ChoiceOptimizer(SPACE, latent_dim=1, initial_queries=3)
    optimizer.tell(optimizer.ask(), [0])
    asked, answered = optimizer.situation.events
    known, made = EncodedOptions(), []
    content_of = encoded.content_of
    monkeypatch.setattr(encoded, "content_of", lambda event: made.append(event) or content_of(event))
    assert known.content(answered) == known.content(answered) != known.content(asked)
    assert made == [answered, asked]
    assert known.content(dataclasses.replace(answered, kept=(1,))) != known.content(answered)
    assert known.content(dataclasses.replace(answered, rater="bo")) == known.content(answered)
    shorter = dataclasses.replace(asked, question=dataclasses.replace(asked.question, options=asked.options[:2]))
    assert known.content(shorter) != known.content(asked)
