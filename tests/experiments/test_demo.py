from __future__ import annotations

import pytest
from typer.testing import CliRunner

from choicebo.__main__ import build_app
from choicebo.errors import InvalidInputError
from choicebo.experiments import demo
from choicebo.experiments.problems import problem
from choicebo.model import compiling


@pytest.fixture(scope="module")
def course():
    """Space-filling questions, and one quick fit at the end."""
    steps = []
    course = demo.run(3, seed=1, acquisition="sobol", engine="laplace", answered=lambda *step: steps.append(step))
    return course, steps


def test_every_answer_is_reported_and_nothing_found_is_lost(course):
    found, steps = course
    assert [number for number, _ in steps] == [1, 2, 3]
    assert [difference for _, difference in steps] == list(found.log_differences)
    assert list(found.log_differences) == sorted(found.log_differences, reverse=True)
    assert found.shown == (5, 10, 15)


def test_what_was_found_is_among_what_was_shown(course):
    found, _ = course
    shown = {tuple(row) for row in found.values.round(9)}
    assert found.found
    assert {tuple(row) for row in found.found_values.round(9)} <= shown


def test_the_picture_shows_the_course_and_the_fronts(course, tmp_path):
    found, _ = course
    figure = demo.figure(found)
    left, right = figure.axes
    assert [len(line.get_xdata()) for line in left.lines] == [3, 3]
    assert [line.get_label() for line in right.lines] == ["shown", "true front", "found"]
    figure.savefig(tmp_path / "demo.png")


def test_the_front_drawn_as_true_misses_less_than_half_a_percent_of_the_hypervolume():
    target = problem(demo.PROBLEM)
    missing = 10 ** target.log_hypervolume_difference(demo.true_front(target))
    assert missing < 0.005 * target.front_hypervolume


def test_no_answers_are_refused():
    with pytest.raises(InvalidInputError, match="at least 1"):
        demo.run(0)


def test_bad_use_of_the_demo_is_noticed_before_it_starts(tmp_path):
    for arguments in (["--answers", "0"], ["--out", str(tmp_path / "demo.docx")], ["--seed", "-1"]):
        assert CliRunner().invoke(build_app(), ["demo", *arguments]).exit_code == 2


def test_compiling_begins_with_the_demo_and_not_with_the_first_fit(monkeypatch, tmp_path, course):
    happened = []

    def run(*_, **__):
        happened.append("questions")
        return course[0]

    monkeypatch.setattr(compiling, "start", lambda: happened.append("compiling"))
    monkeypatch.setattr(demo, "run", run)
    result = CliRunner().invoke(build_app(), ["demo", "--answers", "3", "--out", str(tmp_path / "demo.png")])
    assert result.exit_code == 0, result.output
    assert happened == ["compiling", "questions"]
