from __future__ import annotations

import hashlib
import html
import json
import re
import shlex
from collections.abc import Callable
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy

import choicebo as cb
from choicebo.study import Study

from .web_helpers import Browser, bread

SPACE = cb.Space([cb.Integer("minutes", 5, 40)]).to_dict()


def ask(browser: Browser) -> dict[str, object]:
    found = browser.client.get("/api/v1/studies/bread/question", params={"wait": 30})
    assert found.status_code == 200
    return found.json()  # type: ignore[no-any-return]


def test_the_loop_through_the_api(serve: Callable[..., Browser]) -> None:
    browser = serve()
    call = browser.client
    settings = {"acquisition": "sobol", "query_size": 3}
    created = call.post("/api/v1/studies", json={"name": "bread", "space": SPACE, "settings": settings})
    assert created.status_code == 201
    assert created.json()["space"] == SPACE
    question = ask(browser)
    answered = call.post(f"/api/v1/studies/bread/questions/{question['number']}/answer", json={"kept": [0, 2]})
    assert answered.json()["repeated"] is False
    again = call.post(f"/api/v1/studies/bread/questions/{question['number']}/answer", json={"kept": [0, 2]})
    assert again.json()["repeated"] is True
    other = call.post(f"/api/v1/studies/bread/questions/{question['number']}/answer", json={"kept": [1]})
    assert other.status_code == 409
    corrected = call.post(
        f"/api/v1/studies/bread/questions/{question['number']}/answer", json={"kept": [1], "correction": True}
    )
    assert corrected.json()["kind"] == "correction"
    assert call.post(f"/api/v1/studies/bread/questions/{ask(browser)['number']}/skip").json()["kind"] == "skip"
    assert call.post("/api/v1/studies/bread/undo").json()[0]["kind"] == "skip"
    added = call.post("/api/v1/studies/bread/choices", json={"shown": [{"minutes": 7}, {"minutes": 9}], "kept": [1]})
    assert added.status_code == 201
    retracted = call.post(f"/api/v1/studies/bread/answers/{added.json()['id']}/retract")
    assert retracted.json()["state"] == "retracted"
    assert call.post(f"/api/v1/studies/bread/answers/{added.json()['id']}/restore").json()["state"] == "standing"
    assert [past["kept"] for past in call.get("/api/v1/studies/bread/history").json()][-1] == [1]
    assert call.get("/api/v1/studies/bread/export").json()
    assert call.get("/api/v1/studies").json()[0]["answers"] == 2


def test_a_drawing_that_names_something_unknown_is_refused(serve: Callable[..., Browser]) -> None:
    call = serve().client
    study = {"name": "bread", "space": SPACE, "show": {"kind": "svg", "template": "<svg>{minuts}</svg>"}}
    refused = call.post("/api/v1/studies", json=study)
    assert refused.status_code == 400
    assert "Did you mean 'minutes'?" in refused.json()["error"]
    assert call.get("/api/v1/studies").json() == []


def test_a_rater_of_the_api_has_questions_and_history_of_their_own(browser: Browser) -> None:
    invited = browser.client.post("/api/v1/studies/bread/raters", json={"name": "Ann"}).json()
    headers = {"Authorization": f"Bearer {invited['token']}"}
    asked = browser.client.get("/api/v1/studies/bread/question", params={"wait": 30}, headers=headers).json()
    assert asked["rater"] == "Ann"
    browser.client.post(
        f"/api/v1/studies/bread/questions/{asked['number']}/answer", json={"kept": [0]}, headers=headers
    )
    assert len(browser.client.get("/api/v1/studies/bread/history", headers=headers).json()) == 1
    own = ask(browser)
    refused = browser.client.post(
        f"/api/v1/studies/bread/questions/{own['number']}/answer", json={"kept": [0]}, headers=headers
    )
    assert refused.status_code == 400
    assert [rater["answers"] for rater in browser.client.get("/api/v1/studies/bread/raters").json()] == [0, 1]


def test_errors_are_one_sentence_in_json(browser: Browser) -> None:
    cases = {
        ("get", "/api/v1/studies/none"): 404,
        ("get", "/api/v1/none"): 404,
        ("delete", "/api/v1/studies"): 405,
        ("post", "/api/v1/studies"): 422,
        ("post", "/api/v1/studies/bread/undo"): 400,
    }
    for (method, path), code in cases.items():
        found = browser.client.request(method, path)
        assert found.status_code == code, path
        assert set(found.json()) == {"error"}


