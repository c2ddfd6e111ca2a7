"""The parts of an HTML page that needs no other file: what the report of a study and that of the experiments share."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page(title: str, style: str, body: Iterable[str], generator: str = "choicebo") -> str:
    """A whole page, which says what made it; ``style`` and ``body`` are taken as they are."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="{escape(generator)}">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    ) + "\n".join([*body, "</body>\n</html>\n"])


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[bool] = (), title: str = ""
) -> str:
    """A table; cells are taken as they are, so that they may hold markup.

    Args:
        headings: One text per column.
        rows: Cells as HTML.
        right: Which columns are aligned to the right; none by default.
        title: What stands above it.
    """
    classes = [' class="right"' if at < len(right) and right[at] else "" for at in range(len(headings))]
    head = "".join(f'<th scope="col"{kind}>{escape(each)}</th>' for kind, each in zip(classes, headings, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(classes, row, strict=True)) + "</tr>"
        for row in rows
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"


def figure(content: bytes, media_type: str, caption: str, alt: str = "") -> str:
    """A picture inside the page, in which nothing can run; ``alt`` is read out instead of it, or the caption."""
    return (
        f'<figure><img alt="{escape(alt or caption)}" src="{data_url(content, media_type)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def data_url(content: bytes, media_type: str) -> str:
    """A file as an address that holds its content.

    >>> data_url(b"<svg/>", "image/svg+xml")
    'data:image/svg+xml;base64,PHN2Zy8+'
    """
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def png(drawn: Figure) -> bytes:
    """A figure of matplotlib as a PNG file, the same bytes for the same figure."""
    content = io.BytesIO()
    drawn.savefig(content, format="png", metadata={"Software": None})
    return content.getvalue()
