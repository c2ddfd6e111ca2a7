"""A real ``choicebo serve`` in a process of its own, which can be killed and started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Server:
    """``choicebo serve`` over a database, on a port of its own that stays the same when it is started again."""

    def __init__(self, url: str, *options: str, cache: Path | None = None) -> None:
        self.url = url
        self.options = options
        self.cache = cache
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> Server:
        command = [sys.executable, "-m", "choicebo", "serve", self.url, "--port", str(self.port), "--workers", "1"]
        self.process = subprocess.Popen(
            [*command, *self.options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        watch = threading.Timer(120, self.kill)
        watch.start()
        line = self.process.stdout.readline()
        watch.cancel()
        found = re.search(r"http://[^/\s]+:(\d+)", line)
        assert found, f"the server did not start: {line!r}"
        self.port = int(found[1])
        return self

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End the server and its workers at once, as a power cut would."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def stop(self) -> int:
        """End the server as Ctrl-C does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=60)
        self.process = None
        return code
