"""What processes are asked to do in tests; a module that is loaded in a moment."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any


def grow(mb: int, where: str) -> int:
    """Take memory, the first time more than is allowed."""
    if Path(where).exists():
        return mb
    Path(where).touch()
    held = bytearray(mb << 20)
    held[::4096] = bytes(len(held) // 4096)
    time.sleep(60)
    return 0


def hang_once(where: str) -> str:
    """Take for ever, the first time."""
    if not Path(where).exists():
        Path(where).touch()
        time.sleep(600)
    return "done"


def fail() -> None:
    raise ZeroDivisionError("of the work itself")


def wait_for(pid: str, go: str) -> str:
    """Tell which process this is, and wait until a file is there."""
    Path(pid).write_text(str(os.getpid()))
    while not Path(go).exists():
        time.sleep(0.05)
    return "done"


def page_faults() -> int:
    """Pages of new memory that a hundred arrays take, one after the other, of 256 pages each."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        bytearray(1 << 20)[::4096] = bytes(256)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def niceness() -> int:
    """Of the thread that computes this, as of something that takes long."""
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def question_from(model: Any = None) -> int:
    """The same, by the name of what is urgent; or how many choices a model learned from."""
    return niceness() if model is None else int(model.data.n_choices)
