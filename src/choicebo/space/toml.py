"""A small writer of readable TOML; the standard library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LINE = 100


def key(name: str) -> str:
    """A key, quoted only where it must be.

    >>> key("minutes"), key("oven temperature")
    ('minutes', '"oven temperature"')
    """
    return name if _BARE_KEY.fullmatch(name) else _quoted(name)


def value(given: object) -> str:
    """A bool, number, text or list of these.

    >>> value([1, 2.5, "rye", True])
    '[1, 2.5, "rye", true]'
    """
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, (int, float)):
        return repr(given)
    if isinstance(given, str):
        return _text(given)
    if isinstance(given, Sequence):
        items = [value(item) for item in given]
        line = f"[{', '.join(items)}]"
        return line if len(line) <= _LINE else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    raise TypeError(f"no TOML form for {given!r}")


def entries(table: Mapping[str, object]) -> str:
    """Lines ``key = value``, without those whose value is None.

    >>> print(entries({"low": 5, "unit": None}), end="")
    low = 5
    """
    return "".join(f"{key(name)} = {value(given)}\n" for name, given in table.items() if given is not None)


def _quoted(text: str) -> str:
    # A JSON text is a TOML basic string, except that TOML also wants the delete character escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(text: str) -> str:
    """Texts of several lines stay readable, unless they hold what a raw TOML text cannot."""
    raw = "\n" in text and "'''" not in text and not text.endswith("'")
    if raw and not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text):
        return f"'''\n{text}'''"
    return _quoted(text)
