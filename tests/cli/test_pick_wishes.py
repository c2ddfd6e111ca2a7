"""Steering and changing answers in the terminal."""

from __future__ import annotations

import pytest

from choicebo.study import Study

WISHES = [
    ("kminutes 20\n", {"minutes": 20}, "From the next question on: minutes 20."),
    ("kminutes = 20\n", {"minutes": 20}, "From the next question on: minutes 20."),
    ("kminutes 999\n", {}, "accepted is"),
    ("kmints 20\n", {}, "There is no 'mints' to lock."),
]


@pytest.mark.parametrize(("typed", "locked", "told"), WISHES)
def test_a_property_is_kept_from_the_next_question_on(run, bread, typed, locked, told):
    result = run("pick", bread, input=f"{typed}1\nq")
    assert result.exit_code == 0, result.output
    assert told in result.stdout
    with Study.open(bread) as study:
        assert dict(study.wishes().locked) == locked
        if locked:
            assert {option["minutes"] for option in study.ask().options} == {20}


def test_an_empty_line_takes_all_locks_off(run, bread):
    result = run("pick", bread, input="kminutes 20\nk\nq")
    assert "No property is locked any more." in result.stdout
    with Study.open(bread) as study:
        assert not study.wishes()


def test_more_like_one_of_these_in_lines_for_a_screen_reader(run, bread):
    result = run("pick", bread, "--plain", input="m\n2\nm\n9\n1\nq\n")
    assert "The next question has more like option 2." in result.stdout
    assert "There is no option '9'" in result.stdout
    with Study.open(bread) as study:
        first, second = study.questions()
        assert first.options[1] in second.options


def test_an_own_option_is_asked_for_value_by_value(run, bread):
    with Study.open(bread) as study:
        option = study.ask().options[0]
        values = [str(option[parameter.name]) for parameter in study.space.parameters]
    result = run("pick", bread, "--plain", input="\n".join(["o", *values, "1", "q", ""]))
    assert "The next question will show your own option." in result.stdout
    with Study.open(bread) as study:
        assert option in study.questions()[1].options


def test_an_answer_is_changed(run, bread):
    run("pick", bread, input="1\n2\nq")
    result = run("pick", bread, "--change", 1, input="23\n")
    assert "Now: kept 1." in result.stdout
    assert "Question 1 has a new answer." in result.stdout
    with Study.open(bread) as study:
        assert [study.get_question(number).kept for number in (1, 2)] == [(1, 2), (1,)]
    result = run("pick", bread, "--change", 1, "--plain", input="q\n")
    assert "Question 1 keeps its answer." in result.stdout
    assert run("pick", bread, "--change", 9, input="q").exit_code != 0
