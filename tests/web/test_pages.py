"""History, result, raters, set-up: what the other pages promise."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from starlette.testclient import TestClient

import choicebo as cb
from choicebo import insight
from choicebo.formatting import percent
from choicebo.model.posterior import Posterior
from choicebo.optimizer import situation as compute
from choicebo.study import Point, Study, StudyResult, posterior_store
from choicebo.study.definition import Show
from choicebo.study.result import build_result
from choicebo.web import study_progress
from choicebo.web.app import create_app
from choicebo.web.pages import choose
from choicebo.web.pages.result import worth_a_card
from choicebo.web.server import Server
from choicebo.web.server_settings import ServerSettings
from choicebo.web.study_progress import Progress

from .web_helpers import Browser, bread

PNG = b"\x89PNG\r\n\x1a\n0000"
TABLE = "sku,name,price,photo\nA,Plain,3,pictures/a.png\nB,Rye,5,b.png\nC,Spelt,4,c.png\n"


def parameters(**extra: Any) -> dict[str, Any]:
    rows = {"p-name": ["minutes", "flour"], "p-kind": ["integer", "categorical"], "p-low": ["5", ""]}
    rows |= {"p-high": ["40", ""], "p-unit": ["min", ""], "p-scale": ["linear", "linear"], "p-today": ["", ""]}
    return {"name": "bread", "question": "Which?", **rows, "p-values": ["", "rye, wheat"], "act": "create", **extra}


def test_history_shows_answers_newest_first_and_retract_and_restore_work_without_scripts(browser: Browser) -> None:
    study = browser.study
    for kept in ([0], [1, 2], [3]):
        study.tell(study.ask(), kept)
    page = browser.get("/study/bread/history")
    assert page.text.index("Question 3") < page.text.index("Question 1")
    first = study.history()[0].id
    page = browser.post(f"/study/bread/answers/{first}/retract")
    assert "retracted" in page.text
    assert study.n_answers == 2
    browser.post(f"/study/bread/answers/{first}/restore")
    assert study.n_answers == 3


def test_what_was_undone_is_not_in_the_history_and_what_is_unknown_is_not_found(browser: Browser) -> None:
    study = browser.study
    study.tell(study.ask(), [0])
    study.undo()
    assert "Nothing yet" in browser.get("/study/bread/history").text
    browser.get("/studies/new")
    assert browser.post("/study/bread/answers/99/retract").status_code == 404


def test_without_answers_the_result_says_so(browser: Browser) -> None:
    assert "Nothing to show yet" in browser.get("/study/bread/result").text
    assert browser.get("/study/bread/download/report.html").status_code == 404


def test_downloads_are_files_that_read_back(browser: Browser, tmp_path: Path) -> None:
    study = browser.study
    study.tell(study.ask(), [0])
    found = browser.get("/study/bread/download/study.json")
    assert found.headers["content-disposition"] == 'attachment; filename="bread-study.json"'
    assert Study.import_json(tmp_path / "copy.db", found.text).n_answers == 1
    assert browser.get("/study/bread/download/answers.csv").text.startswith(study.export_csv("answers")[:20])
    assert browser.get("/study/bread/download/other.csv").status_code == 404


def test_a_study_is_created_in_the_browser_and_asks(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/new")
    page = browser.post("/studies/new", parameters(acquisition="sobol", query_size="3"))
    assert page.url.path == "/study/bread"
    assert browser.study.settings["query_size"] == 3
    assert browser.get("/study/bread").text.count('name="kept"') == 3


def test_a_baseline_and_rules_are_taken_from_the_form(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/new")
    given = parameters(constraints="minutes <= 20", **{"p-today": ["10", "rye"]})
    browser.post("/studies/new", given)
    assert browser.study.baseline == {"minutes": 10, "flour": "rye"}
    assert [rule.text for rule in browser.study.space.constraints] == ["minutes <= 20"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"p-low": ["x", ""]}, "From of &#39;minutes&#39;"),
        ({"p-low": ["50", ""]}, "is below From"),
        ({"constraints": "minutes >= 100"}, "minutes &gt;= 100"),
        ({"constraints": "minuts >= 10"}, "minuts"),
        (
            {"constraints": "baking minutes >= 10", "p-name": ["baking minutes", "flour"]},
            "Did you mean baking_minutes?",
        ),
        ({"p-low": ["40", ""]}, "are the same: give a range, or remove"),
        ({"p-values": ["", "rye"]}, "flour"),
        ({"p-today": ["10", "oat"]}, "oat"),
        ({"template": "<svg>{flours}</svg>"}, "Did you mean &#39;flour&#39;?"),
        ({"name": "taken"}, "already"),
    ],
)
def test_what_is_wrong_with_a_study_is_said_while_typing(
    serve: Callable[..., Browser], wrong: dict[str, Any], told: str
) -> None:
    browser = serve()
    Study.create(browser.url, **bread(name="taken")).close()
    browser.get("/studies/new")
    fine = browser.post("/studies/preview", parameters(), part=True)
    assert fine.text.count("<li>") == 5
    assert told in browser.post("/studies/preview", parameters(**wrong), part=True).text
    refused = browser.post("/studies/new", parameters(**wrong))
    assert refused.status_code == 400
    assert told in refused.text
    assert [info.name for info in Study.list(browser.url)] == ["taken"]


def test_parameters_are_added_and_removed_without_scripts_and_keep_what_was_typed(
    serve: Callable[..., Browser],
) -> None:
    browser = serve()
    browser.get("/studies/new")
    page = browser.post("/studies/new", parameters(act="add"))
    assert page.text.count('name="p-name"') == 3
    page = browser.post("/studies/new", parameters(act="remove-0"))
    assert page.text.count('name="p-name"') == 1
    assert 'value="rye, wheat"' in page.text


def test_a_table_with_images_becomes_a_study(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    files = [("table", ("menu.csv", TABLE, "text/csv"))]
    files += [("images", (f"{name}.png", io.BytesIO(PNG), "image/png")) for name in "abc"]  # type: ignore[arg-type]
    data = {"name": "bread", "label": "name", "image": "photo", "query_size": "2", "acquisition": "sobol"}
    seen = browser.post("/studies/catalogue", data, files=files, part=True)
    assert "3 options" in seen.text
    assert seen.text.count('<img src="data:image/png;base64,') == 3
    for _, (_, content, _) in files[1:]:
        content.seek(0)  # type: ignore[attr-defined]
    page = browser.post("/studies/catalogue", data, files=files)
    assert page.status_code == 200
    assert browser.get("/study/bread").text.count('src="/study/bread/image/') == 2
    assert browser.client.get("/study/bread/image/a.png").content == PNG


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [("a.png", b"<html>", "not an image"), ("a.exe", PNG, "not among"), ("other.png", PNG, "not among")],
)
def test_an_upload_that_is_no_image_creates_nothing(
    serve: Callable[..., Browser], tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    table = "sku,price,photo\nA,3,a.png\nB,4,a.png\n"
    files = [("table", ("menu.csv", table, "text/csv")), ("images", (name, content, "image/png"))]
    data = {"name": "bread", "image": "photo", "query_size": "2"}
    refused = browser.post("/studies/catalogue", data, files=files)
    assert refused.status_code == 400
    assert told in refused.text
    assert list(tmp_path.rglob("*.png")) == []
    assert not (tmp_path / "studies.db").exists()


def test_a_bad_table_is_explained_by_its_own_name(serve: Callable[..., Browser]) -> None:
    browser = serve()
    browser.get("/studies/catalogue")
    refused = browser.post(
        "/studies/catalogue", {"name": "x"}, files=[("table", ("menu.csv", "sku\nA,B\n", "text/csv"))]
    )
    assert "menu.csv" in refused.text
    assert "/tmp" not in refused.text


def test_a_name_that_is_taken_is_said_while_a_table_is_looked_at(browser: Browser) -> None:
    browser.get("/studies/catalogue")
    files = [("table", ("menu.csv", "sku,price\nA,3\nB,4\n", "text/csv"))]
    assert "already" in browser.post("/studies/catalogue", {"name": "bread"}, files=files, part=True).text


def test_a_rater_who_is_there_already_is_refused_in_the_words_of_the_page(browser: Browser) -> None:
    browser.get("/study/bread/raters")
    assert "/join/" in browser.post("/study/bread/raters", {"rater": "Ann", "act": "add"}).text
    refused = browser.post("/study/bread/raters", {"rater": "Ann", "act": "add"})
    assert refused.status_code == 400
    assert "make a new link" in refused.text
    assert "new_token" not in refused.text
    assert "/join/" in browser.post("/study/bread/raters", {"rater": "Ann", "act": "renew"}).text


def test_times_say_their_zone_until_the_script_makes_them_local(browser: Browser) -> None:
    study = browser.study
    study.tell(study.ask(), [0])
    for path in ("/studies", "/study/bread/history", "/study/bread/raters"):
        times = re.findall(r'<time datetime="[^"]+\+00:00">([^<]+)</time>', browser.get(path).text)
        assert times, path
        assert all(time.endswith(" UTC") for time in times)


def test_after_a_retraction_the_only_rater_is_still_not_named(browser: Browser) -> None:
    study = browser.study
    study.tell(study.ask(), [0])
    browser.get("/study/bread/history")
    part = browser.post(f"/study/bread/answers/{study.history()[0].id}/retract", part=True)
    assert "retracted" in part.text
    assert "· owner" not in part.text


def test_the_history_names_things_that_have_names(serve: Callable[..., Browser], tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    rows = [{"sku": sku, "name": f"Loaf {sku}", "price": price, "photo": "a.png"} for price, sku in enumerate("AB")]
    menu = cb.Catalogue(rows, "sku", "name", "photo")
    browser = serve()
    study = Study.create(
        browser.url, "bread", menu, show=Show("image"), folder=tmp_path, acquisition="sobol", query_size=2
    )
    study.tell(study.ask(), [0])
    page = browser.get("/study/bread/history").text
    assert re.findall(r"Loaf [AB]</span>", page)


def test_close_behind_is_only_what_is_close() -> None:
    def point(probability: float) -> Point:
        return Point({}, probability, optimal=probability >= 0.5, mean=(), lower=(), upper=())

    shares = (0.9, 0.4, 0.3, 0.04, 0.001)
    assert [found.probability for found in worth_a_card([point(share) for share in shares])] == [0.9, 0.4, 0.3]
    assert len(worth_a_card([point(0.6)] * 8 + [point(0.4)] * 8)) == 8
    assert len(worth_a_card([point(0.6)] * 40)) == 12


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A study with a real model: the one fit of these tests."""
    url = str(tmp_path_factory.mktemp("web") / "studies.db")
    space = cb.Space([cb.Real("sweet", 0, 1), cb.Real("salt", 0, 1)])
    study = Study.create(
        url, "bread", space, acquisition="sobol", query_size=3, latent_dim=2, engine="vi", initial_queries=2
    )
    for _ in range(7):
        question = study.ask()
        values = [(option["sweet"], -option["sweet"] + option["salt"]) for option in question.options]
        beaten = [any(a > v[0] and b > v[1] for a, b in values) for v in values]
        study.tell(question, [at for at, lost in enumerate(beaten) if not lost])
    with ThreadPoolExecutor(1) as pool, TestClient(create_app(ServerSettings(url), pool), "http://127.0.0.1") as client:
        browser = Browser(client, url)
        for _ in range(120):
            if "Preliminary" not in browser.client.get("/study/bread/result").text:
                break
            browser.client.get("/study/bread/result/events")
        yield browser


