"""With what, where and when a result was made; every JSON report carries it."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from choicebo import __version__

_PACKAGES = ("numba", "llvmlite", "numpy", "scipy", "moocore")
_OPTIONAL = ("torch", "gpytorch", "botorch", "distributed")


def provenance() -> dict[str, Any]:
    """Versions, machine and date.

    >>> sorted(provenance())
    ['date', 'machine', 'versions']
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "choicebo": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
            **{name: found for name in _OPTIONAL if (found := _installed(name))},
        },
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
