"""Many raters at once on one server: how long each waits for the next question.

    python benchmarks/web_load.py                          the model with its default settings
    python benchmarks/web_load.py --acquisition sobol      questions without a model: the web app alone
    python benchmarks/web_load.py --json load.json

Each rater asks, thinks for a while, answers, and asks again, over HTTP, as the page does. They know what they like: two wishes
that pull apart, with a little noise, so that their answers are as foreseeable as those of a person. Times are from sending
the answer to having the next question. The server is a process of its own, started as ``choicebo serve`` starts it.

Of the questions that take a model, ``stand_in_share`` were asked without it, because it took too long.
An empty folder in NUMBA_CACHE_DIR shows a machine on which nothing is compiled yet.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import choicebo as cb
from choicebo.study import Storage, Study

TOKEN = "benchmark-token-of-this-run"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raters", type=int, default=50)
    parser.add_argument("--studies", type=int, default=10)
    parser.add_argument("--answers", type=int, default=8, help="answers per rater")
    parser.add_argument("--think", type=float, default=3.0, help="mean seconds of thought before an answer")
    parser.add_argument("--acquisition", default="default")
    parser.add_argument("--engine", default="hmc")
    parser.add_argument("--latent-dim", default="auto")
    parser.add_argument("--workers", type=int, default=0, help="processes that compute; 0: the server's default")
    parser.add_argument("--patience", type=float, default=4.0, help="of the server, in seconds")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder) / "load.db")
        links = make_studies(url, given)
        server = serve(url, given)
        try:
            seen = _run(url, server[1], links, given)
        finally:
            server[0].terminate()
            server[0].wait()
    waits = sorted(seen.waits)
    numbers = {
        "raters": given.raters,
        "studies": given.studies,
        "answers": len(waits),
        "failed_requests": seen.failures,
        "acquisition": given.acquisition,
        "engine": given.engine,
        "think_s": given.think,
        "patience_s": given.patience,
        "next_question_median_s": round(statistics.median(waits), 3),
        "next_question_p90_s": round(waits[int(0.9 * len(waits))], 3),
        "next_question_p95_s": round(waits[int(0.95 * len(waits))], 3),
        "next_question_max_s": round(waits[-1], 3),
        "answer_stored_median_s": round(statistics.median(seen.tells), 3),
        "questions_with_a_model": seen.with_model,
        "stand_in_share": round(seen.stand_ins / seen.with_model, 3) if seen.with_model else None,
        "total_s": round(seen.seconds, 1),
        "cores": os.cpu_count(),
        "load_average_after": os.getloadavg()[0],
        "python": platform.python_version(),
    }
    for name, value in numbers.items():
        print(f"{name:28} {value}")
    if given.json:
        given.json.write_text(json.dumps(numbers, indent=2) + "\n")


def make_studies(url: str, given: argparse.Namespace) -> list[tuple[str, str]]:
    """Studies with their raters: (study, token) of each rater."""
    space = cb.Space([cb.Real("a", 0, 1), cb.Real("b", 0, 1), cb.Categorical("c", ["x", "y", "z"])])
    latent_dim = given.latent_dim if given.latent_dim == "auto" else int(given.latent_dim)
    settings = {"acquisition": given.acquisition, "engine": given.engine, "latent_dim": latent_dim}
    studies = [Study.create(url, f"study-{n}", space, seed=n, **settings) for n in range(given.studies)]
    return [
        (study.name, study.add_rater(f"rater-{n}"))
        for n in range(given.raters)
        for study in [studies[n % len(studies)]]
    ]


def serve(url: str, given: argparse.Namespace) -> tuple[subprocess.Popen[str], str]:
    command = [
        sys.executable,
        "-m",
        "choicebo",
        "serve",
        url,
        "--port",
        "0",
        "--token",
        TOKEN,
        "--workers",
        str(given.workers),
        "--patience",
        str(given.patience),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://[^/\s]+", process.stdout.readline())
    if not found:
        raise SystemExit("the server did not start")
    return process, found[0]


def keep(asked: dict[str, Any], chance: random.Random) -> list[int]:
    """The options that no other one beats in either of two wishes."""
    wishes = [
        (
            option["a"] + chance.gauss(0, 0.05),
            option["b"] - option["a"] + 0.2 * (option["c"] == "x") + chance.gauss(0, 0.05),
        )
        for option in asked["options"]
    ]
    return [at for at, (one, two) in enumerate(wishes) if not any(a > one and b > two for a, b in wishes)]


@dataclass
class Seen:
    """What the raters saw; threads share it."""

    waits: list[float] = field(default_factory=list)
    tells: list[float] = field(default_factory=list)
    with_model: int = 0
    """How many questions took a model."""
    stand_ins: int = 0
    failures: int = 0
    seconds: float = 0.0


def _run(url: str, address: str, links: list[tuple[str, str]], given: argparse.Namespace) -> Seen:
    seen = Seen()
    lock = threading.Lock()
    storage = Storage(url)

    def rate(number: int, study: str, token: str) -> None:
        chance = random.Random(number)
        root = f"{address}/api/v1/studies/{study}"
        record, name = Study.open(storage, study), f"rater-{number}"
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=600) as client:

            def ask() -> dict[str, Any]:
                while True:
                    found = client.get(f"{root}/question", params={"wait": 30})
                    if found.status_code == 200:
                        return found.json()  # type: ignore[no-any-return]
                    with lock:
                        seen.failures += found.status_code != 202

            def tell(question: int, kept: list[int]) -> httpx.Response:
                while True:  # as the page does; the server takes the same answer once
                    try:
                        return client.post(f"{root}/questions/{question}/answer", json={"kept": kept})
                    except httpx.TransportError:
                        with lock:
                            seen.failures += 1

            asked = ask()
            for _ in range(given.answers):
                time.sleep(chance.expovariate(1 / given.think) if given.think else 0)
                begun = time.perf_counter()
                told = tell(asked["number"], keep(asked, chance))
                took = time.perf_counter() - begun
                takes_a_model = record.needs_model(name)
                begun = time.perf_counter()
                asked = ask()
                with lock:
                    seen.failures += told.status_code != 200
                    seen.tells.append(took)
                    seen.waits.append(took + time.perf_counter() - begun)
                    if takes_a_model:
                        seen.with_model += 1
                        seen.stand_ins += asked["strategy"] == "stand-in"

    begun = time.perf_counter()
    threads = [threading.Thread(target=rate, args=(n, *link)) for n, link in enumerate(links)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    storage.close()
    seen.seconds = time.perf_counter() - begun
    return seen


if __name__ == "__main__":
    main()
