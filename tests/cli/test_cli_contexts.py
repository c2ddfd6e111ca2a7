"""Contexts in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import choicebo as cb
from choicebo.study import Study

SPACE = cb.Space([cb.Integer("minutes", 5, 40), cb.Context("season", ["summer", "winter"])])


@pytest.fixture
def drinks(tmp_path):
    settings = {"engine": "laplace", "latent_dim": 1, "query_size": 3, "initial_queries": 2}
    Study.create(tmp_path / "drinks.db", "drinks", SPACE, **settings).close()
    return tmp_path / "drinks.db"


def contexts(path):
    with Study.open(path) as study:
        return [question.context["season"] for question in study.questions()]


def test_questions_are_asked_in_the_context_that_is_given_and_it_stays(run, drinks):
    result = run("pick", drinks, "--context", "season=winter", input="1\nq")
    assert result.exit_code == 0, result.output
    assert "season winter" in result.stdout
    run("pick", drinks, input="1\nq")
    assert contexts(drinks) == ["winter", "winter", "winter"]


def test_without_one_it_begins_in_the_first_and_says_how_to_change(run, drinks):
    result = run("pick", drinks, "--plain", input="1\nx\nwinter\nx\nspring\nq\n")
    assert result.exit_code == 0, result.output
    assert "--context" in result.output
    assert "Season summer." in result.stdout
    assert "From now on: season winter." in result.stdout
    assert "accepted are 'summer', 'winter'" in result.stdout
    assert contexts(drinks) == ["summer", "summer", "winter"]


def test_a_context_that_cannot_be_is_refused(run, drinks):
    result = run("pick", drinks, "--context", "season=autumn", input="q")
    assert result.exit_code != 0
    assert "accepted are 'summer', 'winter'" in result.output
    assert contexts(drinks) == []


def test_results_are_of_the_context_that_is_given(run, drinks):
    run("pick", drinks, "--context", "season=summer", input="1\n1\n1\nq")
    for season in ("summer", "winter"):
        given = ("--context", f"season={season}")
        status = json.loads(run("status", drinks, "--json", *given).stdout)
        assert status["context"] == {"season": season}
        assert {each["option"]["season"] for each in status["pareto_set"]} == {season}
        assert f"In the context season {season}" in run("status", drinks, *given).stdout
        assert f",{season}" in run("export", drinks, "pareto", *given).stdout
        assert season in run("predict", drinks, *given).stdout
        run("report", drinks, "--out", "report.html", *given)
        assert f"season {season}" in Path("report.html").read_text(encoding="utf-8")


def test_a_study_is_set_up_with_a_context_question_by_question(run, tmp_path):
    typed = ["sugar", "1", "0", "10", "", "", "season", "7", "summer, winter", "temperature", "7", "-10 to 35", ""]
    result = run("new", "tea.db", input="\n".join([*[""] * 4, *typed, *[""] * 12]))
    assert (tmp_path / "tea.db").exists(), result.output
    with Study.open(tmp_path / "tea.db") as study:
        assert [parameter.name for parameter in study.space.contexts] == ["season", "temperature"]
