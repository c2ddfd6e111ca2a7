"""Reports of text, tables and figures, as Markdown with pictures beside it and as one self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.table import Table
from rich.text import Text

from choicebo.presentation import page

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure with what it shows."""

    name: str
    """Of its file, without the ending."""
    figure: Figure
    caption: str

    def png(self) -> bytes:
        """The figure as a PNG file."""
        return page.png(self.figure)


Block: TypeAlias = "str | Table | Picture"
"""A paragraph, a table, or a figure."""


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    sections: Sequence[Section]

    def write(self, folder: Path, name: str = "report") -> tuple[Path, Path]:
        """Write ``name.md``, its pictures, and ``name.html``; gives the two paths."""
        folder.mkdir(parents=True, exist_ok=True)
        for block in (block for section in self.sections for block in section.blocks):
            if isinstance(block, Picture):
                (folder / f"{block.name}.png").write_bytes(block.png())
        markdown, web_page = folder / f"{name}.md", folder / f"{name}.html"
        markdown.write_text(self.markdown(), encoding="utf-8")
        web_page.write_text(self.html(), encoding="utf-8")
        return markdown, web_page

    def markdown(self) -> str:
        """The report in Markdown, which refers to the pictures by their file names."""
        parts = [f"# {self.title}"]
        for section in self.sections:
            parts += [f"## {section.title}", *(_markdown(block) for block in section.blocks)]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """The report as one page that needs no other file."""
        parts = [f"<h1>{html.escape(self.title)}</h1>"]
        for section in self.sections:
            parts += [f"<h2>{html.escape(section.title)}</h2>", *(_html(block) for block in section.blocks)]
        return page.page(self.title, _STYLE, parts)


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}"
    "table{border-collapse:collapse;margin:.5rem 0;font-variant-numeric:tabular-nums}"
    ".wide{overflow-x:auto;margin:1.5rem 0}"
    "th,td{padding:.25rem .75rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}"
    "th{border-bottom:2px solid #888}.right{text-align:right}"
    "caption{caption-side:top;text-align:left;font-weight:600;padding-bottom:.4rem}"
    ".note,figcaption{color:#555;font-size:.9rem}figure{margin:1.5rem 0}img{max-width:100%;height:auto}"
)


def _markdown(block: Block) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, Picture):
        return f"![{block.caption}]({block.name}.png)\n\n*{block.caption}*"
    title, headings, right, rows, caption = _parts(block)
    lines = [
        *([f"**{title}**", ""] if title else []),
        "| " + " | ".join(_cell(each) for each in headings) + " |",
        "|" + "|".join("---:" if each else "---" for each in right) + "|",
        *("| " + " | ".join(_cell(each) for each in row) + " |" for row in rows),
        *(["", f"*{' '.join(caption.split())}*"] if caption else []),
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def _html(block: Block) -> str:
    if isinstance(block, str):
        return f"<p>{html.escape(block)}</p>"
    if isinstance(block, Picture):
        return page.figure(block.png(), "image/png", block.caption)
    title, headings, right, rows, caption = _parts(block)
    cells = [[html.escape(each).replace("\n", "<br>") for each in row] for row in rows]
    note = f"<p class=note>{html.escape(caption)}</p>" if caption else ""
    return f'<div class="wide">{page.table(headings, cells, right=right, title=title)}{note}</div>'


def _parts(table: Table) -> tuple[str, list[str], list[bool], list[list[str]], str]:
    """Title, headings, which columns are numbers, rows and caption of a table of the terminal."""
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return (
        _plain(table.title),
        [_plain(column.header) for column in table.columns],
        [column.justify == "right" for column in table.columns],
        [list(row) for row in zip(*columns, strict=True)],
        _plain(table.caption),
    )


def _plain(text: object) -> str:
    if text is None:
        return ""
    return Text.from_markup(text).plain if isinstance(text, str) else str(text)
