"""Many raters at once on one server: how long each waits for the next question, and how many come from the model.

    python benchmarks/web_load.py team         50 raters on 10 studies for 15 minutes
    python benchmarks/web_load.py cluster      the same, computed by two Dask workers
    python benchmarks/web_load.py crowd        200 raters on 40 studies
    python benchmarks/web_load.py memory       10,000 answers, as fast as they are taken: what the server holds
    python benchmarks/web_load.py team cluster crowd memory --json load.json

Each rater asks, thinks for a while, answers, and asks again, over HTTP, as the page does. They know what they like: two wishes
that pull apart, with a little noise, so that their answers are as foreseeable as those of a person. Times are from sending
the answer to having the next question. The server is a process of its own, started as ``choicebo serve`` starts it; it shares
this machine with the raters, and with the workers of the cluster.

Of the questions after the beginning of their studies, ``model_share`` came from the model, and ``older_share`` from one that
lacked the last few answers, ``behind_median`` of them. Every setting can be changed: ``--raters 10 --minutes 2``.
An empty folder in NUMBA_CACHE_DIR shows a machine on which nothing is compiled yet.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import choicebo as cb
from choicebo.study import Study

TOKEN = "benchmark-token-of-this-run"
LEARNED = re.compile(r"The model had learned from (\d+) of (\d+) answers")
SCENARIOS: dict[str, dict[str, Any]] = {
    "team": {"raters": 50, "studies": 10, "think": 8.0, "minutes": 15.0},
    "cluster": {"raters": 50, "studies": 10, "think": 8.0, "minutes": 15.0, "dask_workers": 2},
    "crowd": {"raters": 200, "studies": 40, "think": 8.0, "minutes": 15.0},
    "memory": {"raters": 40, "studies": 40, "think": 0.1, "minutes": 120.0, "answers": 10_000},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", default=["team"], choices=[*SCENARIOS, []], metavar="SCENARIO")
    parser.add_argument("--raters", type=int)
    parser.add_argument("--studies", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--answers", type=int, help="end after so many answers of all raters together")
    parser.add_argument("--think", type=float, help="mean seconds of thought before an answer")
    parser.add_argument("--acquisition", default="default")
    parser.add_argument("--engine", default="hmc")
    parser.add_argument("--latent-dim", default="auto")
    parser.add_argument("--workers", type=int, default=0, help="processes that compute; 0: the server's default")
    parser.add_argument("--dask-workers", type=int, help="compute on so many Dask workers of this machine instead")
    parser.add_argument("--patience", type=float, default=4.0, help="of the server, in seconds")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    given = parser.parse_args()
    rows = []
    for scenario in given.scenario:
        changed = {name: value for name, value in vars(given).items() if value is not None}
        rows.append(measure(scenario, argparse.Namespace(**{**SCENARIOS[scenario], **changed})))
        if given.json:
            given.json.write_text(json.dumps(rows, indent=2) + "\n")


def measure(scenario: str, given: argparse.Namespace) -> dict[str, Any]:
    """The numbers of one scenario."""
    with (
        tempfile.TemporaryDirectory() as folder,
        cluster(getattr(given, "dask_workers", 0)) as address,
    ):
        url = str(Path(folder) / "load.db")
        links = make_studies(url, given)
        process, page = serve(url, given, address)
        try:
            seen = asyncio.run(_run(page, links, given, process.pid))
        finally:
            process.terminate()
            process.wait()
    numbers = {"scenario": scenario, **settings_of(given), **seen.numbers(given.minutes), **machine()}
    for name, value in numbers.items():
        print(f"{name:28} {value}", flush=True)
    print()
    return numbers


def settings_of(given: argparse.Namespace) -> dict[str, Any]:
    """What was measured."""
    names = ("raters", "studies", "think", "acquisition", "engine", "latent_dim", "workers", "dask_workers", "patience")
    return {name: getattr(given, name, 0) for name in names}


def machine() -> dict[str, Any]:
    """Where."""
    return {
        "cores": os.cpu_count(),
        "load_average_after": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "choicebo": cb.__version__,
    }


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


def serve(url: str, given: argparse.Namespace, cluster: str | None = None) -> tuple[subprocess.Popen[str], str]:
    """A server of its own, and its address."""
    command = [sys.executable, "-m", "choicebo", "serve", url, "--port", "0", "--token", TOKEN]
    command += ["--workers", str(given.workers), "--patience", str(given.patience)]
    command += [] if cluster is None else ["--cluster", cluster]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://[^/\s]+", process.stdout.readline())
    if not found:
        raise SystemExit("the server did not start")
    return process, found[0]


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str | None]:
    """A Dask scheduler with so many workers of one thread each, and its address; none without workers."""
    if not workers:
        yield None
        return
    dask = [sys.executable, "-m", "dask"]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "scheduler.json"
        run = lambda *command: subprocess.Popen([*dask, *command, "--scheduler-file", str(told)])  # noqa: E731
        processes = [run("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
        while not told.exists():
            time.sleep(0.1)
        one = ("worker", "--nthreads", "1", "--no-dashboard", "--nanny")
        processes += [run(*one) for _ in range(workers)]
        try:
            yield json.loads(told.read_text())["address"]
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


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
    """What the raters saw, and what the server held meanwhile."""

    waits: list[float] = field(default_factory=list)
    tells: list[float] = field(default_factory=list)
    from_model: int = 0
    behind: list[int] = field(default_factory=list)
    """Answers that the model lacked, of the questions by an older one."""
    stand_ins: list[float] = field(default_factory=list)
    """Seconds from the beginning, of each."""
    began: float = field(default_factory=time.monotonic)
    failures: int = 0
    memory: list[tuple[int, float]] = field(default_factory=list)
    """(answers, MB of the server)"""
    cpu: tuple[float, float] = (0.0, 0.0)
    """CPU seconds of the server, and of the processes that it computes in."""
    seconds: float = 0.0

    def asked(self, question: dict[str, Any]) -> None:
        """Count where a question came from; those at the beginning of a study come from nowhere."""
        if question["strategy"] == "stand-in":
            self.stand_ins.append(time.monotonic() - self.began)
        self.from_model += question["latent_dim"] is not None
        found = LEARNED.match(question["reason"])
        if found:
            self.behind.append(int(found[2]) - int(found[1]))

    def numbers(self, minutes: float) -> dict[str, Any]:
        """The figures."""
        later = self.from_model + len(self.stand_ins)
        steps = self.memory[:: max(1, len(self.memory) // 10)]
        return {
            "minutes": round(self.seconds / 60, 1),
            "answers": len(self.waits),
            "failed_requests": self.failures,
            "next_question_median_s": _quantile(self.waits, 0.5),
            "next_question_p90_s": _quantile(self.waits, 0.9),
            "next_question_p95_s": _quantile(self.waits, 0.95),
            "next_question_max_s": _quantile(self.waits, 1.0),
            "answer_stored_median_s": _quantile(self.tells, 0.5),
            "questions_after_beginning": later,
            "model_share": round(self.from_model / later, 3) if later else None,
            "stand_ins_by_minute": [
                sum(minute <= at / 60 < minute + 1 for at in self.stand_ins) for minute in range(round(minutes) + 1)
            ],
            "older_share": round(len(self.behind) / later, 3) if later else None,
            "behind_median": statistics.median(self.behind) if self.behind else 0,
            "behind_p95": _quantile([float(n) for n in self.behind], 0.95),
            "server_cpu_s_per_answer": round(self.cpu[0] / max(len(self.waits), 1), 3),
            "computing_cpu_s_per_answer": round(self.cpu[1] / max(len(self.waits), 1), 3),
            "server_mb_by_answers": {answers: round(mb) for answers, mb in steps},
        }


def _cpu(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _quantile(values: list[float], share: float) -> float | None:
    ordered = sorted(values)
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)], 3) if ordered else None


async def _run(address: str, links: list[tuple[str, str]], given: argparse.Namespace, server: int) -> Seen:
    seen = Seen()
    until, most = seen.began + 60 * given.minutes, getattr(given, "answers", None)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)

    def is_over() -> bool:
        return time.monotonic() > until or (most is not None and len(seen.waits) >= most)

    async def rate(client: httpx.AsyncClient, number: int, study: str, token: str) -> None:
        chance = random.Random(number)
        root, headers = f"/api/v1/studies/{study}", {"Authorization": f"Bearer {token}"}

        async def ask() -> dict[str, Any]:
            while True:
                try:
                    found = await client.get(f"{root}/question", params={"wait": 30}, headers=headers)
                    if found.status_code == 200:
                        return found.json()  # type: ignore[no-any-return]
                    seen.failures += found.status_code != 202
                except httpx.TransportError:
                    seen.failures += 1

        async def tell(question: int, kept: list[int]) -> None:
            while True:  # as the page does; the server takes the same answer once
                try:
                    told = await client.post(
                        f"{root}/questions/{question}/answer", json={"kept": kept}, headers=headers
                    )
                    if told.status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                seen.failures += 1
                await asyncio.sleep(1)

        await asyncio.sleep(chance.uniform(0, given.think))  # they do not all come in the same second
        asked = await ask()
        while not is_over():
            await asyncio.sleep(chance.expovariate(1 / given.think) if given.think else 0)
            begun = time.monotonic()
            await tell(asked["number"], keep(asked, chance))
            seen.tells.append(time.monotonic() - begun)
            asked = await ask()
            seen.waits.append(time.monotonic() - begun)
            seen.asked(asked)

    async def watch() -> None:
        while True:
            with contextlib.suppress(OSError, ValueError, IndexError):
                pages = int(Path(f"/proc/{server}/statm").read_text().split()[1])
                seen.memory.append((len(seen.waits), pages * os.sysconf("SC_PAGE_SIZE") / 2**20))
                seen.cpu = _cpu(server), sum(map(_cpu, _children(server)))
            await asyncio.sleep(5)

    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(rate(client, number, *link) for number, link in enumerate(links)))
        watching.cancel()
    seen.seconds = time.monotonic() - seen.began
    return seen


if __name__ == "__main__":
    main()
