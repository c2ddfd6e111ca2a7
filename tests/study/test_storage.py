from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from study_helpers import answer, new_study

from choicebo.formatting import without_password
from choicebo.study import OWNER, BusyError, Storage, StorageError, Study, StudyError
from choicebo.study import storage as storage_module
from choicebo.study.storage import parse_url


def test_a_path_is_a_file_and_a_url_a_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_url("bread.db").database == parse_url(Path("bread.db")).database == str(tmp_path / "bread.db")
    assert Storage("sqlite:///bread.db").file == Path("bread.db")
    assert Storage("postgresql://ann@host/db").file is None


@pytest.mark.parametrize(
    "given", ["", "  ", "mysql://ann@host/db", "sqlite://", "sqlite:///:memory:", "what://ever:x/y"]
)
def test_other_addresses_are_refused_with_what_is_accepted(given):
    with pytest.raises(StudyError, match=r"sqlite:///bread\.db"):
        parse_url(given)


def test_a_password_is_never_shown():
    storage = Storage("postgresql://ann:secret@localhost/db")
    assert "secret" not in str(storage) + storage.url + repr(storage)
    with pytest.raises(StudyError) as refused:
        parse_url("mysql+x://ann:secret@host:port/db")
    assert "secret" not in str(refused.value)


def test_a_server_that_does_not_run_is_named():
    storage = Storage("postgresql://ann:secret@127.0.0.1:9/db")
    with pytest.raises(StorageError, match="Check that the server runs") as failed, storage.read():
        pass
    assert "secret" not in str(failed.value)


def test_a_transaction_that_fails_leaves_nothing(tmp_path):
    storage = Storage(tmp_path / "any.db")
    with storage.write() as connection:
        connection.exec_driver_sql("CREATE TABLE fruit (name TEXT)")

    def half_way() -> None:
        with storage.write() as connection:
            connection.exec_driver_sql("INSERT INTO fruit VALUES ('apple')")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError):
        half_way()
    with storage.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM fruit").scalar() == 0


def test_what_is_read_stays_the_same_while_somebody_writes(tmp_path):
    storage = Storage(tmp_path / "any.db")
    with storage.autocommit() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    with storage.write() as connection:
        connection.exec_driver_sql("CREATE TABLE fruit (name TEXT)")
    with storage.read() as reading:
        count = "SELECT count(*) FROM fruit"
        assert reading.exec_driver_sql(count).scalar() == 0
        with storage.write() as writing:
            writing.exec_driver_sql("INSERT INTO fruit VALUES ('apple')")
        assert reading.exec_driver_sql(count).scalar() == 0
    with storage.read() as reading:
        assert reading.exec_driver_sql(count).scalar() == 1


@pytest.mark.parametrize("name", ["what?.db", "50%41.db", "a#b.db", "a b+c.db"])
def test_any_letter_in_the_name_of_a_file_is_part_of_it(tmp_path, name):
    study = new_study(tmp_path / name)
    answer(study)
    assert [file.name for file in tmp_path.glob("*.db")] == [name]
    assert Study.open(tmp_path / name).n_answers == Study.open(study.url).n_answers == 1


def test_a_file_that_was_moved_away_is_not_replaced_by_an_empty_one(tmp_path):
    path = tmp_path / "study.db"
    study = new_study(path)
    question = study.ask()
    path.rename(tmp_path / "elsewhere.db")
    for use in (study.ask, study.history, lambda: study.tell(question, [0])):
        with pytest.raises(StorageError, match="is gone"):
            use()
    assert not path.exists()
    (tmp_path / "elsewhere.db").rename(path)
    study.tell(question, [0])
    assert Study.open(path).n_answers == 1


def test_writers_of_one_process_write_in_the_order_in_which_they_came(tmp_path):
    path = tmp_path / "any.db"
    wrote, threads = [], []

    def write(number):
        with Storage(path).write():
            wrote.append(number)

    with Storage(path).write():
        for number in range(20):
            threads.append(threading.Thread(target=write, args=(number,)))
            threads[-1].start()
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert wrote == list(range(20))


def test_a_writer_that_waited_too_long_is_told_to_try_again(tmp_path, monkeypatch):
    monkeypatch.setattr(storage_module, "BUSY_SECONDS", 0.05)
    storage, outcome = Storage(tmp_path / "any.db"), []

    def write():
        try:
            with storage.write():
                outcome.append("written")
        except StorageError as error:
            outcome.append(error)

    with storage.write():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert isinstance(outcome[0], BusyError)
    assert "try again" in str(outcome[0])
    write()  # whoever gave up is not waited for
    assert outcome[1] == "written"


def test_a_lock_of_another_program_is_waited_for_and_then_named(tmp_path, monkeypatch):
    monkeypatch.setattr(storage_module, "BUSY_SECONDS", 0.05)
    study = new_study(tmp_path / "study.db")
    question = study.ask()
    other = sqlite3.connect(tmp_path / "study.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError, match="locked by another program"):
        study.tell(question, [0])
    other.close()
    assert study.tell(question, [0]).kept == (0,)


def test_the_version_of_the_tables_is_checked_without_reading_the_migrations_again(tmp_path, monkeypatch):
    from alembic.script import ScriptDirectory

    study = new_study(tmp_path / "study.db")
    token = study.new_token(OWNER)
    monkeypatch.setattr(ScriptDirectory, "__init__", lambda *_, **__: pytest.fail("they were read again"))
    assert Study.of_token(tmp_path / "study.db", token) == ("bread", OWNER)


@pytest.mark.parametrize("address", [7, None, ["bread.db"], b"bread.db", "bread\0.db", "bread\ud800.db"])
def test_what_is_no_address_does_not_become_the_name_of_a_file(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match="The address of the study is"):
        Storage(address)
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_have_any_name_that_the_system_takes(tmp_path):
    assert Storage(tmp_path / "pain\u00a0de seigle \u3000.db").file == tmp_path / "pain\u00a0de seigle \u3000.db"


def test_a_password_is_shown_nowhere_in_an_address():
    for address in ("postgresql://ann:secret@server/studies", "postgresql://server/studies?user=ann&password=secret"):
        storage = Storage(address)
        assert "secret" not in f"{storage} {storage.url} {without_password(address)}"
        assert "ann" in str(storage)
