from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from choicebo.errors import InvalidInputError
from choicebo.study import Study


def test_a_backup_comes_back_in_one_command_each(run, answered, tmp_path):
    made = run("backup", answered)
    assert made.exit_code == 0, made.output
    (file,) = tmp_path.glob("choicebo-*.zip")
    assert f"1 study (bread) in {file.name}. To bring it back: choicebo recover {file.name} DATABASE" in made.stdout
    back = run("recover", file, "new.db")
    assert back.exit_code == 0, back.output
    assert "1 study (bread) came back" in back.stdout
    with Study.open(answered) as before, Study.open(tmp_path / "new.db") as after:
        assert before.export_json() == after.export_json()


def test_a_file_that_is_there_is_not_written_over_and_a_study_neither(run, bread, tmp_path):
    assert run("backup", bread, "b.zip").exit_code == 0
    again = run("backup", bread, "b.zip")
    assert (again.exit_code, "--force" in again.output) == (1, True)
    assert run("backup", bread, "b.zip", "--force").exit_code == 0
    taken = run("recover", "b.zip", bread)
    assert (taken.exit_code, "There is a study 'bread'" in taken.output) == (1, True)
    assert run("recover", "b.zip", bread, "--name", "loaf").exit_code == 0
    assert [info.name for info in Study.list(bread)] == ["bread", "loaf"]


@pytest.mark.parametrize("file", ["nothing.zip", "bread.db"])
def test_what_is_no_backup_is_told_in_a_sentence(run, bread, file):
    told = run("recover", file, "new.db")
    assert told.exit_code == 1
    assert "is not a backup made by choicebo" in told.output


def test_pick_computes_on_a_cluster(run, bread, monkeypatch):
    asked = []

    class Cluster(ThreadPoolExecutor):
        def __init__(self, address):
            super().__init__(1)
            asked.append(address)

        def submit(self, fn, /, *args, **kwargs):
            asked.append(fn.__name__)
            return super().submit(fn, *args, **kwargs)

    monkeypatch.setattr("choicebo.serving.cluster.Cluster", Cluster)
    assert run("pick", bread, "--cluster", "tcp://there:8786", input="1\nq").exit_code == 0
    assert asked[:2] == ["tcp://there:8786", "next_question"]


def test_doctor_shows_what_a_server_computes_with_and_who_is_in_a_cluster(run, monkeypatch):
    class Cluster(ThreadPoolExecutor):
        workers, slots, refusals = 2, 4, ("The worker tcp://b has choicebo 0.0.1: it is not used.",)

        def __init__(self, address):
            if "nowhere" in address:
                raise InvalidInputError("No dask scheduler answers at 'tcp://nowhere:1'")
            super().__init__(1)

    monkeypatch.setattr("choicebo.serving.cluster.Cluster", Cluster)
    found = run("doctor", "--cluster", "tcp://there:8786", "--json")
    told = [(each["what"], each["found"], each["ok"]) for each in json.loads(found.stdout)["findings"]]
    (server,) = [text for what, text, _ in told if what == "server"]
    for option in ("--workers", "--most-seconds", "--most-memory", "--patience"):
        assert option in server
    assert ("cluster", "reached; 2 workers with 4 threads", True) in told
    assert ("cluster", "The worker tcp://b has choicebo 0.0.1: it is not used.", False) in told
    away = run("doctor", "--cluster", "tcp://nowhere:1")
    assert (away.exit_code, "No dask scheduler answers" in away.output) == (1, True)
