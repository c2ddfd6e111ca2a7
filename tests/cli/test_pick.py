from __future__ import annotations

import io
import warnings

import pytest
from cli_helpers import QUICK, SPACE

from choicebo.cli.keys import END, ENTER, Keys
from choicebo.errors import ConvergenceWarning
from choicebo.model import compiling
from choicebo.study import Study


def history(path):
    with Study.open(path) as study:
        return [(past.kind, past.kept, past.state, past.rater) for past in study.history()]


def test_keys_mark_options_and_enter_keeps_them(run, bread):
    result = run("pick", bread, input="13\n2\nq")
    assert result.exit_code == 0, result.output
    assert history(bread) == [("answer", (0, 2), "standing", "owner"), ("answer", (1,), "standing", "owner")]
    assert "Which loaves?" in result.stdout
    assert "2 answers given, 2 in all" in result.stdout


def test_a_key_pressed_twice_unmarks_the_option(run, bread):
    run("pick", bread, input="1213\nq")
    assert history(bread) == [("answer", (1, 2), "standing", "owner")]


def test_enter_without_a_mark_asks_for_one_and_stores_nothing(run, bread):
    result = run("pick", bread, input="\nq")
    assert "Mark at least one" in result.stdout
    assert history(bread) == []


def test_skip_undo_and_why(run, bread):
    result = run("pick", bread, input="1\ns?uuq")
    assert "Options spread over everything" in result.stdout
    assert "So far there is 1 answer." in result.stdout
    assert result.stdout.count("Taken back") == 2
    assert {state for _, _, state, _ in history(bread)} == {"undone"}
    assert "0 answers given" in result.stdout


def test_undo_with_nothing_to_take_back_says_so_and_goes_on(run, bread):
    result = run("pick", bread, input="u1\nq")
    assert result.exit_code == 0
    assert len(history(bread)) == 1


def test_an_undone_question_comes_again(run, bread):
    run("pick", bread, input="1\nu2\nq")
    with Study.open(bread) as study:
        assert study.get_question(1).kept == (1,)


def test_none_of_these_needs_an_option_of_today(run, bread, tmp_path):
    assert "nothing to fall back on" in run("pick", bread, input="0q").stdout
    assert history(bread) == []
    today = {"minutes": 12, "flour": "rye"}
    Study.create(tmp_path / "known.db", "known", SPACE, baseline=today, **QUICK).close()
    result = run("pick", tmp_path / "known.db", input="0q")
    assert "0 today" in result.stdout
    assert history(tmp_path / "known.db") == [("answer", (), "standing", "owner")]


def test_the_end_of_the_input_stops(run, bread):
    assert run("pick", bread, input="1").exit_code == 0
    assert history(bread) == []


def test_it_stops_after_the_answers_asked_for(run, bread):
    run("pick", bread, "--questions", "2", input="1\n1\n1\n1\n")
    assert len(history(bread)) == 2


def test_how_long_an_answer_took_is_stored(run, bread):
    run("pick", bread, input="1\nq")
    with Study.open(bread) as study:
        assert study.history()[0].seconds >= 0


