"""Whoever waits holds no thread of the server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from choicebo.serving import scheduler
from choicebo.study import Study

from .web_helpers import TOKEN, Browser, bread


class StoppedPool(ThreadPoolExecutor):
    """Computes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__(1)
        self.go = threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        def later() -> Any:
            self.go.wait(60)
            return fn(*args, **kwargs)

        return super().submit(later)


@pytest.fixture
def pool() -> Iterator[StoppedPool]:
    found = StoppedPool()
    yield found
    found.go.set()


@pytest.fixture
def stopped(serve: Callable[..., Browser], pool: StoppedPool) -> Browser:
    """A server whose model never comes to an end."""
    found = serve(token=TOKEN, pool=pool, patience=0)
    Study.create(found.url, **bread()).close()
    return found


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def send_all(browser: Browser, paths: list[str], headers: dict[str, str]) -> tuple[list[threading.Thread], list[int]]:
    """Send requests at once, each from a thread of its own."""
    codes: list[int] = []
    threads = [
        threading.Thread(target=lambda path=path: codes.append(browser.client.get(path, headers=headers).status_code))
        for path in paths
    ]
    for thread in threads:
        thread.start()
    return threads, codes


@pytest.mark.parametrize("path", ["question?wait=20", "result?wait=20"])
def test_many_that_wait_do_not_stop_the_server(stopped: Browser, pool: StoppedPool, path: str) -> None:
    study = stopped.study
    study.add([{"minutes": 7, "flour": "rye"}, {"minutes": 9, "flour": "rye"}], [0])
    owner = bearer(TOKEN)
    headers = owner if path.startswith("result") else bearer(study.add_rater("Ann"))
    threads, codes = send_all(stopped, [f"/api/v1/studies/bread/{path}"] * 130, headers)
    time.sleep(1.0)
    begun = time.monotonic()
    for _ in range(5):
        assert stopped.client.get("/api/v1/studies", headers=owner).status_code == 200
    assert time.monotonic() - begun < 5
    pool.go.set()
    for thread in threads:
        thread.join(60)
    assert set(codes) <= {200, 202}
    assert len(codes) == 130


def test_one_rater_waits_with_a_few_requests_at_most(stopped: Browser, pool: StoppedPool) -> None:
    headers = bearer(stopped.study.add_rater("Ann"))
    threads, codes = send_all(stopped, ["/api/v1/studies/bread/question?wait=20"] * 30, headers)
    for _ in range(100):
        if len(codes) >= 20:
            break
        time.sleep(0.1)
    assert set(codes) == {202}  # those beyond the limit are told at once to come again
    assert 20 <= len(codes) < 30
    pool.go.set()
    for thread in threads:
        thread.join(60)
    assert codes.count(200) == 30 - codes.count(202)
    assert stopped.client.get("/api/v1/studies/bread/question?wait=20", headers=headers).status_code == 200


def test_many_raters_who_wait_for_the_model_hold_no_thread(
    serve: Callable[..., Browser], pool: StoppedPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rater whose patience is over is asked something, however many others are waiting."""
    monkeypatch.setattr(scheduler, "_MOST_THREADS", 3)
    browser = serve(token=TOKEN, pool=pool, patience=2.0)
    settings = {"acquisition": "default", "initial_queries": 1, "latent_dim": 1, "raters": "separate"}
    with Study.create(browser.url, **bread(**settings)) as study:
        names = [f"rater {number}" for number in range(12)]
        for name in names:
            study.add_rater(name)
            for minutes in (7, 9):
                study.add([{"minutes": minutes, "flour": "rye"}, {"minutes": 30, "flour": "rye"}], [0], rater=name)
    server = browser.client.app.state.server  # type: ignore[attr-defined]
    shared = server.study("bread")
    begun = time.monotonic()
    asked = [server.scheduler.begin_question(shared, name) for name in names]
    assert {future.result(timeout=60).strategy for future in asked} == {"stand-in"}
    assert time.monotonic() - begun < 6  # and not one after the other


def test_nobody_waits_for_a_result(stopped: Browser, pool: StoppedPool) -> None:
    study, owner = stopped.study, bearer(TOKEN)
    study.add([{"minutes": 7, "flour": "rye"}, {"minutes": 9, "flour": "rye"}], [0])
    pool.go.set()
    stopped.get("/enter")
    stopped.post("/enter", {"token": TOKEN})
    pool.go.clear()
    page = stopped.client.get("/study/bread/result").text
    assert "Preliminary, from counts of 1 answer; the model is being learned" in page
    assert "<b>1 of 1</b> <span>times kept</span>" in page
    assert 'data-thinking="/study/bread/result/events"' in page
    told = stopped.client.get("/api/v1/studies/bread/result", headers=owner)
    assert (told.status_code, told.json()["thinking"]) == (202, True)
    [best] = told.json()["preliminary"]["pareto_set"]
    assert (best["option"], best["probability"]) == ({"minutes": 7, "flour": "rye"}, 1.0)
    options = {"options": [{"minutes": 7, "flour": "rye"}]}
    assert stopped.client.post("/api/v1/studies/bread/predict", headers=owner, json=options).status_code == 202


def test_while_new_answers_are_learned_the_result_before_them_is_shown(stopped: Browser, pool: StoppedPool) -> None:
    study = stopped.study
    pool.go.set()
    stopped.get("/enter")
    stopped.post("/enter", {"token": TOKEN})
    study.add([{"minutes": 7, "flour": "rye"}, {"minutes": 9, "flour": "rye"}], [0])
    stopped.client.get("/study/bread/result/events")
    assert "From the model of 1 answer about" in stopped.client.get("/study/bread/result").text
    pool.go.clear()
    study.add([{"minutes": 8, "flour": "rye"}, {"minutes": 9, "flour": "wheat"}], [0])
    assert "from the model of 1 answer; 1 newer is being learned" in stopped.client.get("/study/bread/result").text
