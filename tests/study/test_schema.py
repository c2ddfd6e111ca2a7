"""Databases that are not what was expected: each gets a sentence that says what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from study_helpers import answer, new_study

from choicebo.study import SchemaVersionError, StorageError, Study, schema, upgrade

STEP = '''
"""A note for each study."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("choicebo_study", sa.Column("note", sa.Text))
    {then}
'''


@pytest.fixture
def study_file(tmp_path) -> Path:
    study = new_study(tmp_path / "study.db")
    answer(study)
    return tmp_path / "study.db"


@pytest.fixture
def later_release(tmp_path, monkeypatch):
    """A choicebo with one more migration than this one."""

    def make(then: str = "") -> None:
        scripts = tmp_path / "migrations"
        shutil.copytree(schema.SCRIPTS, scripts, dirs_exist_ok=True)
        (scripts / "versions" / "v0007_note.py").write_text(STEP.format(then=then))
        monkeypatch.setattr(schema, "SCRIPTS", scripts)

    return make


def query(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_a_file_is_written_ahead_and_holds_to_its_foreign_keys(study_file):
    assert query(study_file, "PRAGMA journal_mode") == [("wal",)]
    assert query(study_file, "PRAGMA foreign_key_check") == []
    with Study.open(study_file)._storage.read() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_an_older_database_is_opened_only_after_an_upgrade(study_file, later_release):
    history = Study.open(study_file).history()
    later_release()
    for use in (lambda: Study.open(study_file), lambda: Study.list(study_file), lambda: new_study(study_file, "soup")):
        with pytest.raises(SchemaVersionError, match=r"older choicebo .*0006.*0007.*choicebo upgrade"):
            use()
    assert upgrade(study_file) == ("0007: A note for each study.",)
    assert upgrade(study_file) == ()
    assert Study.open(study_file).history() == history
    assert query(study_file, "SELECT note FROM choicebo_study") == [(None,)]


def test_an_upgrade_that_fails_changes_nothing(study_file, later_release):
    later_release(then='op.add_column("choicebo_nothing", sa.Column("note", sa.Text))')
    with pytest.raises(StorageError):
        upgrade(study_file)
    assert query(study_file, "SELECT version_num FROM choicebo_version") == [("0006",)]
    assert "note" not in str(query(study_file, "PRAGMA table_info(choicebo_study)"))


def test_a_newer_database_asks_for_a_newer_choicebo(study_file):
    query(study_file, "UPDATE choicebo_version SET version_num = '0099'")
    for use in (Study.open, upgrade, Study.list):
        with pytest.raises(SchemaVersionError, match=r"newer choicebo .*0099.*pip install --upgrade"):
            use(study_file)


def test_a_database_without_its_version_is_refused(study_file):
    query(study_file, "DELETE FROM choicebo_version")
    with pytest.raises(SchemaVersionError, match="without a version"):
        Study.open(study_file)


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "places.db"
    query(path, "CREATE TABLE bookmarks (address TEXT)")
    before = path.read_bytes()
    for use in (Study.open, Study.list, upgrade, new_study):
        with pytest.raises(StorageError, match="not one of choicebo"):
            use(path)
    assert query(path, "PRAGMA journal_mode") == [("delete",)]
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Bake longer next time. " * 100)
    for use in (Study.open, Study.list, new_study):
        with pytest.raises(StorageError, match="not a database of choicebo"):
            use(path)
    assert path.read_text() == "Bake longer next time. " * 100


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    for use in (Study.open, Study.list, upgrade):
        with pytest.raises(StorageError, match="no file"):
            use(tmp_path / "missing.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="folder exists"):
        new_study(tmp_path / "missing" / "study.db")


def test_a_damaged_file_says_so(study_file):
    Study.open(study_file).close()
    query(study_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(study_file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    study_file.write_bytes(content)
    with pytest.raises(StorageError, match=r"damaged|not a database"):
        Study.open(study_file).history()


def test_a_half_written_file_says_so(study_file):
    query(study_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = study_file.read_bytes()
    study_file.write_bytes(content[: len(content) // 2])
    with pytest.raises(StorageError, match=r"damaged|not a database"):
        Study.open(study_file).history()


def test_a_file_whose_making_was_interrupted_can_be_used(tmp_path):
    path = tmp_path / "study.db"
    path.touch()
    assert Study.list(path) == ()
    with pytest.raises(StorageError, match="holds no study yet"):
        Study.open(path)
    assert new_study(path).ask().number == 1


def test_a_copy_that_may_only_be_read_can_be_read_and_says_why_not_more(study_file):
    query(study_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    study = Study.open(f"sqlite:///file:{study_file}?mode=ro&uri=true")
    assert study.n_answers == 1
    with pytest.raises(StorageError, match="read-only"):
        study.tell(study.history()[0].question, [1], correction=True)
    with pytest.raises(StorageError, match="read-only"):
        study.ask()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody who may not write")
@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_a_file_that_belongs_to_somebody_else_says_so(study_file, mode):
    query(study_file, "PRAGMA wal_checkpoint(TRUNCATE)")
    query(study_file, f"PRAGMA journal_mode = {mode}")
    program = (
        "import os, sys, alembic.script, choicebo.choices\n"
        "from choicebo.study import StorageError, Study\n"
        "os.setuid(65534)\n"
        "try: Study.open(sys.argv[1]).tell(1, [1], correction=True)\n"
        "except StorageError as error: print(error)"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copy = Path(shutil.copy(study_file, folder))
        copy.chmod(0o444)
        command = [sys.executable, "-c", program, str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "read-only" in done.stdout or "may be read and written" in done.stdout, done.stderr
