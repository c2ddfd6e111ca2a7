from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from choicebo.study import StorageError, Study
from choicebo.web.desk import Desk
from choicebo.web.settings import ServerSettings
from choicebo.web.workers import WorkerPool

from .web_helpers import bread


def test_a_killed_worker_costs_no_question(tmp_path: object) -> None:
    settings = ServerSettings(f"{tmp_path}/studies.db", workers=1)
    Study.create(settings.url, **bread()).close()
    desk = Desk(settings)
    try:
        study = desk.study("bread")
        assert isinstance(desk.pool, WorkerPool)
        worker = desk.pool.submit(os.getpid).result(timeout=120)
        waiting = desk.pool.submit(time.sleep, 60)
        asked = desk.begin_question(study, "owner")
        os.kill(worker, signal.SIGKILL)
        assert asked.result(timeout=120).number == 1
        assert waiting.exception() is not None
        assert desk.pool.submit(os.getpid).result(timeout=120) != worker
    finally:
        desk.close()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
def test_a_closed_pool_leaves_no_process_behind() -> None:
    pool = WorkerPool(1)
    worker = pool.submit(os.getpid).result(timeout=120)
    pool.shutdown()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()


def test_what_the_end_cuts_off_is_not_begun_again(tmp_path: Path) -> None:
    settings = ServerSettings(str(tmp_path / "studies.db"), workers=1, patience=0)
    Study.create(settings.url, **bread()).close()
    desk = Desk(settings)
    assert isinstance(desk.pool, WorkerPool)
    desk.pool.submit(os.getpid).result(timeout=120)
    desk.pool.submit(time.sleep, 60)
    asked = desk.begin_question(desk.study("bread"), "owner")
    while not asked.running():
        time.sleep(0.05)
    desk.close()
    assert isinstance(asked.exception(timeout=60), StorageError)
    assert desk.pool._pool is None
