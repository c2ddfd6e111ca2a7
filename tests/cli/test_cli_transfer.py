from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sqlite3
import tomllib

import pytest
from cli_helpers import QUICK, SPACE

from choicebo.cli import doctor
from choicebo.model import compiling, jit, native
from choicebo.study import Study


def test_an_exported_study_is_imported_as_it_was(run, answered, tmp_path):
    assert run("export", answered, "--out", "bread.json").exit_code == 0
    result = run("import", "new.db", "bread.json", "--json")
    assert json.loads(result.stdout) == {"study": "bread", "imported": "study", "count": 7}
    with Study.open(answered) as before, Study.open("new.db") as after:
        assert after.history() == before.history()
    again = run("import", "new.db", "bread.json", "--name", "second")
    assert again.exit_code == 0
    assert "7 answers" in again.stdout


def test_tables_go_to_stdout(run, answered):
    answers = list(csv.DictReader(io.StringIO(run("export", answered, "answers").stdout)))
    assert len(answers) == 21
    assert sum(int(row["kept"]) for row in answers) == 7
    options = list(csv.DictReader(io.StringIO(run("export", answered, "options").stdout)))
    assert {"minutes", "flour", "shown", "kept"} <= set(options[0])
    every = list(csv.DictReader(io.StringIO(run("export", answered, "probabilities").stdout)))
    assert len(every) == len(options)
    best = list(csv.DictReader(io.StringIO(run("export", answered, "pareto").stdout)))
    assert 0 < len(best) < len(every)
    assert best == every[: len(best)]


def test_how_far_people_agree_is_exported_and_told(run, answered, tmp_path):
    alone = run("export", answered, "people")
    assert alone.exit_code != 0
    assert "once two of them have answered" in alone.stderr
    Study.create("together.db", "bread", SPACE, raters="together", **QUICK).close()
    refused = run("export", "together.db", "people")
    assert refused.exit_code != 0
    assert "raters='related'" in refused.stderr
    with Study.create("related.db", "bread", SPACE, raters="related", **QUICK) as study:
        for name, best in (("ann", 0), ("ben", 1)):
            study.add_rater(name)
            for minutes in (5, 10, 20):
                loaves = [{"minutes": minutes, "flour": "rye"}, {"minutes": minutes + 15, "flour": "rye"}]
                study.add(loaves, [best], rater=name)
    told = json.loads(run("export", "related.db", "people").stdout)
    assert [person["name"] for person in told["people"]] == ["ann", "ben"]
    assert run("export", "related.db", "agreement").stdout.splitlines()[0] == "person,ann,ben"
    assert told["sentences"][0] in run("status", "related.db").stdout.replace("\n", " ")


def test_the_study_file_of_a_study_creates_another_like_it(run, answered, tmp_path):
    text = run("export", answered, "file").stdout
    assert tomllib.loads(text)["study"]["question"] == "Which loaves?"
    (tmp_path / "again.toml").write_text(text, encoding="utf-8")
    assert run("new", "again.db", "--space", "again.toml").exit_code == 0
    with Study.open(answered) as before, Study.open("again.db") as after:
        assert (after.space, after.question) == (before.space, before.question)


def test_choices_of_one_study_can_be_added_to_another(run, answered, bread, tmp_path):
    assert run("export", answered, "choices", "-o", "choices.json").exit_code == 0
    result = run("import", bread, "choices.json", "--rater", "owner")
    assert "Imported 7 choices" in result.stdout
    with Study.open(bread) as study:
        assert study.n_answers == 7


def test_comparisons_are_recognised_and_a_bad_row_is_named(run, bread, tmp_path):
    header = "winner.minutes,winner.flour,loser.minutes,loser.flour\n"
    (tmp_path / "pairs.csv").write_text(header + "12,rye,30,wheat\n8,rye,31,wheat\n")
    assert "Imported 2 pairs" in run("import", bread, "pairs.csv").stdout
    (tmp_path / "bad.csv").write_text(header + "12,rye,30,wheat\n99,rye,31,wheat\n")
    refused = run("import", bread, "bad.csv")
    assert refused.exit_code == 1
    assert "Line 3" in refused.stderr
    with Study.open(bread) as study:
        assert study.n_answers == 2


@pytest.mark.parametrize(
    ("header", "row", "kind", "count"),
    [
        ("choice,rank,minutes,flour", "1,1,12,rye\n1,2,30,wheat\n1,,14,rye", "rankings", 2),
        ("choice,best,worst,minutes,flour", "1,1,0,12,rye\n1,0,1,30,wheat\n1,0,0,14,rye", "best-worst", 2),
        ("choice,best,minutes,flour", "1,1,12,rye\n1,0,30,wheat", "best", 1),
        ("sitting,rating,minutes,flour", "1,5,12,rye\n1,3,30,wheat", "ratings", 1),
        ("choice,kept,minutes,flour", "1,1,12,rye\n1,0,30,wheat", "choices", 1),
    ],
)
def test_every_kind_of_answer_is_recognised(run, bread, tmp_path, header, row, kind, count):
    (tmp_path / "answers.csv").write_text(f"{header}\n{row}\n")
    result = run("import", bread, "answers.csv", "--json")
    assert json.loads(result.stdout) == {"study": "bread", "imported": kind, "count": count}


