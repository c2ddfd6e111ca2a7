from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError, StorageError
from choicebo.study import Study, StudyError
from choicebo.study.definition import Show
from choicebo.web.guard import CONTENT_POLICY, FORM_BYTES, HEADERS, UPLOAD_BYTES
from choicebo.web.pictures import image_file
from choicebo.web.server_settings import ServerSettings

from .web_helpers import TOKEN, Browser, bread

PAGES = ("/studies", "/studies/new", "/studies/catalogue", "/study/bread", "/study/bread/history")
PAGES += ("/study/bread/raters", "/study/bread/result", "/enter", "/api/v1/docs", "/nowhere")


@pytest.fixture
def guarded(serve: Callable[..., Browser]) -> Browser:
    """A server that other machines can reach, with one study."""
    found = serve(token=TOKEN, host="0.0.0.0")
    Study.create(found.url, **bread()).close()
    return found


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_a_host_that_others_can_reach_needs_a_token(host: str) -> None:
    with pytest.raises(InvalidInputError, match="token"):
        ServerSettings("x.db", host=host)
    with pytest.raises(InvalidInputError, match="16"):
        ServerSettings("x.db", host=host, token="short")


def test_without_the_token_every_page_leads_to_the_entrance(guarded: Browser) -> None:
    for path in ("/", *PAGES[:-3]):
        found = guarded.client.get(path, follow_redirects=False)
        assert (found.status_code, found.headers["location"].split("?")[0]) == (303, "/enter"), path


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(guarded: Browser) -> None:
    guarded.get("/enter")
    found = guarded.post("/enter", {"token": TOKEN, "next": "/studies"}, follow_redirects=False)
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/study/bread").status_code == 200


def test_a_token_in_the_address_is_hidden_from_there(guarded: Browser) -> None:
    found = guarded.get("/enter", params={"token": TOKEN})
    assert found.status_code == 200
    assert "token" not in str(found.url)


@pytest.mark.parametrize("address", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1"])
def test_the_entrance_does_not_send_people_elsewhere(guarded: Browser, address: str) -> None:
    found = guarded.client.get("/enter", params={"token": TOKEN, "next": address}, follow_redirects=False)
    assert found.headers["location"] == "/"


def test_a_form_from_another_site_is_refused_even_with_its_value(browser: Browser) -> None:
    browser.get("/study/bread")
    data = {"form_token": browser.field("form_token"), "question": "1", "kept": "0", "act": "keep"}
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert browser.client.post("/study/bread/answer", data=data, headers=headers).status_code == 403
    assert browser.study.n_answers == 0


def test_on_loopback_no_other_name_of_this_machine_is_answered(browser: Browser) -> None:
    assert browser.client.get("/studies", headers={"Host": "evil.example"}).status_code == 421
    assert browser.client.get("/studies", headers={"Host": "localhost:9"}).status_code == 200


@pytest.mark.parametrize("path", [*PAGES, "/static/choicebo.css", "/api/v1/studies", "/api/v1/openapi.json"])
def test_every_response_carries_the_security_headers(browser: Browser, path: str) -> None:
    found = browser.get(path)
    assert [name for name in HEADERS if name.lower() not in found.headers] == []
    policy = found.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_a_script_or_style_of_its_own(browser: Browser, path: str) -> None:
    text = browser.get(path).text
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]+src=)", text)
    assert "http://" not in re.sub(r"http://(www\.w3\.org|127\.0\.0\.1)", "", text)


def test_too_large_a_body_is_refused_with_and_without_its_length(browser: Browser) -> None:
    browser.get("/study/bread")
    big = b"x" * (FORM_BYTES + 1)
    assert browser.client.post("/study/bread/answer", content=big).status_code == 413
    parts = (big[at : at + 65536] for at in range(0, len(big), 65536))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert browser.client.post("/study/bread/answer", content=parts, headers=headers).status_code == 413
    headers = {"Content-Type": "application/json"}
    parts = (big[at : at + 65536] for at in range(0, len(big), 65536))
    assert browser.client.post("/api/v1/studies", content=parts, headers=headers).status_code == 413