def test_the_result_shows_the_best_options_and_charts_that_can_be_read_without_seeing_them(learned: Browser) -> None:
    page = learned.client.get("/study/bread/result").text
    assert "likely that no other beats it" in page
    assert "Hidden objective 2" in page
    assert page.count('class="item" tabindex="0" role="img" aria-label="Best option') >= 2
    assert "As a table" in page
    assert "<polygon" in page


def test_two_options_are_compared_side_by_side(learned: Browser) -> None:
    one, other = (point.key for point in build_result(learned.study).points[:2])
    part = learned.client.get("/study/bread/result/compare", params={"option": [one, other]}).text
    assert part.count('class="side"') == 2
    assert "sweet" in part
    page = learned.client.get("/study/bread/result", params={"option": [one, other]}).text
    assert page.count('class="side"') == page.count(" checked>") == 2
    for keys in ([one], [one, "nothing"], []):
        assert 'class="side"' not in learned.client.get("/study/bread/result/compare", params={"option": keys}).text


def test_an_option_is_tried_and_a_wrong_one_is_told_why(learned: Browser) -> None:
    best = build_result(learned.study).best[0]
    # A slider moves in steps: what is nearer to an option that was shown than that is the same option.
    values = {"try-0": f"{best.option['sweet']:.3f}", "try-1": f"{best.option['salt']:.3f}"}
    part = learned.client.get("/study/bread/result/try", params=values).text
    assert "you have seen this one" in part
    assert f"<b>{percent(best.probability)}</b>" in part
    assert "likely that none of the options shown so far beats it" in part
    page = learned.client.get("/study/bread/result", params={"try-0": "0.25", "try-1": "0.75"}).text
    assert 'name="try-0" min="0" max="1" step="0.005" value="0.25"' in page
    assert "likely that none of the options shown so far beats it" in page
    for wrong in ({"try-0": "9", "try-1": "0"}, {"try-0": "much", "try-1": "0"}, {"try-0": "0.5"}):
        said = learned.client.get("/study/bread/result/try", params=wrong)
        assert (said.status_code, 'class="gentle"' in said.text) == (200, True)


