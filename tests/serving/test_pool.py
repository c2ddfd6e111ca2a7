from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pool_work import fail, grow, hang_once
from typer.testing import CliRunner

import choicebo as cb
from choicebo.__main__ import build_app
from choicebo.errors import ComputationLostError, ConvergenceWarning
from choicebo.model import compiling
from choicebo.serving import fair_queue
from choicebo.serving import pool as pools
from choicebo.serving.pool import _POLITENESS, LocalPool, politely
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


@pytest.fixture
def pool() -> Iterator[LocalPool]:
    found = LocalPool(1, pools.Caps(120.0, 700))
    yield found
    found.shutdown()


def test_a_killed_worker_costs_no_question(tmp_path: object) -> None:
    settings = ServerSettings(f"{tmp_path}/studies.db", workers=1)
    Study.create(settings.url, **BREAD).close()
    server = Server(settings)
    try:
        study = server.study("bread")
        assert isinstance(server.scheduler.pool, LocalPool)
        worker = server.scheduler.pool.submit(os.getpid).result(timeout=120)
        waiting = server.scheduler.pool.submit(time.sleep, 2)
        asked = server.scheduler.begin_question(study, "owner")
        while not waiting.running():
            time.sleep(0.05)
        os.kill(worker, signal.SIGKILL)
        assert asked.result(timeout=120).number == 1
        assert waiting.result(timeout=120) is None  # it was done again
        assert server.scheduler.pool.submit(os.getpid).result(timeout=120) != worker
        assert server.scheduler.pool.counts["died"] == 1
    finally:
        server.close()


def test_a_process_that_hangs_is_replaced_and_its_job_done_again(pool: LocalPool, tmp_path: Path) -> None:
    before = pool.submit(os.getpid).result(timeout=120)
    pool.caps = pools.Caps(4.0, 700)
    assert pool.submit(hang_once, str(tmp_path / "begun")).result(timeout=120) == "done"
    assert pool.counts["hung"] == 1
    assert pool.submit(os.getpid).result(timeout=120) != before


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is looked up in /proc")
def test_a_process_that_grows_too_large_is_replaced_and_its_job_done_again(tmp_path: Path) -> None:
    pool = LocalPool(1, pools.Caps(60.0, 700))
    try:
        assert pool.submit(grow, 800, str(tmp_path / "begun")).result(timeout=120) == 800
        assert (pool.counts["grew"], pool.counts["hung"]) == (1, 0)
    finally:
        pool.shutdown()


def test_what_costs_two_processes_their_life_is_told_in_words(pool: LocalPool) -> None:
    pool.caps = pools.Caps(0.5, 700)
    with pytest.raises(ComputationLostError, match=r"took longer than 0.5 s, and so did a second one.*--most-seconds"):
        pool.submit(time.sleep, 600).result(timeout=120)
    pool.caps = pools.Caps(120.0, 700)
    with pytest.raises(ComputationLostError, match="died"):
        pool.submit(os._exit, 1).result(timeout=120)
    assert pool.submit(abs, -1).result(timeout=120) == 1


def test_an_error_of_the_work_itself_costs_no_process(pool: LocalPool) -> None:
    before = pool.submit(os.getpid).result(timeout=120)
    with pytest.raises(ZeroDivisionError, match="of the work itself") as told:
        pool.submit(fail).result(timeout=120)
    assert "in fail" in told.value.__notes__[0]  # where it happened is not lost
    with pytest.raises(Exception, match="lambda"):
        pool.submit(lambda: 1).result(timeout=120)
    assert pool.submit(os.getpid).result(timeout=120) == before


def test_a_long_fit_does_not_keep_a_quick_question_waiting() -> None:
    pool = LocalPool(2)

    fair_queue._LEVELS["abs"] = fair_queue.URGENT
    try:
        fits = [pool.submit_for("bread", time.sleep, 60) for _ in range(3)]
        assert pool.submit_for("bread", abs, -1).result(timeout=60) == 1
        assert not any(fit.done() for fit in fits)
    finally:
        del fair_queue._LEVELS["abs"]
        pool.shutdown()


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


def test_a_pool_is_closed_with_jobs_that_were_cancelled_and_others_that_wait() -> None:
    pool = LocalPool(1)
    pool.submit(os.getpid).result(timeout=120)
    pool.submit(time.sleep, 60)
    cancelled, waiting = pool.submit(os.getpid), pool.submit(os.getpid)
    assert cancelled.cancel()
    pool.shutdown()
    assert waiting.exception(timeout=10) is not None


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
    assert server.scheduler.pool.counts["died"] == 0  # it was ended, and did not die


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


def test_every_process_is_started_before_somebody_waits_for_it() -> None:
    pool = LocalPool(2)
    pool.warm()
    try:
        for _ in range(200):
            if len(pool.pids) == 2:
                break
            time.sleep(0.05)
        assert len(set(pool.pids)) == 2
    finally:
        pool.shutdown()


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


@pytest.mark.skipif(sys.platform != "linux", reason="niceness of single threads is Linux's")
def test_what_is_computed_politely_lets_others_go_first_and_nothing_else_changes() -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = niceness()
    assert politely(niceness) >= max(before, _POLITENESS[1])
    assert niceness() == before
    assert politely(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        politely(divmod, 1, 0)
