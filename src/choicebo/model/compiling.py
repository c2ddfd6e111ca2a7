"""The one compilation: when it happens, who waits for it, and where its result is kept.

Numba compiles :mod:`choicebo.model.native` in some ten seconds, once per machine and version, and keeps the code: beside the
source, or in the user's cache folder where the installation cannot be written to (``NUMBA_CACHE_DIR`` overrides both).
Compiling holds Python's lock, so a program that has something else to do calls :func:`start`, and a process of its own
compiles.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from choicebo.model.jit import Entry

log = logging.getLogger(__name__)

MESSAGE = "compiling the model, once on this machine"

_lock = threading.RLock()
_process: subprocess.Popen[bytes] | None = None
_ready = False


def is_compiled() -> bool:
    """Whether the compiled code is stored for this source and machine; never compiles."""
    return all(each.is_stored() for each in _entries())


def _entries() -> list[Entry]:
    """Imported late: Numba takes a third of a second, which callers of :func:`start` need not wait for."""
    from choicebo.model import jit, native

    assert native.LANES  # importing it names the entries
    return jit.entries


def prepare(report: Callable[[str], None] | None = None) -> None:
    """Load the compiled code, or compile it once. ``report`` is called if there is something to wait for.

    What the first fit does not need is compiled by another process, so that nobody waits for it.
    """
    global _ready
    if _ready:
        return
    with _lock:
        if _ready:
            return
        if not is_compiled():
            log.info("%s: this takes about ten seconds.", MESSAGE)
            if report is not None:
                report(MESSAGE)
            if _process is not None:
                _process.wait()
        helper = None
        if any(each.later and not each.is_stored() for each in _entries()):
            helper = _spawn("from choicebo.model.compiling import compile_all; compile_all(later=True)")
        for each in _entries():
            if not each.later or helper is None:
                each.compile()
        _ready = True


def compile_all(later: bool) -> None:
    """Compile everything here, or only what a first fit does without."""
    for each in _entries():
        if each.later or not later:
            each.compile()


def start() -> None:
    """Have the code compiled in a process of its own, unless it is compiled already; returns at once."""
    global _process
    with _lock:
        if _ready or _process is not None:
            return
        # If there can be no process, whoever needs the code first compiles it then.
        _process = _spawn("from choicebo.model.compiling import compile_all; compile_all(later=False)")


def _spawn(program: str) -> subprocess.Popen[bytes] | None:
    """Run a program in another process; None if there can be none."""
    quiet = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        return subprocess.Popen([sys.executable, "-c", program], stdin=quiet, stdout=quiet, stderr=quiet)
    return None
