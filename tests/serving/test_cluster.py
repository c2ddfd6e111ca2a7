"""A cluster of real processes: a Dask scheduler and its workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pool_work import hang_once, niceness, page_faults, question_from, wait_for

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.serving.cluster import Cluster
from choicebo.serving.pool import LocalPool
from choicebo.study import Study

pytest.importorskip("distributed", reason="the extra dask is not installed")

HERE = str(Path(__file__).parent)
BREAD: dict[str, Any] = {
    "name": "bread",
    "space": cb.Space([cb.Integer("minutes", 5, 40), cb.Categorical("flour", ["rye", "wheat", "spelt"])]),
    "query_size": 4,
    "engine": "laplace",
    "latent_dim": 2,
    "initial_queries": 1,
}


class Dask:
    """A scheduler and workers, each a process of its own that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        self.scheduler = self._run("scheduler", "--port", str(self.port), "--host", "127.0.0.1", "--no-dashboard")
        return self.scheduler

    def start_worker(self, path: str = "") -> subprocess.Popen[bytes]:
        one = ("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        return self._run(*one, "--death-timeout", "60", path=path)

    def _run(self, *command: str, path: str = "") -> subprocess.Popen[bytes]:
        paths = [path, HERE, *sys.path]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s",
            "MALLOC_TRIM_THRESHOLD_": "65536",  # as Dask's nannies set it
        }
        where = self.folder / f"{len(self.processes)}.log"
        with where.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command], stdout=log, stderr=log, env=environment, cwd=self.folder
            )
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    found = Dask(tmp_path)
    yield found
    found.end()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With two workers; tests may kill them, and share it in the order in which they stand here."""
    there = Dask(tmp_path_factory.mktemp("dask"))
    for _ in range(2):
        there.start_worker()
    with Cluster(there.address) as found:
        found.dask = there  # type: ignore[attr-defined]
        until(lambda: found.workers == 2)
        yield found
    there.end()


def until(is_so: Callable[[], bool], seconds: float = 90.0) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.1)


def questions(folder: Path, executor: Any) -> list[Any]:
    with Study.create(folder / "study.db", executor=executor, **BREAD) as study:
        study.tell(study.ask(), [0])
        second = study.ask()
        study.tell(second, [1])
        study.learn()
        return [second, study.ask(stand_in=True)]


def test_a_cluster_asks_what_the_local_pool_asks(cluster: Cluster, tmp_path: Path) -> None:
    local, found = LocalPool(1), {}
    for name, executor in (("here", None), ("pool", local), ("there", cluster)):
        (tmp_path / name).mkdir()
        found[name] = questions(tmp_path / name, executor)
    local.shutdown()
    assert found["here"] == found["pool"] == found["there"]
    assert [question.latent_dim for question in found["there"]] == [2, 2]


def test_workers_load_what_a_first_question_needs_before_it_is_asked_for(cluster: Cluster) -> None:
    dask: Dask = cluster.dask  # type: ignore[attr-defined]
    until(lambda: all(cluster._client.run(_has_loaded).values()))
    logs = "".join(path.read_text() for path in dask.folder.glob("*.log"))
    assert "ERROR" not in logs
    assert "Traceback" not in logs


@pytest.mark.skipif(sys.platform != "linux", reason="niceness of single threads is Linux's")
def test_what_takes_long_lets_quick_questions_go_first(cluster: Cluster) -> None:
    assert cluster.submit(niceness).result(60) >= 10
    assert cluster.submit(question_from).result(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the C library is another one")
def test_memory_that_one_array_left_is_there_for_the_next(cluster: Cluster) -> None:
    until(lambda: all(cluster._client.run(_has_loaded).values()))
    for _ in range(2):
        assert cluster.submit(page_faults).result(60) < 10_000  # of 25,600 if all of it were new


def test_a_model_that_asks_several_questions_is_sent_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    scatter = cluster._client.scatter
    monkeypatch.setattr(
        cluster._client, "scatter", lambda model, **given: sent.append(model) or scatter(model, **given)
    )
    models = []
    for count in (1, 2):
        choices = [cb.Choice((0, 1), (0,))] * count
        models.append(cb.ChoiceGP(1, engine="laplace").fit(cb.ChoiceData([[0.1], [0.9]], choices)))
    first, second = models
    asked = [cluster.submit(question_from, model).result(60) for model in (first, first, second, first)]
    assert asked == [1, 1, 2, 1]
    assert len(sent) == 2
    assert sent[0] is first
    cluster._sent = cluster._nothing_sent()  # as after the scheduler was lost
    assert cluster.submit(question_from, first).result(60) == 1
    assert len(sent) == 3


def _has_loaded() -> bool:
    return "choicebo.optimizer" in sys.modules


def test_two_servers_share_one_cluster(cluster: Cluster) -> None:
    with Cluster(cluster.address, keeps_one_free=True) as other, ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda each: [each.submit(abs, -n).result(60) for n in range(5)], (cluster, other))
        assert list(found) == [[0, 1, 2, 3, 4]] * 2


def test_what_a_killed_worker_was_at_is_computed_by_another_and_a_restarted_scheduler_is_found_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    dask: Dask = cluster.dask  # type: ignore[attr-defined]
    before = cluster.counts["done"]
    # A worker in mid-question.
    begun = cluster.submit(wait_for, str(tmp_path / "pid"), str(tmp_path / "go"))
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    first = int((tmp_path / "pid").read_text())
    os.kill(first, signal.SIGKILL)
    until(lambda: int((tmp_path / "pid").read_text() or first) != first)
    (tmp_path / "go").touch()
    assert begun.result(timeout=90) == "done"
    # The scheduler, with a question under way.
    (tmp_path / "go").unlink()
    again = cluster.submit(wait_for, str(tmp_path / "pid2"), str(tmp_path / "go"))
    until(lambda: (tmp_path / "pid2").exists())
    dask.scheduler.kill()
    dask.scheduler.wait()
    dask.start_scheduler()
    dask.start_worker()
    (tmp_path / "go").touch()
    assert again.result(timeout=200) == "done"
    assert cluster.counts["done"] == before + 2


def test_a_worker_with_another_choicebo_is_refused_in_words(
    dask: Dask, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other" / "choicebo-0.0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: choicebo\nVersion: 0.0.1\n")
    dask.start_worker(str(other.parent))
    until(lambda: _workers(dask) == 1)
    with pytest.raises(InvalidInputError, match=r"has choicebo 0\.0\.1, and choicebo .* is needed.*pip install"):
        Cluster(dask.address)
    mine = dask.start_worker()
    until(lambda: _workers(dask) == 2)
    with Cluster(dask.address) as cluster:
        assert cluster.workers == 1  # the other one is left alone
        assert len(cluster.refusals) == 1
        assert {cluster.submit(os.getpid).result(timeout=60) for _ in range(4)} == {mine.pid}
    assert "it is not used" in caplog.text


@pytest.mark.slow
def test_a_computation_that_never_ends_is_given_up_on_a_cluster_too(dask: Dask, tmp_path: Path) -> None:
    for _ in range(2):
        dask.start_worker()
    with Cluster(dask.address) as cluster:
        until(lambda: cluster.workers == 2)
        cluster.caps = cluster.caps._replace(seconds=1.0)
        assert cluster.submit(hang_once, str(tmp_path / "begun")).result(timeout=60) == "done"
        assert cluster.counts["hung"] == 1


def test_no_scheduler_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("choicebo.serving.cluster._CONNECT_SECONDS", 1)
    with pytest.raises(InvalidInputError, match="No dask scheduler answers at"):
        Cluster("tcp://127.0.0.1:1")


def _workers(dask: Dask) -> int:
    """How many workers the scheduler knows, whatever their version."""
    import distributed

    with distributed.Client(dask.address, timeout=30, set_as_default=False) as client:
        return len(client.nthreads())
