"""The first minutes: an empty database, the examples, how to choose."""

from __future__ import annotations

import re
from collections.abc import Callable

from choicebo.study import Study
from choicebo.study.examples import EXAMPLES

from .web_helpers import Browser, bread


def test_an_empty_database_offers_the_examples_and_one_click_opens_one(serve: Callable[..., Browser]) -> None:
    browser = serve()
    page = browser.get("/")
    assert 'href="/studies/new"' in page.text
    offered = re.findall(r'action="(/studies/example/[^"]+)"', page.text)
    assert offered == [f"/studies/example/{name}" for name in EXAMPLES]
    assert page.text.count('<img src="data:image/svg+xml;base64,') == 3  # palettes are drawn, the others told
    for address in offered:
        assert browser.post(address, follow_redirects=False).headers["location"] == f"/study/{address.rsplit('/')[-1]}"
    assert [info.name for info in Study.list(browser.url)] == list(EXAMPLES)
    assert "/studies/example/" not in browser.get("/studies").text  # those that are there are not offered again


def test_an_example_sent_twice_is_created_once_and_an_unknown_one_is_not_found(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies")
    for _ in range(2):
        assert browser.post("/studies/example/bread", follow_redirects=False).status_code == 303
    assert browser.post("/studies/example/soup").status_code == 404
    assert len(Study.list(browser.url)) == 1
    assert Study.open(browser.url).folder is None


COACH = r'<dialog id="coach"[^>]*>'


def coach_is_open(page: str) -> bool:
    (found,) = re.findall(COACH, page)
    return " open" in found


def test_how_to_choose_is_shown_before_the_first_question_and_only_once(browser: Browser) -> None:
    page = browser.get("/study/bread").text
    assert coach_is_open(page)
    assert page.index('id="coach"') < page.index('id="stage"')  # without scripts it stands above the question
    browser.post("/study/bread/coached")
    assert not coach_is_open(browser.get("/study/bread").text)
    assert coach_is_open(browser.get("/study/bread?how=1").text)  # and whenever it is asked for
    assert 'href="/study/bread?how=1"' in browser.page.text


def test_who_has_answered_before_is_not_taught_how_to(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.answer([0])
    assert not coach_is_open(browser.get("/study/bread").text)


def test_where_no_model_was_needed_none_is_said_to_be_learning(browser: Browser) -> None:
    assert "No answers yet" in browser.get("/study/bread/progress").text
    browser.get("/study/bread")
    browser.answer([0])
    told = browser.get("/study/bread/progress").text
    assert "<b>1 answer</b>." in told
    assert "hx-get" not in told


def test_before_the_model_learns_it_is_said_from_when_on(serve: Callable[..., Browser]) -> None:
    browser = serve()
    study = Study.create(browser.url, **bread(acquisition="default", initial_queries=4))
    study.tell(study.ask(), [0])
    assert "<b>1 answer</b>; the model begins to learn at 4." in browser.get("/study/bread/progress").text


def test_a_rater_who_may_not_see_the_result_sees_only_how_much_they_answered(browser: Browser) -> None:
    browser.study.tell(browser.study.ask(), [0])
    token = browser.study.add_rater("Ann")
    browser.client.get(f"/join/{token}")
    browser.get("/study/bread")
    browser.answer([0])
    told = browser.get("/study/bread/progress").text
    assert "<b>1 answer</b>." in told


def test_bars_have_a_legend(browser: Browser) -> None:
    page = browser.get("/study/bread").text
    assert "where it lies in its range" in page
    assert "where the others lie" in page


def test_drawings_have_no_bars_and_need_no_legend(drawn: Browser) -> None:
    page = drawn.get("/study/bread").text
    assert "where it lies in its range" not in page
    assert page.count("data-enlarge=") == 4
