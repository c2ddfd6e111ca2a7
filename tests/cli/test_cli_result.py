"""``choicebo predict`` and ``choicebo objective``, and a report that is written over itself."""

from __future__ import annotations

import json

from choicebo.study import Study


def test_predict_finds_the_best_option_not_shown(run, answered):
    told = run("predict", answered)
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("The best one not shown yet: minutes ")
    found = json.loads(run("predict", answered, "--json").stdout)
    with Study.open(answered) as study:
        assert (found["option"], found["probability"]) == study.best_unseen()


def test_predict_tells_how_probable_an_option_is(run, answered):
    with Study.open(answered) as study:
        option = {"minutes": 39, "flour": "rye"}
        expected = study.predict([option])[0].probability
    found = json.loads(run("predict", answered, "minutes=39", "flour=rye", "--json").stdout)
    assert found == {"option": option, "probability": expected}
    assert (
        "likely that none of the options shown so far beats it"
        in run("predict", answered, "minutes=39", "flour=rye").stdout
    )


def test_predict_refuses_what_is_no_option_in_one_line(run, answered, bread):
    for words, said in (
        (("minuts=3",), "Did you mean 'minutes'?"),
        (("minutes=3",), "no 'flour'"),
        (("minutes=many", "flour=rye"), "minutes"),
    ):
        refused = run("predict", answered, *words)
        assert refused.exit_code == 1
        assert said in refused.stderr
    assert "no answers yet" in run("predict", bread).stderr


def test_an_objective_is_named_and_status_calls_it_so(run, copy):
    assert "1  Hidden objective 1: " in run("objective", copy).stdout
    assert "1  Patience: " in run("objective", copy, 1, "patience").stdout
    assert "Patience: " in run("status", copy).stdout
    assert json.loads(run("objective", copy, "--json").stdout)[0]["name"] == "patience"
    assert "Hidden objective 1" in run("objective", copy, 1, "").stdout
    assert "There is no objective 4" in run("objective", copy, 4, "x").stderr
    assert run("objective", copy, 1).exit_code == 2


def test_a_report_is_written_over_itself_and_over_nothing_else(run, answered, tmp_path):
    for _ in range(2):
        assert run("report", answered, "--out", "a.html").exit_code == 0
    other = tmp_path / "b.html"
    other.write_text("<!doctype html><title>mine</title>")
    assert run("report", answered, "--out", other).exit_code == 1
    assert "mine" in other.read_text()
