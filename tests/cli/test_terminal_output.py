"""What a study brings along is shown in a terminal, never obeyed."""

from __future__ import annotations

import io

import pytest
from cli_helpers import QUICK

import choicebo as cb
from choicebo.formatting import printable
from choicebo.presentation import output
from choicebo.study import Study

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
COMMANDS = ("\x1b[2J", "\x1b]", "\x07", "\x9b", "\u202e")


def hostile(text: str) -> list[str]:
    return [command for command in COMMANDS if command in text]


@pytest.fixture
def menu(tmp_path):
    rows = [
        {"sku": f"{number}{HOSTILE}", f"[/]{HOSTILE}": number, "[red]": f"x{number}[/red]{HOSTILE}"}
        for number in range(4)
    ]
    with Study.create(
        tmp_path / "menu.db", "menu", cb.Catalogue(rows), question=f"Which[/]?{HOSTILE}", **QUICK
    ) as study:
        for _ in range(2):
            study.tell(study.ask(), [0])
    return tmp_path / "menu.db"


@pytest.mark.parametrize("command", ["status", "status --json", "pick", "pick --plain", "export --help"])
def test_commands_show_what_a_catalogue_holds_and_do_not_obey_it(run, menu, command):
    word, *more = command.split()
    result = run(word, menu, *more, input="?\n1\nq\n")
    assert result.exit_code == 0, (result.output, result.exception)
    assert hostile(result.output) == []


def test_status_shows_markup_in_names_as_it_is(run, menu):
    assert "[red]" in run("status", menu).stdout


def test_an_error_does_not_command_the_terminal(run, menu):
    result = run("status", menu, "--name", HOSTILE)
    assert result.exit_code != 0
    assert hostile(result.output) == []


def test_colours_of_the_console_itself_stay():
    file = io.StringIO()
    console = output.PlainTextConsole(file=file, force_terminal=True, color_system="standard")
    console.print(HOSTILE + "rye", style="red", markup=False, highlight=False)
    assert file.getvalue() == "\x1b[31m[2J]0;owned31mrye\x1b[0m\n"
    assert hostile(file.getvalue()) == []


def test_half_a_character_is_printed_as_a_question_mark(capsys):
    output.print_line("a\ud800b")
    assert capsys.readouterr().out == "a?b\n"
    assert printable("zwölf\nÜbel — 🍞") == "zwölf\nÜbel — 🍞"
