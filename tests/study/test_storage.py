from __future__ import annotations

from pathlib import Path

import pytest

from choicebo.study import Storage, StorageError, StudyError
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


@pytest.mark.parametrize("address", [7, None, ["bread.db"], b"bread.db", "bread\0.db", "bread\ud800.db"])
def test_what_is_no_address_does_not_become_the_name_of_a_file(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match="The address of the study is"):
        Storage(address)
    assert list(tmp_path.iterdir()) == []


def test_a_file_may_have_any_name_that_the_system_takes(tmp_path):
    assert Storage(tmp_path / "pain\u00a0de seigle \u3000.db").file == tmp_path / "pain\u00a0de seigle \u3000.db"
