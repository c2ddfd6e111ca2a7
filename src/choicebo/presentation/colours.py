"""Which parameters are hues, so that a chart can show their colours."""

from __future__ import annotations

import re

from choicebo.study.definition import Show

_CALLED = re.compile(r"hue|colou?r", re.IGNORECASE)


def is_hue(show: Show, name: str, unit: str) -> bool:
    """Whether the drawing uses a parameter as the hue of a colour; or, without a drawing, an angle is called one.

    >>> is_hue(Show("svg", template='<rect fill="hsl({accent}, 50%, 50%)"/>'), "accent", "")
    True
    >>> is_hue(Show(), "hue", "°"), is_hue(Show(), "angle", "°"), is_hue(Show(), "colour depth", "bit")
    (True, False, False)
    """
    if show.kind == "svg" and show.template:
        return re.search(rf"hsla?\(\s*\{{\s*{re.escape(name)}\s*(?::[^{{}}]*)?\}}", show.template) is not None
    return unit == "°" and _CALLED.search(name) is not None
