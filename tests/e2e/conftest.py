from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import choicebo as cb
from choicebo.study import Study
from choicebo.web.pages.choose import COACHED

from .e2e_helpers import ARGUMENTS, CHROMIUM, Server

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for one file: Playwright runs once at a time in a process, and other files of the suite start it too."""
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open pages; what a page complains about in its console fails the test."""
    contexts, complaints = [], []

    def start(*, coached: bool = True, **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})
        context.set_default_timeout(60_000)
        contexts.append(context)
        if coached:  # most tests are not about a first visit
            context.add_cookies([{"name": COACHED, "value": "1", "domain": "127.0.0.1", "path": "/"}])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(str(tmp_path_factory.mktemp("e2e") / "studies.db")).start()
    yield running
    running.kill()


@pytest.fixture
def new_study(server: Server, request: pytest.FixtureRequest) -> Callable[..., Study]:
    """A study of its own for each test: three numbers and a category, no model."""

    def create(**extra: Any) -> Study:
        space = cb.Space(
            [
                cb.Real("temperature", 150, 220, unit="°C"),
                cb.Integer("minutes", 5, 40, unit="min"),
                cb.Categorical("flour", ["rye", "wheat", "spelt"]),
            ]
        )
        name = extra.pop("name", request.node.name)
        return Study.create(server.url, name, space, **{"acquisition": "sobol", "query_size": 5, **extra})

    return create
