"""Ways of answering through forms and the JSON interface."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from choicebo.study import Study

from .web_helpers import Browser, bread

API = "/api/v1/studies/bread"


def study_of(serve: Callable[..., Browser], **settings: object) -> Browser:
    browser = serve()
    Study.create(browser.url, **bread(**settings)).close()
    return browser


def marks(browser: Browser) -> list[dict[str, object] | None]:
    return [past["marks"] for past in browser.client.get(f"{API}/history").json()]


@pytest.mark.parametrize(
    ("way", "form", "expected"),
    [
        ("best", {"best": "1"}, {"best": 1}),
        ("best-worst", {"best": "1", "worst": "0"}, {"best": 1, "worst": 0}),
        ("ranking", {"order": "2,0"}, {"ranking": [2, 0]}),
        ("ranking", {"place": ["2", "", "1"]}, {"ranking": [2, 0]}),
        ("ranking", {"place": ["1", "2", "1"]}, {"ranking": [[0, 2], 1]}),
        ("subset", {"kept": ["0", "2"]}, None),
    ],
)
def test_a_form_says_it_in_the_way_of_the_study(
    serve: Callable[..., Browser], way: str, form: dict[str, str], expected: object
) -> None:
    browser = study_of(serve, answer=way)
    browser.get("/study/bread")
    browser.post("/study/bread/answer", {"question": "1", "act": "keep", **form})
    assert marks(browser) == [expected]


@pytest.mark.parametrize(
    ("way", "form"),
    [
        ("best", {}),
        ("best-worst", {"best": "1"}),
        ("best-worst", {"best": "1", "worst": "1"}),
        ("ranking", {"order": ""}),
        ("ranking", {"place": ["", "", ""]}),
    ],
)
def test_too_little_is_no_answer(serve: Callable[..., Browser], way: str, form: dict[str, str]) -> None:
    browser = study_of(serve, answer=way)
    browser.get("/study/bread")
    page = browser.post("/study/bread/answer", {"question": "1", "act": "keep", **form}, part=True)
    assert "or skip" in page.text
    assert marks(browser) == []


def test_the_interface_takes_every_way_and_gives_it_back(serve: Callable[..., Browser]) -> None:
    browser = study_of(serve, answer="ranking")
    call = browser.client
    assert call.get(API).json()["answer"] == "ranking"
    for said in ({"ranking": [2, [0, 1]]}, {"best": 1}, {"best": 1, "worst": 2}, {"kept": [0, 1]}):
        number = call.get(f"{API}/question", params={"wait": 5}).json()["number"]
        told = call.post(f"{API}/questions/{number}/answer", json=said)
        assert told.status_code == 200, told.text
        assert told.json()["marks"] == (None if "kept" in said else said)
    number = call.get(f"{API}/question", params={"wait": 5}).json()["number"]
    for wrong in (
        {},
        {"kept": [0], "best": 0},
        {"worst": 0},
        {"best": 0, "worst": 0},
        {"ranking": [0, 0]},
        {"best": 9},
    ):
        assert 400 <= call.post(f"{API}/questions/{number}/answer", json=wrong).status_code < 500, wrong


def test_another_answer_can_be_given_in_the_way_of_the_study(serve: Callable[..., Browser]) -> None:
    browser = study_of(serve, answer="best-worst")
    browser.get("/study/bread")
    browser.post("/study/bread/answer", {"question": "1", "act": "keep", "best": "1", "worst": "0"})
    page = browser.get("/study/bread/answers/2/change")
    assert page.text.count("checked") == 2
    browser.post("/study/bread/answers/2/change", {"best": "2", "worst": "0"})
    assert marks(browser)[-1] == {"best": 2, "worst": 0}
    latest = browser.client.get(f"{API}/history").json()[-1]["id"]
    page = browser.post(f"/study/bread/answers/{latest}/change", {"best": "2"})
    assert "two different ones" in page.text


def test_the_set_up_form_offers_the_ways(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/new")
    row = {"p-kind": "integer", "p-name": "minutes", "p-low": "5", "p-high": "40"}
    browser.post("/studies/new", {"act": "create", "name": "rolls", "answer": "pair", "likelihood": "choice", **row})
    with Study.open(browser.url, "rolls") as study:
        assert (study.answer, study.settings["query_size"], study.question) == (
            "pair",
            2,
            "Which of these two is better?",
        )
    page = browser.post(
        "/studies/new", {"act": "create", "name": "buns", "answer": "subset", "likelihood": "batch_preference", **row}
    )
    assert "learns from one winner" in page.text
    noticed = {"answer": "pair", "likelihood": "noticeable_difference", "act": "create", **row}
    page = browser.post("/studies/new", {**noticed, "name": "cakes", "threshold": "-1"})
    assert 'id="field-threshold" aria-describedby="error-threshold" aria-invalid="true"' in page.text
    browser.post("/studies/new", {**noticed, "name": "cakes", "threshold": "0.7"})
    with Study.open(browser.url, "cakes") as study:
        assert (study.settings["likelihood"], study.settings["threshold"]) == ("noticeable_difference", 0.7)
