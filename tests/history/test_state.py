"""The state that events add up to, applied one by one, against rules written down a second time, over whole histories."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choicebo.errors import AlreadyAnsweredError, StudyError
from choicebo.history import Event, Question, State, rules

RATERS = ("owner", "ann")
PAIR = ({"x": 1}, {"x": 2})
DEEDS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "answer", "answer", "skip", "correct", "undo", "retract", "restore", "add"]),
        st.sampled_from(RATERS),
        st.integers(0, 30),
    ),
    min_size=20,
    max_size=40,
)
many = settings(max_examples=150)


def question(number):
    options = [{"x": number}, {"x": -number}, {"x": number + 0.5}]
    return Question(number, options, "So.", (True, True, True), ("sobol",))


def grown(deeds):
    """The state and the events after deeds that can be done; the others are left out."""
    state = State()
    for kind, rater, number in deeds:
        events = []
        try:
            if kind == "ask":
                events = [rules.ask(state, question(state.next_id), rater, None, 0, 0)]
            elif kind in ("answer", "skip", "correct"):
                kept = None if kind == "skip" else [number % 3]
                id = 1 + number % min(max(len(state.questions), 1), 4)  # few, so that much happens to each
                events = [rules.answer(state, id, kept, at=None, correction=kind == "correct")]
                events = [event for event in events if event.position > state.position]
            elif kind == "undo":
                events = rules.undo(state, rater, None)
            elif kind in ("retract", "restore"):
                acts = state.acts()[-4:]
                act = acts[number % len(acts)] if acts else None
                amended = act and rules.amend(
                    state, act.position, "retraction" if kind == "retract" else "restoration", None
                )
                events = [amended] if amended else []
            else:
                events = rules.add(state, [rules.Added(PAIR, (0,))] * (1 + number % 2), rater, None)
        except StudyError:
            continue
        for event in events:
            state.apply(event)
    return state


def told_again(events):
    """The same rules, told in the simplest way: walk through everything for every question."""
    undone = {event.target for event in events if event.kind == "undo"}
    hidden = set()
    for event in events:
        if event.kind == "retraction":
            hidden.add(event.target)
        elif event.kind == "restoration":
            hidden.discard(event.target)
    standing, open_ids = [], []
    for event in events:
        if event.kind == "question":
            acts = [
                act
                for act in events
                if act.kind in ("answer", "correction", "skip")
                and act.target == event.position
                and act.position not in undone
            ]
            if not acts:
                open_ids.append(event.question.id)
            elif acts[-1].kind != "skip" and acts[-1].position not in hidden:
                standing.append(acts[-1])
        elif event.kind == "addition" and event.position not in undone | hidden:
            standing.append(event)
    return sorted(event.position for event in standing), open_ids


@many
@given(DEEDS)
def test_one_by_one_is_the_same_as_all_at_once(deeds):
    state = grown(deeds)
    events = list(state.events.values())
    standing, open_ids = told_again(events)
    assert [asked.id for asked in state.open_questions()] == open_ids
    assert state.n_answers() == len(standing)
    for rater in RATERS:
        assert state.n_answers(rater) == sum(state.events[position].rater == rater for position in standing)
        assert [q.id for q in state.open_questions(rater)] == [
            id for id in open_ids if state.question(id).rater == rater
        ]
    answers = {answer.id for answer in map(state.answer, state.acts()) if answer.counts}
    assert answers == set(standing)
    assert State(events).learned_until == state.learned_until
    there = [act.position for act in state.acts() if act.position not in state.undone]
    assert [act.position for act in state.latest_acts(stop=None)] == there[::-1]
    assert state.n_acts() == len(there)


@many
@given(DEEDS)
def test_the_effective_history_teaches_the_same_and_nothing_in_it_is_taken_back(deeds):
    state = grown(deeds)
    shorter = State(state.effective())
    assert {event.kind for event in shorter.events.values()} <= {"question", "answer", "skip", "addition"}
    assert shorter.n_answers() == state.n_answers()
    assert len(shorter.questions) == len(state.questions)
    assert [q.id for q in shorter.open_questions()] == [q.id for q in state.open_questions()]

    def taught(each):
        return [(each.answer(act).options, act.kept) for act in each.acts() if each.answer(act).counts]

    assert taught(shorter) == taught(state)
    assert shorter.effective() == state.effective()
    alone = State(state.effective("ann"))
    assert alone.n_answers() == state.n_answers("ann")
    assert list(alone.questions) == list(range(1, 1 + sum(q.asked.rater == "ann" for q in state.questions.values())))


@many
@given(DEEDS, st.sampled_from(RATERS))
def test_undo_takes_back_the_latest_act_of_a_rater_and_what_came_with_it(deeds, rater):
    state = grown(deeds)
    latest = state.latest_acts(rater)
    events = rules.undo(state, rater, None)
    assert bool(events) == bool(latest)
    if not latest:
        return
    assert events[-1].target == latest[0].position
    before = state.n_acts(rater)
    for event in events:
        state.apply(event)
    assert state.n_acts(rater) == before - len(events)
    if latest[0].kind != "addition":
        assert len(events) == 1


def test_what_changes_nothing_to_learn_from_makes_no_new_result():
    state = State()
    state.apply(rules.ask(state, question(1), "owner", None, 0, 0))
    assert state.learned_until == 0
    state.apply(rules.answer(state, 1, [0], at=None))
    assert state.learned_until == 2
    state.apply(rules.ask(state, question(2), "owner", None, 0, 0))
    state.apply(rules.answer(state, 2, None, at=None))
    assert state.learned_until == 2
    state.apply(rules.amend(state, 2, "retraction", None))
    assert state.learned_until == 5


def test_an_answer_that_is_there_already_is_found_and_another_refused():
    state = State()
    state.apply(rules.ask(state, question(1), "ann", None, 0, 0))
    told = rules.answer(state, 1, [2, 0], at=None)
    state.apply(told)
    assert told.rater == "ann"
    assert rules.answer(state, 1, (0, 2), at=None) is told
    with pytest.raises(AlreadyAnsweredError, match=r"answered with \[0, 2\] already") as refused:
        rules.answer(state, 1, [1], at=None)
    assert (refused.value.question, refused.value.kept) == (1, (0, 2))
    with pytest.raises(StudyError, match="asked to 'ann'"):
        rules.answer(state, 1, [1], at=None, rater="owner")


def test_a_retracted_answer_may_be_sent_again_as_a_correction():
    state = State()
    state.apply(rules.ask(state, question(1), "owner", None, 0, 0))
    state.apply(rules.answer(state, 1, [0], at=None))
    state.apply(rules.amend(state, 2, "retraction", None))
    assert state.n_answers() == 0
    again = rules.answer(state, 1, [0], at=None, correction=True)
    assert (again.kind, again.position) == ("correction", 4)
    state.apply(again)
    assert state.n_answers() == 1


def test_new_options_know_what_found_them():
    options = [{"x": 1}, {"x": 2}, {"x": 3}]
    each = Question(1, options, "", (True, False, True), ("ehvi", "variation"))
    assert each.new_options == [({"x": 1}, "ehvi"), ({"x": 3}, "variation")]
    one = Question(1, options, "", (True, False, True), ("sobol",))
    assert one.new_options == [({"x": 1}, "sobol"), ({"x": 3}, "sobol")]
    assert Event(1, "question", question=each).new == (True, False, True)


def test_restoring_an_answer_that_was_corrected_lets_only_the_correction_count():
    state = State()
    state.apply(rules.ask(state, question(1), "owner", None, 0, 0))
    state.apply(rules.answer(state, 1, [0], at=None))
    state.apply(rules.answer(state, 1, [1], at=None, correction=True))
    for kind in ("retraction", "restoration"):
        state.apply(rules.amend(state, 2, kind, None))
    assert state.n_answers() == 1
    assert [state.answer(act).state for act in state.acts()] == ["corrected", "standing"]


def test_choices_that_were_added_together_are_taken_back_together_and_no_others():
    state = State()
    for count in (2, 3):
        for event in rules.add(state, [rules.Added(PAIR, (0,))] * count, "owner", None):
            state.apply(event)
    assert [event.target for event in rules.undo(state, "owner", None)] == [3, 4, 5]
