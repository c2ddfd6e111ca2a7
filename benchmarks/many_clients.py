"""Hundreds of clients at once for a minute: what fails, and how long an answer takes.

    python benchmarks/many_clients.py                      200 clients on one study, then on ten
    python benchmarks/many_clients.py --clients 50 --seconds 20 --studies 1
    python benchmarks/many_clients.py --json clients.json

Each client is a rater of its own: it asks, thinks for a while, answers, and asks again, over HTTP. A polite wait is a 202 (the
question is being computed) or a 503 with a time to come back; everything else that is not a 200 counts as an error. Server and
clients share this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from web_load import keep, make_studies, serve

from choicebo.study import Study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--studies", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, default=5.0, help="mean seconds of thought before an answer")
    parser.add_argument("--acquisition", default="default")
    parser.add_argument("--engine", default="hmc")
    parser.add_argument("--latent-dim", default="auto")
    parser.add_argument("--workers", type=int, default=0, help="processes that compute; 0: the server's default")
    parser.add_argument("--patience", type=float, default=4.0, help="of the server, in seconds")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    given = parser.parse_args()
    rows = [_measure(given, studies) for studies in given.studies]
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n")


@dataclass
class Seen:
    """What the clients saw."""

    answers: list[float] = field(default_factory=list)
    """Seconds until an answer was acknowledged, polite waits included."""
    questions: list[float] = field(default_factory=list)
    """Seconds until the next question was there."""
    codes: Counter[str] = field(default_factory=Counter)


def _measure(given: argparse.Namespace, studies: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        url = str(Path(folder) / "clients.db")
        links = make_studies(url, argparse.Namespace(**{**vars(given), "studies": studies, "raters": given.clients}))
        process, address = serve(url, given)
        try:
            seen = asyncio.run(_run(address, links, given))
        finally:
            process.terminate()
            process.wait()
        stored = sum(info.answers for info in Study.list(url))
    polite = {"200", "202", "503"}
    numbers = {
        "clients": given.clients,
        "studies": studies,
        "seconds": given.seconds,
        "think_s": given.think,
        "acquisition": given.acquisition,
        "answers_acknowledged": len(seen.answers),
        "answers_stored": stored,
        "errors": sum(count for code, count in seen.codes.items() if code not in polite),
        "codes": dict(seen.codes),
        "answer_median_s": _quantile(seen.answers, 0.5),
        "answer_p95_s": _quantile(seen.answers, 0.95),
        "answer_max_s": _quantile(seen.answers, 1.0),
        "next_question_median_s": _quantile(seen.questions, 0.5),
        "next_question_p95_s": _quantile(seen.questions, 0.95),
        "cores": os.cpu_count(),
        "load_average_after": os.getloadavg()[0],
        "python": platform.python_version(),
    }
    for name, value in numbers.items():
        print(f"{name:28} {value}", flush=True)
    print()
    return numbers


def _quantile(values: list[float], share: float) -> float | None:
    ordered = sorted(values)
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)], 3) if ordered else None


async def _run(address: str, links: list[tuple[str, str]], given: argparse.Namespace) -> Seen:
    seen = Seen()
    until = time.monotonic() + given.seconds
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        await asyncio.gather(*(_rate(client, number, *link, until, given, seen) for number, link in enumerate(links)))
    return seen


async def _rate(
    client: httpx.AsyncClient, number: int, study: str, token: str, until: float, given: argparse.Namespace, seen: Seen
) -> None:
    """One rater, until the time is over."""
    chance = random.Random(number)
    root, headers = f"/api/v1/studies/{study}", {"Authorization": f"Bearer {token}"}

    async def persist(method: str, path: str, **options: Any) -> dict[str, Any] | None:
        """Send the same until it is taken, as the page does; None if the time is over."""
        while True:
            try:
                found = await client.request(method, f"{root}/{path}", headers=headers, **options)
            except httpx.TransportError as error:
                seen.codes[type(error).__name__] += 1
            else:
                seen.codes[str(found.status_code)] += 1
                if found.status_code == 200:
                    return found.json()  # type: ignore[no-any-return]
                if found.status_code == 503:
                    await asyncio.sleep(float(found.headers.get("Retry-After", 1)))
            if method == "GET" and time.monotonic() > until:
                return None

    await asyncio.sleep(chance.uniform(0, given.think))  # they do not all come in the same second
    while time.monotonic() < until:
        begun = time.monotonic()
        asked = await persist("GET", "question", params={"wait": 20})
        if asked is None:
            return
        seen.questions.append(time.monotonic() - begun)
        await asyncio.sleep(chance.expovariate(1 / given.think) if given.think else 0)
        begun = time.monotonic()
        await persist("POST", f"questions/{asked['number']}/answer", json={"kept": keep(asked, chance)})
        seen.answers.append(time.monotonic() - begun)


if __name__ == "__main__":
    main()
