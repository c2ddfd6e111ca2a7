"""What only a browser can tell: whether pages fit a phone, and whether anything moves or gets lost while a page is used."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import choicebo as cb
from choicebo.optimizer import situation as compute
from choicebo.study import Study
from choicebo.study.definition import Show
from choicebo.web.app import create_app
from choicebo.web.pages.choose import COACHED
from choicebo.web.server_settings import ServerSettings

from . import fake_model
from .web_helpers import DRAWING, bread

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = Path("/usr/bin/chromium")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PLACES = """
["h1", ".cards", ".card", ".baseline", ".actions", "button[value=skip]", ".progress-line"].map((part) => {
  const box = document.querySelector(part).getBoundingClientRect();
  return [part, Math.round(box.top), Math.round(box.left), Math.round(box.height)];
})
"""


class PatientPool(ThreadPoolExecutor):
    """Computes when it is let."""

    def __init__(self) -> None:
        super().__init__(2)
        self.go = threading.Event()
        self.go.set()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        def wait() -> Any:
            assert self.go.wait(60)
            return fn(*args, **kwargs)

        return super().submit(wait)


@pytest.fixture(scope="module")
def pool() -> PatientPool:
    return PatientPool()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, pool: PatientPool) -> Iterator[tuple[str, str]]:
    """The address of a server, and its database."""
    url = str(tmp_path_factory.mktemp("rendered") / "studies.db")
    study = Study.create(url, **bread(question="Which of these loaves would you bake again on a quiet Sunday?"))
    study.tell(study.ask(), [0])
    study.add_rater("Somebody With A Long Name")
    rows = [
        {"sku": str(n), "name": f"Bag {n}", "warranty_years": n, "material": "ultralight ripstop"} for n in range(4)
    ] + [{"sku": "9", "name": "Bag 9", "warranty_years": 9, "material": "waxed cotton"}]
    Study.create(url, "bags", cb.Catalogue(rows, "sku", "name"), acquisition="sobol", query_size=5).close()
    with running(ServerSettings(url, patience=0), pool) as address:
        yield address, url


@contextmanager
def running(settings: ServerSettings, pool: PatientPool) -> Iterator[str]:
    """A server in this process; its address."""
    server = uvicorn.Server(uvicorn.Config(create_app(settings, pool), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    pool.go.set()
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def open_page() -> Iterator[Callable[..., Any]]:
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )

        def start(**options: Any) -> Any:
            context = browser.new_context(**options)
            context.add_cookies([{"name": COACHED, "value": "1", "domain": "127.0.0.1", "path": "/"}])
            return context.new_page()

        yield start
        browser.close()


def test_every_page_fits_a_phone(served: tuple[str, str], open_page: Callable[..., Any]) -> None:
    page = open_page(**PHONE)
    paths = ["/studies", "/studies/new", "/studies/catalogue", "/enter", "/api/v1/docs", "/nowhere"]
    paths += ["/study/bread", "/study/bags", "/study/bread/history", "/study/bread/raters", "/study/bags/result"]
    found = {}
    for path in paths:
        page.goto(served[0] + path)
        found[path] = page.evaluate("document.documentElement.scrollWidth")
    assert {path: width for path, width in found.items() if width > 390} == {}


def test_names_on_the_cards_of_a_phone_are_not_broken(served: tuple[str, str], open_page: Callable[..., Any]) -> None:
    page = open_page(**PHONE)
    page.goto(served[0] + "/study/bags")
    page.wait_for_selector("#choose")
    heights = page.evaluate("[...document.querySelectorAll('.line dt')].map((name) => name.offsetHeight)")
    assert max(heights) < 30


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("shown", [None, Show("svg", template=DRAWING)], ids=["bars", "drawings"])
def test_nothing_moves_when_a_question_takes_the_place_of_the_wait_for_it(
    served: tuple[str, str],
    pool: PatientPool,
    open_page: Callable[..., Any],
    options: dict[str, Any],
    shown: Show | None,
) -> None:
    address, url = served
    name = f"wait {bool(options)} {shown is None}"
    Study.create(url, **bread(name=name, show=shown, baseline={"minutes": 20, "flour": "rye"})).close()
    page = open_page(**options)
    pool.go.clear()
    page.goto(f"{address}/study/{name}")
    assert page.locator(".ghosts .card").count() == 4
    before = page.evaluate(PLACES)
    pool.go.set()
    page.wait_for_selector("#choose")
    assert page.evaluate(PLACES) == before


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain forms"])
def test_a_page_that_waits_for_the_model_goes_on_to_the_stand_in_by_itself(
    tmp_path: Path, open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, scripts: bool
) -> None:
    monkeypatch.setattr(compute, "next_question", fake_model.next_question)
    url, busy = str(tmp_path / "studies.db"), PatientPool()
    with Study.create(url, **bread(acquisition="default", initial_queries=1)) as study:
        study.tell(study.ask(stand_in=True), [0])
    busy.go.clear()
    with running(ServerSettings(url, patience=1.5), busy) as address:
        page = open_page(java_script_enabled=scripts)
        loads = []
        page.on("load", lambda: loads.append(1))
        page.goto(f"{address}/study/bread")
        page.wait_for_selector(".ghosts")
        page.wait_for_selector("#choose")
        assert page.locator("#choose input[name=question]").get_attribute("value") == "2"
        assert not scripts or len(loads) == 1
        page.locator(".card").nth(1).click()
        page.click("button[value=keep]")
        page.wait_for_selector("input[name=question][value='3']", state="attached")
    with Study.open(url) as study:
        assert [question.strategy for question in study.questions()] == ["sobol", "stand-in", "stand-in"]
        assert [act.kept for act in study.history()] == [(0,), (1,)]


def test_a_parameter_that_is_added_while_the_preview_is_on_its_way_is_not_lost(
    served: tuple[str, str], open_page: Callable[..., Any]
) -> None:
    page = open_page()

    def slowly(route: Any) -> None:
        time.sleep(0.8)
        route.continue_()

    page.goto(served[0] + "/studies/new")
    page.route("**/studies/new", slowly)
    page.locator("[name=p-name]").first.fill("minutes")
    page.click("text=Add a parameter")
    page.locator("fieldset.row").nth(2).wait_for()
    assert page.locator("[name=p-name]").first.input_value() == "minutes"


def test_times_are_those_of_the_visitor(served: tuple[str, str], open_page: Callable[..., Any]) -> None:
    page = open_page(timezone_id="Asia/Tokyo")
    page.goto(served[0] + "/study/bread/history")
    at = Study.open(served[1], "bread").history()[0].at
    shown = page.locator("time").first.inner_text()
    assert re.fullmatch(r"\d+ \w+ \d{4}, \d\d:\d\d", shown)
    assert shown.endswith(f"{(at.hour + 9) % 24:02}:{at.minute:02}")


def test_marks_survive_an_answer_that_was_refused(served: tuple[str, str], open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto(served[0] + "/study/bags")
    page.wait_for_selector("#choose")
    page.keyboard.press("2")
    page.context.clear_cookies()
    page.keyboard.press("Enter")
    page.locator("#notice", has_text="load it again").wait_for()
    page.reload()
    page.wait_for_selector("#choose")
    assert page.evaluate("[...document.querySelectorAll('[name=kept]')].map((box) => box.checked)")[1]


def test_what_fails_on_the_other_pages_is_told(served: tuple[str, str], open_page: Callable[..., Any]) -> None:
    page = open_page()
    page.goto(served[0] + "/study/bread/history")
    retract = page.locator("button", has_text="Retract").first
    page.route("**/retract", lambda route: route.abort())
    retract.click()
    page.locator("#connection", has_text="No connection").wait_for()
    page.unroute("**/retract")
    page.context.clear_cookies()
    retract.click()
    page.locator("#connection", has_text="load it again").wait_for()
    page.goto(served[0] + "/studies/catalogue")
    page.context.clear_cookies()
    table = {"name": "menu.csv", "mimeType": "text/csv", "buffer": b"sku,price\nA,3\nB,4\n"}
    page.set_input_files("[name=table]", files=table)
    page.locator("#preview .failure", has_text="load it again").wait_for()
