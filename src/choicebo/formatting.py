"""Numbers, values, times and addresses as the sentences of every room write them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

_LONGEST = 300
_LARGEST_WRITTEN = 10**4000
_COMMANDS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_HALVES = re.compile(r"[\ud800-\udfff]")
"""Halves of characters (lone surrogates), which no file or terminal accepts."""


def percent(share: float) -> str:
    """A probability or share as people read it.

    >>> percent(0.996), percent(0.5), percent(0.001)
    ('over 99 %', '50 %', 'under 1 %')
    """
    if share > 0.99:
        return "over 99 %"
    return "under 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")


def counted(number: float, thing: str, things: str = "") -> str:
    """A whole number of things, or infinitely many; ``things`` is the plural where it is not ``thing`` with an s.

    >>> counted(1, "answer"), counted(1200, "answer"), counted(0, "entry", "entries"), counted(math.inf, "option")
    ('1 answer', '1,200 answers', '0 entries', 'infinitely many options')
    """
    count = "infinitely many" if number == math.inf else f"{int(number):,}"
    return f"{count} {plural(number, thing, things)}"


def plural(number: float, thing: str, things: str = "") -> str:
    """The word for so many things, without the number.

    >>> plural(1, "option"), plural(2, "option")
    ('option', 'options')
    """
    return thing if number == 1 else things or f"{thing}s"


def listed(names: Sequence[str]) -> str:
    """Several things in a sentence.

    >>> listed(["Ann"]), listed(["Ann", "Bo", "Cy"])
    ('Ann', 'Ann, Bo and Cy')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def explained_by(hidden: int, known: Sequence[str] = (), measured: Sequence[str] = ()) -> str:
    """What a model explains answers by: so many hidden objectives, and known and measured ones by name.

    >>> explained_by(2), explained_by(1, ["price"]), explained_by(0, ["price", "mass"])
    ('2 hidden objectives', 'price, which is known, and 1 hidden objective', 'price and mass, which are known, alone')
    >>> explained_by(1, ["price"], ["mass"])
    'price, which is known, mass, which is measured, and 1 hidden objective'
    """
    parts = [
        f"{listed(names)}, which {'is' if len(names) == 1 else 'are'} {kind},"
        for names, kind in ((known, "known"), (measured, "measured"))
        if names
    ]
    if not parts:
        return counted(hidden, "hidden objective")
    given = " ".join(parts)
    return f"{given} and {counted(hidden, 'hidden objective')}" if hidden else f"{given} alone"


class _Named(Protocol):
    """An objective that is known or measured."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def measured(self) -> bool:
        """Whether it is measured."""
        ...


def known_names(objectives: Sequence[_Named]) -> tuple[list[str], list[str]]:
    """The names of the objectives that are computed, and of those that are measured, as :func:`explained_by` takes them."""
    return [each.name for each in objectives if not each.measured], [each.name for each in objectives if each.measured]


def value_text(value: object) -> str:
    """A value of an option as it is written where nothing more is known of it.

    >>> value_text(True), value_text(2.50), value_text(None)
    ('yes', '2.5', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Estimate(float):
    """A value that was not measured, as the model believes it to be, in its own units.

    >>> about = Estimate(12.0, 10.5, 14.0)
    >>> about + 1, about.lower
    (13.0, 10.5)
    """

    __slots__ = ("lower", "upper")
    lower: float
    upper: float

    def __new__(cls, value: float, lower: float, upper: float) -> Estimate:
        """The value, and the ends of what is 95 % probable."""
        found = super().__new__(cls, value)
        found.lower, found.upper = lower, upper
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (float(self), self.lower, self.upper)


def number_text(value: float | None) -> str:
    """A measured value, or what the model believes it to be.

    >>> number_text(12.5), number_text(Estimate(12.345, 11.0, 13.0)), number_text(None)
    ('12.5', 'about 12', '')
    """
    if value is None:
        return ""
    if not isinstance(value, Estimate):
        return f"{value:.6g}"
    # As many digits as its uncertainty leaves, and three at most.
    spread = max(value.upper - value.lower, 0.01 * abs(value), 1e-300)
    digits = -math.floor(math.log10(spread / 2)) if math.isfinite(spread) else 0
    return f"about {value_text(float(f'{round(float(value), max(digits, -300)):.6g}'))}"


def as_given(value: object) -> str:
    """What somebody gave, as an error repeats it: its ``repr``, cut in the middle where that is long.

    >>> as_given("rye"), as_given([0.5, None]), as_given(10**5000)
    ("'rye'", '[0.5, None]', 'a number of over 4,000 digits')
    """
    if isinstance(value, int) and abs(value) >= _LARGEST_WRITTEN:  # Python refuses to write these out
        return "a number of over 4,000 digits"
    try:
        text = repr(value)
    except Exception:  # whatever goes wrong in an object of somebody else, or lists inside lists without end
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 50]}...{text[-40:]}"


def printable(text: str) -> str:
    """A text without what could command a terminal: control characters, line breaks aside, and marks that reverse its direction.

    >>> printable("rye\\x1b[2J bread")
    'rye[2J bread'
    """
    return _HALVES.sub("?", _COMMANDS.sub("", text))


def rounded(value: object) -> str:
    """An option, or a value of one, as a shell shows it: its ``repr`` with floats of four digits.

    >>> rounded({"temperature": 183.70000001, "flour": "rye"})
    "{'temperature': 183.7, 'flour': 'rye'}"
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {rounded(each)}" for name, each in value.items()) + "}"
    return f"{value:.4g}" if isinstance(value, float) else as_given(value)


def without_password(address: str) -> str:
    """The address of a database as it may be printed.

    >>> without_password("postgresql://ann:secret@server/studies"), without_password("bread.db")
    ('postgresql://ann:***@server/studies', 'bread.db')
    >>> without_password("postgresql://server/studies?user=ann&password=secret")
    'postgresql://server/studies?user=ann&password=***'
    """
    hidden = re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)
    return re.sub(r"([?&](?:ssl)?password=)[^&]*", r"\1***", hidden) if "://" in hidden else hidden


def moment(at: datetime) -> str:
    """A time in UTC as people read it.

    >>> moment(datetime(2026, 3, 1, 9, 5))
    '1 March 2026, 09:05 UTC'
    """
    return f"{at.day} {at:%B %Y, %H:%M} UTC"
