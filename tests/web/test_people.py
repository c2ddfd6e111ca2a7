"""Where tastes are related: what the owner sees of all and each, and what a rater may see."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from choicebo.study import Study

from .web_helpers import TOKEN, Browser, bread

WANTED = {"Ann": 5, "Zoe": 40}


def related(url: str, answers: int = 5, **extra: object) -> Study:
    """Two people of whom one likes it long and the other short."""
    study = Study.create(url, **bread(raters="related", latent_dim=1, engine="laplace", **extra))
    rng = np.random.default_rng(0)
    for name in WANTED:
        study.add_rater(name)
    loaves = [{"minutes": int(minutes), "flour": "rye"} for minutes in (5, 12, 20, 28, 40)]
    for _ in range(answers):
        for name, wanted in WANTED.items():
            shown = [loaves[at] for at in rng.choice(5, 3, replace=False)]
            best = min(range(3), key=lambda at: abs(shown[at]["minutes"] - wanted))
            study.add(shown, [best], rater=name)
    return study


@pytest.fixture
def learned(serve: Callable[..., Browser]) -> Browser:
    """The owner's browser, with everything computed."""
    found = serve()
    related(found.url)
    for path in ("result", "agreement"):
        assert found.client.get(f"/api/v1/studies/bread/{path}", params={"wait": 60}).status_code == 200
    return found


def test_the_owner_sees_the_consensus_each_person_and_how_far_they_agree(learned: Browser) -> None:
    page = learned.client.get("/study/bread/result").text
    assert "This is the consensus" in page
    assert "of what decides the answers is personal taste" in page
    assert '<th scope="row">Ann</th>' in page
    assert "What divides people most" in page
    assert ">owner</a>" not in page  # who has not answered has no result of their own
    learned.client.get("/api/v1/studies/bread/result", params={"wait": 60, "rater": "Zoe"})
    zoe = learned.client.get("/study/bread/result", params={"rater": "Zoe"}).text
    assert "what nothing beats for Zoe" in zoe
    assert 'id="agreement"' not in zoe
    pair = [part.split('"')[0] for part in page.split('name="option" value="')[1:3]]
    compared = learned.client.get("/study/bread/result/compare", params={"option": pair}).text
    assert "Who would keep which" in compared


def test_the_rest_of_the_page_is_shown_where_agreement_fails(
    serve: Callable[..., Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = serve()
    related(browser.url)

    def fail(_: Study) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Study, "agreement", fail)
    browser.client.get("/api/v1/studies/bread/result", params={"wait": 60})
    page = browser.client.get("/study/bread/result")
    assert page.status_code == 200
    assert "This is the consensus" in page.text
    assert 'id="agreement"' in page.text
    assert "secret detail" not in page.text


def test_a_rater_sees_their_own_set_and_the_consensus_only_if_it_is_shared(serve: Callable[..., Browser]) -> None:
    for shared in (False, True):
        found = serve(token=TOKEN, host="0.0.0.0", share_result=shared)
        study = Study.open(found.url, "bread") if shared else related(found.url)
        waited = {"headers": {"Authorization": f"Bearer {study.new_token('Zoe')}"}, "params": {"wait": 60}}
        assert found.client.get("/api/v1/studies/bread/result", **waited).status_code == 200
        found.get(f"/join/{study.new_token('Ann')}")
        everybody = found.client.get("/study/bread/result", params={"rater": " everybody"}).text
        assert ("This is the consensus" in everybody or "Nothing to show yet" in everybody) == shared
        for query in ("", "?rater=Zoe"):
            own = found.client.get(f"/study/bread/result{query}").text
            assert "Zoe" not in own
            assert 'id="agreement"' not in own
            assert (">Everybody</a>" in own) == shared
        for path in ("result/agreement", "result/agreement/events", "download/agreement.csv"):
            assert found.client.get(f"/study/bread/{path}").status_code == 403
        headers = {"Authorization": f"Bearer {study.new_token('Ann')}"}
        assert found.client.get("/api/v1/studies/bread/agreement", headers=headers).status_code in (401, 403)


def test_a_rater_without_answers_sees_nothing_of_those_of_others(serve: Callable[..., Browser]) -> None:
    found = serve(token=TOKEN, host="0.0.0.0")
    study = related(found.url)
    token = study.add_rater("Mel")
    found.get(f"/join/{token}")
    told = found.client.get("/study/bread/result")
    assert (told.status_code, "once you have answered" in told.text) == (403, True)
    headers = {"Authorization": f"Bearer {token}"}
    assert found.client.get("/api/v1/studies/bread/result", headers=headers).status_code in (401, 403)
    study.tell(study.ask("Mel"), [0], rater="Mel")
    assert found.client.get("/study/bread/result").status_code == 200
    assert found.client.get("/api/v1/studies/bread/result", headers=headers).status_code in (200, 202)


def test_a_rater_learns_nothing_from_counts_of_what_others_kept(
    serve: Callable[..., Browser], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = serve(token=TOKEN, host="0.0.0.0", share_result=True)
    study = related(found.url, answers=1)

    monkeypatch.setattr("choicebo.web.known_result.BEFORE_THINKING", 0.0)
    monkeypatch.setattr("choicebo.web.server.build_result", lambda *_: time.sleep(1.5))
    headers = {"Authorization": f"Bearer {study.new_token('Ann')}"}
    told = found.client.get("/api/v1/studies/bread/result", params={"rater": " everybody"}, headers=headers)
    assert told.status_code == 202
    assert told.json()["preliminary"]["pareto_set"] == []
    own = found.client.get("/api/v1/studies/bread/result", headers=headers)
    assert own.json()["preliminary"]["pareto_set"]


def test_the_api_and_the_downloads_carry_it(learned: Browser) -> None:
    told = learned.client.get("/api/v1/studies/bread/agreement").json()
    assert [person["name"] for person in told["people"]] == ["Ann", "Zoe"]
    assert told["matrix"]["mean"][0][1] == pytest.approx(told["matrix"]["mean"][1][0])
    table = learned.client.get("/study/bread/download/agreement.csv").text
    assert table.splitlines()[0] == "person,Ann,Zoe"
    assert "Agreement" in learned.client.get("/study/bread/download/report.html").text


def test_where_tastes_are_not_related_there_is_no_agreement(browser: Browser) -> None:
    told = browser.client.get("/api/v1/studies/bread/agreement")
    assert told.status_code == 400
    assert "related" in told.json()["error"]


def test_many_people_are_chosen_from_a_list(learned: Browser) -> None:
    study = learned.study
    for number in range(9):
        study.add_rater(f"p{number}")
        study.add([{"minutes": 5, "flour": "rye"}, {"minutes": 40, "flour": "rye"}], [0], rater=f"p{number}")
    assert '<select name="rater">' in learned.client.get("/study/bread/result").text


def test_where_one_person_answered_nothing_is_compared(serve: Callable[..., Browser]) -> None:
    found = serve()
    with Study.create(found.url, **bread(raters="related", latent_dim=1, engine="laplace")) as study:
        for _ in range(3):
            study.tell(study.ask(), [0])
    found.client.get("/api/v1/studies/bread/result", params={"wait": 60})
    page = found.client.get("/study/bread/result").text
    assert 'id="agreement"' not in page
    assert ">Everybody</a>" not in page
    assert "consensus" not in page
