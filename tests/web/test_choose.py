from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from choicebo.study import Study

from .web_helpers import Browser, bread


def test_the_page_shows_the_question_and_as_many_cards_as_options(browser: Browser) -> None:
    page = browser.get("/study/bread")
    assert page.text.count('name="kept"') == 4
    assert "Keep every one that no other beats; several may stay." in page.text
    assert "min" in page.text


def test_a_plain_form_stores_the_answer_and_leads_to_the_next_question(browser: Browser) -> None:
    browser.get("/study/bread")
    assert browser.field("question") == "1"
    browser.answer([0, 2])
    assert browser.field("question") == "2"
    past = browser.study.history()
    assert [(act.kept, act.rater) for act in past] == [((0, 2), "owner")]


def test_the_same_answer_sent_twice_is_one_answer(browser: Browser) -> None:
    browser.get("/study/bread")
    first = {"form_token": browser.field("form_token"), "question": "1", "kept": ["1"], "act": "keep"}
    for _ in range(2):
        assert browser.client.post("/study/bread/answer", data=first).status_code == 200
    assert browser.study.n_answers == 1


def test_another_answer_from_a_second_window_does_not_replace_the_first(browser: Browser) -> None:
    browser.get("/study/bread")
    token = browser.field("form_token")
    for kept in ("1", "2"):
        data = {"form_token": token, "question": "1", "kept": kept, "act": "keep"}
        shown = browser.client.post("/study/bread/answer", data=data)
    assert "answered already" in shown.text
    assert [act.kept for act in browser.study.history()] == [(1,)]


def test_keeping_nothing_by_accident_stores_nothing(browser: Browser) -> None:
    browser.get("/study/bread")
    shown = browser.answer([])
    assert "Nothing is marked yet" in shown.text
    assert browser.study.history() == ()


def test_none_of_these_is_offered_only_with_a_baseline(serve: Callable[..., Browser]) -> None:
    browser = serve()
    Study.create(browser.url, **bread(baseline={"minutes": 20, "flour": "rye"})).close()
    page = browser.get("/study/bread")
    assert 'value="none"' in page.text
    assert "What you have today" in page.text
    browser.answer([], act="none")
    assert browser.study.history()[0].kind == "answer"


def test_none_of_these_without_a_baseline_is_refused(browser: Browser) -> None:
    assert 'value="none"' not in browser.get("/study/bread").text
    assert browser.answer([], act="none").status_code == 400


