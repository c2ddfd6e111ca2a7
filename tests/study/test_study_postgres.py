from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from study_contract import StudyContract
from study_helpers import answer, new_study

from choicebo.study import BusyError, StorageError, Study
from choicebo.study import storage as storage_module
from choicebo.study.tables import StudyRow


class TestStudyOnAServer(StudyContract):
    @pytest.fixture
    def url(self, server):
        return server.new_database()


def test_answers_survive_a_crash_of_the_server(server):
    study = new_study(server.new_database())
    receipts = [answer(study) for _ in range(5)]
    server.stop("immediate")
    with pytest.raises(StorageError, match="Check that the server runs"):
        study.ask()
    server.start()
    assert [past.id for past in study.history()] == [receipt.id for receipt in receipts]
    assert study.ask().number == 6


def test_a_database_that_is_not_there_is_named_without_the_password(server):
    url = server.new_database().replace("choicebo@", "choicebo:secret@").replace("/test", "/missing")
    with pytest.raises(StorageError) as failed:
        Study.open(url)
    assert "missing" in str(failed.value)
    assert "secret" not in str(failed.value)


def test_a_crowd_behind_a_locked_row_is_told_to_try_again_and_nothing_is_lost(server, monkeypatch):
    monkeypatch.setattr(storage_module, "BUSY_SECONDS", 2)
    monkeypatch.setattr(storage_module, "_POOL_SECONDS", 0.5)
    url = server.new_database()
    study, crowd = new_study(url), 40
    for number in range(crowd):
        study.add_rater(f"r{number}")
    questions = [study.ask(f"r{number}") for number in range(crowd)]
    stored, busy, other = [], [], []

    def tell(question):
        try:
            stored.append(study.tell(question, [0]).question)
        except BusyError as error:
            busy.append(str(error))
        except BaseException as error:
            other.append(error)

    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.select(StudyRow.id).with_for_update())
        threads = [threading.Thread(target=tell, args=(question,)) for question in questions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    engine.dispose()
    assert not other
    assert len(busy) == crowd
    assert any("try again" in said for said in busy)
    for question in questions:
        tell(question)
    assert sorted(stored) == [question.number for question in questions]
    assert study.n_answers == crowd


def test_tables_of_other_programs_are_left_alone(server):
    url = server.new_database()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num text)"))
    with pytest.raises(StorageError, match="not one of choicebo"):
        Study.open(url)
    new_study(url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM alembic_version")).scalar() == 0
    engine.dispose()
