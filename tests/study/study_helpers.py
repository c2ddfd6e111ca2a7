"""A small study that needs no model to ask, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import choicebo as cb
from choicebo.study import Study

SPACE = cb.Space([cb.Real("temperature", 150, 220), cb.Integer("minutes", 5, 40)])
MENU = cb.Catalogue([{"sku": name, "price": price} for name, price in (("A", 3), ("B", 5), ("C", 8), ("D", 9))])


def new_study(url: Any, name: str = "bread", space: Any = SPACE, **settings: Any) -> Study:
    """Space-filling questions only: quick, and all that storage needs."""
    return Study.create(url, name, space, **{"acquisition": "sobol", "query_size": 3, **settings})


def answer(study: Study, kept: tuple[int, ...] = (0,), rater: str | None = None) -> Any:
    return study.tell(study.ask(rater), kept)


def server_binaries() -> Path | None:
    """The folder of PostgreSQL's server programs, the newest if there are several."""
    on_path = shutil.which("initdb")
    places = [*Path("/usr/lib/postgresql").glob("*/bin"), *([Path(on_path).resolve().parent] if on_path else [])]
    found = [place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()]
    return max(found, key=lambda place: [int(number) for number in re.findall(r"\d+", str(place))], default=None)


class Server:
    """A PostgreSQL cluster in a temporary folder, reached through a socket in it."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self._folder = binaries, folder
        # The server refuses to run as root; whoever runs the tests then hands it to somebody else.
        self._user = next((n for n in ("postgres", "nobody") if _exists(n)), None) if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", self.data, "-U", "choicebo", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._count = 0

    @property
    def data(self) -> str:
        return str(self._folder / "data")

    def start(self) -> None:
        options = f"-k {self._folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
        self._run("pg_ctl", "-D", self.data, "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def new_database(self) -> str:
        import psycopg

        self._count += 1
        name = f"test{self._count}"
        with psycopg.connect(f"host={self._folder} user=choicebo dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://choicebo@/{name}?host={self._folder}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [str(self._binaries / program), *arguments],
            check=True,
            user=self._user,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=120,
        )


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


@contextlib.contextmanager
def postgres_server(binaries: Path) -> Iterator[Server]:
    # A short path: that of a socket may not be longer than about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="cbpg", ignore_cleanup_errors=True) as folder:
        server = Server(binaries, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
