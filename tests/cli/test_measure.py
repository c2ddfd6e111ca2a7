"""``choicebo measure``: values of measured objectives in the terminal."""

from __future__ import annotations

import json

import pytest

import choicebo as cb
from choicebo.study import Study


@pytest.fixture
def loaf(tmp_path):
    path = tmp_path / "loaf.db"
    Study.create(path, "loaf", cb.Space([cb.Integer("minutes", 5, 40)], objectives=["minimise cost"])).close()
    return path


def test_values_are_entered_listed_and_withdrawn(run, loaf):
    assert "Nothing was measured yet" in run("measure", loaf).stdout
    assert "1 measurement in all" in run("measure", loaf, "minutes=12", "cost=12,5").stdout
    run("measure", loaf, "cost=4", "minutes=20")
    [first, second] = json.loads(run("measure", loaf, "--json").stdout)
    assert (first["option"], first["name"], first["value"]) == ({"minutes": 12}, "cost", 12.5)
    assert second["value"] == 4.0
    listed = run("measure", loaf).stdout
    assert "12.5" in listed
    assert "owner" in listed
    assert "2 measurements" in run("status", loaf, "--quick").stdout
    assert "1 measurement in all" in run("measure", loaf, "minutes=12", "cost=").stdout


def test_slips_are_told_and_store_nothing(run, loaf, bread):
    for words, said in (
        (("minutes=12", "cots=1"), "Did you mean 'cost'?"),
        (("minutes=12",), "give a value, as in cost=12.5"),
        (("minutes=12", "cost=much"), "cost is 'much'"),
        (("minutes=99", "cost=1"), "minutes"),
        (("cost=1",), "no 'minutes'"),
    ):
        refused = run("measure", loaf, *words)
        assert refused.exit_code == 1
        assert said in refused.stderr
    assert "no measured objective" in run("measure", bread, "minutes=12", "flour=rye", "cost=1").stderr
    assert json.loads(run("measure", loaf, "--json").stdout) == []


def test_rows_of_a_catalogue_are_named_by_their_key(run, tmp_path):
    table = tmp_path / "menu.csv"
    table.write_text("sku,fat,price\nA 1,1,3\nB,2,\nC,3,5\n")
    created = run("new", tmp_path / "menu.db", "--catalogue", table, "--objective", "minimise price")
    assert created.exit_code == 0, created.output
    assert "an objective, measured for 2 of 3 rows" in created.stderr
    assert run("measure", tmp_path / "menu.db", "A 1", "price=4").exit_code == 0
    assert "Did you mean 'price'?" in run("measure", tmp_path / "menu.db", "B", "prize=4").stderr
    [found] = json.loads(run("measure", tmp_path / "menu.db", "--json").stdout)
    assert (found["option"]["sku"], found["value"]) == ("A 1", 4.0)
