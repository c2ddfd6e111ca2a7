"""What nobody sends on purpose, or only on purpose: it is refused in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import choicebo as cb
from choicebo.study import Study
from choicebo.study.definition import Show

from .web_helpers import TOKEN, Browser, bread

SPACE = cb.Space([cb.Integer("minutes", 5, 40)]).to_dict()
DEEP = "[" * 100_000 + "]" * 100_000
NESTED = '{"a":' * 900 + "1" + "}" * 900


@pytest.mark.parametrize("host", ["[::1", "a]b", "[", "x/y", "a b", "127.0.0.1:x", "user@127.0.0.1", "?", "127.0.0.1#"])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_malformed_host_is_refused(serve: Callable[..., Browser], host: str, token: str | None) -> None:
    call = serve(token=token).client
    for path in ("/enter", "/api/v1/studies", "/nowhere"):
        assert call.get(path, headers={"Host": host}).status_code in (400, 421), path


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "[::1]:8000", "[::1]", "localhost", "127.3.2.1:80"])
def test_every_name_of_this_machine_is_answered(serve: Callable[..., Browser], host: str) -> None:
    assert serve().client.get("/enter", headers={"Host": host}).status_code == 200


def test_a_malformed_origin_is_refused(browser: Browser) -> None:
    for origin in ("http://[::1", "http://]", "[", "null"):
        found = browser.client.post("/study/bread/answer", headers={"Origin": origin})
        assert found.status_code == 403


@pytest.mark.parametrize(
    "option",
    [
        DEEP[:9_000] + DEEP[-9_000:],
        '{"minutes": ' + "9" * 5000 + "}",
        '{"minutes": ' + "9" * 4000 + ', "flour": "rye"}',
        '{"minutes": 1e999, "flour": "rye"}',
        '{"minutes": NaN, "flour": "rye"}',
        '{"minutes": 12, "flour": "\\ud800"}',
        '{"minutes": 12, "flour": ["rye"]}',
        '{"minutes": {}, "flour": null}',
        '{"\\ud800": 12}',
        "[1]",
        '"x"',
        "null",
        "",
    ],
)
def test_the_drawing_of_no_option_is_refused(drawn: Browser, option: str) -> None:
    found = drawn.client.get("/study/bread/drawing.svg", params={"option": option})
    assert found.status_code in (400, 422)


@pytest.mark.parametrize(
    "body",
    [
        DEEP,
        '{"name": "x", "space": ' + NESTED + "}",
        json.dumps({"name": "x", "space": SPACE})[:-1] + ', "baseline": ' + NESTED + "}",
        json.dumps({"name": "x", "space": SPACE})[:-1] + ', "settings": ' + NESTED + "}",
        json.dumps({"name": "x", "space": SPACE})[:-1] + ', "settings": {"query_size": ' + NESTED + "}}",
        '{"name": "x", "space": ' + "9" * 5000 + "}",
        '{"name": "\\ud800", "space": ' + json.dumps(SPACE) + "}",
        '{"name": "x", "question": "\\udfff?", "space": ' + json.dumps(SPACE) + "}",
        '{"name": "x", "show": {"kind": "svg", "template": "<svg>\\ud800</svg>"}, "space": ' + json.dumps(SPACE) + "}",
        '{"\\ud800": "x"}',
        '{"name": "x", "space": {"kind": "\\ud800"}}',
    ],
)
def test_a_body_that_no_client_means_is_refused(serve: Callable[..., Browser], body: str) -> None:
    call = serve().client
    found = call.post("/api/v1/studies", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code in (400, 422), found.text[:300]
    assert set(found.json()) == {"error"}
    assert len(found.text) < 2000
    assert call.get("/api/v1/studies").json() == []


def spaces() -> list[dict[str, Any]]:
    """Records of spaces that are nearly right."""
    integer = SPACE["parameters"][0]
    category = {"kind": "categorical", "name": "c", "values": ["a", "b"]}
    menu = cb.Catalogue([{"sku": "A", "x": 1}, {"sku": "B", "x": 2}]).to_dict()
    odd: list[Any] = ["x", 1, None, {}, [], [1], ["x"], [None], {"a": 1}, True, 1.5, [[]], "\ud800", 10**400]
    found = [{**SPACE, key: value} for key in SPACE for value in odd]
    found += [{**SPACE, "parameters": [{**integer, key: value}]} for key in integer for value in odd]
    found += [{**SPACE, "parameters": [{**category, key: value}]} for key in category for value in odd]
    found += [{**menu, key: value} for key in menu for value in odd]
    found += [{**menu, "rows": [{"sku": value, "x": 1}, {"sku": "B", "x": value}]} for value in odd]
    return found


def test_a_space_of_the_wrong_shape_is_refused_and_what_is_accepted_can_be_asked_about(
    serve: Callable[..., Browser],
) -> None:
    call = serve().client
    failed = []
    for number, space in enumerate(spaces()):
        body = json.dumps({"name": f"s{number}", "space": space, "settings": {"acquisition": "sobol"}})
        headers = {"Content-Type": "application/json"}
        found = call.post("/api/v1/studies", content=body, headers=headers)
        if found.status_code == 201:
            found = call.get(f"/api/v1/studies/s{number}/question", params={"wait": 30})
        if found.status_code not in (200, 400, 422) or len(found.text) > 5000:
            failed.append((found.status_code, body[:300], found.text[:100]))
    assert failed == []


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400, "-1", "1.5", "١", "0x1"])
def test_a_number_that_is_none_is_refused(browser: Browser, number: str) -> None:
    browser.get("/study/bread")
    pages = [
        browser.client.get("/study/bread/history", params={"page": number}),
        browser.post("/study/bread/answer", {"question": number, "kept": "0", "act": "keep"}),
        browser.post("/study/bread/answer", {"question": "1", "kept": number, "act": "keep"}),
        browser.post("/study/bread/answer", {"question": "1", "kept": "0", "act": "keep", "seconds": number * 99}),
        browser.post("/study/bread/undo", {"latest": number}),
        browser.post(f"/study/bread/answers/{number}/retract"),
        browser.client.post(f"/api/v1/studies/bread/questions/{number}/answer", json={"kept": [0]}),
        browser.client.get("/api/v1/studies/bread/question", params={"wait": number}),
    ]
    assert [page.status_code for page in pages if page.status_code >= 500] == []
    assert all(len(page.text) < 20_000 for page in pages if page.status_code >= 400)


@pytest.mark.parametrize(
    "name", ["a" * 300 + ".png", "é" * 200 + ".png", "x/" * 3000 + "a.png", "\ud800.png", "%00.png"]
)
def test_an_image_of_an_impossible_name_is_not_there(serve: Callable[..., Browser], tmp_path: Path, name: str) -> None:
    browser = serve()
    rows = [{"sku": sku, "price": ord(sku), "photo": name} for sku in "ABC"]
    if "\ud800" not in name:
        space = cb.Catalogue(rows, key="sku", image="photo")
        extra = {"space": space, "show": Show("image"), "folder": tmp_path}
        Study.create(browser.url, **bread(**extra)).close()
        assert browser.get("/study/bread").status_code == 200
    found = browser.client.get("/study/bread/image/" + name.encode("utf-8", "surrogatepass").hex("%").join(("%", "")))
    assert found.status_code in (400, 404)


@pytest.mark.parametrize("stem", ["a" * 300, "é" * 149, "🥖" * 149])
def test_an_uploaded_image_of_a_long_name_is_stored(serve: Callable[..., Browser], stem: str) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    name = f"{stem}.png"
    table = f"sku,price,photo\nA,3,{name}\nB,5,{name}\n".encode()
    form = {"name": "menu", "key": "sku", "image": "photo", "acquisition": "sobol"}
    files = [("table", ("menu.csv", table, "text/csv")), ("images", (name, b"\x89PNG....", "image/png"))]
    page = browser.post("/studies/catalogue", form, files=files)
    assert page.status_code == 200, page.text
    with Study.open(browser.url, "menu") as study:
        stored = study.space.rows[0]["photo"]  # type: ignore[union-attr]
        assert (study.folder / stored).is_file()  # type: ignore[operator]
    assert len(stored.encode()) <= 255
    assert stored.endswith(".png")