def test_the_api_predicts_options(learned: Browser) -> None:
    options = [{"sweet": 0.9, "salt": 0.9}, {"sweet": 0.1, "salt": 0.0}]
    found = learned.client.post("/api/v1/studies/bread/predict", params={"wait": 30}, json={"options": options}).json()
    assert [each["option"] for each in found] == options
    own = learned.study.predict(options)
    assert [each["probability"] for each in found] == pytest.approx([each.probability for each in own])
    wrong = learned.client.post("/api/v1/studies/bread/predict", params={"wait": 30}, json={"options": [{"sweet": 7}]})
    assert wrong.status_code == 400


def test_a_hidden_objective_is_named_on_the_page_and_in_the_api(learned: Browser) -> None:
    learned.get("/study/bread/result")
    form = {"form_token": learned.field("form_token"), "number": 2, "name": "warmth <3"}
    said = learned.client.post("/study/bread/result/name", data=form, follow_redirects=False)
    assert said.headers["location"] == "/study/bread/result#objective-2"
    page = learned.client.get("/study/bread/result").text
    assert "<h3>Warmth &lt;3</h3>" in page
    assert "warmth &lt;3 →" in page
    assert "warmth &lt;3" in learned.client.get("/study/bread/download/report.html").text.lower()
    found = learned.client.get("/api/v1/studies/bread/result", params={"wait": 30}).json()
    assert found["names"] == ["", "warmth <3"]
    cleared = learned.client.post("/api/v1/studies/bread/objectives/2", json={"name": ""})
    assert cleared.json() == {"number": 2, "name": ""}
    assert learned.study.objective_names == ()
    assert learned.client.post("/api/v1/studies/bread/objectives/3", json={"name": "x"}).status_code == 400


