"""``jax.jit`` with the compiler options that suit thousands of small likelihood evaluations on a CPU.

They make the likelihood's gradient faster, and quicker to compile, than XLA's defaults do. They are experimental flags,
so each is tried on a trivial program first and left out where it is unknown.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

from choicebo import _programs
from choicebo._runtime import configure_jax

P = ParamSpec("P")
R = TypeVar("R")

traces: Counter[str] = Counter()
"""How often each function needed another program in this process, traced or loaded: the tests count recompilations with it."""

MOST_PROGRAMS = 256
"""In memory, of all functions together; one that is wanted again later is loaded again."""

CROWDED = 0.5
"""Share of the memory maps that Linux allows a process beyond which programs leave memory as well. Each takes some hundreds of
maps, and a process that meets ever new shapes, as a long experiment or a server does, would die when there are no more."""

_in_memory: dict[Any, Callable[..., Any]] = {}
"""Those not used for longest come first."""

_WANTED: dict[str, bool | str] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_experimental_ynn_fusion_type": "",
}


@functools.cache
def compiler_options() -> dict[str, bool | str]:
    """Those of the wanted options that this version of XLA knows."""
    configure_jax()
    if jax.default_backend() != "cpu":
        return {}
    known = {}
    for name, value in _WANTED.items():
        try:
            jax.jit(lambda x: x + 1.0, compiler_options={name: value}).lower(1.0).compile()
        except Exception:  # the error's type is not part of XLA's interface
            continue
        known[name] = value
    return known


def jit(*static_argnames: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function on its first call, with the named arguments static; or load it, if another process did so before.

    >>> @jit("power")
    ... def raised(x, power):
    ...     return x**power
    >>> float(raised(3.0, power=2))
    9.0
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        order = list(inspect.signature(function).parameters)

        def compiled() -> Any:
            # A function of its own each time: JAX keeps what it compiled as long as the function lives.
            @functools.wraps(function)
            def counted(*args: P.args, **kwargs: P.kwargs) -> R:
                traces[function.__qualname__] += 1
                return function(*args, **kwargs)

            return jax.jit(counted, static_argnames=static_argnames, compiler_options=compiler_options())

        inlined = functools.cache(compiled)

        def program(static: dict[str, Any], inputs: dict[str, Any], described: Any) -> Callable[..., R]:
            where = (function.__module__, function.__qualname__, sorted(compiler_options().items()))
            name = _programs.name_of(function.__code__.co_filename, where, sorted(static.items()), described)

            def anew() -> Any:
                if name is None:
                    return compiled().lower(**static, **inputs).compile()
                with _programs.without_jax_cache():
                    found = compiled().lower(**static, **inputs).compile()
                _programs.save(name, found)
                return found

            stored = None if name is None else _programs.load(name)
            if stored is None:
                return anew()  # type: ignore[no-any-return]
            traces[function.__qualname__] += 1
            try:
                jax.block_until_ready(stored(**inputs))  # type: ignore[no-untyped-call]
            except Exception:  # it cannot be used after all; what errors that raises is not part of JAX's interface
                return anew()  # type: ignore[no-any-return]
            return stored  # type: ignore[no-any-return]

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = {**dict(zip(order, args, strict=False)), **kwargs}
            static = {name: given[name] for name in static_argnames if name in given}
            inputs = {name: value for name, value in given.items() if name not in static}
            leaves, tree = jax.tree.flatten(inputs)
            if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
                value: R = inlined()(*args, **kwargs)
                return value
            kinds = tuple(_kind(leaf) for leaf in leaves)
            key = (function, tuple(static.items()), tree, kinds)
            found = _in_memory.get(key)
            if found is None:
                with _being_found(key):  # threads that need the same program wait for it
                    found = _in_memory.get(key)
                    if found is None:
                        _make_room()
                        found = program(static, inputs, (str(tree), kinds))
                        _in_memory[key] = found
            _in_memory.pop(key, None)
            _in_memory[key] = found
            result: R = found(**inputs)
            return result

        return call

    return decorate


_finding: dict[Any, threading.Lock] = {}


@contextlib.contextmanager
def _being_found(key: Any) -> Iterator[None]:
    """Keep other threads from finding the same program meanwhile."""
    with _finding.setdefault(key, threading.Lock()):
        yield
    _finding.pop(key, None)


def _make_room() -> None:
    """Let programs go that were not used for longest, until there is room for another one."""
    while excess := _excess():
        for _ in range(excess):
            with contextlib.suppress(KeyError, StopIteration, RuntimeError):  # another thread may be at it, too
                del _in_memory[next(iter(_in_memory))]
        gc.collect()  # what JAX knows of a program is held in cycles


def _excess() -> int:
    """How many programs to let go; several at a time where memory is crowded, since collecting garbage takes a while."""
    held = len(_in_memory)
    if held and _is_crowded():
        return 1 + held // 8
    return max(0, held + 1 - MOST_PROGRAMS)


def _is_crowded() -> bool:
    try:
        allowed = int(Path("/proc/sys/vm/max_map_count").read_text())
        with Path("/proc/self/maps").open("rb") as maps:
            return sum(1 for _ in maps) > CROWDED * allowed
    except (OSError, ValueError):
        return False  # no such limit here


def _kind(leaf: Any) -> tuple[Any, ...]:
    """What a program depends on of an input: shape and type of an array, or the type of a number of Python's."""
    if isinstance(leaf, jax.Array | np.ndarray | np.generic):
        return (leaf.shape, _name(leaf.dtype), bool(getattr(leaf, "weak_type", False)))
    return (type(leaf).__name__,)


@functools.cache
def _name(dtype: Any) -> str:
    return str(dtype)
