"""Set-up and keeping house, on the page and through the API."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import choicebo as cb
from choicebo.study import Study
from choicebo.web.rater_link import rater_link
from choicebo.web.server_settings import ServerSettings

from .web_helpers import Browser, bread

OWNER_TOKEN = "the token of the owner"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40


def names(browser: Browser) -> list[str]:
    return [info.name for info in Study.list(browser.url)]


def change(browser: Browser, act: str, study: str = "bread", **fields: str) -> Any:
    browser.get(f"/study/{study}/settings")
    return browser.post(f"/study/{study}/settings", {"act": act, **fields})


# ---- a study


def test_a_study_is_edited_and_renamed_on_its_page(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.answer([0])
    saved = change(browser, "edit", name="loaf", question="Again?", template="<svg>{minutes}</svg>")
    assert saved.url.path == "/study/loaf/settings"
    assert "Saved." in saved.text
    study = Study.open(browser.url)
    assert (study.name, study.question, study.show.kind, study.n_answers) == ("loaf", "Again?", "svg", 1)
    gone = browser.client.get("/study/bread")
    assert gone.status_code == 404
    assert "There is no study &#39;bread&#39;" in gone.text
    assert "Again?" in browser.get("/study/loaf").text


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"name": " "}, "name", "name"),
        ({"name": "soup"}, "name", "already"),
        ({"question": ""}, "question", "question"),
        ({"template": "<svg>{minuts}</svg>"}, "template", "Did you mean"),
    ],
)
def test_an_edit_that_cannot_be_is_told_at_its_field(
    browser: Browser, fields: dict[str, str], field: str, told: str
) -> None:
    Study.create(browser.url, **bread(name="soup")).close()
    refused = change(browser, "edit", **{"name": "bread", "question": "Which?", "template": "", **fields})
    assert refused.status_code == 400
    assert told in re.findall(rf'id="error-{field}">([^<]+)', refused.text)[0]
    marked = re.findall(rf'<[^>]*id="field-{field}"[^>]*>', refused.text)[0]
    assert 'aria-invalid="true"' in marked
    assert "autofocus" in marked
    assert Study.open(browser.url, "bread").show.kind == "bars"


def test_a_study_is_duplicated_archived_and_brought_back(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.answer([0])
    assert change(browser, "duplicate", copy_name="plain").url.path == "/study/plain/settings"
    change(browser, "duplicate", copy_name="full", answers="yes")
    assert [info.answers for info in Study.list(browser.url)] == [1, 0, 1]
    assert "already" in change(browser, "duplicate", copy_name="full").text
    change(browser, "archive")
    assert "This study is archived" in browser.get("/study/bread").text
    listed = browser.get("/studies").text
    assert listed.index("Archived (1)") < listed.index("/study/bread/settings")
    assert 'href="/study/bread"' not in listed
    assert browser.client.get("/api/v1/studies/bread/question", params={"wait": 5}).status_code == 423
    change(browser, "unarchive")
    assert "This study is archived" not in browser.get("/study/bread").text


def test_a_study_is_deleted_only_by_its_name_typed_and_with_its_images(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    table = "id,name,photo,price\n1,Rye,a.png,3\n2,Oat,b.png,4\n"
    files: list[Any] = [("table", ("menu.csv", table, "text/csv"))]
    files += [("images", (f"{name}.png", io.BytesIO(PNG), "image/png")) for name in "ab"]
    assert browser.post("/studies/catalogue", {"name": "menu"}, files=files).status_code == 200
    folder = Study.open(browser.url).folder
    assert folder is not None
    change(browser, "duplicate", "menu", copy_name="copy")
    page = browser.get("/study/menu/settings").text
    assert "/study/menu/download/study.json" in page
    refused = change(browser, "delete", "menu", confirm="men")
    assert "nothing was deleted" in refused.text
    assert names(browser) == ["menu", "copy"]
    assert change(browser, "delete", "menu", confirm="menu").url.path == "/studies"
    assert names(browser) == ["copy"]
    assert folder.exists(), "the copy shows the same images"
    assert browser.client.get("/study/menu").status_code == 404
    change(browser, "delete", "copy", confirm="copy")
    assert not folder.exists()


def test_a_rater_does_not_reach_the_settings(serve: Callable[..., Browser]) -> None:
    browser = serve(token=OWNER_TOKEN)
    token = Study.create(browser.url, **bread()).add_rater("ann")
    browser.get(f"/join/{token}")
    assert browser.client.get("/study/bread/settings").status_code == 403
    sent = browser.client.delete(
        "/api/v1/studies/bread", params={"confirm": "bread"}, headers={"Authorization": f"Bearer {token}"}
    )
    assert sent.status_code == 401
    assert names(browser) == ["bread"]


def test_a_rater_is_led_to_the_study_by_its_new_name(serve: Callable[..., Browser]) -> None:
    browser = serve(token=OWNER_TOKEN)
    study = Study.create(browser.url, **bread())
    token = study.add_rater("ann")
    assert browser.get(f"/join/{token}").url.path == "/study/bread"
    study.rename("loaf")
    assert browser.get("/study/bread").url.path == "/study/loaf"
    assert "You are ann" in browser.get("/study/loaf").text


def test_a_study_that_another_process_renames_or_deletes_is_missed_with_a_sentence(browser: Browser) -> None:
    browser.get("/study/bread")
    Study.open(browser.url).rename("loaf")
    browser.client.get("/study/bread")
    assert browser.client.get("/study/bread").status_code == 404
    browser.get("/study/loaf")
    Study.delete(browser.url, "loaf")
    gone = browser.client.get("/study/loaf")
    assert gone.status_code == 404
    assert "loaf" in gone.text


# ---- raters


def test_a_rater_is_removed_and_brought_back_on_the_page(browser: Browser) -> None:
    study = Study.open(browser.url)
    token = study.add_rater("ann")
    study.tell(study.ask("ann"), [0])
    asked = browser.get("/study/bread/raters?remove=ann").text
    assert "Remove ann?" in asked
    assert "1 answer" in asked
    browser.post("/study/bread/raters", {"rater": "ann", "act": "remove", "answers": "retract"})
    assert (study.n_answers, study.rater_of(token)) == (0, None)
    page = browser.get("/study/bread/raters").text
    assert "Removed" in page
    assert "bring them back" in browser.post("/study/bread/raters", {"rater": "ann", "act": "add"}).text
    back = browser.post("/study/bread/raters", {"rater": "ann", "act": "restore"})
    assert "/join/" in back.text
    assert study.n_answers == 1
    assert "Remove owner?" not in browser.get("/study/bread/raters?remove=owner").text


def test_a_link_that_works_only_here_says_so_and_how_to_change_that(browser: Browser) -> None:
    browser.client.base_url = "http://127.0.0.1:8000"  # type: ignore[assignment]
    browser.get("/study/bread/raters")
    page = browser.post("/study/bread/raters", {"rater": "ann", "act": "add"}).text
    assert "only in browsers on this machine" in page
    assert re.search(r"choicebo serve \S+ --host 0\.0\.0\.0 --token \S{16,}", html.unescape(page))
    assert "qr-code" not in page


def test_a_link_for_others_has_a_code_for_phones(serve: Callable[..., Browser]) -> None:
    browser = serve(token=OWNER_TOKEN)
    Study.create(browser.url, **bread()).close()
    browser.client.base_url = "http://studies.example:8000"  # type: ignore[assignment]
    browser.get(f"/enter?token={OWNER_TOKEN}")
    browser.get("/study/bread/raters")
    page = browser.post("/study/bread/raters", {"rater": "ann", "act": "add"}).text
    assert "http://studies.example:8000/join/" in page
    assert "only in browsers on this machine" not in page
    svg = re.findall(r"<svg[^>]*qr-code.*?</svg>", page, re.DOTALL)[0]
    assert "style=" not in svg


def test_an_owner_at_the_machine_itself_gets_links_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Here:
        class base_url:
            hostname, scheme, port = "127.0.0.1", "http", 8000

    monkeypatch.setattr("choicebo.web.rater_link._outside_address", lambda host: "192.168.0.7")
    settings = ServerSettings("bread.db", host="0.0.0.0", token=OWNER_TOKEN)
    link = rater_link(Here, settings, "abc")  # type: ignore[arg-type]
    assert (link.address, link.only_here) == ("http://192.168.0.7:8000/join/abc", False)


# ---- tables


def excel(*lines: list[object]) -> bytes:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def test_an_excel_file_is_looked_at_and_its_columns_can_be_chosen(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    content = excel(["id", "name", "title", "price"], [1, "Rye", "x", 3], [2, "Oat", "y", 4])
    files = [("table", ("menu.xlsx", content, "application/octet-stream"))]
    seen = browser.post("/studies/catalogue", {}, files=files, part=True).text
    assert re.search(r"<th scope=\"row\">id</th><td>tells the rows apart", seen)
    assert re.search(r"<th scope=\"row\">name</th><td>the name that people see", seen)
    assert "<option selected>name</option>" in seen
    columns = html.unescape(re.findall(r'name="columns" value="([^"]*)"', seen)[0])
    chosen = {"columns": columns, "key": "id", "label": "title", "image": ""}
    again = browser.post("/studies/catalogue", chosen, files=files, part=True).text
    assert re.search(r"<th scope=\"row\">title</th><td>the name that people see", again)
    assert 'id="columns"' not in again, "what is being chosen from must not be replaced under the hand"
    assert browser.post("/studies/catalogue", {"name": "menu", **chosen}, files=files).status_code == 200
    assert Study.open(browser.url).space.label == "title"  # type: ignore[union-attr]


def test_columns_chosen_for_another_table_are_looked_for_anew(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    chosen = {"name": "menu", "columns": '["sku", "price"]', "key": "sku", "label": "", "image": ""}
    files = [("table", ("menu.csv", "id,name,price\n1,Rye,3\n2,Oat,4\n", "text/csv"))]
    assert browser.post("/studies/catalogue", chosen, files=files).status_code == 200
    space = Study.open(browser.url).space
    assert isinstance(space, cb.Catalogue)
    assert (space.key, space.label) == ("id", "name")


@pytest.mark.parametrize(
    ("data", "table", "field", "told"),
    [
        ({"name": "x"}, None, "table", "Choose a table"),
        ({"name": "x"}, b"\xd0\xcf\x11\xe0" + b"0" * 40, "table", "old Excel file"),
        ({"name": "x", "key": "nr"}, b"id,price\n1,3\n2,4\n", "key", "nr"),
        ({"name": "x", "label": "titel"}, b"id,title,price\n1,a,3\n2,b,4\n", "label", "titel"),
        ({"name": "x", "image": "photo"}, b"id,photo,price\n1,a.png,3\n2,b.png,4\n", "images", "a.png"),
        ({}, b"id,price\n1,3\n2,4\n", "name", "Give the study a name"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_at_its_field(
    serve: Callable[..., Browser], data: dict[str, str], table: bytes | None, field: str, told: str
) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    files = None if table is None else [("table", ("menu.csv", table, "text/csv"))]
    refused = browser.post("/studies/catalogue", data, files=files or [("images", ("", b"", "text/plain"))])
    assert refused.status_code == 400
    assert told in html.unescape(re.findall(rf'id="error-{field}">([^<]*)', refused.text)[0])
    assert "autofocus" in re.findall(rf'<[^>]*id="field-{field}"[^>]*>', refused.text)[0]


def test_pictures_that_nobody_sent_are_not_missed(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    files = [("table", ("menu.csv", "id,photo,price\n1,a.png,3\n2,b.png,4\n", "text/csv"))]
    assert "a.png" in html.unescape(browser.post("/studies/catalogue", {}, files=files, part=True).text)
    assert browser.post("/studies/catalogue", {"name": "menu"}, files=files).status_code == 200


# ---- the API, and a database that can only be read


def test_studies_are_kept_in_order_through_the_api(browser: Browser) -> None:
    call = browser.client
    study = "/api/v1/studies/bread"
    edited = call.patch(study, json={"question": "Again?"}).json()
    assert (edited["question"], edited["objective_names"]) == ("Again?", [])
    assert call.patch(study, json={"show": {"kind": "svg", "template": "<svg>{minuts}</svg>"}}).status_code == 400
    assert call.patch(study, json={"settings": {}}).status_code == 422
    assert call.post(f"{study}/duplicate", json={"name": "copy", "answers": True}).status_code == 201
    assert call.patch(study, json={"name": "copy"}).status_code == 409
    assert call.post(f"{study}/archive").json()["archived_at"]
    assert call.post(f"{study}/undo").status_code == 423
    assert call.post(f"{study}/unarchive").json()["archived_at"] is None
    call.post(f"{study}/raters", json={"name": "ann"})
    assert call.delete(f"{study}/raters/ann", params={"answers": "retract"}).json()[1]["removed_at"]
    assert call.post(f"{study}/raters/ann/restore").json()["path"].startswith("/join/")
    assert call.delete(f"{study}/raters/bob").status_code == 404
    assert call.patch(study, json={"name": "loaf"}).json()["name"] == "loaf"
    assert call.get(study).status_code == 404
    assert call.delete("/api/v1/studies/loaf", params={"confirm": "loa"}).status_code == 400
    assert call.delete("/api/v1/studies/loaf", params={"confirm": "loaf"}).json() == {"deleted": "loaf"}
    assert names(browser) == ["copy"]


def test_a_server_of_a_file_that_can_only_be_read_shows_it(serve: Callable[..., Browser], tmp_path: Path) -> None:
    with Study.create(tmp_path / "bread.db", **bread()) as study:
        for _ in range(3):
            study.tell(study.ask(), [0])
        study.ask()
    browser = serve(database=f"sqlite:///file:{tmp_path / 'bread.db'}?mode=ro&uri=true")
    assert browser.get("/study/bread/history").status_code == 200
    assert browser.get("/study/bread/result").status_code == 200
    assert browser.client.get("/study/bread/download/study.json").status_code == 200
    browser.get("/study/bread")
    refused = browser.answer([0])
    assert refused.status_code == 423
    assert "read-only" in refused.text
