"""Real servers: several over one PostgreSQL study, every operation of the API with generated input, the command."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import choicebo as cb
from choicebo.study import Study

from .e2e_helpers import Server

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    place = Path(__file__).parents[1] / "study" / "study_helpers.py"
    spec = importlib.util.spec_from_file_location("postgres_for_web", place)
    assert spec is not None
    assert spec.loader is not None
    helpers: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helpers)
    binaries = helpers.server_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server programs are not installed (Debian: apt install postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'choicebo[postgres]'")
    with helpers.postgres_server(binaries) as running:
        yield running.new_database()


def test_several_servers_share_one_study_without_losing_or_doubling_an_answer(postgres: str) -> None:
    space = cb.Space([cb.Integer("minutes", 5, 400), cb.Categorical("flour", ["rye", "wheat"])])
    study = Study.create(postgres, "bread", space, acquisition="sobol", query_size=3)
    names = ("Ann", "Bob")
    tokens = {name: study.add_rater(name) for name in names}
    servers = [Server(postgres, "--token", TOKEN).start() for _ in range(2)]
    failures: list[str] = []

    def rate(name: str) -> None:
        """Answer three questions, asking one server and telling the other; every answer is sent to both."""
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        with httpx.Client(headers=headers, timeout=120) as client:
            for turn in range(3):
                here, there = servers[turn % 2].address, servers[(turn + 1) % 2].address
                asked = client.get(f"{here}/api/v1/studies/bread/question", params={"wait": 60})
                number = asked.json()["number"]
                for address in (there, here):
                    told = client.post(f"{address}/api/v1/studies/bread/questions/{number}/answer", json={"kept": [1]})
                    if told.status_code != 200:
                        failures.append(told.text)

    try:
        threads = [threading.Thread(target=rate, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with httpx.Client() as client:  # the owner's cookie of one server is good at the other
            client.get(f"{servers[0].address}/enter", params={"token": TOKEN})
            cookie = client.cookies["choicebo_owner"]
            found = httpx.get(f"{servers[1].address}/study/bread/raters", cookies={"choicebo_owner": cookie})
            assert found.status_code == 200
    finally:
        for server in servers:
            server.kill()
    assert failures == []
    assert sorted(act.rater for act in study.history()) == sorted(names * 3)
    numbers = [question.number for question in study.questions()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("examples", [8, pytest.param(300, marks=pytest.mark.slow)])
def test_no_generated_request_to_the_api_makes_the_server_fail(server: Server, new_study: Any, examples: int) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    from hypothesis import HealthCheck, Phase, given, settings

    study = new_study(name=f"generated {examples}")
    study.tell(study.ask(), [0])
    schema = schemathesis.openapi.from_url(f"{server.address}/api/v1/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def call(case: Any) -> None:
            nonlocal tried
            if "name" in (case.path_parameters or {}) and tried % 2:
                case.path_parameters["name"] = study.name
            if case.query:
                case.query.pop("wait", None)
            tried += 1
            response = case.call(timeout=60)
            assert response.status_code < 500, (case.method, case.formatted_path, case.body, response.text)

        call()
    assert tried > 10 * examples


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x.db", "--host", "0.0.0.0"], "--token"),
        (["x.db", "--host", "0.0.0.0", "--token", "short"], "16"),
        (["missing.toml"], "missing.toml"),
        (["postgresql://nobody@127.0.0.1:1/none"], "127.0.0.1"),
    ],
)
def test_the_command_refuses_what_cannot_work_in_one_line(tmp_path: Path, arguments: list[str], told: str) -> None:
    command = [sys.executable, "-m", "choicebo", "serve", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert found.returncode == 1
    assert told in found.stderr
    assert "Traceback" not in found.stderr


def test_a_study_file_is_made_into_a_study_and_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[study]\nname = "rolls"\nquestion = "Which rolls?"\n[[parameter]]\nkind = "integer"\nname = "g"\nlow = 1\nhigh = 90\n'
    (tmp_path / "rolls.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    server = Server("rolls.toml").start()
    try:
        assert "Which rolls?" in httpx.get(server.address, follow_redirects=True).text
    finally:
        server.kill()
    assert [info.name for info in Study.list(tmp_path / "rolls.db")] == ["rolls"]


@pytest.mark.slow
def test_while_the_database_is_busy_answers_are_put_off_and_none_is_lost(postgres: str) -> None:
    """All connections wait for a row that another program has locked: a 503 with a time, and the same answer is taken later."""
    sa = pytest.importorskip("sqlalchemy")
    space = cb.Space([cb.Integer("minutes", 5, 400), cb.Categorical("flour", ["rye", "wheat"])])
    study = Study.create(postgres, "busy", space, acquisition="sobol", query_size=3)
    people = [(name, study.add_rater(name), study.ask(name).number) for name in map(str, range(40))]
    server = Server(postgres, "--token", TOKEN).start()
    told: list[httpx.Response] = []

    def tell(token: str, number: int) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        path = f"{server.address}/api/v1/studies/busy/questions/{number}/answer"
        for _ in range(20):
            told.append(httpx.post(path, json={"kept": [1]}, headers=headers, timeout=120))
            if told[-1].status_code != 503:
                return
            time.sleep(float(told[-1].headers["Retry-After"]))

    engine = sa.create_engine(postgres)
    try:
        with engine.begin() as connection:
            connection.execute(sa.text("SELECT 1 FROM choicebo_study WHERE name = 'busy' FOR UPDATE"))
            threads = [threading.Thread(target=tell, args=person[1:]) for person in people]
            for thread in threads:
                thread.start()
            time.sleep(12)
        for thread in threads:
            thread.join()
    finally:
        server.kill()
        engine.dispose()
    codes = [response.status_code for response in told]
    assert set(codes) <= {200, 503}
    assert (codes.count(200), codes.count(503) > 0) == (40, True)
    assert all("postgresql" not in response.text for response in told)
    assert sorted(act.rater for act in study.history()) == sorted(name for name, *_ in people)
