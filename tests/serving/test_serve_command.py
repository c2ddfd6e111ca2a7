from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from choicebo.__main__ import build_app
from choicebo.errors import InvalidInputError
from choicebo.study import Study
from choicebo.web import listening, serve_command

PARAMETER = '[[parameter]]\nkind = "integer"\nname = "g"\nlow = 1\nhigh = 90\n'


@pytest.mark.parametrize(
    "name",
    [
        "../../pwn",
        "/tmp/choicebo-pwn",
        "..",
        ".hidden",
        "a/b",
        "a\\\\b",
        "C:pwn",
        "what?",
        "sqlite://x",
        "🥖" * 90,
        "50% #1",
    ],
)
def test_a_study_file_is_made_into_a_database_of_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    Path("evil.toml").write_text(f'[study]\nname = "{name}"\n{PARAMETER}', "utf-8")
    for _ in range(2):  # the second time it is there
        address = serve_command._address("evil.toml")
        assert [info.name for info in Study.list(address)] == [name.replace("\\\\", "\\")]
    made = [file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".toml"]
    assert {file.parent for file in made} == {here}
    assert not any(file.name.startswith(".") for file in made)


@pytest.fixture
def used() -> Iterator[int]:
    """A port of this machine that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def test_a_used_port_is_told_in_a_sentence_with_one_that_is_free(used: int) -> None:
    with pytest.raises(InvalidInputError, match=rf"Port {used} is in use: give another, such as --port \d+") as told:
        listening.listen("127.0.0.1", used)
    proposed = int(str(told.value).partition("--port ")[2].partition(",")[0])
    with socket.create_server(("127.0.0.1", proposed)):
        pass


def test_where_no_port_is_given_the_next_free_one_is_taken(used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "DEFAULT_PORT", used)
    (bound,) = listening.listen("127.0.0.1", None)
    with bound:
        assert listening.port_of([bound]) != used


def test_an_address_of_another_machine_is_told_in_a_sentence() -> None:
    with pytest.raises(InvalidInputError, match=r"The address 192\.0\.2\.1 cannot be listened on"):
        listening.listen("192.0.2.1", 0)


def test_serve_with_a_used_port_fails_as_other_wrong_options_do(used: int, tmp_path: Path) -> None:
    study, port = str(tmp_path / "study.db"), str(used)
    told = [
        CliRunner().invoke(build_app(), ["serve", study, *wrong])
        for wrong in (("--port", port), ("--port", "0", "--token", "short"))
    ]
    assert [each.exit_code for each in told] == [1, 1]
    assert told[0].stderr.startswith(f"Error: Port {port} is in use")
    assert "Errno" not in told[0].stderr


@pytest.mark.parametrize(
    ("environment", "terminal", "expected"),
    [
        ({"DISPLAY": ":0"}, True, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True, True),
        ({}, True, False),
        ({"DISPLAY": ":0"}, False, False),
        ({"DISPLAY": ":0", "CI": "true"}, True, False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "192.0.2.1 22"}, True, False),
    ],
)
def test_a_browser_is_opened_only_in_front_of_a_screen(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], terminal: bool, expected: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "CI", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: terminal))
    found = serve_command._has_desktop()
    monkeypatch.undo()
    assert found is expected
