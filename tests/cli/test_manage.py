from __future__ import annotations

import json

import pytest

from choicebo.study import Study


def test_the_history_names_what_can_be_retracted_and_restored(run, copy):
    listed = json.loads(run("history", copy, "--json").stdout)
    with Study.open(copy) as study:
        assert [each["id"] for each in listed] == [past.id for past in study.history()]
    first = listed[0]["id"]
    shown = run("history", copy, "--last", "2").stdout
    assert f" {listed[-1]['id']} " in shown
    assert f"│ {first} " not in shown
    assert "6 answers now count" in run("retract", copy, first).stdout
    assert "retracted" in run("history", copy).stdout
    assert "7 answers now count" in run("restore", copy, first).stdout


def test_a_wrong_id_leaves_nothing_half_done(run, copy):
    with Study.open(copy) as study:
        first = study.history()[0].id
    refused = run("retract", copy, first, 9999)
    assert refused.exit_code == 1
    assert "9999" in refused.stderr
    with Study.open(copy) as study:
        assert study.n_answers == 7


def test_a_study_is_edited_renamed_duplicated_and_archived(run, copy):
    assert run("edit", copy, "--question", "Again?").exit_code == 0
    assert "'loaf'" in run("rename", copy, "loaf").stdout
    assert "0 answers" in run("duplicate", copy, "plain").stdout
    assert "7 answers" in run("duplicate", copy, "full", "--answers", "--name", "loaf").stdout
    assert run("archive", copy, "--name", "loaf").exit_code == 0
    listed = {each["name"]: each["archived"] for each in json.loads(run("status", copy, "--json").stdout)}
    assert listed == {"loaf": True, "plain": False, "full": False}
    assert "archived" in run("pick", copy, "--name", "loaf", "--plain").stderr
    assert run("archive", copy, "--name", "loaf", "--undo").exit_code == 0
    with Study.open(copy, "loaf") as study:
        assert (study.question, study.archived_at) == ("Again?", None)


def test_a_drawing_is_checked_before_it_is_stored(run, copy, tmp_path):
    (tmp_path / "loaf.svg").write_text("<svg>{minuts}</svg>")
    refused = run("edit", copy, "--template", "loaf.svg")
    assert refused.exit_code == 1
    assert "Did you mean 'minutes'?" in refused.stderr
    assert run("edit", copy).exit_code == 2


def test_a_study_is_deleted_only_when_that_is_confirmed(run, copy, tmp_path):
    assert "confirm it with --yes" in run("delete", copy).stderr
    assert "Deleted" in run("delete", copy, "--backup", "bread.json", "--yes").stdout
    assert Study.list(copy) == ()
    assert run("import", copy, "bread.json").exit_code == 0
    with Study.open(copy) as study:
        assert study.n_answers == 7
        study.duplicate("second").archive()
    refused = run("delete", copy, "--yes")
    assert refused.exit_code == 2
    assert len(Study.list(copy)) == 2


@pytest.mark.parametrize("retract", [False, True])
def test_a_rater_is_added_removed_and_brought_back(run, copy, retract):
    assert "/join/" in run("raters", copy, "--add", "ann").stdout
    with Study.open(copy) as study:
        study.tell(study.ask("ann"), [0])
    removed = run("raters", copy, "--remove", "ann", *(["--retract-answers"] if retract else []))
    assert ("no longer count" in removed.stdout) == retract
    people = {each["name"]: each for each in json.loads(run("raters", copy, "--json").stdout)}
    assert people["ann"]["removed_at"]
    assert people["ann"]["answers"] == (0 if retract else 1)
    assert "removed" in run("pick", copy, "--rater", "ann", "--plain").stderr
    assert "/join/" in run("raters", copy, "--restore", "ann").stdout
    with Study.open(copy) as study:
        assert study.n_answers == 8


def test_the_carets_of_a_rule_keep_their_columns(run, tmp_path):
    (tmp_path / "tea.toml").write_text(
        'constraints = ["water temperature >= 90"]\n[study]\nname = "tea"\n'
        '[[parameter]]\nkind = "real"\nname = "water temperature"\nlow = 80\nhigh = 100\n'
    )
    told = run("new", "tea.db", "--space", "tea.toml").stderr.splitlines()
    assert told[1:3] == ["    water temperature >= 90", "    " + "^" * len("water temperature")]
    assert told[3] == "Did you mean water_temperature?"


def test_what_the_columns_of_a_table_are_for_is_told_and_can_be_changed(run, tmp_path):
    (tmp_path / "menu.csv").write_text("ID,Name,photo,price\n1,Rye,rye.png,3\n2,Oat,oat.png,4\n")
    told = run("new", "menu.db", "--catalogue", "menu.csv").stderr
    assert "not beside menu.csv" in told
    assert [line.split()[0] for line in told.splitlines() if "rows apart" in line or "people see" in line] == [
        "ID",
        "Name",
    ]
    (tmp_path / "rye.png").write_bytes(b"")
    for number, (options, expected) in enumerate(
        (
            ((), ("ID", "Name", "photo")),
            (("--label", "", "--image", ""), ("ID", None, None)),
            (("--key", "Name"), ("Name", None, "photo")),
        )
    ):
        assert run("new", f"{number}.db", "--catalogue", "menu.csv", *options).exit_code == 0
        with Study.open(f"{number}.db") as study:
            assert (study.space.key, study.space.label, study.space.image) == expected
            assert [column.parameter for column in study.space.columns] == ["price"]
