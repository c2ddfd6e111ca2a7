"""Numbers, values, times and addresses as the sentences of every room write them."""

from __future__ import annotations

import math
import re
from datetime import datetime


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


def without_password(address: str) -> str:
    """The address of a database as it may be printed.

    >>> without_password("postgresql://ann:secret@server/studies"), without_password("bread.db")
    ('postgresql://ann:***@server/studies', 'bread.db')
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)


def moment(at: datetime) -> str:
    """A time in UTC as people read it.

    >>> moment(datetime(2026, 3, 1, 9, 5))
    '1 March 2026, 09:05 UTC'
    """
    return f"{at.day} {at:%B %Y, %H:%M} UTC"
