"""How functions are compiled: Numba's options, and its cache, which must never stop a fit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numba

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz", "arcp"}}

entries: list[Entry] = []
"""All compiled functions that Python calls."""


class Entry:
    """A compiled function that Python calls; it is loaded or compiled when first needed."""

    def __init__(self, function: Callable[..., Any], signature: Any, later: bool = False) -> None:
        self._function, self.signature = function, signature
        self.later = later
        self._dispatcher: Any = None
        self._ready, self._lock = False, threading.Lock()
        self.__doc__ = function.__doc__
        entries.append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call it, loaded or compiled if need be."""
        if not self._ready:
            self.compile()
        return self._dispatcher(*arguments)

    def dispatcher(self) -> Any:
        """Numba's own object, nothing compiled yet."""
        if self._dispatcher is None:
            try:
                self._dispatcher = numba.njit(cache=True, **_OPTIONS)(self._function)
            except RuntimeError:  # no folder to keep the code in can be written to: every process compiles anew
                self._dispatcher = numba.njit(**_OPTIONS)(self._function)
        return self._dispatcher

    @property
    def folder(self) -> str | None:
        """Where the compiled code is kept; None if it cannot be."""
        path: str | None = self.dispatcher().stats.cache_path
        return path

    def is_stored(self) -> bool:
        """Whether the compiled code can be loaded."""
        dispatcher = self.dispatcher()
        cache: Any = getattr(dispatcher, "_cache", None)
        try:
            loaded = cache.load_overload(self.signature, dispatcher.targetctx)
        except Exception:  # a damaged file is as good as none
            return False
        return loaded is not None

    def compile(self) -> None:
        """Load the code, or compile and store it; if it cannot be stored, every process compiles it again."""
        with self._lock:
            if self._ready:
                return
            try:
                self.dispatcher().compile(self.signature)
            except Exception:
                if not self._dispatcher.signatures:  # else it is compiled, and only could not be stored
                    self._compile_anew()
            self._ready = True

    def _compile_anew(self) -> None:
        """After a file that cannot be read: what is stored saves time, and may cost no more."""
        with contextlib.suppress(Exception):
            self._dispatcher._cache.flush()
        self._dispatcher = None
        try:
            self.dispatcher().compile(self.signature)
        except Exception:
            self._dispatcher = numba.njit(**_OPTIONS)(self._function)
            self._dispatcher.compile(self.signature)


def compiled(function: Callable[..., Any]) -> Any:
    """A function that only compiled code calls."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A function that becomes part of its one caller, and so is optimised once instead of twice."""
    return numba.njit(inline="always", **_OPTIONS)(function)


def entry(signature: Any, later: bool = False) -> Callable[[Callable[..., Any]], Entry]:
    """A compiled function that Python calls, with the types of its arguments; ``later``: a first fit does without it."""
    return lambda function: Entry(function, signature, later)
