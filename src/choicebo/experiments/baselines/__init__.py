"""Peers from BoTorch and torch, behind the extra ``botorch``; nothing here is imported before it is asked for."""

from __future__ import annotations

import importlib.util

from choicebo.errors import InvalidInputError


def installed() -> bool:
    """Whether the extra is there, found out without loading it."""
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "botorch"))


def require(what: str) -> None:
    """Refuse ``what`` in a sentence that says how to get it, unless the extra is installed."""
    if not installed():
        raise InvalidInputError(
            f"{what} needs BoTorch, which is not installed; install it with pip install 'choicebo[botorch]', "
            "or leave it out."
        )
