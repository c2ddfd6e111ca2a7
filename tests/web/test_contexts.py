"""Contexts near the question, above the result, in the form and in the API."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import choicebo as cb
from choicebo.study import Study

from .web_helpers import Browser

SPACE = cb.Space(
    [cb.Integer("minutes", 5, 40), cb.Context("season", ["summer", "winter"]), cb.Context("temperature", -10, 35)]
)
WINTER = {"season": "winter", "temperature": -3.5}


@pytest.fixture
def browser(serve: Callable[..., Browser]) -> Browser:
    found = serve()
    settings: dict[str, Any] = {"engine": "laplace", "latent_dim": 1, "query_size": 4, "initial_queries": 3}
    Study.create(found.url, "bread", SPACE, baseline={"minutes": 20}, **settings).close()
    return found


def seasons(options: list[dict[str, Any]]) -> set[str]:
    return {option["season"] for option in options}


def test_the_page_asks_in_the_first_context_and_in_another_that_is_chosen(browser: Browser) -> None:
    page = browser.get("/study/bread")
    assert '<option value="summer" selected>summer</option>' in page.text
    assert re.search(r'type="number" name="context-1" min="-10" max="35" step="any" value="12.5"', page.text)
    first = browser.field("question")
    assert seasons(browser.study.ask().options) == {"summer"}
    page = browser.post("/study/bread/context", {"context-0": "winter", "context-1": "-3.5"})
    assert '<option value="winter" selected>winter</option>' in page.text
    assert browser.field("question") != first
    assert browser.study.context() == WINTER
    assert seasons(browser.study.ask().options) == {"winter"}
    browser.answer([0])
    assert browser.study.ask().context == WINTER
    browser.post("/study/bread/context", {"context-0": "summer", "context-1": "12.5"})
    assert browser.field("question") == first


def test_a_context_that_cannot_be_is_refused_in_a_sentence(browser: Browser) -> None:
    browser.get("/study/bread")
    page = browser.post("/study/bread/context", {"context-0": "winter", "context-1": "99"})
    assert page.status_code == 400
    assert "accepted is -10 to 35" in page.text
    assert browser.study.context()["season"] == "summer"


def test_a_context_is_no_property_to_lock_and_no_part_of_an_own_option(browser: Browser) -> None:
    browser.get("/study/bread")
    page = browser.get("/study/bread/steering")
    assert "minutes" in page.text
    assert "temperature" not in page.text
    browser.post("/study/bread/context", {"context-0": "winter", "context-1": "-3.5"})
    browser.get("/study/bread/steering")
    browser.post("/study/bread/steering", {"own": "1", "own-0": "33", "act": "save"})
    study = browser.study
    study.skip(study.ask())
    assert {"minutes": 33, **WINTER} in study.ask().options


def answered(browser: Browser) -> None:
    with browser.study as study:
        for number in range(4):
            context = WINTER if number % 2 else {"season": "summer", "temperature": 25}
            question = study.ask(context=context)
            minutes = [option["minutes"] for option in question.options]
            study.tell(question, [minutes.index(max(minutes) if context == WINTER else min(minutes))])
        study.posterior()


def test_the_result_is_of_the_context_in_the_address_or_of_the_latest_answer(browser: Browser) -> None:
    answered(browser)
    for address, season in (("", "winter"), ("?context-0=summer&context-1=25", "summer")):
        browser.client.get(f"/study/bread/result/events{address}")
        page = browser.client.get(f"/study/bread/result{address}")
        assert f'<option value="{season}" selected>' in page.text
        shown = re.findall(r"<dt>season</dt>\s*<dd[^>]*>\s*<span[^>]*>(\w+)", page.text)
        assert shown
        assert set(shown) == {season}
        assert ('name="context-0" value="summer"' in page.text) == bool(address)  # other forms stay in it
        table = browser.client.get(f"/study/bread/download/pareto.csv{address}").text
        assert f",{season}," in table
        report = browser.client.get(f"/study/bread/download/report.html{address}").text
        assert f"season {season}" in report
    tried = browser.client.get("/study/bread/result/try?context-0=summer&context-1=25&try-0=12")
    assert "likely" in tried.text
    assert browser.client.get("/study/bread/result?context-0=autumn&context-1=25").status_code == 400


def test_a_context_in_which_nothing_known_may_be_offered_has_a_result_that_says_so(
    serve: Callable[..., Browser],
) -> None:
    browser = serve()
    rules = ["not (season == 'winter' and ice > 1)", "not (season == 'summer' and ice < 2)"]
    space = cb.Space([cb.Real("ice", 0, 10), cb.Context("season", ["summer", "winter"])], constraints=rules)
    with Study.create(browser.url, "bread", space, engine="laplace", latent_dim=1, initial_queries=2) as study:
        for _ in range(3):
            study.tell(study.ask(context={"season": "summer"}), [0])
        assert study.result(context={"season": "winter"}).points == ()
        assert study.status(context={"season": "winter"}).advice is None
    browser.client.get("/study/bread/result/events?context-0=winter")
    page = browser.client.get("/study/bread/result?context-0=winter")
    assert "Nothing seen so far can be offered in this context" in page.text
    assert browser.client.get("/study/bread/download/report.html?context-0=winter").status_code == 200


def test_other_clients_give_and_read_contexts(browser: Browser) -> None:
    api = "/api/v1/studies/bread"
    asked = browser.client.get(f"{api}/question?wait=30").json()
    assert asked["context"] == {"season": "summer", "temperature": 12.5}
    asked = browser.client.get(f"{api}/question?wait=30&context=season%3Dwinter&context=temperature%3D-3.5").json()
    assert asked["context"] == WINTER
    assert seasons(asked["options"]) == {"winter"}
    assert browser.client.get(f"{api}/wishes").json()["context"] == WINTER
    sent = browser.client.post(f"{api}/wishes", json={"context": {"season": "summer", "temperature": 3}}).json()
    assert sent["context"] == {"season": "summer", "temperature": 3.0}
    refused = browser.client.get(f"{api}/question?context=season%3Dwinter")
    assert refused.status_code == 400
    assert "'temperature' is missing" in refused.json()["error"]
    answered(browser)
    for season in ("summer", "winter"):
        found = browser.client.get(f"{api}/result?wait=60&context=season%3D{season}&context=temperature%3D3").json()
        assert found["context"] == {"season": season, "temperature": 3.0}
        assert seasons([each["option"] for each in found["pareto_set"]]) == {season}


def test_the_form_says_what_is_given_by_the_situation(browser: Browser) -> None:
    browser.get("/studies/new")
    rows = {
        "p-kind": ["real", "categorical"],
        "p-name": ["sugar", "season"],
        "p-low": ["0", ""],
        "p-high": ["10", ""],
        "p-values": ["", "summer, winter"],
        "p-today": ["5", ""],
        "p-context": ["1"],
    }
    page = browser.post("/studies/new", {**rows, "name": "drinks", "act": "add"})
    assert page.text.count("checked") == 1
    page = browser.post("/studies/new", {**rows, "name": "drinks", "acquisition": "sobol", "act": "create"})
    assert page.status_code == 200, page.text
    with Study.open(browser.url, "drinks") as study:
        assert [parameter.name for parameter in study.space.contexts] == ["season"]
        assert study.baseline is not None
        assert study.baseline["sugar"] == 5.0
