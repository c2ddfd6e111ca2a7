from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import choicebo as cb
from choicebo.__main__ import build_app
from choicebo.errors import ConvergenceWarning
from choicebo.model import compiling
from choicebo.serving import pool as pools
from choicebo.serving.pool import LocalPool
from choicebo.study import StorageError, Study
from choicebo.web import serve_command as commands
from choicebo.web.server import Server
from choicebo.web.server_settings import ServerSettings

BREAD = {
    "name": "bread",
    "space": cb.Space([cb.Integer("minutes", 5, 40), cb.Categorical("flour", ["rye", "wheat", "spelt"])]),
    "acquisition": "sobol",
    "query_size": 4,
}


def test_a_killed_worker_costs_no_question(tmp_path: object) -> None:
    settings = ServerSettings(f"{tmp_path}/studies.db", workers=1)
    Study.create(settings.url, **BREAD).close()
    server = Server(settings)
    try:
        study = server.study("bread")
        assert isinstance(server.scheduler.pool, LocalPool)
        worker = server.scheduler.pool.submit(os.getpid).result(timeout=120)
        waiting = server.scheduler.pool.submit(time.sleep, 60)
        asked = server.scheduler.begin_question(study, "owner")
        os.kill(worker, signal.SIGKILL)
        assert asked.result(timeout=120).number == 1
        assert waiting.exception() is not None
        assert server.scheduler.pool.submit(os.getpid).result(timeout=120) != worker
    finally:
        server.close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
def test_a_closed_pool_leaves_no_process_behind() -> None:
    pool = LocalPool(1)
    worker = pool.submit(os.getpid).result(timeout=120)
    pool.shutdown()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()


def test_what_the_end_cuts_off_is_not_begun_again(tmp_path: Path) -> None:
    settings = ServerSettings(str(tmp_path / "studies.db"), workers=1, patience=0)
    Study.create(settings.url, **BREAD).close()
    server = Server(settings)
    assert isinstance(server.scheduler.pool, LocalPool)
    server.scheduler.pool.submit(os.getpid).result(timeout=120)
    server.scheduler.pool.submit(time.sleep, 60)
    asked = server.scheduler.begin_question(server.study("bread"), "owner")
    while not asked.running():
        time.sleep(0.05)
    server.close()
    assert isinstance(asked.exception(timeout=60), StorageError)
    assert server.scheduler.pool._pool is None


def test_a_process_that_computes_takes_work_while_the_model_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def prepare() -> None:
        begun.set()
        assert go.wait(60)

    monkeypatch.setattr(compiling, "prepare", prepare)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        pools.be_ready()  # would never return if it waited
        warnings.warn("only 12 effective draws", ConvergenceWarning, stacklevel=1)
    assert begun.wait(60)
    go.set()
    assert shown == []


def test_code_that_cannot_be_compiled_ends_no_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def prepare() -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(compiling, "prepare", prepare)
    with caplog.at_level("INFO", logger="choicebo.serving"):
        pools._prepare()
    assert "the disk is full" in caplog.text


def test_every_process_is_started_before_somebody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, asked = LocalPool(3), []
    monkeypatch.setattr(pool, "submit", lambda *work: asked.append(work))
    pool.warm()
    assert len(asked) == 3


def test_serve_lets_the_model_be_compiled_before_anybody_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened = []
    monkeypatch.setattr(compiling, "start", lambda: happened.append("start"))
    monkeypatch.setattr(commands, "_run", lambda *_: happened.append("serve"))
    monkeypatch.setattr("uvicorn.Config", lambda *_, **__: None)  # it would take over the log
    result = CliRunner().invoke(build_app(), ["serve", str(tmp_path / "studies.db")])
    assert result.exit_code == 0, result.output
    assert happened == ["start", "serve"]


def test_a_cluster_computes_the_question_that_this_machine_would(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    given = {**BREAD, "acquisition": "default", "engine": "laplace", "latent_dim": 2, "initial_queries": 1}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as there:
        elsewhere = pools.Cluster(there.scheduler_address)
        asked = []
        for name, executor in (("here", None), ("there", elsewhere)):
            with Study.create(tmp_path / f"{name}.db", executor=executor, **given) as study:
                study.tell(study.ask(), [0])
                asked.append(study.ask())
        elsewhere.shutdown()
    assert asked[0].latent_dim == 2
    assert asked[0] == asked[1]
