"""The first minutes of a newcomer on the page, in a real browser: nothing compiled, an example, some answers, the result.

    python benchmarks/first_minutes.py [--answers 20] [--think 3]

Prints what the person waits for, in seconds, and the memory of the server and its processes. Needs Chromium, Playwright, psutil.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
RESULT_AFTER = 9
"""Answers after which the result is looked at for the first time."""


@contextmanager
def served(folder: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on an empty database, whose compiled code and everything else are new; its process and address."""
    environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
    command = [sys.executable, "-m", "choicebo", "serve", f"{folder}/studies.db", "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield server, re.search(r"http://\S+", server.stdout.readline())[0]  # type: ignore[union-attr,index]
    finally:
        server.terminate()
        server.wait()


def answer(page: Page, number: int, think: float) -> float:
    """Keep two options after a while; how long the next question takes."""
    asked = page.locator("#choose input[name=question]").first.input_value()
    cards = page.locator("#choose label.card")
    count = cards.count()
    for position in (number % count, (number + 2) % count):
        cards.nth(position).click()
    page.wait_for_timeout(1000 * think)
    began = time.monotonic()
    page.locator("button[value=keep]").first.click()
    page.locator(f"#choose input[name=question]:not([value='{asked}'])").first.wait_for(
        state="attached", timeout=90_000
    )
    return time.monotonic() - began


def look_at_result(browser: Any, address: str, answers: int) -> tuple[float, float]:
    """Seconds until a result is shown, and until it is that of the model of all answers."""
    page, began = browser.new_page(), time.monotonic()
    page.goto(address)
    page.locator(".page-head h1").first.wait_for()
    shown = time.monotonic() - began
    page.get_by_text(f"From the model of {answers} answers").first.wait_for(timeout=90_000)
    page.close()
    return shown, time.monotonic() - began


def main() -> None:
    """Be a newcomer, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--think", type=float, default=3.0, help="seconds before each answer")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        began = time.monotonic()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with served(folder) as (server, address):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address)
            page.get_by_role("button", name="Try it").first.click()
            page.locator("#choose label.card").first.wait_for(timeout=90_000)
            print(f"| from the command to the first question | {time.monotonic() - began:.1f} |")
            page.keyboard.press("Escape")  # the example of how to choose
            study, waits = page.url.partition("?")[0], []
            for number in range(given.answers):
                waits.append(answer(page, number, given.think))
                if number + 1 == RESULT_AFTER:
                    shown, refined = look_at_result(browser, f"{study}/result", RESULT_AFTER)
                    print(
                        f"| first result, after {RESULT_AFTER} answers: shown, of the model | {shown:.1f}, {refined:.1f} |"
                    )
            print(f"| click to next question: median, longest | {statistics.median(waits):.2f}, {max(waits):.2f} |")
            process = psutil.Process(server.pid)
            memory = sum(each.memory_info().rss for each in [process, *process.children(recursive=True)])
            print(f"| memory, MB | {memory / 2**20:.0f} |")
        browser.close()


if __name__ == "__main__":
    main()
