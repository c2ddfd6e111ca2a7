"""What ``docs/how-to/deploy.md`` tells to set up is set up as it stands there, and people answer through it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import choicebo as cb
from choicebo.__main__ import build_app
from choicebo.study import Study
from choicebo.web import serve_command

from .test_servers import postgres  # noqa: F401  (a fixture)

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "deploy.md"
FILES = dict(re.findall(r"^`([^`\n]+)`\n\n```\w+\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))
TOKEN = "a-token-that-nobody-guesses"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@dataclass
class Deployment:
    """The services of the page, on ports and in folders of their own."""

    folder: Path
    database: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.https, self.scheduler, *self.ports = (free_port() for _ in range(4))
        self.address = f"https://127.0.0.1:{self.https}"
        self.client = httpx.Client(base_url=f"{self.address}/choose", verify=False, timeout=120)  # its own certificate

    def changed(self, text: str) -> str:
        """A text of the page with what differs here."""
        for known, here in (
            ("/opt/choicebo/bin/choicebo", f"{sys.executable} -m choicebo"),
            ("/opt/choicebo/bin/dask", f"{sys.executable} -m dask"),
            ("/var/lib/choicebo", str(self.folder)),
            ("/etc/ssl", str(self.folder)),
            ("put-the-output-of-openssl-rand-hex-16-here", TOKEN),
            ("postgresql+psycopg://choicebo@/choicebo", self.database),
            ("8786", str(self.scheduler)),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.https} ssl"),
            ("127.0.0.1:8001", f"127.0.0.1:{self.ports[0]}"),
            ("127.0.0.1:8002", f"127.0.0.1:{self.ports[1]}"),
        ):
            text = text.replace(known, here)
        return text

    def start_service(self, name: str, instance: str = "") -> subprocess.Popen[bytes]:
        """Start a service as systemd would."""
        unit = self.changed(FILES[f"/etc/systemd/system/{name}"]).replace("%i", instance)
        lines = [line.partition("=") for line in unit.splitlines() if "=" in line]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        if "EnvironmentFile" in {key for key, _, _ in lines}:
            told = self.changed(FILES["/etc/choicebo/environment"]).splitlines()
            environment.update(line.split("=", 1) for line in told)
        (command,) = [value for key, _, value in lines if key == "ExecStart"]
        command = re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], command)
        with (self.folder / f"{name}{instance}.log").open("wb") as log:
            process = subprocess.Popen(
                shlex.split(command), stdout=log, stderr=log, env=environment, cwd=self.folder, start_new_session=True
            )
        self.processes.append(process)
        return process

    def start_nginx(self) -> None:
        """Start nginx with the file of the page, and a certificate of its own."""
        site = self.changed(FILES["/etc/nginx/conf.d/choicebo.conf"])
        names = ["-keyout", "tools.example.org.key", "-out", "tools.example.org.crt", "-subj", "/CN=127.0.0.1"]
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "1", *names],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )
        written = "\n".join(f"{name}_temp_path {self.folder}/{name};" for name in ("client_body", "proxy", "fastcgi"))
        (self.folder / "nginx.conf").write_text(
            f"pid {self.folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{written}\n"
            f"uwsgi_temp_path {self.folder}/uwsgi;\nscgi_temp_path {self.folder}/scgi;\n{site}\n}}\n"
        )
        with (self.folder / "nginx.log").open("wb") as log:
            command = ["nginx", "-p", str(self.folder), "-c", "nginx.conf", "-g", "daemon off;"]
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))

    def until_healthy(self) -> None:
        ends = time.monotonic() + 120
        for port in self.ports:
            while True:
                try:
                    if httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                assert time.monotonic() < ends, (self.folder / f"choicebo@.service{port}.log").read_text()
                time.sleep(0.2)

    def metrics(self) -> str:
        """Of both servers."""
        owner = {"Authorization": f"Bearer {TOKEN}"}
        return "".join(httpx.get(f"http://127.0.0.1:{port}/metrics", headers=owner).text for port in self.ports)

    def end(self) -> None:
        self.client.close()
        for process in reversed(self.processes):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def deployed(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:  # noqa: F811
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed (Debian: apt install nginx-light)")
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    found = Deployment(tmp_path_factory.mktemp("deployed"), postgres)
    try:
        found.start_service("choicebo-scheduler.service")
        found.start_service("choicebo-worker.service")
        for port in found.ports:
            found.start_service("choicebo@.service", str(port))
        found.start_nginx()
        found.until_healthy()
        yield found
    finally:
        found.end()


@pytest.fixture(scope="module")
def study(deployed: Deployment) -> Study:
    """One whose second question takes the model."""
    space = cb.Space([cb.Real("temperature", 150, 220), cb.Integer("minutes", 5, 40)])
    settings: dict[str, Any] = {"engine": "laplace", "latent_dim": 2, "initial_queries": 1, "query_size": 3}
    return Study.create(deployed.database, "rye bread", space, **settings)


def test_people_answer_through_the_proxy_with_models_of_the_cluster(
    deployed: Deployment, study: Study, open_page: Callable[..., Any]
) -> None:
    owner = {"Authorization": f"Bearer {TOKEN}"}
    made = deployed.client.post("/api/v1/studies/rye bread/raters", json={"name": "Ann"}, headers=owner).json()
    page = open_page(ignore_https_errors=True)
    page.goto(f"{deployed.address}{made['path']}")
    assert page.url == f"{deployed.address}/choose/study/rye%20bread"
    number, ends = 0, time.monotonic() + 120
    # Workers that have just been started load what they need while the first questions are asked without a model.
    while not any(question.latent_dim == 2 for question in study.questions(rater="Ann")):
        assert time.monotonic() < ends
        number += 1
        page.wait_for_selector(f"[data-question='{number}']")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"[data-question='{number + 1}']")
    assert {cookie["secure"] for cookie in page.context.cookies() if cookie["name"] == "choicebo_rater"} == {True}
    assert study.count_answers("Ann") == number
    assert re.search(r'choicebo_computations_total\{outcome="done"\} [1-9]', deployed.metrics())
    assert f"choicebo_answers_total {number}\n" in deployed.metrics()


def test_raters_of_one_study_share_a_process_and_strangers_are_not_believed(deployed: Deployment, study: Study) -> None:
    before = [httpx.get(f"http://127.0.0.1:{port}/metrics", headers=_owner()).text for port in deployed.ports]
    for _ in range(6):
        assert deployed.client.get("/api/v1/studies/rye bread", headers=_owner()).status_code == 200
    after = [httpx.get(f"http://127.0.0.1:{port}/metrics", headers=_owner()).text for port in deployed.ports]
    assert sorted(_requests(late) - _requests(early) for early, late in zip(before, after, strict=True)) == [1, 7]
    told = deployed.client.get("/enter", headers={"X-Forwarded-Proto": "http", "X-Forwarded-For": "192.0.2.1"})
    assert "; secure" in told.headers["set-cookie"].lower()  # the proxy's own word counts


def test_a_backup_is_made_and_comes_back_while_people_answer(
    deployed: Deployment, study: Study, tmp_path: Path
) -> None:
    token, over, told = study.add_rater("Ben"), threading.Event(), []

    def answer() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        while not over.is_set():
            asked = deployed.client.get("/api/v1/studies/rye bread/question?wait=30", headers=headers).json()
            path = f"/api/v1/studies/rye bread/questions/{asked['number']}/answer"
            told.append(deployed.client.post(path, json={"kept": [0]}, headers=headers).status_code)

    person = threading.Thread(target=answer)
    person.start()
    try:
        while len(told) < 3:
            time.sleep(0.05)
        acknowledged = len(told)
        made = CliRunner().invoke(
            build_app(), ["backup", deployed.database, str(tmp_path / "b.zip"), "-n", "rye bread"]
        )
        assert made.exit_code == 0, made.output
        back = CliRunner().invoke(build_app(), ["recover", str(tmp_path / "b.zip"), str(tmp_path / "back.db")])
        assert back.exit_code == 0, back.output
    finally:
        over.set()
        person.join(120)
    assert set(told) == {200}
    with Study.open(tmp_path / "back.db") as copy:
        assert acknowledged <= copy.count_answers("Ben") <= len(told)
        assert Study.of_token(tmp_path / "back.db", token) == ("rye bread", "Ben")
    again = CliRunner().invoke(build_app(), ["recover", str(tmp_path / "b.zip"), deployed.database])
    assert again.exit_code == 1
    assert "There is a study 'rye bread'" in again.output
    second = CliRunner().invoke(build_app(), ["recover", str(tmp_path / "b.zip"), deployed.database, "--name", "copy"])
    assert second.exit_code == 0, second.output


def test_when_one_server_is_killed_the_other_takes_over(deployed: Deployment, study: Study) -> None:
    servers = [process for process in deployed.processes if b"serve" in _command(process)]
    os.killpg(servers[0].pid, signal.SIGKILL)
    for _ in range(6):
        assert deployed.client.get("/api/v1/studies/rye bread/question?wait=30", headers=_owner()).status_code == 200


def test_the_commands_of_the_containers_are_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    services = yaml.safe_load(FILES["compose.yaml"])["services"]
    command, started = services["choicebo"]["command"], []
    assert command[0] == "choicebo"
    monkeypatch.setattr(serve_command, "_run", lambda config, *_: started.append(config))
    monkeypatch.setattr("choicebo.model.compiling.start", lambda: None)
    here = [str(tmp_path / "s.db") if part.startswith("postgresql") else part for part in command[1:]]
    here[here.index("8000")] = "0"
    result = CliRunner().invoke(build_app(), here, env={"CHOICEBO_TOKEN": TOKEN})
    assert result.exit_code == 0, result.output
    assert (started[0].proxy_headers, started[0].forwarded_allow_ips) == (True, "172.30.0.0/24")
    assert services["database"]["image"].startswith("postgres:")


def _owner() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"}


def _requests(metrics: str) -> int:
    return sum(int(count) for count in re.findall(r"choicebo_requests_total\{[^}]*\} (\d+)", metrics))


def _command(process: subprocess.Popen[bytes]) -> bytes:
    return Path(f"/proc/{process.pid}/cmdline").read_bytes() if process.poll() is None else b""
