"""Wishes for the next question, clashing answers, and changing an answer: pages and API."""

from __future__ import annotations

from typing import Any

import pytest

from choicebo.study import Status, Study, Surprise

from .web_helpers import Browser


def test_a_property_is_locked_and_set_free_without_scripts(browser: Browser) -> None:
    browser.get("/study/bread")
    assert 'href="/study/bread/steering"' in browser.page.text
    page = browser.get("/study/bread/steering")
    assert "Steer the next question" in page.text
    question = browser.field("question")
    page = browser.post("/study/bread/steering", {"question": question, "lock-1": "rye", "like": "", "act": "save"})
    assert dict(browser.study.wishes().locked) == {"flour": "rye"}
    study = browser.study
    study.skip(study.ask())
    browser.get("/study/bread")
    assert {option["flour"] for option in study.ask().options} == {"rye"}
    browser.get("/study/bread/steering")
    assert "flour rye" in browser.page.text
    browser.post("/study/bread/steering", {"act": "clear"})
    assert not study.wishes()


def test_more_like_one_and_an_own_option_come_in_the_next_question(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.get("/study/bread/steering")
    first = browser.study.ask()
    own = {"own": "1", "own-0": "33", "own-1": "spelt"}
    part = browser.post(
        "/study/bread/steering", {"question": str(first.number), "like": "2", "act": "save", **own}, part=True
    )
    assert "with your own option" in part.text
    study = browser.study
    study.skip(first)
    options = study.ask().options
    assert {"minutes": 33, "flour": "spelt"} in options
    assert first.options[1] in options


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"own": "1", "own-0": "99", "own-1": "rye"}, "accepted is 5 to 40"),
        ({"own": "1", "own-0": "many", "own-1": "rye"}, "many"),
        ({"lock-0": "12", "lock-1": "rye"}, "nothing is left to vary"),
        ({"like": "9"}, "There is no option 9"),
    ],
)
def test_what_cannot_be_is_said_beside_the_form_with_what_was_written(
    browser: Browser, sent: dict[str, str], sentence: str
) -> None:
    browser.get("/study/bread")
    browser.get("/study/bread/steering")
    part = browser.post("/study/bread/steering", {"question": "1", "act": "save", **sent}, part=True)
    assert sentence in part.text
    assert 'role="alert"' in part.text
    if "own-0" in sent:
        assert f'value="{sent["own-0"]}"' in part.text
    assert not browser.study.wishes()


def test_the_api_takes_wishes(browser: Browser) -> None:
    address = "/api/v1/studies/bread/wishes"
    given = browser.client.post(address, json={"locked": {"flour": "rye"}}).json()
    assert given == {"locked": {"flour": "rye"}, "like": None, "include": [], "context": {}}
    mine = {"minutes": 7, "flour": "wheat"}
    browser.client.post(address, json={"include": [mine]})
    assert browser.client.get(address).json() == {
        "locked": {"flour": "rye"},
        "like": None,
        "include": [mine],
        "context": {},
    }
    refused = browser.client.post(address, json={"locked": {"flower": "rye"}})
    assert refused.status_code == 400
    assert "Did you mean 'flour'" in refused.json()["error"]


@pytest.fixture
def clashing(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """A study whose second answer clashes with its first."""
    study = browser.study
    for kept in ([0], [1], [2]):
        study.tell(study.ask(), kept)
    whole = Study.status

    def status(self: Study, **how: Any) -> Status:
        import dataclasses

        first, second, _ = self.history()
        found = Surprise(second, 0.004, (0,), 1, "Answer 2 is unlike your others.", first)
        return dataclasses.replace(whole(self, rater=how.get("rater"), insight=False), surprising=(found,))

    monkeypatch.setattr(Study, "status", status)
    monkeypatch.setattr(Study, "has_posterior", lambda self, rater=None: True)
    return browser


def test_two_answers_that_clash_stand_side_by_side_and_each_can_be_changed(clashing: Browser) -> None:
    page = clashing.get("/study/bread/history")
    assert "Answers that clash" in page.text
    first, second, _ = clashing.study.history()
    for past in (first, second):
        assert f"/study/bread/answers/{past.id}/change" in page.text
    page = clashing.get(f"/study/bread/answers/{second.id}/change")
    assert "question 2" in page.text
    empty = clashing.post(f"/study/bread/answers/{second.id}/change", {})
    assert "Nothing is marked" in empty.text
    clashing.post(f"/study/bread/answers/{second.id}/change", {"kept": ["0", "3"]})
    assert clashing.study.get_question(2).kept == (0, 3)
    assert clashing.get(f"/study/bread/answers/{second.id}/change").status_code == 404  # another stands in its place


def test_the_api_tells_of_clashes(clashing: Browser) -> None:
    (found,) = clashing.client.get("/api/v1/studies/bread/clashes", params={"wait": 30}).json()
    assert (found["past"]["question"], found["against"]["question"]) == (2, 1)
    assert found["probability"] == 0.004
