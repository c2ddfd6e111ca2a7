"""Nobody waits long for the model: a question without it is asked meanwhile, and the model's is not lost."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import choicebo as cb
from choicebo.errors import InvalidInputError
from choicebo.optimizer import situation as compute
from choicebo.serving.scheduler import Scheduler
from choicebo.study import Study
from choicebo.web.server_settings import ServerSettings

from . import fake_model
from .web_helpers import Browser, bread

SOON = 0.2
NEVER = 600.0


class PatientPool(ThreadPoolExecutor):
    """Computes when it is let, and counts what it was asked for."""

    def __init__(self) -> None:
        super().__init__(1)
        self.go = threading.Event()
        self.asked: list[Any] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        def wait() -> Any:
            assert self.go.wait(60)
            return fn(*args, **kwargs)

        self.asked.append((fn.__name__, args[0]))
        return super().submit(wait)

    @property
    def questions(self) -> list[Any]:
        """The situations for which the model's question was computed."""
        return [situation for name, situation in self.asked if name == "next_question"]


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[PatientPool]:
    monkeypatch.setattr(compute, "next_question", fake_model.next_question)
    found = PatientPool()
    yield found
    found.go.set()


@pytest.fixture
def known(serve: Callable[..., Browser], pool: PatientPool) -> Callable[..., Browser]:
    """Starts servers over a study that has got past its beginning: the next question takes the model."""

    def start(**settings: Any) -> Browser:
        browser = serve(pool=pool, **{"patience": SOON, **settings})
        if not Path(browser.url).exists():
            # So many options that two questions hardly ever share one by chance.
            space = cb.Space([cb.Integer("minutes", 5, 4000), cb.Categorical("flour", ["rye", "wheat", "spelt"])])
            study = Study.create(browser.url, **bread(space=space, acquisition="default", initial_queries=2))
            for _ in range(2):
                study.tell(study.ask(stand_in=True), [0])
            study.close()
        return browser

    return start


def scheduler(browser: Browser) -> Scheduler:
    found: Scheduler = browser.client.app.state.server.scheduler  # type: ignore[attr-defined]
    return found


def model_is_done(browser: Browser) -> None:
    """Wait until nothing is being computed."""
    for job in list(scheduler(browser)._jobs.values()):
        job.future.exception(timeout=60)


def test_after_a_while_a_question_without_the_model_is_asked_and_says_so(known: Callable[..., Browser]) -> None:
    browser = known()
    page = browser.client.get("/study/bread")
    if "data-thinking" in page.text:
        assert browser.client.get("/study/bread/events").text.endswith("event: ready\ndata: {}\n\n")
    page = browser.get("/study/bread")
    assert page.text.count('name="kept"') == 4
    assert (
        "The model had not finished with the last answers when this was asked, so these were chosen without it: options "
        "from parts not seen yet" in page.text
    )
    (asked,) = browser.study.questions(open_only=True)
    assert (asked.number, asked.strategy, asked.latent_dim, sum(asked.new)) == (3, "stand-in", None, 2)


def test_the_page_that_waits_hears_of_the_stand_in_without_being_loaded_again(known: Callable[..., Browser]) -> None:
    browser = known(patience=1.5)
    page = browser.client.get("/study/bread")
    assert 'data-thinking="/study/bread/events"' in page.text
    assert 'http-equiv="refresh"' in page.text  # the way without scripts
    events = browser.client.get("/study/bread/events").text
    assert events.startswith("event: thinking")
    assert events.endswith("event: ready\ndata: {}\n\n")
    assert 'data-question="3"' in browser.client.get("/study/bread/stage").text


def test_the_question_of_the_model_is_used_next_and_computed_once(
    known: Callable[..., Browser], pool: PatientPool
) -> None:
    browser = known()
    browser.get("/study/bread")
    pool.go.set()
    model_is_done(browser)
    pool.go.clear()  # from here on the model is busy for ever
    computed = pool.questions[0]
    assert pool.questions.count(computed) == 1
    browser.answer([1])
    assert "The model wants to know." in browser.page.text
    asked = browser.study.get_question(4)
    assert asked.strategy == fake_model.NAME
    assert asked.options == fake_model.next_question(computed)[0].options
    browser.answer([1])
    assert browser.study.get_question(5).strategy == "stand-in"  # and not the same once more


def test_once_the_model_is_quick_its_questions_are_of_the_latest_answers(
    known: Callable[..., Browser], pool: PatientPool
) -> None:
    browser = known()
    browser.get("/study/bread")
    pool.go.set()
    scheduler(browser).patience = NEVER
    for number in (4, 5):
        model_is_done(browser)
        browser.answer([1])
        assert browser.study.get_question(number).strategy == fake_model.NAME
        assert pool.questions[-1].n_answers >= number - 1


def test_nobody_waits_twice_for_the_same_thought_and_it_is_not_begun_twice(
    known: Callable[..., Browser], pool: PatientPool
) -> None:
    browser = known()
    browser.get("/study/bread")
    scheduler(browser).patience = NEVER
    for number in (4, 5):
        browser.answer([0])
        assert browser.field("question") == str(number)
    assert [question.strategy for question in browser.study.questions()[2:]] == ["stand-in"] * 3
    assert len(pool.questions) == 1


