"""Commands typed in a real pseudo-terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

import choicebo as cb
from choicebo.study import Study

# A command is started at once in the forked process, which does not compute.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")

QUICK = {"acquisition": "sobol", "engine": "laplace", "latent_dim": 1, "query_size": 3}
ENTER = "\r"
ARROW_UP = "\x1b[A"


@pytest.fixture
def terminal(tmp_path):
    """Start a command in a terminal of 100 x 40 characters."""
    started = []

    def start(*arguments: object, lines: int = 40, **environment: str) -> pexpect.spawn:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "choicebo", *map(str, arguments)],
            cwd=str(tmp_path),
            env={**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1", "COLUMNS": "", **environment},
            dimensions=(lines, 100),
            encoding="utf-8",
            timeout=60,
            # A shell that runs the tests in the background may have Ctrl-C ignored, which a child would inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


@pytest.fixture
def bread(tmp_path):
    space = cb.Space([cb.Integer("minutes", 5, 40), cb.Categorical("flour", ["rye", "wheat"])])
    path = tmp_path / "bread.db"
    Study.create(
        path, "bread", space, question="Which loaves?", baseline={"minutes": 9, "flour": "rye"}, **QUICK
    ).close()
    return path


def ended(child: pexpect.spawn) -> int:
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def acts(path):
    with Study.open(path) as study:
        return [(past.kind, past.kept, past.state) for past in study.history()]


def test_questions_are_answered_with_single_keys(terminal, bread):
    child = terminal("pick", bread)
    child.expect("Question 1.*Which loaves.*q stop")
    child.send("1")
    child.expect(r"\[1\]")
    child.send(ARROW_UP + "3")
    child.expect(r"\[3\]")
    child.send(ENTER)
    child.expect("Kept 1, 3.*Question 2.*q stop")
    child.send("?")
    child.expect("to learn what you like")
    child.send("s")
    child.expect("Skipped.*Question 3.*q stop")
    child.send("u")
    child.expect("Taken back: question 2.*Question 2.*q stop")
    child.send("0")
    child.expect("None of them.*Question 3.*q stop")
    child.send("q")
    assert ended(child) == 0
    assert acts(bread) == [("answer", (0, 2), "standing"), ("skip", (), "undone"), ("answer", (), "standing")]


def test_ctrl_c_leaves_with_130_and_keeps_what_was_answered(terminal, bread):
    child = terminal("pick", bread, "--no-ahead")
    child.expect("Question 1.*q stop")
    child.send("2")
    child.expect(r"\[2\]")
    child.send(ENTER)
    child.expect("Question 2.*q stop")
    child.sendintr()
    child.expect("Interrupted")
    assert ended(child) == 130
    assert acts(bread) == [("answer", (1,), "standing")]


def test_the_terminal_shows_what_is_typed_again_afterwards(terminal, bread):
    child = terminal("pick", bread, "--no-ahead", lines=10)  # too low for the table: it is printed once
    child.expect("Question 1.*q stop")
    child.send("1")
    child.expect(r"\[1\]")
    assert not child.getecho()
    child.send("q")
    child.expect("0 answers given")
    child.expect(pexpect.EOF)
    assert child.getecho()


def test_plain_mode_is_lines_without_control_characters(terminal, bread):
    child = terminal("pick", bread, "--plain", "--no-ahead")
    child.expect("q to stop")
    assert "\x1b" not in child.before.split("Question 1.")[1]
    child.sendline("1 2")
    child.expect("Kept 1, 2.*q to stop")
    child.sendline("q")
    assert ended(child) == 0
    assert acts(bread) == [("answer", (0, 1), "standing")]


def test_a_study_is_created_by_question_and_answer(terminal, tmp_path):
    child = terminal("new")
    dialogue = [
        ("Name of the study", "rolls"),
        ("File to store it in.*rolls.db", ""),
        ("How is a question answered", ""),
        ("Question to ask", "Which rolls?"),
        ("table", ""),
        ("Name of a parameter", "minutes"),
        ("What is minutes", "2"),
        ("Least value", "5"),
        ("Greatest value", "40"),
        ("Unit", "min"),
        ("So far.*5 to 40 min.*next parameter", "flour"),
        ("What is flour", "4"),
        ("Values of flour", "rye, wheat"),
        ("rye, wheat.*next parameter", ""),
        ("A rule", "minutes <= 30"),
        ("Another rule", ""),
        ("Options to show", "4"),
        ("have today", "n"),
        ("look like this.*Create this study", ""),
    ]
    for prompt, typed in dialogue:
        child.expect(prompt + ".*: $")
        child.sendline(typed)
    child.expect("Created the study 'rolls'")
    assert ended(child) == 0
    with Study.open(tmp_path / "rolls.db") as study:
        assert (study.question, study.settings["query_size"]) == ("Which rolls?", 4)
        assert study.space.names == ("minutes", "flour")


def test_leaving_the_dialogue_creates_nothing(terminal, tmp_path):
    child = terminal("new")
    child.expect("Name of the study")
    child.sendline("rolls")
    child.expect("File to store it in")
    child.sendintr()
    assert ended(child) == 130
    assert list(tmp_path.iterdir()) == []


def test_the_shell_can_complete_commands():
    command = Path(sys.executable).with_name("choicebo")
    asked = {**os.environ, "_CHOICEBO_COMPLETE": "complete_bash", "COMP_WORDS": "choicebo ex", "COMP_CWORD": "1"}
    found = subprocess.run([command], env=asked, capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == ["example", "export"]
