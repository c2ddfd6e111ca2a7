"""How a server is set up: where the studies are, who may reach it."""

from __future__ import annotations

import ipaddress
import math
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from choicebo.errors import InvalidInputError
from choicebo.serving.pool import Caps, default_caps, default_processes
from choicebo.study import Storage
from choicebo.web.addresses import is_root_path

SHORTEST_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class ServerSettings:
    """Settings of one server process.

    >>> ServerSettings("bread.db", host="0.0.0.0")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    choicebo.errors.InvalidInputError: The address 0.0.0.0 can be reached from other machines, so it needs a token; ...
    """

    url: str
    """The database that holds the studies: a file or a URL."""
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    """The owner's secret; None: everybody who reaches the server is the owner."""
    workers: int = 0
    """Processes that compute; 0: one for each core, at least two."""
    share_result: bool = False
    """Whether raters see the result that everybody's answers lead to; never each other's answers."""
    folder: Path | None = None
    """Where images that are uploaded in the browser are stored; None: beside the database file, or in this folder."""
    patience: float = 4.0
    """Seconds that a person waits for the model before a question without it is asked; 0: as long as it takes."""
    proxy: str = ""
    """Addresses or networks of reverse proxies, separated by commas; only they may say whom a request comes from."""

    most_seconds: float = 0.0
    """Seconds that one computation may take before its process is replaced; 0: five minutes."""
    most_memory: int = 0
    """MB that a process which computes may take; 0: half of the machine's for all of them together."""
    root_path: str = ""
    """The path under which a reverse proxy offers the server, such as ``/choose``; empty: at the root."""

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise InvalidInputError(
                f"The address {self.host} can be reached from other machines, so it needs a token; here is a new "
                f"one: --token {secrets.token_urlsafe(SHORTEST_TOKEN)}"
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InvalidInputError(
                f"The token has {len(self.token)} characters: give at least {SHORTEST_TOKEN}, so that nobody guesses it."
            )
        if self.workers < 0:
            raise InvalidInputError(f"workers is {self.workers}: give 1 or more, or 0 for one for each core.")
        if not (math.isfinite(self.patience) and self.patience >= 0):
            raise InvalidInputError(
                f"patience is {self.patience}: give seconds, or 0 to wait for the model as long as it takes."
            )

        if not is_root_path(self.root_path):
            raise InvalidInputError(
                f"The root path is {self.root_path!r}: give one that begins with a slash and ends without one, such as /choose."
            )
        if not (math.isfinite(self.most_seconds) and self.most_seconds >= 0) or self.most_memory < 0:
            raise InvalidInputError(
                f"A computation may take {self.most_seconds} s and {self.most_memory} MB: give more than 0, or 0 for the default."
            )
        for address in filter(None, self.proxy.split(",")):
            try:
                ipaddress.ip_network(address.strip())
            except ValueError:
                raise InvalidInputError(
                    f"The proxy is {address.strip()!r}: give its address, such as 127.0.0.1, or a network, such as 10.0.0.0/8."
                ) from None

    @property
    def processes(self) -> int:
        """How many processes compute."""
        return self.workers or default_processes()

    @property
    def caps(self) -> Caps:
        """What one computation may take."""
        usual = default_caps(self.processes)
        return Caps(self.most_seconds or usual.seconds, self.most_memory or usual.memory)

    @property
    def image_folder(self) -> Path:
        """Where uploaded images are stored."""
        if self.folder is not None:
            return self.folder
        file = Storage(self.url).file
        return Path("choicebo-images") if file is None else file.with_name(f"{file.stem}-images")