def test_without_patience_the_model_is_waited_for(known: Callable[..., Browser], pool: PatientPool) -> None:
    browser = known(patience=0)
    threading.Timer(1.5, pool.go.set).start()
    assert "Thinking about what to ask next" in browser.client.get("/study/bread").text
    browser.get("/study/bread")
    assert [question.strategy for question in browser.study.questions()[2:]] == [fake_model.NAME]


def test_after_a_restart_the_stand_in_is_still_the_question_and_the_model_follows(
    known: Callable[..., Browser], pool: PatientPool
) -> None:
    before = known()
    shown = re.findall(r'aria-label="Option[^"]+"', before.get("/study/bread").text)
    assert len(shown) == 4
    after = known(patience=NEVER)
    assert re.findall(r'aria-label="Option[^"]+"', after.get("/study/bread").text) == shown
    pool.go.set()
    after.answer([2])
    assert after.study.get_question(4).strategy == fake_model.NAME
    assert [act.kept for act in after.study.history()] == [(0,), (0,), (2,)]


def test_two_tabs_get_the_same_question(known: Callable[..., Browser]) -> None:
    browser = known()
    with ThreadPoolExecutor(8) as threads:
        pages = list(
            threads.map(lambda _: browser.client.get("/api/v1/studies/bread/question?wait=30").json(), range(8))
        )
    assert {page["number"] for page in pages} == {3}
    assert len(browser.study.questions()) == 3


def test_two_servers_give_one_rater_one_question(known: Callable[..., Browser]) -> None:
    browsers = [known() for _ in range(2)]
    with ThreadPoolExecutor(8) as threads:
        asked = threads.map(
            lambda n: browsers[n % 2].client.get("/api/v1/studies/bread/question?wait=30").json()["options"], range(8)
        )
        first, *others = asked
    assert others == [first] * 7
    assert len(browsers[0].study.questions()) == 3


def test_raters_who_begin_at_once_get_different_questions_without_waiting(known: Callable[..., Browser]) -> None:
    browser = known()
    study = browser.client.app.state.server.study("bread")  # type: ignore[attr-defined]
    names = ["ann", "bob", "cem"]
    for name in names:
        study.add_rater(name)
    asked = [job.result(timeout=60) for job in [scheduler(browser).begin_question(study, name) for name in names]]
    new = [str(o) for q in asked for o, is_new in zip(q.options, q.new, strict=True) if is_new]
    assert {question.strategy for question in asked} == {"sobol"}
    assert len(set(new)) == len(new) == 9


def test_the_beginning_does_not_wait_for_those_who_compute(serve: Callable[..., Browser], pool: PatientPool) -> None:
    browser = serve(pool=pool, patience=NEVER)
    Study.create(browser.url, **bread(acquisition="default")).close()
    browser.get("/study/bread")
    browser.answer([0])
    assert [question.strategy for question in browser.study.questions()] == ["sobol", "sobol"]


def test_undo_during_the_thought_brings_the_earlier_question_back(known: Callable[..., Browser]) -> None:
    browser = known()
    browser.get("/study/bread")
    browser.answer([1])
    browser.post("/study/bread/undo", {"latest": browser.field("latest")})
    assert browser.field("question") == "3"
    assert browser.study.n_answers == 2


def test_a_model_that_fails_is_told_to_who_waits(
    known: Callable[..., Browser], pool: PatientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_question(*_: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(compute, "next_question", next_question)
    pool.go.set()
    browser = known(patience=NEVER)
    found = browser.client.get("/api/v1/studies/bread/question?wait=30")
    assert found.status_code == 500
    assert "secret" not in found.text


def test_the_look_at_the_hidden_objectives_is_begun_when_the_question_is_handed_out(
    serve: Callable[..., Browser], pool: PatientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = {"answers": 8, "latent_dim": 3, "reason": "so", "used_from": 9}

    def find(*_: Any) -> dict[str, Any]:
        return look

    find.__name__ = "look"
    monkeypatch.setattr(compute, "look", find)
    pool.go.set()
    browser = serve(pool=pool, patience=NEVER)
    with Study.create(browser.url, **bread(acquisition="default", initial_queries=2)) as study:
        for _ in range(8):
            study.tell(study.ask(stand_in=True), [0])
    browser.get("/study/bread")
    assert [name for name, _ in pool.asked] == ["next_question", "look"]
    browser.answer([0])
    assert [name for name, _ in pool.asked] == ["next_question", "look", "next_question"]
    assert [situation.looks for situation in pool.questions] == [(), (look,)]
    assert [question.looks for question in browser.study.questions()][-2:] == [(), (look,)]


@pytest.mark.parametrize("patience", [-1.0, float("nan"), float("inf")])
def test_patience_is_a_number_of_seconds(patience: float) -> None:
    with pytest.raises(InvalidInputError, match="patience"):
        ServerSettings("bread.db", patience=patience)


def test_the_model_is_said_to_be_learning_only_while_it_is(known: Callable[..., Browser], pool: PatientPool) -> None:
    browser = known()
    browser.get("/study/bread")
    told = browser.client.get("/study/bread/progress").text
    assert "the model is learning from them now" in told
    assert 'hx-trigger="load delay:3s"' in told  # the page looks again
    pool.go.set()
    model_is_done(browser)
    told = browser.client.get("/study/bread/progress").text
    assert "learning" not in told
    assert "delay:3s" not in told  # nothing is on its way; what this pool computed is not kept
    assert "still" not in browser.study.questions()[-1].reason  # what is stored stays true
