from __future__ import annotations

import shutil

import pytest
from cli_helpers import QUICK, SPACE
from typer.testing import CliRunner

from choicebo.__main__ import build_app
from choicebo.study import Study


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command in an empty folder, with wide output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    app = build_app()
    return lambda *arguments, **options: CliRunner().invoke(app, [str(a) for a in arguments], **options)


@pytest.fixture
def bread(tmp_path):
    """The file of a study without answers."""
    Study.create(tmp_path / "bread.db", "bread", SPACE, question="Which loaves?", **QUICK).close()
    return tmp_path / "bread.db"


@pytest.fixture(scope="session")
def answered(tmp_path_factory):
    """The file of a study with answers whose model is fitted: it is only read, or copied."""
    path = tmp_path_factory.mktemp("answered") / "bread.db"
    with Study.create(path, "bread", SPACE, question="Which loaves?", **QUICK) as study:
        for _ in range(7):
            question = study.ask()
            longest = max(range(3), key=lambda place: question.options[place]["minutes"])
            study.tell(question, [longest], seconds=2.0)
        study.posterior()
    return path


@pytest.fixture
def copy(answered, tmp_path):
    """A copy of the answered study, to be changed."""
    return shutil.copy(answered, tmp_path / "copy.db")
