from __future__ import annotations

import pytest
from study_contract import StudyContract
from study_helpers import answer, new_study

from choicebo.study import StorageError, Study


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


def test_tables_of_other_programs_are_left_alone(server):
    import sqlalchemy as sa

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
