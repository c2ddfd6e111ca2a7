"""A server in this process, over a database of its own; studies without a model, so that nothing has to be fitted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import choicebo as cb
from choicebo.study import Study
from choicebo.study.definition import Show
from choicebo.web.app import create_app
from choicebo.web.server_settings import ServerSettings

TOKEN = "a-token-that-nobody-guesses"
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"><rect width="{minutes}" height="9"/>'
    "<text>{flour}</text></svg>"
)


def bread(**extra: Any) -> dict[str, Any]:
    space = cb.Space([cb.Integer("minutes", 5, 40, unit="min"), cb.Categorical("flour", ["rye", "wheat", "spelt"])])
    return {"name": "bread", "space": space, "acquisition": "sobol", "query_size": 4, "raters": "together", **extra}


class Browser:
    """A client that fills in forms as a browser without scripts does."""

    def __init__(self, client: TestClient, url: str) -> None:
        self.client = client
        self.url = url
        self.page: Any = None

    @property
    def study(self) -> Study:
        return Study.open(self.url, "bread")

    def get(self, path: str, **options: Any) -> Any:
        self.page = self._patient(self.client.get(path, **options))
        return self.page

    def _patient(self, page: Any) -> Any:
        """The page once nothing on it is being computed."""
        waiting = re.search(r'data-thinking="([^"]+)"', page.text)
        if waiting is None:
            return page
        self.client.get(waiting[1])
        return self._patient(self.client.get("/study/bread"))

    def field(self, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]*)"', self.page.text)
        assert found, f"no field {name} in {self.page.text[:400]}"
        return found[1]

    def post(self, path: str, data: dict[str, Any] | None = None, *, part: bool = False, **options: Any) -> Any:
        filled = {"form_token": self.field("form_token"), **(data or {})}
        headers = {"HX-Request": "true"} if part else {}
        found = self._patient(self.client.post(path, data=filled, headers=headers, **options))
        if "form_token" in found.text:
            self.page = found
        return found

    def answer(self, kept: list[int], act: str = "keep", **options: Any) -> Any:
        data = {"question": self.field("question"), "kept": kept, "act": act}
        return self.post("/study/bread/answer", data, **options)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    """Start servers over one database."""
    url = str(tmp_path / "studies.db")
    with ExitStack() as stack:

        def start(
            token: str | None = None, pool: Executor | None = None, database: str = url, **settings: Any
        ) -> Browser:
            used = stack.enter_context(ThreadPoolExecutor(1)) if pool is None else pool
            app = create_app(ServerSettings(database, token=token, **settings), used)
            client = TestClient(app, "http://127.0.0.1:8000", raise_server_exceptions=False)
            return Browser(stack.enter_context(client), database)

        yield start


@pytest.fixture
def browser(serve: Callable[..., Browser]) -> Browser:
    """A browser on a server with one study."""
    found = serve()
    Study.create(found.url, **bread()).close()
    return found


@pytest.fixture
def drawn(serve: Callable[..., Browser]) -> Browser:
    """A browser on a server whose study is shown as drawings."""
    found = serve()
    Study.create(found.url, **bread(show=Show("svg", template=DRAWING))).close()
    return found
