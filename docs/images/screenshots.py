"""Take the pictures of the web app anew: ``python docs/images/screenshots.py [choose] [result] [setup]``, by default all.

It answers the example palette as a simulated person who likes calm and contrast, and needs Chromium and Playwright.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from choicebo.experiments.bench_loop import palette
from choicebo.pareto import non_dominated
from choicebo.study import Study
from choicebo.study.examples import EXAMPLES, definition

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
ANSWERS = 14


def main() -> None:
    """Serve a study that was answered for a while, and look at its pages."""
    wanted = sys.argv[1:] or ["choose", "result", "setup"]
    with tempfile.TemporaryDirectory() as folder:
        url = f"{folder}/palette.db"
        with Study.create_from_file(url, definition(EXAMPLES["palette"])) as study:
            answer(study)
        command = [sys.executable, "-m", "choicebo", "serve", url, "--port", "0", "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = re.search(r"http://\S+", server.stdout.readline())[0]  # type: ignore[union-attr,index]
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
                for name in wanted:
                    {"choose": choose, "result": result, "setup": setup}[name](page, address)
                    page.mouse.move(0, 0)
                    page.evaluate("scrollTo(0, 0)")
                    page.wait_for_timeout(500)
                    save(page, HERE / f"web-{name}.png", full_page=name != "choose")
                browser.close()
        finally:
            server.terminate()
            server.wait()


def answer(study: Study) -> None:
    """Answer as the simulated person of the benchmarks."""
    objectives = palette().objectives
    for _ in range(ANSWERS):
        question = study.ask()
        best = non_dominated(objectives(question.options))
        study.tell(question, [at for at, stays in enumerate(best) if stays])


def choose(page: Any, address: str) -> None:
    """The question with two cards marked."""
    page.goto(address)
    page.wait_for_selector("#choose")
    page.wait_for_selector("[role=meter]")
    for key in ("2", "4"):
        page.keyboard.press(key)


def result(page: Any, address: str) -> None:
    """The result, once it is there."""
    page.goto(f"{address}/study/palette/result")
    page.wait_for_selector("#result:not([data-thinking]) .best")


def setup(page: Any, address: str) -> None:
    """A new study with three parameters and a rule."""
    page.goto(f"{address}/studies/new")
    page.get_by_label("Name of the study").fill("coffee")
    page.get_by_role("button", name="Add a parameter").click()
    rows = page.locator("fieldset.row")
    rows.nth(2).wait_for()
    for row, name, low, high, unit in ((0, "dose", "14", "20", "g"), (1, "temperature", "86", "96", "°C")):
        for label, value in (("Name", name), ("From", low), ("To", high), ("Unit", unit)):
            rows.nth(row).get_by_label(label, exact=True).fill(value)
    rows.nth(2).get_by_label("Name").fill("roast")
    rows.nth(2).locator("select[name=p-kind]").select_option("categorical")
    rows.nth(2).get_by_label("Values").fill("light, medium, dark")
    page.get_by_label("Rules, one per line").fill("dose + temperature <= 112")
    page.get_by_text("roast light").or_(page.get_by_text("roast dark")).first.wait_for()


def save(page: Any, path: Path, full_page: bool) -> None:
    """A screenshot of few colours, which takes a fraction of the bytes."""
    page.screenshot(path=path, full_page=full_page)
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
