from __future__ import annotations

import base64
import json
import re
import shutil

import pytest
from cli_helpers import QUICK, SPACE

from choicebo.cli import waiting
from choicebo.model import compiling
from choicebo.study import Study
from choicebo.study.definition import Show


def test_status_shows_answers_objectives_the_pareto_set_and_advice(run, answered):
    result = run("status", answered)
    assert result.exit_code == 0, result.output
    assert "7 answers" in result.stdout
    assert "1 hidden objective." in result.stdout
    assert re.search(r"\d+ % ", result.stdout)
    assert re.search(r"^(Go on|You may stop): ", result.stdout, re.MULTILINE)


def test_status_for_a_program_is_json(run, answered):
    found = json.loads(run("status", answered, "--json").stdout)
    assert (found["answers"], found["latent_dim"]) == (7, 1)
    assert 0 < found["pareto_set"][0]["probability"] <= 1
    assert set(found["pareto_set"][0]["option"]) == {"minutes", "flour"}


def test_a_quick_status_fits_no_model(run, copy):
    with Study.open(copy) as study:
        study.drop_cache()
    result = run("status", copy, "--quick")
    assert "7 answers" in result.stdout
    assert "objective" not in result.stdout
    with Study.open(copy) as study:
        assert not study.has_posterior()


def test_a_study_without_answers_has_a_status_and_no_report(run, bread):
    assert "0 answers" in run("status", bread).stdout
    refused = run("report", bread)
    assert refused.exit_code == 1
    assert "no answers yet" in refused.stderr


def test_several_studies_are_listed(run, bread):
    Study.create(bread, "rolls", SPACE, **QUICK).close()
    assert "rolls" in run("status", bread).stdout
    assert [study["name"] for study in json.loads(run("status", bread, "--json").stdout)] == ["bread", "rolls"]


@pytest.mark.parametrize("command", ["status", "report", "export", "pick", "upgrade"])
def test_every_command_about_a_study_refuses_a_missing_file_in_one_line(run, command):
    result = run(command, "none.db")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "There is no file" in result.stderr


def test_an_unknown_person_is_refused(run, answered):
    result = run("status", answered, "--rater", "nobody")
    assert result.exit_code == 1
    assert "nobody" in result.stderr


def test_the_report_is_one_page_that_loads_nothing(run, answered, tmp_path):
    result = run("report", answered, "--out", "page.html")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') >= 1
    for chart in ("map", "parallel", "effect-chart"):
        assert f'<svg class="chart {chart}"' in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "<script" not in page
    for heading in ("no other one beats", "What matters", "Can it be trusted?", "All answers"):
        assert heading in page
    assert page.count("<li class=kept>") == 7


def test_a_report_does_not_write_over_a_file_unasked(run, answered, tmp_path):
    (tmp_path / "bread-report.html").write_text("mine")
    assert run("report", answered).exit_code == 1
    assert (tmp_path / "bread-report.html").read_text() == "mine"


def test_words_of_a_study_cannot_become_markup_of_the_report(run, answered, tmp_path):
    hostile = "<script>alert('[bold]')</script>"
    shutil.copy(answered, tmp_path / "hostile.db")
    with Study.open(tmp_path / "hostile.db") as study:
        text = study.export_json().replace("Which loaves?", hostile)
    Study.import_json(tmp_path / "other.db", text).close()
    assert run("report", "other.db", "--out", "page.html").exit_code == 0
    assert "<script" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert hostile in run("status", "other.db", "--quick").stdout


def test_drawings_of_options_are_images_in_the_report(run, tmp_path):
    shown = Show("svg", template="<svg><text>{flour} {minutes:.1f}</text></svg>")
    with Study.create("drawn.db", "drawn", SPACE, show=shown, **QUICK) as study:
        study.tell(study.ask(), [0])
    assert run("report", "drawn.db", "--out", "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    drawings = [base64.b64decode(code).decode() for code in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page)]
    assert drawings
    assert all(re.fullmatch(r"<svg><text>(rye|wheat|spelt) \d+\.0</text></svg>", drawing) for drawing in drawings)


def said_after_a_while(capsys, **options):
    with waiting.waiting("Fitting", **options):
        for _ in range(1000):
            if said := capsys.readouterr().err:
                return said
            waiting.threading.Event().wait(0.01)
    return ""


def test_a_long_wait_is_explained_and_a_short_one_is_not(monkeypatch, capsys):
    with waiting.waiting("Fitting") as progress:
        progress("drawing", 0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    assert said_after_a_while(capsys) == "Fitting.\n"


def test_who_waits_for_the_compiler_is_told_that_it_is_once(monkeypatch, capsys):
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    monkeypatch.setattr(compiling, "is_compiled", lambda: False)
    assert "once on this machine" in said_after_a_while(capsys)
    assert said_after_a_while(capsys, model=False) == "Fitting.\n"
