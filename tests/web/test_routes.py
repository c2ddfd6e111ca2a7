"""What holds for every address of the server, those of the future included: it is taken from the app's own list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Mount, Route

from choicebo.study import Study

from .web_helpers import TOKEN, Browser, bread

OTHER = "Zenobia"
"""A rater of whom no other one hears."""
FOR_EVERYBODY = {"/healthz", "/enter", "/join/{token}", "/static/charts.css", "/api/v1/docs", "/api/v1/openapi.json"}
"""Addresses that show something to strangers, and nothing of a study."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
VALUES = {"name": "bread", "answer": "2", "act": "retract", "number": "1", "token": "none", "path": "a.png"}


def routes(app: Any, method: str) -> Iterator[str]:
    """The addresses that take a method, as they are declared."""
    for route in _flat(app.routes):
        if method in (route.methods or ()):
            yield route.path


def _flat(found: Any) -> Iterator[Route]:
    for route in found:
        if isinstance(route, (APIRoute, Route)):
            yield route
        elif not isinstance(route, Mount):  # a router that was included; static files are mounted
            yield from _flat(route.original_router.routes)


def every(browser: Browser, methods: Sequence[str]) -> list[tuple[str, str]]:
    return [(method, path) for method in methods for path in routes(browser.client.app, method)]


def filled(path: str) -> str:
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda match: VALUES.get(match[1], "1"), path)


@pytest.fixture
def guarded(serve: Callable[..., Browser]) -> Browser:
    """A server with a token, and a study in which two raters have answered."""
    found = serve(TOKEN)
    study = Study.create(found.url, **bread())
    for name in ("Ann", OTHER):
        study.add_rater(name)
        study.tell(study.ask(name), [0], rater=name)
    return found


def test_the_app_lists_its_addresses(guarded: Browser) -> None:
    assert {"/studies", "/study/{name}", "/api/v1/studies"} <= set(routes(guarded.client.app, "GET"))
    assert {"/study/{name}/answer", "/api/v1/studies"} <= set(routes(guarded.client.app, "POST"))


def test_strangers_are_let_in_nowhere(guarded: Browser) -> None:
    for method, path in every(guarded, METHODS):
        if path in FOR_EVERYBODY:
            continue
        found = guarded.client.request(
            method, filled(path), follow_redirects=False, data={} if method != "GET" else None
        )
        is_entrance = found.status_code == 303 and found.headers["location"].startswith("/enter")
        assert is_entrance or found.status_code in (401, 403), f"{method} {path}: {found.status_code}"
        assert "rye" not in found.text


def test_no_form_is_taken_without_its_value_or_from_elsewhere(guarded: Browser) -> None:
    guarded.get("/enter", params={"token": TOKEN})
    guarded.get("/studies")
    value = guarded.field("form_token")
    before = guarded.study.export_json()
    for path in routes(guarded.client.app, "POST"):
        if path.startswith("/api/"):
            continue
        assert guarded.client.post(filled(path), data={}).status_code == 403, path
        assert guarded.client.post(filled(path), data={"form_token": value[:-1] + "x"}).status_code == 403, path
        elsewhere = {"Origin": "https://elsewhere.example"}
        assert guarded.client.post(filled(path), data={"form_token": value}, headers=elsewhere).status_code == 403, path
        framed = {"Sec-Fetch-Site": "cross-site"}
        assert guarded.client.post(filled(path), data={"form_token": value}, headers=framed).status_code == 403, path
    assert guarded.study.export_json() == before


def test_the_api_changes_nothing_for_a_page_of_another_site(serve: Callable[..., Browser]) -> None:
    open_to_all = serve()  # without a token whoever reaches it is the owner
    Study.create(open_to_all.url, **bread()).close()
    for method, path in every(open_to_all, METHODS[1:]):
        found = open_to_all.client.request(method, filled(path), headers={"Origin": "https://elsewhere.example"})
        assert found.status_code == 403, path


def test_a_rater_hears_nothing_of_another(guarded: Browser) -> None:
    token = guarded.study.new_token("Ann")
    theirs = [past for past in guarded.study.history() if past.rater == OTHER]
    guarded.client.get(f"/join/{token}")
    api = {"Authorization": f"Bearer {token}"}
    guarded.get("/study/bread")
    form = {"form_token": guarded.field("form_token")}
    for method, path in every(guarded, METHODS):
        if path == "/study/{name}/leave":  # the rater stays
            continue
        address = filled(path).replace("/answers/2", f"/answers/{theirs[0].id}")
        sent = {"data": form} if method != "GET" and not path.startswith("/api") else {}
        found = guarded.client.request(method, address, headers=api, follow_redirects=False, **sent)
        assert OTHER not in found.text, f"{method} {path}"
        assert found.status_code < 500, f"{method} {path}"
    assert [past for past in guarded.study.history() if past.rater == OTHER] == theirs


def test_what_is_for_the_owner_is_refused_to_a_rater(guarded: Browser) -> None:
    token = guarded.study.new_token("Ann")
    guarded.client.get(f"/join/{token}")
    api = {"Authorization": f"Bearer {token}"}
    words = (
        "/studies",
        "/raters",
        "/export",
        "/result",
        "/report",
        "/edit",
        "/rename",
        "/archive",
        "/delete",
        "/duplicate",
    )
    page = guarded.get("/study/bread")
    form = {"form_token": guarded.field("form_token")}
    assert page.status_code == 200
    for method, path in every(guarded, METHODS):
        if not any(word in path.removeprefix("/api/v1/studies/{name}") for word in words):
            continue
        sent = {"data": form} if method != "GET" and not path.startswith("/api") else {}
        found = guarded.client.request(method, filled(path), headers=api, follow_redirects=False, **sent)
        is_entrance = found.status_code == 303 and found.headers["location"].startswith("/enter")
        assert is_entrance or found.status_code in (401, 403), f"{method} {path}: {found.status_code}"
