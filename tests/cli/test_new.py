from __future__ import annotations

import json

import pytest

from choicebo.cli.example import Example
from choicebo.space import Angle, Real
from choicebo.study import Study
from choicebo.study.examples import EXAMPLES
from choicebo.study.study_file import read

TOML = """
[study]
name = "bread"
question = "Which loaves?"
query_size = 3
[[parameter]]
kind = "integer"
name = "minutes"
low = 5
high = 40
"""


def test_a_study_file_becomes_a_study(run, tmp_path):
    (tmp_path / "bread.toml").write_text(TOML)
    result = run(
        "new", "bread.db", "--space", "bread.toml", "--acquisition", "sobol", "--raters", "separate", "--seed", "3"
    )
    assert result.exit_code == 0, result.output
    assert "choicebo pick bread.db" in result.stdout
    with Study.open("bread.db") as study:
        assert (study.name, study.question, study.raters_mode) == ("bread", "Which loaves?", "separate")
        assert (study.settings["acquisition"], study.settings["seed"], study.settings["query_size"]) == ("sobol", 3, 3)


def test_options_of_the_command_go_before_what_the_file_says(run, tmp_path):
    (tmp_path / "bread.toml").write_text(TOML)
    arguments = ["--name", "rolls", "--question", "Which rolls?", "--options", "4", "--latent-dim", "2", "--json"]
    result = run("new", "bread.db", "--space", "bread.toml", *arguments)
    assert json.loads(result.stdout) == {"study": "bread.db", "name": "rolls", "options": 36}
    with Study.open("bread.db") as study:
        assert (study.question, study.settings["query_size"], study.settings["latent_dim"]) == ("Which rolls?", 4, 2)


