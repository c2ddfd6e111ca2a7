"""What those who run a server rely on: its path, its proxy, its health, its counters, its log."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from choicebo.errors import InvalidInputError, StorageError
from choicebo.study import Study
from choicebo.web import server_log
from choicebo.web.app import create_app
from choicebo.web.serve_command import listening
from choicebo.web.server_settings import ServerSettings

from .web_helpers import TOKEN, Browser, bread

ROOT = "/teams/choose"


@pytest.fixture
def below(tmp_path: Path) -> Iterator[TestClient]:
    """A server below a path, with one study."""
    url = str(tmp_path / "studies.db")
    Study.create(url, **bread()).close()
    with (
        ThreadPoolExecutor(1) as pool,
        TestClient(
            create_app(ServerSettings(url, token=TOKEN, root_path=ROOT), pool),
            "http://choose.example",
            follow_redirects=True,
        ) as client,
    ):
        yield client


def addresses(page: str) -> set[str]:
    return set(re.findall(r'(?:href|src|action|hx-get|hx-post|data-thinking|data-part)="(/[^"]*)"', page))


def test_below_a_path_every_address_of_every_page_is_below_it(below: TestClient) -> None:
    page = below.get(f"{ROOT}/enter?token={TOKEN}")
    assert page.url.path == f"{ROOT}/study/bread"
    seen, left = set(), {f"{ROOT}/study/bread", f"{ROOT}/studies"}
    while left:
        path = left.pop()
        seen.add(path)
        found = below.get(path)
        assert found.status_code == 200, path
        if not found.headers["content-type"].startswith("text/html"):
            continue
        links = addresses(found.text)
        assert all(link.startswith(f"{ROOT}/") or link == ROOT for link in links), path
        pages = set(re.findall(r'href="(/[^"#]*)"', found.text)) - seen
        left |= {link for link in pages if "/export" not in link}
    assert {f"{ROOT}/studies/new", f"{ROOT}/study/bread/history", f"{ROOT}/study/bread/raters"} <= seen


def test_below_a_path_an_answer_is_taken_and_cookies_are_for_that_path(below: TestClient) -> None:
    page = below.get(f"{ROOT}/enter?token={TOKEN}").text
    fields = {name: re.search(rf'name="{name}" value="([^"]*)"', page)[1] for name in ("form_token", "question")}  # type: ignore[index]
    after = below.post(f"{ROOT}/study/bread/answer", data={**fields, "kept": [0], "act": "keep"})
    assert after.url.path == f"{ROOT}/study/bread"
    assert 'value="2"' in after.text
    assert {cookie.path for cookie in below.cookies.jar} == {ROOT}


def test_a_proxy_that_takes_the_path_off_is_served_too(below: TestClient) -> None:
    assert addresses(below.get("/enter").text) == addresses(below.get(f"{ROOT}/enter").text)
    made = below.post(
        "/api/v1/studies/bread/raters", headers={"Authorization": f"Bearer {TOKEN}"}, json={"name": "ann"}
    )
    assert made.json()["path"].startswith(f"{ROOT}/join/")
    joined = below.get(made.json()["path"].removeprefix(ROOT))
    assert joined.url.path == f"{ROOT}/study/bread"


@pytest.mark.parametrize("wrong", ["choose", "/choose/", "//choose", "/a b", "/a?b"])
def test_a_root_path_of_another_form_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidInputError, match="begins with a slash and ends without one"):
        ServerSettings("bread.db", root_path=wrong)


def test_forwarded_headers_are_believed_only_from_the_proxy_that_was_named() -> None:
    async def app(scope, receive, send):  # type: ignore[no-untyped-def]
        ...

    trusting = listening(app, ServerSettings("bread.db", proxy="10.0.0.7"))
    assert (trusting.proxy_headers, trusting.forwarded_allow_ips) == (True, "10.0.0.7")
    assert listening(app, ServerSettings("bread.db")).proxy_headers is False


def test_health_is_told_to_anybody_and_says_when_the_database_is_away(
    serve: Callable[..., Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = serve(token=TOKEN)
    found = browser.client.get("/healthz")
    assert (found.status_code, found.json()) == (200, {"status": "ok"})
    assert browser.client.head("/healthz").status_code == 200

    def away() -> None:
        raise StorageError("postgresql://secret cannot be reached")

    monkeypatch.setattr(browser.client.app.state.server, "reach", away)  # type: ignore[attr-defined]
    found = browser.client.get("/healthz")
    assert found.status_code == 503
    assert "secret" not in found.text


def test_metrics_count_what_happened_and_name_nobody(serve: Callable[..., Browser]) -> None:
    browser = serve(token=TOKEN)
    Study.create(browser.url, **bread()).close()
    owner = {"Authorization": f"Bearer {TOKEN}"}
    api = "/api/v1/studies/bread"
    for _ in range(2):
        asked = browser.client.get(f"{api}/question?wait=30", headers=owner).json()
        told = {"kept": [0]}
        for _ in range(2):  # the same again counts once
            browser.client.post(f"{api}/questions/{asked['number']}/answer", headers=owner, json=told)
    assert browser.client.get("/metrics").status_code == 401
    found = browser.client.get("/metrics", headers=owner)
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "choicebo_answers_total 2\n" in found.text
    assert 'choicebo_questions_total{source="beginning"} 2\n' in found.text
    assert "choicebo_question_wait_seconds_count 2\n" in found.text
    assert 'choicebo_requests_total{code="200"} 6\n' in found.text
    assert "bread" not in found.text
    for line in found.text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{\w+=\"[^\"]*\"\})? [\d.e+]+", line), line


def test_the_log_has_a_line_for_each_request_without_tokens_or_answers(
    serve: Callable[..., Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(server_log.JsonLines())
    logger = logging.getLogger("choicebo")
    monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(logger, "level", logging.INFO)
    logging.getLogger("choicebo.requests").setLevel(logging.NOTSET)
    browser = serve(token=TOKEN)
    study = Study.create(browser.url, **bread(name="secret plan"))
    token = study.add_rater("ann")
    browser.client.get(f"/join/{token}")
    browser.client.get("/enter?token=wrong-token-123456")
    browser.client.get("/healthz")
    browser.client.get(f"/nowhere/{token}")
    logger.warning("somebody came by /join/%s", token)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    requests = [(line["method"], line["route"], line["status"]) for line in lines if "route" in line]
    assert ("GET", "/join/{token}", 303) in requests
    assert ("GET", "/enter", 401) in requests
    assert ("GET", "unknown", 404) in requests
    assert not any(route == "/healthz" for _, route, _ in requests)
    for secret in (token, "wrong-token", "secret plan", "ann"):
        assert secret not in written.getvalue()
    assert lines[-1]["message"] == "somebody came by /join/..."