def test_who_sends_too_much_is_told_the_limit_and_the_way_back(browser: Browser) -> None:
    browser.get("/studies/catalogue")
    form = {"form_token": browser.field("form_token"), "name": "menu"}
    files = {"table": ("menu.csv", b"sku,price\n" + b"A,3\n" * (UPLOAD_BYTES // 4), "text/csv")}
    page = browser.client.post("/studies/catalogue", data=form, files=files)
    assert page.status_code == 413
    assert "The request is too large: at most 32 MB are accepted at once. Make the images smaller" in page.text
    assert '<a class="button" href="/studies/catalogue">Back to the form</a>' in page.text
    assert "choicebo.css" in page.text
    assert page.headers["content-security-policy"] == CONTENT_POLICY
    part = browser.client.post("/studies/catalogue", data=form, files=files, headers={"HX-Request": "true"})
    assert part.status_code == 413
    assert part.text.startswith('<p class="notice failure"')
    for content in (b"x" * (FORM_BYTES + 1), (b"x" * 65536 for _ in range(17))):
        told = browser.client.post("/api/v1/studies", content=content, headers={"Content-Type": "application/json"})
        assert told.status_code == 413
        assert told.json() == {"error": "The request is too large: at most 1 MB are accepted at once."}


@pytest.mark.parametrize(
    "path",
    ["../secret.png", "/etc/passwd", "a/../../secret.png", "link.png", "notes.txt", "missing.png", "a\x00.png", ""],
)
def test_images_come_only_from_the_folder_of_the_study(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"\x89PNG")
    (folder / "notes.txt").write_text("secret")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "own.png").write_bytes(b"\x89PNG")
    assert image_file(folder, "own.png").name == "own.png"
    with pytest.raises(StudyError):
        image_file(folder, path)


def test_images_are_served_and_escapes_are_not(serve: Callable[..., Browser], tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "rye.png").write_bytes(b"\x89PNG...")
    (tmp_path / "secret.png").write_bytes(b"\x89PNG...")
    browser = serve()
    Study.create(browser.url, **bread(show=Show("image", template="{flour}.png"), folder=folder)).close()
    assert 'src="/study/bread/image/rye.png"' in browser.get("/study/bread").text
    found = browser.get("/study/bread/image/rye.png")
    assert (found.content, found.headers["content-type"]) == (b"\x89PNG...", "image/png")
    for path in ("../secret.png", "%2e%2e/secret.png", "..%2fsecret.png", "%2Fetc%2Fpasswd"):
        assert browser.client.get(f"/study/bread/image/{path}").status_code in (400, 404)


def test_only_images_that_the_options_name_are_served(serve: Callable[..., Browser], tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    (folder / "in").mkdir(parents=True)
    for name in ("rye.png", "private.png", "in/rye.png", "5.png", "41.png", "05.png", "12-1.50.png", "12-9.50.png"):
        (folder / name).write_bytes(b"\x89PNG...")
    browser = serve()
    minutes, weight = cb.Integer("minutes", 5, 40), cb.Real("weight", 1.004, 2)
    flour = cb.Categorical("flour", ["rye", "wheat", "spelt", "../in/rye"])
    rows = [{"sku": "A", "price": 1, "photo": "rye.png"}, {"sku": "B", "price": 2, "photo": None}]
    menu = cb.Catalogue(rows, key="sku", image="photo")
    cases = {
        "{flour}.png": (cb.Space([minutes, flour]), ["rye.png"]),
        "{minutes}.png": (cb.Space([minutes, flour]), ["5.png"]),
        "{minutes}-{weight:.2f}.png": (cb.Space([minutes, weight]), ["12-1.50.png"]),
        "{photo}": (menu, ["rye.png"]),
        None: (menu, ["rye.png"]),
    }
    for number, (template, (space, named)) in enumerate(cases.items()):
        show = Show("image", template=template)
        Study.create(browser.url, **bread(name=f"s{number}", space=space, show=show, folder=folder)).close()
        for file in folder.rglob("*.png"):
            name = file.relative_to(folder).as_posix()
            code = browser.client.get(f"/study/s{number}/image/{name}").status_code
            assert code == (200 if name in named else 404), (template, name)


def test_a_study_that_shows_no_images_serves_none(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "rye.png").write_bytes(b"\x89PNG...")
    Study.create(browser.url, **bread(name="plain", folder=tmp_path)).close()
    assert browser.client.get("/study/plain/image/rye.png").status_code == 404


def test_strangers_and_raters_learn_neither_of_other_raters_nor_of_the_database(
    guarded: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = guarded.study
    tokens = {name: study.add_rater(name) for name in ("Ann", "Bob")}
    number = study.ask("Bob").number
    ann, owner = ({"Authorization": f"Bearer {token}"} for token in (tokens["Ann"], TOKEN))
    for act in ("answer", "skip"):
        path = f"/api/v1/studies/bread/questions/{number}/{act}"
        told = guarded.client.post(path, json={"kept": [0]}, headers=ann)
        assert (told.status_code, "Bob" in told.text) == (400, False)
    guarded.get(f"/join/{tokens['Ann']}")
    told = guarded.post("/study/bread/answer", {"question": number, "kept": "0", "act": "keep"})
    assert (told.status_code, "Bob" in told.text) == (400, False)

    def fail(*_: object, **__: object) -> None:
        raise StorageError(f"The file {guarded.url!r} is locked by another program.")

    monkeypatch.setattr(Study, "of_token", fail)
    for headers in (ann, {"Authorization": "Bearer x"}):
        told = guarded.client.get("/api/v1/studies/bread", headers=headers)
        assert (told.status_code, guarded.url in told.text) == (503, False)
        assert "retry-after" in told.headers
    for path in ("/join/x", "/study/bread"):
        told = guarded.client.get(path)
        assert (told.status_code, guarded.url in told.text) == (503, False)
    monkeypatch.setattr(Study, "list", fail)
    told = guarded.client.get("/api/v1/studies", headers=owner)
    assert (told.status_code, guarded.url in told.json()["error"]) == (503, True)  # the owner can do something about it


def test_a_study_that_has_gone_does_not_tell_a_rater_where_it_was(guarded: Browser) -> None:
    headers = {"Authorization": f"Bearer {guarded.study.add_rater('Ann')}"}
    assert guarded.client.get("/api/v1/studies/bread", headers=headers).status_code == 200
    Study.delete(guarded.url, "bread")
    told = guarded.client.get("/api/v1/studies/bread/history", headers=headers)
    assert told.status_code in (401, 404)
    assert guarded.url not in told.text


def test_a_rater_sees_the_choice_and_their_own_history_and_nothing_else(guarded: Browser) -> None:
    study = guarded.study
    study.tell(study.ask(), [0])
    Study.create(guarded.url, **bread(name="secret")).close()
    token = study.add_rater("Ann")
    page = guarded.get(f"/join/{token}")
    assert page.url.path == "/study/bread"
    assert "You are Ann" in page.text
    guarded.answer([1])
    assert [act.rater for act in study.history()] == ["owner", "Ann"]
    assert guarded.get("/study/bread/history").text.count('class="panel past') == 1
    for path in ("/study/bread/result", "/study/bread/raters", "/study/bread/download/study.json"):
        refused = guarded.client.get(path, follow_redirects=False)
        assert (refused.status_code, 'href="/study/bread"' in refused.text) == (403, True), path
    assert guarded.client.get("/studies", follow_redirects=False).status_code == 303
    assert guarded.client.get("/study/secret", follow_redirects=False).status_code == 303
    owners = study.history()[0].id
    assert guarded.post(f"/study/bread/answers/{owners}/retract").status_code in (403, 404)


def test_the_result_is_shared_with_raters_if_the_owner_says_so(serve: Callable[..., Browser]) -> None:
    found = serve(token=TOKEN, host="0.0.0.0", share_result=True)
    Study.create(found.url, **bread()).close()
    token = found.study.add_rater("Ann")
    assert 'href="/study/bread/result"' in found.get(f"/join/{token}").text
    page = found.client.get("/study/bread/result")
    assert "Nothing to show yet" in page.text
    for path in ("/study/bread/raters", "/study/bread/download/answers.csv"):
        assert found.client.get(path).status_code == 403, path
    headers = {"Authorization": f"Bearer {token}"}
    assert found.client.get("/api/v1/studies/bread/result", params={"wait": 30}, headers=headers).status_code == 200


def test_where_each_is_learned_from_alone_a_rater_sees_only_their_own_result(serve: Callable[..., Browser]) -> None:
    found = serve(token=TOKEN, host="0.0.0.0")
    study = Study.create(found.url, **bread(raters="separate"))
    study.tell(study.ask(), [0])
    found.get(f"/join/{study.add_rater('Ann')}")
    for query in ("", "?rater=owner"):
        assert "Nothing to show yet" in found.client.get(f"/study/bread/result{query}").text
    assert found.client.get("/study/bread/download/report.html").status_code == 403


def test_the_owner_leaves_by_a_button_of_every_page(guarded: Browser) -> None:
    guarded.get("/enter", params={"token": TOKEN})
    guarded.get("/studies")
    assert 'action="/leave"' in guarded.page.text
    guarded.post("/leave")
    assert guarded.client.get("/studies", follow_redirects=False).status_code == 303


def test_a_void_link_lets_nobody_in(guarded: Browser) -> None:
    old = guarded.study.add_rater("Ann")
    guarded.study.new_token("Ann")
    assert guarded.client.get(f"/join/{old}").status_code == 401


def test_an_unexpected_error_shows_no_trace(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Study, "raters", fail)
    for path in ("/study/bread/raters", "/api/v1/studies/bread/raters"):
        found = browser.get(path)
        assert found.status_code == 500
        assert "secret detail" not in found.text
        assert "Traceback" not in found.text
        assert "content-security-policy" in found.headers


def test_the_api_takes_a_bearer_token_and_no_cookie(guarded: Browser) -> None:
    guarded.get("/enter", params={"token": TOKEN})
    assert guarded.client.get("/api/v1/studies").status_code == 401
    assert guarded.client.get("/api/v1/studies", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    rater = {"Authorization": f"Bearer {guarded.study.add_rater('Ann')}"}
    assert guarded.client.get("/api/v1/studies/bread", headers=rater).status_code == 200
    for path in ("/api/v1/studies", "/api/v1/studies/other", "/api/v1/studies/bread/raters"):
        assert guarded.client.get(path, headers=rater).status_code == 401