def test_a_page_documents_every_route(browser: Browser) -> None:
    page = browser.get("/api/v1/docs").text
    paths = browser.client.get("/api/v1/openapi.json").json()["paths"]
    assert len(paths) >= 13
    assert all(path in page for path in paths)


def test_every_example_of_the_page_is_taken(serve: Callable[..., Browser]) -> None:
    browser = serve()
    call = browser.client
    examples = {
        path: operation["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].split("/")[-1]
        for path, operation in call.get("/api/v1/openapi.json").json()["paths"].items()
        if "requestBody" in operation.get("post", {})
    }
    schemas = call.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert len(examples) == 9
    page = browser.get("/api/v1/docs").text
    for path, model in examples.items():
        [example] = schemas[model]["examples"]
        filled = path.format(name="bread", number=1)
        if "questions" in path:
            ask(browser)
        assert call.post(filled, json=example).status_code in (200, 201, 202), path
        assert html.escape(json.dumps(example), quote=False).replace('"', "&#34;") in page


def test_the_commands_of_the_guide_work(serve: Callable[..., Browser]) -> None:
    """Each `curl` of the page is sent as it stands."""
    browser = serve()
    Study.create(browser.url, **bread(name="palette")).close()
    guide = (Path(__file__).parents[2] / "docs/how-to/web.md").read_text("utf-8")
    commands = re.findall(r"^\$ (curl (?:[^\\\n]|\\\n)*)", guide, re.MULTILINE)
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(command.replace("\\\n", " "))
        options = dict(pairwise(words))
        address = next(word for word in words if word.startswith("http"))
        method = options.get("-X", "GET")
        sent = {"content": options["-d"]} if "-d" in options else {}
        headers = {"Content-Type": "application/json"} if sent else {}
        found = browser.client.request(method, address, headers=headers, **sent)
        assert found.status_code in (200, 201, 202), (command, found.text)


def test_the_vendored_script_is_the_one_that_its_note_names(drawn: Browser) -> None:
    vendor = resources.files("choicebo.web") / "static" / "vendor"
    note = (vendor / "README.md").read_text()
    name, digest = re.search(r"`(htmx[^`]+\.js)`.*`([0-9a-f]{64})`", note).groups()  # type: ignore[union-attr]
    assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest
    assert name in drawn.get("/study/bread").text
    assert "Permission to use" in (vendor / "htmx-LICENSE.txt").read_text()


def test_a_study_that_was_deleted_elsewhere_is_not_found(browser: Browser) -> None:
    ask(browser)
    Study.delete(browser.url, "bread")
    for path in ("/study/bread/history", "/api/v1/studies/bread/history", "/study/bread"):
        assert browser.client.get(path).status_code == 404
    Study.create(browser.url, **bread()).close()
    assert browser.client.get("/study/bread/history").status_code == 200


def test_a_study_that_cannot_be_made_is_refused_with_the_sentence_that_says_why(serve: Callable[..., Browser]) -> None:
    call = serve().client
    menu = cb.Catalogue([{"sku": "A", "x": 1}, {"sku": "B", "x": 2}]).to_dict()
    cases = {
        "no list of rows": {"space": {**menu, "rows": "/etc/passwd"}},  # nothing is read from the server's disk
        "accepted are 'space' and 'catalogue'": {"space": {}},
        "no setting 'folder'": {"space": SPACE, "settings": {"folder": "/etc"}},
        "'minutes' is 99": {"space": SPACE, "baseline": {"minutes": 99}},
    }
    for sentence, fields in cases.items():
        found = call.post("/api/v1/studies", json={"name": "bread", **fields})
        assert found.status_code == 400
        assert sentence in found.json()["error"]
    assert call.post("/api/v1/studies", json={"name": "bread", "space": SPACE, "folder": "/etc"}).status_code == 422


def test_a_database_whose_connections_are_all_in_use_is_busy_and_not_broken(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        raise sqlalchemy.exc.TimeoutError("QueuePool limit of size 5 overflow 20 reached")

    ask(browser)
    monkeypatch.setattr(sqlalchemy.Engine, "connect", connect)
    found = browser.client.post("/api/v1/studies/bread/questions/1/answer", json={"kept": [0]})
    assert (found.status_code, found.headers["Retry-After"]) == (503, "2")
    assert "try again" in found.json()["error"]
    monkeypatch.undo()
    assert browser.client.post("/api/v1/studies/bread/questions/1/answer", json={"kept": [0]}).status_code == 200