def test_skip_and_undo_bring_the_question_back(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.answer([], act="skip")
    assert browser.field("question") == "2"
    browser.post("/study/bread/undo", {"latest": browser.field("latest")})
    assert browser.field("question") == "1"


def test_undo_shows_what_had_been_kept(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.answer([1, 3], part=True)
    shown = browser.post("/study/bread/undo", {"latest": browser.field("latest")}, part=True)
    marked = re.findall(r'value="(\d)" aria-label="[^"]*" checked', shown.text)
    assert marked == ["1", "3"]


def test_an_undo_that_is_sent_twice_takes_back_one_answer(browser: Browser) -> None:
    browser.get("/study/bread")
    for _ in range(2):
        browser.answer([0])
    data = {"form_token": browser.field("form_token"), "latest": browser.field("latest")}
    for _ in range(2):
        assert browser.client.post("/study/bread/undo", data=data).status_code == 200
    assert browser.study.n_answers == 1


def at_once(work: Callable[[], Any], times: int) -> None:
    """Do something in several threads at the same moment."""
    ready = threading.Barrier(times)

    def run() -> None:
        ready.wait()
        work()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_an_undo_that_arrives_twice_at_once_takes_back_one_answer(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser.get("/study/bread")
    for _ in range(6):
        browser.answer([0])
    token = browser.field("form_token")
    undo, together = Study.undo, threading.Barrier(4)

    def after_all_have_looked(*arguments: Any, **options: Any) -> Any:
        together.wait(10)
        return undo(*arguments, **options)

    monkeypatch.setattr(Study, "undo", after_all_have_looked)
    for expected in (5, 4, 3, 2):
        data = {"form_token": token, "latest": str(browser.study.latest()[0].id)}
        at_once(lambda data=data: browser.client.post("/study/bread/undo", data=data), 4)  # type: ignore[misc]
        assert browser.study.n_answers == expected


def test_an_undo_of_the_api_that_says_what_it_takes_back_takes_back_one(browser: Browser) -> None:
    browser.get("/study/bread")
    for _ in range(3):
        browser.answer([0])
    latest = browser.study.latest()[0].id
    told = [browser.client.post("/api/v1/studies/bread/undo", params={"latest": latest}) for _ in range(3)]
    assert [[past["id"] for past in each.json()] for each in told] == [[latest], [], []]
    assert browser.study.n_answers == 2


def test_retract_restore_and_correct_that_arrive_several_times_at_once_are_one_event(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.answer([0])
    [answer] = browser.study.history()
    root = "/api/v1/studies/bread"
    calls = [
        (f"{root}/answers/{answer.id}/retract", None),
        (f"{root}/answers/{answer.id}/restore", None),
        (f"{root}/questions/1/answer", {"kept": [1], "correction": True}),
        (f"{root}/questions/1/answer", {"kept": [2], "correction": True}),
    ]
    before = len(json.loads(browser.study.export_json())["log"])
    for number, (path, body) in enumerate(calls, start=1):
        at_once(lambda path=path, body=body: browser.client.post(path, json=body), 4)  # type: ignore[misc]
        assert len(json.loads(browser.study.export_json())["log"]) == before + number


@pytest.mark.parametrize("bad", [{"question": "x"}, {"kept": "x"}, {"kept": "9"}, {"question": "77"}, {"seconds": "x"}])
def test_a_malformed_answer_is_refused_in_a_sentence(browser: Browser, bad: dict[str, str]) -> None:
    browser.get("/study/bread")
    shown = browser.post("/study/bread/answer", {"question": "1", "kept": "0", "act": "keep", **bad})
    assert shown.status_code == 400
    assert browser.study.n_answers == 0


def test_the_time_that_the_person_took_is_stored(browser: Browser) -> None:
    browser.get("/study/bread")
    browser.post("/study/bread/answer", {"question": "1", "kept": "0", "act": "keep", "seconds": "4.2"})
    assert browser.study.history()[0].seconds == pytest.approx(4.2)


class SlowPool(ThreadPoolExecutor):
    """Computes only when it is let."""

    def __init__(self) -> None:
        super().__init__(1)
        self.go = threading.Event()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        def wait() -> Any:
            assert self.go.wait(30)
            return fn(*args, **kwargs)

        return super().submit(wait)


def test_while_the_question_is_computed_the_page_says_so_and_events_tell_when_it_is_there(
    serve: Callable[..., Browser],
) -> None:
    pool = SlowPool()
    browser = serve(pool=pool, patience=0)
    Study.create(browser.url, **bread()).close()
    page = browser.client.get("/study/bread")
    assert "Thinking about what to ask next" in page.text
    assert page.text.count('class="card-face"') == 4  # room for what is to come, so that nothing moves
    assert 'name="kept"' not in page.text
    assert 'http-equiv="refresh"' in page.text
    assert browser.get("/study/bread/history").status_code == 200
    threading.Timer(1.2, pool.go.set).start()
    events = browser.client.get("/study/bread/events").text
    assert events.startswith("event: thinking")
    assert events.endswith("event: ready\ndata: {}\n\n")
    assert 'data-question="1"' in browser.get("/study/bread/stage").text


def test_a_failed_computation_is_told_without_its_details(serve: Callable[..., Browser]) -> None:
    class Broken(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return super().submit(lambda: 1 / 0)

    browser = serve(pool=Broken(1), patience=0)
    Study.create(browser.url, **bread()).close()
    events = browser.client.get("/study/bread/events").text
    assert "event: failed" in events
    assert "division" not in events
    page = browser.client.get("/study/bread")
    assert page.status_code == 500
    assert "Traceback" not in page.text


def test_the_first_page_weighs_less_than_150_kilobytes(drawn: Browser) -> None:
    page = drawn.get("/study/bread")
    found = set(re.findall(r'(?:src|href)="(/static/[^"]+|/study/bread/drawing[^"]+)"', page.text))
    assert len(found) == 10
    weights = [len(drawn.client.get(address.replace("&amp;", "&")).content) for address in found]
    assert sum(weights) + len(page.content) < 150_000


def test_scripts_and_styles_are_sent_compressed_and_pages_with_their_secret_are_not(browser: Browser) -> None:
    page = browser.get("/study/bread")
    assert "content-encoding" not in page.headers
    for address in re.findall(r'(?:src|href)="(/static/[^"]+(?:js|css)\?[^"]+)"', page.text):
        found = browser.client.get(address)
        assert found.headers["content-encoding"] == "gzip"
        assert int(found.headers["content-length"]) < len(found.content) / 2


def test_drawings_are_filled_in_and_cannot_run_anything(drawn: Browser) -> None:
    option = json.dumps({"minutes": 12, "flour": "rye"})
    found = drawn.get("/study/bread/drawing.svg", params={"option": option})
    assert '<rect width="12"' in found.text
    assert "sandbox" in found.headers["content-security-policy"]
    assert re.findall(r"<img [^>]*>", drawn.get("/study/bread").text)


@pytest.mark.parametrize("option", ["x", "[]", '{"minutes": 12}', '{"minutes": 99, "flour": "rye"}'])
def test_only_options_of_the_study_are_drawn(drawn: Browser, option: str) -> None:
    assert drawn.get("/study/bread/drawing.svg", params={"option": option}).status_code == 400
