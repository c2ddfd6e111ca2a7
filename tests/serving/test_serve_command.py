from __future__ import annotations

from pathlib import Path

import pytest

from choicebo.study import Study
from choicebo.web import serve_command

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