def test_columns_of_a_file_may_be_called_otherwise(run, bread, tmp_path):
    (tmp_path / "answers.csv").write_text("question,place,minutes,flour\n1,1,12,rye\n1,2,30,wheat\n")
    columns = ("--column", "choice=question", "-c", "rank=place")
    assert "Imported 1 choice" in run("import", bread, "answers.csv", "--as", "rankings", *columns).stdout
    assert run("import", bread, "answers.csv", "--as", "rankings", "--column", "choice").exit_code == 2


def test_all_bad_rows_are_listed(run, bread, tmp_path):
    (tmp_path / "answers.csv").write_text(
        "choice,kept,minutes,flour\n1,1,12,rye\n1,0,99,wheat\n2,1,x,rye\n2,0,12,rye\n"
    )
    refused = run("import", bread, "answers.csv")
    assert refused.exit_code == 1
    assert [line.strip()[:6] for line in refused.stderr.splitlines()] == ["Error:", "Line 3", "Line 4", "Nothin"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"{broken", "Malformed JSON"), (b"\xff\xfe\x00", "UTF-8"), (b'{"format": "other"}', "format")],
)
def test_a_file_that_is_none_of_ours_is_one_line(run, bread, tmp_path, content, said):
    (tmp_path / "file").write_bytes(content)
    result = run("import", bread, "file")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert said in result.stderr


def test_bad_use_of_export_and_import_exits_with_2(run, bread, tmp_path):
    assert run("export", bread, "everything").exit_code == 2
    assert run("import", bread, "missing.json").exit_code == 2
    (tmp_path / "s.json").write_text('{"format": "choicebo-study"}')
    assert run("import", bread, "s.json", "--rater", "ann").exit_code == 2


def test_nothing_is_written_over_unasked(run, answered, tmp_path):
    (tmp_path / "bread.json").write_text("mine")
    assert run("export", answered, "-o", "bread.json").exit_code == 1
    assert run("export", answered, "-o", "bread.json", "--force").exit_code == 0
    assert json.loads((tmp_path / "bread.json").read_text())["format"] == "choicebo-study"


def test_choices_of_a_study_without_answers_cannot_be_exported(run, bread):
    result = run("export", bread, "choices")
    assert result.exit_code == 1
    assert "no answers yet" in result.stderr


def test_upgrade_says_what_it_did(run, bread):
    assert "Up to date" in run("upgrade", bread).stdout
    assert json.loads(run("upgrade", bread, "--json").stdout) == {"applied": []}


def test_debug_shows_the_traceback(run):
    result = run("--debug", "status", "none.db")
    assert result.exit_code == 1
    assert type(result.exception).__name__ == "StorageError"


def test_doctor_looks_at_everything_and_at_the_database(run, bread):
    findings = {each["what"]: each for each in json.loads(run("doctor", bread, "--json").stdout)["findings"]}
    assert {"choicebo", "Python", "libraries", "extras", "BLAS threads", "compiler", "compiled code"} <= set(findings)
    assert re.fullmatch(r"Numba [\d.]+ with llvmlite [\d.]+ works", findings["compiler"]["found"])
    assert "numba " in findings["libraries"]["found"]
    assert "jax" not in findings["libraries"]["found"]
    assert native.log_likelihoods.folder in findings["compiled code"]["found"]
    assert "bread (0 answers)" in findings["database"]["found"]


@pytest.mark.parametrize(
    ("compiled", "folder", "ok", "said"),
    [
        (True, "/cache", True, "there (/cache)"),
        (False, "/cache", True, "not there yet"),
        (False, None, False, "no folder can be written to"),
    ],
)
def test_doctor_says_whether_the_model_is_compiled(monkeypatch, compiled, folder, ok, said):
    monkeypatch.setattr(compiling, "is_compiled", lambda: compiled)
    monkeypatch.setattr(jit.Entry, "folder", folder)
    (finding,) = doctor._compiled()
    assert said in finding.found
    assert finding.ok is ok
    assert "NUMBA_CACHE_DIR" in finding.remedy


def test_doctor_finds_a_changed_answer(run, bread):
    assert run("pick", bread, "--plain", input="1\nq\n").exit_code == 0
    with contextlib.closing(sqlite3.connect(bread)) as connection, connection:
        connection.execute("UPDATE choicebo_log SET kept = '[1]' WHERE kind = 'answer'")
    found = run("doctor", bread)
    assert found.exit_code == 1
    assert "damaged" in found.stdout


def test_doctor_finds_a_damaged_index(run, bread):
    with contextlib.closing(sqlite3.connect(bread)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("CREATE INDEX extra ON choicebo_rater (name)")
        root = "(SELECT rootpage FROM sqlite_master WHERE name = 'choicebo_token')"
        connection.execute(f"UPDATE sqlite_master SET rootpage = {root} WHERE name = 'extra'")
    found = run("doctor", bread)
    assert found.exit_code == 1
    assert "damaged" in found.stdout
    assert "export the studies as JSON" in found.stderr


def test_doctor_exits_with_1_and_says_what_to_do(run, monkeypatch):
    found = run("doctor", "none.db")
    assert found.exit_code == 1
    assert "PROBLEM" in found.stdout
    assert "There is no file" in found.stdout
    monkeypatch.setattr(doctor, "_NEEDED", ("numpy", "no-such-library"))
    assert "no-such-library" in run("doctor").stdout
