"""What a page costs as a study grows, from 10 to 5,000 answers; and the transactions that one answer takes.

    python benchmarks/long_history.py
    python benchmarks/long_history.py --answers 10 100 1000 --times 10

Pages are asked for in this process, without a network. The next question is left out: it learns from all answers, and is computed
in the background.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from starlette.testclient import TestClient

import choicebo as cb
from choicebo.history import Event, Question
from choicebo.study import OWNER, Storage, Study, event_store
from choicebo.study.checksum import Chain
from choicebo.web.app import create_app
from choicebo.web.server_settings import ServerSettings

SPACE = cb.Space([cb.Real("temperature", 150, 220), cb.Real("minutes", 5, 40)])


def fill(url: str, answers: int) -> None:
    """A study with so many answers and one open question."""
    study = Study.create(url, "bread", SPACE, acquisition="sobol", query_size=5)
    options = SPACE.decode(np.random.default_rng(0).random((5 * (answers + 1), SPACE.dim)))
    began, events = datetime.now(UTC) - timedelta(days=30), []
    for number in range(answers + 1):
        at, shown = began + timedelta(seconds=60 * number), options[5 * number : 5 * number + 5]
        question = Question(number + 1, shown, "So.", (True,) * 5, ("sobol",), asked_at=at)
        events.append(Event(2 * number + 1, "question", OWNER, at, question=question))
        if number < answers:
            events.append(Event(2 * number + 2, "answer", OWNER, at, 2 * number + 1, (number % 5,), 5.0))
    with study._storage.write() as connection:
        event_store.append(connection, 1, events, Chain())
    study.close()


def seconds(work: Callable[[], Any], times: int) -> float:
    """The median time of some work."""
    work()
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def measure(folder: Path, answers: int, times: int) -> dict[str, float]:
    """Milliseconds of each request."""
    url = str(folder / f"{answers}.db")
    fill(url, answers)
    with (
        ThreadPoolExecutor(1) as pool,
        TestClient(create_app(ServerSettings(url), pool), "http://127.0.0.1:8000") as client,
    ):
        study = client.app.state.server.study("bread")

        def get(path: str) -> Callable[[], Any]:
            def request() -> None:
                assert client.get(path).status_code == 200

            return request

        def retract_and_restore() -> None:
            study.retract(2)
            study.restore(2)

        def answer_and_undo() -> None:
            study.tell(study.open_question(), [0])
            study.undo()

        found = {
            "an answer, and undo": seconds(answer_and_undo, times),
            "choose": seconds(get("/study/bread"), times),
            "history": seconds(get("/study/bread/history"), times),
            "last page of the history": seconds(get("/study/bread/history?page=100000"), times),
            "question of the API": seconds(get("/api/v1/studies/bread/question"), times),
            "two writes": seconds(retract_and_restore, times),
        }
    return {name: 1000 * value for name, value in found.items()}


def transactions(folder: Path) -> int:
    """How many transactions begin from an answer on the page until the next question is there."""
    url = str(folder / "count.db")
    Study.create(url, "bread", SPACE, acquisition="sobol").close()
    with (
        ThreadPoolExecutor(1) as pool,
        TestClient(create_app(ServerSettings(url), pool), "http://127.0.0.1:8000") as client,
    ):
        client.get("/api/v1/studies/bread/question", params={"wait": 60})  # what computes is loaded
        page = client.get("/study/bread").text
        begun: list[int] = []
        storage: Storage = client.app.state.server.storage
        sa.event.listen(storage._open(), "begin", lambda _: begun.append(1))
        fields = {name: re.search(rf'name="{name}" value="([^"]*)"', page)[1] for name in ("form_token", "question")}
        after = client.post(
            "/study/bread/answer", data={**fields, "kept": [0], "act": "keep"}, headers={"HX-Request": "true"}
        )
        assert 'value="2"' in after.text
        return len(begun)


def main() -> None:
    """Print the table as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, nargs="+", default=[10, 50, 200, 1000, 5000])
    parser.add_argument("--times", type=int, default=30, help="requests of each kind")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        curve = {answers: measure(folder, answers, given.times) for answers in given.answers}
        first, last = curve[given.answers[0]], curve[given.answers[-1]]
        rows = {
            kind: {f"ms after {answers}": round(found[kind], 2) for answers, found in curve.items()}
            | {"ratio": round(last[kind] / first[kind], 2)}
            for kind in first
        }
        print(json.dumps({**rows, "transactions of an answer": transactions(folder)}, indent=2))


if __name__ == "__main__":
    main()
