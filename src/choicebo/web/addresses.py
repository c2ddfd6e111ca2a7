"""The addresses of pages: names of studies in paths."""

from __future__ import annotations

from urllib.parse import quote, unquote


def slug(name: str) -> str:
    """A study's name as one segment of a path.

    Servers decode a path once and browsers take ``..`` out of it, so what could end a segment is escaped twice.

    >>> slug("rye/wheat 50%")
    'rye%252Fwheat%2050%2525'
    >>> name_of("rye%2Fwheat 50%25")
    'rye/wheat 50%'
    """
    inner = name.replace("%", "%25").replace("/", "%2F").replace("\\", "%5C")
    if set(inner) == {"."}:
        inner = inner.replace(".", "%2E")
    return quote(inner, safe="")


def name_of(segment: str) -> str:
    """The name of a study from the segment that the server has decoded once."""
    return unquote(segment)


def study_path(name: str, page: str = "") -> str:
    """The address of a study's page.

    >>> study_path("bread", "history")
    '/study/bread/history'
    """
    return f"/study/{slug(name)}" + (f"/{page}" if page else "")
