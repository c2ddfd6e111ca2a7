"""Measured objectives on the page and in the API: entered, corrected, withdrawn, and shown where they are known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import choicebo as cb
from choicebo.study import Study

from .web_helpers import TOKEN, Browser, bread

API = "/api/v1/studies/bread/measurements"
PAGE = "/study/bread/measurements"
SPACE = cb.Space(
    [cb.Integer("minutes", 5, 40)], objectives=["minimise cost = measured", "maximise shelf life = measured"]
)


def measured(browser: Browser) -> list[tuple[Any, str, float]]:
    with browser.study as study:
        return [(each.option, each.name, each.value) for each in study.measurements()]


def started(serve: Callable[..., Browser], *arguments: Any) -> Browser:
    browser = serve(*arguments)
    with Study.create(browser.url, **bread(space=SPACE)) as study:
        question = study.ask()
        study.tell(question, [0])
    return browser


def test_the_api_enters_lists_and_withdraws(serve: Callable[..., Browser]) -> None:
    browser = started(serve)
    call, loaf = browser.client, {"minutes": 12}
    stored = call.post(API, json={"option": loaf, "values": {"cost": 12.5, "shelf life": 3}})
    assert stored.status_code == 200
    assert [(each["name"], each["value"], each["rater"]) for each in stored.json()] == [
        ("cost", 12.5, "owner"),
        ("shelf life", 3.0, "owner"),
    ]
    call.post(API, json={"option": loaf, "values": {"cost": 13}})
    assert call.get(API).json() == call.get(API).json()
    assert measured(browser) == [(loaf, "shelf life", 3.0), (loaf, "cost", 13.0)]
    assert call.request("DELETE", API, json={"option": loaf, "names": ["cost"]}).status_code == 200
    assert measured(browser) == [(loaf, "shelf life", 3.0)]
    assert call.request("DELETE", API, json={"option": loaf}).json() == []


def test_what_makes_no_sense_is_refused_in_a_sentence(serve: Callable[..., Browser]) -> None:
    browser = started(serve)
    for sent, said in (
        ({"option": {"minutes": 12}, "values": {"cots": 1}}, "Did you mean 'cost'?"),
        ({"option": {"minutes": 99}, "values": {"cost": 1}}, "accepted is 5 to 40"),
        ({"option": {"minutes": 12}, "values": {"cost": 1e301}}, "give a finite number"),
    ):
        refused = browser.client.post(API, json=sent)
        assert refused.status_code == 400
        assert said in refused.json()["error"]
    for sent in ({"option": {"minutes": 12}, "values": {}}, {"option": {"minutes": 12}, "values": {"cost": "many"}}):
        assert browser.client.post(API, json=sent).status_code == 422
    assert measured(browser) == []


def test_the_page_enters_and_withdraws_without_a_script(serve: Callable[..., Browser]) -> None:
    browser = started(serve)
    page = browser.get(PAGE).text
    key, words = re.findall(r'<option value="(\w+)">([^<]+)</option>', page)[0]
    stored = browser.post(PAGE, {"option": key, "value0": " 12,5 ", "value1": ""})
    assert "Stored." in stored.text
    [(option, name, value)] = measured(browser)
    assert (f"minutes {option['minutes']}", name, value) == (words, "cost", 12.5)
    assert f'Withdraw<span class="sr"> cost of {words}</span>' in stored.text
    assert "Withdrawn." in browser.post(PAGE, {"option": key, "withdraw": "cost"}).text
    assert measured(browser) == []


def test_the_page_keeps_what_was_typed_when_it_is_refused(serve: Callable[..., Browser]) -> None:
    browser = started(serve)
    key = re.findall(r'<option value="(\w+)">', browser.get(PAGE).text)[0]
    for typed, said in (
        ({"option": key, "value0": "cheap"}, "cost is &#39;cheap&#39;"),
        ({"option": key, "value0": ""}, "Nothing was entered"),
        ({"option": "gone", "value0": "1"}, "Choose the option"),
    ):
        refused = browser.post(PAGE, typed)
        assert refused.status_code == 400
        assert said in refused.text
        assert f'value="{typed["value0"]}"' in refused.text
    assert measured(browser) == []


def test_the_question_shows_what_was_measured(serve: Callable[..., Browser]) -> None:
    browser = started(serve)
    with browser.study as study:
        question = study.ask()
        assert "cost" not in browser.get("/study/bread").text
        study.measure(question.options[1], cost=12.25)
    page = browser.get("/study/bread").text
    assert "12.25" in page


def test_only_the_owner_enters_measurements(serve: Callable[..., Browser]) -> None:
    browser = started(serve, TOKEN)
    with browser.study as study:
        headers = {"Authorization": f"Bearer {study.add_rater('Ann')}"}
    sent = {"option": {"minutes": 12}, "values": {"cost": 1}}
    assert browser.client.post(API, json=sent, headers=headers).status_code == 401
    assert browser.client.get(API, headers=headers).status_code == 401
    assert measured(browser) == []


def test_a_study_without_measured_objectives_has_no_such_page(browser: Browser) -> None:
    assert browser.get(PAGE).status_code == 404
    assert "Enter a measurement" not in browser.get("/study/bread/result").text


def test_the_form_declares_what_is_measured(browser: Browser) -> None:
    browser.get("/studies/new")
    form = {"name": "loaf", "p-kind": "real", "p-name": "flour", "p-low": "1", "p-high": "5", "acquisition": "sobol"}
    browser.post("/studies/new", {**form, "act": "create", "objectives": "minimise cost"})
    with Study.open(browser.url, "loaf") as study:
        assert [objective.measured for objective in study.space.objectives] == [True]
