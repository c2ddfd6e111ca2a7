"""Every Python block of the documentation runs, the blocks of one page one after the other."""

from __future__ import annotations

import contextlib
import io
import os
import pkgutil
import re
import textwrap
from pathlib import Path
from unittest import mock

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NAME = re.compile(r"`(choicebo(?:\.\w+)+)")
_SOURCE = re.compile(r"`((?:\w+/)+\w+\.py)`")
_LINK = re.compile(r"\]\((?!https?://|mailto:|#)(?P<target>[^)#\s]+)")


def python_blocks(text: str) -> list[str]:
    """The Python blocks of a page, each after as many empty lines as stand before it on the page."""
    return [
        "\n" * text.count("\n", 0, match.start("code")) + textwrap.dedent(match["code"])
        for match in _FENCE.finditer(text)
        if match["language"] == "python"
    ]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES[1:] if python_blocks(p.read_text("utf-8"))], ids=page_id)
def test_code_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    with mock.patch.dict(os.environ):
        for block in python_blocks(page.read_text("utf-8")):
            exec(compile(block, page_id(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_to_other_files_lead_somewhere(page: Path) -> None:
    text = _COMMENT.sub("", _FENCE.sub("", page.read_text("utf-8")))
    broken = [m["target"] for m in _LINK.finditer(text) if not (page.parent / m["target"]).exists()]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_names_and_files_that_the_page_mentions_exist(page: Path) -> None:
    text = _FENCE.sub("", page.read_text("utf-8"))
    for name in _NAME.findall(text):
        pkgutil.resolve_name(name)
    files = _SOURCE.findall(text)
    assert [file for file in files if not any((at / file).exists() for at in (ROOT, ROOT / "src/choicebo"))] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_block_of_code_names_its_language(page: Path) -> None:
    # "py" is code for a library that is not installed here.
    languages = {match["language"] for match in _FENCE.finditer(page.read_text("utf-8"))}
    assert languages <= {"console", "csv", "dockerfile", "ini", "json", "nginx", "python", "text", "toml", "yaml", "py"}


def test_the_readme_shows_what_its_code_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the figures, whose last digits depend on the machine."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text("utf-8")
    (block,) = python_blocks(text)
    (shown,) = [match["code"] for match in _FENCE.finditer(text) if match["language"] == "text"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
    assert re.sub(r"[\d.]+", "#", printed.getvalue()) == re.sub(r"[\d.]+", "#", shown)


def test_blocks_keep_their_line_numbers() -> None:
    assert python_blocks("a\n\n```python\nx = 1\n```\n```text\ny\n```\n") == ["\n\n\nx = 1\n"]
