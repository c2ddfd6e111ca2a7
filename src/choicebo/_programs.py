"""Compiled programs on disk, so that a new process need neither trace nor compile what an earlier one did.

JAX's own cache saves the compiling, but every process traces and lowers each program again, which takes longer than
running it. Here the finished program is stored, under a name that changes with anything it depends on: the source of the
function's room and of all below it, the versions of JAX, the processor, the compiler's options, the static arguments, and the
shapes and types of the others.

Loading a program means running code from the user's own cache folder, as JAX's cache does.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import pickle
import platform
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from choicebo._runtime import cache_folder

MOST_BYTES = 1 << 30
"""Programs that were not used for longest are deleted beyond this."""
ROOMS = (
    "acquisition",
    "optimizer",
    "insight",
    "plots",
    "study",
    "cli",
    "web",
    "experiments",
    "interop",
    "__main__",
)
"""Parts of the package from below: nothing depends on one that comes later. All that is not named lies below them."""
_PACKAGE = Path(__file__).parent
_compiling = threading.RLock()


def load(name: str) -> Any | None:
    """The program of that name; None if there is none that can be used."""
    file = _file(name)
    try:
        if not _is_mine(file):
            return None
        program, in_tree, out_tree = pickle.loads(file.read_bytes())
        _find_lapack()
        from jax.experimental import serialize_executable

        found = serialize_executable.deserialize_and_load(program, in_tree, out_tree)
    except FileNotFoundError:
        return None
    except Exception:  # damaged, or not for this machine after all: it is compiled anew and written over
        return None
    with contextlib.suppress(OSError):
        os.utime(file)
    return found


def save(name: str, compiled: Any) -> bool:
    """Keep a program; whether it was possible. Not every program can be stored, and not every folder written to."""
    from jax.experimental import serialize_executable

    file = _file(name)
    try:
        content = pickle.dumps(serialize_executable.serialize(compiled))
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".part", delete=False) as part:
            part.write(content)
        Path(part.name).replace(file)
        _tidy(file.parent)
    except Exception:  # it only saves time, so nothing that goes wrong with it may stop a fit
        return False
    return True


@contextlib.contextmanager
def without_jax_cache() -> Iterator[None]:
    """Compile really: a program that comes from JAX's own cache cannot be stored again, it would miss its functions."""
    from jax.experimental.compilation_cache import compilation_cache

    config: Any = jax.config
    with _compiling:
        before = config.jax_enable_compilation_cache
        config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()
        try:
            yield
        finally:
            config.update("jax_enable_compilation_cache", before)
            compilation_cache.reset_cache()


def name_of(file: str, *parts: Any) -> str | None:
    """A name for the program of a function in ``file`` that depends on ``parts``.

    None if they have no lasting description, or if the file or the class of a part is none of this package, as a user's own
    acquisition is: its source may change, and the name would not.
    """
    described = repr(parts)
    if " at 0x" in described or not Path(file).is_relative_to(_PACKAGE) or not _is_of_known_source(parts):
        return None
    room = _room(Path(file))
    above = ROOMS[ROOMS.index(room) + 1 :] if room in ROOMS else ROOMS
    return hashlib.sha256(f"{_source_without(above)} {_surroundings()} {described}".encode()).hexdigest()


def _is_of_known_source(value: Any) -> bool:
    """Whether a value and all within it are of classes that the name of a program follows."""
    defined = value if isinstance(value, type) else type(value)
    if defined.__module__.partition(".")[0] not in {"builtins", "choicebo", "numpy", "jax", "jaxlib"}:
        return False
    if isinstance(value, dict):
        within = [*value.keys(), *value.values()]
    elif isinstance(value, tuple | list | set | frozenset):
        within = list(value)
    else:
        within = [] if isinstance(value, type) else list(getattr(value, "__dict__", {}).values())
    return all(map(_is_of_known_source, within))


@functools.cache
def _find_lapack() -> None:
    """Let JAX look up the routines of LAPACK: it does so when a program that calls them is lowered, and a loaded one is not."""
    jnp.linalg.cholesky(jnp.eye(2)).block_until_ready()


def _room(file: Path) -> str:
    return file.relative_to(_PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def _source_without(rooms: tuple[str, ...]) -> str:
    source = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        if _room(file) not in rooms:
            source.update(file.read_bytes())
    return source.hexdigest()


@functools.cache
def _surroundings() -> str:
    """What every program depends on besides the source."""
    versions = [importlib.metadata.version(package) for package in ("jax", "jaxlib")]
    device = jax.devices()[0].device_kind
    return repr((versions, device, _processor(), str(jnp.zeros(()).dtype)))


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return f"{platform.machine()} {platform.processor()}"


def _file(name: str) -> Path:
    return cache_folder() / f"programs-{jax.__version__}" / name


def _is_mine(file: Path) -> bool:
    """Whether only this user or the administrator can have written it: what is loaded is run."""
    about = file.stat()
    return not hasattr(os, "getuid") or (about.st_uid in (0, os.getuid()) and not about.st_mode & 0o022)


def _tidy(folder: Path) -> None:
    found = sorted(_sizes(folder), reverse=True)
    total = 0
    for _, size, file in found:
        total += size
        if total > MOST_BYTES:
            file.unlink(missing_ok=True)


def _sizes(folder: Path) -> Iterator[tuple[float, int, Path]]:
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            about = file.stat()
            yield about.st_mtime, about.st_size, file
