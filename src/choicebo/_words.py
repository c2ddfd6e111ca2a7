"""Numbers in the words of the sentences that people read."""

from __future__ import annotations


def percent(share: float) -> str:
    """A probability or share as people read it.

    >>> percent(0.996), percent(0.5), percent(0.001)
    ('over 99 %', '50 %', 'under 1 %')
    """
    if share > 0.99:
        return "over 99 %"
    return "under 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")
