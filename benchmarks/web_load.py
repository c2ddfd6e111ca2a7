"""Many raters at once on one server: how long each waits for the next question.

    python benchmarks/web_load.py                          the model with its default settings
    python benchmarks/web_load.py --acquisition sobol      questions without a model: the web app alone
    python benchmarks/web_load.py --json load.json

Each rater asks, thinks for a while, answers, and asks again, over HTTP, as the page does. Times are from sending the answer
to having the next question. The server is a process of its own, started as ``choicebo serve`` starts it.
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
from pathlib import Path

import httpx

import choicebo as cb
from choicebo.study import Study

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
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder) / "load.db")
        links = _studies(url, given)
        server = _serve(url, given.workers)
        try:
            waits, tells, failures, seconds = _run(server[1], links, given)
        finally:
            server[0].terminate()
            server[0].wait()
    numbers = {
        "raters": given.raters,
        "studies": given.studies,
        "answers": len(waits),
        "failed_requests": failures,
        "acquisition": given.acquisition,
        "engine": given.engine,
        "next_question_median_s": round(statistics.median(waits), 3),
        "next_question_p90_s": round(sorted(waits)[int(0.9 * len(waits))], 3),
        "next_question_max_s": round(max(waits), 3),
        "answer_stored_median_s": round(statistics.median(tells), 3),
        "total_s": round(seconds, 1),
        "cores": os.cpu_count(),
        "load_average_after": os.getloadavg()[0],
        "python": platform.python_version(),
    }
    for name, value in numbers.items():
        print(f"{name:28} {value}")
    if given.json:
        given.json.write_text(json.dumps(numbers, indent=2) + "\n")


def _studies(url: str, given: argparse.Namespace) -> list[tuple[str, str]]:
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


def _serve(url: str, workers: int) -> tuple[subprocess.Popen[str], str]:
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
        str(workers),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://[^/\s]+", process.stdout.readline())
    if not found:
        raise SystemExit("the server did not start")
    return process, found[0]


def _run(
    address: str, links: list[tuple[str, str]], given: argparse.Namespace
) -> tuple[list[float], list[float], int, float]:
    waits: list[float] = []
    tells: list[float] = []
    failures = 0

    def rate(number: int, study: str, token: str) -> None:
        nonlocal failures
        chance = random.Random(number)
        root = f"{address}/api/v1/studies/{study}"
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=600) as client:

            def ask() -> dict[str, object]:
                nonlocal failures
                while True:
                    found = client.get(f"{root}/question", params={"wait": 30})
                    if found.status_code == 200:
                        return found.json()  # type: ignore[no-any-return]
                    failures += found.status_code != 202

            asked = ask()
            for _ in range(given.answers):
                time.sleep(chance.expovariate(1 / given.think) if given.think else 0)
                begun = time.perf_counter()
                told = client.post(f"{root}/questions/{asked['number']}/answer", json={"kept": [chance.randrange(5)]})
                failures += told.status_code != 200
                tells.append(time.perf_counter() - begun)
                asked = ask()
                waits.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    threads = [threading.Thread(target=rate, args=(n, *link)) for n, link in enumerate(links)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waits, tells, failures, time.perf_counter() - begun


if __name__ == "__main__":
    main()
