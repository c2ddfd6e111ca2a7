"""``jax.jit`` with the compiler options that suit thousands of small likelihood evaluations on a CPU.

They make the likelihood's gradient faster, and quicker to compile, than XLA's defaults do. They are experimental flags,
so each is tried on a trivial program first and left out where it is unknown.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

from choicebo import _programs
from choicebo._runtime import configure_jax

P = ParamSpec("P")
R = TypeVar("R")

traces: Counter[str] = Counter()
"""How often each function needed another program in this process, traced or loaded: the tests count recompilations with it."""

MOST_PROGRAMS = 32
"""Of one function in memory. A process that meets ever new shapes, as a long experiment does, else runs out of memory maps; a
program that is wanted again is loaded again."""

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
        programs: dict[Any, Callable[..., R]] = {}

        @functools.cache
        def compiled() -> Any:
            @functools.wraps(function)
            def counted(*args: P.args, **kwargs: P.kwargs) -> R:
                traces[function.__qualname__] += 1
                return function(*args, **kwargs)

            return jax.jit(counted, static_argnames=static_argnames, compiler_options=compiler_options())

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
                inlined: R = compiled()(*args, **kwargs)
                return inlined
            kinds = tuple(_kind(leaf) for leaf in leaves)
            key = (tuple(static.items()), tree, kinds)
            found = programs.pop(key, None) or program(static, inputs, (str(tree), kinds))
            programs[key] = found  # the last one now: the first is the one not used for longest
            while len(programs) > MOST_PROGRAMS:
                programs.pop(next(iter(programs)), None)
            return found(**inputs)

        return call

    return decorate


def _kind(leaf: Any) -> tuple[Any, ...]:
    """What a program depends on of an input: shape and type of an array, or the type of a number of Python's."""
    if isinstance(leaf, jax.Array | np.ndarray | np.generic):
        return (leaf.shape, _name(leaf.dtype), bool(getattr(leaf, "weak_type", False)))
    return (type(leaf).__name__,)


@functools.cache
def _name(dtype: Any) -> str:
    return str(dtype)