def test_the_best_option_not_shown_is_on_the_page_and_in_the_api(learned: Browser) -> None:
    assert "Best one not shown yet" in learned.client.get("/study/bread/result").text
    found = learned.client.get("/api/v1/studies/bread/result", params={"wait": 30}).json()
    own = learned.study.best_unseen()
    assert own is not None
    assert (found["unseen"]["option"], found["unseen"]["probability"]) == (own.option, own.probability)


def test_the_download_of_the_best_holds_no_others(learned: Browser) -> None:
    lines = learned.client.get("/study/bread/download/pareto.csv").text.splitlines()
    assert len(lines) - 1 == len(build_result(learned.study).best)


def test_the_api_gives_the_same_result(learned: Browser) -> None:
    found = learned.client.get("/api/v1/studies/bread/result", params={"wait": 30}).json()
    best = {json.dumps(each["option"], sort_keys=True) for each in found["pareto_set"]}
    own = {json.dumps(each.option, sort_keys=True) for each in learned.study.pareto_set()}
    assert best == own
    assert len(found["objectives"]) == 2


def test_the_result_fits_nothing_again_and_asks_the_kept_model_everything_once(
    learned: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counted(where: Any, name: str) -> None:
        before = getattr(where, name)

        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return before(*arguments, **options)

        monkeypatch.setattr(where, name, call)

    for where, name in (
        (compute, "fit"),
        (posterior_store, "from_bytes"),
        (Posterior, "pareto_probability"),
        (insight, "stop_advice"),
        (insight, "surprises"),
    ):
        counted(where, name)
    study = learned.study
    found = build_result(study)
    assert sorted(calls) == ["from_bytes", "pareto_probability", "stop_advice"]
    status = study.status()
    assert (found.answers, found.latent_dim, found.advice) == (status.answers, status.latent_dim, status.advice)
    assert [point.option for point in found.best] == [each.option for each in status.pareto_set]


def test_beside_the_question_stands_what_the_model_knows_and_whether_to_go_on(
    learned: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = build_result(learned.study).advice
    assert advice is not None
    monkeypatch.setattr(study_progress, "advise", lambda *_: replace(advice, stop=True))
    monkeypatch.setattr(compute, "fit", lambda *_: pytest.fail("a model was fitted for it"))
    page = learned.client.get("/study/bread/progress").text
    assert "The model has learned from <b>7</b> answers." in page
    assert f'aria-valuenow="{100 - 100 * advice.remaining:.0f}"' in page
    assert escape(advice.sentence) in page
    assert "hx-get" not in page  # nothing is being computed, so that there is nothing to wait for
    assert 'role="meter"' in learned.client.get("/study/bread").text  # and it is there at once the next time


def test_what_takes_long_to_compute_beside_the_question_is_asked_for_again(
    learned: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "_BEFORE_PROGRESS", 0.05)
    monkeypatch.setattr(Server, "begin_progress", lambda *_: Future())
    assert 'hx-trigger="load delay:3s"' in learned.client.get("/study/bread/progress").text


def test_the_page_looks_again_while_the_model_lacks_answers(learned: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hx-get" not in learned.client.get("/study/bread/progress").text
    monkeypatch.setattr(choose, "_learns_from", lambda _: 4)  # this study asks without the model
    monkeypatch.setattr(Server, "last_progress", lambda *_: None)
    monkeypatch.setattr(Study, "has_posterior", lambda *_: False)
    assert 'hx-trigger="load delay:10s"' in learned.client.get("/study/bread/progress").text


def test_the_bar_can_also_go_back_and_says_so() -> None:
    risen, fallen = Progress(9, 0.7, before=0.5), Progress(9, 0.7, before=0.8)
    assert (risen.fell, fallen.fell, Progress(9, 0.7).fell) == (False, True, False)
    told = [Progress(9, share).words for share in (0.1, 0.7, 0.9, 0.99)]
    assert told == ["wide open", "taking shape", "fairly clear", "clear"]


def test_a_new_answer_makes_a_new_result(learned: Browser) -> None:
    def answers() -> int:
        found = learned.client.get("/api/v1/studies/bread/result", params={"wait": 30}).json()
        return int(found["answers"])

    study, before = learned.study, answers()
    last = study.history()[-1]
    study.retract(last)
    after = answers()
    study.restore(last)
    assert (before, after, answers()) == (7, 6, 7)
    assert "From the model of 7 answers" in learned.client.get("/study/bread/result").text


def test_the_report_is_one_page_that_needs_nothing_else(learned: Browser) -> None:
    found = learned.client.get("/study/bread/download/report.html")
    assert found.status_code == 200
    assert "<script" not in found.text
    assert 'src="http' not in found.text


def test_what_is_known_from_one_rater_is_not_shown_as_that_of_another(
    serve: Callable[..., Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = serve()
    study = Study.create(browser.url, **bread(raters="separate"))
    study.add_rater("Ann")
    for rater in ("owner", "Ann"):
        study.tell(study.ask(rater), [0], rater=rater)

    def build(_: Study, rater: str | None, context: object) -> StudyResult:
        return StudyResult(7 if rater == "Ann" else 3)

    monkeypatch.setattr("choicebo.web.server.build_result", build)
    assert browser.client.get("/api/v1/studies/bread/result", params={"wait": 9}).json()["answers"] == 3
    assert browser.client.get("/api/v1/studies/bread/result", params={"wait": 9, "rater": "Ann"}).json()["answers"] == 7
    assert browser.client.get("/study/bread/result?rater=Nobody").status_code == 404
