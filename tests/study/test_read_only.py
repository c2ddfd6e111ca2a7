"""Databases that can be read and not written: everything that only looks works, and writing says why it does not."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from study_helpers import SPACE, answer, new_study

from choicebo.study import ReadOnlyError, SchemaVersionError, Storage, Study

FIRST_RELEASE = Path(__file__).with_name("data") / "study-0.1.db"
LOOK = """
import json, os, sys, alembic.script, choicebo.choices, choicebo.optimizer
from choicebo.errors import ChoiceboError
from choicebo.study import Study
os.setuid(65534)

def tried(act):
    try:
        return act()
    except ChoiceboError as error:
        return str(error)

def look(file):
    study = Study.open(file)
    seen = [study.n_answers, len(study.history()), study.status(insight=False).answers, len(study.raters())]
    assert len(study.export_json()) > 100 and [info.name for info in Study.list(file)] == [study.name]
    changes = (lambda: study.tell(1, [1], correction=True), lambda: study.rename("loaf"), lambda: study.add_rater("zoe"))
    return seen + [tried(change) for change in changes]

print(json.dumps({file: tried(lambda: look(file)) for file in sys.argv[1:]}))
"""
VARIANTS = [(mode, writable) for mode in ("WAL", "DELETE") for writable in ("neither", "folder", "file")]


@pytest.fixture(scope="module")
def seen() -> Iterator[dict[str, Any]]:
    """What somebody sees who may not write, in folders by name; one process for all."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as somebody who may not write")
    with tempfile.TemporaryDirectory() as made:
        parent = Path(made)
        parent.chmod(0o755)
        for mode, writable in VARIANTS:
            file = stored(parent / f"{mode} {writable}", mode)
            file.chmod(0o666 if writable == "file" else 0o444)
            file.parent.chmod(0o777 if writable == "folder" else 0o755)
        in_use = stored(parent / "in use", "WAL")
        (parent / "unfinished").mkdir()
        (parent / "old").mkdir()
        shutil.copy(FIRST_RELEASE, parent / "old" / "study.db")
        with contextlib.closing(sqlite3.connect(in_use)) as keeps_the_log:
            keeps_the_log.execute("SELECT count(*) FROM choicebo_study").fetchall()
            answer(Study.open(in_use))
            for name in ("study.db", "study.db-wal"):
                shutil.copy(in_use.parent / name, parent / "unfinished" / name)
            files = [str(file) for file in parent.glob("*/study.db")]
            done = subprocess.run(
                [sys.executable, "-c", LOOK, *files], capture_output=True, text=True, check=False, timeout=120
            )
        assert done.returncode == 0, done.stderr
        yield {Path(file).parent.name: found for file, found in json.loads(done.stdout).items()}


def stored(folder: Path, mode: str) -> Path:
    folder.mkdir()
    file = folder / "study.db"
    study = new_study(file)
    answer(study)
    answer(study)
    study.close()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute(f"PRAGMA journal_mode = {mode}")
    return file


@pytest.mark.parametrize(("mode", "writable"), VARIANTS)
def test_a_file_of_somebody_else_can_be_read_and_says_why_it_is_not_written(seen, mode, writable):
    *looked, told, renamed, added = seen[f"{mode} {writable}"]
    assert looked == [2, 2, 2, 1]
    for sentence in (told, renamed, added):
        assert "cannot be written: it or its folder is read-only" in sentence


def test_a_file_that_is_in_use_by_its_owner_can_be_read_as_it_is(seen):
    assert seen["in use"][:2] == [3, 3]


def test_answers_that_are_still_beside_the_file_are_not_passed_over(seen):
    assert "its latest answers are still in 'study.db-wal'" in seen["unfinished"]


def test_a_file_of_the_first_release_can_be_read_where_it_cannot_be_upgraded(seen):
    *looked, told, renamed, added = seen["old"]
    assert (looked[0], looked[3]) == (14, 2)
    assert told == renamed == added
    assert "cannot be written" in told


def test_what_is_opened_to_be_read_shows_everything_and_fits_the_model(tmp_path):
    study = Study.create(tmp_path / "study.db", "bread", SPACE, query_size=3, engine="laplace", latent_dim=1)
    for _ in range(3):
        answer(study)
    reader = Study.open(f"sqlite:///file:{tmp_path / 'study.db'}?mode=ro&uri=true")
    assert reader.pareto_set(0.0)
    assert reader.status().latent_dim == 1
    assert reader.export_csv("pareto")
    for change in (reader.ask, reader.archive, lambda: reader.add_rater("ann"), reader.undo):
        with pytest.raises(ReadOnlyError, match="read-only"):
            change()


def test_an_old_file_that_can_be_written_still_asks_for_its_upgrade(tmp_path):
    file = shutil.copy(FIRST_RELEASE, tmp_path / "study.db")
    with pytest.raises(SchemaVersionError, match="choicebo upgrade"):
        Study.open(file)
    reader = Study.open(f"sqlite:///file:{file}?mode=ro&uri=true")
    assert [rater.name for rater in reader.raters()] == ["owner", "ann"]
    assert reader.archived_at is None


def test_a_user_who_may_only_read_a_server_can_read(server):
    url = server.new_database()
    study = Study.create(url, "bread", SPACE, query_size=3, engine="laplace", latent_dim=1)
    for _ in range(3):
        answer(study)
    with Storage(url).write() as connection:
        connection.execute(sa.text("CREATE ROLE reader LOGIN"))
        connection.execute(sa.text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader"))
    reader = Study.open(url.replace("choicebo@", "reader@", 1).replace("user=choicebo", "user=reader", 1))
    assert (reader.n_answers, len(reader.history())) == (3, 3)
    assert reader.status().latent_dim == 1
    for change in (reader.ask, reader.archive, lambda: reader.add_rater("ann")):
        with pytest.raises(ReadOnlyError, match="may only be read by this user"):
            change()
