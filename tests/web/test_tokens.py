"""Who is let in, and how often somebody may try."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from choicebo.errors import InvalidInputError
from choicebo.study import Study
from choicebo.web.limiter import Limiter
from choicebo.web.serve_command import listening
from choicebo.web.server_settings import ServerSettings

from .web_helpers import TOKEN, Browser, bread


@pytest.fixture
def guarded(serve: Callable[..., Browser]) -> Browser:
    """A server that other machines can reach, with one study."""
    found = serve(token=TOKEN, host="0.0.0.0")
    Study.create(found.url, **bread()).close()
    return found


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def variations(token: str) -> list[str]:
    """Tokens that are nearly right."""
    return [token[:-1], token[:8], token[:1], token + "x", token + token, token[1:], token.swapcase(), f" {token}"]


def test_a_part_of_the_owners_token_lets_nobody_in(guarded: Browser) -> None:
    guarded.client.app.state.access.limiter._failures = 10**6  # type: ignore[attr-defined]
    for wrong in variations(TOKEN):
        assert guarded.client.get("/enter", params={"token": wrong}).status_code == 401, wrong
        assert guarded.client.get("/api/v1/studies", headers=bearer(wrong)).status_code == 401, wrong
    guarded.get("/enter", params={"token": TOKEN})
    cookie = guarded.client.cookies["choicebo_owner"]
    guarded.client.cookies.clear()
    for wrong in variations(cookie)[:-2]:
        guarded.client.cookies.set("choicebo_owner", wrong)
        assert guarded.client.get("/studies", follow_redirects=False).status_code == 303, wrong
        guarded.client.cookies.clear()


def test_a_part_of_a_raters_token_lets_nobody_in(guarded: Browser) -> None:
    guarded.client.app.state.access.limiter._failures = 10**6  # type: ignore[attr-defined]
    token = guarded.study.add_rater("Ann")
    assert guarded.client.get("/api/v1/studies/bread", headers=bearer(token)).status_code == 200
    for wrong in variations(token):
        assert guarded.client.get(f"/join/{wrong}").status_code == 401, wrong
        assert guarded.client.get("/api/v1/studies/bread", headers=bearer(wrong)).status_code == 401, wrong
        assert guarded.study.rater_of(wrong) is None


@pytest.mark.parametrize("place", [0, 7, 63])
def test_every_digit_of_the_hash_of_a_token_counts(guarded: Browser, place: int) -> None:
    token = guarded.study.add_rater("Ann")
    with sqlite3.connect(guarded.url) as database:
        [hashed] = database.execute("SELECT hash FROM choicebo_token").fetchone()
        other = "0" if hashed[place] != "0" else "1"
        changed = hashed[:place] + other + hashed[place + 1 :]
        database.execute("UPDATE choicebo_token SET hash = ?", (changed,))
    assert guarded.client.get("/api/v1/studies/bread", headers=bearer(token)).status_code == 401
    assert guarded.client.get(f"/join/{token}").status_code == 401


def test_a_form_with_a_part_of_its_value_is_refused(guarded: Browser) -> None:
    guarded.get("/enter")
    value = guarded.field("form_token")
    for wrong in (value[:-1], value[:8], value + "0"):
        data = {"form_token": wrong, "token": TOKEN, "next": "/"}
        assert guarded.client.post("/enter", data=data).status_code == 403


def test_wrong_tokens_of_others_lock_out_nobody_who_has_a_right_one(guarded: Browser) -> None:
    token = guarded.study.add_rater("Ann")
    codes = [guarded.client.get("/enter", params={"token": "wrong"}).status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    assert guarded.client.get("/join/wrong").status_code == 429
    assert guarded.client.get("/api/v1/studies", headers=bearer("wrong")).status_code == 429
    assert guarded.client.get("/api/v1/studies", headers=bearer(TOKEN)).status_code == 200
    assert guarded.client.get("/api/v1/studies/bread", headers=bearer(token)).status_code == 200
    assert guarded.client.get(f"/join/{token}").url.path == "/study/bread"
    assert guarded.client.get("/enter", params={"token": TOKEN, "next": "/studies"}).status_code == 200


def test_who_tries_too_often_is_told_when_to_come_back(guarded: Browser) -> None:
    for _ in range(11):
        found = guarded.client.get("/api/v1/studies", headers=bearer("wrong"))
    assert (found.status_code, found.headers["retry-after"]) == (429, "60")


@pytest.mark.parametrize(("proxy", "refused"), [("", 60), ("127.0.0.1", 0), ("10.0.0.1", 60)])
def test_a_forwarded_address_counts_only_from_the_proxy_that_the_owner_names(
    guarded: Browser, proxy: str, refused: int
) -> None:
    settings = ServerSettings(guarded.url, token=TOKEN, proxy=proxy)
    config = listening(guarded.client.app, settings)
    config.load()
    with_peer = TestClient(config.loaded_app, "http://127.0.0.1:8000", client=("127.0.0.1", 50000))
    codes = [
        with_peer.get("/join/wrong", headers={"X-Forwarded-For": f"9.9.9.{number}"}).status_code for number in range(70)
    ]
    assert codes.count(429) == refused


@pytest.mark.parametrize("proxy", ["*", "nginx", "127.0.0.1, x", "http://127.0.0.1"])
def test_a_proxy_is_named_by_its_address(proxy: str) -> None:
    with pytest.raises(InvalidInputError, match="address"):
        ServerSettings("x.db", proxy=proxy)
    ServerSettings("x.db", proxy="127.0.0.1, 10.0.0.0/8, ::1")


def test_a_study_whose_name_fills_a_path_lets_its_raters_in(guarded: Browser) -> None:
    """Browsers ignore a cookie whose path is longer than 1,024 bytes."""
    tokens = {}
    for name in ("🥖" * 100, "🥨" * 100):
        with Study.create(guarded.url, **bread(name=name)) as study:
            tokens[name] = study.add_rater("Ann")
    for token in tokens.values():
        joined = guarded.client.get(f"/join/{token}", follow_redirects=False)
        path = joined.headers["set-cookie"].split("Path=")[1].split(";")[0]
        assert len(path) <= 1024
        guarded.client.cookies.set(*joined.headers["set-cookie"].split(";")[0].split("="))
        page = guarded.client.get(joined.headers["location"])
        assert "You are Ann" in page.text
    assert len(guarded.client.cookies) >= 2  # each study has its own
    first = guarded.client.get(
        guarded.client.get(f"/join/{tokens['🥖' * 100]}", follow_redirects=False).headers["location"]
    )
    assert "You are Ann" in first.text


def test_the_token_check_does_not_read_the_migration_scripts(guarded: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic import script

    token = guarded.study.add_rater("Ann")
    assert guarded.client.get("/api/v1/studies/bread", headers=bearer(token)).status_code == 200

    def read(*_: object, **__: object) -> None:
        raise AssertionError("the scripts were read")

    monkeypatch.setattr(script, "ScriptDirectory", read)
    assert guarded.client.get("/api/v1/studies/bread", headers=bearer(token)).status_code == 200


def test_who_tried_too_often_may_try_again_after_a_while() -> None:
    now = 0.0
    limiter = Limiter(failures=2, seconds=60, clock=lambda: now)
    limiter.failed("ann")
    limiter.failed("ann")
    assert limiter.is_blocked("ann")
    now = 61.0
    assert not limiter.is_blocked("ann")


def test_a_raters_token_is_good_for_their_study_alone(guarded: Browser) -> None:
    token = guarded.study.add_rater("Zoe")
    Study.create(guarded.url, **bread(name="soup")).close()
    headers = {"Authorization": f"Bearer {token}"}
    assert guarded.client.get("/api/v1/studies/bread", headers=headers).status_code == 200
    assert guarded.client.get("/api/v1/studies/soup", headers=headers).status_code == 401
    assert guarded.client.get("/api/v1/studies", headers=headers).status_code == 401
