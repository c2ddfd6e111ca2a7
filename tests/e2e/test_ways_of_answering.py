"""The best, the best and the worst, an order, one of two: by mouse, by keyboard, by drag, and without scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from choicebo.study import Study

from .e2e_helpers import Server
from .test_accessibility import serious
from .test_choice_page import go, wait_for_question

Open = Callable[..., Any]
NewStudy = Callable[..., Study]


def said(study: Study) -> list[str | None]:
    return [past.marks and past.marks.words() for past in study.history() if past.state == "standing"]


def test_a_ranking_by_clicks_keys_and_drag(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, page = new_study(answer="ranking", query_size=4), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    page.keyboard.press("Enter")
    assert "mark them in order" in page.locator("#notice").inner_text()
    cards = page.locator(".card")
    for place in (2, 0, 3, 0):  # the last click takes back the second
        cards.nth(place).click()
    assert page.locator("#announce").inner_text() == "Taken back: option 1."
    assert page.locator(".tick").all_inner_texts() == ["", "", "1", "2"]
    page.get_by_role("checkbox", name="Option 4, place 2:").wait_for()
    page.get_by_role("button", name="Rank 2 of 4").click()
    wait_for_question(page, 2)
    for key in ("4", "2", "1", "Enter"):
        page.keyboard.press(key)
    wait_for_question(page, 3)
    assert said(study) == ["in order: 3, 4", "in order: 4, 2, 1"]
    options = page.locator(".option")
    options.nth(3).drag_to(options.nth(0))
    assert page.locator("#announce").inner_text() == "In order: 4, 1, 2, 3."
    page.keyboard.press("1")  # keys are those on the cards, wherever these are now
    page.get_by_role("button", name="Rank 3 of 4").click()
    wait_for_question(page, 4)
    assert said(study)[2] == "in order: 4, 2, 3"
    page.get_by_role("button", name="Undo").click()
    wait_for_question(page, 3)
    assert page.locator(".tick").all_inner_texts() == ["", "2", "3", "1"]


def test_the_best_and_the_worst_by_clicks_and_keys(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, page = new_study(answer="best-worst", query_size=4), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    page.get_by_role("radio", name="Best: option 2").check(force=True)
    page.keyboard.press("Enter")
    assert "two different ones" in page.locator("#notice").inner_text()
    page.get_by_role("radio", name="Worst: option 2").check(force=True)  # not both
    assert not page.get_by_role("radio", name="Best: option 2").is_checked()
    page.get_by_role("radio", name="Best: option 4").check(force=True)
    page.get_by_role("button", name="Best 4, worst 2").click()
    wait_for_question(page, 2)
    for key in ("1", "3", "1", "4", "Enter"):  # the third takes the best back
        page.keyboard.press(key)
    wait_for_question(page, 3)
    cards = page.locator(".card")
    cards.nth(2).click()
    cards.nth(0).click()
    page.get_by_role("button", name="Best 3, worst 1").click()
    wait_for_question(page, 4)
    assert said(study) == ["best: 4, worst: 2", "best: 4, worst: 3", "best: 3, worst: 1"]
    page.get_by_role("link", name="History").click()
    assert "best: 3, worst: 1" in page.locator(".past").first.inner_text()


def test_one_of_two_or_neither(server: Server, new_study: NewStudy, open_page: Open) -> None:
    study, page = new_study(answer="pair", query_size=2), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    page.keyboard.press("2")
    page.get_by_role("button", name="Choose option 2").click()
    wait_for_question(page, 2)
    page.keyboard.press("=")
    wait_for_question(page, 3)
    page.get_by_role("button", name="I cannot decide").click()
    wait_for_question(page, 4)
    assert [past.kept for past in study.history()] == [(1,), (0, 1), (0, 1)]


def test_what_is_marked_outlives_a_reload_and_is_seen_large(
    server: Server, new_study: NewStudy, open_page: Open
) -> None:
    study, page = new_study(answer="ranking", query_size=4), open_page()
    go(page, server, study)
    wait_for_question(page, 1)
    for key in ("3", "1"):
        page.keyboard.press(key)
    page.reload()
    wait_for_question(page, 1)
    assert page.locator(".tick").all_inner_texts() == ["2", "", "1", ""]
    page.get_by_role("button", name="Enlarge option 2").click()
    button = page.locator("#enlarged [data-keep]")
    assert button.inner_text() == "Place 3"
    button.click()
    assert button.inner_text() == "✓ Place 3"


@pytest.mark.parametrize("way", ["best", "best-worst", "ranking", "pair"])
def test_without_scripts_the_same_can_be_said(server: Server, new_study: NewStudy, open_page: Open, way: str) -> None:
    study = new_study(answer=way, query_size=2 if way == "pair" else 3)
    page = open_page(java_script_enabled=False)
    go(page, server, study)
    if way == "ranking":
        places = page.locator("select[name=place]")
        places.nth(0).select_option("2")
        places.nth(2).select_option("1")
    else:
        page.locator("input[name=best]").nth(1).check(force=True)
    if way == "best-worst":
        page.locator("input[name=worst]").nth(2).check(force=True)
    page.locator("button[value=keep]").click()
    page.get_by_text("Question 2: the options").wait_for(state="attached")
    expected = {"best-worst": "best: 2, worst: 3", "ranking": "in order: 3, 1"}.get(way, "best: 2")
    assert said(study) == [expected]


@pytest.mark.parametrize("way", ["best", "best-worst", "ranking", "pair"])
def test_no_way_of_answering_has_a_serious_finding(
    server: Server, new_study: NewStudy, open_page: Open, way: str
) -> None:
    study = new_study(answer=way, query_size=2 if way == "pair" else 3, name=f"axe {way}")
    question = study.ask()
    study.tell(question, best=0, worst=1) if way == "best-worst" else study.tell(question, best=0)
    for scheme, width in (("light", 1280), ("dark", 390)):
        page = open_page(color_scheme=scheme, viewport={"width": width, "height": 844})
        for where, ready in (("", "#choose"), ("history", ".past"), ("answers/2/change", ".store-answer")):
            go(page, server, study, where)
            page.locator(ready).first.wait_for()
            if not where:
                page.keyboard.press("1")
                page.keyboard.press("2")
            assert serious(page) == [], (where, scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (where, width)