def test_a_table_becomes_a_study_and_its_key_is_found(run, tmp_path):
    (tmp_path / "menu.csv").write_text("name,id,price,hot\nSoup,a,3,true\nSalad,b,5,false\nStew,c,9,true\n")
    result = run("new", "menu.db", "--catalogue", "menu.csv", "--label", "name")
    assert result.exit_code == 0, result.output
    with Study.open("menu.db") as study:
        assert (study.name, study.space.key, study.space.label, study.space.size) == ("menu", "id", "name", 3)
        assert study.settings["query_size"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["bread.db", "--space", "a.toml", "--catalogue", "b.csv"],
        ["bread.db", "--key", "sku"],
        ["--space", "a.toml"],
        ["bread.db", "--options", "1"],
        ["bread.db", "--raters", "alone"],
    ],
)
def test_bad_use_exits_with_2(run, arguments):
    result = run("new", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_file_that_is_missing_or_wrong_is_one_line(run, tmp_path):
    missing = run("new", "bread.db", "--space", "none.toml")
    assert (missing.exit_code, missing.stderr.count("\n")) == (1, 1)
    assert "none.toml" in missing.stderr
    (tmp_path / "bread.toml").write_text(TOML.replace("low = 5", "low = 50"))
    wrong = run("new", "bread.db", "--space", "bread.toml")
    assert wrong.exit_code == 1
    assert "swap them" in wrong.stderr
    assert not (tmp_path / "bread.db").exists()


def test_what_an_answer_means_can_be_given(run, tmp_path):
    (tmp_path / "bread.toml").write_text(TOML.replace("query_size = 3\n", ""))
    meaning = ("--answer", "pair", "--likelihood", "noticeable_difference", "--threshold", "0.7")
    made = run("new", "bread.db", "--space", "bread.toml", *meaning)
    assert made.exit_code == 0, made.stderr
    with Study.open(tmp_path / "bread.db") as study:
        assert (study.settings["likelihood"], study.settings["threshold"]) == ("noticeable_difference", 0.7)
    refused = run("new", "other.db", "--space", "bread.toml", *meaning[:-1], "-1")
    assert (refused.exit_code, "threshold" in refused.stderr) == (1, True)


def test_a_study_is_not_created_twice(run, bread, tmp_path):
    (tmp_path / "bread.toml").write_text(TOML)
    result = run("new", bread, "--space", "bread.toml")
    assert result.exit_code == 1
    assert "already" in result.stderr


def test_questions_lead_to_a_study_and_wrong_answers_are_asked_again(run):
    typed = [
        *("bread", "", "", "Which loaves?", ""),  # name, file, way of answering, question, no table
        *("minutes", "2", "five", "5", "40", "min"),  # a whole number; "five" is explained
        *("minutes", "flour", "4", "rye", "rye, wheat"),  # a name twice; one value is not enough
        *("oven", "5", "gas"),
        *("salt", "1", "0", "3", "g", "4", "0.5"),  # a step that is too long, and a shorter one
        *("yeast", "1", "0", "3", "g", "0"),  # any value
        *("hue", "6", ""),  # an angle, with the step that is suggested
        "",  # that is all
        *("minuts <= 30", "minutes <= 30", ""),  # a rule with a slip
        *("99", "3", "n", "y"),  # too many options at once; no option of today; create
    ]
    result = run("new", input="\n".join(typed) + "\n")
    assert result.exit_code == 0, result.output
    for complaint in (
        "'five': give a number",
        "minutes' already",
        "Fixed",
        "minuts",
        "give 2 to",
        "give at most 3",
        "steps of 0.5",
    ):
        assert complaint in result.stdout
    assert "A question will look like this" in result.stdout
    with Study.open("bread.db") as study:
        assert study.space.names == ("minutes", "flour", "salt", "yeast", "hue", "oven")
        numbers = (Real("salt", 0, 3, unit="g", step=0.5), Real("yeast", 0, 3, unit="g"), Angle("hue", step=5))
        assert study.space.parameters[2:] == numbers
        assert [rule.text for rule in study.space.constraints] == ["minutes <= 30"]
        assert (study.question, study.settings["query_size"], study.baseline) == ("Which loaves?", 3, None)


def test_a_table_and_an_option_of_today_can_be_given_by_question_and_answer(run, tmp_path):
    (tmp_path / "menu.csv").write_text("id,price\n1,3\n2,5\n3,9\n")
    result = run("new", "menu.db", input="\n9\n4\n\nmenu.csv\n2\ny\n7\n2\ny\n")
    assert result.exit_code == 0, result.output
    with Study.open("menu.db") as study:
        assert study.baseline == {"id": 2, "price": 5}
        assert (study.answer, study.question) == ("ranking", "Which of these is the best, which the next?")


@pytest.mark.parametrize("typed", ["bread\n", "bread\n\n\n\n\nx\n1\n0\n1\n\n\n\n\n2\nn\nn\n"])
def test_nothing_is_created_if_the_input_ends_or_the_person_says_no(run, tmp_path, typed):
    result = run("new", input=typed)
    assert result.exit_code == 1
    assert "othing was created" in result.stderr
    assert not (tmp_path / "bread.db").exists()


@pytest.mark.parametrize("name", list(Example))
def test_every_example_is_a_valid_study_that_can_be_asked_about(run, tmp_path, name):
    result = run("example", name, f"{name}.db")
    assert result.exit_code == 0, result.output
    assert read(tmp_path / EXAMPLES[name].files[0]).name == name
    with Study.open(f"{name}.db") as study:
        assert len(study.ask().options) == study.settings["query_size"]


def test_an_example_goes_into_a_folder_and_does_not_write_over_a_file(run, tmp_path):
    assert run("example", "palette", "here/").exit_code == 0
    (tmp_path / "here/palette.svg").write_text("mine")
    again = run("example", "palette", "here/")
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert (tmp_path / "here/palette.svg").read_text() == "mine"
    assert run("example", "palette", "here/", "--force").exit_code == 0
    assert "<svg" in (tmp_path / "here/palette.svg").read_text()


def test_the_palette_uses_every_parameter_in_its_drawing(run, tmp_path):
    run("example", "palette")
    drawing = (tmp_path / "palette.svg").read_text()
    assert all("{" + name + "}" in drawing for name in read("palette.toml").space.names)


def test_an_unknown_example_is_bad_use(run):
    assert run("example", "cake").exit_code == 2
