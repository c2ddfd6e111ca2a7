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
from typing import Any

log = logging.getLogger(__name__)

MESSAGE = "compiling the model, once on this machine"

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz", "arcp"}}
_entries: list[Entry] = []
_lock = threading.RLock()
_process: subprocess.Popen[bytes] | None = None
_ready = False


class Entry:
    """A compiled function that Python calls; it is loaded or compiled when first needed."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function, self.signature = function, signature
        self._dispatcher: Any = None
        self.__doc__ = function.__doc__
        _entries.append(self)

    def __call__(self, *arguments: Any) -> Any:
        if not _ready:
            prepare()
        return self._dispatcher(*arguments)

    def dispatcher(self) -> Any:
        """Numba's own object, nothing compiled yet."""
        if self._dispatcher is None:
            try:
                self._dispatcher = _jit(cache=True)(self._function)
            except RuntimeError:  # no folder to keep the code in can be written to: every process compiles anew
                self._dispatcher = _jit()(self._function)
        return self._dispatcher

    def is_stored(self) -> bool:
        """Whether the compiled code can be loaded."""
        dispatcher = self.dispatcher()
        cache = getattr(dispatcher, "_cache", None)
        try:
            loaded = cache.load_overload(self.signature, dispatcher.targetctx)
        except Exception:  # a damaged file is as good as none
            return False
        return loaded is not None

    def compile(self) -> None:
        """Load the code, or compile and store it; a disk that is full costs the storing."""
        try:
            self.dispatcher().compile(self.signature)
        except OSError:
            self._dispatcher = _jit()(self._function)
            self._dispatcher.compile(self.signature)


def compiled(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls."""
    return _jit()(function)


def _jit(**more: Any) -> Any:
    import numba  # takes a third of a second, and whoever only asks for start() need not wait for it

    return numba.njit(**_OPTIONS, **more)


def entry(signature: Any) -> Callable[[Callable[..., Any]], Entry]:
    """A compiled function that Python calls, with the types of its arguments."""
    return lambda function: Entry(function, signature)


def is_compiled() -> bool:
    """Whether the compiled code is stored for this source and machine; never compiles."""
    import choicebo.model.native  # noqa: F401  (names the entries)

    return all(each.is_stored() for each in _entries)


def prepare(report: Callable[[str], None] | None = None) -> None:
    """Load the compiled code, or compile it once. ``report`` is told if there is something to wait for."""
    global _ready
    import choicebo.model.native  # noqa: F401

    if _ready:
        return
    with _lock:
        if _ready:
            return
        if not is_compiled():
            log.info("%s: this takes some ten seconds.", MESSAGE)
            if report is not None:
                report(MESSAGE)
            if _process is not None:
                _process.wait()
        for each in _entries:
            each.compile()
        _ready = True


def start() -> None:
    """Have the code compiled in a process of its own, unless it is compiled already; returns at once."""
    global _process
    with _lock:
        if _ready or _process is not None:
            return
        command = [sys.executable, "-c", "from choicebo.model.compiling import prepare; prepare()"]
        with contextlib.suppress(OSError):  # whoever needs the code first compiles it then
            _process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