def test_plain_mode_takes_lines_and_words(run, bread):
    result = run("pick", bread, "--plain", input="1, 3\nskip\nwhat\n\n9\nwhy\nnone\nundo\n2\nstop\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert "Question 1. Which loaves?" in lines
    assert any(line.startswith("Option 3 (new): minutes") for line in lines)
    for reply in ("Kept 1, 3.", "Skipped.", "Not understood: 'what'", "Not understood: '9'", "Taken back: question 2."):
        assert reply in result.stdout
    assert not set("│┃█") & set(result.stdout)
    with Study.open(bread) as study:
        assert [question.kept for question in study.questions()][:2] == [(0, 2), (1,)]


def test_another_person_answers_under_their_name(run, bread):
    refused = run("pick", bread, "--rater", "ann", input="1\nq")
    assert refused.exit_code == 1
    assert "--join" in refused.stderr
    assert run("pick", bread, "--rater", "ann", "--join", input="1\nq").exit_code == 0
    assert run("pick", bread, "--rater", "ann", input="2\nq").exit_code == 0
    assert [rater for *_, rater in history(bread)] == ["ann", "ann"]


@pytest.mark.parametrize(
    ("address", "said"),
    [("none.db", "There is no file"), ("notes.txt", "not a database of choicebo"), ("mysql://host/x", "mysql")],
)
def test_a_study_that_cannot_be_opened_is_one_line(run, tmp_path, address, said):
    (tmp_path / "notes.txt").write_text("not a database, only some words " * 50)
    result = run("pick", address, input="q")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert said in result.stderr


def test_several_studies_need_a_name(run, bread):
    Study.create(bread, "rolls", SPACE, **QUICK).close()
    refused = run("pick", bread, input="q")
    assert refused.exit_code == 1
    assert "'rolls'" in refused.stderr
    assert run("pick", bread, "--name", "rolls", input="1\nq").exit_code == 0


def test_the_model_is_compiled_while_the_first_questions_are_answered(run, bread, monkeypatch):
    happened = []
    asked = Study.ask
    monkeypatch.setattr(compiling, "start", lambda: happened.append("start"))
    monkeypatch.setattr(Study, "ask", lambda *given, **more: happened.append("ask") or asked(*given, **more))
    run("pick", bread, input="1\nq")
    assert happened == ["start", "ask", "ask"]


def test_a_poor_fit_does_not_warn_in_the_middle_of_the_questions(run, bread, monkeypatch):
    asked = Study.ask

    def warning(*given, **more):
        warnings.warn("only 12 effective draws", ConvergenceWarning, stacklevel=2)
        return asked(*given, **more)

    monkeypatch.setattr(Study, "ask", warning)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert run("pick", bread, input="1\nq").exit_code == 0
        assert shown == []
        warnings.warn("elsewhere it is said", ConvergenceWarning, stacklevel=1)
    assert len(shown) == 1


def test_keys_of_a_pipe_are_its_characters():
    keys = Keys(io.StringIO("A1\r"))
    with keys:
        keys.forget()
        assert [keys.read() for _ in range(4)] == ["a", "1", ENTER, END]


def ways(tmp_path, way, **extra):
    size = {"query_size": 2} if way == "pair" else {}
    Study.create(tmp_path / "way.db", "way", SPACE, answer=way, **QUICK | size | extra).close()
    return tmp_path / "way.db"


def said(path):
    with Study.open(path) as study:
        return [
            (past.kept, past.marks and past.marks.to_dict()) for past in study.history() if past.state == "standing"
        ]


@pytest.mark.parametrize(
    ("way", "keys", "expected", "told"),
    [
        ("best", "12\n", ((1,), {"best": 1}), "Best: 2."),
        ("best-worst", "3121\n", ((2,), {"best": 2, "worst": 0}), "Best: 3, worst: 1."),
        ("best-worst", "31322\n3\n", ((2,), {"best": 2, "worst": 0}), "Best: 3, worst: 1."),
        ("ranking", "3123\n", ((0,), {"ranking": [0, 1]}), "In order: 1, 2."),
        ("pair", "2\n", ((1,), {"best": 1}), "Best: 2."),
        ("pair", "=", ((0, 1), None), "Kept 1, 2."),
    ],
)
def test_keys_mark_in_the_way_of_the_study(run, tmp_path, way, keys, expected, told):
    path = ways(tmp_path, way)
    result = run("pick", path, input=keys + "q")
    assert result.exit_code == 0, result.output
    assert said(path) == [expected]
    assert told in result.stdout


@pytest.mark.parametrize(
    ("way", "line", "expected"),
    [
        ("best", "1 2\n2", {"best": 1}),
        ("best-worst", "2\n2 3", {"best": 1, "worst": 2}),
        ("ranking", "3, 1", {"ranking": [2, 0]}),
        ("pair", "2", {"best": 1}),
    ],
)
def test_lines_say_it_in_the_way_of_the_study(run, tmp_path, way, line, expected):
    path = ways(tmp_path, way)
    result = run("pick", path, "--plain", input=f"{line}\nq\n")
    assert said(path) == [((next(iter(expected.values())),) if way != "ranking" else (2,), expected)]
    assert ("Not understood" in result.stdout) == ("\n" in line)


def test_too_little_is_no_answer_and_two_are_needed_to_be_undecided(run, tmp_path):
    path = ways(tmp_path, "best-worst")
    result = run("pick", path, input="1\n=q")
    assert "then the worst" in result.stdout
    assert "for two options" in result.stdout
    assert said(path) == []


def test_an_answer_is_changed_in_the_way_of_the_study_and_listed_in_its_words(run, tmp_path):
    path = ways(tmp_path, "ranking")
    run("pick", path, input="12\nq")
    result = run("pick", path, "--change", "1", input="31\n")
    assert "in order: 1, 2" in result.stdout
    with Study.open(path) as study:
        assert study.get_question(1).marks.to_dict() == {"ranking": [2, 0]}
    listed = run("history", path).stdout
    assert "1. " in listed
    assert '"ranking"' in run("history", path, "--json").stdout
